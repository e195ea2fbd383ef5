//! What must become of a statement, and what of it does not hold.

use shardwright_diagnostics::shortened;
use shardwright_rules::{Configuration, HostgroupId, Outcome, Role, Route, Statement};

/// Characters of a long text that a mismatch shows.
const SHOWN: usize = 400;

/// What must become of a statement; what is none is not looked at.
#[derive(Clone, Debug, Default)]
pub struct Expected<'t> {
    /// What happens to it.
    pub outcome: Option<OutcomeKind>,
    /// The cluster that it is sent to.
    pub cluster: Option<&'t str>,
    /// The role of the servers that it is sent to.
    pub role: Option<Role>,
    /// Addresses of shards that place it; each must.
    pub shards: Vec<&'t str>,
    /// The hostgroup that it is sent to.
    pub hostgroup: Option<u32>,
    /// The text that is sent; blanks at its end do not count.
    pub query: Option<&'t str>,
    /// The schema that the server's session is in.
    pub backend_schema: Option<&'t str>,
    /// A part of the refusal's text.
    pub error: Option<&'t str>,
    /// The text that the proxy answers with.
    pub answer: Option<&'t str>,
    /// How long it is held back, in milliseconds.
    pub delay_ms: Option<u64>,
    /// The address of an object, one of whose rules matches.
    pub rule: Option<&'t str>,
    /// How long its answer is kept, in milliseconds.
    pub cache_ttl_ms: Option<u64>,
    /// The cluster that gets a copy.
    pub mirror: Option<&'t str>,
    /// The `multiplex` of the rules.
    pub multiplex: Option<u8>,
    /// Addresses of the servers that take it, in any order. Looked at in route tests only, which suppose how servers are.
    pub served_by: Option<Vec<&'t str>>,
    /// Addresses of the throttles on lag that hold it back, in any order; likewise.
    pub throttled_by: Option<Vec<&'t str>>,
}

/// What happens to a statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OutcomeKind {
    /// It is sent to a server.
    Route,
    /// The client gets an error.
    Reject,
    /// The proxy answers.
    Answer,
}

impl OutcomeKind {
    /// What happened to a statement.
    #[must_use]
    pub fn of(outcome: &Outcome) -> Self {
        match outcome {
            Outcome::Route(_) => Self::Route,
            Outcome::Reject(_) => Self::Reject,
            Outcome::Answer { .. } | Outcome::Own { .. } | Outcome::DeferBegin => Self::Answer,
        }
    }

    /// The word of the language.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Route => "route",
            Self::Reject => "reject",
            Self::Answer => "answer",
        }
    }
}

/// One thing that does not hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mismatch {
    /// The field of `expect`; none where the statement was refused and nothing was expected of it.
    pub field: Option<&'static str>,
    /// What was expected.
    pub expected: String,
    /// What is.
    pub actual: String,
}

impl Expected<'_> {
    /// What does not hold of a route that no path is known of: its shard is the one that counts, and its text is not looked at.
    #[must_use]
    pub fn mismatches_of_route(&self, configuration: &Configuration, route: &Route) -> Vec<Mismatch> {
        let mut mismatches = Mismatches::default();
        self.compare_route(configuration, route, None, &mut mismatches);
        let shard = route.shard.as_ref().map(|shard| shard.as_str());
        for wanted in self.shards.iter().filter(|wanted| Some(**wanted) != shard) {
            mismatches.push(Some("shard"), wanted, shard.unwrap_or("no shard"));
        }
        mismatches.all
    }

    /// Adds what of the fields about routes does not hold; the text is looked at where the statement is given.
    pub fn compare_route(
        &self,
        configuration: &Configuration,
        route: &Route,
        statement: Option<&Statement<'_>>,
        mismatches: &mut Mismatches,
    ) {
        mismatches.compare("cluster", self.cluster, route.cluster.as_deref());
        let role = route.role.map(|role| role.to_string());
        mismatches.compare(
            "role",
            self.role.map(|role| role.to_string()).as_deref(),
            role.as_deref(),
        );
        mismatches.number(
            "hostgroup",
            self.hostgroup.map(u64::from),
            Some(u64::from(route.hostgroup.0)),
            "",
        );
        if let (Some(query), Some(statement)) = (self.query, statement) {
            let sent = route
                .rewritten
                .as_deref()
                .unwrap_or(statement.text())
                .trim_ascii_end();
            if sent != query.trim_end().as_bytes() {
                mismatches.push(Some("query"), query, String::from_utf8_lossy(sent));
            }
        }
        mismatches.compare(
            "backend_schema",
            self.backend_schema,
            route.backend_schema.as_deref(),
        );
        let effects = &route.effects;
        let delay = effects.certain_delay_ms().unwrap_or(0);
        mismatches.number("delay", self.delay_ms, Some(u64::from(delay)), "ms");
        let kept = effects.cache_ttl_ms.unwrap_or(0);
        mismatches.number("cache_ttl", self.cache_ttl_ms, Some(u64::from(kept)), "ms");
        let mirror = effects
            .mirror_hostgroup
            .map(|id| cluster_name(configuration, HostgroupId(id)));
        mismatches.compare("mirror", self.mirror, mirror.as_deref());
        let multiplex = effects.multiplex.map(u64::from);
        mismatches.number("multiplex", self.multiplex.map(u64::from), multiplex, "");
    }
}

/// The cluster of a hostgroup; the hostgroup itself, where none has it.
fn cluster_name(configuration: &Configuration, hostgroup: HostgroupId) -> String {
    match configuration.cluster_of(hostgroup) {
        Some(cluster) => cluster.name.to_string(),
        None => format!("hostgroup {hostgroup}"),
    }
}

/// Mismatches of one statement, in the order in which they were found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Mismatches {
    all: Vec<Mismatch>,
}

impl Mismatches {
    /// All of them.
    #[must_use]
    pub fn into_vec(self) -> Vec<Mismatch> {
        self.all
    }

    /// Adds one; long texts are shortened.
    pub fn push(&mut self, field: Option<&'static str>, expected: impl AsRef<str>, actual: impl AsRef<str>) {
        self.all.push(Mismatch {
            field,
            expected: shortened(expected.as_ref(), SHOWN).into_owned(),
            actual: shortened(actual.as_ref(), SHOWN).into_owned(),
        });
    }

    /// Compares texts, where one is expected.
    pub fn compare(&mut self, field: &'static str, expected: Option<&str>, actual: Option<&str>) {
        if let Some(expected) = expected.filter(|expected| Some(*expected) != actual) {
            self.push(Some(field), expected, actual.unwrap_or("none"));
        }
    }

    /// Compares numbers of a unit, where one is expected.
    pub fn number(&mut self, field: &'static str, expected: Option<u64>, actual: Option<u64>, unit: &str) {
        if let Some(expected) = expected.filter(|expected| Some(*expected) != actual) {
            let actual = actual.map_or_else(|| "none".to_owned(), |actual| format!("{actual}{unit}"));
            self.push(Some(field), format!("{expected}{unit}"), actual);
        }
    }
}
