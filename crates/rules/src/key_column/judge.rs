//! Whether a column compares and stores key values as a map does.

use super::{ColumnKind, Distinction, Equality, KeyColumn, KeysOfMap};
use crate::KeyKind;
use crate::assumed::{AssumedKey, ComparedValue, RowWrites};

/// Every integer below this is a value of its own where numbers and texts are compared as DOUBLE.
const EXACT: i128 = 1 << 53;

/// Why a value is not read as a key, and what is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyDoubt {
    /// What differs, human-readable.
    pub what: String,
    /// The form that is read, human-readable.
    pub form: String,
}

fn doubt(what: impl Into<String>, form: impl Into<String>) -> Result<(), KeyDoubt> {
    Err(KeyDoubt {
        what: what.into(),
        form: form.into(),
    })
}

/// Checks the values of a statement.
///
/// # Errors
/// The column may compare or store one of them otherwise than the map.
pub fn judge(column: &KeyColumn, keys: &KeysOfMap, assumed: &AssumedKey) -> Result<(), KeyDoubt> {
    if assumed.needs_visible && column.is_invisible {
        return doubt(
            "it is INVISIBLE, so NATURAL JOIN leaves it out",
            "join with USING",
        );
    }
    let is_text = |value: &ComparedValue| matches!(value, ComparedValue::Text(_));
    let texts = match assumed.values.iter().any(is_text) {
        false => Texts::None,
        true if assumed.in_rows || !assumed.values.iter().all(is_text) => Texts::Inexact,
        true => Texts::Alone,
    };
    for value in &*assumed.values {
        match keys.kind {
            KeyKind::Integer => integer(column, keys, value, texts)?,
            KeyKind::Text => text(column, keys, value, texts)?,
        }
    }
    match assumed.writes {
        RowWrites::None => Ok(()),
        RowWrites::Changes => changes(column),
        RowWrites::New => {
            changes(column)?;
            assumed.values.iter().try_for_each(|value| stored(column, value))
        }
    }
}

/// The texts among the values of a statement.
#[derive(Clone, Copy, PartialEq)]
enum Texts {
    None,
    /// All values are texts. One is made a number once, if the column has numbers.
    Alone,
    /// A text stands beside numbers, or in a list of rows: servers compare with all of them as DOUBLE.
    Inexact,
}

/// A value of a map of integers.
fn integer(
    column: &KeyColumn,
    keys: &KeysOfMap,
    value: &ComparedValue,
    texts: Texts,
) -> Result<(), KeyDoubt> {
    let number = match value {
        ComparedValue::Integer(n) => *n,
        ComparedValue::Text(text) => match canonical(text) {
            Some(n) => n,
            None => {
                return doubt(
                    format!("{value} is no integer as the map writes it"),
                    "write the integer",
                );
            }
        },
    };
    let is_exact = |bound: i128| number.abs() < bound;
    match &column.kind {
        ColumnKind::Integer { .. } if texts != Texts::Inexact || is_exact(EXACT) => Ok(()),
        ColumnKind::Decimal { .. } if texts == Texts::None || is_exact(EXACT) => Ok(()),
        ColumnKind::Integer { .. } | ColumnKind::Decimal { .. } => doubt(
            "a text in a list of rows, and a number beside a text, is compared with it inexactly",
            "write all numbers without quotes",
        ),
        ColumnKind::Float { exact, .. } if is_exact(*exact) => Ok(()),
        // In a list, too, such a string is read as another text, which counts as some number.
        ColumnKind::Text { charset, .. }
            if texts != Texts::None && !is_in_ascii_bytes(charset, &number.to_string()) =>
        {
            of_other_bytes(charset, &number.to_string())
        }
        // Rows that are no integers as the map writes them were refused, so only integers can be equal.
        ColumnKind::Text { .. } if !keys.is_open && is_exact(EXACT) => Ok(()),
        ColumnKind::Text { .. } | ColumnKind::Float { .. } => doubt(
            "it compares other values with integers too, such as '01' and 1.0",
            "give the column a type of integers",
        ),
        ColumnKind::Enum { .. } | ColumnKind::Bytes { .. } | ColumnKind::Uuid | ColumnKind::Other => doubt(
            "this type does not compare integers as a map does",
            "give the column a type of integers",
        ),
    }
}

