//! The prepared statements of a session, by the numbers that its client has.

use std::rc::Rc;
use std::sync::Arc;

use rustc_hash::FxHashMap;
use shardwright_rules::{Dispatch, Encoding, HostgroupId, KnownText, PendingKind, Transaction};
use shardwright_sql::Servers;
use shardwright_wire::ByteStore;

use super::cursor::Cursor;
use super::memory::LONG_TEXT;
use super::settings::Settings;
use crate::memory::Buffer;
use crate::reading::Reading;

/// A prepared statement of a session.
pub(crate) struct SessionStatement {
    /// The text as the client sent it: this is what is routed.
    pub(crate) text: Rc<[u8]>,
    /// How its text was read when it was prepared.
    pub(crate) reading: Reading,
    /// What its bytes beyond ASCII are.
    pub(crate) encoding: Encoding,
    /// The servers that it is read for.
    pub(crate) servers: Servers,
    /// What is read of it for them.
    pub(crate) known: KnownText,
    /// SETs of the session before it was prepared.
    pub(crate) sets: u64,
    /// The schema that was current when it was prepared; names in it mean that schema's.
    pub(crate) schema: Option<Arc<str>>,
    pub(crate) parameters: u16,
    /// Types of the parameters, two bytes each, as the client bound them last.
    pub(crate) types: Rc<[u8]>,
    /// Pieces of parameters that wait for the execution.
    pub(crate) long_data: Vec<LongData>,
    /// Why a piece was not taken: it is not executed before it is reset.
    pub(crate) misfit: Option<&'static str>,
    /// The last decision.
    pub(crate) decided: Option<Decided>,
    /// The cursor that its last execution has opened, if it is not closed.
    pub(crate) cursor: Option<Cursor>,
}

impl SessionStatement {
    /// A statement that a session with these settings has just prepared.
    pub(super) fn new(text: Rc<[u8]>, settings: &Settings, servers: Servers, parameters: u16) -> Self {
        let reading = settings.reading();
        Self {
            known: KnownText::of(&text, reading.mode.on(servers)),
            servers,
            text,
            reading,
            encoding: settings.encoding(),
            sets: settings.history.last(),
            schema: settings.schema.clone(),
            parameters,
            types: Rc::default(),
            long_data: Vec::new(),
            misfit: None,
            decided: None,
            cursor: None,
        }
    }

    /// Reads it anew where other servers may run it than before.
    pub(super) fn read_for(&mut self, servers: Servers) {
        if self.servers != servers {
            self.servers = servers;
            self.known = KnownText::of(&self.text, self.reading.mode.on(servers));
            self.decided = None;
        }
    }
}

/// The pieces of a parameter, joined.
pub(crate) struct LongData {
    pub(crate) parameter: u16,
    pub(crate) bytes: Buffer,
}

/// Bytes of memory for a statement beside its text, and for a parameter that comes in pieces.
const OVERHEAD: usize = 1024;
pub(crate) const OVERHEAD_OF_PIECES: usize = 64;

/// A decision, and what it depended on.
pub(crate) struct Decided {
    pub(crate) circumstances: Circumstances,
    pub(crate) dispatch: Rc<Dispatch>,
}

/// What a decision about a prepared statement depends on, besides its text, its schema and its user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Circumstances {
    /// As in [`shardwright_rules::SessionView::state_on`].
    pub(crate) state_on: Vec<HostgroupId>,
    pub(crate) generation: i64,
    pub(crate) transaction: Option<Transaction>,
    pub(crate) transaction_pending: Option<PendingKind>,
    pub(crate) autocommit_off: bool,
    pub(crate) next_query_flag_in: Option<u32>,
}

/// The number by which clients of MariaDB mean the statement that they have prepared last, perhaps before they have its own.
pub(super) const LAST_PREPARED: u32 = u32::MAX;

/// The prepared statements of a session, by the number that the client has.
#[derive(Default)]
pub(crate) struct SessionStatements {
    statements: FxHashMap<u32, SessionStatement>,
    /// The latest number. [`LAST_PREPARED`] means it, if there is such a statement.
    last: u32,
    /// At most 4 GiB: a session is small.
    long_data_bytes: u32,
    /// Bytes of memory for all statements, without pieces of parameters.
    footprint: usize,
}

/// Bytes of memory for a statement: its text, the text that the rules have made of it, and that of the connection which has prepared it.
pub(crate) fn footprint(text: &[u8], parameters: u16) -> usize {
    3 * text.len() + 4 * usize::from(parameters) + OVERHEAD
}

impl SessionStatements {
    pub(crate) fn len(&self) -> usize {
        self.statements.len()
    }

    /// A number that the session has not in use.
    pub(crate) fn next_id(&mut self) -> u32 {
        // 0 is no statement.
        while [0, LAST_PREPARED].contains(&self.last) || self.statements.contains_key(&self.last) {
            self.last = self.last.wrapping_add(1);
        }
        self.last
    }

    /// The latest number is not given again.
    fn pass_over(&mut self) {
        self.last = self.last.wrapping_add(1);
        self.next_id();
    }

    /// The statement that was prepared last, unless preparing another has failed.
    pub(crate) fn last_prepared(&self) -> Option<u32> {
        Some(self.last).filter(|last| self.statements.contains_key(last))
    }

    /// Another statement is prepared, which may fail: the latest number becomes that of no statement.
    pub(crate) fn forget_last(&mut self) {
        self.next_id();
    }

