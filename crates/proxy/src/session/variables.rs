//! The user variables of a statement: those that it assigns, and those that it reads.

use std::collections::HashSet;

use shardwright_rules::Statement;
use shardwright_sql::{LexMode, Lexer, StatementClass, TokenKind};

use super::bodies::is_compound;

/// Executable comments inside each other that are looked into.
const MAX_NESTED: usize = 4;

/// Names of user variables, in lower case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct VariableNames(pub(super) Vec<Vec<u8>>);

/// Names without `@` and quotes, in small letters.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Variables {
    pub(super) assigned: HashSet<Vec<u8>>,
    /// Read, and not assigned by the statement before. Where a table or a query inside decides the order, one that is assigned
    /// anywhere is not read.
    pub(super) read: Vec<Vec<u8>>,
    /// In the text of `PREPARE s FROM '…'`: EXECUTE reads them.
    pub(super) prepared: Vec<Vec<u8>>,
    /// Arguments of CALL that are nothing else, by position, from 1: an OUT parameter reads none.
    pub(super) arguments: Vec<(usize, Vec<u8>)>,
}

/// A token with its bytes.
#[derive(Clone, Copy)]
struct Part<'a> {
    kind: TokenKind,
    text: &'a [u8],
}

impl Part<'_> {
    fn is(&self, word: &str) -> bool {
        self.text.eq_ignore_ascii_case(word.as_bytes())
    }
}

impl Variables {
    pub(super) fn of(statement: &Statement<'_>) -> Self {
        let shape = statement.shape();
        let mut parts = Vec::new();
        read_parts(statement.text(), statement.mode(), MAX_NESTED, &mut parts);
        let mut found = Self::default();
        let (settings, code) = parts.split_at(settings_len(&parts));
        if stores_code(code) {
            found.read_all(settings, shape.class, false);
            return found;
        }
        if shape.class == StatementClass::Call {
            found.read_call(&parts);
            return found;
        }
        let is_in_order = matches!(
            shape.class,
            StatementClass::Set | StatementClass::Select | StatementClass::Do
        ) && !shape.names_table
            && !shape.has_subquery;
        found.read_all(&parts, shape.class, is_in_order);
        if is_compound(statement.text(), statement.mode()) {
            // What it sets, it may set under a condition.
            let set = set_somewhere(&parts);
            found.assigned.clear();
            found.read.retain(|name| !set.contains(name));
            return found;
        }
        match code.first() {
            Some(first) if first.is("EXECUTE") => found.read.extend(in_texts(code, statement.mode())),
            Some(first) if first.is("PREPARE") => found.prepared.extend(in_texts(code, statement.mode())),
            _ => {}
        }
        if !is_in_order {
            let assigned = &found.assigned;
            found.read.retain(|name| !assigned.contains(name));
        }
        found
    }

