//! Statements for the admin port, run one after the other.

mod split;

use std::borrow::Cow;

use shardwright_diagnostics::{Diagnostic, FileId, Problems, Severity, Span, did_you_mean};
use shardwright_rules::tables::{self, Column, TABLES, Table};
use shardwright_sql::TokenKind;

use crate::Ran;
use crate::codes::{IGNORED, REFUSED, SYNTAX, UNKNOWN};
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
    };
    let mut statements = Statements::of(text);
    for statement in statements.by_ref() {
        script.statement(&statement);
    }
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
        let words: Vec<String> = (1..statement.tokens.len())
            .filter_map(|at| Some(statement.bare(at, self.text)?.to_ascii_uppercase()))
            .collect();
        let is = |word: &str| words.iter().any(|known| known == word);
        let forward = (statement.is(0, self.text, "LOAD") && (is("RUNTIME") || is("RUN")) && !is("FROM"))
            || (statement.is(0, self.text, "SAVE") && is("DISK") && !is("FROM"));
        if forward {
            self.ignored(
                statement,
                "LOAD and SAVE are not run: the tables count as the running configuration",
            );
        } else {
            let span = self.span(statement);
            self.problems.push(
                Diagnostic::warning(
                    UNKNOWN,
                    "this replaces the rows by others that the file does not contain",
                )
                .at(span, "")
                .note("the rows from before this statement still count as the running configuration"),
            );
        }
    }

    fn write(&mut self, statement: &Statement, verb: Verb) {
        let Some((name_at, name)) = self.table_name(statement, &verb) else {
            self.conceal_literals(statement);
            self.run(statement, &[]);
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
        let names = self.listed(statement, name_at);
        let is_active = |name: &Cow<'_, str>| name.eq_ignore_ascii_case("active");
        if table.name == "mysql_query_rules" && names.is_some_and(|names| !names.iter().any(is_active)) {
            let whole = self.span(statement);
            self.ran
                .without_active
                .extend(rows.iter().copied().chain([whole]));
        }
        self.run(statement, &rows);
    }

    fn run(&mut self, statement: &Statement, rows: &[Span]) {
        let span = self.span(statement);
        let sql = &self.text[statement.range.clone()];
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

    /// Notes where passwords stand, so that no problem shows them.
    fn hide(&mut self, statement: &Statement, table: &Table, name_at: usize, verb: &Verb) {
        let secret_column = table.columns.iter().position(Column::is_secret);
        let about_variables = table.name == "global_variables";
        let rows = statement.rows(self.text);
        match (verb, secret_column) {
            (Verb::Insert, Some(column)) if !rows.is_empty() => {
                let column = match self.listed(statement, name_at) {
                    None => column,
                    Some(names) => match names
                        .iter()
                        .position(|name| name.eq_ignore_ascii_case("password"))
                    {
                        Some(column) => column,
                        // Another name may be a slip.
                        None => return self.conceal_literals(statement),
                    },
                };
                for row in &rows {
                    let (from, to) = element(row, column);
                    self.conceal(from, to);
                }
            }
            (_, None) if !about_variables => {}
            // An expression may put a secret anywhere.
            _ => {
                let held = statement.range.clone();
                let mentions = self.text[held].to_ascii_lowercase();
                if mentions.contains("passw") || mentions.contains("credentials") {
                    self.conceal_literals(statement);
                }
            }
        }
    }

    /// Hides every literal of a statement.
    fn conceal_literals(&mut self, statement: &Statement) {
        for token in &statement.tokens {
            if matches!(token.kind, TokenKind::String | TokenKind::QuotedName) {
                self.conceal(token.span.start, token.span.end);
            }
        }
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

    fn conceal(&mut self, from: usize, to: usize) {
        if to > from {
            self.ran.secrets.push(self.at(from, to));
        }
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

/// First words of statements that stand around the rows of a dump.
const FRAME: [&str; 12] = [
    "BEGIN", "COMMIT", "ROLLBACK", "START", "CREATE", "DROP", "PRAGMA", "LOCK", "UNLOCK", "USE", "SELECT",
    "ALTER",
];

/// First words of commands that change no row.
const ADMIN: [&str; 10] = [
    "PROXYSQL", "SHOW", "DESCRIBE", "DESC", "EXPLAIN", "VACUUM", "ANALYZE", "FLUSH", "PULL", "CHECKSUM",
];

/// A mark that some other program replaces before the engine reads the statement: `{{ name }}`, `{% … %}`, `${NAME}`,
/// `$NAME`, `%(name)s`. In a literal it is text.
fn placeholder(statement: &Statement, text: &str) -> Option<String> {
    statement.tokens.iter().find_map(|token| {
        let rest = text.get(token.span.start..statement.range.end)?;
        if matches!(token.kind, TokenKind::String | TokenKind::QuotedName) {
            return None;
        }
        let closed = |open: &str, close: &str| {
            let inner = rest.strip_prefix(open)?;
            let end = inner.find(close)?;
            Some(rest[..open.len() + end + close.len()].to_owned())
        };
        let marked = [("{{", "}}"), ("{%", "%}"), ("${", "}"), ("%(", ")s")];
        let name = rest.strip_prefix('$').map(|name| {
            let end = name.find(|c: char| !c.is_ascii_alphanumeric() && c != '_');
            &name[..end.unwrap_or(name.len())]
        });
        marked
            .into_iter()
            .find_map(|(open, close)| closed(open, close))
            .or_else(|| {
                name.filter(|name| !name.is_empty())
                    .map(|name| format!("${name}"))
            })
    })
}

/// Whether the value of a variable is a secret.
pub(crate) fn is_secret(variable: &str) -> bool {
    variable.contains("password") || variable.contains("credentials")
}

/// From where to where the element of a parenthesised list stands; nothing where there are fewer.
fn element(row: &[shardwright_sql::Token], wanted: usize) -> (usize, usize) {
    let (mut at, mut depth, mut from) = (0, 0_usize, None);
    for token in row {
        match token.kind {
            TokenKind::LeftParen => depth += 1,
            TokenKind::RightParen => depth = depth.saturating_sub(1),
            TokenKind::Comma if depth == 1 => {
                if at == wanted {
                    return (from.unwrap_or(0), token.span.start);
                }
                at += 1;
                continue;
            }
            _ => {}
        }
        if at == wanted && token.kind != TokenKind::LeftParen {
            if depth == 0 {
                return (
                    from.unwrap_or(0),
                    if from.is_some() { token.span.start } else { 0 },
                );
            }
            from = from.or(Some(token.span.start));
        }
    }
    (0, 0)
}

/// Text of the file in a message: short, and without what a terminal would obey.
fn shortened(text: &str) -> String {
    shardwright_diagnostics::shortened(text, 40).replace(char::is_control, " ")
}
