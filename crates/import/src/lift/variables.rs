//! Variables of the engine: those that change what rules mean, and the others.

use std::collections::BTreeMap;

use shardwright_diagnostics::Severity;
use shardwright_rules::{
    Address, ClusterKind, FIREWALL_MESSAGE, Listener, Monitor, RegexEngine, SecretReference,
};
use shardwright_secrets::Secret;

use super::{Lift, leading_number, text};
use crate::codes::{IGNORED, MISREAD};
use crate::dump::is_secret;
use crate::store::Row;

/// The value of digest variables that rules are analysed for; another one changes what digests are.
const DIGESTS: [(&str, Usual); 10] = [
    ("mysql-query_digests", Usual::Boolean(true)),
    ("mysql-query_digests_lowercase", Usual::Boolean(false)),
    ("mysql-query_digests_replace_null", Usual::Boolean(false)),
    ("mysql-query_digests_no_digits", Usual::Boolean(false)),
    ("mysql-query_digests_keep_comment", Usual::Boolean(false)),
    ("mysql-query_digests_normalize_digest_text", Usual::Boolean(false)),
    ("mysql-query_digests_grouping_limit", Usual::Number(3)),
    ("mysql-query_digests_groups_grouping_limit", Usual::Number(10)),
    ("mysql-query_digests_max_digest_length", Usual::Number(2048)),
    ("mysql-query_digests_max_query_length", Usual::Number(65000)),
];

/// The default of a variable.
#[derive(Clone, Copy)]
enum Usual {
    Boolean(bool),
    Number(i64),
}

impl Usual {
    fn is(self, value: &str) -> bool {
        match self {
            Self::Boolean(usual) => is_true(value) == usual,
            Self::Number(usual) => leading_number(value) == usual,
        }
    }
}
const FIREWALL: &str = "mysql-firewall_whitelist_enabled";
const FIREWALL_TEXT: &str = "mysql-firewall_whitelist_errormsg";
const ALSO_READER: &str = "mysql-monitor_writer_is_also_reader";
const LAG_WHEN_NULL: &str = "mysql-monitor_slave_lag_when_null";
const HEARTBEAT: &str = "mysql-monitor_replication_lag_use_percona_heartbeat";
const MONITOR: &str = "mysql-monitor_username";
const MONITOR_PASSWORD: &str = "mysql-monitor_password";
const INTERFACES: &str = "mysql-interfaces";

/// Variables with their rows, by name.
pub(super) struct Variables {
    rows: BTreeMap<String, (String, Row)>,
}

impl Variables {
    /// Reads all variables, and sets those that change what rules mean.
    pub(super) fn read(lift: &mut Lift<'_>) -> Self {
        let mut rows = BTreeMap::new();
        for row in lift.rows("global_variables") {
            // A row without a value was made for an UPDATE that has not changed it.
            if let (Some(name), Some(value)) = (text(&row, "variable_name"), text(&row, "variable_value")) {
                rows.insert(name, (value, row));
            }
        }
        let mut variables = Self { rows };
        variables.settings(lift);
        variables.digests(lift);
        variables.annotations(lift);
        variables
    }

    fn settings(&mut self, lift: &mut Lift<'_>) {
        if let Some((value, row)) = self.rows.remove("mysql-query_processor_iterations") {
            let number = leading_number(&value);
            match u32::try_from(number) {
                Ok(iterations) if iterations <= 1_000_000 => {
                    lift.configuration.settings.query_processor_iterations = iterations;
                }
                _ => lift.say(
                    Severity::Error,
                    MISREAD,
                    &row,
                    format!("mysql-query_processor_iterations is 0 to 1000000, not {value}"),
                ),
            }
        }
        if let Some((value, row)) = self.rows.remove("mysql-query_processor_regex") {
            match leading_number(&value) {
                1 => lift.configuration.settings.regex = RegexEngine::Pcre,
                2 => lift.configuration.settings.regex = RegexEngine::Re2,
                _ => lift.say(
                    Severity::Error,
                    MISREAD,
                    &row,
                    format!("mysql-query_processor_regex is 1 or 2, not {value}"),
                ),
            }
        }
    }

    fn digests(&mut self, lift: &mut Lift<'_>) {
        for (name, usual) in DIGESTS {
            let Some((value, row)) = self.rows.remove(name) else {
                continue;
            };
            if !usual.is(&value) {
                lift.unmodelled(
                    &row,
                    format!("{name} is {value}: the engine's digests differ from those that are analysed"),
                );
            }
        }
    }

