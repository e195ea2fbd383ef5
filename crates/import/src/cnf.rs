//! `proxysql.cnf`, as ProxySQL reads it when it starts without a database.
//!
//! The file's grammar is libconfig's; its groups become rows the way ProxySQL makes them (`ProxySQL_Config.cpp`): a
//! number that is written as text is not read, texts are put between quotes of SQL as they are, and keys that nobody
//! asks for are passed over without a word. Here each of these is a problem. A file with a fault in its grammar ends the
//! engine's start.

mod parse;
#[cfg(test)]
mod recorded;
mod scan;

use rusqlite::ToSql;
use rusqlite::types::Value as Cell;
use shardwright_diagnostics::{Diagnostic, FileId, Problems, Span, did_you_mean};
use shardwright_rules::tables::{self, Column, TABLES, Table};
use shardwright_topology::default_value;

use crate::aurora;
use crate::cnf::parse::{Group, Setting, Value, parse};
use crate::codes::{DROPPED, IGNORED, MISREAD, REFUSED, SYNTAX, UNKNOWN};
use crate::dump::is_secret;
use crate::elsewhere::is_elsewhere;
use crate::foreign::template;
use crate::store::Store;
use crate::{Layout, Ran};

/// Settings of the process and of other parts of it.
const ELSEWHERE: [&str; 12] = [
    "datadir",
    "errorlog",
    "logbin",
    "ldap_variables",
    "sqliteserver_variables",
    "clickhouse_variables",
    "restart_on_missing_heartbeats",
    "execute_on_exit_failure",
    "cluster_sync_interfaces",
    "uuid",
    "set_thread_name",
    "use_proxysql_compression",
];

/// Tables that the file can hold, with the keys that a row must have.
fn sections() -> impl Iterator<Item = (&'static Table, &'static [&'static str])> {
    let tables = TABLES.iter();
    tables.filter_map(|table| Some((*table, table.file_keys?)))
}

/// Reads a file into the tables.
pub(crate) fn run(text: &str, file: FileId, store: &mut Store, problems: &mut Problems) -> Ran {
    let parsed = parse(text, file);
    let mut secrets = Vec::new();
    if !parsed.faults.is_empty() {
        // Settings are not told for certain: what is not known to be harmless is not shown.
        let held = parsed.texts.iter();
        let unsure = held.filter(|(name, _)| !name.as_deref().is_some_and(is_harmless));
        secrets.extend(unsure.map(|(_, span)| *span));
        if let Some(template) = template(text) {
            problems.push(template.problem(file));
            return Ran {
                secrets,
                ..Ran::default()
            };
        }
    }
    let has_faults = !parsed.faults.is_empty();
    for fault in parsed.faults {
        problems.push(Diagnostic::error(SYNTAX, fault.message).at(fault.span, ""));
    }
    let mut reader = Reader {
        store,
        problems,
        has_faults,
        ran: Ran {
            secrets,
            ..Ran::default()
        },
    };
    let mut seen: Vec<&str> = Vec::new();
    for setting in &parsed.settings {
        if seen.contains(&setting.name.as_str()) {
            let what = format!("{} is set twice: the engine does not start", setting.name);
            reader
                .problems
                .push(Diagnostic::error(REFUSED, what).at(setting.name_span, ""));
        }
        seen.push(&setting.name);
        reader.section(setting);
    }
    Ran {
        layout: Layout {
            comments: parsed.comments,
            parts: parsed.parts,
        },
        ..reader.ran
    }
}

/// Whether a setting of this name holds no secret.
fn is_harmless(name: &str) -> bool {
    let column = |table: &&Table| {
        let column = table.columns.iter().find(|column| column.name == name);
        column.is_some_and(|column| !column.is_secret() && column.name != "attributes")
    };
    let variable = |prefix: &str| {
        let name = format!("{prefix}-{name}");
        !is_secret(&name) && default_value(&name).is_some()
    };
    matches!(name, "address" | "hostgroup")
        || TABLES.iter().any(column)
        || variable("mysql")
        || variable("admin")
}

struct Reader<'r> {
    store: &'r mut Store,
    problems: &'r mut Problems,
    /// A part of the file could not be read.
    has_faults: bool,
    ran: Ran,
}

