//! The tables and variables of the engine beside the rows of projects: how far a look for drift looks at each.
//!
//! Some tables change what ProxySQL does with statements, and no project holds rows of them: attributes of hostgroups, those of
//! Aurora, the scheduler. The same goes for most variables. A run records what it found there, so that a later look tells
//! what has changed since. Nothing tells whose change that is.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use shardwright_rules::tables::{
    FAST_ROUTING, FIREWALL_RULES, FIREWALL_USERS, GALERA_HOSTGROUPS, GLOBAL_VARIABLES,
    GROUP_REPLICATION_HOSTGROUPS, QUERY_RULES, REPLICATION_HOSTGROUPS, SERVERS, USERS,
};

use super::beyond::Beyond;
use super::digest::sha256_hex;
use super::row::RowName;
use super::session::{AdminSession, Found, SessionError};
use super::unsaid::Unsaid;
use crate::emit::Ownership;

/// Hexadecimal digits that are kept of the rows of a table.
const DIGITS: usize = 16;

/// The variable that says which ProxySQL it is: an update of it is no drift.
const VERSION: &str = "admin-version";

/// How far a look for drift looks at a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sight {
    /// Row by row, those of the project.
    Rows,
    /// Whether it holds what the last run found there.
    Whole,
    /// Each variable: against the files, or against what the last run found.
    Variables,
    /// Not at all: it does not decide where statements go.
    Nothing,
}

/// Every table of the engine that can be edited.
const TABLES: [(&str, Sight); 22] = [
    (SERVERS.name, Sight::Rows),
    (REPLICATION_HOSTGROUPS.name, Sight::Rows),
    (GALERA_HOSTGROUPS.name, Sight::Rows),
    (GROUP_REPLICATION_HOSTGROUPS.name, Sight::Rows),
    (USERS.name, Sight::Rows),
    (QUERY_RULES.name, Sight::Rows),
    (FAST_ROUTING.name, Sight::Rows),
    (FIREWALL_USERS.name, Sight::Rows),
    (FIREWALL_RULES.name, Sight::Rows),
    (GLOBAL_VARIABLES.name, Sight::Variables),
    ("mysql_aws_aurora_hostgroups", Sight::Whole),
    ("mysql_hostgroup_attributes", Sight::Whole),
    ("mysql_servers_ssl_params", Sight::Whole),
    ("mysql_firewall_whitelist_sqli_fingerprints", Sight::Whole),
    ("proxysql_servers", Sight::Whole),
    ("scheduler", Sight::Whole),
    ("clickhouse_users", Sight::Nothing),
    ("coredump_filters", Sight::Nothing),
    ("global_settings", Sight::Nothing),
    ("mysql_collations", Sight::Nothing),
    ("restapi_routes", Sight::Nothing),
    ("pgsql_*", Sight::Nothing),
];

/// What else no look for drift compares.
const ROWS_NOT_LOOKED_AT: [&str; 4] = [
    "rows of others",
    "rules that are not active",
    "passwords of users that no project can say",
    "passwords of the admin port",
];

impl Sight {
    /// How far a look for drift looks at a table; `None`: nobody has decided.
    pub fn of(table: &str) -> Option<Self> {
        let is = |listed: &str| match listed.strip_suffix('*') {
            Some(start) => table.starts_with(start),
            None => table == listed,
        };
        let found = TABLES.iter().find(|(listed, _)| is(listed));
        found.map(|(_, sight)| *sight)
    }

    /// What is not looked at, in words.
    pub(super) fn nothing() -> impl Iterator<Item = &'static str> {
        let tables = TABLES.iter().filter(|(_, sight)| *sight == Self::Nothing);
        ROWS_NOT_LOOKED_AT
            .into_iter()
            .chain(tables.map(|(table, _)| *table))
    }
}

