//! What differs between engines, as data.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::lacking::OF_BUNDLED;
use crate::prices::{PatternPrices, Prices};
use crate::proxysql_prices::PROXYSQL_PRICES;
use crate::{EngineRule, Lacking, PreparedStatements, RefusedExecution, RegexEngine, Withheld};

/// An engine that configurations are compiled for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum EngineId {
    /// The proxy in this binary.
    #[serde(rename = "bundled")]
    Bundled,
    /// ProxySQL 2.7.
    #[serde(rename = "proxysql-2.7")]
    Proxysql27,
    /// ProxySQL 3.0, from 3.0.9 on.
    #[serde(rename = "proxysql-3.0")]
    Proxysql30,
}

impl EngineId {
    /// Every engine, in the order in which they are listed to people.
    pub const ALL: [EngineId; 3] = [EngineId::Bundled, EngineId::Proxysql27, EngineId::Proxysql30];

    /// The name in project files and on the command line.
    pub fn name(self) -> &'static str {
        self.profile().name
    }

    /// The engine of this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|engine| engine.name() == name)
    }

    /// What is particular to the engine.
    pub fn profile(self) -> &'static EngineProfile {
        match self {
            EngineId::Bundled => &BUNDLED,
            EngineId::Proxysql27 => &PROXYSQL_27,
            EngineId::Proxysql30 => &PROXYSQL_30,
        }
    }

    /// Whether it is a version of ProxySQL: its rules are rows, and its monitor moves servers.
    pub fn is_proxysql(self) -> bool {
        matches!(self, EngineId::Proxysql27 | EngineId::Proxysql30)
    }
}

impl fmt::Display for EngineId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The facts about an engine that the compiler, the evaluator and the analyser need.
/// Sources: `docs/engines.md` and the behaviour of ProxySQL 2.7.1 and 3.0.9 described there.
#[derive(Clone, Debug, PartialEq)]
pub struct EngineProfile {
    /// The engine.
    pub id: EngineId,
    /// Name in project files.
    pub name: &'static str,
    /// Whether rules can be native steps (dispatch on a key, roles, name rewriting) beside engine rules.
    pub native_steps: bool,
    /// When first-comment annotations are read.
    pub annotations: Annotations,
    /// Fast routing is skipped when the highest rule has `apply = 1`, matched or not (ProxySQL #5620, put right by
    /// #5763).
    pub trailing_apply_skips_fast_routing: bool,
    /// Whether an open transaction keeps its hostgroup whatever rules say (`transaction_persistent`).
    pub transactions_ignore_rules: bool,
    /// Under `autocommit=0`, a SELECT that takes no locks runs with `autocommit=1` as long as no transaction is open
    /// (`mysql-enforce_autocommit_on_reads` is off): it opens none.
    pub plain_selects_open_nothing: bool,
    /// Whether lag is asked for in the way that servers from MySQL 8.4 on know (ProxySQL #4908).
    pub asks_replica_status: bool,
    /// The variable that says when annotations are read: 0 never, 1 before the rules, 2 behind them, 3 both (ProxySQL
    /// #5384); `None` where that is fixed.
    pub annotations_variable: Option<&'static str>,
    /// The schema of a session that named none, where neither its user nor the engine's variable says: the default of
    /// `mysql-default_schema`. `None`: such a session has no schema.
    pub default_schema: Option<&'static str>,
    /// Whether the engine answers USE, SET, COMMIT without a transaction and others itself, and locks sessions on a
    /// hostgroup after a SET that it cannot follow.
    pub answers_itself: bool,
    /// What becomes of prepared statements of the binary protocol.
    pub prepared: PreparedStatements,
    /// The firewall, where it is on, ends the engine at the first mirrored statement: its copy has no client ("Firewall
    /// problem: unknown user", seen with 2.7.1; 3.0 has the same check).
    pub firewalled_mirror_ends_engine: bool,
    /// Columns of rules that the engine stores and has no means for.
    pub lacking: &'static [Lacking],
    /// The variables that hold the users of the admin port, each with the user that it names where it is not set.
    pub admin_credentials: &'static [(&'static str, &'static str)],
    /// The highest rule id; larger numbers wrap at load.
    pub max_rule_id: u32,
    /// Cost of the parts of a decision.
    pub prices: Prices,
}

impl EngineProfile {
    /// The variable of the admin port's users that names this one, if any does: `value` gives what a variable is set to,
    /// as `user:password;user:password`.
    pub fn reserved_by<'v>(
        &self,
        user: &str,
        value: impl Fn(&str) -> Option<&'v str>,
    ) -> Option<&'static str> {
        let names = |text: &str| {
            let mut users = text.split(';').map(|one| one.split(':').next().unwrap_or(one));
            users.any(|name| name.trim() == user)
        };
        let mut all = self.admin_credentials.iter();
        let found = all.find(|(variable, usual)| value(variable).map_or(*usual == user, names));
        found.map(|(variable, _)| *variable)
    }

    /// The columns of a rule that ask for what the engine has no means for.
    pub fn lacks(&self, row: &EngineRule) -> impl Iterator<Item = &'static Lacking> {
        self.lacking.iter().filter(|lacking| lacking.is_asked_by(row))
    }

    /// What is wrong with a user of a reserved name.
    pub fn reserved_message(&self, user: &str, variable: &str) -> String {
        format!(
            "user {user} has the name of a user of the admin port ({variable}): it replaces that user, and operators can no longer log in to the admin port"
        )
    }

    /// The engine's settings when nothing is configured.
    pub fn default_settings(&self) -> EngineSettings {
        EngineSettings {
            query_processor_iterations: 0,
            regex: RegexEngine::Pcre,
        }
    }
}

