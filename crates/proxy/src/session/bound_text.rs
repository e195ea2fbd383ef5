//! The text of an execution that is sent as a query: each placeholder becomes a literal of the value that is bound to it, of the
//! type that a server gives the parameter.

use shardwright_sql::rewrite::{self, Edit};
use shardwright_sql::{LexMode, Lexer, Servers, TokenKind};
use shardwright_wire::binary::{BinaryValue, DateTime, ParameterType, parameter_values};
use shardwright_wire::{ColumnType, MysqlError};

use super::execute_parameters::{ExecuteParameters, wrong_arguments};
use super::malformed;
use super::statements::LongData;

/// `text` with its placeholders replaced. `types` are those that hold for the parameters.
///
/// # Errors
/// The error for the client: another number of values than of placeholders, or a value that no literal has.
pub(super) fn with_values(
    text: &[u8],
    mode: LexMode,
    (parameters, types, long_data): (&ExecuteParameters<'_>, &[u8], &[LongData]),
) -> Result<Vec<u8>, MysqlError> {
    let types = ParameterType::list(types).map_err(malformed)?;
    let pieces = |at: usize| long_data.iter().find(|data| usize::from(data.parameter) == at);
    let is_in_pieces = |at| pieces(at).is_some();
    let values = parameter_values(parameters.null_bitmap, &types, parameters.values, is_in_pieces);
    let values = values.map_err(malformed)?;
    let placeholders = Lexer::new(text, mode).filter(|token| token.kind == TokenKind::Placeholder);
    let spans: Vec<_> = placeholders.map(|token| token.span).collect();
    if spans.len() != values.len() {
        return Err(wrong_arguments());
    }
    let edits = spans.into_iter().zip(&values).zip(&types).enumerate();
    let edits = edits.map(|(at, ((span, value), parameter))| {
        let value = pieces(at).map_or(*value, |data| BinaryValue::Bytes(&data.bytes));
        let text = literal(value, parameter.column_type, mode).ok_or_else(wrong_arguments)?;
        Ok(Edit { span, text })
    });
    let edits: Vec<Edit> = edits.collect::<Result<_, MysqlError>>()?;
    Ok(rewrite::apply(text, &edits))
}

/// A literal of this value; `None`: there is none.
fn literal(value: BinaryValue<'_>, column_type: ColumnType, mode: LexMode) -> Option<Vec<u8>> {
    use ColumnType as T;
    let text = match value {
        BinaryValue::Null => "NULL".to_owned(),
        BinaryValue::Int(n) => n.to_string(),
        BinaryValue::UInt(n) => n.to_string(),
        // With an exponent it is a DOUBLE, without one a DECIMAL.
        BinaryValue::Float(n) => return literal(BinaryValue::Double(n.into()), column_type, mode),
        BinaryValue::Double(n) => format!("{:e}", Some(n).filter(|n| n.is_finite())?),
        // Servers take times for texts in bytes; MySQL writes all digits of the fraction.
        BinaryValue::DateTime(date) => {
            let is_date = column_type == T::MYSQL_TYPE_DATE;
            let text = DateTime { is_date, ..date }.to_string();
            format!(
                "_binary'{text}{}'",
                fraction(date.micros, !is_date && !mode.servers.meet(Servers::ALL_MARIADB))
            )
        }
        BinaryValue::Time(span) => {
            format!(
                "_binary'{span}{}'",
                fraction(span.micros, !mode.servers.meet(Servers::ALL_MARIADB))
            )
        }
        BinaryValue::LongData => return None,
        BinaryValue::Bytes(bytes) => {
            return match column_type {
                T::MYSQL_TYPE_VARCHAR | T::MYSQL_TYPE_VAR_STRING | T::MYSQL_TYPE_STRING => {
                    Some(quoted(bytes, mode))
                }
                T::MYSQL_TYPE_TINY_BLOB
                | T::MYSQL_TYPE_MEDIUM_BLOB
                | T::MYSQL_TYPE_LONG_BLOB
                | T::MYSQL_TYPE_BLOB => Some([b"_binary".as_slice(), &quoted(bytes, mode)].concat()),
                T::MYSQL_TYPE_DECIMAL | T::MYSQL_TYPE_NEWDECIMAL => decimal(bytes),
                _ => None,
            };
        }
    };
    Some(text.into_bytes())
}

/// What a server that writes six digits of a fraction writes behind one of none.
fn fraction(micros: u32, is_written: bool) -> &'static str {
    if is_written && micros == 0 { ".000000" } else { "" }
}

