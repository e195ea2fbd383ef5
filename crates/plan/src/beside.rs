//! The changes of a plan that a comparison of rules is not about: servers, listeners, rights of users, variables.
//!
//! A comparison of two configurations looks at rules, at what decides with them, and at users who can log in. That nothing
//! routes differently is said only if no other change is in the plan. So what is compared is listed here, and every other
//! change is named.

use std::collections::{BTreeMap, BTreeSet};

use shardwright_rules::Address;
use shardwright_rules::tables::{
    FAST_ROUTING, FIREWALL_RULES, FIREWALL_USERS, GALERA_HOSTGROUPS, GLOBAL_VARIABLES,
    GROUP_REPLICATION_HOSTGROUPS, QUERY_RULES, REPLICATION_HOSTGROUPS, SERVERS, USERS,
};

use crate::{Action, Effect, ObjectKind, RowChange, RowKey};

/// The subject of a value that a plan can change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Subject {
    /// The comparison of rules looks at it.
    Compared,
    /// It changes nothing for clients.
    Remark,
    /// The servers of a hostgroup, and which of them takes a statement.
    Servers,
    /// Addresses where clients connect.
    Listeners,
    /// The passwords, TLS and numbers of connections of users.
    Logins,
    /// The time that a statement may take.
    Time,
    /// Whether the statements of a user come to the rules at all.
    Passage,
    /// It is in no list.
    Unknown,
}

impl Subject {
    /// What a reader is told that changes; `None`: nothing.
    fn told(self) -> Option<&'static str> {
        match self {
            Self::Compared | Self::Remark => None,
            Self::Servers => Some("which server answers"),
            Self::Listeners => Some("where clients connect"),
            Self::Logins => Some("who may log in, how, and how often"),
            Self::Time => Some("how long a statement may take"),
            Self::Passage => Some("whether statements come to the rules"),
            Self::Unknown => Some("something that is not compared"),
        }
    }
}

/// Tables of ProxySQL whose columns are all about one thing, remarks left out.
const TABLES: [(&str, Subject); 11] = [
    (SERVERS.name, Subject::Servers),
    ("mysql_servers_ssl_params", Subject::Servers),
    (REPLICATION_HOSTGROUPS.name, Subject::Servers),
    (GROUP_REPLICATION_HOSTGROUPS.name, Subject::Servers),
    (GALERA_HOSTGROUPS.name, Subject::Servers),
    ("mysql_aws_aurora_hostgroups", Subject::Servers),
    ("mysql_hostgroup_attributes", Subject::Servers),
    (QUERY_RULES.name, Subject::Compared),
    (FAST_ROUTING.name, Subject::Compared),
    (FIREWALL_USERS.name, Subject::Compared),
    (FIREWALL_RULES.name, Subject::Compared),
];
/// Columns of `mysql_users`.
const USER_COLUMNS: [(&str, Subject); 13] = [
    ("username", Subject::Compared),
    ("active", Subject::Compared),
    ("default_hostgroup", Subject::Compared),
    ("default_schema", Subject::Compared),
    ("transaction_persistent", Subject::Compared),
    ("fast_forward", Subject::Passage),
    ("password", Subject::Logins),
    ("use_ssl", Subject::Logins),
    ("schema_locked", Subject::Logins),
    ("backend", Subject::Logins),
    ("frontend", Subject::Logins),
    ("max_connections", Subject::Logins),
    ("attributes", Subject::Logins),
];
/// Values of a user as the files have them.
const USER_FACTS: [(&str, Subject); 10] = [
    ("cluster", Subject::Compared),
    ("hostgroup", Subject::Compared),
    ("default_schema", Subject::Compared),
    ("transaction_persistent", Subject::Compared),
    ("annotations_allowed", Subject::Compared),
    ("reads_only", Subject::Compared),
    ("password", Subject::Logins),
    ("tls", Subject::Logins),
    ("max_connections", Subject::Logins),
    ("statement_timeout_ms", Subject::Time),
];

const REMARK: &str = "comment";

fn listed(list: &[(&str, Subject)], name: &str) -> Subject {
    let found = list.iter().find(|(listed, _)| *listed == name);
    found.map_or(Subject::Unknown, |(_, subject)| *subject)
}

impl Subject {
    /// The subject of a column of one of ProxySQL's tables but that of variables, each of which has its own.
    pub fn of_column(table: &str, column: &str) -> Self {
        if column == REMARK {
            Self::Remark
        } else if table == USERS.name {
            listed(&USER_COLUMNS, column)
        } else {
            listed(&TABLES, table)
        }
    }

