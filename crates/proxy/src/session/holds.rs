//! Why a backend connection stays with its session: what a statement leaves behind that the next user of the
//! connection must not find, and the session must.

use shardwright_sql::{SessionEffects, Shape, StatementClass};

/// A set of reasons. Empty: the connection is as any session of its user must find it, apart from what is tracked
/// and restored (schema, character set).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Holds(u32);

impl Holds {
    pub(crate) const NONE: Self = Self(0);
    pub(crate) const TRANSACTION: Self = Self(1);
    pub(crate) const XA: Self = Self(1 << 1);
    pub(crate) const AUTOCOMMIT: Self = Self(1 << 2);
    /// SETs that can be replayed on further connections.
    pub(crate) const SESSION_VARIABLES: Self = Self(1 << 3);
    /// SETs that cannot.
    pub(crate) const UNKNOWN_SET: Self = Self(1 << 4);
    pub(crate) const USER_VARIABLES: Self = Self(1 << 5);
    pub(crate) const TEMPORARY_TABLES: Self = Self(1 << 6);
    pub(crate) const TABLE_LOCKS: Self = Self(1 << 7);
    pub(crate) const NAMED_LOCKS: Self = Self(1 << 8);
    pub(crate) const NAMED_STATEMENTS: Self = Self(1 << 9);
    pub(crate) const HANDLERS: Self = Self(1 << 10);
    pub(crate) const SEQUENCES: Self = Self(1 << 11);
    pub(crate) const UNKNOWN_CODE: Self = Self(1 << 12);
    pub(crate) const RULE: Self = Self(1 << 13);
    pub(crate) const INSERT_ID: Self = Self(1 << 14);
    pub(crate) const WARNINGS: Self = Self(1 << 15);
    pub(crate) const FOUND_ROWS: Self = Self(1 << 16);
    /// A statement that may read tables has switched autocommit. MariaDB 10.11 then does not know of the transaction
    /// that is open: its status does not tell, and COM_RESET_CONNECTION does not end it.
    pub(crate) const AUTOCOMMIT_BY_CODE: Self = Self(1 << 17);

    /// Reasons that end by themselves after a while.
    pub(crate) const BRIEF: Self = Self(Self::INSERT_ID.0 | Self::WARNINGS.0 | Self::FOUND_ROWS.0);
    /// What a further connection can be given as well, or is asked about right after its statement or never.
    pub(crate) const REPEATABLE: Self = Self(Self::SESSION_VARIABLES.0 | Self::AUTOCOMMIT.0 | Self::BRIEF.0);
    /// What only closing the connection puts an end to.
    pub(crate) const UNTIL_CLOSED: Self = Self(Self::XA.0 | Self::AUTOCOMMIT_BY_CODE.0);
    /// A transaction is open.
    pub(crate) const IN_TRANSACTION: Self = Self(Self::TRANSACTION.0 | Self::XA.0);
    /// State that a statement elsewhere would miss without a word: it is refused instead.
    pub(crate) const NOT_ELSEWHERE: Self = Self(Self::TABLE_LOCKS.0 | Self::UNKNOWN_SET.0);
    /// State that a statement that reads or writes rows elsewhere would miss: a temporary table hides the table of its
    /// name, and code that is not in the text may have made one, or set variables.
    pub(crate) const NO_WORK_ELSEWHERE: Self = Self(Self::TEMPORARY_TABLES.0 | Self::UNKNOWN_CODE.0);
    /// State on a writer for which reads stay there.
    pub(crate) const NOT_ON_READERS: Self =
        Self(Self::NOT_ELSEWHERE.0 | Self::NO_WORK_ELSEWHERE.0 | Self::NAMED_LOCKS.0 | Self::XA.0);

