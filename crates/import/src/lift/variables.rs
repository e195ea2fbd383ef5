//! Variables of the engine: those that change what rules mean, and the others.

use std::collections::BTreeMap;

use shardwright_diagnostics::Severity;
use shardwright_rules::{
    Address, ClusterKind, FIREWALL_MESSAGE, Listener, Monitor, RegexEngine, SecretReference, changes_digests,
};
use shardwright_secrets::Secret;
use shardwright_topology::default_value;

use super::{Lift, leading_number, text};
use crate::codes::{IGNORED, MISREAD, UNKNOWN};
use crate::dump::is_secret;
use crate::store::Row;

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

    /// The text of a refusal by the firewall, where the engine has its own: a project's has its own, too.
    fn keep_message(&self, lift: &mut Lift<'_>) {
        if self.firewall_enabled() && !self.rows.contains_key(FIREWALL_TEXT) {
            let usual = default_value(FIREWALL_TEXT).unwrap_or_default();
            lift.configuration
                .variables
                .insert(FIREWALL_TEXT.to_owned(), usual.to_owned());
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
        self.keep_message(lift);
        for (name, (value, row)) in self.rows {
            if (name.starts_with("mysql-") || name.starts_with("admin-")) && default_value(&name).is_none() {
                let what = format!("the engine has no variable {name}: it ignores the setting");
                lift.say(Severity::Warning, UNKNOWN, &row, what);
            }
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
            let derived = is_usual_digest(&name, &value)
                || (name == LAG_WHEN_NULL && value == (lag + 1).to_string())
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

/// A variable of digests as the engine has it, or one that changes no digest.
fn is_usual_digest(name: &str, value: &str) -> bool {
    match name {
        "mysql-query_digests" => is_true(value),
        _ => name.starts_with("mysql-query_digests_") && !changes_digests(name, value),
    }
}

fn is_true(value: &str) -> bool {
    value.eq_ignore_ascii_case("true") || value == "1" || value.eq_ignore_ascii_case("on")
}
