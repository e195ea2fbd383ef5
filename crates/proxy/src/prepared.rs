//! Server-side prepared statements: a session's, and where each of them is prepared.

use std::rc::Rc;

use rustc_hash::FxHashMap;
use shardwright_rules::{Dispatch, HostgroupId, Transaction};

use crate::backend::Names;

/// What a prepared statement means depends on: its text, and the session it was prepared in.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct PreparedText {
    pub(crate) text: Rc<[u8]>,
    pub(crate) schema: Option<Rc<str>>,
    /// Charset and collation, where they are not those of the login.
    pub(crate) names: Option<(Rc<str>, Option<Rc<str>>)>,
}

impl PreparedText {
    pub(crate) fn new(text: Rc<[u8]>, schema: Option<&str>, names: Option<&Names>) -> Self {
        Self {
            text,
            schema: schema.map(Rc::from),
            names: names.map(|names| {
                (
                    Rc::from(names.charset.as_str()),
                    names.collation.as_deref().map(Rc::from),
                )
            }),
        }
    }
}

/// The prepared statements of one backend connection. They may have been prepared for any session: what a client
/// sees is its session's numbers only.
#[derive(Default)]
pub(crate) struct BackendStatements {
    by_text: FxHashMap<PreparedText, Prepared>,
    clock: u64,
}

#[derive(Clone, Copy)]
struct Prepared {
    id: u32,
    used: u64,
}

impl BackendStatements {
    /// The server's number of this statement.
    pub(crate) fn get(&mut self, text: &PreparedText) -> Option<u32> {
        self.clock += 1;
        let prepared = self.by_text.get_mut(text)?;
        prepared.used = self.clock;
        Some(prepared.id)
    }

    /// Remembers a statement; the number of one to close, when there are more than `limit`.
    pub(crate) fn insert(&mut self, text: PreparedText, id: u32, limit: usize) -> Option<u32> {
        self.clock += 1;
        let used = self.clock;
        let replaced = self.by_text.insert(text, Prepared { id, used });
        if replaced.is_some() || self.by_text.len() <= limit {
            return replaced.map(|replaced| replaced.id);
        }
        let oldest = self
            .by_text
            .iter()
            .min_by_key(|(_, prepared)| prepared.used)
            .map(|(text, _)| text.clone())?;
        self.by_text.remove(&oldest).map(|prepared| prepared.id)
    }
}

/// A prepared statement of a session.
pub(crate) struct SessionStatement {
    /// The text as the client sent it: this is what is routed.
    pub(crate) text: Rc<[u8]>,
    /// The schema that was current when it was prepared; names in it mean that schema's.
    pub(crate) schema: Option<std::sync::Arc<str>>,
    pub(crate) parameters: u16,
    /// Types of the parameters, two bytes each, as the client bound them last.
    pub(crate) types: Vec<u8>,
    /// Pieces of parameters that wait for the execution: parameter and bytes.
    pub(crate) long_data: Vec<(u16, Vec<u8>)>,
    /// The last decision, and what it depended on.
    pub(crate) decided: Option<(Circumstances, Rc<Dispatch>)>,
}

/// What a decision about a prepared statement depends on, besides its text, its schema and its user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Circumstances {
    /// As in [`shardwright_rules::SessionView::state_on`].
    pub(crate) state_on: Vec<HostgroupId>,
    pub(crate) generation: i64,
    pub(crate) transaction: Option<Transaction>,
    pub(crate) transaction_pending: bool,
    pub(crate) autocommit_off: bool,
    pub(crate) next_query_flag_in: Option<u32>,
}

/// The prepared statements of a session, by the number that the client has.
#[derive(Default)]
pub(crate) struct SessionStatements {
    statements: FxHashMap<u32, SessionStatement>,
    last: u32,
    long_data_bytes: usize,
}

impl SessionStatements {
    pub(crate) fn len(&self) -> usize {
        self.statements.len()
    }

    /// A number that the session has not in use.
    pub(crate) fn next_id(&mut self) -> u32 {
        loop {
            self.last = self.last.wrapping_add(1);
            // 0 is no statement and u32::MAX is "the last one" to MariaDB clients.
            let is_free =
                self.last != 0 && self.last != u32::MAX && !self.statements.contains_key(&self.last);
            if is_free {
                return self.last;
            }
        }
    }

    pub(crate) fn insert(&mut self, id: u32, statement: SessionStatement) {
        self.statements.insert(id, statement);
    }

    pub(crate) fn get(&self, id: u32) -> Option<&SessionStatement> {
        self.statements.get(&id)
    }

    pub(crate) fn get_mut(&mut self, id: u32) -> Option<&mut SessionStatement> {
        self.statements.get_mut(&id)
    }

    pub(crate) fn close(&mut self, id: u32) {
        self.forget_long_data(id);
        self.statements.remove(&id);
    }

    pub(crate) fn clear(&mut self) {
        self.statements.clear();
        self.long_data_bytes = 0;
    }

    /// Keeps a piece of a parameter until the execution; `false` when there is no such statement or parameter, or
    /// more than `limit` bytes would wait.
    pub(crate) fn add_long_data(&mut self, id: u32, parameter: u16, data: &[u8], limit: usize) -> bool {
        if self.long_data_bytes + data.len() > limit {
            return false;
        }
        let Some(statement) = self.statements.get_mut(&id) else {
            return false;
        };
        if parameter >= statement.parameters {
            return false;
        }
        self.long_data_bytes += data.len();
        match statement
            .long_data
            .iter_mut()
            .find(|(known, _)| *known == parameter)
        {
            Some((_, bytes)) => bytes.extend_from_slice(data),
            None => statement.long_data.push((parameter, data.to_vec())),
        }
        true
    }

