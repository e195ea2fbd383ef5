//! Recorded traffic through two configurations: what would go elsewhere, and what the record cannot tell.
//!
//! Each statement is taken for itself, outside of a transaction. A record of digests has neither comments nor literals:
//! where a decision depends on them, the statement counts as undecided rather than as one that stays.

mod alike;
mod comparison;
mod dependence;
mod read;
mod schemas;

use std::collections::BTreeMap;

use shardwright_rules::{Configuration, Dispatch, HostgroupId, Outcome};

pub use comparison::Comparison;
pub use read::{Format, ReadError, Unread, detect, read};

/// What a record says of statements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record<'r> {
    /// The user, where it tells one.
    pub user: Option<&'r str>,
    /// The session's schema.
    pub schema: Schema<'r>,
    /// The client's address.
    pub client: Option<&'r str>,
    /// The statement.
    pub text: &'r [u8],
    /// What of it the text is.
    pub kind: Recorded,
    /// How often it came.
    pub count: u64,
}

/// What a record tells about the schema of its session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Schema<'r> {
    /// Records of this kind have none.
    NotRecorded,
    /// The log does not have what the client chose.
    Unknown,
    /// The client has chosen none: it is in the one that its user has.
    NoSchema,
    /// This one.
    Is(&'r str),
    /// This one, or the client has chosen none.
    OrNone(&'r str),
}

impl<'r> Schema<'r> {
    /// The one that it names.
    #[must_use]
    pub fn name(self) -> Option<&'r str> {
        match self {
            Self::Is(name) | Self::OrNone(name) => Some(name),
            Self::NotRecorded | Self::Unknown | Self::NoSchema => None,
        }
    }
}

/// What the text of a record is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Recorded {
    /// The statement as it was sent.
    Statement,
    /// The prepared statement that was executed, with its question marks.
    Execution,
    /// Without what its literals and comments were: a digest text with its hash, if it is recorded, or an execution of
    /// which the log has not what was prepared.
    Digest(Option<u64>),
}

/// What becomes of a statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Destination {
    /// It is sent to a hostgroup.
    Hostgroup(u32),
    /// The client gets this error.
    Refused(u16),
    /// The proxy answers.
    Answered,
    /// The user cannot log in.
    NoLogin,
}

impl Destination {
    fn of(decision: &Dispatch) -> Self {
        match &decision.outcome {
            Outcome::Route(route) => Self::Hostgroup(route.hostgroup.0),
            Outcome::Reject(rejection) => Self::Refused(rejection.code),
            Outcome::Answer { .. } | Outcome::Own { .. } | Outcome::DeferBegin => Self::Answered,
        }
    }

    /// For people: `shop writer (hostgroup 10)`.
    #[must_use]
    pub fn name(self, configuration: &Configuration) -> String {
        match self {
            Self::Hostgroup(id) => configuration.hostgroup_name(HostgroupId(id)),
            Self::Refused(code) => format!("refused with error {code}"),
            Self::Answered => "answered by the proxy".to_owned(),
            Self::NoLogin => "no such user".to_owned(),
        }
    }
}

/// Statements of one sort.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StatementGroup {
    /// How many.
    pub statements: u64,
    /// The shortest of them.
    pub example: Vec<u8>,
    /// The user who sent it.
    pub user: String,
}

impl StatementGroup {
    fn add(&mut self, count: u64, user: &str, text: &[u8]) {
        if self.statements == 0 || text.len() < self.example.len() {
            text.clone_into(&mut self.example);
            user.clone_into(&mut self.user);
        }
        self.statements = self.statements.saturating_add(count);
    }
}

/// What a record says about two configurations.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Moves {
    /// All statements.
    pub statements: u64,
    /// Those that go the same way.
    pub same: u64,
    /// Those that go to the same place with another text, schema or effect.
    pub altered: StatementGroup,
    /// Those that go elsewhere, by where they went and where they would go.
    pub moved: BTreeMap<(Destination, Destination), StatementGroup>,
    /// Those of which the record does not tell, by the reason.
    pub undecided: BTreeMap<String, StatementGroup>,
}

impl Moves {
    /// How many go elsewhere.
    #[must_use]
    pub fn moved_statements(&self) -> u64 {
        self.moved.values().map(|group| group.statements).sum()
    }

    /// How many are undecided.
    #[must_use]
    pub fn undecided_statements(&self) -> u64 {
        self.undecided.values().map(|group| group.statements).sum()
    }
}

/// What is taken where the record tells nothing.
#[derive(Clone, Debug, Default)]
pub struct Assumed {
    /// The user.
    pub user: Option<String>,
    /// The schema; the user's when absent.
    pub schema: Option<String>,
    /// Conditions of rules that refuse a statement for how it is written, as one that ends inside of a literal. No rule
    /// with one of these matches a statement of which only the digest is recorded.
    pub guards: Vec<Guard>,
}

/// The condition of a rule that refuses a statement for how it is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Guard {
    /// `match_pattern`
    pub pattern: String,
    /// `negate_match_pattern`
    pub is_negated: bool,
}
