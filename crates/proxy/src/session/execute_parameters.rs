//! COM_STMT_EXECUTE: its parameters, passed on without being read, and whether a cursor is asked for.

use shardwright_wire::ColumnType;

/// CURSOR_TYPE_READ_ONLY, CURSOR_TYPE_FOR_UPDATE and CURSOR_TYPE_SCROLLABLE. The other bits of the flags are about
/// parameters.
const CURSORS: u8 = 1 | 2 | 4;

/// The parts of an execution's parameter block (MySQL internals, COM_STMT_EXECUTE).
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct ExecuteParameters<'a> {
    /// A cursor is asked for. It is read-only whatever kind was asked for, as servers have no other.
    pub(crate) cursor: bool,
    pub(crate) null_bitmap: &'a [u8],
    /// Two bytes a parameter; `None` when the client relies on those it bound before.
    pub(crate) types: Option<&'a [u8]>,
    pub(crate) values: &'a [u8],
}

impl<'a> ExecuteParameters<'a> {
    /// Splits what follows the iteration count; `None` when it is too short.
    pub(crate) fn split(flags: u8, block: &'a [u8], parameters: u16) -> Option<Self> {
        let cursor = flags & CURSORS != 0;
        let count = usize::from(parameters);
        if count == 0 {
            return Some(Self {
                cursor,
                null_bitmap: &[],
                types: None,
                values: &[],
            });
        }
        let (null_bitmap, rest) = block.split_at_checked(count.div_ceil(8))?;
        let (&bound, rest) = rest.split_first()?;
        let (types, values) = match bound {
            0 => (None, rest),
            _ => {
                let (types, values) = rest.split_at_checked(2 * count)?;
                (Some(types), values)
            }
        };
        Some(Self {
            cursor,
            null_bitmap,
            types,
            values,
        })
    }

    /// Types for an execution that has none and whose statement was never given any, where all of `parameters` are NULL:
    /// Connector/J 9 says nothing of a NULL.
    pub(crate) fn types_of_nulls(&self, parameters: u16) -> Option<Vec<u8>> {
        let is_null = |at: usize| {
            let byte = self.null_bitmap.get(at / 8);
            byte.is_some_and(|byte| byte >> (at % 8) & 1 == 1)
        };
        let count = usize::from(parameters);
        let is_untyped = self.types.is_none() && (0..count).all(is_null);
        is_untyped.then(|| [ColumnType::MYSQL_TYPE_NULL as u8, 0].repeat(count))
    }

    /// Appends COM_STMT_EXECUTE for the server's number `id`, types always included: the connection may have run the
    /// statement for another session.
    pub(crate) fn encode(&self, id: u32, types: &[u8], out: &mut Vec<u8>) {
        out.push(23);
        out.extend_from_slice(&id.to_le_bytes());
        out.push(u8::from(self.cursor));
        out.extend_from_slice(&1_u32.to_le_bytes());
        if !types.is_empty() {
            out.extend_from_slice(self.null_bitmap);
            out.push(1);
            out.extend_from_slice(types);
            out.extend_from_slice(self.values);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn executions_carry_types_even_where_the_client_left_them_out() {
        let types = [3, 0, 0xFD, 0];
        let first = ExecuteParameters::split(0, &[0, 1, 3, 0, 0xFD, 0, 7, 0, 0, 0, 1, b'x'], 2).unwrap();
        assert_eq!(first.types, Some(&types[..]));
        let second = ExecuteParameters::split(0, &[0, 0, 7, 0, 0, 0, 1, b'x'], 2).unwrap();
        assert_eq!(second.types, None);
        let encoded = |parameters: &ExecuteParameters<'_>| {
            let mut out = Vec::new();
            parameters.encode(9, &types, &mut out);
            out
        };
        assert_eq!(encoded(&first), encoded(&second));
        assert_eq!(ExecuteParameters::split(0, &[0, 1, 3], 2), None);
        let nulls = |bitmap| ExecuteParameters::split(0, bitmap, 9).unwrap().types_of_nulls(9);
        assert_eq!(nulls(&[0xFF, 1, 0]), Some([6, 0].repeat(9)));
        assert_eq!(nulls(&[0xFF, 0, 0]), None);
        assert_eq!(ExecuteParameters::split(0, &[], 1), None);
    }

    proptest::proptest! {
        #[test]
        fn parameter_blocks_of_any_bytes_are_split_or_refused(
            block in proptest::collection::vec(proptest::num::u8::ANY, 0..80),
            parameters in 0_u16..40,
        ) {
            if let Some(split) = ExecuteParameters::split(0, &block, parameters) {
                let types = split.types.map_or_else(|| vec![0; 2 * usize::from(parameters)], <[u8]>::to_vec);
                let mut payload = Vec::new();
                split.encode(1, &types, &mut payload);
                let again = ExecuteParameters::split(0, &payload[10..], parameters).unwrap();
                proptest::prop_assert_eq!(again.values, split.values);
                proptest::prop_assert_eq!(again.null_bitmap, split.null_bitmap);
            }
        }
    }
}
