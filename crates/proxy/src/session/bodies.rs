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
/// What stands between the parameters of a procedure and its body, beside the text of a comment.
const CHARACTERISTICS: [&str; 13] = [
    "COMMENT",
    "CONTAINS",
    "DATA",
    "DEFINER",
    "DETERMINISTIC",
    "INVOKER",
    "LANGUAGE",
    "MODIFIES",
    "NO",
    "NOT",
    "READS",
    "SECURITY",
    "SQL",
];
/// Behind these words and behind a semicolon a statement begins.
const BEFORE_STATEMENTS: [&str; 7] = ["BEGIN", "ATOMIC", "THEN", "ELSE", "DO", "LOOP", "REPEAT"];

/// Whether a text has a body with semicolons, or is one: it is a single statement to its end.
pub(super) fn has_body(text: &[u8], mode: LexMode) -> bool {
    end_of_body(text, mode).is_some()
}

/// Whether a text makes a procedure, a function, a trigger or a package: what its code asks, it asks when it runs.
pub(super) fn stores_code(text: &[u8], mode: LexMode) -> bool {
    let text = &text[behind_set_statement(text, mode)..];
    let mut tokens = Lexer::new(text, mode).significant();
    let is_create = tokens.next().is_some_and(|first| first.is_word(text, "CREATE"));
    let object = object_with_body(text, &mut tokens);
    // The schedule of an event is read at once.
    is_create && object.is_some_and(|object| !object.is_word(text, "EVENT"))
}

/// The bytes of the first statement of a text, if it has a body; the semicolon behind it, or the end of the text, follows.
pub(super) fn end_of_body(text: &[u8], mode: LexMode) -> Option<usize> {
    let from = behind_set_statement(text, mode);
    end_of_plain(&text[from..], mode).map(|end| from + end)
}

fn end_of_plain(text: &[u8], mode: LexMode) -> Option<usize> {
    let mut tokens = Lexer::new(text, mode).significant();
    let first = tokens.next()?;
    if is_any(text, &first, &["CREATE", "ALTER"]) {
        let object = object_with_body(text, &mut tokens)?;
        return Some(match object.is_word(text, PACKAGE) {
            true => text.len(),
            false => block_end(text, body_start(text, &object, tokens), mode),
        });
    }
    is_compound(text, mode).then(|| block_end(text, first.span.start, mode))
}

/// Whether a text is one of MariaDB's compound statements outside of routines: `BEGIN NOT ATOMIC …; …; END`, `IF … END IF`.
pub(super) fn is_compound(text: &[u8], mode: LexMode) -> bool {
    let text = &text[behind_set_statement(text, mode)..];
    let mut tokens = Lexer::new(text, mode).significant();
    let Some(first) = tokens.next() else { return false };
    is_any(text, &first, &BLOCKS)
        || (first.is_word(text, "BEGIN") && tokens.next().is_some_and(|next| next.is_word(text, "NOT")))
}

fn is_any(text: &[u8], token: &Token, words: &[&str]) -> bool {
    words.iter().any(|word| token.is_word(text, word))
}

/// Where a statement begins that is run with settings of its own: behind the FOR of `SET STATEMENT max_statement_time = 1 FOR …`.
fn behind_set_statement(text: &[u8], mode: LexMode) -> usize {
    set_statement(text, mode).map_or(0, |(_, end)| end)
}

/// The assignments of `SET STATEMENT a = 1, b = 2 FOR …`, and where its FOR ends.
pub(super) fn set_statement(text: &[u8], mode: LexMode) -> Option<(&[u8], usize)> {
    let mut tokens = Lexer::new(text, mode).significant();
    tokens.next().filter(|token| token.is_word(text, "SET"))?;
    let statement = tokens.next().filter(|token| token.is_word(text, "STATEMENT"))?;
    let mut depth = 0_usize;
    let end = tokens.find(|token| {
        depth = depth_behind(token, depth);
        depth == 0 && token.is_word(text, "FOR")
    })?;
    Some((&text[statement.span.end..end.span.start], end.span.end))
}

fn depth_behind(token: &Token, depth: usize) -> usize {
    match token.kind {
        TokenKind::LeftParen => depth + 1,
        TokenKind::RightParen => depth.saturating_sub(1),
        _ => depth,
    }
}

/// The word for what a CREATE or ALTER makes, if that can have a body: `CREATE OR REPLACE DEFINER = a@b AGGREGATE FUNCTION …`.
fn object_with_body(text: &[u8], tokens: &mut impl Iterator<Item = Token>) -> Option<Token> {
    let mut is_account = false;
    for token in tokens {
        if is_any(text, &token, &OBJECTS) || token.is_word(text, PACKAGE) {
            return Some(token);
        }
        // `DEFINER = CURRENT_USER()` has parentheses, a list of columns has others.
        let is_other =
            token.kind == TokenKind::Semicolon || (token.kind == TokenKind::LeftParen && !is_account);
        if is_other || is_any(text, &token, &NO_BODIES) {
            return None;
        }
        is_account = is_any(text, &token, &["CURRENT_USER", "CURRENT_ROLE"]);
    }
    None
}