    /// Bytes of memory that they take. Pieces grow, so there may be room for as many again.
    pub(crate) fn footprint(&self) -> usize {
        self.footprint + 2 * self.long_data_bytes as usize
    }

    pub(crate) fn insert(&mut self, id: u32, statement: SessionStatement) {
        self.footprint += footprint(&statement.text, statement.parameters);
        self.statements.insert(id, statement);
    }

    pub(crate) fn get(&self, id: u32) -> Option<&SessionStatement> {
        self.statements.get(&id)
    }

    /// Bytes of parameters that came in pieces, for the next execution of a statement.
    pub(crate) fn long_data_len(&self, id: u32) -> usize {
        let pieces = self.get(id).map_or(&[][..], |statement| &statement.long_data);
        pieces.iter().map(|long| long.bytes.len()).sum()
    }

    /// Whether a statement has nothing that an execution must see to: no cursor of its last one, no pieces of parameters, and no long
    /// text.
    pub(crate) fn is_plain(&self, id: u32) -> bool {
        self.get(id).is_none_or(|statement| {
            statement.cursor.is_none() && statement.long_data.is_empty() && statement.text.len() <= LONG_TEXT
        })
    }

    pub(crate) fn get_mut(&mut self, id: u32) -> Option<&mut SessionStatement> {
        self.statements.get_mut(&id)
    }

    /// Every cursor that is open.
    pub(crate) fn cursors(&self) -> impl Iterator<Item = &Cursor> {
        self.statements
            .values()
            .filter_map(|statement| statement.cursor.as_ref())
    }

    pub(crate) fn close(&mut self, id: u32) {
        self.forget_long_data(id);
        if let Some(closed) = self.statements.remove(&id) {
            self.footprint -= footprint(&closed.text, closed.parameters);
        }
        if self.last == id {
            self.pass_over();
        }
    }

    pub(crate) fn clear(&mut self) {
        self.statements.clear();
        self.pass_over();
        self.long_data_bytes = 0;
        self.footprint = 0;
    }

    /// Keeps a piece of a parameter until the execution. COM_STMT_SEND_LONG_DATA has no answer: as on servers, the execution is told
    /// of a piece that does not fit, and nobody of one for an unknown statement.
    pub(crate) fn add_long_data(&mut self, id: u32, parameter: u16, data: &[u8], limit: usize) {
        let Some(statement) = self.statements.get_mut(&id) else {
            return;
        };
        if parameter >= statement.parameters {
            statement.misfit = Some("the statement has no such parameter");
            return;
        }
        let all = u32::try_from(self.long_data_bytes as usize + data.len());
        let Some(all) = all.ok().filter(|all| *all as usize <= limit) else {
            statement.misfit = Some("the pieces are longer than --max-allowed-packet");
            return;
        };
        self.long_data_bytes = all;
        match statement
            .long_data
            .iter_mut()
            .find(|long| long.parameter == parameter)
        {
            Some(long) => long.bytes.append(data),
            None => {
                let mut bytes = Buffer::new();
                bytes.append(data);
                self.footprint += OVERHEAD_OF_PIECES;
                statement.long_data.push(LongData { parameter, bytes });
            }
        }
    }

    /// Drops pieces of parameters; `false` when there is no such statement.
    pub(crate) fn forget_long_data(&mut self, id: u32) -> bool {
        let Some(statement) = self.statements.get_mut(&id) else {
            return false;
        };
        statement.misfit = None;
        let pieces = std::mem::take(&mut statement.long_data);
        self.footprint -= pieces.len() * OVERHEAD_OF_PIECES;
        let bytes: usize = pieces.iter().map(|long| long.bytes.len()).sum();
        self.long_data_bytes -= bytes as u32;
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn statement(parameters: u16) -> SessionStatement {
        let text = Rc::from(&b"SELECT ?"[..]);
        let settings = Settings::new(None, Encoding::Utf8mb4);
        SessionStatement::new(text, &settings, Servers::ANY, parameters)
    }

    #[test]
    fn long_data_is_bounded_and_counted() {
        let mut statements = SessionStatements::default();
        let id = statements.next_id();
        statements.insert(id, statement(2));
        let mut misfit = |id: u32, parameter, data: &[u8]| {
            statements.add_long_data(id, parameter, data, 100);
            let statement = statements.get_mut(id);
            let misfit = statement.and_then(|statement| statement.misfit).is_some();
            statements.forget_long_data(id);
            misfit
        };
        assert!(!misfit(id, 0, &[1; 60]));
        assert!(misfit(id, 1, &[1; 160]), "over the limit");
        assert!(misfit(id, 2, &[1]), "no such parameter");
        assert!(!misfit(99, 0, &[1]), "no such statement");
        statements.add_long_data(id, 1, &[1; 60], 100);
        assert_eq!(statements.long_data_bytes, 60);
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
        for number in [u32::MAX - 2, u32::MAX - 1, 2] {
            statements.forget_last();
            assert_eq!(statements.last_prepared(), None);
            assert_eq!(statements.next_id(), number);
            statements.insert(number, statement(0));
            assert_eq!(statements.last_prepared(), Some(number));
        }
        statements.close(2);
        assert_eq!(statements.last_prepared(), None);
        assert_eq!(statements.next_id(), 3);
        statements.clear();
        assert_eq!(statements.next_id(), 4);
    }
}
