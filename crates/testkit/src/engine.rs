//! An engine under test: what a client gets for a statement, and which server it came from.
//!
//! [`NumberedServers`] stand behind the engine, one for each hostgroup, and answer everything with their hostgroup's
//! number, the text and the schema; an [`EngineClient`] in front of it makes a [`Reply`] of every answer.

mod client;
mod rig;
mod servers;

pub use client::{EngineClient, Handle, Reply};
pub use rig::Rig;
pub use servers::{Arrival, NumberedServers, Via};
