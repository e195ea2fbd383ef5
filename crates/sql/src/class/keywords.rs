//! The class of a statement from its first keywords.

use super::StatementClass;
use super::words::{key_word, number_of};
use crate::lex::bytes::{blanks_end, is_blank};
use crate::lex::{LexMode, Lexer, Span, Token, TokenKind};

/// Common table expressions are skipped token by token up to this many; beyond, the class is `Other`.
const MAX_WITH_TOKENS: usize = 10_000;

/// The length of `DEALLOCATE`; no longer word opens a statement that has a class of its own.
const LONGEST_VERB: usize = 10;

/// The class of `text`. Reads a few tokens, except behind `WITH`. A statement that opens with an executable comment
/// has the class of the code inside it.
pub fn classify(text: &[u8], mode: LexMode) -> StatementClass {
    classify_from(text, mode, blanks_end(text, 0))
}

fn by_tokens(text: &[u8], mode: LexMode) -> StatementClass {
    let mut tokens = Lexer::new(text, mode).significant();
    loop {
        let Some(first) = tokens.next() else {
            return StatementClass::Empty;
        };
        match first.kind {
            TokenKind::LeftParen | TokenKind::Semicolon => {}
            TokenKind::ExecutableComment => match classify_inside(first.span.of(text), mode) {
                StatementClass::Empty => {}
                class => return class,
            },
            TokenKind::Word => return by_keyword(first, text, tokens),
            _ => return StatementClass::Other,
        }
    }
}

const SELECT: u64 = key_word("SELECT");
const INSERT: u64 = key_word("INSERT");
const UPDATE: u64 = key_word("UPDATE");
const DELETE: u64 = key_word("DELETE");

/// Where the usual verbs stand: all have six letters.
const VERB: Span = Span { start: 0, end: 6 };

/// The class of `text`, of which blanks and comments end at `at`.
pub(crate) fn classify_from(text: &[u8], mode: LexMode, at: usize) -> StatementClass {
    let rest = &text[at..];
    if rest.get(VERB.end).copied().is_some_and(is_blank) {
        match number_of(rest, VERB) {
            SELECT => return StatementClass::Select,
            INSERT => return StatementClass::Insert,
            UPDATE => return StatementClass::Update,
            DELETE => return StatementClass::Delete,
            _ => {}
        }
    }
    by_tokens(rest, mode)
}

/// The code of `/*!50110 … */`; never recurses deeper, since a comment token holds no complete comment opener that
/// closes again.
fn classify_inside(comment: &[u8], mode: LexMode) -> StatementClass {
    let code = code_of(comment);
    let mut tokens = Lexer::new(code, mode).significant();
    match tokens.next() {
        None => StatementClass::Empty,
        Some(first) if first.kind == TokenKind::Word => by_keyword(first, code, tokens),
        Some(_) => StatementClass::Other,
    }
}

/// Texts inside each other that are looked into: executable comments, and texts that are run.
pub(crate) const MAX_NESTED: usize = 4;

/// What a server reads of an executable comment.
pub(crate) fn code_of(comment: &[u8]) -> &[u8] {
    let body = comment.strip_suffix(b"*/").unwrap_or(comment);
    let code = body.splitn(2, |&b| b == b'!').nth(1).unwrap_or_default();
    let digits = code.iter().take_while(|b| b.is_ascii_digit()).count();
    code[digits..].trim_ascii_start()
}

/// Whether what stands behind `START` makes it a transaction's: also in an executable comment, and where `START` alone
/// stands in one.
fn is_transaction(behind: Option<Token>, text: &[u8]) -> bool {
    const WORD: &[u8] = b"TRANSACTION";
    match behind {
        None => true,
        Some(token) if token.kind == TokenKind::ExecutableComment => code_of(token.span.of(text))
            .get(..WORD.len())
            .is_some_and(|word| word.eq_ignore_ascii_case(WORD)),
        Some(token) => token.is_word(text, "TRANSACTION"),
    }
}

fn by_keyword(first: Token, text: &[u8], mut rest: impl Iterator<Item = Token>) -> StatementClass {
    use StatementClass as C;
    let second_is = |token: Option<Token>, words: &[&str]| {
        token.is_some_and(|token| words.iter().any(|word| token.is_word(text, word)))
    };
    let mut buffer = [0; LONGEST_VERB];
    let Some(word) = buffer.get_mut(..first.span.end - first.span.start) else {
        return C::Other;
    };
    word.copy_from_slice(first.span.of(text));
    word.make_ascii_uppercase();
    match &*word {
        b"SELECT" | b"VALUES" => C::Select,
        // `TABLE` begins no other statement.
        b"TABLE" => C::Select,
        b"INSERT" => C::Insert,
        b"UPDATE" => C::Update,
        b"DELETE" => C::Delete,
        b"REPLACE" => C::Replace,
        b"WITH" => behind_with(text, rest),
        b"LOAD" if second_is(rest.next(), &["DATA", "XML"]) => C::Load,
        b"CREATE" | b"ALTER" | b"DROP" | b"RENAME" | b"TRUNCATE" => C::Ddl,
        b"CALL" => C::Call,
        b"SHOW" => C::Show,
        b"EXPLAIN" | b"DESCRIBE" | b"DESC" => C::Explain,
        b"ANALYZE" if !second_is(rest.next(), &["TABLE", "TABLES", "LOCAL", "NO_WRITE_TO_BINLOG"]) => {
            C::Explain
        }
        b"SET" if second_is(rest.next(), &["STATEMENT"]) => C::Other,
        b"SET" => C::Set,
        b"USE" => C::Use,
        b"BEGIN" if second_is(rest.next(), &["NOT"]) => C::Other,
        b"BEGIN" => C::Begin,
        b"START" if is_transaction(rest.next(), text) => C::Begin,
        b"COMMIT" => C::Commit,
        b"ROLLBACK" => C::Rollback,
        b"SAVEPOINT" => C::Savepoint,
        b"RELEASE" if second_is(rest.next(), &["SAVEPOINT"]) => C::Savepoint,
        b"XA" => C::Xa,
        b"LOCK" | b"UNLOCK" => C::Lock,
        b"BACKUP" if second_is(rest.next(), &["LOCK", "UNLOCK", "STAGE"]) => C::Lock,
        b"PREPARE" | b"EXECUTE" => C::Prepare,
        b"DEALLOCATE" => C::Prepare,
        b"DO" => C::Do,
        b"HANDLER" => C::Handler,
        b"KILL" => C::Kill,
        _ => C::Other,
    }
}

/// The verb behind `WITH name AS ( … ), …`: the first one outside parentheses.
fn behind_with(text: &[u8], rest: impl Iterator<Item = Token>) -> StatementClass {
    let mut depth = 0_usize;
    for token in rest.take(MAX_WITH_TOKENS) {
        match token.kind {
            TokenKind::LeftParen => depth += 1,
            TokenKind::RightParen => depth = depth.saturating_sub(1),
            TokenKind::Word if depth == 0 => {
                for (word, class) in [
                    ("SELECT", StatementClass::Select),
                    ("UPDATE", StatementClass::Update),
                    ("DELETE", StatementClass::Delete),
                ] {
                    if token.is_word(text, word) {
                        return class;
                    }
                }
            }
            _ => {}
        }
    }
    StatementClass::Other
}
