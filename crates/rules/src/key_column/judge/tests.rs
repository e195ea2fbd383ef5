//! Which values are read as keys, by the type of the column and the kind of the map.

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
            in_rows: false,
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
        (OPEN, "decimal(20,0)", n(-3), (true, true)),
        (OPEN, "decimal(20,0) unsigned", n(-3), (true, false)),
        (OPEN, "decimal(20,0) unsigned", n(3), (true, true)),
        (OPEN, "decimal(20,0) unsigned", text("-3"), (true, false)),
        (OPEN, "decimal(10,0) unsigned zerofill", n(-3), (true, false)),
        (OPEN, "float unsigned", n(-3), (true, false)),
        (OPEN, "double unsigned", n(-3), (true, false)),
        (OPEN, "double", n(-3), (true, true)),
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
fn a_text_beside_a_number_or_in_rows_is_read_where_it_is_exact() {
    let number = ComparedValue::Integer;
    let text = |number: i128| ComparedValue::Text(number.to_string());
    let beyond = EXACT + 1;
    for (kind, described, values, in_rows, expected) in [
        (
            KeyKind::Integer,
            "decimal(20,0)",
            [number(EXACT), text(2)],
            false,
            false,
        ),
        (KeyKind::Integer, "bigint", [number(EXACT), text(2)], false, false),
        (
            KeyKind::Integer,
            "bigint",
            [number(EXACT - 1), text(2)],
            false,
            true,
        ),
        (
            KeyKind::Integer,
            "bigint",
            [number(2), text(beyond)],
            false,
            false,
        ),
        (KeyKind::Integer, "bigint", [text(2), text(beyond)], false, true),
        (KeyKind::Integer, "bigint", [text(2), text(beyond)], true, false),
        (KeyKind::Integer, "bigint", [text(2), text(EXACT - 1)], true, true),
        (
            KeyKind::Integer,
            "bigint",
            [number(2), number(beyond)],
            true,
            true,
        ),
        (KeyKind::Text, "bigint", [text(2), text(beyond)], false, true),
        (KeyKind::Text, "bigint", [text(2), text(beyond)], true, false),
    ] {
        let keys = KeysOfMap {
            kind,
            is_open: OPEN,
            distinction: Distinction::Clear,
        };
        let assumed = AssumedKey {
            column: "k".into(),
            values: values.clone().into(),
            writes: RowWrites::None,
            changes: [].into(),
            needs_visible: false,
            in_rows,
        };
        let found = judge(&column(described), &keys, &assumed).is_ok();
        assert_eq!(
            found, expected,
            "{kind:?} {described} {values:?} in_rows: {in_rows}"
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
