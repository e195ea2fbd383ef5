//! SHOW and DESCRIBE as queries over SQLite's own tables.

use super::lexer::{Token, TokenKind};
use super::names::{quote_name, quote_text};

/// What a SHOW statement asks for.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Show {
    Databases {
        like: Option<String>,
    },
    Tables {
        schema: Option<String>,
        like: Option<String>,
        is_full: bool,
    },
    Columns {
        schema: Option<String>,
        table: String,
    },
    CreateTable {
        schema: Option<String>,
        table: String,
    },
    Variables {
        like: Option<String>,
    },
    /// Nothing to show: columns, and no rows.
    Empty(&'static [&'static str]),
}

/// Reads a SHOW, DESCRIBE or DESC without white space; `None` for what is not answered.
pub(super) fn parse(tokens: &[Token<'_>]) -> Option<Show> {
    let word = |at: usize, word: &str| tokens.get(at).is_some_and(|token| token.is_word(word));
    if !word(0, "SHOW") {
        let (schema, table) = table(tokens.get(1..)?)?;
        return Some(Show::Columns { schema, table });
    }
    let mut at = 1;
    let is_full = word(at, "FULL");
    at += usize::from(is_full || word(at, "GLOBAL") || word(at, "SESSION") || word(at, "LOCAL"));
    let like = like(tokens);
    Some(match tokens.get(at)?.text.to_ascii_uppercase().as_str() {
        "DATABASES" | "SCHEMAS" => Show::Databases { like },
        "TABLES" => Show::Tables {
            schema: from(tokens, at + 1),
            like,
            is_full,
        },
        "COLUMNS" | "FIELDS" => {
            let (schema, table) = table(tokens.get(at + 2..)?)?;
            Show::Columns {
                schema: schema.or_else(|| from(tokens, at + 3)),
                table,
            }
        }
        "CREATE" if word(at + 1, "TABLE") => {
            let (schema, table) = table(tokens.get(at + 2..)?)?;
            Show::CreateTable { schema, table }
        }
        "VARIABLES" => Show::Variables { like },
        "STATUS" => Show::Empty(&["Variable_name", "Value"]),
        "WARNINGS" | "ERRORS" => Show::Empty(&["Level", "Code", "Message"]),
        "PLUGINS" => Show::Empty(&["Name", "Status", "Type", "Library", "License"]),
        _ => return None,
    })
}

/// `table` or `schema.table`.
fn table(tokens: &[Token<'_>]) -> Option<(Option<String>, String)> {
    match tokens {
        [schema, dot, table, ..] if dot.is_symbol(".") => Some((Some(schema.name()?), table.name()?)),
        [table, ..] => Some((None, table.name()?)),
        [] => None,
    }
}

fn from(tokens: &[Token<'_>], at: usize) -> Option<String> {
    let keyword = tokens.get(at)?;
    (keyword.is_word("FROM") || keyword.is_word("IN"))
        .then(|| tokens.get(at + 1)?.name())
        .flatten()
}

/// The pattern of `LIKE '…'` or of `WHERE name = '…'`.
fn like(tokens: &[Token<'_>]) -> Option<String> {
    let at = tokens
        .iter()
        .position(|token| token.is_word("LIKE") || token.is_symbol("="))?;
    tokens
        .get(at + 1)
        .filter(|token| token.kind == TokenKind::Text)?
        .string()
}

/// The condition that a name fits a pattern, if there is one.
fn fits(column: &str, like: Option<&str>) -> String {
    like.map_or_else(String::new, |pattern| {
        format!(" AND {column} LIKE {} ESCAPE '\\'", quote_text(pattern))
    })
}

/// Tables of `schema`.
pub(super) fn tables(schema: &str, like: Option<&str>, is_full: bool) -> String {
    let kind = if is_full {
        ", CASE type WHEN 'view' THEN 'VIEW' ELSE 'BASE TABLE' END AS Table_type"
    } else {
        ""
    };
    format!(
        "SELECT name AS {}{kind} FROM {}.sqlite_schema \
         WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'{} ORDER BY name",
        quote_name(&format!("Tables_in_{schema}")),
        quote_name(schema),
        fits("name", like),
    )
}

/// Columns of a table, as DESCRIBE shows them.
pub(super) fn columns(schema: &str, table: &str) -> String {
    format!(
        "SELECT name AS Field, lower(type) AS Type, CASE WHEN \"notnull\" OR pk THEN 'NO' ELSE 'YES' END AS \"Null\", \
         CASE WHEN pk THEN 'PRI' ELSE '' END AS \"Key\", dflt_value AS \"Default\", '' AS Extra \
         FROM pragma_table_info({}, {})",
        quote_text(table),
        quote_text(schema),
    )
}

/// The statement that made a table.
pub(super) fn create_table(schema: &str, table: &str) -> String {
    format!(
        "SELECT name AS \"Table\", sql AS \"Create Table\" FROM {}.sqlite_schema \
         WHERE type IN ('table', 'view') AND lower(name) = lower({})",
        quote_name(schema),
        quote_text(table),
    )
}

/// `name` fits the pattern of a LIKE, where `%` is any text and `_` any character; case does not matter.
pub(super) fn is_like(name: &str, pattern: Option<&str>) -> bool {
    let Some(pattern) = pattern else { return true };
    let name: Vec<char> = name.to_lowercase().chars().collect();
    // One row of the classic table: which prefixes of the name fit the pattern so far.
    let mut fits = vec![false; name.len() + 1];
    fits[0] = true;
    let mut pattern = pattern.chars().flat_map(char::to_lowercase);
    while let Some(character) = pattern.next() {
        let literal = match character {
            '%' => {
                let first = fits.iter().position(|fit| *fit).unwrap_or(fits.len());
                fits[first..].fill(true);
                continue;
            }
            '_' => None,
            '\\' => pattern.next(),
            other => Some(other),
        };
        for at in (1..fits.len()).rev() {
            fits[at] = fits[at - 1] && literal.is_none_or(|literal| literal == name[at - 1]);
        }
        fits[0] = false;
    }
    fits[name.len()]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sqlite::lexer;

    #[test]
    fn shows_are_recognized() {
        for (sql, show) in [
            ("SHOW DATABASES", Some(Show::Databases { like: None })),
            (
                "show schemas like 'a%'",
                Some(Show::Databases {
                    like: Some("a%".into()),
                }),
            ),
            (
                "SHOW FULL TABLES FROM `w` LIKE 'C%'",
                Some(Show::Tables {
                    schema: Some("w".into()),
                    like: Some("C%".into()),
                    is_full: true,
                }),
            ),
            (
                "SHOW COLUMNS FROM City IN w",
                Some(Show::Columns {
                    schema: Some("w".into()),
                    table: "City".into(),
                }),
            ),
            (
                "DESC w.City",
                Some(Show::Columns {
                    schema: Some("w".into()),
                    table: "City".into(),
                }),
            ),
            (
                "SHOW SESSION VARIABLES WHERE Variable_name = 'sql_mode'",
                Some(Show::Variables {
                    like: Some("sql_mode".into()),
                }),
            ),
            ("SHOW BINARY LOGS", None),
            ("SHOW", None),
            ("DESC", None),
        ] {
            assert_eq!(
                parse(&lexer::without_space(&lexer::tokens(sql).unwrap())),
                show,
                "{sql}"
            );
        }
    }

    #[test]
    fn patterns_match_as_in_mysql() {
        for (name, pattern, fits) in [
            ("sql_mode", "sql_mode", true),
            ("sql_mode", "SQL%", true),
            ("sql_mode", "sql_mod_", true),
            ("sql_mode", "sql_mod", false),
            ("sqlxmode", r"sql\_mode", false),
            ("abc", "%b%", true),
            ("abc", "%d%", false),
            ("", "%", true),
            ("", "_", false),
        ] {
            assert_eq!(is_like(name, Some(pattern)), fits, "{name} LIKE {pattern}");
        }
    }
}
