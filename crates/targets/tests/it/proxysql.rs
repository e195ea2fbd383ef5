//! A real ProxySQL 2.7.1 as a target; where there is none, the stand-in for its admin port.

mod accounted;
mod applying;
mod cluster;
mod costs;
mod everything;
mod facts;
mod faults;
mod owning;
mod passwords;
mod prepared;
mod random;
mod rig;
mod staging;
mod stores;
