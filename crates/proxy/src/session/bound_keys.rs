//! The values that an execution binds, as keys: they place a statement that has `?` for the key column.

use shardwright_rules::KeyValue;
use shardwright_wire::ColumnType;
use shardwright_wire::binary::{BinaryValue, ParameterType, parameter_values};

use super::execute_parameters::ExecuteParameters;
use super::statements::LongData;

/// From here on two integers can be one `DOUBLE`.
const EXACT: f64 = 9_007_199_254_740_992.0;
const EXACT_INTEGER: u64 = 1 << 53;

/// Each parameter of an execution as a key; `None` where it is none. `types` are those that hold for it. `None` for values
/// that cannot be read: they place nothing.
pub(super) fn bound_keys(
    parameters: &ExecuteParameters<'_>,
    types: &[u8],
    long_data: &[LongData],
) -> Option<Vec<Option<KeyValue>>> {
    let types = ParameterType::list(types).ok()?;
    let pieces = |at: usize| long_data.iter().find(|data| usize::from(data.parameter) == at);
    let is_in_pieces = |at| pieces(at).is_some();
    let values = parameter_values(parameters.null_bitmap, &types, parameters.values, is_in_pieces).ok()?;
    let keys = values
        .iter()
        .zip(&types)
        .enumerate()
        .map(|(at, (value, parameter))| {
            let value = match pieces(at) {
                Some(data) => BinaryValue::Bytes(&data.bytes),
                None => *value,
            };
            key(value, parameter.column_type)
        });
    let mut keys: Vec<Option<KeyValue>> = keys.collect();
    // Beside a DOUBLE, an integer is compared as one, and from there on others are equal to it.
    let is_float = |value: &BinaryValue<'_>| matches!(value, BinaryValue::Float(_) | BinaryValue::Double(_));
    if values.iter().any(is_float) {
        for key in &mut keys {
            key.take_if(|key| matches!(key, KeyValue::Integer(n) if n.unsigned_abs() >= EXACT_INTEGER));
        }
    }
    Some(keys)
}

/// The key that the server compares the column with.
fn key(value: BinaryValue<'_>, column_type: ColumnType) -> Option<KeyValue> {
    use ColumnType as T;
    match value {
        BinaryValue::Int(n) => Some(KeyValue::Integer(n)),
        BinaryValue::UInt(n) => i64::try_from(n).ok().map(KeyValue::Integer),
        BinaryValue::Float(n) => whole(n.into()),
        BinaryValue::Double(n) => whole(n),
        BinaryValue::Bytes(bytes) => {
            let text = std::str::from_utf8(bytes).ok()?;
            match column_type {
                T::MYSQL_TYPE_VARCHAR | T::MYSQL_TYPE_VAR_STRING | T::MYSQL_TYPE_STRING => {
                    Some(KeyValue::Text(text.into()))
                }
                // Bytes are compared with the column's own bytes, which need not be UTF-8.
                T::MYSQL_TYPE_TINY_BLOB
                | T::MYSQL_TYPE_MEDIUM_BLOB
                | T::MYSQL_TYPE_LONG_BLOB
                | T::MYSQL_TYPE_BLOB
                    if text.is_ascii() =>
                {
                    Some(KeyValue::Text(text.into()))
                }
                T::MYSQL_TYPE_DECIMAL | T::MYSQL_TYPE_NEWDECIMAL => text.parse().ok().map(KeyValue::Integer),
                _ => None,
            }
        }
        BinaryValue::Null | BinaryValue::DateTime(_) | BinaryValue::Time(_) | BinaryValue::LongData => None,
    }
}

/// The integer that a `DOUBLE` is; drivers of languages without integers bind them so.
fn whole(n: f64) -> Option<KeyValue> {
    #[expect(clippy::cast_possible_truncation, reason = "it is a whole number below 2^53")]
    (n.abs() < EXACT && n.fract() == 0.0).then_some(KeyValue::Integer(n as i64))
}

