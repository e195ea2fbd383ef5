//! `proxysql.cnf`: the file that ProxySQL reads when it has no database yet, or when it is told to.
//!
//! The grammar is libconfig's. What the file reader does with values decides what can stand in one (2.7): it knows no
//! rows of fast routing and no firewall, and it puts most texts between quotes of an SQL statement as they are. A quote in
//! a pattern is written as the pattern's own escape; any other text that such a quote would end is refused.

use std::fmt::Write;

use shardwright_rules::Configuration;

use super::variables::{reset, variables};
use super::{Cell, EmitError, Ownership, Row, Table, rows};

/// The configuration as `proxysql.cnf`. Passwords are placeholders that nobody can log in with. The same bytes for
/// equal configurations.
///
/// # Errors
/// Something of the configuration cannot stand in the file, or in a table of the engine at all.
pub fn cnf(configuration: &Configuration) -> Result<String, EmitError> {
    cnf_within(configuration, &Ownership::default())
}

/// The same without the rows that are left to others, and with the defaults of variables that are no longer written.
///
/// # Errors
/// Those of [`cnf`].
pub fn cnf_within(configuration: &Configuration, ownership: &Ownership) -> Result<String, EmitError> {
    if let Some(first) = configuration.firewall.first() {
        return Err(EmitError::NotInFile {
            address: first.address.clone(),
            what: "lists of the firewall",
        });
    }
    let mut rows = rows(configuration)?;
    rows.retain(|row| ownership.writes(row));
    let mut out = String::new();
    header(&mut out, configuration, &rows);
    groups(&mut out, configuration, ownership)?;
    for table in Table::ALL {
        let of_table: Vec<&Row> = rows.iter().filter(|row| row.table == table).collect();
        let Some(first) = of_table.first() else { continue };
        if table.definition().file_keys.is_none() {
            return Err(EmitError::NotInFile {
                address: first.address.clone(),
                what: "rows of fast routing",
            });
        }
        list(&mut out, table, &of_table)?;
    }
    Ok(out)
}

fn header(out: &mut String, configuration: &Configuration, rows: &[Row]) {
    let short: String = configuration.fingerprint().chars().take(8).collect();
    line(
        out,
        &format!("# Configuration {short} for {}.", configuration.engine),
    );
    line(
        out,
        "# Read where there is no proxysql.db yet, and with --initial; LOAD … FROM CONFIG merges it and deletes nothing.",
    );
    if rows
        .iter()
        .any(|row| row.table == Table::Users && row.note.is_some())
    {
        line(
            out,
            "# Replace the placeholder passwords first: with them, users cannot log in.",
        );
    }
}

/// `admin_variables` and `mysql_variables`.
fn groups(out: &mut String, configuration: &Configuration, ownership: &Ownership) -> Result<(), EmitError> {
    let parts = [variables(configuration), reset(configuration, &ownership.resets)];
    for note in parts.iter().flat_map(|part| &part.notes) {
        comment(out, "", note);
    }
    let all: Vec<&(String, String)> = parts
        .iter()
        .flat_map(|part| part.live.iter().chain(&part.at_start).chain(&part.of_node))
        .collect();
    for module in ["admin", "mysql"] {
        let prefix = format!("{module}-");
        let mut own: Vec<(&str, &str)> = all
            .iter()
            .filter_map(|(name, value)| Some((name.strip_prefix(&prefix)?, value.as_str())))
            .collect();
        own.sort_unstable();
        if own.is_empty() {
            continue;
        }
        line(out, &format!("\n{module}_variables =\n{{"));
        for (name, value) in own {
            if value.contains('"') {
                return Err(EmitError::Variable {
                    name: format!("{prefix}{name}"),
                    reason: "holds a double quote, which the file's reader does not escape".to_owned(),
                });
            }
            line(out, &format!("    {name} = {}", text(value)));
        }
        line(out, "}");
    }
    Ok(())
}

