//! Where a statement with a body ends: `CREATE PROCEDURE p() BEGIN SELECT 1; SELECT 2; END; CALL p()`.
//!
//! Semicolons inside a block belong to the statement. A block opens at the start of a statement (BEGIN, IF, CASE, LOOP, WHILE,
//! REPEAT, FOR), a CASE also inside an expression, and END closes it. Where the reading is wrong nothing runs that was not
//! decided: servers get one statement at a time, and half a block, or a block and more, is a syntax error to them.

use shardwright_sql::{LexMode, Lexer, Token, TokenKind};

/// Words of a CREATE or ALTER whose statement can have a body with semicolons.
const OBJECTS: [&str; 4] = ["PROCEDURE", "FUNCTION", "TRIGGER", "EVENT"];
/// Its parts are declarations, which open no block: it takes the rest of the text.
const PACKAGE: &str = "PACKAGE";
/// What stands in their place where there is none; names follow.
const NO_BODIES: [&str; 8] = [
    "TABLE", "VIEW", "INDEX", "DATABASE", "SCHEMA", "USER", "ROLE", "SERVER",
];
/// Statements that are a block to MariaDB outside of routines, too.
const BLOCKS: [&str; 6] = ["IF", "CASE", "LOOP", "WHILE", "REPEAT", "FOR"];
/// Behind these words and behind a semicolon a statement begins.
const BEFORE_STATEMENTS: [&str; 7] = ["BEGIN", "ATOMIC", "THEN", "ELSE", "DO", "LOOP", "REPEAT"];

/// Whether a text is one of MariaDB's compound statements outside of routines: `BEGIN NOT ATOMIC …; …; END`, `IF … END IF`.
pub(super) fn is_compound(text: &[u8], mode: LexMode) -> bool {
    let mut tokens = Lexer::new(text, mode).significant();
    let Some(first) = tokens.next() else { return false };
    let is_block = BLOCKS.iter().any(|word| first.is_word(text, word));
    is_block || (first.is_word(text, "BEGIN") && tokens.next().is_some_and(|next| next.is_word(text, "NOT")))
}

/// The bytes of the first statement of a text, if it has a body; the semicolon behind it, or the end of the text, follows.
pub(super) fn end_of_body(text: &[u8], mode: LexMode) -> Option<usize> {
    let is_any = |token: &Token, words: &[&str]| words.iter().any(|word| token.is_word(text, word));
    let mut tokens = Lexer::new(text, mode).significant();
    let first = tokens.next()?;
    if is_any(&first, &["CREATE", "ALTER"]) {
        // `CREATE OR REPLACE DEFINER = a@b AGGREGATE FUNCTION …`
        let object = tokens
            .take_while(|token| {
                !matches!(token.kind, TokenKind::Semicolon | TokenKind::LeftParen)
                    && !is_any(token, &NO_BODIES)
            })
            .find(|token| is_any(token, &OBJECTS) || token.is_word(text, PACKAGE))?;
        return Some(match object.is_word(text, PACKAGE) {
            true => text.len(),
            false => block_end(text, object.span.end, mode),
        });
    }
    is_compound(text, mode).then(|| block_end(text, 0, mode))
}

