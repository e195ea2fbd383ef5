//! `lint` of the project file: which findings count and how much, and the team's own rules.

use std::sync::Arc;

use shardwright_tables::{RULE_COLUMNS, RuleColumn};
use shardwright_vocabulary::{NamePattern, Severity, Words};

use super::OriginId;

/// Which findings count.
#[derive(Clone, Debug, PartialEq)]
pub struct LintSettings {
    /// Codes, or beginnings of codes; empty for all.
    pub select: Vec<Arc<str>>,
    /// Codes, or beginnings of codes, that do not count.
    pub ignore: Vec<Arc<str>>,
    /// Whether a suppression needs a reason.
    pub require_reason: bool,
    /// The severity of findings, by code or its beginning; the longest beginning counts.
    pub severity: Vec<(Arc<str>, Severity)>,
    /// What differs for some files; of several that are about a file, the last counts.
    pub paths: Vec<LintPath>,
    /// The team's own rules.
    pub rules: Vec<TeamRule>,
}

impl LintSettings {
    /// Whether a suppression needs a reason where nothing is written.
    pub(crate) const REQUIRE_REASON: bool = true;
}

impl Default for LintSettings {
    /// Those of a project that says nothing.
    fn default() -> Self {
        Self {
            select: Vec::new(),
            ignore: Vec::new(),
            require_reason: Self::REQUIRE_REASON,
            severity: Vec::new(),
            paths: Vec::new(),
            rules: Vec::new(),
        }
    }
}

/// What differs for some files.
#[derive(Clone, Debug, PartialEq)]
pub struct LintPath {
    /// Paths below the project's directory; `*` stands for any characters, `/` among them.
    pub path: NamePattern,
    /// Codes that count, in place of the project's; empty for those.
    pub select: Vec<Arc<str>>,
    /// Codes that do not count, beside the project's.
    pub ignore: Vec<Arc<str>>,
    /// How grave findings are, before the project's word.
    pub severity: Vec<(Arc<str>, Severity)>,
}

/// A rule of the team about what compiled configurations hold.
#[derive(Clone, Debug, PartialEq)]
pub struct TeamRule {
    /// Its name.
    pub name: Arc<str>,
    /// Where it was written.
    pub origin: OriginId,
    /// What it is about.
    pub items: TeamItems,
    /// Which of them: all that satisfy these.
    pub wanted: Vec<FieldCondition>,
    /// What those must satisfy.
    pub required: Vec<FieldCondition>,
    /// The message for an object that does not.
    pub message: Arc<str>,
    /// What to do about it.
    pub help: Option<Arc<str>>,
    /// How grave it is.
    pub severity: Severity,
    /// Example items with the expected result.
    pub tests: Vec<TeamTest>,
}

/// Things of a compiled configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TeamItems {
    /// Rows of `mysql_query_rules`, and the bundled engine's steps.
    Rules,
    /// Hostgroups.
    Hostgroups,
    /// Servers of hostgroups.
    Servers,
    /// Users.
    Users,
    /// Clusters.
    Clusters,
}

impl TeamItems {
    /// The fields that one of them has.
    #[must_use]
    pub fn fields(self) -> Vec<&'static str> {
        let columns = match self {
            Self::Rules => RULE_COLUMNS,
            _ => &[],
        };
        let own = self.own_fields().iter().copied();
        own.chain(columns.iter().map(RuleColumn::name)).collect()
    }

    /// Those that are no columns of a rule.
    const fn own_fields(self) -> &'static [&'static str] {
        match self {
            Self::Rules => &["rule_id", "address", "flagIN", "step", "cluster", "role"],
            Self::Hostgroups => &[
                "id",
                "address",
                "cluster",
                "role",
                "servers",
                "weight",
                "max_connections",
            ],
            Self::Servers => &[
                "server",
                "cluster",
                "hostgroup",
                "role",
                "host",
                "port",
                "weight",
                "max_connections",
                "max_replication_lag_s",
                "tls",
                "status",
            ],
            Self::Users => &[
                "name",
                "address",
                "cluster",
                "default_schema",
                "max_connections",
                "transaction_persistent",
                "annotations_allowed",
                "password",
            ],
            Self::Clusters => &["name", "address", "type", "writer", "reader", "servers"],
        }
    }
}

/// A condition on a field.
#[derive(Clone, Debug, PartialEq)]
pub struct FieldCondition {
    /// The field; one of [`TeamItems::fields`].
    pub field: Arc<str>,
    /// All that must hold of it.
    pub tests: Vec<FieldTest>,
}

/// What must hold of a field.
#[derive(Clone, Debug, PartialEq)]
pub enum FieldTest {
    /// It is one of these.
    OneOf(Vec<TeamValue>),
    /// It is none of these.
    NoneOf(Vec<TeamValue>),
    /// It is a text that one of these globs fits.
    Like(Vec<NamePattern>),
    /// It is a number, at least this.
    AtLeast(i64),
    /// It is a number, at most this.
    AtMost(i64),
    /// There is one, or there is none.
    Present(bool),
}

/// A value of a field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TeamValue {
    /// true or false
    Bool(bool),
    /// A whole number.
    Integer(i64),
    /// Text.
    Text(Arc<str>),
}

/// An example item with the expected result.
#[derive(Clone, Debug, PartialEq)]
pub struct TeamTest {
    /// Its place in the list.
    pub index: u32,
    /// Its fields; those that are absent have no value.
    pub item: Vec<(Arc<str>, TeamValue)>,
    /// Whether the rule accepts it.
    pub passes: bool,
}

impl Words for TeamItems {
    const WORDS: &'static [(&'static str, Self)] = &[
        ("rules", Self::Rules),
        ("hostgroups", Self::Hostgroups),
        ("servers", Self::Servers),
        ("users", Self::Users),
        ("clusters", Self::Clusters),
    ];
}
