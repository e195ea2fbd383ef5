//! CREATE TABLE: types, keys and options that SQLite does not know.

use super::lexer::{Token, TokenKind};

/// Integer types that become `INTEGER`, so that a primary key of one column numbers rows by itself.
const INTEGERS: [&str; 6] = ["INT", "BIGINT", "SMALLINT", "TINYINT", "MEDIUMINT", "INTEGER"];

/// Words between a column's name and the next comma that SQLite does not know.
const DROPPED: [&str; 4] = ["AUTO_INCREMENT", "UNSIGNED", "ZEROFILL", "SIGNED"];

/// The statement for SQLite, or `None` when it is not a CREATE TABLE with a list of columns.
pub(super) fn rewrite<'a>(tokens: &[Token<'a>]) -> Option<Vec<Token<'a>>> {
    let is_create =
        tokens.first()?.is_word("CREATE") && tokens.iter().take(3).any(|token| token.is_word("TABLE"));
    if !is_create {
        return None;
    }
    let open = tokens.iter().position(|token| token.is_symbol("("))?;
    if tokens[..open]
        .iter()
        .any(|token| token.is_word("SELECT") || token.is_word("LIKE"))
    {
        return None;
    }
    let close = closing(tokens, open)?;
    let mut out = tokens[..=open].to_vec();
    let mut is_first = true;
    for element in elements(&tokens[open + 1..close]) {
        let Some(element) = rewrite_element(element) else {
            continue;
        };
        if !is_first {
            out.push(Token {
                kind: TokenKind::Symbol,
                text: ",",
            });
        }
        is_first = false;
        out.extend(element);
    }
    out.push(tokens[close]);
    // After the columns come the engine and other options, or a query.
    let query = tokens[close + 1..]
        .iter()
        .position(|token| token.is_word("AS") || token.is_word("SELECT"));
    if let Some(at) = query {
        out.extend_from_slice(&tokens[close + 1 + at..]);
    }
    Some(out)
}

fn closing(tokens: &[Token<'_>], open: usize) -> Option<usize> {
    let mut depth = 0_usize;
    for (at, token) in tokens.iter().enumerate().skip(open) {
        if token.is_symbol("(") {
            depth += 1;
        } else if token.is_symbol(")") {
            depth -= 1;
            if depth == 0 {
                return Some(at);
            }
        }
    }
    None
}

fn elements<'t, 'a>(body: &'t [Token<'a>]) -> Vec<&'t [Token<'a>]> {
    let mut depth = 0_i32;
    body.split(|token| {
        depth += i32::from(token.is_symbol("(")) - i32::from(token.is_symbol(")"));
        depth == 0 && token.is_symbol(",")
    })
    .collect()
}

/// A column or a constraint for SQLite; `None` for an index, which SQLite makes by a statement of its own and which
/// changes no answer.
fn rewrite_element<'a>(element: &[Token<'a>]) -> Option<Vec<Token<'a>>> {
    let first = element.first()?;
    let is = |token: &Token<'_>, words: &[&str]| words.iter().any(|word| token.is_word(word));
    let is_index = is(first, &["KEY", "INDEX", "FULLTEXT", "SPATIAL"])
        && element
            .get(1)
            .is_some_and(|second| second.name().is_some() || second.is_symbol("("));
    if is_index {
        return None;
    }
    if is(first, &["UNIQUE"]) {
        let columns = element.iter().position(|token| token.is_symbol("("))?;
        return Some([&[*first], &element[columns..]].concat());
    }
    if is(first, &["PRIMARY", "CONSTRAINT", "FOREIGN", "CHECK"]) {
        return Some(element.to_vec());
    }
    Some(rewrite_column(element))
}

fn rewrite_column<'a>(column: &[Token<'a>]) -> Vec<Token<'a>> {
    let word = |text: &'static str| Token {
        kind: TokenKind::Word,
        text,
    };
    let mut out: Vec<Token<'a>> = column.iter().take(1).copied().collect();
    let mut at = 1;
    while let Some(token) = column.get(at) {
        let next_is =
            |ahead: usize, text: &str| column.get(at + ahead).is_some_and(|token| token.is_word(text));
        let group = |from: usize| match column.get(from) {
            Some(token) if token.is_symbol("(") => {
                closing(column, from).map_or(column.len(), |close| close + 1)
            }
            _ => from,
        };
        at = if at == 1 && INTEGERS.iter().any(|kind| token.is_word(kind)) {
            out.push(word("INTEGER"));
            group(at + 1)
        } else if at == 1 && (token.is_word("ENUM") || token.is_word("SET")) {
            out.push(word("TEXT"));
            group(at + 1)
        } else if DROPPED.iter().any(|dropped| token.is_word(dropped)) {
            at + 1
        } else if token.is_word("COMMENT") || token.is_word("CHARSET") || token.is_word("COLLATE") {
            at + 2
        } else if token.is_word("CHARACTER") && next_is(1, "SET") {
            at + 3
        } else if token.is_word("ON") && next_is(1, "UPDATE") && next_is(2, "CURRENT_TIMESTAMP") {
            group(at + 3)
        } else {
            out.push(*token);
            at + 1
        };
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sqlite::{lexer, translate};

    fn translated(sql: &str) -> String {
        translate::translate(&lexer::tokens(sql).unwrap(), None)
            .unwrap()
            .sql
    }

    #[test]
    fn a_dumped_table_is_understood() {
        let sql = "CREATE TABLE `City` (
            `ID` int(11) unsigned NOT NULL AUTO_INCREMENT COMMENT 'key',
            `Name` char(35) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL DEFAULT '',
            `TokenKind` enum('a','b') DEFAULT 'a',
            `Seen` timestamp NOT NULL DEFAULT CURRENT_TIMESTAMP ON UPDATE CURRENT_TIMESTAMP,
            PRIMARY KEY (`ID`), KEY `Name` (`Name`), UNIQUE KEY `k` (`Name`,`TokenKind`)
        ) ENGINE=InnoDB AUTO_INCREMENT=5 DEFAULT CHARSET=utf8mb4";
        let expected = "CREATE TABLE `City` (`ID` INTEGER NOT NULL , `Name` char(35) NOT NULL DEFAULT '' , \
                        `TokenKind` TEXT DEFAULT 'a' , `Seen` timestamp NOT NULL DEFAULT CURRENT_TIMESTAMP , \
                        PRIMARY KEY (`ID`) , UNIQUE (`Name`,`TokenKind`) )";
        let squeezed = |text: &str| text.replace(' ', "");
        assert_eq!(squeezed(&translated(sql)), squeezed(expected));
    }

    #[test]
    fn what_is_not_a_list_of_columns_is_left_alone() {
        for sql in [
            "CREATE TABLE t AS SELECT (1)",
            "CREATE VIEW v AS SELECT 1",
            "SELECT 1",
            "CREATE TABLE t (a INT",
        ] {
            assert_eq!(
                rewrite(&lexer::without_space(&lexer::tokens(sql).unwrap())),
                None,
                "{sql}"
            );
        }
    }
}
