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
    // In a list of numbers and texts, servers compare all of them as DOUBLE.
    let is_text = |value: &ComparedValue| matches!(value, ComparedValue::Text(_));
    let has_texts = assumed.values.iter().any(is_text);
    for value in &*assumed.values {
        match keys.kind {
            KeyKind::Integer => integer(column, keys, value, has_texts)?,
            KeyKind::Text => text(column, keys, value)?,
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

/// A value of a map of integers; `has_texts`: the statement has one that is a text, this or another.
fn integer(
    column: &KeyColumn,
    keys: &KeysOfMap,
    value: &ComparedValue,
    has_texts: bool,
) -> Result<(), KeyDoubt> {
    let (number, is_text) = match value {
        ComparedValue::Integer(n) => (*n, false),
        ComparedValue::Text(text) => match canonical(text) {
            Some(n) => (n, true),
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
        ColumnKind::Integer { .. } if is_text == has_texts || is_exact(EXACT) => Ok(()),
        ColumnKind::Decimal { .. } if !has_texts || is_exact(EXACT) => Ok(()),
        ColumnKind::Integer { .. } | ColumnKind::Decimal { .. } => doubt(
            "a text, and a number beside one, is compared with it inexactly",
            "write all numbers without quotes",
        ),
        ColumnKind::Float { exact } if is_exact(*exact) => Ok(()),
        // In a list, too, such a string is read as another text, which counts as some number.
        ColumnKind::Text { charset, .. } if has_texts && !is_in_ascii_bytes(charset, &number.to_string()) => {
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
fn text(column: &KeyColumn, keys: &KeysOfMap, value: &ComparedValue) -> Result<(), KeyDoubt> {
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
        ColumnKind::Integer { .. } => number(keys, text, None),
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
        ColumnKind::Decimal { whole, .. } => {
            let bound = 10_i128.checked_pow(*whole);
            number.is_some_and(|n| bound.is_none_or(|bound| n.abs() < bound))
        }
        ColumnKind::Float { exact } => number.is_some_and(|n| n.abs() < *exact),
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
mod tests {
    use super::*;
    use crate::key_column::DescribedColumn;

    fn column(described: &str) -> KeyColumn {
        let (column_type, rest) = described.split_once('|').unwrap_or((described, ""));
        let (collation, extra) = rest.split_once('|').unwrap_or((rest, ""));
        let data_type = column_type.split(['(', ' ']).next().unwrap();
        let length = column_type
            .split(['(', ')'])
            .nth(1)
            .and_then(|length| length.parse::<u64>().ok());
        let numbers: Vec<u32> = column_type
            .split(['(', ',', ')'])
            .filter_map(|number| number.parse().ok())
            .collect();
        DescribedColumn {
            data_type: data_type.to_owned(),
            column_type: column_type.to_owned(),
            extra: extra.to_owned(),
            charset: collation.split_once('_').map(|(charset, _)| charset.to_owned()),
            collation: (!collation.is_empty()).then(|| collation.to_owned()),
            chars: length,
            bytes: length.map(|length| length * 4),
            precision: numbers.first().copied(),
            scale: numbers.get(1).copied(),
            is_set_by_trigger: false,
        }
        .into_key_column()
    }

    const OPEN: bool = true;
    const LISTED: bool = false;

    /// Whether a value is read, and stored; in a column as `type|collation|extra`.
    fn read(kind: KeyKind, is_open: bool, described: &str, value: &ComparedValue) -> (bool, bool) {
        let keys = KeysOfMap {
            kind,
            is_open,
            distinction: Distinction::Clear,
        };
        let judged = |writes| {
            let assumed = AssumedKey {
                column: "k".into(),
                values: [value.clone()].into(),
                writes,
                changes: [].into(),
                needs_visible: false,
            };
            judge(&column(described), &keys, &assumed).is_ok()
        };
        (judged(RowWrites::None), judged(RowWrites::New))
    }

    #[test]
    fn integers_are_read_where_equal_is_equal() {
        let n = ComparedValue::Integer;
        let text = |text: &str| ComparedValue::Text(text.to_owned());
        let beyond = i128::from(i64::MAX);
        for (is_open, described, value, expected) in [
            (OPEN, "int", n(7), (true, true)),
            (OPEN, "int", n(3_000_000_000), (true, false)),
            (OPEN, "int unsigned", n(3_000_000_000), (true, true)),
            (OPEN, "int(4) unsigned zerofill", n(-1), (true, false)),
            (OPEN, "bigint", n(beyond), (true, true)),
            (OPEN, "bigint", text("7"), (true, true)),
            (OPEN, "bigint", text("07"), (false, false)),
            (OPEN, "bigint||auto_increment", n(0), (true, false)),
            (OPEN, "bigint||STORED GENERATED", n(1), (true, false)),
            (OPEN, "bigint||DEFAULT_GENERATED", n(1), (true, true)),
            (OPEN, "decimal(20,0)", n(beyond), (true, true)),
            (OPEN, "decimal(5,2)", n(1000), (true, false)),
            (OPEN, "decimal(20,0)", text("9007199254740993"), (false, false)),
            (OPEN, "bigint", text("9007199254740993"), (true, true)),
            (OPEN, "float", n((1 << 24) - 1), (true, true)),
            (OPEN, "float", n(1 << 24), (false, false)),
            (OPEN, "double", n((1 << 53) - 1), (true, true)),
            (OPEN, "varchar(20)|utf8mb4_bin", n(7), (false, false)),
            (LISTED, "varchar(20)|utf8mb4_bin", n(7), (true, true)),
            (LISTED, "varchar(2)|utf8mb4_bin", n(700), (true, false)),
            (LISTED, "varchar(20)|utf16_bin", n(7), (true, true)),
            (LISTED, "varchar(20)|utf16_bin", text("7"), (false, false)),
            (LISTED, "varchar(20)|utf8mb4_bin", n(beyond), (false, false)),
            (OPEN, "date", n(20_260_102), (false, false)),
            (OPEN, "year", n(1), (false, false)),
            (OPEN, "bit(8)", n(1), (false, false)),
            (OPEN, "enum('1','2')|utf8mb4_bin", n(1), (false, false)),
            (OPEN, "json", n(1), (false, false)),
        ] {
            let found = read(KeyKind::Integer, is_open, described, &value);
            assert_eq!(found, expected, "{described} {value}");
        }
    }

    #[test]
    fn a_number_beside_a_text_is_read_where_it_is_exact() {
        let keys = KeysOfMap {
            kind: KeyKind::Integer,
            is_open: OPEN,
            distinction: Distinction::Clear,
        };
        for (described, number, expected) in [
            ("decimal(20,0)", 1 << 53, false),
            ("bigint", 1 << 53, false),
            ("bigint", (1 << 53) - 1, true),
        ] {
            let values = [
                ComparedValue::Integer(number),
                ComparedValue::Text("2".to_owned()),
            ];
            let assumed = AssumedKey {
                column: "k".into(),
                values: values.into(),
                writes: RowWrites::None,
                changes: [].into(),
                needs_visible: false,
            };
            assert_eq!(
                judge(&column(described), &keys, &assumed).is_ok(),
                expected,
                "{described}"
            );
        }
    }

    #[test]
    fn texts_are_read_where_equal_is_equal() {
        for (is_open, described, text, expected) in [
            (OPEN, "varchar(20)|utf8mb4_bin", "É", (true, true)),
            (OPEN, "varchar(20)|utf8mb4_bin", "a ", (false, false)),
            (OPEN, "varchar(20)|utf8mb4_0900_bin", "a ", (true, true)),
            (OPEN, "char(20)|utf8mb4_nopad_bin", "a ", (true, false)),
            (OPEN, "varchar(2)|utf8mb4_bin", "abc", (true, false)),
            (OPEN, "varchar(20)|latin1_bin", "é", (true, true)),
            (OPEN, "varchar(20)|latin1_bin", "€", (true, false)),
            (OPEN, "varchar(20)|utf8mb3_bin", "😀", (false, false)),
            (OPEN, "varchar(20)|utf8mb4_general_ci", "a-1_b", (true, true)),
            (OPEN, "varchar(20)|utf8mb4_general_ci", "A", (false, false)),
            (OPEN, "varchar(20)|utf8mb4_general_ci", "é", (false, false)),
            (OPEN, "varchar(20)|utf8mb4_general_ci", "a\u{1}", (false, false)),
            (OPEN, "varchar(20)|utf8mb4_0900_ai_ci", "a ", (true, true)),
            (OPEN, "varchar(20)|utf8mb4_0900_as_cs", "A", (true, true)),
            (OPEN, "varchar(20)|utf8mb4_lithuanian_ci", "a", (false, false)),
            (OPEN, "varchar(20)|utf8mb4_lt_0900_ai_ci", "a", (false, false)),
            (LISTED, "varchar(20)|utf8mb4_lithuanian_ci", "a", (true, true)),
            (LISTED, "varchar(20)|utf8mb4_general_ci", "É", (true, true)),
            (LISTED, "varchar(20)|utf16le_general_ci", "a", (false, false)),
            (LISTED, "varchar(20)|swe7_bin", "a-1", (true, false)),
            (LISTED, "varchar(20)|swe7_bin", "[", (false, false)),
            (LISTED, "enum('eu','us')|ucs2_general_ci", "eu", (false, false)),
            (OPEN, "int", "7", (true, true)),
            (OPEN, "int", "07", (false, false)),
            (OPEN, "int", "-0", (false, false)),
            (OPEN, "int", "eu", (false, false)),
            (LISTED, "int", "07", (true, true)),
            (LISTED, "int", "eu", (false, false)),
            (OPEN, "varbinary(4)", "É", (true, true)),
            (OPEN, "binary(4)", "abc", (true, false)),
            (OPEN, "enum('eu','us')|utf8mb4_general_ci", "eu", (true, true)),
            (OPEN, "enum('eu','us')|utf8mb4_general_ci", "1", (true, false)),
            (OPEN, "uuid", "123e4567-e89b-12d3-a456-426614174000", (true, true)),
            (
                OPEN,
                "uuid",
                "123E4567-e89b-12d3-a456-426614174000",
                (false, false),
            ),
            (OPEN, "date", "2026-01-02", (false, false)),
            (OPEN, "set('eu')|utf8mb4_bin", "eu", (false, false)),
        ] {
            let value = ComparedValue::Text(text.to_owned());
            let found = read(KeyKind::Text, is_open, described, &value);
            assert_eq!(found, expected, "{described} {text}");
        }
        let number = ComparedValue::Integer(0);
        assert!(!read(KeyKind::Text, LISTED, "varchar(20)|utf8mb4_bin", &number).0);
    }
}
