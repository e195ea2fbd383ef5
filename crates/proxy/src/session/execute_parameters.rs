//! COM_STMT_EXECUTE and MariaDB's COM_STMT_BULK_EXECUTE: their parameters, passed on without being read, and whether a cursor is
//! asked for.

use std::borrow::Cow;

use shardwright_wire::query_attributes::{self, NamedParameters};
use shardwright_wire::{ColumnType, HEADER_LEN, MysqlError, errors};

use super::malformed;
use super::statements::LongData;

/// CURSOR_TYPE_READ_ONLY, CURSOR_TYPE_FOR_UPDATE and CURSOR_TYPE_SCROLLABLE. The other bits of the flags are about
/// parameters.
const CURSORS: u8 = 1 | 2 | 4;
/// Command, number of the statement, flags, iterations.
const COMMAND_LEN: usize = 10;

/// COM_STMT_BULK_EXECUTE
const BULK: u8 = 250;
/// The flag of a bulk execution with types in front of its rows. Others are not offered to clients.
const SEND_TYPES: u16 = 128;

/// How an execution is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ExecutionFlags {
    /// Of COM_STMT_EXECUTE.
    Once(u8),
    /// Of COM_STMT_BULK_EXECUTE.
    Bulk(u16),
}

impl ExecutionFlags {
    /// The function of servers that errors name.
    pub(crate) fn function(self) -> &'static str {
        match self {
            Self::Once(_) => "mysqld_stmt_execute",
            Self::Bulk(_) => "mysqld_stmt_bulk_execute",
        }
    }
}

/// The parts of an execution's parameter block (MySQL internals, COM_STMT_EXECUTE).
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct ExecuteParameters<'a> {
    /// A cursor is asked for. It is read-only whatever kind was asked for, as servers have no other.
    pub(crate) cursor: bool,
    pub(crate) null_bitmap: &'a [u8],
    /// Two bytes a parameter; `None` when the client relies on those it bound before.
    pub(crate) types: Option<Cow<'a, [u8]>>,
    /// Of a bulk execution, all rows: an indicator stands before each value.
    pub(crate) values: &'a [u8],
    /// It is a bulk execution.
    pub(crate) is_bulk: bool,
    /// Behind a pointer, as few clients have it.
    named: Option<Box<Named<'a>>>,
}

/// What a client that speaks of query attributes says beside that.
#[derive(Debug, PartialEq, Eq)]
struct Named<'a> {
    /// The statement's parameters, and the attributes behind them.
    parameters: NamedParameters<'a>,
    attribute_values: &'a [u8],
}

/// Whose execution it is.
#[derive(Clone, Copy)]
pub(crate) struct Executed<'a> {
    /// Parameters of the statement.
    pub(crate) parameters: u16,
    pub(crate) long_data: &'a [LongData],
    /// The client speaks of query attributes.
    pub(crate) has_attributes: bool,
}

impl<'a> ExecuteParameters<'a> {
    /// Splits what follows the iteration count.
    ///
    /// # Errors
    /// The error for the client.
    pub(crate) fn split(flags: u8, block: &'a [u8], of: Executed<'_>) -> Result<Self, MysqlError> {
        let cursor = flags & CURSORS != 0;
        let has_count = of.parameters > 0 || flags & query_attributes::COUNT_AVAILABLE != 0;
        if of.has_attributes && has_count {
            return Self::split_named(cursor, block, of);
        }
        Self::split_plain(cursor, block, of.parameters).ok_or_else(wrong_arguments)
    }

    /// Splits what follows the flags of a bulk execution.
    ///
    /// # Errors
    /// The error for the client.
    pub(crate) fn split_bulk(flags: u16, block: &'a [u8], parameters: u16) -> Result<Self, MysqlError> {
        if parameters == 0 || flags & !SEND_TYPES != 0 {
            return Err(not_in_bulk());
        }
        let (types, values) = match flags & SEND_TYPES {
            0 => (None, block),
            _ => {
                let split = block.split_at_checked(2 * usize::from(parameters));
                let (types, values) =
                    split.ok_or_else(|| wrong_arguments_to(ExecutionFlags::Bulk(flags).function()))?;
                (Some(Cow::Borrowed(types)), values)
            }
        };
        Ok(Self {
            cursor: false,
            null_bitmap: &[],
            types,
            values,
            is_bulk: true,
            named: None,
        })
    }

    fn split_plain(cursor: bool, block: &'a [u8], parameters: u16) -> Option<Self> {
        let count = usize::from(parameters);
        if count == 0 {
            return Some(Self {
                cursor,
                null_bitmap: &[],
                types: None,
                values: &[],
                is_bulk: false,
                named: None,
            });
        }
        let (null_bitmap, rest) = block.split_at_checked(count.div_ceil(8))?;
        let (&bound, rest) = rest.split_first()?;
        let (types, values) = match bound {
            0 => (None, rest),
            _ => {
                let (types, values) = rest.split_at_checked(2 * count)?;
                (Some(Cow::Borrowed(types)), values)
            }
        };
        Some(Self {
            cursor,
            null_bitmap,
            types,
            values,
            is_bulk: false,
            named: None,
        })
    }