    const TEXTS: [(Self, &'static str); 18] = [
        (Self::TRANSACTION, "an open transaction"),
        (Self::XA, "an XA transaction"),
        (Self::AUTOCOMMIT, "autocommit=0"),
        (Self::SESSION_VARIABLES, "session variables"),
        (Self::UNKNOWN_SET, "a SET that cannot be repeated elsewhere"),
        (Self::USER_VARIABLES, "user variables"),
        (Self::TEMPORARY_TABLES, "temporary tables"),
        (Self::TABLE_LOCKS, "table locks"),
        (Self::NAMED_LOCKS, "named locks"),
        (Self::NAMED_STATEMENTS, "prepared statements by name"),
        (Self::HANDLERS, "HANDLER"),
        (Self::SEQUENCES, "sequence values"),
        (Self::UNKNOWN_CODE, "code that the statement does not show"),
        (Self::RULE, "a rule with multiplex=0"),
        (Self::INSERT_ID, "LAST_INSERT_ID()"),
        (Self::WARNINGS, "SHOW WARNINGS"),
        (Self::FOUND_ROWS, "FOUND_ROWS()"),
        (
            Self::AUTOCOMMIT_BY_CODE,
            "an autocommit that was not set to 0 or 1 in the text",
        ),
    ];

    pub(crate) fn is_empty(self) -> bool {
        self == Self::NONE
    }

    pub(crate) fn intersects(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    pub(crate) fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    pub(crate) fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    fn set(self, what: Self, is_set: bool) -> Self {
        if is_set {
            self.with(what)
        } else {
            self.without(what)
        }
    }

    /// The reasons, human-readable.
    pub(crate) fn texts(self) -> String {
        let texts = Self::TEXTS
            .iter()
            .filter(|(hold, _)| self.intersects(*hold))
            .map(|(_, text)| *text);
        texts.collect::<Vec<_>>().join(", ")
    }
}

/// What is known once a statement has been answered.
#[derive(Clone, Copy, Debug)]
pub(crate) struct After<'a> {
    pub(crate) shape: &'a Shape,
    /// The server's word on an open transaction; `None` when it did not say.
    pub(crate) in_transaction: Option<bool>,
    /// The session's autocommit.
    pub(crate) autocommit: bool,
    pub(crate) failed: bool,
    pub(crate) insert_id: u64,
    pub(crate) warnings: u16,
    /// What a SET has left.
    pub(crate) set: SetLeft,
    /// What else the first words of the statement say.
    pub(crate) ending: Ending,
    /// `multiplex` of the rules.
    pub(crate) multiplex: Option<u8>,
}

/// What a SET statement leaves on its connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum SetLeft {
    /// Nothing that is not tracked, or it was no SET.
    #[default]
    Nothing,
    /// What can be replayed.
    Replayable,
    /// What cannot.
    Unknown,
}

/// A statement that ends a reason.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Ending {
    /// It ends none.
    #[default]
    None,
    /// `UNLOCK TABLES`
    TableLocks,
    /// `XA COMMIT`, `XA ROLLBACK`
    Xa,
    /// It asks about the statement before: what that left stays.
    Asks,
}

/// The reasons after a statement, from those before it.
pub(crate) fn after(before: Holds, facts: &After<'_>) -> Holds {
    let effects = facts.shape.effects;
    let has = |effect| effects.intersects(effect);
    let mut holds = before;
    if facts.ending != Ending::Asks {
        holds = holds.without(Holds::WARNINGS.with(Holds::FOUND_ROWS));
    }
    if let Some(in_transaction) = facts.in_transaction {
        holds = holds.set(Holds::TRANSACTION, in_transaction);
    }
    holds = holds.set(Holds::AUTOCOMMIT, !facts.autocommit);
    if facts.shape.class == StatementClass::Xa {
        let is_over = facts.ending == Ending::Xa && !facts.failed;
        holds = holds.set(Holds::XA, !is_over);
    }
    for (effect, hold) in [
        (SessionEffects::TEMPORARY_TABLE, Holds::TEMPORARY_TABLES),
        (SessionEffects::TABLE_LOCK, Holds::TABLE_LOCKS),
        (SessionEffects::NAMED_LOCK, Holds::NAMED_LOCKS),
        (SessionEffects::TEXT_PREPARE, Holds::NAMED_STATEMENTS),
        (SessionEffects::HANDLER, Holds::HANDLERS),
        (SessionEffects::SEQUENCE, Holds::SEQUENCES),
        (SessionEffects::FOUND_ROWS, Holds::FOUND_ROWS),
    ] {
        if has(effect) {
            holds = holds.with(hold);
        }
    }
    if facts.ending == Ending::TableLocks && !facts.failed {
        holds = holds.without(Holds::TABLE_LOCKS);
    }
    holds = match facts.set {
        SetLeft::Nothing => holds,
        SetLeft::Replayable => holds.with(Holds::SESSION_VARIABLES),
        SetLeft::Unknown => holds.with(Holds::UNKNOWN_SET),
    };
    holds.with(by_choice(facts))
}

/// Reasons that a rule can wave aside.
fn by_choice(facts: &After<'_>) -> Holds {
    let has = |effect| facts.shape.effects.intersects(effect);
    let mut holds = Holds::NONE;
    if facts.multiplex == Some(0) {
        holds = holds.with(Holds::RULE);
    }
    if facts.multiplex == Some(1) {
        return holds;
    }
    if has(SessionEffects::USER_VARIABLE) && facts.multiplex != Some(2) {
        holds = holds.with(Holds::USER_VARIABLES);
    }
    if has(SessionEffects::UNKNOWN) {
        holds = holds.with(Holds::UNKNOWN_CODE);
    }
    // SELECT and DO have no field for the id in their answer, so it cannot be seen whether one was left.
    let may_leave_id = has(SessionEffects::INSERT_ID)
        && matches!(
            facts.shape.class,
            StatementClass::Select | StatementClass::Do | StatementClass::Set
        );
    if facts.insert_id != 0 || may_leave_id {
        holds = holds.with(Holds::INSERT_ID);
    }
    if facts.warnings != 0 {
        holds = holds.with(Holds::WARNINGS);
    }
    holds
}

#[cfg(test)]
mod tests {
    use super::*;
    use shardwright_sql::LexMode;

