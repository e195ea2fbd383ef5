//! A real ProxySQL 2.7.1 as a target.

mod applying;
mod cluster;
mod costs;
mod everything;
mod faults;
mod owning;
mod passwords;
mod prepared;
mod random;
mod rig;
