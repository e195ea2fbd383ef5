//! What setting `sql_mode` does to the lexer.

use super::Value;
use crate::lex::{LexMode, Lexer, TokenKind, string_value};

/// Bits of the numeric `sql_mode` that matter here, the same in MySQL and MariaDB.
const ANSI_QUOTES_BIT: u64 = 1 << 2;
const NO_BACKSLASH_ESCAPES_BIT: u64 = 1 << 20;

/// Combination modes that hold `ANSI_QUOTES`.
const WITH_ANSI_QUOTES: [&str; 7] = [
    "ANSI_QUOTES",
    "ANSI",
    "DB2",
    "MAXDB",
    "MSSQL",
    "ORACLE",
    "POSTGRESQL",
];

/// The lexer's mode once `sql_mode` of the session, now `current`, is set to `value`; `None` if the text does not
/// decide it (`DEFAULT`, an expression). `text` is the statement that `value` was read from. Follows
/// `CONCAT(@@sql_mode, ',MODE')`, which connectors send.
pub fn lex_mode_after(current: LexMode, value: &Value<'_>, text: &[u8]) -> Option<LexMode> {
    match value {
        Value::Text(list) => Some(of_list(list)),
        Value::Word(word) => Some(of_list(word)),
        Value::Number(number) => {
            let bits: u64 = std::str::from_utf8(number).ok()?.parse().ok()?;
            Some(LexMode {
                ansi_quotes: bits & ANSI_QUOTES_BIT != 0,
                no_backslash_escapes: bits & NO_BACKSLASH_ESCAPES_BIT != 0,
            })
        }
        Value::Default => None,
        Value::Expression(span) => of_concat(current, span.of(text)),
    }
}

fn of_list(list: &[u8]) -> LexMode {
    let mut mode = LexMode::default();
    for name in list.split(|&b| b == b',').map(<[u8]>::trim_ascii) {
        mode.ansi_quotes |= WITH_ANSI_QUOTES
            .iter()
            .any(|with| name.eq_ignore_ascii_case(with.as_bytes()));
        mode.no_backslash_escapes |= name.eq_ignore_ascii_case(b"NO_BACKSLASH_ESCAPES");
    }
    mode
}

/// `CONCAT(@@sql_mode, 'list', …)`, the current mode at most once.
fn of_concat(current: LexMode, expression: &[u8]) -> Option<LexMode> {
    let mut tokens = Lexer::new(expression, current).significant();
    if !tokens.next()?.is_word(expression, "CONCAT") || tokens.next()?.kind != TokenKind::LeftParen {
        return None;
    }
    let mut joined = Vec::new();
    let mut keeps_current = false;
    loop {
        let token = tokens.next()?;
        match token.kind {
            TokenKind::SystemVariable => {
                let name = token.span.of(expression).to_ascii_lowercase();
                if keeps_current || !matches!(name.as_slice(), b"@@sql_mode" | b"@@session.sql_mode") {
                    return None;
                }
                keeps_current = true;
                // Stands for the current names, so that a text glued to them is not taken for a name of its own.
                joined.push(b'\0');
            }
            _ => joined.extend_from_slice(&string_value(&token, expression, current)?),
        }
        match tokens.next()?.kind {
            TokenKind::Comma => {}
            TokenKind::RightParen => break,
            _ => return None,
        }
    }
    if tokens.next().is_some() {
        return None;
    }
    let glued = joined
        .split(|&b| b == b',')
        .any(|name| name.len() > 1 && name.contains(&b'\0'));
    if glued {
        return None;
    }
    let added = of_list(&joined);
    let kept = if keeps_current {
        current
    } else {
        LexMode::default()
    };
    Some(LexMode {
        ansi_quotes: kept.ansi_quotes || added.ansi_quotes,
        no_backslash_escapes: kept.no_backslash_escapes || added.no_backslash_escapes,
    })
}
