//! SQL for the admin port of ProxySQL.

use std::fmt::Write;

use shardwright_rules::{Configuration, FIREWALL_MESSAGE};

use super::literal::literal;
use super::variables::{
    FIREWALL_ENABLED, FIREWALL_MESSAGE as FIREWALL_MESSAGE_VARIABLE, left_to_node, reset, variables,
};
use super::{Cell, EmitError, Ownership, Row, Table, rows};

/// What makes memory live, and then durable. Hostgroups come before the rules that name them, and rules before the
/// users that they are for. The variables come first: rules compile their patterns with the library that is set.
const PUBLISH: [&str; 4] = [
    "MYSQL VARIABLES",
    "MYSQL SERVERS",
    "MYSQL QUERY RULES",
    "MYSQL USERS",
];
const ADMIN_VARIABLES: &str = "ADMIN VARIABLES";
/// The one variable that the admin port does not take in a SET statement (2.7.1).
const NOT_BY_SET: &str = "mysql-init_connect";

/// The configuration as a script that replaces the whole of every table it writes to. Passwords are placeholders that
/// nobody can log in with. The same bytes for equal configurations.
///
/// # Errors
/// Something of the configuration cannot stand in a table of the engine.
pub fn sql(configuration: &Configuration) -> Result<String, EmitError> {
    sql_within(configuration, &Ownership::default())
}

/// The same for a proxy that also holds rows of others: what is ours is replaced, everything else stays.
///
/// # Errors
/// Those of [`sql`], and a firewall where users are left to others.
pub fn sql_within(configuration: &Configuration, ownership: &Ownership) -> Result<String, EmitError> {
    let (rows, of_others): (Vec<Row>, Vec<Row>) = rows(configuration)?
        .into_iter()
        .partition(|row| ownership.writes(row));
    ownership.check_firewall(&rows)?;
    let variables = variables(configuration);
    let reset = reset(configuration, &ownership.resets);
    let mut out = String::new();
    header(&mut out, configuration, ownership, &rows, &of_others);
    for note in variables.notes.iter().chain(&reset.notes) {
        comment(&mut out, note);
    }
    for (variable, _) in &variables.of_node {
        comment(&mut out, &left_to_node(variable));
    }
    for (variable, value) in &variables.live {
        set(&mut out, variable, value);
    }
    if !reset.live.is_empty() {
        comment(&mut out, "No longer written: these are the engine's defaults.");
    }
    for (variable, value) in &reset.live {
        set_back(&mut out, variable, value, ownership);
    }
    let firewall = FirewallUse::of(configuration, ownership);
    for table in Table::ALL {
        if !table.is_of_firewall() || firewall != FirewallUse::Never {
            replace(&mut out, table, &rows, ownership);
        }
    }
    out.push('\n');
    let sets_admin = |(name, _): &(String, String)| name.starts_with("admin-");
    let admin = variables.live.iter().chain(&reset.live).any(sets_admin);
    let modules: Vec<&str> = admin
        .then_some(ADMIN_VARIABLES)
        .into_iter()
        .chain(PUBLISH)
        .collect();
    for module in &modules {
        line(&mut out, &format!("LOAD {module} TO RUNTIME;"));
    }
    publish_firewall(&mut out, firewall);
    let at_start: Vec<_> = variables.at_start.iter().chain(&reset.at_start).collect();
    if !at_start.is_empty() {
        line(
            &mut out,
            "-- Read when ProxySQL starts. Set behind the last load, which would set them back.",
        );
        for (variable, value) in at_start {
            set(&mut out, variable, value);
        }
    }
    for module in &modules {
        line(&mut out, &format!("SAVE {module} TO DISK;"));
    }
    report(&mut out, ownership);
    Ok(out)
}

/// What a script does with the firewall.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum FirewallUse {
    /// No script ever wrote it: it is not touched.
    Never,
    /// An earlier script did: its rows go.
    Former,
    /// It is written.
    Now,
}

impl FirewallUse {
    pub(crate) fn of(configuration: &Configuration, ownership: &Ownership) -> Self {
        match (configuration.firewall.is_empty(), ownership.had_firewall) {
            (false, _) => Self::Now,
            (true, true) => Self::Former,
            (true, false) => Self::Never,
        }
    }
}

fn header(
    out: &mut String,
    configuration: &Configuration,
    ownership: &Ownership,
    rows: &[Row],
    of_others: &[Row],
) {
    let first = format!(
        "Configuration {} for {}.",
        short(configuration),
        configuration.engine
    );
    comment(out, &first);
    if ownership.is_partial() {
        comment(out, &format!("Replaces {}. Other rows stay.", ownership.text()));
        comment(
            out,
            "LOAD and SAVE also publish and keep what others have staged in the same tables.",
        );
    } else {
        comment(
            out,
            "Replaces every server, replication, Galera and group replication hostgroup, user and query rule.",
        );
    }
    let mut last = None;
    for row in of_others {
        if last != Some(&row.address) {
            comment(out, &format!("Left to others, not written: {}", row.address));
            last = Some(&row.address);
        }
    }
    if rows
        .iter()
        .any(|row| row.table == Table::Users && row.note.is_some())
    {
        comment(
            out,
            "Replace the placeholder passwords first: with them, users cannot log in.",
        );
    }
}

