//! A session as routing sees it, carried from statement to statement as the servers' answers would.

use std::borrow::Cow;
use std::collections::BTreeMap;

use shardwright_rules::{
    Configuration, Decision, Hits, Hostgroup, HostgroupId, Outcome, OwnAnswer, PendingKind,
    PreparedStatements, Route, SentAs, SessionView, Statement, Transaction, TransactionEnd, prepared,
};
use shardwright_sql::lex::identifier;
use shardwright_sql::set::{SetItem, items};
use shardwright_sql::{LexMode, Lexer, SessionEffects, StatementClass};

use crate::parameters::parameters;
use crate::step::{Command, Step};

/// What of a session's state decides about its next statement. Statements are taken to succeed.
#[derive(Debug)]
pub(crate) struct Simulated {
    pub(crate) schema: Option<String>,
    user: Option<String>,
    listener: Option<(String, u16)>,
    transaction: Option<Transaction>,
    /// The hostgroup that the session is locked on.
    locked_on: Option<HostgroupId>,
    /// BEGIN was answered and no server knows of it yet.
    pending: Option<PendingKind>,
    autocommit: bool,
    next_query_flag_in: Option<u32>,
    since_write_ms: Option<u64>,
    /// As in [`SessionView::state_on`].
    state_on: Vec<HostgroupId>,
    /// What was prepared, by name.
    prepared: BTreeMap<String, Prepared>,
    engine: PreparedStatements,
    plain_selects_open_nothing: bool,
    /// The engine knows XA transactions by their texts.
    follows_xa: bool,
    /// LOCK TABLES holds: UNLOCK TABLES commits.
    locks_tables: bool,
}

/// A prepared statement, as the engine has kept it.
#[derive(Debug)]
struct Prepared {
    text: Vec<u8>,
    /// The schema that it was prepared in.
    schema: Option<String>,
}

/// An execution that no rule is asked about.
#[derive(Debug)]
pub(crate) enum Refused<'t> {
    /// The session has prepared nothing under this name.
    NotPrepared(&'t str),
    /// It carries another number of values than the statement has parameters.
    Values { given: usize, parameters: usize },
}

impl Refused<'_> {
    /// What becomes of the execution.
    pub(crate) fn decision(&self) -> Decision {
        let rejection = match *self {
            Refused::NotPrepared(name) => prepared::unknown_handler(name),
            Refused::Values { given, parameters } => prepared::wrong_arguments(given, parameters),
        };
        Decision {
            outcome: Outcome::Reject(rejection),
            evaluations: 0,
            visits: 0,
            hits: Hits::new(),
            unknown: Hits::new(),
            unsure: false,
            is_cut: false,
            path: Vec::new(),
        }
    }
}

impl Simulated {
    /// A session that nobody has logged in to.
    pub(crate) fn of(configuration: &Configuration) -> Self {
        Self {
            engine: configuration.engine.profile().prepared,
            plain_selects_open_nothing: configuration.engine.profile().plain_selects_open_nothing,
            follows_xa: !configuration.engine.profile().answers_itself,
            locks_tables: false,
            prepared: BTreeMap::new(),
            schema: None,
            user: None,
            listener: None,
            transaction: None,
            locked_on: None,
            pending: None,
            autocommit: true,
            next_query_flag_in: None,
            since_write_ms: None,
            state_on: Vec::new(),
        }
    }

    /// Time passes, and the step says who speaks; another user is another login.
    pub(crate) fn turn_to(&mut self, step: &Step<'_>, configuration: &Configuration) {
        if self.user.as_deref() != Some(step.user) {
            *self = Self {
                user: Some(step.user.to_owned()),
                schema: configuration.default_schema(step.user).map(str::to_owned),
                ..Self::of(configuration)
            };
        }
        if let Some(schema) = step.schema {
            self.schema = Some(schema.to_owned()).filter(|schema| !schema.is_empty());
        }
        if let Some(name) = step.listener {
            let listener = configuration
                .listeners
                .iter()
                .find(|listener| listener.name == name);
            self.listener = listener.map(|listener| (listener.bind.clone(), listener.port));
        }
        if let Some(since) = &mut self.since_write_ms {
            *since = since.saturating_add(step.after_ms);
        }
    }

