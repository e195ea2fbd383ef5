//! Statements for the admin port, run one after the other.

mod created;
mod layers;
mod placeholders;
mod secrets;
mod split;

use std::borrow::Cow;

use shardwright_diagnostics::{Diagnostic, FileId, Problems, Severity, Span, did_you_mean};
use shardwright_rules::tables::{self, TABLES};
use shardwright_sql::TokenKind;

use crate::Ran;
use crate::aurora;
use crate::codes::{IGNORED, NEVER_LOADED, REFUSED, SYNTAX, UNKNOWN};
use crate::dump::created::Created;
use crate::dump::layers::{Layers, Written};
use crate::dump::placeholders::placeholder;
use crate::dump::split::{Statement, Statements};
use crate::elsewhere::is_elsewhere;
use crate::store::Store;

/// Runs a script.
pub(crate) fn run(text: &str, file: FileId, store: &mut Store, problems: &mut Problems) -> Ran {
    let mut script = Script {
        text,
        file,
        store,
        problems,
        ran: Ran::default(),
        told: Vec::new(),
        created: Created::default(),
        written: Written::default(),
    };
    let mut statements = Statements::of(text);
    for statement in statements.by_ref() {
        script.statement(&statement);
    }
    script.tell_never_loaded();
    let comments = statements.comments.into_iter();
    script.ran.layout.comments = comments.map(|range| script.at(range.start, range.end)).collect();
    script.ran
}

struct Script<'s> {
    text: &'s str,
    file: FileId,
    store: &'s mut Store,
    problems: &'s mut Problems,
    ran: Ran,
    /// What is said once for the whole file, and was.
    told: Vec<&'static str>,
    created: Created,
    written: Written,
}

/// What a statement does to which table.
enum Verb {
    /// INSERT, REPLACE: rows are made.
    Insert,
    /// UPDATE
    Update,
    /// DELETE
    Delete,
}