/// The first semicolon outside of blocks, from this place on.
fn block_end(text: &[u8], from: usize, mode: LexMode) -> usize {
    let text = &text[from..];
    let is_any = |token: &Token, words: &[&str]| words.iter().any(|word| token.is_word(text, word));
    let mut tokens = Lexer::new(text, mode).significant().peekable();
    // Of each open block, whether it is the CASE of an expression, in which no statement begins.
    let mut open: Vec<bool> = Vec::new();
    // Before its body, a statement has words of its own: `IF NOT EXISTS` before its name, `FOR EACH ROW`.
    let mut is_head = from > 0;
    let mut is_before_name = is_head;
    let mut is_start = !is_head;
    let (mut is_behind_end, mut is_behind_xa) = (false, false);
    while let Some(token) = tokens.next() {
        if token.kind == TokenKind::Semicolon && open.is_empty() {
            return from + token.span.start;
        }
        let mut is_of_head = || {
            let next = tokens.peek();
            next.is_some_and(|next| {
                let is_part = is_before_name && is_any(next, &["NOT", "EXISTS"]);
                is_part || next.kind == TokenKind::LeftParen || is_any(next, &["EACH"])
            })
        };
        let ends = token.is_word(text, "END");
        is_start &= open.last() != Some(&true);
        // `END IF` and `END LOOP` close what one word has opened.
        let opens = !is_behind_end
            && (token.is_word(text, "CASE")
                || (token.is_word(text, "BEGIN") && !is_behind_xa)
                || (is_any(&token, &BLOCKS) && (is_start || (is_head && !is_of_head()))));
        if ends {
            open.pop();
        } else if opens {
            open.push(token.is_word(text, "CASE") && !is_start && !is_head);
            is_head = false;
        }
        is_before_name = false;
        is_start = token.kind == TokenKind::Semicolon
            || token.is_operator(text, ":")
            || (is_any(&token, &BEFORE_STATEMENTS) && !is_behind_end);
        (is_behind_end, is_behind_xa) = (ends, token.is_word(text, "XA"));
    }
    from + text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_statement_ends_behind_its_last_block() {
        for (first, rest) in [
            ("CREATE PROCEDURE p() SELECT 1", "; SELECT 2"),
            (
                "CREATE PROCEDURE IF NOT EXISTS p() SELECT IF(1, 2, 3)",
                "; SELECT 2",
            ),
            ("CREATE PROCEDURE p() BEGIN SELECT 1; SELECT 2; END", "; CALL p()"),
            (
                "CREATE FUNCTION f(x INT) RETURNS INT IF NOT EXISTS (SELECT 1) THEN RETURN 1; ELSE RETURN 2; END IF",
                "; SELECT f(1)",
            ),
            (
                "CREATE OR REPLACE FUNCTION f() RETURNS INT RETURN REPEAT('a', 2)",
                "; SELECT f()",
            ),
            (
                "CREATE DEFINER=`a`@`b` TRIGGER t BEFORE INSERT ON x FOR EACH ROW SET @a=1",
                "; SELECT 1",
            ),
            (
                "CREATE TRIGGER t BEFORE INSERT ON x FOR EACH ROW BEGIN IF 1 THEN SET @a=1; END IF; END",
                "; SELECT 1",
            ),
            (
                "CREATE TRIGGER t BEFORE INSERT ON x FOR EACH ROW IF NEW.a THEN SET @a=1; SET @b=1; END IF",
                ";",
            ),
            (
                "CREATE EVENT e ON SCHEDULE EVERY 1 DAY DO BEGIN DELETE FROM t; DELETE FROM u; END",
                "; SELECT 1",
            ),
            (
                "CREATE PROCEDURE p() BEGIN DECLARE EXIT HANDLER FOR NOT FOUND BEGIN END; DROP TABLE IF EXISTS t; END",
                "; CALL p()",
            ),
            (
                "CREATE PROCEDURE p(a INT) BEGIN SELECT CASE a WHEN 1 THEN IF(a, 2, 3) END; x: LOOP LEAVE x; END LOOP; END",
                "; CALL p(1)",
            ),
            (
                "CREATE PROCEDURE p(a INT) BEGIN CASE a WHEN 1 THEN SELECT 1; ELSE BEGIN END; END CASE; SELECT 2; END",
                "; CALL p(1)",
            ),
            (
                "CREATE PROCEDURE p() WHILE @a DO REPEAT SET @a=0; UNTIL 1 END REPEAT; END WHILE",
                "; CALL p()",
            ),
            (
                "BEGIN NOT ATOMIC SELECT 1; IF 1 THEN SELECT 2; END IF; END",
                "; SELECT 3",
            ),
            (
                "IF 1 THEN SELECT 1; ELSEIF 2 THEN SELECT 2; ELSE SELECT 3; END IF",
                "; SELECT 4",
            ),
            ("FOR i IN 1..3 DO SELECT i; END FOR", "; SELECT 4"),
            (
                "FOR r IN (SELECT 1) DO SELECT r; FOR s IN 1..2 DO SELECT s; END FOR; END FOR",
                "; SELECT 4",
            ),
            ("LOOP SELECT 1; END LOOP", ""),
            ("REPEAT SELECT REPEAT('a', 2); UNTIL 1 END REPEAT", "; SELECT 1"),
            ("ALTER EVENT e DO BEGIN SELECT 1; END", "; SELECT 1"),
            (
                "CREATE PACKAGE p AS PROCEDURE q(); PROCEDURE r(); END; SELECT 1",
                "",
            ),
            ("CREATE PROCEDURE p() BEGIN SELECT 1; SELECT 2", ""),
        ] {
            let text = format!("{first}{rest}");
            let end = end_of_body(text.as_bytes(), LexMode::default());
            assert_eq!(end, Some(first.len()), "{text}");
        }
        for text in [
            "CREATE TABLE event (a INT); SELECT 1",
            "BEGIN; SELECT 1; COMMIT",
            "SELECT IF(1, 2, 3); SELECT 1",
            "CREATE TABLE IF NOT EXISTS t (a INT); CREATE PROCEDURE p() SELECT 1",
        ] {
            assert_eq!(end_of_body(text.as_bytes(), LexMode::default()), None, "{text}");
        }
    }
}
