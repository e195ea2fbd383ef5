//! Route tests: statements of a session, run through the routing table, against what was expected of them.

mod compare;
pub mod coverage;
pub mod mutants;
pub(crate) mod session;

use shardwright_routing::RoutingTable;
use shardwright_rules::{Configuration, Decision, Outcome, Role, SentAs, SessionView, Statement};
use shardwright_sql::LexMode;

use self::session::Simulated;

/// Statements that one session sends, in order.
#[derive(Clone, Debug)]
pub struct Case<'t> {
    /// The statements.
    pub steps: Vec<Step<'t>>,
}

/// A statement and what must become of it.
#[derive(Clone, Debug)]
pub struct Step<'t> {
    /// The user who logged in.
    pub user: &'t str,
    /// The schema that the session is put in; none for the user's, and later for the one it is in.
    pub schema: Option<&'t str>,
    /// The client's address.
    pub client: Option<&'t str>,
    /// The name of the listener that the session came in through.
    pub listener: Option<&'t str>,
    /// Milliseconds since the statement before it.
    pub after_ms: u64,
    /// How the statement is sent.
    pub command: Command<'t>,
    /// The statement; not looked at for an execution, whose statement is the one that was prepared.
    pub query: &'t [u8],
    /// What must become of it; none where all that counts is that it is not refused.
    pub expect: Option<Expected<'t>>,
}

/// The command of the protocol that a step sends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Command<'t> {
    /// COM_QUERY.
    #[default]
    Query,
    /// COM_STMT_PREPARE: the session has the statement under this name.
    Prepare(&'t str),
    /// COM_STMT_EXECUTE.
    Execute {
        /// What the session prepared under this name is executed.
        name: &'t str,
        /// How many values it carries; none for as many as the statement has parameters.
        values: Option<usize>,
    },
}

impl Command<'_> {
    /// The command without the name.
    #[must_use]
    pub const fn sent_as(self) -> SentAs {
        match self {
            Self::Query => SentAs::Query,
            Self::Prepare(_) => SentAs::Prepare,
            Self::Execute { .. } => SentAs::Execute,
        }
    }
}

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
    /// The cluster that a copy is sent to.
    pub mirror: Option<&'t str>,
    /// The `multiplex` of the rules.
    pub multiplex: Option<u8>,
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

/// A statement of which something else became than was expected.
#[derive(Clone, Debug, PartialEq)]
pub struct Failure {
    /// Its place in the case.
    pub step: usize,
    /// The session's schema when it was sent.
    pub schema: Option<String>,
    /// The statement that was decided; of an execution, as the engine has kept it.
    pub statement: Vec<u8>,
    /// What does not hold; at least one.
    pub mismatches: Vec<Mismatch>,
    /// What became of it, with its path.
    pub decision: Decision,
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

/// Runs the cases of one configuration.
#[derive(Debug)]
pub struct Runner<'c> {
    table: RoutingTable,
    configuration: &'c Configuration,
}

impl<'c> Runner<'c> {
    /// Prepares a configuration; `table` is built from the same one.
    #[must_use]
    pub fn new(table: RoutingTable, configuration: &'c Configuration) -> Self {
        Self { table, configuration }
    }

    /// The configuration.
    pub(crate) fn configuration(&self) -> &'c Configuration {
        self.configuration
    }

    /// What decides.
    #[must_use]
    pub fn table(&self) -> &RoutingTable {
        &self.table
    }

    /// What does not hold in a case; the session goes on behind a failure as it would for a client.
    #[must_use]
    pub fn run(&self, case: &Case<'_>) -> Vec<Failure> {
        self.walk(
            case,
            |session, statement| self.table.decide(session, statement),
            |_, _, _| {},
        )
    }

    /// As [`Runner::run`], and shows every statement with its decision, paths and all.
    #[must_use]
    pub fn run_seen(
        &self,
        case: &Case<'_>,
        see: impl FnMut(&SessionView<'_>, &Statement<'_>, &Decision),
    ) -> Vec<Failure> {
        self.walk(
            case,
            |session, statement| self.table.explain(session, statement),
            see,
        )
    }

    fn walk(
        &self,
        case: &Case<'_>,
        decide: impl Fn(&SessionView<'_>, &Statement<'_>) -> Decision,
        mut see: impl FnMut(&SessionView<'_>, &Statement<'_>, &Decision),
    ) -> Vec<Failure> {
        let mut failures = Vec::new();
        let mut session = Simulated::of(self.configuration);
        for (position, step) in case.steps.iter().enumerate() {
            session.turn_to(step, self.configuration);
            let text = session.text(step);
            let statement = Statement::new(text.as_deref().unwrap_or_default(), LexMode::default())
                .sent_as(step.command.sent_as());
            let decision = match &text {
                Ok(_) => decide(&session.view(step), &statement),
                Err(refused) => refused.decision(),
            };
            see(&session.view(step), &statement, &decision);
            let mismatches = self.mismatches(step, &session, &statement, &decision);
            if !mismatches.is_empty() {
                failures.push(Failure {
                    step: position,
                    schema: session.schema.clone(),
                    statement: statement.text().to_vec(),
                    mismatches,
                    decision: self.explained(step, &session, &statement),
                });
            }
            session.after(step.command, &statement, &decision.outcome);
        }
        failures
    }

    /// The decision about a step, with its path.
    fn explained(&self, step: &Step<'_>, session: &Simulated, statement: &Statement<'_>) -> Decision {
        match session.text(step) {
            Ok(_) => self.table.explain(&session.view(step), statement),
            Err(refused) => refused.decision(),
        }
    }
}
