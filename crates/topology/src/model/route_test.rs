//! Route tests: statements of sessions and what must become of them.

use std::sync::Arc;

use shardwright_diagnostics::Span;

use super::{EngineName, KeyValue, OriginId, Origins, Role, Supposition, Words};

/// Statements of one session, in order.
#[derive(Clone, Debug, PartialEq)]
pub struct RouteTest {
    /// Its name: a sentence.
    pub name: Arc<str>,
    /// Where it was written.
    pub origin: OriginId,
    /// Engines that it is for; empty for every one that the project lists.
    pub engines: Vec<EngineName>,
    /// One for a test of a statement, several for a script.
    pub steps: Vec<TestStep>,
}

/// A statement and what must become of it.
#[derive(Clone, Debug, PartialEq)]
pub struct TestStep {
    /// The step's place in a script; none for a test of one statement.
    pub index: Option<u32>,
    /// The session that sends it.
    pub session: TestSession,
    /// Milliseconds since the statement before it.
    pub after_ms: u64,
    /// How the statement is sent.
    pub command: TestCommand,
    /// The statement, without blanks at its end; of an execution, the one that its preparation was written with.
    pub query: Arc<str>,
    /// What is supposed of servers, by their addresses; those that are not named are as they are meant to be.
    pub supposed: Vec<(Arc<str>, Supposition)>,
    /// What must become of it; none where all that counts is that it is not refused.
    pub expect: Option<Expectation>,
}

/// The command of the protocol that a step sends.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum TestCommand {
    /// A statement as text.
    #[default]
    Query,
    /// A preparation, under this name.
    Prepare(Arc<str>),
    /// An execution.
    Execute {
        /// The name that a step before it prepared.
        name: Arc<str>,
        /// The values of its parameters, `None` for one that is neither an integer nor a text; none where the test leaves
        /// them out.
        values: Option<Vec<Option<KeyValue>>>,
    },
}

/// The session of a test, as far as it was written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TestSession {
    /// Who logged in; always given where a test was read without problems.
    pub user: Option<Arc<str>>,
    /// The session's schema; none for the user's, and in a script for the one that the session is in.
    pub schema: Option<Arc<str>>,
    /// The client's address.
    pub client: Option<Arc<str>>,
    /// The listener that the session came in through.
    pub listener: Option<Arc<str>>,
}

/// What must become of a statement; what is none is not looked at.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Expectation {
    /// What happens to it.
    pub outcome: Option<ExpectedOutcome>,
    /// The cluster that it is sent to.
    pub cluster: Option<Arc<str>>,
    /// The role of the servers that it is sent to.
    pub role: Option<Role>,
    /// Addresses of the shards that place it.
    pub shards: Vec<Arc<str>>,
    /// The hostgroup that it is sent to.
    pub hostgroup: Option<u32>,
    /// The text that is sent, without blanks at its end.
    pub query: Option<Arc<str>>,
    /// The schema that the server's session is in.
    pub backend_schema: Option<Arc<str>>,
    /// A part of the refusal's text.
    pub error: Option<Arc<str>>,
    /// The text that the proxy answers with.
    pub answer: Option<Arc<str>>,
    /// How long it is held back, in milliseconds.
    pub delay_ms: Option<u64>,
    /// The address of an object, one of whose rules matches.
    pub rule: Option<Arc<str>>,
    /// How long its answer is kept, in milliseconds.
    pub cache_ttl_ms: Option<u64>,
    /// The cluster that gets a copy.
    pub mirror: Option<Arc<str>>,
    /// The `multiplex` of the rules.
    pub multiplex: Option<u8>,
    /// Addresses of the servers that take it, in no order.
    pub served_by: Option<Vec<Arc<str>>>,
    /// Addresses of the throttles on lag that hold it back, in no order.
    pub throttled_by: Option<Vec<Arc<str>>>,
}

impl Expectation {
    /// Whether it is about servers, which only an engine knows that watches them.
    #[must_use]
    pub fn is_about_servers(&self) -> bool {
        self.served_by.is_some() || self.throttled_by.is_some()
    }
}

/// What happens to a statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExpectedOutcome {
    /// It is sent to a server.
    Route,
    /// The client gets an error.
    Reject,
    /// The proxy answers.
    Answer,
}

impl RouteTest {
    /// Where the statement of a step was written; of an execution, the name.
    #[must_use]
    pub fn statement_span(&self, step: &TestStep, origins: &Origins) -> Span {
        let is_execution = matches!(step.command, TestCommand::Execute { .. });
        self.span(step, if is_execution { "execute" } else { "query" }, origins)
    }

    /// Where a field of a step was written, such as `query` or `expect.cluster`.
    #[must_use]
    pub fn span(&self, step: &TestStep, field: &str, origins: &Origins) -> Span {
        match step.index {
            Some(index) => origins.field(self.origin, &format!("script[{index}].{field}")),
            None => origins.field(self.origin, field),
        }
    }
}

impl Words for ExpectedOutcome {
    const WORDS: &'static [(&'static str, Self)] = &[
        ("route", Self::Route),
        ("reject", Self::Reject),
        ("answer", Self::Answer),
    ];
}