#[cfg(test)]
mod tests {
    use shardwright_wire::ByteStore;

    use crate::memory::Buffer;

    use super::super::execute_parameters::Executed;
    use super::*;

    #[test]
    fn what_equals_one_key_only_is_that_key() {
        use ColumnType as T;
        let integer = |n| Some(KeyValue::Integer(n));
        let text = |text: &str| Some(KeyValue::Text(text.into()));
        for (value, column_type, expected) in [
            (BinaryValue::Int(-7), T::MYSQL_TYPE_LONGLONG, integer(-7)),
            (BinaryValue::UInt(u64::MAX), T::MYSQL_TYPE_LONGLONG, None),
            (BinaryValue::Double(7.0), T::MYSQL_TYPE_DOUBLE, integer(7)),
            (BinaryValue::Double(-0.0), T::MYSQL_TYPE_DOUBLE, integer(0)),
            (BinaryValue::Double(7.5), T::MYSQL_TYPE_DOUBLE, None),
            (BinaryValue::Double(f64::NAN), T::MYSQL_TYPE_DOUBLE, None),
            // Equal to 9007199254740993 as well, where the column is a BIGINT.
            (BinaryValue::Double(EXACT), T::MYSQL_TYPE_DOUBLE, None),
            (
                BinaryValue::Double(EXACT - 1.0),
                T::MYSQL_TYPE_DOUBLE,
                integer(9_007_199_254_740_991),
            ),
            (BinaryValue::Float(3.0), T::MYSQL_TYPE_FLOAT, integer(3)),
            (BinaryValue::Bytes(b"eu"), T::MYSQL_TYPE_VAR_STRING, text("eu")),
            (BinaryValue::Bytes(b"eu"), T::MYSQL_TYPE_BLOB, text("eu")),
            (
                BinaryValue::Bytes("é".as_bytes()),
                T::MYSQL_TYPE_VAR_STRING,
                text("é"),
            ),
            (BinaryValue::Bytes("é".as_bytes()), T::MYSQL_TYPE_BLOB, None),
            (BinaryValue::Bytes(b"\xFF"), T::MYSQL_TYPE_VAR_STRING, None),
            // To a text column a decimal is a number.
            (BinaryValue::Bytes(b"7"), T::MYSQL_TYPE_NEWDECIMAL, integer(7)),
            (BinaryValue::Bytes(b"7.5"), T::MYSQL_TYPE_NEWDECIMAL, None),
            (BinaryValue::Bytes(b"7"), T::MYSQL_TYPE_BIT, None),
            (BinaryValue::Null, T::MYSQL_TYPE_LONG, None),
        ] {
            assert_eq!(key(value, column_type), expected, "{value:?}");
        }
    }

    fn buffer(bytes: &[u8]) -> Buffer {
        let mut buffer = Buffer::new();
        buffer.append(bytes);
        buffer
    }

    #[test]
    fn types_of_before_and_pieces_count() {
        let types = [3, 0, 0xFD, 0];
        let pieces = [LongData {
            parameter: 1,
            bytes: buffer(b"eu"),
        }];
        let keys = |block: &[u8], pieces| {
            let of = Executed {
                parameters: 2,
                long_data: pieces,
                has_attributes: false,
            };
            bound_keys(&ExecuteParameters::split(0, block, of).unwrap(), &types, pieces)
        };
        assert_eq!(
            keys(&[0, 0, 7, 0, 0, 0], &pieces).unwrap(),
            [Some(KeyValue::Integer(7)), Some(KeyValue::Text("eu".into()))]
        );
        assert_eq!(keys(&[0, 0, 7, 0, 0, 0], &[]), None);
        assert_eq!(
            keys(&[1, 0, 1, b'x'], &[]).unwrap(),
            [None, Some(KeyValue::Text("x".into()))]
        );
    }
}
