//! Sets of facts about a statement: what keeps it from being a provable read, what it leaves in its session.

use std::fmt;
use std::ops::{BitOr, BitOrAssign};

macro_rules! fact_set {
    ($(#[$doc:meta])* $name:ident { $($(#[$fact_doc:meta])* $fact:ident = $bit:literal, $text:literal;)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
        pub struct $name(u32);

        impl $name {
            /// No fact at all.
            pub const NONE: Self = $name(0);
            $($(#[$fact_doc])* pub const $fact: Self = $name(1 << $bit);)*

            /// True if no fact is in the set.
            pub fn is_empty(self) -> bool {
                self.0 == 0
            }

            /// True if every fact of `other` is in the set.
            pub fn contains(self, other: Self) -> bool {
                self.0 & other.0 == other.0
            }

            /// True if a fact of `other` is in the set.
            pub fn intersects(self, other: Self) -> bool {
                self.0 & other.0 != 0
            }

            /// The facts that are not in `other`.
            pub fn without(self, other: Self) -> Self {
                $name(self.0 & !other.0)
            }

            /// What each fact says, human-readable.
            pub fn texts(self) -> impl Iterator<Item = &'static str> {
                [$(($name::$fact, $text)),*].into_iter().filter(move |(fact, _)| self.contains(*fact)).map(|(_, text)| text)
            }
        }

        impl BitOr for $name {
            type Output = Self;

            fn bitor(self, other: Self) -> Self {
                $name(self.0 | other.0)
            }
        }

        impl BitOrAssign for $name {
            fn bitor_assign(&mut self, other: Self) {
                self.0 |= other.0;
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.debug_set().entries(self.texts()).finish()
            }
        }
    };
}

fact_set! {
    /// Why a statement is not provably a read. Views and what they call are not looked into.
    ReadHazards {
        /// It is not a SELECT, TABLE or VALUES statement.
        NOT_A_SELECT = 0, "is not a SELECT";
        /// `FOR UPDATE`, `FOR SHARE`, `LOCK IN SHARE MODE`.
        LOCKING_READ = 1, "locks what it reads";
        /// `GET_LOCK` and kin.
        NAMED_LOCK = 2, "uses a named lock";
        /// `LAST_INSERT_ID()`, `FOUND_ROWS()`, `ROW_COUNT()`, `SQL_CALC_FOUND_ROWS`, `@@identity` and kin: they speak
        /// of this session's earlier or next statement.
        SESSION_FUNCTION = 3, "reads or leaves state of its session";
        /// `@name`
        USER_VARIABLE = 4, "uses a user variable";
        /// `SELECT … INTO`
        INTO = 5, "has an INTO clause";
        /// `NEXTVAL` and kin.
        SEQUENCE = 6, "uses a sequence";
        /// A function that is not built into MySQL or MariaDB: it can write.
        UNKNOWN_FUNCTION = 7, "calls a function that is not built in";
        /// A function of the server's own files or replication state.
        SERVER_FUNCTION = 8, "calls a function whose answer belongs to one server";
        /// An executable comment: the code differs from server to server.
        EXECUTABLE_COMMENT = 9, "holds an executable comment";
        /// Several statements in one text.
        SEVERAL_STATEMENTS = 10, "holds several statements";
        /// An unterminated comment, string or name.
        UNTERMINATED = 11, "ends inside a comment, string or name";
    }
}

impl SessionEffects {
    /// What a statement leaves on a writer for which the session's later reads stay there.
    pub const BINDS_READS: Self =
        Self(Self::TEMPORARY_TABLE.0 | Self::TABLE_LOCK.0 | Self::NAMED_LOCK.0 | Self::UNKNOWN.0);
}

fact_set! {
    /// What binds a session to its connection once the statement has run.
    SessionEffects {
        /// `@name` is read or set.
        USER_VARIABLE = 0, "user variable";
        /// `CREATE TEMPORARY TABLE`
        TEMPORARY_TABLE = 1, "temporary table";
        /// `LOCK TABLES`, `FLUSH TABLES … WITH READ LOCK`, `… FOR EXPORT`, `LOCK INSTANCE`, `BACKUP LOCK`.
        TABLE_LOCK = 2, "table lock";
        /// `GET_LOCK` and kin.
        NAMED_LOCK = 3, "named lock";
        /// `PREPARE`, `EXECUTE`, `DEALLOCATE` as text.
        TEXT_PREPARE = 4, "prepared statement by name";
        /// `SQL_CALC_FOUND_ROWS`: the next statement may ask for the number.
        FOUND_ROWS = 5, "SQL_CALC_FOUND_ROWS";
        /// `SET` of anything; `set::items` says what.
        SET = 6, "SET";
        /// `HANDLER … OPEN`
        HANDLER = 7, "HANDLER";
        /// `USE`
        SCHEMA = 8, "default schema";
        /// BEGIN and XA.
        TRANSACTION = 9, "transaction";
        /// `LAST_INSERT_ID(…)`, or a statement that can generate one.
        INSERT_ID = 10, "LAST_INSERT_ID";
        /// Code that is not in the text ran: a procedure, a function that is not built in, a text that differs from
        /// server to server.
        UNKNOWN = 11, "unknown code";
        /// `LASTVAL`, `NEXTVAL`: a sequence remembers its last value per session.
        SEQUENCE = 12, "sequence value";
        /// `@@name` is read: not kept state, but an answer that depends on the session's connection.
        READS_SYSTEM_VARIABLE = 13, "reads a system variable";
        /// `LAST_INSERT_ID()`, `FOUND_ROWS()`, `ROW_COUNT()`, `@@identity`, `CONNECTION_ID()` are read: the statement
        /// must run where the one before it ran.
        READS_SESSION = 14, "reads state of its session";
        /// `DATABASE()` or `SCHEMA()` is called: the answer is the connection's schema.
        READS_SCHEMA = 15, "reads the name of its schema";
    }
}