    /// `is_in_order`: what a comma ends is evaluated before what follows, and assigned after its own right side.
    fn read_all(&mut self, parts: &[Part<'_>], class: StatementClass, is_in_order: bool) {
        let is_get = parts.first().is_some_and(|first| first.is("GET"));
        let mut depth = 0_usize;
        let mut pending = Vec::new();
        let mut is_into = false;
        // Of LOAD DATA, the list of columns assigns.
        let mut is_list = class == StatementClass::Load;
        for (at, part) in parts.iter().enumerate() {
            match part.kind {
                TokenKind::LeftParen => depth += 1,
                TokenKind::RightParen => depth = depth.saturating_sub(1),
                TokenKind::Comma if depth == 0 => self.assigned.extend(pending.drain(..)),
                _ => {}
            }
            if part.kind != TokenKind::UserVariable {
                is_list &= !part.is("SET");
                is_into = part.is("INTO") || (is_into && part.kind == TokenKind::Comma);
                continue;
            }
            let before = at.checked_sub(1).map(|before| parts[before]);
            // Elsewhere `=` compares.
            let begins_item = class == StatementClass::Set
                && before.is_some_and(|before| {
                    before.is("SET") || (before.kind == TokenKind::Comma && depth == 0)
                });
            let is_assigned = match parts.get(at + 1).map(|next| next.text) {
                Some(b":=") => true,
                Some(b"=") => begins_item || is_get,
                _ => is_into || is_list,
            };
            let name = name(part.text);
            if is_assigned {
                pending.push(name);
            } else if !(is_in_order && self.assigned.contains(&name)) {
                self.read.push(name);
            }
        }
        self.assigned.extend(pending);
    }

    /// `CALL p(@a, @b + 1)`: an expression is read, whatever the parameter is.
    fn read_call(&mut self, parts: &[Part<'_>]) {
        let Some(open) = parts.iter().position(|part| part.kind == TokenKind::LeftParen) else {
            return;
        };
        let mut depth = 0_usize;
        let arguments = parts[open + 1..].split(|part| {
            match part.kind {
                TokenKind::LeftParen => depth += 1,
                TokenKind::RightParen => depth = depth.saturating_sub(1),
                _ => {}
            }
            depth == 0 && part.kind == TokenKind::Comma
        });
        for (at, argument) in arguments.enumerate() {
            let is_last =
                |part: &&Part<'_>| matches!(part.kind, TokenKind::RightParen | TokenKind::Semicolon);
            let length = argument.len() - argument.iter().rev().take_while(is_last).count();
            if let [part] = &argument[..length]
                && part.kind == TokenKind::UserVariable
            {
                let name = name(part.text);
                if !self.assigned.contains(&name) {
                    self.arguments.push((at + 1, name));
                }
            } else {
                self.read_all(argument, StatementClass::Call, true);
            }
        }
    }
}

/// The variables in a statement's strings, which are texts to be run.
fn in_texts(parts: &[Part<'_>], mode: LexMode) -> Vec<Vec<u8>> {
    let mut names = Vec::new();
    for part in parts.iter().filter(|part| part.kind == TokenKind::String) {
        let inside = part
            .text
            .get(1..part.text.len().saturating_sub(1))
            .unwrap_or_default();
        let variables = Lexer::new(inside, mode).filter(|token| token.kind == TokenKind::UserVariable);
        names.extend(variables.map(|token| name(token.span.of(inside))));
    }
    names
}

/// The variables behind SET in a compound statement.
fn set_somewhere(parts: &[Part<'_>]) -> HashSet<Vec<u8>> {
    let triples = parts.windows(3).filter(|triple| {
        triple[1].kind == TokenKind::UserVariable
            && (triple[0].is("SET") || triple[0].kind == TokenKind::Comma)
            && matches!(triple[2].text, b"=" | b":=")
    });
    triples.map(|triple| name(triple[1].text)).collect()
}

/// The number of parts up to the FOR of `SET STATEMENT max_statement_time = 1 FOR …`; 0 for other statements.
fn settings_len(parts: &[Part<'_>]) -> usize {
    let is_set_statement = parts.len() > 1 && parts[0].is("SET") && parts[1].is("STATEMENT");
    let mut depth = 0_usize;
    let is_for = |part: &Part<'_>| {
        match part.kind {
            TokenKind::LeftParen => depth += 1,
            TokenKind::RightParen => depth = depth.saturating_sub(1),
            _ => {}
        }
        depth == 0 && part.is("FOR")
    };
    let end = parts.iter().position(is_for);
    end.filter(|_| is_set_statement).map_or(0, |end| end + 1)
}

/// Whether it stores code: its variables are read and assigned when the code runs. (The schedule of an event is read at once.)
fn stores_code(parts: &[Part<'_>]) -> bool {
    const OBJECTS: [&str; 6] = ["TABLE", "EVENT", "VIEW", "TRIGGER", "PROCEDURE", "FUNCTION"];
    let is_object = |words: &&[Part<'_>]| {
        // The name of a definer stands behind `=`.
        !words[0].is("=") && OBJECTS.iter().any(|object| words[1].is(object))
    };
    let object = parts.windows(2).find(is_object).map(|words| words[1]);
    parts.first().is_some_and(|first| first.is("CREATE"))
        && object.is_some_and(|object| OBJECTS[3..].iter().any(|code| object.is(code)))
}

/// The tokens of a text. Those of an executable comment stand in its place.
fn read_parts<'a>(text: &'a [u8], mode: LexMode, depth: usize, parts: &mut Vec<Part<'a>>) {
    for token in Lexer::new(text, mode).significant() {
        let part = Part {
            kind: token.kind,
            text: token.span.of(text),
        };
        match depth.checked_sub(1) {
            Some(depth) if token.kind == TokenKind::ExecutableComment => {
                read_parts(inside(part.text), mode, depth, parts);
            }
            _ => parts.push(part),
        }
    }
}

fn inside(comment: &[u8]) -> &[u8] {
    let body = comment.strip_suffix(b"*/").unwrap_or(comment);
    let code = body.splitn(2, |byte| *byte == b'!').nth(1).unwrap_or_default();
    let digits = code.iter().take_while(|byte| byte.is_ascii_digit()).count();
    &code[digits..]
}

/// `@a`, `` @`A` `` and `@'a'` are one variable.
fn name(written: &[u8]) -> Vec<u8> {
    let quotes = [b'@', b'`', b'\'', b'"'];
    let bare = written.iter().filter(|byte| !quotes.contains(byte));
    bare.map(u8::to_ascii_lowercase).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_of_a_call_are_read_unless_a_parameter_may_be_for_output() {
        for (text, read, arguments) in [
            ("CALL p(@a)", "", "1 a"),
            ("CALL s.p (1, @`A`, @b + 1);", "b", "2 a"),
            ("CALL p((@a), f(@b, @c), @d)", "a b c", "3 d"),
            ("CALL p(@a := 1, @a, @b)", "", "3 b"),
            ("CALL p()", "", ""),
            ("CALL p", "", ""),
            ("CALL p(/*! @a */)", "", "1 a"),
        ] {
            let statement = Statement::new(text.as_bytes(), LexMode::default());
            let found = Variables::of(&statement);
            let text_of = |name: &[u8]| String::from_utf8(name.to_vec()).unwrap();
            let names: Vec<String> = found.read.iter().map(|name| text_of(name)).collect();
            let bare = found.arguments.iter();
            let bare: Vec<String> = bare.map(|(at, name)| format!("{at} {}", text_of(name))).collect();
            assert_eq!(
                (names.join(" ").as_str(), bare.join(" ").as_str()),
                (read, arguments),
                "{text}"
            );
        }
    }

    #[test]
    fn what_is_assigned_and_what_is_read() {
        for (text, assigned, read) in [
            ("SET @a = 1, @B := @c", "a b", "c"),
            ("SET @a = @a + 1", "a", "a"),
            ("SET @a = 1, @b = @a", "a b", ""),
            ("SET @a = (@b = 1)", "a", "b"),
            ("DO @a = 1", "", "a"),
            ("DO @a := 1", "a", ""),
            ("SELECT @a := 1, @b + 1", "a", "b"),
            ("SELECT @a := 1, @a + 1", "a", ""),
            ("SELECT @a := @a + 1", "a", "a"),
            ("SELECT @r := @r + 1 FROM t, (SELECT @r := 0) i", "r", ""),
            ("SELECT * FROM t WHERE a = @a AND @`B` = 2", "", "a b"),
            ("SELECT 1, 2 INTO @a, @b", "a b", ""),
            ("SELECT @a INTO @b FROM t WHERE c = @d", "b", "a d"),
            ("SELECT f(@a)", "", "a"),
            ("SHOW TABLES WHERE @a = 1", "", "a"),
            ("UPDATE t SET a = @a, b = @b := 3", "b", "a"),
            ("INSERT INTO t VALUES (@a)", "", "a"),
            ("LOAD DATA INFILE 'f' INTO TABLE t (@a, b) SET c = @a", "a", ""),
            ("LOAD DATA INFILE 'f' INTO TABLE t (a) SET c = @a", "", "a"),
            ("EXECUTE s USING @a, @b", "", "a b"),
            ("EXECUTE IMMEDIATE 'SELECT @a'", "", "a"),
            ("PREPARE s FROM @q", "", "q"),
            ("GET DIAGNOSTICS @n = NUMBER", "n", ""),
            ("/*!40101 SET @a = @b */", "a", "b"),
            ("CALL p(@a)", "", ""),
            ("BEGIN NOT ATOMIC SET @a = 1, @b := @a + @c; END", "", "c"),
            ("IF @d = 1 THEN SET @a = 1; END IF", "", "d"),
            (
                "CREATE TRIGGER g BEFORE INSERT ON t FOR EACH ROW SET @a = @b",
                "",
                "",
            ),
            ("CREATE DEFINER=event@localhost PROCEDURE p() SET @a = @b", "", ""),
            (
                "SET STATEMENT max_statement_time = @c FOR CREATE PROCEDURE p() BEGIN SELECT 1 INTO @a; SELECT @b; END",
                "",
                "c",
            ),
            (
                "SET STATEMENT max_statement_time = 1 FOR EXECUTE IMMEDIATE 'SELECT @a'",
                "",
                "a",
            ),
            (
                "SET STATEMENT max_statement_time = 1 FOR BEGIN NOT ATOMIC SET @a = 1, @b := @a; END",
                "",
                "",
            ),
            ("CREATE OR REPLACE FUNCTION f() RETURNS INT RETURN @a", "", ""),
            ("CREATE TABLE t SELECT @a AS function", "", "a"),
            ("CREATE EVENT function ON SCHEDULE AT @a DO SET @b = 1", "", "a b"),
            (
                "CREATE DEFINER=function@localhost EVENT e ON SCHEDULE AT @a DO SELECT 1",
                "",
                "a localhost",
            ),
        ] {
            let statement = Statement::new(text.as_bytes(), LexMode::default());
            let found = Variables::of(&statement);
            let joined = |names: Vec<Vec<u8>>| {
                let mut names: Vec<_> = names
                    .into_iter()
                    .map(|name| String::from_utf8(name).unwrap())
                    .collect();
                names.sort();
                names.join(" ")
            };
            let found = (joined(found.assigned.into_iter().collect()), joined(found.read));
            assert_eq!((found.0.as_str(), found.1.as_str()), (assigned, read), "{text}");
        }
    }
}