/// A string between single quotes.
fn quoted(bytes: &[u8], mode: LexMode) -> Vec<u8> {
    let mut text = Vec::with_capacity(bytes.len() + 2);
    text.push(b'\'');
    for &byte in bytes {
        let is_doubled = byte == b'\'' || (byte == b'\\' && !mode.no_backslash_escapes);
        text.extend(is_doubled.then_some(byte));
        text.push(byte);
    }
    text.push(b'\'');
    text
}

/// A number with a point, which makes it a DECIMAL.
fn decimal(bytes: &[u8]) -> Option<Vec<u8>> {
    let digits = bytes.strip_prefix(b"-").unwrap_or(bytes);
    let points = digits.iter().filter(|byte| **byte == b'.').count();
    let is_number = digits.iter().any(u8::is_ascii_digit)
        && digits.iter().all(|byte| byte.is_ascii_digit() || *byte == b'.');
    let point: &[u8] = if points == 0 { b"." } else { b"" };
    (is_number && points < 2).then(|| [bytes, point].concat())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_a_literal_of_its_type() {
        use ColumnType as T;
        let mode = LexMode::default();
        for (value, column_type, expected) in [
            (BinaryValue::Null, T::MYSQL_TYPE_NULL, Some("NULL")),
            (BinaryValue::Int(-7), T::MYSQL_TYPE_LONG, Some("-7")),
            (
                BinaryValue::UInt(u64::MAX),
                T::MYSQL_TYPE_LONGLONG,
                Some("18446744073709551615"),
            ),
            (BinaryValue::Double(0.1), T::MYSQL_TYPE_DOUBLE, Some("1e-1")),
            (BinaryValue::Double(f64::NAN), T::MYSQL_TYPE_DOUBLE, None),
            (
                BinaryValue::Bytes(b"it's \\"),
                T::MYSQL_TYPE_VAR_STRING,
                Some("'it''s \\\\'"),
            ),
            (BinaryValue::Bytes(b"a"), T::MYSQL_TYPE_BLOB, Some("_binary'a'")),
            (BinaryValue::Bytes(b"-12"), T::MYSQL_TYPE_NEWDECIMAL, Some("-12.")),
            (
                BinaryValue::Bytes(b"1.50"),
                T::MYSQL_TYPE_NEWDECIMAL,
                Some("1.50"),
            ),
            (BinaryValue::Bytes(b"1);--"), T::MYSQL_TYPE_NEWDECIMAL, None),
            (BinaryValue::Bytes(b"."), T::MYSQL_TYPE_NEWDECIMAL, None),
            (BinaryValue::Bytes(b"1"), T::MYSQL_TYPE_BIT, None),
        ] {
            let found = literal(value, column_type, mode).map(|text| String::from_utf8(text).unwrap());
            assert_eq!(found.as_deref(), expected, "{value:?}");
        }
        let plain = LexMode {
            no_backslash_escapes: true,
            ..mode
        };
        assert_eq!(quoted(b"\\'", plain), b"'\\'''");
    }

    proptest::proptest! {
        #[test]
        fn a_string_of_any_bytes_is_one_token(bytes: Vec<u8>, no_backslash_escapes: bool) {
            let mode = LexMode { no_backslash_escapes, ..LexMode::default() };
            let text = quoted(&bytes, mode);
            let tokens: Vec<_> = Lexer::new(&text, mode).collect();
            proptest::prop_assert_eq!(tokens.len(), 1);
            proptest::prop_assert_eq!(tokens[0].span.of(&text), &*text);
        }
    }
}
