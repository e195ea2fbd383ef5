//! What setting `sql_mode` does to the lexer.

use super::Value;
use crate::lex::LexMode;

/// What a part of `sql_mode` does to how a statement is read.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Reading {
    AnsiQuotes,
    NoBackslashEscapes,
    /// Another grammar: Oracle's blocks, names in brackets.
    OtherGrammar,
}

/// A mode that matters here: its name, its bit in a numeric `sql_mode`, and what it does. MariaDB's combinations hold
/// `ANSI_QUOTES`; MySQL 8 has `ANSI` only, and the same bits (seen on MariaDB 10.11; MySQL: `sql/sql_const.h`).
const MODES: [(&str, u64, Reading); 8] = [
    ("ANSI_QUOTES", 1 << 2, Reading::AnsiQuotes),
    ("POSTGRESQL", 1 << 8, Reading::AnsiQuotes),
    ("ORACLE", 1 << 9, Reading::OtherGrammar),
    ("MSSQL", 1 << 10, Reading::OtherGrammar),
    ("DB2", 1 << 11, Reading::AnsiQuotes),
    ("MAXDB", 1 << 12, Reading::AnsiQuotes),
    ("ANSI", 1 << 18, Reading::AnsiQuotes),
    ("NO_BACKSLASH_ESCAPES", 1 << 20, Reading::NoBackslashEscapes),
];

/// Why it is not known how statements are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnknownMode {
    /// The server reads another grammar: `ORACLE`, `MSSQL`.
    OtherGrammar,
    /// The text does not decide it: an expression.
    Undecided,
}

/// The lexer's mode once `sql_mode` of the session is set to `value`; `DEFAULT` stands for a mode that changes nothing.
///
/// # Errors
/// Statements could not be read under the mode, or it is not known.
pub fn lex_mode_after(value: &Value<'_>) -> Result<LexMode, UnknownMode> {
    match value {
        Value::Text(list) => of_list(list),
        Value::Word(word) => of_list(word),
        Value::Number(number) => {
            let number = std::str::from_utf8(number)
                .ok()
                .and_then(|number| number.parse().ok());
            of_bits(number.ok_or(UnknownMode::Undecided)?)
        }
        Value::Default => Ok(LexMode::default()),
        Value::Expression(_) => Err(UnknownMode::Undecided),
    }
}

fn of_list(list: &[u8]) -> Result<LexMode, UnknownMode> {
    // MySQL finds modes without regard to accents.
    if !list.is_ascii() {
        return Err(UnknownMode::Undecided);
    }
    let names = || list.split(|&b| b == b',').map(<[u8]>::trim_ascii);
    of_modes(|(mode, ..)| names().any(|name| name.eq_ignore_ascii_case(mode.as_bytes())))
}

fn of_bits(bits: u64) -> Result<LexMode, UnknownMode> {
    of_modes(|(_, bit, _)| bits & bit != 0)
}

fn of_modes(is_set: impl Fn(&(&str, u64, Reading)) -> bool) -> Result<LexMode, UnknownMode> {
    let has = |reading| MODES.iter().any(|mode| mode.2 == reading && is_set(mode));
    if has(Reading::OtherGrammar) {
        return Err(UnknownMode::OtherGrammar);
    }
    Ok(LexMode {
        ansi_quotes: has(Reading::AnsiQuotes),
        no_backslash_escapes: has(Reading::NoBackslashEscapes),
        ..LexMode::default()
    })
}