    /// The next statement starts at this flag, as `next_query_flagIN` of an earlier one would have it.
    pub(crate) fn start_at(&mut self, flag: u32) {
        self.next_query_flag_in = Some(flag);
    }

    pub(crate) fn view<'s>(&'s self, step: &'s Step<'_>) -> SessionView<'s> {
        SessionView {
            user: step.user,
            user_position: None,
            schema: self.schema_of(step.command),
            client_addr: step.client,
            listener: self.listener.as_ref().map(|(bind, port)| (bind.as_str(), *port)),
            transaction: self.transaction,
            transaction_pending: self.pending,
            autocommit_off: !self.autocommit,
            next_query_flag_in: self.next_query_flag_in,
            locked_on: self.locked_on,
            since_write_ms: self.since_write_ms,
            state_on: &self.state_on,
        }
    }

    /// The statement of a step; of an execution, what the engine has kept.
    pub(crate) fn text<'t>(&self, step: &Step<'t>) -> Result<Cow<'t, [u8]>, Refused<'t>> {
        match step.command {
            Command::Query | Command::Prepare(_) => Ok(Cow::Borrowed(step.query)),
            Command::Execute { name, values } => {
                let prepared = self.prepared.get(name).ok_or(Refused::NotPrepared(name))?;
                let parameters = parameters(&prepared.text);
                match values {
                    Some(values) if values.len() != parameters => Err(Refused::Values {
                        given: values.len(),
                        parameters,
                    }),
                    _ => Ok(Cow::Owned(prepared.text.clone())),
                }
            }
        }
    }

    /// The schema that a command is decided in.
    pub(crate) fn schema_of(&self, command: Command<'_>) -> Option<&str> {
        let prepared = match command {
            Command::Execute { name, .. } if self.engine.keeps_schema => self.prepared.get(name),
            _ => None,
        };
        let schema = prepared.map_or(&self.schema, |prepared| &prepared.schema);
        schema.as_deref()
    }

    /// What a statement leaves behind.
    pub(crate) fn after(
        &mut self,
        configuration: &Configuration,
        command: Command<'_>,
        statement: &Statement<'_>,
        outcome: &Outcome,
    ) {
        if let Command::Prepare(name) = command {
            return self.prepared(name, statement, outcome);
        }
        match outcome {
            // Nobody answers it.
            Outcome::Route(route) if !is_served(configuration, route.hostgroup) => {}
            Outcome::Route(route) => match &route.rewritten {
                // What was sent is what happened.
                Some(text) => {
                    let sent = Statement::new(text, statement.mode()).sent_as(statement.command());
                    self.routed(&sent, route);
                }
                None => self.routed(statement, route),
            },
            Outcome::Own { answer, .. } => self.answered(statement, *answer),
            Outcome::DeferBegin => self.pending = Some(statement.pending_kind()),
            Outcome::Answer { .. } if statement.transaction_end() == Some(TransactionEnd::Over) => {
                self.pending = None;
            }
            Outcome::Answer { .. } | Outcome::Reject(_) => {}
        }
    }

    /// Preparing runs nothing; what could not be prepared is not there to be executed.
    fn prepared(&mut self, name: &str, statement: &Statement<'_>, outcome: &Outcome) {
        let route = match outcome {
            Outcome::Route(route) => Some(route),
            Outcome::Answer { .. } | Outcome::Own { .. } | Outcome::DeferBegin
                if self.engine.refuses_session_changes && prepared::is_text(statement) =>
            {
                None
            }
            _ => {
                self.prepared.remove(name);
                return;
            }
        };
        let kept = route.and_then(|route| self.engine.kept(route.rewritten.as_deref()));
        let prepared = Prepared {
            text: kept.unwrap_or(statement.text()).to_vec(),
            schema: self.schema.clone(),
        };
        self.prepared.insert(name.to_owned(), prepared);
        if let Some(route) = route.filter(|_| self.engine.preparing_sets_flag) {
            self.next_query_flag_in = route.effects.next_query_flag_in.or(self.next_query_flag_in);
        }
    }

    fn routed(&mut self, statement: &Statement<'_>, route: &Route) {
        let shape = statement.shape();
        let open = Transaction {
            hostgroup: route.hostgroup,
        };
        let end = statement.transaction_end();
        let is_work = route.shard.is_some() || !statement.is_session_setup();
        match shape.class {
            StatementClass::Use => self.uses(statement),
            StatementClass::Set if !sets_password(statement) => self.set(statement),
            StatementClass::Begin => {
                self.transaction = Some(open);
                self.pending = None;
            }
            StatementClass::Xa if self.follows_xa && statement.begins_xa() => {
                self.transaction = Some(open);
                self.pending = None;
            }
            StatementClass::Xa if self.follows_xa && statement.ends_xa() => {
                self.transaction = None;
                self.pending = None;
            }
            // It begins the next one, also where none was open.
            _ if end == Some(TransactionEnd::Chained) => {
                self.transaction = self.transaction.or(Some(open));
                self.pending = None;
            }
            _ if end.is_some() || self.commits_by_itself(statement) => {
                // A user without transaction_persistent can end one on another hostgroup than its own.
                self.transaction = self.transaction.filter(|open| open.hostgroup != route.hostgroup);
                self.pending = None;
            }
            // What drivers ask on the way opens nothing.
            _ if is_work && self.transaction.is_none() && self.opens_with(statement) => {
                self.transaction = Some(open);
                self.pending = None;
            }
            _ => {}
        }
        let leaves_data_alone = matches!(
            shape.class,
            StatementClass::Begin | StatementClass::Savepoint | StatementClass::Rollback
        );
        if !shape.is_safe_read() && !statement.is_session_setup() && !leaves_data_alone {
            self.since_write_ms = Some(0);
        }
        if route.locks {
            self.locked_on = Some(route.hostgroup);
        }
        if shape.effects.intersects(SessionEffects::BINDS_READS) && !self.state_on.contains(&route.hostgroup)
        {
            self.state_on.push(route.hostgroup);
        }
        self.next_query_flag_in = route.effects.next_query_flag_in.or(self.next_query_flag_in);
    }

    /// What a statement leaves behind that the engine answered itself.
    fn answered(&mut self, statement: &Statement<'_>, answer: OwnAnswer) {
        match answer {
            OwnAnswer::Schema => self.uses(statement),
            OwnAnswer::Set => self.set(statement),
            OwnAnswer::NoTransaction | OwnAnswer::OfEngine => {}
        }
    }

    /// Whether a server commits before it runs a statement.
    fn commits_by_itself(&mut self, statement: &Statement<'_>) -> bool {
        let shape = statement.shape();
        match shape.class {
            StatementClass::Ddl => !shape.effects.intersects(SessionEffects::TEMPORARY_TABLE),
            StatementClass::Lock => {
                let locks = !first_is(statement, "UNLOCK");
                std::mem::replace(&mut self.locks_tables, locks) || locks
            }
            _ => {
                let maintenance = [
                    "ANALYZE", "CHECK", "FLUSH", "GRANT", "OPTIMIZE", "REPAIR", "REVOKE",
                ];
                maintenance.iter().any(|word| first_is(statement, word)) || sets_password(statement)
            }
        }
    }

    fn uses(&mut self, statement: &Statement<'_>) {
        let mut tokens = Lexer::new(statement.text(), LexMode::default()).significant();
        let name = tokens.nth(1).map(|token| {
            // Single quotes are a part of the name that ProxySQL takes.
            let written = || token.span.of(statement.text()).into();
            identifier(&token, statement.text()).unwrap_or_else(written)
        });
        self.schema = name.map(|name| String::from_utf8_lossy(&name).into_owned());
    }

    /// Whether a statement opens the transaction that is about to open.
    fn opens_with(&self, statement: &Statement<'_>) -> bool {
        let runs_alone = || self.plain_selects_open_nothing && is_plain_select(statement);
        self.pending.is_some() || !(self.autocommit || looks_at_no_table(statement) || runs_alone())
    }

    fn set(&mut self, statement: &Statement<'_>) {
        for item in items(statement.text(), LexMode::default()) {
            if let SetItem::Autocommit(switch) = item {
                // Switching on what is on already ends nothing.
                let ends = switch && !self.autocommit;
                self.autocommit = switch;
                if ends {
                    self.transaction = None;
                    self.pending = None;
                }
            }
        }
    }
}

