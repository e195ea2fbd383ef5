//! SQL for the admin port of ProxySQL.

use std::fmt::Write;

use shardwright_rules::{Body, ClusterKind, Configuration, FIREWALL_MESSAGE, RegexEngine, WriterServesReads};

use super::{Cell, EmitError, Row, Table, rows};

/// What makes memory live, and then durable. Hostgroups come before the rules that name them, and rules before the
/// users that they are for. The variables come first: rules compile their patterns with the library that is set.
const PUBLISH: [&str; 4] = ["VARIABLES", "SERVERS", "QUERY RULES", "USERS"];

/// What ProxySQL takes for the lag of a replica whose replication has stopped, in seconds.
const LAG_WHEN_STOPPED_S: u32 = 60;

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
    for (variable, value) in variables(configuration) {
        line(
            &mut out,
            &format!("SET mysql-{variable}={};", literal(value.as_str())),
        );
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
    for module in PUBLISH {
        line(&mut out, &format!("LOAD MYSQL {module} TO RUNTIME;"));
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
    for module in PUBLISH {
        line(&mut out, &format!("SAVE MYSQL {module} TO DISK;"));
    }
    Ok(out)
}

/// The variables that change what the rules mean, with the values that they were compiled for.
fn variables(configuration: &Configuration) -> Vec<(&'static str, String)> {
    let settings = &configuration.settings;
    let regex = match settings.regex {
        RegexEngine::Pcre => "1",
        RegexEngine::Re2 => "2",
    };
    let mut variables = vec![
        (
            "query_processor_iterations",
            settings.query_processor_iterations.to_string(),
        ),
        ("query_processor_regex", regex.to_owned()),
    ];
    let reads_digests = configuration.graph.rules.iter().any(|rule| match &rule.body {
        Body::Engine(engine) => engine.digest.is_some() || engine.match_digest.is_some(),
        Body::Native { .. } => false,
    });
    if reads_digests || !configuration.firewall.is_empty() {
        // Without digests the conditions on them are skipped, and their rules match everything.
        variables.push(("query_digests", "true".to_owned()));
        for normalisation in [
            "query_digests_lowercase",
            "query_digests_replace_null",
            "query_digests_no_digits",
            "query_digests_keep_comment",
        ] {
            variables.push((normalisation, "false".to_owned()));
        }
    }
    let mut replicated = configuration
        .clusters
        .iter()
        .filter(|cluster| {
            matches!(cluster.kind, ClusterKind::Replication { .. }) && cluster.roles_by.is_engine()
        })
        .peekable();
    if replicated.peek().is_some() {
        // One switch for all clusters: it is off only where no writer may answer reads.
        let also = replicated.any(|cluster| cluster.writer_serves_reads != WriterServesReads::Never);
        variables.push(("monitor_writer_is_also_reader", also.to_string()));
    }
    let members = configuration
        .hostgroups
        .iter()
        .flat_map(|hostgroup| &hostgroup.members);
    let most_lag = members
        .map(|member| member.max_replication_lag_s)
        .max()
        .unwrap_or(0);
    if most_lag >= LAG_WHEN_STOPPED_S {
        // A replica whose replication has stopped counts as this far behind, and must be beyond every limit.
        variables.push(("monitor_slave_lag_when_null", (most_lag + 1).to_string()));
    }
    variables
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