    /// Drops pieces of parameters; `false` when there is no such statement.
    pub(crate) fn forget_long_data(&mut self, id: u32) -> bool {
        let Some(statement) = self.statements.get_mut(&id) else {
            return false;
        };
        let bytes: usize = statement.long_data.drain(..).map(|(_, bytes)| bytes.len()).sum();
        self.long_data_bytes -= bytes;
        true
    }
}

/// The parts of an execution's parameter block (MySQL internals, COM_STMT_EXECUTE).
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct ExecuteParameters<'a> {
    pub(crate) null_bitmap: &'a [u8],
    /// Two bytes a parameter; `None` when the client relies on those it bound before.
    pub(crate) types: Option<&'a [u8]>,
    pub(crate) values: &'a [u8],
}

impl<'a> ExecuteParameters<'a> {
    /// Splits what follows the iteration count; `None` when it is too short.
    pub(crate) fn split(block: &'a [u8], parameters: u16) -> Option<Self> {
        let count = usize::from(parameters);
        if count == 0 {
            return Some(Self {
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
            null_bitmap,
            types,
            values,
        })
    }

    /// Appends COM_STMT_EXECUTE for the server's number `id`, types always included: the connection may have run the
    /// statement for another session. No cursor is asked for, so a client that wanted one gets the rows at once,
    /// which it must be ready for: a server may always decline a cursor.
    pub(crate) fn encode(&self, id: u32, types: &[u8], out: &mut Vec<u8>) {
        out.push(23);
        out.extend_from_slice(&id.to_le_bytes());
        out.push(0);
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

    fn text(text: &str, schema: Option<&str>) -> PreparedText {
        PreparedText::new(Rc::from(text.as_bytes()), schema, None)
    }

    fn statement(parameters: u16) -> SessionStatement {
        SessionStatement {
            text: Rc::from(&b"SELECT ?"[..]),
            schema: None,
            parameters,
            types: Vec::new(),
            long_data: Vec::new(),
            decided: None,
        }
    }

    #[test]
    fn the_least_recently_used_is_closed() {
        let mut statements = BackendStatements::default();
        assert_eq!(statements.insert(text("a", None), 1, 2), None);
        assert_eq!(statements.insert(text("b", None), 2, 2), None);
        assert_eq!(statements.get(&text("a", None)), Some(1));
        assert_eq!(statements.insert(text("c", None), 3, 2), Some(2));
        assert_eq!(statements.get(&text("b", None)), None);
        assert_eq!(statements.get(&text("a", None)), Some(1));
    }

    #[test]
    fn a_schema_makes_another_statement() {
        let mut statements = BackendStatements::default();
        statements.insert(text("a", Some("one")), 1, 9);
        assert_eq!(statements.get(&text("a", Some("two"))), None);
        assert_eq!(statements.get(&text("a", None)), None);
        assert_eq!(statements.get(&text("a", Some("one"))), Some(1));
    }

    #[test]
    fn long_data_is_bounded_and_counted() {
        let mut statements = SessionStatements::default();
        let id = statements.next_id();
        statements.insert(id, statement(2));
        assert!(statements.add_long_data(id, 0, &[1; 60], 100));
        assert!(!statements.add_long_data(id, 1, &[1; 60], 100), "over the limit");
        assert!(!statements.add_long_data(id, 2, &[1], 100), "no such parameter");
        assert!(!statements.add_long_data(99, 0, &[1], 100), "no such statement");
        statements.forget_long_data(id);
        assert!(statements.add_long_data(id, 1, &[1; 60], 100));
        statements.close(id);
        assert_eq!(statements.long_data_bytes, 0);
    }

    #[test]
    fn numbers_are_not_reused_while_in_use() {
        let mut statements = SessionStatements {
            last: u32::MAX - 2,
            ..SessionStatements::default()
        };
        statements.insert(1, statement(0));
        assert_eq!(statements.next_id(), u32::MAX - 1);
        assert_eq!(statements.next_id(), 2);
    }

    #[test]
    fn executions_carry_types_even_where_the_client_left_them_out() {
        let types = [3, 0, 0xFD, 0];
        let first = ExecuteParameters::split(&[0, 1, 3, 0, 0xFD, 0, 7, 0, 0, 0, 1, b'x'], 2).unwrap();
        assert_eq!(first.types, Some(&types[..]));
        let second = ExecuteParameters::split(&[0, 0, 7, 0, 0, 0, 1, b'x'], 2).unwrap();
        assert_eq!(second.types, None);
        let encoded = |parameters: &ExecuteParameters<'_>| {
            let mut out = Vec::new();
            parameters.encode(9, &types, &mut out);
            out
        };
        assert_eq!(encoded(&first), encoded(&second));
        assert_eq!(ExecuteParameters::split(&[0, 1, 3], 2), None);
        assert_eq!(ExecuteParameters::split(&[], 1), None);
    }

    proptest::proptest! {
        #[test]
        fn parameter_blocks_of_any_bytes_are_split_or_refused(
            block in proptest::collection::vec(proptest::num::u8::ANY, 0..80),
            parameters in 0_u16..40,
        ) {
            if let Some(split) = ExecuteParameters::split(&block, parameters) {
                let types = split.types.map_or_else(|| vec![0; 2 * usize::from(parameters)], <[u8]>::to_vec);
                let mut payload = Vec::new();
                split.encode(1, &types, &mut payload);
                let again = ExecuteParameters::split(&payload[10..], parameters).unwrap();
                proptest::prop_assert_eq!(again.values, split.values);
                proptest::prop_assert_eq!(again.null_bitmap, split.null_bitmap);
            }
        }
    }
}