/// Where the body of an object begins; the semicolon behind the statement, or the end of the text, if it has none.
fn body_start(text: &[u8], object: &Token, tokens: impl Iterator<Item = Token>) -> usize {
    let mut tokens = tokens.peekable();
    let mut depth = 0_usize;
    // What has been passed: the parameters of a routine, the RETURNS of a function.
    let (mut has_parameters, mut returns) = (false, false);
    let is_of = |kind: &str| object.is_word(text, kind);
    while let Some(token) = tokens.next() {
        depth = depth_behind(&token, depth);
        if depth > 0 {
            continue;
        }
        let is = |words: &[&str]| is_any(text, &token, words);
        let begins =
            is_of("PROCEDURE") && has_parameters && !is(&CHARACTERISTICS) && token.kind != TokenKind::String
                || is_of("FUNCTION") && returns && (is(&["BEGIN", "RETURN"]) || is(&BLOCKS));
        if begins || token.kind == TokenKind::Semicolon {
            return token.span.start;
        }
        has_parameters |= token.kind == TokenKind::RightParen;
        returns |= has_parameters && is(&["RETURNS"]);
        if is_of("EVENT") && is(&["DO"]) {
            return token.span.end;
        }
        let is_each = is(&["EACH"]);
        if let Some(row) = tokens.next_if(|row| is_of("TRIGGER") && is_each && row.is_word(text, "ROW")) {
            let order = tokens.next_if(|next| is_any(text, next, &["FOLLOWS", "PRECEDES"]));
            let other = order.and_then(|_| tokens.next());
            return other.unwrap_or(row).span.end;
        }
    }
    text.len()
}

/// The first semicolon outside of blocks, from this place on, at which a statement begins.
fn block_end(text: &[u8], from: usize, mode: LexMode) -> usize {
    let text = &text[from..];
    let tokens = Lexer::new(text, mode).significant();
    // Of each open block, whether it is the CASE of an expression, in which no statement begins.
    let mut open: Vec<bool> = Vec::new();
    let mut is_start = true;
    let (mut is_behind_end, mut is_behind_xa) = (false, false);
    for token in tokens {
        if token.kind == TokenKind::Semicolon && open.is_empty() {
            return from + token.span.start;
        }
        let ends = token.is_word(text, "END");
        is_start &= open.last() != Some(&true);
        // `END IF` and `END LOOP` close what one word has opened.
        let opens = !is_behind_end
            && (token.is_word(text, "CASE")
                || (token.is_word(text, "BEGIN") && !is_behind_xa)
                || (is_any(text, &token, &BLOCKS) && is_start));
        if ends {
            open.pop();
        } else if opens {
            open.push(token.is_word(text, "CASE") && !is_start);
        }
        is_start = token.kind == TokenKind::Semicolon
            || token.is_operator(text, ":")
            || (is_any(text, &token, &BEFORE_STATEMENTS) && !is_behind_end);
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
            (
                "CREATE PROCEDURE p(x INT) REPEAT(SELECT 1) INTO OUTFILE 'b'; SET x = x - 1; UNTIL x = 0 END REPEAT",
                "; CALL p(1)",
            ),
            (
                "CREATE PROCEDURE p(x DECIMAL(3, 1)) SQL SECURITY INVOKER COMMENT 'a;b' IF (x) THEN SELECT 1; END IF",
                "; CALL p(1)",
            ),
            (
                "CREATE FUNCTION f(x INT) RETURNS ENUM('a', 'b') CHARSET utf8mb4 NOT DETERMINISTIC CASE (x) WHEN 1 THEN RETURN 'a'; END CASE",
                "; SELECT f(1)",
            ),
            (
                "CREATE FUNCTION f(x INT) RETURNS INT l: LOOP RETURN IF(x, 1, 2); END LOOP",
                "; SELECT f(1)",
            ),
            ("CREATE FUNCTION f RETURNS STRING SONAME 'f.so'", "; SELECT f()"),
            (
                "CREATE TRIGGER t BEFORE INSERT ON x FOR EACH ROW FOLLOWS s IF (NEW.a) THEN SET @a=1; END IF",
                "; SELECT 1",
            ),
            (
                "CREATE DEFINER=CURRENT_USER() PROCEDURE p() BEGIN SELECT 1; END",
                "; SELECT 1",
            ),
            ("ALTER PROCEDURE p COMMENT 'x'", "; SELECT 1"),
            (
                "SET STATEMENT sql_mode = '', max_statement_time = 1 FOR CREATE PROCEDURE p() BEGIN SELECT 1; END",
                "; CALL p()",
            ),
            (
                "SET STATEMENT sql_mode = '' FOR BEGIN NOT ATOMIC SELECT 1; SELECT 2; END",
                "; SELECT 1",
            ),
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
            "SET STATEMENT max_statement_time = 1 FOR SELECT 1; SELECT 2",
        ] {
            assert_eq!(end_of_body(text.as_bytes(), LexMode::default()), None, "{text}");
        }
    }
}