/// A value of a map of texts.
fn text(column: &KeyColumn, keys: &KeysOfMap, value: &ComparedValue, texts: Texts) -> Result<(), KeyDoubt> {
    let text = match value {
        ComparedValue::Text(text) => text,
        ComparedValue::Integer(_) => {
            return doubt(
                format!("the number {value} is equal to many texts"),
                "write the key as a text",
            );
        }
    };
    match &column.kind {
        ColumnKind::Integer { .. } => number(keys, text, (texts == Texts::Inexact).then_some(EXACT)),
        ColumnKind::Decimal { .. } => number(keys, text, Some(EXACT)),
        ColumnKind::Text {
            charset, equality, ..
        } => {
            let beyond = |c: char| u32::from(c) > 0xFFFF;
            if matches!(charset.as_str(), "utf8mb3" | "utf8" | "ucs2") && text.contains(beyond) {
                return doubt(
                    format!("{charset} does not have every character of {value}"),
                    "give it utf8mb4",
                );
            }
            among_texts(keys, charset, equality, text)
        }
        ColumnKind::Enum {
            charset, equality, ..
        } => among_texts(keys, charset, equality, text),
        ColumnKind::Bytes { .. } => Ok(()),
        ColumnKind::Uuid if is_uuid(text) && (!keys.is_open || !has_capitals(text)) => listed(keys),
        ColumnKind::Uuid => doubt(
            "it compares UUIDs in every way of writing them",
            "write the UUID in small letters, with hyphens",
        ),
        ColumnKind::Float { .. } | ColumnKind::Other => doubt(
            "this type does not compare texts as a map does",
            "give the column a type of texts",
        ),
    }
}

/// A text against a column of numbers. A map that lists its keys may write them in any way, if they are different numbers.
fn number(keys: &KeysOfMap, text: &str, bound: Option<i128>) -> Result<(), KeyDoubt> {
    let read = if keys.is_open {
        canonical(text)
    } else {
        text.parse::<i128>().ok()
    };
    match read {
        Some(n) if bound.is_none_or(|bound| n.abs() < bound) => listed(keys),
        Some(_) => doubt("a text is compared with it inexactly", "use keys below 2^53"),
        None => doubt(
            format!("'{text}' and other texts are one number there, as '01' and '1' are 1"),
            "write the integer without leading zeros, sign of plus and blanks",
        ),
    }
}

fn among_texts(keys: &KeysOfMap, charset: &str, equality: &Equality, text: &str) -> Result<(), KeyDoubt> {
    if !is_in_ascii_bytes(charset, text) {
        return of_other_bytes(charset, text);
    }
    if !keys.is_open {
        return listed(keys);
    }
    if equality.is_plain(text) {
        return Ok(());
    }
    doubt(
        format!("'{text}' can be equal to other keys there"),
        format!("the form that is read is {}", equality.plain_form()),
    )
}

/// Every value that leads to a shard is one of the listed keys.
fn listed(keys: &KeysOfMap) -> Result<(), KeyDoubt> {
    match keys.distinction {
        Distinction::Clear => Ok(()),
        Distinction::Blurred => doubt(
            "it takes keys of two shards for one",
            "give the column a collation that tells the keys apart, such as utf8mb4_bin",
        ),
        Distinction::Unknown => doubt(
            "the server could not be asked whether it tells the keys of the map apart",
            "give the column a collation that does, such as utf8mb4_bin",
        ),
    }
}

/// Whether rows stay where they are when a statement changes or stores them.
fn changes(column: &KeyColumn) -> Result<(), KeyDoubt> {
    if column.is_generated {
        return doubt(
            "the server computes it from other columns",
            "store the key itself",
        );
    }
    if column.is_set_by_trigger {
        return doubt(
            "a BEFORE trigger of the table may assign it",
            "take the assignment out of the trigger",
        );
    }
    Ok(())
}