/// The rows of a table that are ours go, and those of the configuration come.
fn replace(out: &mut String, table: Table, rows: &[Row], ownership: &Ownership) {
    let condition = ownership.condition(table);
    let only = condition.as_ref().map(|condition| format!(" WHERE {condition}"));
    line(
        out,
        &format!("\nDELETE FROM {}{};", table.name(), only.unwrap_or_default()),
    );
    // Others may have written a row for the same user, schema and flag.
    let verb = match table {
        Table::FastRouting if condition.is_some() => "REPLACE",
        _ => "INSERT",
    };
    let mut last = None;
    for row in rows.iter().filter(|row| row.table == table) {
        if last != Some(&row.address) {
            comment(out, row.address.as_str());
            last = Some(&row.address);
        }
        if let Some(note) = &row.note {
            comment(out, note);
        }
        insert(out, verb, row);
    }
}

fn publish_firewall(out: &mut String, firewall: FirewallUse) {
    if firewall == FirewallUse::Never {
        return;
    }
    // Last: the lists name flags of the rules above, and once it is on, whoever is not listed is refused.
    line(out, "LOAD MYSQL FIREWALL TO RUNTIME;");
    if firewall == FirewallUse::Now {
        set(out, FIREWALL_MESSAGE_VARIABLE, FIREWALL_MESSAGE);
        set(out, FIREWALL_ENABLED, "true");
        line(out, "LOAD MYSQL VARIABLES TO RUNTIME;");
    }
    line(out, "SAVE MYSQL FIREWALL TO DISK;");
}

/// Lists the rows that were left alone.
fn report(out: &mut String, ownership: &Ownership) {
    if !ownership.report {
        return;
    }
    let tables: Vec<(Table, String)> = Table::ALL
        .into_iter()
        .filter_map(|table| Some((table, ownership.condition(table)?)))
        .collect();
    if !tables.is_empty() {
        line(out, "\n-- Rows of others, which stayed.");
    }
    for (table, condition) in tables {
        let key = match table {
            Table::Servers => "hostgroup_id, hostname, port",
            Table::ReplicationHostgroups | Table::GaleraHostgroups | Table::GroupReplicationHostgroups => {
                "writer_hostgroup, reader_hostgroup"
            }
            Table::Users => "username",
            Table::QueryRules => "rule_id",
            Table::FastRouting => "username, schemaname, flagIN, destination_hostgroup",
            Table::FirewallUsers => "username, client_address, mode",
            Table::FirewallRules => "username, client_address, schemaname, flagIN, digest",
        };
        let name = table.name();
        line(
            out,
            &format!(
                "SELECT '{name}' AS unmanaged, {key}, comment FROM {name} WHERE NOT ({condition}) ORDER BY {key};"
            ),
        );
    }
}

/// A variable gets its default. The firewall stays on for the users of others.
fn set_back(out: &mut String, variable: &str, value: &str, ownership: &Ownership) {
    match ownership.condition(Table::FirewallUsers) {
        Some(ours) if variable == FIREWALL_ENABLED => line(
            out,
            &format!(
                "UPDATE global_variables SET variable_value={} WHERE variable_name='{variable}' \
                 AND NOT EXISTS (SELECT 1 FROM {} WHERE NOT ({ours}));",
                literal(value),
                Table::FirewallUsers.name()
            ),
        ),
        _ => set(out, variable, value),
    }
}

fn set(out: &mut String, variable: &str, value: &str) {
    let value = literal(value);
    if variable == NOT_BY_SET {
        let place = format!("WHERE variable_name='{variable}'");
        line(
            out,
            &format!("UPDATE global_variables SET variable_value={value} {place};"),
        );
    } else {
        line(out, &format!("SET {variable}={value};"));
    }
}

fn short(configuration: &Configuration) -> String {
    configuration.fingerprint().chars().take(8).collect()
}

fn insert(out: &mut String, verb: &str, row: &Row) {
    let names: Vec<&str> = row.columns.iter().map(|(name, _)| *name).collect();
    let values: Vec<String> = row.columns.iter().map(|(_, cell)| value(cell)).collect();
    line(
        out,
        &format!(
            "{verb} INTO {} ({}) VALUES ({});",
            row.table.name(),
            names.join(", "),
            values.join(", ")
        ),
    );
}

fn value(cell: &Cell) -> String {
    match cell {
        Cell::Integer(number) => number.to_string(),
        Cell::Text(text) => literal(text),
    }
}

/// A comment is one line, whatever its text is.
fn comment(out: &mut String, text: &str) {
    let text: String = text
        .chars()
        .map(|c| if c.is_control() { ' ' } else { c })
        .collect();
    line(out, &format!("-- {text}"));
}

fn line(out: &mut String, text: &str) {
    writeln!(out, "{text}").expect("writing to a String does not fail");
}