impl Reader<'_> {
    fn section(&mut self, setting: &Setting) {
        let name = setting.name.as_str();
        if let Some((table, required)) = sections().find(|(table, _)| table.name == name) {
            return self.rows(table, required, setting);
        }
        match name {
            "mysql_variables" => self.variables("mysql", setting),
            "admin_variables" => self.variables("admin", setting),
            aurora::TABLE => self.aurora(setting),
            _ if ELSEWHERE.contains(&name) || is_elsewhere(name) => {
                let what = format!("{name} does not affect routing");
                self.problems
                    .push(Diagnostic::info(IGNORED, what).at(setting.name_span, ""));
            }
            _ if tables::table(name).is_some() => {
                let what = format!("the engine does not read {name} from a file");
                self.problems.push(
                    Diagnostic::error(UNKNOWN, what)
                        .at(setting.name_span, "")
                        .help("write the rows through the admin port, and SAVE them TO DISK"),
                );
            }
            _ => {
                let known = sections()
                    .map(|(table, _)| table.name)
                    .chain(["mysql_variables", "admin_variables"]);
                self.problems.push(
                    Diagnostic::warning(
                        UNKNOWN,
                        format!("unknown setting `{name}`: the engine ignores it"),
                    )
                    .at(setting.name_span, "")
                    .did_you_mean(did_you_mean(name, known)),
                );
            }
        }
    }

    fn aurora(&mut self, setting: &Setting) {
        let Value::List(items) = &setting.value else {
            return;
        };
        let groups = items.iter().filter_map(|(item, _)| match item {
            Value::Group(group) => Some(group),
            _ => None,
        });
        let named = groups
            .flat_map(|group| &group.settings)
            .filter(|setting| matches!(setting.name.as_str(), "writer_hostgroup" | "reader_hostgroup"));
        let hostgroups: Vec<u32> = named
            .filter_map(|setting| match setting.value {
                Value::Integer(number) => u32::try_from(number).ok(),
                _ => None,
            })
            .collect();
        aurora::note(&mut self.ran, self.problems, setting.name_span, &hostgroups);
    }

    fn rows(&mut self, table: &'static Table, required: &[&str], setting: &Setting) {
        let Value::List(items) = &setting.value else {
            let what = format!("{} is a list of groups: ( {{ ... }}, ... )", setting.name);
            self.problems
                .push(Diagnostic::error(REFUSED, what).at(setting.span, ""));
            return;
        };
        for item in items {
            match item {
                (Value::Group(group), span) => self.row(table, required, group, *span),
                (_, span) => {
                    let what = format!("an entry of {} is a group: {{ ... }}", setting.name);
                    self.problems.push(Diagnostic::error(REFUSED, what).at(*span, ""));
                }
            }
        }
    }

    fn row(&mut self, table: &'static Table, required: &[&str], group: &Group, span: Span) {
        let mut columns: Vec<(&'static str, Cell)> = Vec::new();
        let mut broken = false;
        for setting in &group.settings {
            let name = match (table.name, setting.name.as_str()) {
                ("mysql_servers", "address") => "hostname",
                ("mysql_servers", "hostgroup") => "hostgroup_id",
                (_, name) => name,
            };
            // Keys are compared exactly.
            let known = table
                .column(name)
                .filter(|column| column.name == name && column.is_in_file);
            let Some(column) = known else {
                if table.columns.iter().any(Column::is_secret) {
                    // A slip of a name may hold what the name would.
                    self.ran.secrets.push(setting.span);
                }
                let names = table.columns.iter().map(|column| column.name);
                let what = format!("the engine does not read `{}` from a file", setting.name);
                self.problems.push(
                    Diagnostic::warning(UNKNOWN, what)
                        .at(setting.name_span, "")
                        .did_you_mean(did_you_mean(name, names).filter(|near| *near != name)),
                );
                continue;
            };
            if column.is_secret() {
                self.ran.secrets.push(setting.span);
            }
            if columns.iter().any(|(known, _)| *known == column.name) {
                let what = format!("`{}` stands twice", setting.name);
                self.problems
                    .push(Diagnostic::error(REFUSED, what).at(setting.name_span, ""));
                continue;
            }
            match self.cell(table, column, setting) {
                Ok(Some(cell)) => columns.push((column.name, cell)),
                Ok(None) => {}
                Err(()) => broken = true,
            }
        }
        for name in required {
            if !columns.iter().any(|(known, _)| known == name) {
                // What is missing may stand in what could not be read.
                if self.has_faults {
                    return;
                }
                let what = format!("the engine drops the entry: it has no {name}");
                self.problems
                    .push(Diagnostic::warning(DROPPED, what).at(first_line(span), ""));
                return;
            }
        }
        if !broken {
            self.insert(table, columns, span);
        }
    }

    fn insert(&mut self, table: &Table, mut columns: Vec<(&'static str, Cell)>, span: Span) {
        // A rule of a file is active unless it says otherwise; one of a statement is not.
        if table.name == "mysql_query_rules" && !columns.iter().any(|(name, _)| *name == "active") {
            columns.push(("active", Cell::Integer(1)));
        }
        // Where these tables take NULL, the file's reader writes an empty text.
        if table.name != "mysql_query_rules" {
            let texts = table
                .columns
                .iter()
                .filter(|column| column.is_nullable && !column.is_number());
            for column in texts.filter(|column| column.is_in_file) {
                if !columns.iter().any(|(name, _)| *name == column.name) {
                    columns.push((column.name, Cell::Text(String::new())));
                }
            }
        }
        let names: Vec<&str> = columns.iter().map(|(name, _)| *name).collect();
        let places: Vec<String> = (1..=columns.len()).map(|at| format!("?{at}")).collect();
        let sql = |or: &str| {
            let (names, places) = (names.join(", "), places.join(", "));
            format!("INSERT OR {or} INTO {} ({names}) VALUES ({places})", table.name)
        };
        let values: Vec<&dyn ToSql> = columns.iter().map(|(_, cell)| cell as &dyn ToSql).collect();
        // The engine replaces. An entry that is not inserted anew is refused, or takes the place of one before it.
        let is_new = match self.store.run(&sql("IGNORE"), &values, span, &[span]) {
            Ok(rows) => rows > 0,
            Err(_) => false,
        };
        if is_new {
            return;
        }
        let problem = match self.store.run(&sql("REPLACE"), &values, span, &[span]) {
            Ok(_) => Diagnostic::warning(DROPPED, stands_twice(table, &columns))
                .help("delete one of the entries, or give it a key of its own"),
            Err(refused) => Diagnostic::error(REFUSED, format!("the engine refuses the entry: {refused}")),
        };
        self.problems.push(problem.at(first_line(span), ""));
    }

    /// The value of a column; `None` where the engine takes its default, `Err` where its statement breaks.
    fn cell(&mut self, table: &Table, column: &Column, setting: &Setting) -> Result<Option<Cell>, ()> {
        match &setting.value {
            Value::Integer(number) if column.is_number() => {
                let number = i64::from(*number);
                let of_rule = table.name == "mysql_query_rules";
                Ok(match column.name {
                    "apply" if of_rule => Some(Cell::Integer(i64::from(number != 0))),
                    // A negative number stands for none in a rule.
                    name if of_rule && name != "active" && number < 0 => None,
                    _ => Some(Cell::Integer(number)),
                })
            }
            Value::Text(text) if is_unknown_word(column.name, text) => {
                let usual = column.default.unwrap_or_default().trim_matches('\'').to_owned();
                let what = format!(
                    "the engine reads {} as {usual}: it knows no other word here",
                    column.name
                );
                self.problems
                    .push(Diagnostic::warning(MISREAD, what).at(setting.span, ""));
                Ok(Some(Cell::Text(usual)))
            }
            Value::Text(text) if !column.is_number() => self.text(table, column, setting, text).map(Some),
            _ => {
                let wanted = match &setting.value {
                    Value::Long => "a number of up to 2147483647, without L",
                    _ if column.is_number() => "a number without quotes",
                    _ => "a text in quotes",
                };
                self.problems.push(
                    Diagnostic::warning(
                        MISREAD,
                        format!("the engine does not read `{}`: it expects {wanted}", column.name),
                    )
                    .at(setting.span, instead(table, column)),
                );
                Ok(None)
            }
        }
    }

    /// ProxySQL puts texts between quotes of SQL without doubling quotes in them.
    fn text(&mut self, table: &Table, column: &Column, setting: &Setting, text: &str) -> Result<Cell, ()> {
        let quote = match (table.name, column.name) {
            // These are escaped.
            (name, "comment") if name != "mysql_query_rules" => None,
            ("mysql_users", _) | ("mysql_query_rules", "comment") | (_, "attributes") => Some('\''),
            ("mysql_replication_hostgroups", _) => None,
            _ => Some('"'),
        };
        let Some(quote) = quote else {
            return Ok(Cell::Text(text.to_owned()));
        };
        let pair = format!("{quote}{quote}");
        let inner = text.replace(&pair, "");
        if inner.contains(quote) {
            self.problems.push(
                Diagnostic::warning(
                    DROPPED,
                    format!(
                        "the engine drops the entry: `{}` holds a quote, which ends its statement",
                        column.name
                    ),
                )
                .at(setting.span, "")
                .help(format!("double the quote: {pair}")),
            );
            return Err(());
        }
        Ok(Cell::Text(text.replace(&pair, &quote.to_string())))
    }

    fn variables(&mut self, prefix: &str, setting: &Setting) {
        let Value::Group(group) = &setting.value else {
            let mut what = format!("{} is a group: {{ ... }}", setting.name);
            if matches!(setting.value, Value::List(_)) {
                what.push_str("; of a list the engine ends with signal 11, and does not start");
            }
            self.problems
                .push(Diagnostic::error(REFUSED, what).at(setting.span, ""));
            return;
        };
        for setting in &group.settings {
            let name = format!("{prefix}-{}", setting.name);
            if is_secret(&name) {
                self.ran.secrets.push(setting.span);
            }
            let value = match &setting.value {
                Value::Boolean(value) => value.to_string(),
                Value::Integer(value) => value.to_string(),
                Value::Text(value) => value.clone(),
                Value::Long | Value::Float | Value::List(_) | Value::Group(_) => {
                    let what = format!("the engine reads an empty text for {name}");
                    self.problems
                        .push(Diagnostic::warning(MISREAD, what).at(setting.span, ""));
                    String::new()
                }
            };
            let sql = "INSERT OR REPLACE INTO global_variables VALUES (?1, ?2)";
            if let Err(refused) = self
                .store
                .run(sql, &[&name, &value], setting.span, &[setting.span])
            {
                let what = format!("the engine refuses the setting: {refused}");
                self.problems
                    .push(Diagnostic::error(REFUSED, what).at(setting.span, ""));
            }
        }
    }
}

/// What the engine takes for a value that it does not read.
fn instead(table: &Table, column: &Column) -> String {
    match (column.name, column.default) {
        ("active", _) => "it stays active: only 0 and 1 are read".to_owned(),
        // The file's reader has a default of its own for rules.
        (_, Some(default)) if table.name != "mysql_query_rules" => format!("{default} instead, the default"),
        ("apply" | "flagIN" | "negate_match_pattern", _) => "0 instead, the default".to_owned(),
        _ => "the default applies instead".to_owned(),
    }
}

/// Whether a text is none of the words that the engine knows in a column of words.
fn is_unknown_word(column: &str, text: &str) -> bool {
    let known: &[&str] = match column {
        "status" => &["ONLINE", "SHUNNED", "OFFLINE_SOFT", "OFFLINE_HARD"],
        "check_type" => &[
            "read_only",
            "innodb_read_only",
            "super_read_only",
            "read_only|innodb_read_only",
            "read_only&innodb_read_only",
        ],
        _ => return false,
    };
    !known.iter().any(|word| text.eq_ignore_ascii_case(word))
}

/// `rule_id 5 stands twice in mysql_query_rules: …`
fn stands_twice(table: &Table, columns: &[(&'static str, Cell)]) -> String {
    let of_key = |(name, _): &&(&str, Cell)| table.primary_key.contains(name);
    let key = columns.iter().filter(of_key).map(|(name, cell)| match cell {
        Cell::Integer(number) => format!("{name} {number}"),
        Cell::Text(text) => format!("{name} {text}"),
        Cell::Null | Cell::Real(_) | Cell::Blob(_) => (*name).to_owned(),
    });
    let key: Vec<String> = key.collect();
    format!(
        "{} stands twice in {}: the engine keeps this entry and drops the one before it",
        key.join(", "),
        table.name
    )
}

/// Where an entry begins, which is enough to find it.
fn first_line(span: Span) -> Span {
    span.within(0, 1)
}
