//! Where plans are applied: the bundled proxy, and files for ProxySQL.

mod bundled;
pub mod emit;

pub use bundled::{AdminAddress, BundledTarget, Timeouts};
