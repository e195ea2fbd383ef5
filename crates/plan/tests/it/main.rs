//! What plans say, how they are saved, and how they are applied.

#![allow(clippy::unwrap_used)]

mod applying;
mod beside;
mod capacity;
mod comments;
mod diffs;
mod fixtures;
mod fleets;
mod folding;
mod laws;
mod limits;
mod moves;
mod owners;
mod renderings;
mod saving;
mod schemas;
