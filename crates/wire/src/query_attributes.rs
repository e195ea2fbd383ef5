//! Query attributes: named values that a client sends with a statement (CLIENT_QUERY_ATTRIBUTES, MySQL 8.0.23 and later).
//!
//! ```text
//! COM_QUERY         count, number of sets (1), [NULL bitmap, 1, types and names, values,] text
//! COM_STMT_EXECUTE  …, count, NULL bitmap, whether types follow, types and names, values
//! ```
//!
//! An execution's first parameters are those of its statement; they may have names too. What is malformed was tried on MySQL
//! 9.7: any number of sets but 1, and values without types.

use crate::binary::{ParameterType, value};
use crate::bytes::{DecodeError, Reader, put_lenenc_bytes, put_lenenc_int};

/// What stands before the text of a COM_QUERY without attributes.
pub const NONE: &[u8] = &[0, 1];

/// COM_STMT_EXECUTE says how many parameters it has (PARAMETER_COUNT_AVAILABLE).
pub const COUNT_AVAILABLE: u8 = 8;

/// Parameters with names, as a connection with CLIENT_QUERY_ATTRIBUTES sends them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamedParameters<'a> {
    /// One bit each.
    pub null_bitmap: &'a [u8],
    /// Two bytes each, and the name; `None` where those of an earlier execution hold.
    pub types: Option<Vec<([u8; 2], &'a [u8])>>,
    /// How many there are.
    pub count: usize,
}

impl<'a> NamedParameters<'a> {
    fn read(reader: &mut Reader<'a>, count: usize) -> Result<Self, DecodeError> {
        let null_bitmap = reader.take(count.div_ceil(8))?;
        let types = match reader.u8()? {
            0 => None,
            // Each takes three bytes at least: hostile counts end here before anything is allocated for them.
            _ if reader.remaining() / 3 < count => return Err(DecodeError::Truncated),
            _ => {
                let read = |_| Ok((reader.array()?, reader.lenenc_bytes()?));
                Some((0..count).map(read).collect::<Result<_, DecodeError>>()?)
            }
        };
        Ok(Self {
            null_bitmap,
            types,
            count,
        })
    }

    /// The length of the first `count` values in `values`. `is_long_data(i)` says which came in pieces.
    ///
    /// # Errors
    /// [`DecodeError`], also for values without types.
    pub fn values_len(
        &self,
        count: usize,
        values: &[u8],
        is_long_data: impl Fn(usize) -> bool,
    ) -> Result<usize, DecodeError> {
        let mut reader = Reader::new(values);
        let types = self.types.as_ref().ok_or(UNTYPED)?;
        for (at, (bytes, _)) in types.iter().enumerate().take(count) {
            if !self.is_null(at) && !is_long_data(at) {
                let _value = value(&mut reader, ParameterType::of(*bytes)?)?;
            }
        }
        Ok(values.len() - reader.remaining())
    }

    /// Appends them as COM_STMT_EXECUTE has them; values follow.
    pub fn put_execution(&self, out: &mut Vec<u8>) {
        put_lenenc_int(out, self.count as u64);
        self.put_types(out);
    }

    fn put_types(&self, out: &mut Vec<u8>) {
        if self.count == 0 {
            return;
        }
        out.extend_from_slice(self.null_bitmap);
        out.push(u8::from(self.types.is_some()));
        for (parameter_type, name) in self.types.iter().flatten() {
            out.extend_from_slice(parameter_type);
            put_lenenc_bytes(out, name);
        }
    }

    fn is_null(&self, at: usize) -> bool {
        let byte = self.null_bitmap.get(at / 8);
        byte.is_some_and(|byte| byte >> (at % 8) & 1 == 1)
    }
}

const UNTYPED: DecodeError = DecodeError::Malformed("query attributes without types");

/// Splits what follows the command byte of a COM_QUERY: the attributes as they came, and the text.
///
/// # Errors
/// [`DecodeError`].
pub fn split_query(body: &[u8]) -> Result<(&[u8], &[u8]), DecodeError> {
    if let Some(text) = body.strip_prefix(NONE) {
        return Ok((NONE, text));
    }
    let mut reader = Reader::new(body);
    let count = read_count(&mut reader)?;
    if reader.lenenc_int()? != 1 {
        return Err(DecodeError::Malformed("a number of parameter sets that is not 1"));
    }
    if count > 0 {
        let parameters = NamedParameters::read(&mut reader, count)?;
        let values = reader.remaining();
        let rest = reader.take_rest();
        let len = parameters.values_len(count, rest, |_| false)?;
        return Ok(body.split_at(body.len() - values + len));
    }
    Ok(body.split_at(body.len() - reader.remaining()))
}

