//! `proxysql.cnf`, as ProxySQL reads it when it starts without a database.
//!
//! The file's grammar is libconfig's; its groups become rows the way ProxySQL makes them (`ProxySQL_Config.cpp`): a
//! number that is written as text is not read, texts are put between quotes of SQL as they are, and keys that nobody
//! asks for are passed over without a word. Here each of these is a problem.

mod parse;
mod scan;

use rusqlite::ToSql;
use rusqlite::types::Value as Cell;
use shardwright_diagnostics::{Diagnostic, FileId, Problems, Span, did_you_mean};
use shardwright_rules::tables::{self, Column, TABLES, Table};

use crate::cnf::parse::{Group, Setting, Value, parse};
use crate::codes::{DROPPED, IGNORED, MISREAD, REFUSED, SYNTAX, UNKNOWN};
use crate::dump::is_secret;
use crate::elsewhere::is_elsewhere;
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
    for fault in parsed.faults {
        problems.push(Diagnostic::error(SYNTAX, fault.message).at(fault.span, ""));
    }
    let mut reader = Reader {
        store,
        problems,
        secrets: Vec::new(),
    };
    let mut seen: Vec<&str> = Vec::new();
    for setting in &parsed.settings {
        if seen.contains(&setting.name.as_str()) {
            let what = format!(
                "{} is set twice: the engine stops reading the file here",
                setting.name
            );
            reader
                .problems
                .push(Diagnostic::error(REFUSED, what).at(setting.name_span, ""));
        }
        seen.push(&setting.name);
        reader.section(setting);
    }
    Ran {
        secrets: reader.secrets,
        layout: Layout {
            comments: parsed.comments,
            parts: parsed.parts,
        },
        ..Ran::default()
    }
}

struct Reader<'r> {
    store: &'r mut Store,
    problems: &'r mut Problems,
    secrets: Vec<Span>,
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
                    self.secrets.push(setting.span);
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
                self.secrets.push(setting.span);
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
                let what = format!("the engine drops the entry: it has no {name}");
                self.problems
                    .push(Diagnostic::error(DROPPED, what).at(first_line(span), ""));
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
        let names: Vec<&str> = columns.iter().map(|(name, _)| *name).collect();
        let places: Vec<String> = (1..=columns.len()).map(|at| format!("?{at}")).collect();
        let sql = format!(
            "INSERT OR REPLACE INTO {} ({}) VALUES ({})",
            table.name,
            names.join(", "),
            places.join(", ")
        );
        let values: Vec<&dyn ToSql> = columns.iter().map(|(_, cell)| cell as &dyn ToSql).collect();
        if let Err(refused) = self.store.run(&sql, &values, span, &[span]) {
            let what = format!("the engine refuses the entry: {refused}");
            self.problems
                .push(Diagnostic::error(REFUSED, what).at(first_line(span), ""));
        }
    }

    /// The value of a column; `None` where the engine takes its default, `Err` where its statement breaks.
    fn cell(&mut self, table: &Table, column: &Column, setting: &Setting) -> Result<Option<Cell>, ()> {
        match &setting.value {
            Value::Integer(number) if column.is_number() => {
                // A negative number stands for none in a rule.
                let none = table.name == "mysql_query_rules" && *number < 0;
                Ok((!none).then_some(Cell::Integer(*number)))
            }
            Value::Text(text) if !column.is_number() => self.text(table, column, setting, text).map(Some),
            _ => {
                let wanted = if column.is_number() {
                    "a number without quotes"
                } else {
                    "a text in quotes"
                };
                self.problems.push(
                    Diagnostic::warning(
                        MISREAD,
                        format!("the engine does not read `{}`: it expects {wanted}", column.name),
                    )
                    .at(setting.span, "the default applies instead"),
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
            ("mysql_users", _) | (_, "attributes") => Some('\''),
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
                Diagnostic::error(
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
            let what = format!("{} is a group: {{ ... }}", setting.name);
            self.problems
                .push(Diagnostic::error(REFUSED, what).at(setting.span, ""));
            return;
        };
        for setting in &group.settings {
            let name = format!("{prefix}-{}", setting.name);
            if is_secret(&name) {
                self.secrets.push(setting.span);
            }
            let value = match &setting.value {
                Value::Boolean(value) => value.to_string(),
                Value::Integer(value) => value.to_string(),
                Value::Text(value) => value.clone(),
                Value::Float | Value::List(_) | Value::Group(_) => {
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

/// Where an entry begins, which is enough to find it.
fn first_line(span: Span) -> Span {
    span.within(0, 1)
}
