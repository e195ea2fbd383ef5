//! What can be proved about the rules of one configuration, or of two.
//!
//! The crate answers questions about every statement of every session at once:
//!
//! * [`Reach`]: can a statement match a rule?
//! * [`decide_position`]: can a statement leave a chain without a rule that places it?
//! * [`equivalence`]: do two configurations route every statement alike?
//! * [`refinement`]: does one configuration place no statement where another does not?
//! * [`properties`]: does a claim hold for every statement of a domain?
//!
//! It promises three things. A *proof* is an empty conjunction of automata that hold at least every statement in question.
//! A *witness* is a statement that the evaluator of `rules` was run on. What is neither is *undecided*, with the reason:
//! limits end every search, and none ends in a wrong answer. The crate writes no findings and knows no codes.

mod attempts;
mod budget;
mod condition;
pub mod equivalence;
mod example;
pub mod expectation;
mod keyed_shards;
mod languages;
mod lookup;
mod natives;
mod needles;
mod paths;
pub mod properties;
mod question;
mod reach;
pub mod refinement;
mod rule_set;
mod session;
mod solver;
mod structure;

pub use attempts::shown_text;
pub use budget::Budget;
pub use condition::{Condition, Side, Term};
pub use example::{Example, ORDINARY, sessions};
pub use keyed_shards::KeyedShards;
pub use languages::{Domain, Languages, Lit, shortened};
pub use question::{Goal, Question};
pub use reach::{Reach, Verdict, catch_all, decide_position};
pub use rule_set::{RuleSet, without_literals};
pub use session::{Session, SessionValues, USUAL_CLIENT, USUAL_LISTENER, given};
pub use solver::{Answer, fallen_through, own_example};
pub use structure::Structure;