/// A SELECT without locks as ProxySQL tells it: by the digest text, and of an execution by the text as it was prepared, in
/// which a comment in front hides the word (`Query_Info`, `MySQL_STMT_Global_info`, 2.7.1).
fn is_plain_select(statement: &Statement<'_>) -> bool {
    let text = match statement.command() {
        SentAs::Execute => statement.text(),
        SentAs::Query | SentAs::Prepare => statement.digest_text(),
    };
    let begins = text
        .get(..7)
        .is_some_and(|word| word.eq_ignore_ascii_case(b"SELECT "));
    let ends = |lock: &[u8]| {
        let from = text.len().checked_sub(lock.len());
        from.is_some_and(|from| text[from..].eq_ignore_ascii_case(lock))
    };
    begins && !ends(b" FOR UPDATE") && !ends(b" FOR SHARE") && !ends(b" LOCK IN SHARE MODE")
}

/// With `autocommit=0` a server opens a transaction when it first looks at a table. These look at none; an EXECUTE of a
/// text may, and so may stored code.
fn looks_at_no_table(statement: &Statement<'_>) -> bool {
    let shape = statement.shape();
    match shape.class {
        StatementClass::Savepoint => true,
        StatementClass::Do => !shape.runs_or_reads(),
        StatementClass::Ddl => {
            shape.effects.intersects(SessionEffects::TEMPORARY_TABLE)
                && !shape.names_table
                && !shape.has_subquery
        }
        _ => shape.effects.intersects(SessionEffects::TEXT_PREPARE) && !first_is(statement, "EXECUTE"),
    }
}

