//! Where plans are applied: the bundled proxy, and files for ProxySQL.

mod bundled;
pub mod emit;
mod secret;

pub use bundled::{AdminAddress, BundledTarget, Timeouts};
pub use secret::{MAX_SECRET_BYTES, Secret, SecretError, resolve};
