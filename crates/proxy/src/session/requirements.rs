//! What a statement needs of the connection that it is sent on.

use std::sync::Arc;

use shardwright_rules::HostgroupId;
use shardwright_sql::Servers;

use super::asked::Asked;
use super::named_locks::LockNames;
use super::place::Place;
use super::variables::VariableNames;

/// Servers that a statement must not go to: they lack what it must see, or have lost it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct NotOn {
    /// Members by their numbers.
    pub(super) members: Vec<u64>,
    /// The server that is the writer by then.
    pub(super) writer: bool,
}

/// Connections of the session that a statement is about.
#[derive(Clone, Debug)]
pub(super) struct OwnConnections {
    /// The one that has the answer about earlier statements.
    pub(super) earlier: Option<Place>,
    /// Those that have the named locks which it takes, frees or asks for.
    pub(super) locks: Option<Box<LockNames>>,
}

impl OwnConnections {
    /// `None`: it is about none.
    pub(super) fn of(earlier: Option<Place>, locks: Option<Box<LockNames>>) -> Option<Box<Self>> {
        let is_any = earlier.is_some() || locks.is_some();
        is_any.then(|| Box::new(Self { earlier, locks }))
    }
}

/// What a statement needs of its connection.
#[derive(Clone, Debug)]
pub(super) struct Requirements {
    pub(super) hostgroup: HostgroupId,
    /// The schema to be in.
    pub(super) schema: Option<Arc<str>>,
    /// Without a schema, any will do: the session's is a logical one, the statement was not placed, and no name in it means the schema.
    pub(super) any_schema: bool,
    /// It is about no schema: COMMIT and its kin, and questions about earlier statements.
    pub(super) needs_no_schema: bool,
    pub(super) user_variables: bool,
    /// User variables that it reads and a trigger may have set.
    pub(super) hidden_variables: Option<Box<VariableNames>>,
    /// It asks about the session's earlier statements, and reads and writes nothing else.
    pub(super) is_question: bool,
    /// What it asks about the session's earlier statements.
    pub(super) asked: Asked,
    /// It may read LAST_INSERT_ID(), or leave it as it is.
    pub(super) insert_id: bool,
    /// It reads LAST_INSERT_ID().
    pub(super) asks_insert_id: bool,
    /// It runs code that may read it, user variables, or numbers of rows.
    pub(super) runs_unseen_code: bool,
    /// It may read `character_set_database`, which is that of the session's schema.
    pub(super) reads_schema_charset: bool,
    /// Connections of the session that it is about; seldom any.
    pub(super) own: Option<Box<OwnConnections>>,
    /// It reads `@@in_transaction`.
    pub(super) in_transaction: bool,
    /// It opens the transaction that was begun.
    pub(super) opens: bool,
    /// It can begin a transaction: what was said about the next one is about it.
    pub(super) begins: bool,
    /// It may use up what is set for the next transaction.
    pub(super) may_use_up: bool,
    /// It only reads, and is no part of a transaction.
    pub(super) is_read_alone: bool,
    /// Such a read is given READ ONLY with what is set for the next transaction.
    pub(super) is_marked: bool,
    /// It may be about tables.
    pub(super) is_work: bool,
    /// The servers for which the statement was read: another may read it otherwise.
    pub(super) read_for: Servers,
    /// Servers that it must not go to; seldom any.
    pub(super) not_on: Option<Box<NotOn>>,
}

impl Requirements {
    /// Keeps a statement that is sent again off further servers.
    pub(super) fn keep_off(&mut self, not_on: NotOn) {
        if not_on == NotOn::default() {
            return;
        }
        let known = self.not_on.get_or_insert_default();
        known.members.extend(not_on.members);
        known.writer |= not_on.writer;
    }

    /// Members that it must not go to, by their numbers.
    pub(super) fn avoided_members(&self) -> &[u64] {
        self.not_on.as_deref().map_or(&[], |not_on| &not_on.members)
    }

    /// Whether it must not go to the server that writes: a reader has lost it.
    pub(super) fn is_kept_off_writer(&self) -> bool {
        self.not_on.as_deref().is_some_and(|not_on| not_on.writer)
    }

    /// The connection that has the answer about earlier statements.
    pub(super) fn earlier(&self) -> Option<Place> {
        self.own.as_ref()?.earlier
    }

    /// The named locks that the statement is about.
    pub(super) fn locks(&self) -> Option<&LockNames> {
        self.own.as_ref()?.locks.as_deref()
    }

    /// It may find numbers of rows that a statement before has left on the connection.
    pub(super) fn may_find_counts(&self) -> bool {
        self.user_variables || self.runs_unseen_code || self.asks()
    }

    /// It asks about the session's earlier statements.
    pub(super) fn asks(&self) -> bool {
        !self.asked.is_nothing()
    }

    /// What it takes to prepare the statement, which runs nothing: it opens no transaction and asks nothing.
    pub(super) fn into_preparation(self) -> Self {
        Self {
            schema: self.schema,
            any_schema: self.any_schema,
            needs_no_schema: self.needs_no_schema,
            user_variables: self.user_variables,
            may_use_up: self.may_use_up,
            is_read_alone: self.is_read_alone,
            is_marked: self.is_marked,
            read_for: self.read_for,
            not_on: self.not_on,
            ..Self::settings_only(self.hostgroup)
        }
    }

    /// A connection with the session's settings, for a question of the proxy's own.
    pub(super) fn settings_only(hostgroup: HostgroupId) -> Self {
        Self {
            hostgroup,
            schema: None,
            any_schema: false,
            needs_no_schema: true,
            user_variables: false,
            hidden_variables: None,
            is_question: false,
            asked: Asked::default(),
            insert_id: false,
            asks_insert_id: false,
            runs_unseen_code: false,
            reads_schema_charset: false,
            own: None,
            in_transaction: false,
            opens: false,
            begins: false,
            may_use_up: false,
            is_read_alone: false,
            is_marked: false,
            is_work: false,
            read_for: Servers::ALL,
            not_on: None,
        }
    }
}
