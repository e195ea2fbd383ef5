//! A real ProxySQL 2.7.1 as a target.

mod applying;
mod faults;
mod owning;
mod passwords;
mod random;
mod rig;