fn list(out: &mut String, table: Table, rows: &[&Row]) -> Result<(), EmitError> {
    line(out, &format!("\n{} =\n(", table.name()));
    let mut last = None;
    for (at, row) in rows.iter().enumerate() {
        if last != Some(&row.address) {
            comment(out, "    ", row.address.as_str());
            last = Some(&row.address);
        }
        if let Some(note) = &row.note {
            comment(out, "    ", note);
        }
        let settings: Vec<String> = row
            .columns
            .iter()
            .filter(|(column, _)| {
                table
                    .definition()
                    .column(column)
                    .is_none_or(|column| column.is_in_file)
            })
            .map(|(column, cell)| Ok(format!("{column} = {}", value(row, column, cell)?)))
            .collect::<Result<_, EmitError>>()?;
        let end = if at + 1 < rows.len() { "," } else { "" };
        line(out, &format!("    {{ {} }}{end}", settings.join(", ")));
    }
    line(out, ")");
    Ok(())
}

fn value(row: &Row, column: &'static str, cell: &Cell) -> Result<String, EmitError> {
    let error = |reason: &str| EmitError::Value {
        address: row.address.clone(),
        column,
        reason: format!("{reason}; --emit sql can"),
    };
    let content = match cell {
        Cell::Integer(number) => return Ok(number.to_string()),
        Cell::Text(content) => content,
    };
    match (row.table, column) {
        (Table::ReplicationHostgroups, "check_type")
            if !matches!(
                content.as_str(),
                "read_only" | "innodb_read_only" | "super_read_only"
            ) =>
        {
            Err(error("is read as read_only from the file"))
        }
        (Table::QueryRules, "match_pattern" | "match_digest") => Ok(text(&without_quotes(content))),
        (_, "attributes") if !content.contains('\'') => Ok(text(content)),
        (Table::QueryRules, _) | (Table::Servers, "hostname" | "status") if content.contains('"') => Err(
            error("holds a double quote, which the file's reader does not escape"),
        ),
        (Table::Users, "username" | "password" | "default_schema") if content.contains('\'') => {
            Err(error("holds a quote, which the file's reader does not escape"))
        }
        _ => Ok(text(content)),
    }
}

/// A pattern in which `\x22` stands for the double quote; a backslash before one is part of what it replaces.
fn without_quotes(pattern: &str) -> String {
    let mut out = String::with_capacity(pattern.len());
    let mut escaped = false;
    for character in pattern.chars() {
        if character == '"' {
            if escaped {
                out.pop();
            }
            out.push_str(r"\x22");
            escaped = false;
            continue;
        }
        escaped = character == '\\' && !escaped;
        out.push(character);
    }
    out
}

/// A string of libconfig.
fn text(content: &str) -> String {
    let mut out = String::from("\"");
    for character in content.chars() {
        match character {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\x0c' => out.push_str("\\f"),
            control if control.is_ascii_control() => {
                write!(out, "\\x{:02x}", u32::from(control)).expect("writing to a String does not fail");
            }
            other => out.push(other),
        }
    }
    out.push('"');
    out
}

/// A comment is one line, whatever its text is.
fn comment(out: &mut String, indent: &str, content: &str) {
    let content: String = content
        .chars()
        .map(|c| if c.is_control() { ' ' } else { c })
        .collect();
    line(out, &format!("{indent}# {content}"));
}

fn line(out: &mut String, content: &str) {
    out.push_str(content);
    out.push('\n');
}

#[cfg(test)]
mod tests {
    use super::{text, without_quotes};

    #[test]
    fn texts_and_patterns() {
        let shown: Vec<String> = ["a", r"\d+", "say \"x\"", "a\tb\nc\u{1}", "é"].map(text).to_vec();
        insta::assert_snapshot!(shown.join("\n"), @r#"
        "a"
        "\\d+"
        "say \"x\""
        "a\tb\nc\x01"
        "é"
        "#);
        for (pattern, expected) in [
            (r#"['"]?"#, r"['\x22]?"),
            (r#"a\"b"#, r"a\x22b"),
            (r#"a\\"b"#, r"a\\\x22b"),
            (r"\d", r"\d"),
        ] {
            assert_eq!(without_quotes(pattern), expected);
        }
    }
}
