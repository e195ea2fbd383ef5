//! How the keys of a map are laid out in rules, and what that costs.
//!
//! An engine tests rules one after another, so a flat list of n keys costs (n + 1) / 2 patterns on average. A
//! tree of chains costs less: one pattern finds that the key is in a run of keys, and the statement continues
//! in the chain of that run. For five keys, where `( )` is a chain:
//!
//! ```text
//! 0 1 2 3 4      1 + 2 + 3 + 4 + 5 = 15 patterns over all keys, 3.0 a statement
//! (0 1) 2 3 4    2 + 3 + 2 + 3 + 4 = 14 patterns over all keys, 2.8 a statement
//! ```
//!
//! [`shape`] is the tree. [`build`] makes trees, [`mod@cost`] prices them, [`choice`] takes the cheapest.
//! [`order`] puts the rules of all chains into the one list that the engine walks. Where live systems have a
//! tree already, [`kept`] takes its shape from the lock file, and [`repair`] lays out again only what an edit
//! has made too costly. [`split`] compares two positions of the read/write split.
//!
//! Invariant: the shape changes costs, never routes. The rule that enters a chain matches the keys below it
//! and no other key of the map, and every key has exactly one leaf. So every shape sends a key to the same
//! shard.
//!
//! The door: weights of the entries and the prices of an engine go in ([`Measure`]); [`candidates`] come out, each with its
//! cost. Entries are indexes of the sorted keys. This crate knows no topology, no pattern and no engine.

mod build;
mod choice;
mod cost;
mod kept;
mod order;
mod price;
mod repair;
mod shape;
mod split;

pub use choice::{Candidate, KEPT, candidates};
pub use cost::{Cost, Measure, Weights, cost};
pub use kept::{RememberedChain, RememberedEntry, kept_shape};
pub use order::{Position, TreeRule};
pub use price::Price;
pub use repair::repaired;
pub use shape::{Chain, Node, entries};
pub use split::{RoleRules, Split, compare};
