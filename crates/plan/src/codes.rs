//! The codes of what targets say of a plan; `docs/rules/` has a page for each.

/// A user has a name of the administrators.
pub const RESERVED_USER: &str = "SW245";
/// Rows are staged and not live.
pub const STAGED: &str = "SW830";
/// A variable takes effect when ProxySQL starts.
pub const AT_START: &str = "SW831";
/// The engine does not know a variable.
pub const UNKNOWN_VARIABLE: &str = "SW832";
/// A password cannot be found, so it is not compared.
pub const UNRESOLVED: &str = "SW833";
/// Rows of others contradict ours.
pub const CONFLICT: &str = "SW834";
/// For a moment, rules run under settings that they were not written for.
pub const SETTINGS_CHANGE: &str = "SW835";
/// A hostgroup gets the servers of another cluster.
pub const REUSED_HOSTGROUP: &str = "SW836";
/// A run was cut off.
pub const UNFINISHED: &str = "SW837";
/// A load undoes for a moment what the monitor has decided.
pub const PLACED_AGAIN: &str = "SW840";
/// Rows of others that stay.
pub const ROWS_OF_OTHERS: &str = "SW841";
/// Rows and columns that no project can say.
pub const LEFT_ALONE: &str = "SW842";
/// Objects that `manage` leaves to others.
pub const OF_OTHERS: &str = "SW839";
/// Clients hold prepared statements whose execution would be refused.
pub const PREPARED: &str = "SW838";

/// Errors that no reason lifts: the target could not carry the plan out, or somebody has to end something first.
pub(crate) const NEVER_LIFTED: [&str; 6] = [
    RESERVED_USER,
    STAGED,
    UNKNOWN_VARIABLE,
    UNRESOLVED,
    CONFLICT,
    UNFINISHED,
];

/// Errors about the moment and not about the plan: it can be applied as it is, once somebody has ended something.
pub(crate) const OF_THE_MOMENT: [&str; 2] = [STAGED, UNFINISHED];
