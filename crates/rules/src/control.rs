//! The forms of transaction control that servers read. The proxy answers them by itself while a transaction waits for its first
//! statement with a key; what is none of them is a mistake, which a server would not answer with OK.

use shardwright_sql::{StatementClass, Token, TokenKind};

use crate::Statement;

/// Bytes of each part of an xid, as servers have it.
const MAX_XID: usize = 64;

/// Tokens of a statement that are still to be read.
struct Rest<'t> {
    text: &'t [u8],
    tokens: std::iter::Peekable<std::vec::IntoIter<Token>>,
}

impl Rest<'_> {
    /// Takes the word, if it is next.
    fn has(&mut self, word: &str) -> bool {
        self.tokens
            .next_if(|token| token.is_word(self.text, word))
            .is_some()
    }

    /// Takes these words, if they are next; half of them are a mistake, which shows as a rest.
    fn has_all(&mut self, words: &[&str]) -> bool {
        words.iter().all(|word| self.has(word))
    }

    fn takes(&mut self, kind: TokenKind) -> bool {
        self.tokens.next_if(|token| token.kind == kind).is_some()
    }

    fn name(&mut self) -> bool {
        self.tokens.next_if(Token::is_name).is_some()
    }

    /// A text of at most 64 bytes, perhaps written as hexadecimal digits or bits.
    fn part_of_xid(&mut self) -> bool {
        let is_text = |token: &Token| match token.kind {
            TokenKind::String => token.span.end - token.span.start <= MAX_XID + 2,
            TokenKind::HexString | TokenKind::BitString | TokenKind::Number => true,
            _ => false,
        };
        self.tokens.next_if(is_text).is_some()
    }

    fn is_over(&mut self) -> bool {
        self.tokens.all(|token| token.kind == TokenKind::Semicolon)
    }
}

/// Whether a statement is a form of transaction control that every server reads.
pub(crate) fn is_whole(statement: &Statement<'_>) -> bool {
    // What is code in it depends on the server, which is for others to say.
    if statement.shape().executable_comment {
        return true;
    }
    let mut rest = Rest {
        text: statement.text(),
        tokens: statement.tokens().collect::<Vec<_>>().into_iter().peekable(),
    };
    let is_read = match statement.class() {
        StatementClass::Begin => begin(&mut rest),
        StatementClass::Commit => rest.has("COMMIT") && end(&mut rest),
        StatementClass::Rollback => rollback(&mut rest),
        StatementClass::Savepoint => {
            (rest.has("SAVEPOINT") || rest.has_all(&["RELEASE", "SAVEPOINT"])) && rest.name()
        }
        StatementClass::Xa => rest.has("XA") && xa_start(&mut rest),
        _ => false,
    };
    is_read && rest.is_over()
}

/// `BEGIN [WORK]`, `START TRANSACTION [WITH CONSISTENT SNAPSHOT | READ ONLY | READ WRITE] …`
fn begin(rest: &mut Rest<'_>) -> bool {
    if rest.has("BEGIN") {
        let _ = rest.has("WORK");
        return true;
    }
    if !rest.has_all(&["START", "TRANSACTION"]) {
        return false;
    }
    let (mut snapshots, mut modes) = (0, 0);
    let mut characteristic = |rest: &mut Rest<'_>| {
        if rest.has("WITH") {
            snapshots += 1;
            return rest.has_all(&["CONSISTENT", "SNAPSHOT"]);
        }
        modes += 1;
        rest.has("READ") && (rest.has("ONLY") || rest.has("WRITE"))
    };
    if rest
        .tokens
        .peek()
        .is_none_or(|token| token.kind == TokenKind::Semicolon)
    {
        return true;
    }
    let mut are_read = characteristic(rest);
    while are_read && rest.takes(TokenKind::Comma) {
        are_read = characteristic(rest);
    }
    are_read && snapshots < 2 && modes < 2
}

fn rollback(rest: &mut Rest<'_>) -> bool {
    let is_rollback = rest.has("ROLLBACK");
    let is_work = rest.has("WORK");
    if rest.has("TO") {
        let _ = rest.has("SAVEPOINT");
        return is_rollback && rest.name();
    }
    is_rollback && (is_work || !rest.has("WORK")) && chain_and_release(rest)
}

/// `[WORK] [AND [NO] CHAIN] [[NO] RELEASE]`
fn end(rest: &mut Rest<'_>) -> bool {
    let _ = rest.has("WORK");
    chain_and_release(rest)
}

fn chain_and_release(rest: &mut Rest<'_>) -> bool {
    let mut chains = false;
    if rest.has("AND") {
        chains = !rest.has("NO");
        if !rest.has("CHAIN") {
            return false;
        }
    }
    if rest.has("NO") {
        return rest.has("RELEASE");
    }
    !(rest.has("RELEASE") && chains)
}

/// `START | BEGIN xid [JOIN | RESUME]`, where xid is one text, two, or two and a number.
fn xa_start(rest: &mut Rest<'_>) -> bool {
    if !(rest.has("START") || rest.has("BEGIN")) || !rest.part_of_xid() {
        return false;
    }
    if rest.takes(TokenKind::Comma) {
        if !rest.part_of_xid() {
            return false;
        }
        if rest.takes(TokenKind::Comma) && !rest.takes(TokenKind::Number) {
            return false;
        }
    }
    let _ = rest.has("JOIN") || rest.has("RESUME");
    true
}

#[cfg(test)]
mod tests {
    use shardwright_sql::LexMode;

    use super::*;

    #[test]
    fn forms_are_read_whole_or_not_at_all() {
        for (texts, expected) in [
            (
                &[
                    "BEGIN",
                    "begin work;",
                    "/* tenant=1 */ BEGIN -- now",
                    "START TRANSACTION",
                    "START TRANSACTION READ ONLY",
                    "START TRANSACTION WITH CONSISTENT SNAPSHOT, READ WRITE;",
                    "COMMIT",
                    "COMMIT WORK AND CHAIN",
                    "COMMIT AND NO CHAIN RELEASE",
                    "ROLLBACK NO RELEASE",
                    "ROLLBACK AND CHAIN NO RELEASE",
                    "ROLLBACK WORK TO SAVEPOINT a",
                    "ROLLBACK TO `a b`",
                    "SAVEPOINT work",
                    "RELEASE SAVEPOINT a",
                    "XA START 'a'",
                    "XA BEGIN 'a','b',3",
                    "XA START 'a' RESUME",
                ][..],
                true,
            ),
            (
                &[
                    "BEGIN foo",
                    "BEGIN WORK WORK",
                    "START",
                    "START TRANSACTION bogus",
                    "START TRANSACTION ISOLATION LEVEL SERIALIZABLE",
                    "START TRANSACTION READ",
                    "START TRANSACTION READ ONLY, READ WRITE",
                    "START TRANSACTION READ ONLY,",
                    "COMMIT bar",
                    "COMMIT AND foo",
                    "COMMIT AND CHAIN RELEASE",
                    "COMMIT WORK WORK",
                    "ROLLBACK bar",
                    "ROLLBACK TO",
                    "ROLLBACK TO a b",
                    "SAVEPOINT",
                    "SAVEPOINT a b",
                    "SAVEPOINT 'x'",
                    "RELEASE a",
                    "XA START",
                    "XA START x",
                    "XA START 'x' foo",
                    "XA START 'a', 'b', 'c'",
                ],
                false,
            ),
        ] {
            for text in texts {
                let statement = Statement::new(text.as_bytes(), LexMode::default());
                assert_eq!(is_whole(&statement), expected, "{text}");
            }
        }
    }
}