    /// The subject of a value of an object, as the files have it.
    fn of_fact(kind: ObjectKind, fact: &str) -> Self {
        match kind {
            ObjectKind::Project => Self::Remark,
            ObjectKind::Monitor | ObjectKind::Cluster | ObjectKind::Server => Self::Servers,
            ObjectKind::Listener => Self::Listeners,
            ObjectKind::User => listed(&USER_FACTS, fact),
            ObjectKind::ShardMap
            | ObjectKind::Shard
            | ObjectKind::Policy
            | ObjectKind::Route
            | ObjectKind::Throttle
            | ObjectKind::PoolingException
            | ObjectKind::Cache
            | ObjectKind::Mirror
            | ObjectKind::Firewall
            | ObjectKind::QueryRule
            | ObjectKind::FastRoute => Self::Compared,
            ObjectKind::Settings | ObjectKind::Other => Self::Unknown,
        }
    }
}

/// The changes that a comparison of rules is not about, each in words: `which server answers (2 servers)`.
///
/// `compares` says whether the comparison looks at a setting or variable of the engine, by name.
pub fn beside(effects: &[Effect], compares: impl Fn(&str) -> bool) -> Vec<String> {
    let mut objects: BTreeMap<Subject, BTreeSet<&Address>> = BTreeMap::new();
    let mut variables = BTreeSet::new();
    for effect in effects {
        for change in changes(effect) {
            match change {
                Changed::Value(subject) => {
                    objects.entry(subject).or_default().insert(&effect.address);
                }
                Changed::Variable(name) if !compares(name) => {
                    variables.insert(name);
                }
                Changed::Variable(_) => {}
            }
        }
    }
    let told = objects.iter().filter_map(|(subject, addresses)| {
        let told = subject.told()?;
        Some(format!("{told} ({})", counted(addresses)))
    });
    told.chain(variables.into_iter().map(str::to_owned)).collect()
}

/// One thing that an effect changes.
enum Changed<'e> {
    Value(Subject),
    Variable(&'e str),
}

fn changes(effect: &Effect) -> Vec<Changed<'_>> {
    // Rules and rows of fast routing are compared.
    let rows = effect.rows.iter().filter_map(|row| match &row.row {
        RowKey::Row { table, key } => Some(of_row(table, key, row)),
        RowKey::Rule(_) | RowKey::FastRoute { .. } => None,
    });
    let mut rows = rows.peekable();
    if rows.peek().is_some() {
        return rows.flatten().collect();
    }
    let facts = effect.old.keys().chain(effect.new.keys());
    match effect.kind() {
        // Who can log in is compared.
        ObjectKind::User if effect.action != Action::Change => Vec::new(),
        ObjectKind::Settings => facts.map(|name| Changed::Variable(name)).collect(),
        kind if effect.action != Action::Change => vec![Changed::Value(Subject::of_fact(kind, ""))],
        kind => facts
            .map(|fact| Changed::Value(Subject::of_fact(kind, fact)))
            .collect(),
    }
}

fn of_row<'e>(table: &str, key: &'e [String], row: &'e RowChange) -> Vec<Changed<'e>> {
    if table == GLOBAL_VARIABLES.name {
        let name = key.first().map(|name| Changed::Variable(name));
        return name.into_iter().collect();
    }
    let columns = row.old.keys().chain(row.new.keys());
    let subjects = columns.map(|column| Subject::of_column(table, column));
    if row.action == Action::Change {
        subjects.map(Changed::Value).collect()
    } else if table == USERS.name {
        // Who can log in is compared; whether rules count for the user is not.
        let passages = subjects.filter(|subject| *subject == Subject::Passage);
        passages.map(Changed::Value).collect()
    } else {
        vec![Changed::Value(listed(&TABLES, table))]
    }
}

/// `2 servers, 1 cluster`
fn counted(addresses: &BTreeSet<&Address>) -> String {
    let mut kinds: BTreeMap<ObjectKind, usize> = BTreeMap::new();
    for address in addresses {
        *kinds.entry(ObjectKind::of(address)).or_default() += 1;
    }
    let counts = kinds
        .into_iter()
        .map(|(kind, count)| format!("{count} {}", kind.noun(count)));
    counts.collect::<Vec<_>>().join(", ")
}