/// Whether the cluster of a hostgroup has a server; the monitor moves servers among its hostgroups. A rule set that names no server
/// says nothing of that.
fn is_served(configuration: &Configuration, id: HostgroupId) -> bool {
    let all = &configuration.hostgroups;
    let has_servers = |hostgroup: &&Hostgroup| !hostgroup.members.is_empty();
    let hostgroup = configuration.hostgroup(id);
    if hostgroup.is_some_and(|hostgroup| has_servers(&hostgroup)) {
        return true;
    }
    let mut served = all.iter().filter(has_servers).peekable();
    served.peek().is_none()
        || hostgroup.is_some_and(|hostgroup| served.any(|other| other.cluster == hostgroup.cluster))
}

fn first_is(statement: &Statement<'_>, wanted: &str) -> bool {
    let mut tokens = statement.tokens();
    tokens.next().is_some_and(|token| {
        token
            .span
            .of(statement.text())
            .eq_ignore_ascii_case(wanted.as_bytes())
    })
}

fn sets_password(statement: &Statement<'_>) -> bool {
    let words = ["SET", "PASSWORD"];
    let mut tokens = statement.tokens();
    words.iter().all(|word| {
        tokens
            .next()
            .is_some_and(|token| token.is_word(statement.text(), word))
    })
}