/// What a run finds beside the rows of projects: of a table how many rows it has with a digest of them, of a variable its
/// value.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Besides {
    tables: BTreeMap<String, Rows>,
    #[serde(default)]
    variables: BTreeMap<String, String>,
    /// Absent in records of earlier versions.
    #[serde(default)]
    unsaid: Option<Unsaid>,
}

/// The rows of a table.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Rows {
    count: usize,
    digest: String,
}

impl Besides {
    /// Reads the tables, and takes from `live` what of our rows no project can say, the variables that no row of the project is about, and the firewall's rows of our
    /// users where the project has no firewall.
    pub(super) fn read<'l>(
        session: &mut AdminSession,
        live: impl Iterator<Item = (&'l RowName, &'l Found)> + Clone,
        beyond: &Beyond,
        ownership: &Ownership,
    ) -> Result<Self, SessionError> {
        let mut besides = Self {
            unsaid: Some(Unsaid::of(live.clone(), beyond)),
            ..Self::default()
        };
        for (table, _) in TABLES.iter().filter(|(_, sight)| *sight == Sight::Whole) {
            // A peer of a cluster hands on an empty text for none.
            let rows = session.texts(&format!("SELECT * FROM {table}"))?.into_iter();
            let rows = rows.map(|row| row.into_iter().map(Option::unwrap_or_default).collect());
            besides
                .tables
                .insert((*table).to_owned(), Rows::of(rows.collect()));
        }
        for table in [&FIREWALL_USERS, &FIREWALL_RULES] {
            let rows = live.clone().filter(|(name, found)| {
                let is_of_our_user = name.text(0).is_some_and(|user| ownership.owns_user(user));
                name.is_in(table) && !found.is_ours && is_of_our_user
            });
            let rows = rows.map(|(name, found)| vec![name.to_string(), format!("{:?}", found.row.facts)]);
            besides
                .tables
                .insert(table.name.to_owned(), Rows::of(rows.collect()));
        }
        let variables = live.filter(|(_, found)| found.row.secret.is_none());
        let variables = variables.filter_map(|(name, found)| {
            let variable = name.variable_name()?;
            let is_beside = variable != VERSION && !ownership.resets.contains_key(variable);
            let value = found.row.text("variable_value").to_owned();
            is_beside.then(|| (variable.to_owned(), value))
        });
        besides.variables = variables.collect();
        Ok(besides)
    }

    /// What is another thing now than when this was found, a line each. What was not looked at then is left out, and `is_wanted` are
    /// variables that the files speak of.
    pub(super) fn changed(&self, now: &Self, is_wanted: impl Fn(&str) -> bool) -> Vec<String> {
        let tables = self.tables.iter().filter_map(|(table, then)| {
            let now = now.tables.get(table).filter(|now| *now != then)?;
            let rows = |count: usize| match count {
                0 => "no row".to_owned(),
                1 => "1 row".to_owned(),
                count => format!("{count} rows"),
            };
            Some(match now.count == then.count {
                true => format!(
                    "{table}: {}, with other values than at the last apply",
                    rows(now.count)
                ),
                false => format!(
                    "{table}: {}, and {} at the last apply",
                    rows(now.count),
                    rows(then.count)
                ),
            })
        });
        let variables = self.variables.iter().filter_map(|(variable, then)| {
            let now = now.variables.get(variable).filter(|now| *now != then)?;
            (!is_wanted(variable)).then(|| format!("{variable}: {now}, and {then} at the last apply"))
        });
        let unsaid = self.unsaid.iter().zip(&now.unsaid);
        let unsaid = unsaid.flat_map(|(then, now)| then.changed(now));
        tables.chain(variables).chain(unsaid).collect()
    }
}

impl Rows {
    fn of(mut rows: Vec<Vec<String>>) -> Self {
        rows.sort_unstable();
        let text = serde_json::to_vec(&rows).expect("texts are JSON");
        let mut digest = sha256_hex(&text);
        digest.truncate(DIGITS);
        Self {
            count: rows.len(),
            digest,
        }
    }
}