    /// Annotations are analysed as they are read where nothing is set: behind the rules.
    fn annotations(&self, lift: &mut Lift<'_>) {
        let profile = lift.configuration.engine.profile();
        let Some(name) = profile.annotations_variable else {
            return;
        };
        if let Some((value, row)) = self.rows.get(name).filter(|(value, _)| value != "2") {
            let what = format!(
                "{name} is {value}: annotations in comments are not read after the rules, as the analysis assumes"
            );
            lift.unmodelled(row, what);
        }
    }

    /// `mysql-monitor_writer_is_also_reader`; on, unless it is set.
    pub(super) fn writer_is_also_reader(&self) -> bool {
        self.rows.get(ALSO_READER).is_none_or(|(value, _)| is_true(value))
    }

    /// What a variable is set to.
    pub(super) fn value(&self, name: &str) -> Option<&str> {
        self.rows.get(name).map(|(value, _)| value.as_str())
    }

    /// Whether what is not allowed is refused.
    pub(super) fn firewall_enabled(&self) -> bool {
        self.rows.get(FIREWALL).is_some_and(|(value, _)| is_true(value))
    }

    /// Calls back with the row that switches the firewall on.
    pub(super) fn about_firewall(&self, say: impl FnOnce(&Row)) {
        if let Some((_, row)) = self.rows.get(FIREWALL) {
            say(row);
        }
    }

    /// Keeps the others, as far as they are no secrets and nothing else of the configuration says the same.
    pub(super) fn finish(mut self, lift: &mut Lift<'_>) {
        let password = self.rows.get(MONITOR_PASSWORD).map(|(value, _)| value);
        lift.beside.monitor_password = password
            .filter(|value| !value.is_empty())
            .map(|value| Secret::new(value.clone()));
        if let Some((value, row)) = self.rows.remove(MONITOR) {
            let password = self
                .rows
                .get(MONITOR_PASSWORD)
                .is_none_or(|(value, _)| !value.is_empty());
            let heartbeat = self.rows.remove(HEARTBEAT).map(|(table, _)| table);
            lift.configuration.monitor = Some(Monitor {
                heartbeat: heartbeat.filter(|table| !table.is_empty()),
                address: lift.address("global_variables.mysql-monitor_username".to_owned(), &row),
                user: value,
                password: password.then(|| SecretReference::Env("MONITOR_PASSWORD".to_owned())),
            });
        }
        if let Some((value, row)) = self.rows.remove(INTERFACES) {
            listeners(lift, &value, &row);
        }
        let replicated =
            |cluster: &shardwright_rules::Cluster| matches!(cluster.kind, ClusterKind::Replication { .. });
        if lift.configuration.clusters.iter().any(replicated) {
            self.rows.remove(ALSO_READER);
        }
        let members = lift
            .configuration
            .hostgroups
            .iter()
            .flat_map(|hostgroup| &hostgroup.members);
        let lag = members
            .map(|member| u64::from(member.max_replication_lag_s))
            .max()
            .unwrap_or(0);
        for (name, (value, row)) in self.rows {
            if name == MONITOR_PASSWORD {
                continue;
            }
            if is_secret(&name) {
                lift.say(
                    Severity::Info,
                    IGNORED,
                    &row,
                    format!("{name} is a secret, and is not kept"),
                );
                continue;
            }
            // The compiler sets these where they are needed.
            let derived = (name == LAG_WHEN_NULL && value == (lag + 1).to_string())
                || name == FIREWALL
                || (name == FIREWALL_TEXT && value == FIREWALL_MESSAGE);
            if !derived {
                lift.configuration.variables.insert(name, value);
            }
        }
    }
}

/// `127.0.0.1:6033;[::]:6033;/run/proxysql.sock`
fn listeners(lift: &mut Lift<'_>, value: &str, row: &Row) {
    for (at, interface) in value
        .split(';')
        .filter(|interface| !interface.is_empty())
        .enumerate()
    {
        let parts = match interface.starts_with('/') {
            true => Some((interface, 0)),
            false => interface
                .rsplit_once(':')
                .and_then(|(bind, port)| Some((bind, port.parse::<u16>().ok()?))),
        };
        let Some((bind, port)) = parts else {
            lift.say(
                Severity::Info,
                IGNORED,
                row,
                format!("listener {interface} is not kept"),
            );
            continue;
        };
        let name = format!("listener{at}");
        if let Some(span) = row.place {
            lift.origins
                .insert(format!("global_variables.mysql-interfaces.{at}"), span);
        }
        let address = Address::new(format!("global_variables.mysql-interfaces.{at}"));
        let bind = bind.trim_start_matches('[').trim_end_matches(']');
        let listener = Listener::on_port(&name, address, bind, port);
        lift.configuration.listeners.push(listener);
    }
}

fn is_true(value: &str) -> bool {
    value.eq_ignore_ascii_case("true") || value == "1" || value.eq_ignore_ascii_case("on")
}