/// When `/* hostgroup=5 */` and its kin are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Annotations {
    /// After the rules, for everyone; they override what rules decided (ProxySQL up to 3.0.5).
    AfterRules,
    /// Refused unless the user is allowed them; then they override what rules decided.
    PerUser,
}

/// Engine variables that change what rules mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EngineSettings {
    /// `mysql-query_processor_iterations`: restarts after a jump; 0: jumps only reach later rules.
    pub query_processor_iterations: u32,
    /// `mysql-query_processor_regex`.
    pub regex: RegexEngine,
}

/// ProxySQL keeps the text as rewritten, with its digest and its first comment, and runs its rules over it at each
/// execution; from there it goes straight to the hostgroup (`MySQL_Session.cpp`, 2.7.1 and 3.0.9). That a refused execution
/// ends it was seen with 2.7.1.
const PREPARED_BY_PROXYSQL: PreparedStatements = PreparedStatements {
    executes_rewritten: true,
    keeps_schema: false,
    preparing_sets_flag: true,
    refuses_session_changes: false,
    refused_execution: RefusedExecution::EndsEngine,
    at_prepare: Withheld {
        delay: true,
        cache: true,
        mirror: true,
        ..Withheld::NOTHING
    },
    at_execute: Withheld {
        rewrite: true,
        delay: true,
        cache: true,
        mirror: true,
        retries: true,
    },
};

/// Seen with 2.7.1: a user of `mysql_users` with such a name replaces the administrator's entry.
const PROXYSQL_ADMINS: [(&str, &str); 2] = [
    ("admin-admin_credentials", "admin"),
    ("admin-stats_credentials", "stats"),
];

static BUNDLED: EngineProfile = EngineProfile {
    id: EngineId::Bundled,
    name: "bundled",
    native_steps: true,
    annotations: Annotations::PerUser,
    trailing_apply_skips_fast_routing: false,
    transactions_ignore_rules: false,
    plain_selects_open_nothing: false,
    asks_replica_status: true,
    annotations_variable: None,
    default_schema: None,
    answers_itself: false,
    prepared: PreparedStatements {
        executes_rewritten: false,
        keeps_schema: true,
        preparing_sets_flag: false,
        refuses_session_changes: true,
        refused_execution: RefusedExecution::Answered,
        at_prepare: Withheld {
            delay: true,
            cache: true,
            mirror: true,
            ..Withheld::NOTHING
        },
        at_execute: Withheld::NOTHING,
    },
    firewalled_mirror_ends_engine: false,
    lacking: OF_BUNDLED,
    admin_credentials: &[],
    max_rule_id: i32::MAX as u32,
    prices: Prices {
        pcre: PatternPrices::alike(40.0),
        re2: PatternPrices::alike(40.0),
        visit_ns: 0.0,
        lookup_ns: 20.0,
    },
};

static PROXYSQL_27: EngineProfile = EngineProfile {
    id: EngineId::Proxysql27,
    name: "proxysql-2.7",
    native_steps: false,
    annotations: Annotations::AfterRules,
    trailing_apply_skips_fast_routing: true,
    transactions_ignore_rules: true,
    plain_selects_open_nothing: true,
    asks_replica_status: false,
    annotations_variable: None,
    default_schema: Some("information_schema"),
    answers_itself: true,
    prepared: PREPARED_BY_PROXYSQL,
    firewalled_mirror_ends_engine: true,
    lacking: &[],
    admin_credentials: &PROXYSQL_ADMINS,
    max_rule_id: i32::MAX as u32,
    prices: PROXYSQL_PRICES,
};

static PROXYSQL_30: EngineProfile = EngineProfile {
    id: EngineId::Proxysql30,
    name: "proxysql-3.0",
    native_steps: false,
    annotations: Annotations::AfterRules,
    trailing_apply_skips_fast_routing: false,
    transactions_ignore_rules: true,
    plain_selects_open_nothing: true,
    asks_replica_status: true,
    annotations_variable: Some("mysql-query_processor_first_comment_parsing"),
    default_schema: Some("information_schema"),
    answers_itself: true,
    prepared: PreparedStatements {
        refused_execution: RefusedExecution::Unknown,
        ..PREPARED_BY_PROXYSQL
    },
    firewalled_mirror_ends_engine: true,
    lacking: &[],
    admin_credentials: &PROXYSQL_ADMINS,
    max_rule_id: i32::MAX as u32,
    // Rules are scanned as in 2.7.
    prices: PROXYSQL_PRICES,
};
