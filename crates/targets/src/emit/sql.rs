//! SQL for the admin port of ProxySQL.

use std::fmt::Write;

use shardwright_rules::{Configuration, FIREWALL_MESSAGE};

use super::{Cell, EmitError, Row, Table, rows};

use super::variables::{Variables, variables};

/// What makes memory live, and then durable. Hostgroups come before the rules that name them, and rules before the
/// users that they are for. The variables come first: rules compile their patterns with the library that is set.
const PUBLISH: [&str; 4] = [
    "MYSQL VARIABLES",
    "MYSQL SERVERS",
    "MYSQL QUERY RULES",
    "MYSQL USERS",
];
const ADMIN_VARIABLES: &str = "ADMIN VARIABLES";

/// The configuration as a script that replaces the whole of every table it writes to. Passwords are placeholders that
/// nobody can log in with. The same bytes for equal configurations.
pub fn sql(configuration: &Configuration) -> Result<String, EmitError> {
    let rows = rows(configuration)?;
    let mut out = String::new();
    line(
        &mut out,
        &format!(
            "-- Configuration {} for {}.",
            short(configuration),
            configuration.engine
        ),
    );
    line(
        &mut out,
        "-- Replaces every server, replication, Galera and group replication hostgroup, user and query rule.",
    );
    if rows
        .iter()
        .any(|row| row.table == Table::Users && row.note.is_some())
    {
        line(
            &mut out,
            "-- Replace the placeholder passwords first: with them, users cannot log in.",
        );
    }
    let variables = variables(configuration);
    for note in &variables.notes {
        comment(&mut out, note);
    }
    for (variable, value) in &variables.live {
        set(&mut out, variable, value);
    }
    let has_firewall = !configuration.firewall.is_empty();
    for table in Table::ALL {
        if table.is_of_firewall() && !has_firewall {
            continue;
        }
        line(&mut out, &format!("\nDELETE FROM {};", table.name()));
        let mut last = None;
        for row in rows.iter().filter(|row| row.table == table) {
            if last != Some(&row.address) {
                comment(&mut out, row.address.as_str());
                last = Some(&row.address);
            }
            if let Some(note) = &row.note {
                comment(&mut out, note);
            }
            insert(&mut out, row);
        }
    }
    out.push('\n');
    let modules = modules(&variables);
    for module in &modules {
        line(&mut out, &format!("LOAD {module} TO RUNTIME;"));
    }
    if has_firewall {
        // Last: the lists name flags of the rules above, and once it is on, whoever is not listed is refused.
        line(&mut out, "LOAD MYSQL FIREWALL TO RUNTIME;");
        let message = literal(FIREWALL_MESSAGE);
        line(
            &mut out,
            &format!("SET mysql-firewall_whitelist_errormsg={message};"),
        );
        line(&mut out, "SET mysql-firewall_whitelist_enabled='true';");
        line(&mut out, "LOAD MYSQL VARIABLES TO RUNTIME;");
        line(&mut out, "SAVE MYSQL FIREWALL TO DISK;");
    }
    if !variables.at_start.is_empty() {
        line(
            &mut out,
            "-- Read when ProxySQL starts. Set behind the last load, which would set them back.",
        );
        for (variable, value) in &variables.at_start {
            set(&mut out, variable, value);
        }
    }
    for module in &modules {
        line(&mut out, &format!("SAVE {module} TO DISK;"));
    }
    Ok(out)
}

fn modules(variables: &Variables) -> Vec<&'static str> {
    let admin = variables.live.iter().any(|(name, _)| name.starts_with("admin-"));
    admin
        .then_some(ADMIN_VARIABLES)
        .into_iter()
        .chain(PUBLISH)
        .collect()
}

fn set(out: &mut String, variable: &str, value: &str) {
    line(out, &format!("SET {variable}={};", literal(value)));
}

fn short(configuration: &Configuration) -> String {
    configuration.fingerprint().chars().take(8).collect()
}

fn insert(out: &mut String, row: &Row) {
    let names: Vec<&str> = row.columns.iter().map(|(name, _)| *name).collect();
    let values: Vec<String> = row.columns.iter().map(|(_, cell)| value(cell)).collect();
    line(
        out,
        &format!(
            "INSERT INTO {} ({}) VALUES ({});",
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

/// A literal of SQLite: quotes are doubled, a backslash is a character. The `mysql` client takes a backslash for the
/// start of an escape when it looks for the end of a statement, so an odd number of them before a quote would make it
/// miss that end; the last of such a run is written as `char(92)`.
fn literal(text: &str) -> String {
    let mut out = String::from("'");
    let mut backslashes = 0;
    for c in text.chars() {
        if c == '\'' {
            close_run(&mut out, backslashes);
            out.push('\'');
        }
        backslashes = if c == '\\' { backslashes + 1 } else { 0 };
        out.push(c);
    }
    close_run(&mut out, backslashes);
    out.push('\'');
    out
}

fn close_run(out: &mut String, backslashes: usize) {
    if backslashes % 2 == 1 {
        out.pop();
        out.push_str("'||char(92)||'");
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

#[cfg(test)]
mod tests {
    use super::literal;

    #[test]
    fn literals() {
        let shown: Vec<String> = ["a", "don't", r"\d+", r"a\'b", r"ends in \", r"even \\", "", "'"]
            .iter()
            .map(|text| literal(text))
            .collect();
        insta::assert_snapshot!(shown.join("\n"), @r"
        'a'
        'don''t'
        '\d+'
        'a'||char(92)||'''b'
        'ends in '||char(92)||''
        'even \\'
        ''
        ''''
        ");
    }
}