    fn split_named(cursor: bool, block: &'a [u8], of: Executed<'_>) -> Result<Self, MysqlError> {
        let own = usize::from(of.parameters);
        let (parameters, values) = query_attributes::split_execution(block).map_err(malformed)?;
        if parameters.count < own {
            return Err(wrong_arguments());
        }
        let own_len = match parameters.count - own {
            0 => values.len(),
            _ => parameters
                .values_len(own, values, |at| {
                    of.long_data.iter().any(|data| usize::from(data.parameter) == at)
                })
                .map_err(malformed)?,
        };
        let (values, attribute_values) = values.split_at(own_len);
        let own_types =
            |types: &Vec<([u8; 2], &[u8])>| types.iter().take(own).flat_map(|(bytes, _)| *bytes).collect();
        Ok(Self {
            cursor,
            null_bitmap: &parameters.null_bitmap[..own.div_ceil(8)],
            types: parameters.types.as_ref().map(own_types).map(Cow::Owned),
            values,
            is_bulk: false,
            named: Some(Box::new(Named {
                parameters,
                attribute_values,
            })),
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

    /// What stands before the text when a statement with this number of parameters is sent as a query.
    pub(crate) fn as_query_attributes(&self, own: u16, has_attributes: bool) -> Vec<u8> {
        match &self.named {
            None if has_attributes => query_attributes::NONE.to_vec(),
            None => Vec::new(),
            Some(named) => query_attributes::of_query(&named.parameters, own.into(), named.attribute_values),
        }
    }

    /// About how many bytes [`ExecuteParameters::encode`] appends, with the header of a packet.
    pub(crate) fn encoded_len(&self, types: &[u8]) -> usize {
        HEADER_LEN + COMMAND_LEN + self.null_bitmap.len() + 1 + types.len() + self.values.len()
    }

    /// Appends the command for the server's number `id`, types always included: the connection may have run the
    /// statement for another session. `takes_attributes`: the connection does.
    pub(crate) fn encode(&self, id: u32, types: &[u8], takes_attributes: bool, out: &mut Vec<u8>) {
        if self.is_bulk {
            out.push(BULK);
            out.extend_from_slice(&id.to_le_bytes());
            out.extend_from_slice(&SEND_TYPES.to_le_bytes());
            out.extend_from_slice(types);
            out.extend_from_slice(self.values);
            return;
        }
        let named = self.named.as_ref().filter(|_| takes_attributes);
        let count = named.map_or(0, |_| query_attributes::COUNT_AVAILABLE);
        out.push(23);
        out.extend_from_slice(&id.to_le_bytes());
        out.push(u8::from(self.cursor) | count);
        out.extend_from_slice(&1_u32.to_le_bytes());
        if let Some(named) = named {
            named.encode(types, out);
        } else if !types.is_empty() {
            out.extend_from_slice(self.null_bitmap);
            out.push(1);
            out.extend_from_slice(types);
        }
        out.extend_from_slice(self.values);
        out.extend_from_slice(named.map_or(&[], |named| named.attribute_values));
    }
}

impl Named<'_> {
    /// Appends everything but the values; `own_types` are those of the statement's parameters.
    fn encode(&self, own_types: &[u8], out: &mut Vec<u8>) {
        let said = self.parameters.types.as_deref().unwrap_or_default();
        let own = own_types.chunks_exact(2).map(|pair| [pair[0], pair[1]]);
        let types = own
            .enumerate()
            .map(|(at, own)| (own, said.get(at).map_or(&[][..], |(_, name)| name)))
            .chain(said.iter().skip(own_types.len() / 2).copied());
        let parameters = NamedParameters {
            types: Some(types.collect()),
            ..self.parameters
        };
        parameters.put_execution(out);
    }
}

/// The error for an execution that does not fit its statement.
pub(super) fn wrong_arguments() -> MysqlError {
    wrong_arguments_to(ExecutionFlags::Once(0).function())
}

/// The same, for an execution of this kind.
pub(super) fn wrong_arguments_to(function: &str) -> MysqlError {
    errors::WRONG_ARGUMENTS.with(format_args!("Incorrect arguments to {function}"))
}

/// The error for what is not executed in bulk.
pub(super) fn not_in_bulk() -> MysqlError {
    errors::UNSUPPORTED_PS.with("This command is not supported in the prepared statement protocol yet")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(parameters: u16) -> Executed<'static> {
        Executed {
            parameters,
            long_data: &[],
            has_attributes: false,
        }
    }

    fn encoded(parameters: &ExecuteParameters<'_>, types: &[u8], takes_attributes: bool) -> Vec<u8> {
        let mut out = Vec::new();
        parameters.encode(9, types, takes_attributes, &mut out);
        out
    }

    #[test]
    fn executions_carry_types_even_where_the_client_left_them_out() {
        let types = [3, 0, 0xFD, 0];
        let first = [0, 1, 3, 0, 0xFD, 0, 7, 0, 0, 0, 1, b'x'];
        let first = ExecuteParameters::split(0, &first, of(2)).unwrap();
        assert_eq!(first.types.as_deref(), Some(&types[..]));
        let second = ExecuteParameters::split(0, &[0, 0, 7, 0, 0, 0, 1, b'x'], of(2)).unwrap();
        assert_eq!(second.types, None);
        assert_eq!(encoded(&first, &types, false), encoded(&second, &types, false));
        assert_eq!(
            ExecuteParameters::split(0, &[0, 1, 3], of(2)).unwrap_err().code,
            1210
        );
        let nulls = |bitmap| {
            ExecuteParameters::split(0, bitmap, of(9))
                .unwrap()
                .types_of_nulls(9)
        };
        assert_eq!(nulls(&[0xFF, 1, 0]), Some([6, 0].repeat(9)));
        assert_eq!(nulls(&[0xFF, 0, 0]), None);
        assert_eq!(ExecuteParameters::split(0, &[], of(1)).unwrap_err().code, 1210);
    }

    #[test]
    fn a_bulk_execution_carries_types_and_its_rows() {
        let types = [3, 0, 0xFD, 0];
        let rows = [0, 7, 0, 0, 0, 0, 1, b'x', 1, 2];
        let block = [&types[..], &rows].concat();
        let first = ExecuteParameters::split_bulk(128, &block, 2).unwrap();
        assert_eq!(first.types.as_deref(), Some(&types[..]));
        let second = ExecuteParameters::split_bulk(0, &rows, 2).unwrap();
        assert_eq!(second.types, None);
        let expected = [&[250, 9, 0, 0, 0, 128, 0][..], &block].concat();
        assert_eq!(encoded(&first, &types, true), expected);
        assert_eq!(encoded(&second, &types, false), expected);
        let refused = |flags, parameters| {
            let split = ExecuteParameters::split_bulk(flags, &[3, 0], parameters);
            split.unwrap_err().code
        };
        // An answer for each row, a statement without parameters, types that are cut off.
        assert_eq!(
            (refused(64, 2), refused(128, 0), refused(128, 2)),
            (1295, 1295, 1210)
        );
    }

    #[test]
    fn attributes_go_with_an_execution_or_are_left_out() {
        let named = |parameters| Executed {
            has_attributes: true,
            ..of(parameters)
        };
        // A TINY without a name, and the attribute `a` = 'x'.
        let block = b"\x02\0\x01\x01\0\0\xFD\0\x01a\x07\x01x";
        let both = ExecuteParameters::split(8, block, named(1)).unwrap();
        assert_eq!(
            (both.types.as_deref(), both.values),
            (Some(&[1, 0][..]), &[7][..])
        );
        let head = |flags| [&[23, 9, 0, 0, 0, flags, 1, 0, 0, 0][..]].concat();
        assert_eq!(encoded(&both, &[1, 0], true), [&head(8), &block[..]].concat());
        assert_eq!(
            encoded(&both, &[1, 0], false),
            [&head(0), &b"\0\x01\x01\0\x07"[..]].concat()
        );
        // The same statement again, with the types of before and without attributes.
        let again = ExecuteParameters::split(8, b"\x01\0\0\x08", named(1)).unwrap();
        assert_eq!(
            encoded(&again, &[1, 0], true),
            [&head(8), &b"\x01\0\x01\x01\0\0\x08"[..]].concat()
        );
        let none = ExecuteParameters::split(8, b"\0", named(0)).unwrap();
        assert_eq!(encoded(&none, &[], true), [&head(8), &b"\0"[..]].concat());
        assert_eq!(encoded(&none, &[], false), head(0));
        for (block, code) in [
            // Fewer than the statement has, no types, nothing.
            (&b"\0"[..], 1210),
            (b"\x02\0\0\x07\x01x", 1835),
            (b"", 1835),
        ] {
            assert_eq!(
                ExecuteParameters::split(8, block, named(1)).unwrap_err().code,
                code
            );
        }
    }

    proptest::proptest! {
        #[test]
        fn parameter_blocks_of_any_bytes_are_split_or_refused(
            block in proptest::collection::vec(proptest::prelude::prop_oneof![0_u8..4, proptest::num::u8::ANY], 0..80),
            parameters in 0_u16..40,
            has_attributes: bool,
        ) {
            let of = Executed { has_attributes, ..of(parameters) };
            if let Ok(split) = ExecuteParameters::split(8, &block, of) {
                let types = split.types.as_deref().map_or_else(|| vec![0; 2 * usize::from(parameters)], <[u8]>::to_vec);
                let payload = encoded(&split, &types, has_attributes);
                let again = ExecuteParameters::split(payload[5], &payload[10..], of).unwrap();
                proptest::prop_assert_eq!(again.values, split.values);
                proptest::prop_assert_eq!(again.null_bitmap, split.null_bitmap);
                let attributes = |of: &ExecuteParameters<'_>| of.named.as_ref().map(|named| named.attribute_values.to_vec());
                proptest::prop_assert_eq!(attributes(&again), attributes(&split));
            }
        }
    }
}