/// Splits what follows the iteration count of a COM_STMT_EXECUTE that has a count: parameters, and their values.
///
/// # Errors
/// [`DecodeError`].
pub fn split_execution(block: &[u8]) -> Result<(NamedParameters<'_>, &[u8]), DecodeError> {
    let mut reader = Reader::new(block);
    let count = read_count(&mut reader)?;
    let parameters = match count {
        0 => NamedParameters {
            null_bitmap: &[],
            types: Some(Vec::new()),
            count,
        },
        _ => NamedParameters::read(&mut reader, count)?,
    };
    Ok((parameters, reader.take_rest()))
}

/// What stands before the text of a COM_QUERY with the attributes of an execution: those behind its first `own`, which are the
/// statement's parameters.
#[must_use]
pub fn of_query(parameters: &NamedParameters<'_>, own: usize, values: &[u8]) -> Vec<u8> {
    let count = parameters.count.saturating_sub(own);
    let mut null_bitmap = vec![0; count.div_ceil(8)];
    for at in (0..count).filter(|at| parameters.is_null(own + at)) {
        null_bitmap[at / 8] |= 1 << (at % 8);
    }
    let types = parameters.types.as_ref();
    let attributes = NamedParameters {
        null_bitmap: &null_bitmap,
        types: types.map(|types| types.iter().skip(own).copied().collect()),
        count,
    };
    let mut out = Vec::new();
    put_lenenc_int(&mut out, count as u64);
    out.push(1);
    attributes.put_types(&mut out);
    out.extend_from_slice(values);
    out
}

fn read_count(reader: &mut Reader<'_>) -> Result<usize, DecodeError> {
    usize::try_from(reader.lenenc_int()?).map_err(|_| DecodeError::Truncated)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Two attributes, `a` = 'x' and `n` = NULL.
    const TWO: &[u8] = b"\x02\x01\x02\x01\xFD\0\x01a\xFD\0\x01n\x01x";

    #[test]
    fn attributes_end_where_the_text_begins() {
        let with = [TWO, b"SELECT 1"].concat();
        assert_eq!(split_query(&with).unwrap(), (TWO, &b"SELECT 1"[..]));
        assert_eq!(split_query(b"\0\x01SELECT 1").unwrap(), (NONE, &b"SELECT 1"[..]));
        assert_eq!(split_query(b"\0\x01").unwrap(), (NONE, &b""[..]));
        for wrong in [
            &b"\0\0SELECT 1"[..],
            b"\0\x02SELECT 1",
            b"SELECT 1",
            b"",
            // No types.
            b"\x01\x01\0\0\x01xSELECT 1",
            // Of 2^63 parameters.
            b"\xFE\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x7F\x01\0\x01",
        ] {
            assert!(split_query(wrong).is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn executions_have_the_statements_own_parameters_first() {
        // A number without a name, and the attribute `a` = 'x'.
        let block = b"\x02\0\x01\x01\0\0\xFD\0\x01a\x07\x01x";
        let (parameters, values) = split_execution(block).unwrap();
        assert_eq!(parameters.count, 2);
        assert_eq!(values, b"\x07\x01x");
        assert_eq!(parameters.values_len(1, values, |_| false).unwrap(), 1);
        assert_eq!(parameters.values_len(1, values, |at| at == 0).unwrap(), 0);
        let mut written = Vec::new();
        parameters.put_execution(&mut written);
        written.extend_from_slice(values);
        assert_eq!(written, block);
        let (parameters, values) = split_execution(b"\x01\0\x01\xFD\0\x01a\x01x").unwrap();
        assert_eq!(
            of_query(&parameters, 0, values),
            b"\x01\x01\0\x01\xFD\0\x01a\x01x"
        );
        assert_eq!(of_query(&parameters, 1, b""), NONE);
        // A parameter, and the attributes `a`, which is NULL, and `b`.
        let block = b"\x03\x02\x01\x01\0\0\xFD\0\x01a\xFD\0\x01b\x07\x01x";
        let (parameters, values) = split_execution(block).unwrap();
        let expected = b"\x02\x01\x01\x01\xFD\0\x01a\xFD\0\x01b\x01x";
        assert_eq!(of_query(&parameters, 1, &values[1..]), expected);
        let (parameters, values) = split_execution(b"\0").unwrap();
        assert_eq!(of_query(&parameters, 0, values), NONE);
    }

    proptest! {
        #[test]
        fn any_bytes_are_split_or_refused(body in prop::collection::vec(prop_oneof![0_u8..4, any::<u8>()], 0..60)) {
            if let Ok((attributes, text)) = split_query(&body) {
                prop_assert_eq!([attributes, text].concat(), body.clone());
                let others = [attributes, b"SELECT 1"].concat();
                prop_assert_eq!(split_query(&others).unwrap().0, attributes);
            }
            if let Ok((parameters, values)) = split_execution(&body) {
                let _ = parameters.values_len(parameters.count, values, |_| false);
            }
        }
    }
}