impl Script<'_> {
    fn statement(&mut self, statement: &Statement) {
        let span = self.span(statement);
        self.ran.layout.parts.push(span);
        let is = |word: &str| statement.is(0, self.text, word);
        if is("INSERT") || is("REPLACE") {
            self.write(statement, Verb::Insert);
        } else if is("UPDATE") {
            self.write(statement, Verb::Update);
        } else if is("DELETE") {
            self.write(statement, Verb::Delete);
        } else if is("SET") {
            self.set(statement);
        } else if is("LOAD") || is("SAVE") {
            self.layers(statement);
        } else if is("CREATE") && self.creates(statement) {
            self.conceal_literals(statement);
        } else if FRAME.iter().any(|word| is(word)) {
            self.conceal_literals(statement);
            self.ignored(statement, "statements that frame a dump are not run");
        } else if ADMIN.iter().any(|word| is(word)) {
            self.conceal_literals(statement);
            self.ignored(statement, "commands of the admin port are not run");
        } else if let Some(placeholder) = placeholder(statement, self.text) {
            self.conceal_literals(statement);
            self.placeholder(statement, &placeholder);
        } else {
            self.conceal_literals(statement);
            let word = statement.bare(0, self.text).unwrap_or_default().into_owned();
            let span = self.span(statement);
            self.problems.push(
                Diagnostic::error(
                    SYNTAX,
                    format!("not a statement of a rule set: {}", shortened(&word)),
                )
                .at(span, "")
                .help("INSERT, REPLACE, UPDATE, DELETE and SET are run; LOAD and SAVE are ignored"),
            );
        }
    }

    /// Copies between memory, runtime and disk: the file is taken for what shall be in all of them.
    fn layers(&mut self, statement: &Statement) {
        let words: Vec<String> = (0..statement.tokens.len())
            .filter_map(|at| Some(statement.bare(at, self.text)?.to_ascii_uppercase()))
            .collect();
        let span = self.span(statement);
        match layers::read(&words) {
            Layers::ToRuntime(module) => {
                self.written.load(module);
                self.ignored(statement, LAYERS);
            }
            Layers::ToDisk | Layers::Other => self.ignored(statement, LAYERS),
            Layers::ToMemory => self.problems.push(
                Diagnostic::warning(
                    UNKNOWN,
                    "this replaces the rows by others that the file does not contain",
                )
                .at(span, "")
                .note("the rows from before this statement still count as the running configuration"),
            ),
            Layers::Refused => self.problems.push(
                Diagnostic::error(REFUSED, "the engine does not know this LOAD or SAVE, and refuses it")
                    .at(span, "")
                    .help("LOAD MYSQL QUERY RULES TO RUNTIME, SAVE MYSQL QUERY RULES TO DISK; so for MYSQL SERVERS, MYSQL USERS, MYSQL VARIABLES, MYSQL FIREWALL, ADMIN VARIABLES, PROXYSQL SERVERS, SCHEDULER, RESTAPI"),
            ),
        }
    }

    /// A script that loads some of its modules, and not others that it writes.
    fn tell_never_loaded(&mut self) {
        for (module, place) in self.written.never_loaded() {
            let what =
                format!("the script writes {module} and never loads them, while it loads other modules");
            self.problems.push(
                Diagnostic::warning(NEVER_LOADED, what)
                    .at(self.first_line(place), "")
                    .note("the rows count as the running configuration all the same")
                    .help(format!("LOAD {module} TO RUNTIME, and SAVE {module} TO DISK")),
            );
        }
    }

    /// Reads `CREATE TABLE` of a table of the engine. A dump of another version has other columns.
    fn creates(&mut self, statement: &Statement) -> bool {
        let mut name_at = 2;
        if !statement.is(1, self.text, "TABLE") {
            return false;
        }
        if statement.is(2, self.text, "IF") {
            name_at = 5;
        }
        let name = statement.bare(name_at, self.text).unwrap_or_default();
        let (Some(table), Some(columns)) = (
            tables::table(&name).filter(|table| table.name != "global_variables"),
            created::columns(statement, self.text, name_at),
        ) else {
            return false;
        };
        let is_own = columns.len() == table.columns.len()
            && columns
                .iter()
                .zip(table.columns)
                .all(|(name, column)| name.eq_ignore_ascii_case(column.name));
        if is_own {
            return false;
        }
        let span = self.first_line(self.span(statement));
        for column in columns.iter().filter(|column| table.column(column).is_none()) {
            let what = format!("column {} of table {} is not read", shortened(column), table.name);
            self.ran.unmodelled.push(what.clone());
            self.problems
                .push(Diagnostic::warning(UNKNOWN, what).at(span, ""));
            if let Err(refused) = self.store.add_column(table, column) {
                self.problems
                    .push(Diagnostic::error(REFUSED, refused.to_string()).at(span, ""));
            }
        }
        let what = format!(
            "the dump describes {} as ProxySQL {} has it: its values are read by the columns that it names",
            table.name,
            created::version(table, &columns)
        );
        self.problems.push(Diagnostic::info(UNKNOWN, what).at(span, ""));
        self.created.insert(table.name, columns);
        true
    }

    fn write(&mut self, statement: &Statement, verb: Verb) {
        let Some((name_at, name)) = self.table_name(statement, &verb) else {
            self.conceal_literals(statement);
            self.run(statement, &self.text[statement.range.clone()], &[]);
            return;
        };
        let Some(table) = tables::table(&name) else {
            self.other_table(statement, name_at, &name);
            return;
        };
        self.hide(statement, table, name_at, &verb);
        if table.name == "global_variables" && !matches!(verb, Verb::Insert) {
            self.know_variables(statement);
        }
        let rows: Vec<Span> = match verb {
            Verb::Insert => statement
                .rows(self.text)
                .iter()
                .filter_map(|row| Some(self.at(row.first()?.span.start, row.last()?.span.end)))
                .collect(),
            Verb::Update | Verb::Delete => Vec::new(),
        };
        self.ran.layout.parts.extend(&rows);
        if let Some(module) = layers::module_of(table.name) {
            self.written.write(module, self.span(statement));
        }
        let names = self.listed(statement, name_at);
        let own_columns = match (&verb, &names) {
            (Verb::Insert, None) => self.created.columns(table.name),
            _ => None,
        };
        let named = own_columns.map(|columns| {
            let behind = statement.tokens[name_at].span.end;
            let columns: Vec<String> = columns.iter().map(|column| quoted(column)).collect();
            let text = &self.text[statement.range.start..behind];
            format!(
                "{text} ({}) {}",
                columns.join(", "),
                &self.text[behind..statement.range.end]
            )
        });
        let is_active = |name: &Cow<'_, str>| name.eq_ignore_ascii_case("active");
        if table.name == "mysql_query_rules" && names.is_some_and(|names| !names.iter().any(is_active)) {
            let whole = self.span(statement);
            self.ran
                .without_active
                .extend(rows.iter().copied().chain([whole]));
        }
        let sql = named.as_deref().unwrap_or(&self.text[statement.range.clone()]);
        self.run(statement, sql, &rows);
    }

    fn run(&mut self, statement: &Statement, sql: &str, rows: &[Span]) {
        let span = self.span(statement);
        if let Err(refused) = self.store.run(sql, &[], span, rows) {
            if let Some(placeholder) = placeholder(statement, self.text) {
                self.placeholder(statement, &placeholder);
                return;
            }
            self.problems.push(
                Diagnostic::error(REFUSED, format!("the engine refuses the statement: {refused}"))
                    .at(self.first_line(span), ""),
            );
        }
    }

    /// The table's name, which is the first that is no keyword, and the place of its token.
    fn table_name(&self, statement: &Statement, verb: &Verb) -> Option<(usize, String)> {
        let mut at = 1;
        while let Some(token) = statement.tokens.get(at) {
            let keyword = [
                "INTO", "OR", "REPLACE", "IGNORE", "ABORT", "FAIL", "ROLLBACK", "FROM",
            ];
            if token.kind == TokenKind::Word && keyword.iter().any(|word| statement.is(at, self.text, word)) {
                at += 1;
                continue;
            }
            let quoted = token.kind == TokenKind::String && matches!(verb, Verb::Insert);
            if !token.is_name() && !quoted {
                return None;
            }
            let main = statement.is(at, self.text, "main");
            let dotted = statement
                .tokens
                .get(at + 1)
                .is_some_and(|token| token.kind == TokenKind::Dot);
            if dotted {
                let name = statement.bare(at + 2, self.text)?.into_owned();
                let schema = statement.bare(at, self.text)?;
                return Some((at + 2, if main { name } else { format!("{schema}.{name}") }));
            }
            return Some((at, statement.bare(at, self.text)?.into_owned()));
        }
        None
    }

    fn other_table(&mut self, statement: &Statement, at: usize, name: &str) {
        // Nothing tells which of its columns is a secret.
        self.conceal_literals(statement);
        let token = statement.tokens[at].span;
        let span = self.at(token.start, token.end);
        let bare = name.rsplit_once('.').map_or(name, |(_, bare)| bare);
        if bare == aurora::TABLE
            && statement.is(0, self.text, "INSERT") | statement.is(0, self.text, "REPLACE")
        {
            return self.aurora(statement, at);
        }
        // What it holds may be a secret, and nothing of it is shown but its name.
        if is_elsewhere(bare) {
            self.problems.push(
                Diagnostic::info(IGNORED, format!("table {bare} does not affect routing")).at(span, ""),
            );
            return;
        }
        let known = TABLES.iter().map(|table| table.name);
        let plain = bare
            .strip_prefix("runtime_")
            .filter(|plain| tables::table(plain).is_some());
        let problem = Diagnostic::new(
            // A copy of another layer, or a table of an earlier version of the engine.
            if name.contains('.') || bare.contains("_v1_") || bare.contains("_v2_") {
                Severity::Info
            } else {
                Severity::Error
            },
            if name.contains('.') { IGNORED } else { UNKNOWN },
            format!("rows of table {} are not read", shortened(name)),
        )
        .at(span, "");
        self.problems.push(match plain {
            Some(plain) => problem.help(format!(
                "nothing can be written to {bare}; name the table {plain}"
            )),
            None => problem.did_you_mean(did_you_mean(bare, known)),
        });
    }

    /// The hostgroups of rows for Aurora: the two first columns, unless the statement lists others.
    fn aurora(&mut self, statement: &Statement, name_at: usize) {
        let names = self.listed(statement, name_at);
        let place = |name: &str, usual: usize| match &names {
            None => Some(usual),
            Some(names) => names.iter().position(|known| known.eq_ignore_ascii_case(name)),
        };
        let places = [place("writer_hostgroup", 0), place("reader_hostgroup", 1)];
        let span = self.first_line(self.span(statement));
        let mut hostgroups = Vec::new();
        for row in statement.rows(self.text) {
            for &place in places.iter().flatten() {
                let (from, to) = secrets::element(row, place);
                let number = self
                    .text
                    .get(from..to)
                    .and_then(|text| text.trim().parse::<i32>().ok());
                match number.and_then(|number| u32::try_from(number).ok()) {
                    Some(number) => hostgroups.push(number),
                    None => aurora::ends_engine(self.problems, span),
                }
            }
        }
        aurora::note(&mut self.ran, self.problems, span, &hostgroups);
    }

    /// The columns that the statement lists.
    fn listed(&self, statement: &Statement, name_at: usize) -> Option<Vec<Cow<'_, str>>> {
        if statement.tokens.get(name_at + 1)?.kind != TokenKind::LeftParen {
            return None;
        }
        let names = (name_at + 2..statement.tokens.len())
            .take_while(|at| statement.tokens[*at].kind != TokenKind::RightParen)
            .filter(|at| statement.tokens[*at].kind != TokenKind::Comma);
        Some(names.filter_map(|at| statement.bare(at, self.text)).collect())
    }

    /// UPDATE of a variable changes a row that the engine has from the start.
    fn know_variables(&mut self, statement: &Statement) {
        for at in 0..statement.tokens.len() {
            if !matches!(
                statement.tokens[at].kind,
                TokenKind::String | TokenKind::QuotedName
            ) {
                continue;
            }
            let Some(name) = statement.bare(at, self.text) else {
                continue;
            };
            if name.starts_with("mysql-") || name.starts_with("admin-") {
                let sql = "INSERT OR IGNORE INTO global_variables (variable_name) VALUES (?1)";
                let span = self.span(statement);
                if let Err(refused) = self.store.run(sql, &[&name.as_ref()], span, &[]) {
                    self.problems
                        .push(Diagnostic::error(REFUSED, refused.to_string()).at(span, ""));
                }
            }
        }
    }

    /// `SET mysql-threads=4`
    fn set(&mut self, statement: &Statement) {
        let text = &self.text[statement.range.clone()];
        let assignment = text[3..].trim();
        let span = self.span(statement);
        let Some((name, value)) = assignment.split_once('=') else {
            self.ignored(statement, "SET of a session does not affect routing");
            return;
        };
        let name = name.trim().trim_matches('`').trim_end_matches(':');
        if !name.starts_with("mysql-") && !name.starts_with("admin-") {
            self.ignored(statement, "SET of a session does not affect routing");
            return;
        }
        let value = value.trim();
        if is_secret(name) {
            let start = statement.range.end - value.len();
            self.conceal(start, statement.range.end);
        }
        let literal = value.starts_with(['\'', '"']);
        let result = if literal {
            // The text is an expression of SQLite: a literal, or several joined.
            let sql = format!("INSERT OR REPLACE INTO global_variables VALUES (?1, {value})");
            self.store.run(&sql, &[&name], span, &[span])
        } else {
            let sql = "INSERT OR REPLACE INTO global_variables VALUES (?1, ?2)";
            self.store.run(sql, &[&name, &value], span, &[span])
        };
        if let Err(refused) = result {
            self.problems.push(
                Diagnostic::error(REFUSED, format!("the engine refuses the statement: {refused}"))
                    .at(span, ""),
            );
        }
    }

    /// Whoever fills in the file's placeholders knows what it says then; without them the statement is left out.
    fn placeholder(&mut self, statement: &Statement, placeholder: &str) {
        let span = self.first_line(self.span(statement));
        self.problems.push(
            Diagnostic::warning(
                REFUSED,
                format!(
                    "the statement holds the placeholder `{}` and is not run",
                    shortened(placeholder)
                ),
            )
            .at(span, "")
            .help("fill in the placeholders, and analyse the file that the engine gets"),
        );
    }

    /// Says once for the file that statements of a kind are passed over.
    fn ignored(&mut self, statement: &Statement, what: &'static str) {
        if !self.told.contains(&what) {
            self.told.push(what);
            let span = self.first_line(self.span(statement));
            self.problems
                .push(Diagnostic::info(IGNORED, what).at(span, "the first of them"));
        }
    }

    fn span(&self, statement: &Statement) -> Span {
        self.at(statement.range.start, statement.range.end)
    }

    fn at(&self, start: usize, end: usize) -> Span {
        let offset = |at: usize| u32::try_from(at).unwrap_or(u32::MAX);
        Span::new(self.file, offset(start), offset(end))
    }

    /// The part of a span on its first line, which is enough to find it.
    fn first_line(&self, span: Span) -> Span {
        let text = &self.text[span.range()];
        span.within(0, text.find('\n').unwrap_or(text.len()))
    }
}

const LAYERS: &str = "LOAD and SAVE are not run: the tables count as the running configuration";

/// First words of statements that stand around the rows of a dump.
const FRAME: [&str; 12] = [
    "BEGIN", "COMMIT", "ROLLBACK", "START", "CREATE", "DROP", "PRAGMA", "LOCK", "UNLOCK", "USE", "SELECT",
    "ALTER",
];

/// First words of commands that change no row.
const ADMIN: [&str; 10] = [
    "PROXYSQL", "SHOW", "DESCRIBE", "DESC", "EXPLAIN", "VACUUM", "ANALYZE", "FLUSH", "PULL", "CHECKSUM",
];

/// Whether the value of a variable is a secret.
pub(crate) fn is_secret(variable: &str) -> bool {
    variable.contains("password") || variable.contains("credentials")
}

/// A name between the quotes of SQL.
fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// Text of the file in a message: short, and without what a terminal would obey.
fn shortened(text: &str) -> String {
    shardwright_diagnostics::shortened(text, 40).replace(char::is_control, " ")
}