    fn holds_after(before: Holds, sql: &str, change: impl FnOnce(&mut After<'_>)) -> Holds {
        let shape = Shape::of(sql.as_bytes(), LexMode::default());
        let mut facts = After {
            shape: &shape,
            in_transaction: Some(false),
            autocommit: true,
            failed: false,
            insert_id: 0,
            warnings: 0,
            set: SetLeft::Nothing,
            ending: Ending::None,
            multiplex: None,
        };
        change(&mut facts);
        after(before, &facts)
    }

    #[test]
    fn what_leaves_nothing_holds_nothing() {
        for sql in [
            "SELECT 1",
            "SELECT name FROM t WHERE id = 5",
            "INSERT INTO t (id) VALUES (1)",
            "UPDATE t SET a = 1",
            "DELETE FROM t",
            "SHOW TABLES",
            "COMMIT",
        ] {
            assert_eq!(holds_after(Holds::NONE, sql, |_| ()), Holds::NONE, "{sql}");
        }
    }

    #[test]
    fn each_kind_of_state_has_its_reason() {
        for (sql, expected) in [
            ("SELECT @a := 1", Holds::USER_VARIABLES),
            ("CREATE TEMPORARY TABLE x (a INT)", Holds::TEMPORARY_TABLES),
            ("LOCK TABLES t WRITE", Holds::TABLE_LOCKS),
            ("SELECT GET_LOCK('a', 1)", Holds::NAMED_LOCKS),
            ("PREPARE s FROM 'SELECT 1'", Holds::NAMED_STATEMENTS),
            ("HANDLER t OPEN", Holds::HANDLERS),
            ("SELECT SQL_CALC_FOUND_ROWS * FROM t", Holds::FOUND_ROWS),
            ("CALL p()", Holds::UNKNOWN_CODE),
            ("SELECT my_function(1)", Holds::UNKNOWN_CODE),
            ("SELECT LAST_INSERT_ID(5)", Holds::INSERT_ID),
            ("XA START 'a'", Holds::XA),
        ] {
            let holds = holds_after(Holds::NONE, sql, |_| ());
            assert!(holds.intersects(expected), "{sql}: {}", holds.texts());
        }
    }

    #[test]
    fn a_transaction_lasts_as_long_as_the_server_says() {
        let open = holds_after(Holds::NONE, "BEGIN", |facts| facts.in_transaction = Some(true));
        assert_eq!(open, Holds::TRANSACTION);
        let unsaid = holds_after(open, "SELECT 1", |facts| facts.in_transaction = None);
        assert_eq!(unsaid, Holds::TRANSACTION);
        assert_eq!(holds_after(open, "COMMIT", |_| ()), Holds::NONE);
    }

    #[test]
    fn warnings_and_found_rows_last_until_the_next_statement_that_does_not_ask() {
        let left = holds_after(Holds::NONE, "SELECT 1/0", |facts| facts.warnings = 1);
        assert_eq!(left, Holds::WARNINGS);
        let asked = holds_after(left, "SHOW WARNINGS", |facts| facts.ending = Ending::Asks);
        assert_eq!(asked, Holds::WARNINGS);
        assert_eq!(holds_after(asked, "SELECT 1", |_| ()), Holds::NONE);
    }

    #[test]
    fn an_insert_id_outlasts_other_statements() {
        let left = holds_after(Holds::NONE, "INSERT INTO t VALUES (NULL)", |facts| {
            facts.insert_id = 7
        });
        assert_eq!(left, Holds::INSERT_ID);
        assert_eq!(holds_after(left, "SELECT 1", |_| ()), Holds::INSERT_ID);
    }

    #[test]
    fn rules_can_keep_and_release() {
        let kept = holds_after(Holds::NONE, "SELECT 1", |facts| facts.multiplex = Some(0));
        assert_eq!(kept, Holds::RULE);
        for (multiplex, expected) in [
            (Some(1), Holds::NONE),
            (Some(2), Holds::NONE),
            (None, Holds::USER_VARIABLES),
        ] {
            assert_eq!(
                holds_after(Holds::NONE, "SELECT @a", |facts| facts.multiplex = multiplex),
                expected
            );
        }
        let in_transaction = holds_after(Holds::NONE, "BEGIN", |facts| {
            facts.multiplex = Some(1);
            facts.in_transaction = Some(true);
        });
        assert_eq!(
            in_transaction,
            Holds::TRANSACTION,
            "a transaction is not a matter of choice"
        );
    }

    #[test]
    fn locks_end_with_unlock_unless_it_fails() {
        let unlock = |failed| {
            holds_after(Holds::TABLE_LOCKS, "UNLOCK TABLES", |facts| {
                facts.ending = Ending::TableLocks;
                facts.failed = failed;
            })
        };
        assert_eq!(unlock(false), Holds::NONE);
        assert_eq!(unlock(true), Holds::TABLE_LOCKS);
    }

    #[test]
    fn reasons_are_named() {
        assert_eq!(
            Holds::TRANSACTION.with(Holds::WARNINGS).texts(),
            "an open transaction, SHOW WARNINGS"
        );
    }
}