/// Whether the column holds a value exactly as it is given, whatever sql_mode and IGNORE do with others.
fn stored(column: &KeyColumn, value: &ComparedValue) -> Result<(), KeyDoubt> {
    let changed = || {
        doubt(
            format!("{value} may be stored as another value"),
            "store a value that fits the column",
        )
    };
    let text = value_text(value);
    let number = text.parse::<i128>().ok();
    let fits = match &column.kind {
        _ if column.is_auto_increment && number == Some(0) => {
            return doubt("the server replaces 0 by a number of its own", "use another key");
        }
        ColumnKind::Integer { min, max } => number.is_some_and(|n| (*min..=*max).contains(&n)),
        ColumnKind::Decimal {
            is_unsigned, whole, ..
        } => {
            let bound = 10_i128.checked_pow(*whole);
            let fits = |n: i128| bound.is_none_or(|bound| n.abs() < bound);
            number.is_some_and(|n| fits(n) && (n >= 0 || !is_unsigned))
        }
        ColumnKind::Float { is_unsigned, exact } => {
            number.is_some_and(|n| n.abs() < *exact && (n >= 0 || !is_unsigned))
        }
        ColumnKind::Text {
            charset,
            chars,
            bytes,
            is_fixed,
            ..
        } => {
            let count = text.chars().count() as u64;
            count <= *chars
                && text.len() as u64 <= *bytes
                && !(*is_fixed && text.ends_with(' '))
                && text.chars().all(|c| has_character(charset, c))
        }
        ColumnKind::Enum { members, .. } => members.contains(&text),
        ColumnKind::Bytes { bytes, is_fixed } => {
            let len = text.len() as u64;
            if *is_fixed { len == *bytes } else { len <= *bytes }
        }
        ColumnKind::Uuid => is_uuid(&text),
        ColumnKind::Other => false,
    };
    if fits { Ok(()) } else { changed() }
}

fn value_text(value: &ComparedValue) -> String {
    match value {
        ComparedValue::Integer(n) => n.to_string(),
        ComparedValue::Text(text) => text.clone(),
    }
}

/// Whether a character set is known to have a character.
fn has_character(charset: &str, c: char) -> bool {
    match charset {
        "utf8mb4" | "utf16" | "utf16le" | "utf32" | "gb18030" => true,
        "utf8" | "utf8mb3" | "ucs2" => u32::from(c) <= 0xFFFF,
        "latin1" => c.is_ascii() || ('\u{A0}'..='\u{FF}').contains(&c),
        "swe7" => c.is_ascii_alphanumeric(),
        _ => c.is_ascii(),
    }
}

/// Whether a character set writes the ASCII of a text in the bytes of ASCII. Elsewhere a string of bytes is another text: a literal
/// after SET NAMES binary, a parameter that is a BLOB.
fn is_in_ascii_bytes(charset: &str, text: &str) -> bool {
    match charset {
        "ucs2" | "utf16" | "utf16le" | "utf32" => false,
        "swe7" => text
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || "- ".contains(c)),
        _ => true,
    }
}

fn of_other_bytes(charset: &str, text: &str) -> Result<(), KeyDoubt> {
    doubt(
        format!(
            "{charset} writes '{text}' in other bytes than ASCII, so a string of bytes is another text there"
        ),
        "give it utf8mb4",
    )
}

/// The integer that a text is, if it is written as the map writes it.
fn canonical(text: &str) -> Option<i128> {
    let n: i128 = text.parse().ok()?;
    (n.to_string() == text).then_some(n)
}

fn is_uuid(text: &str) -> bool {
    let is_right = |(at, byte): (usize, u8)| match at {
        8 | 13 | 18 | 23 => byte == b'-',
        _ => byte.is_ascii_hexdigit(),
    };
    text.len() == 36 && text.bytes().enumerate().all(is_right)
}

fn has_capitals(text: &str) -> bool {
    text.bytes().any(|byte| byte.is_ascii_uppercase())
}

#[cfg(test)]
mod tests;
