//! Why a backend connection stays with its session: what a statement leaves behind that the next user of the
//! connection must not find, and the session must.

use shardwright_sql::{SessionEffects, Shape, StatementClass};

bitflags::bitflags! {
    /// A set of reasons. Empty: the connection is as any session of its user must find it, apart from what is tracked
    /// and restored (schema, character set).
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub(crate) struct Holds: u32 {
        const TRANSACTION = 1;
        const XA = 1 << 1;
        /// Savepoints under autocommit=0, which the server's status does not tell of before the transaction opens.
        const SAVEPOINTS = 1 << 2;
        /// `SET TRANSACTION …`: whether a statement has used it up cannot be seen.
        const NEXT_TRANSACTION = 1 << 3;
        /// SETs that cannot.
        const UNKNOWN_SET = 1 << 4;
        const USER_VARIABLES = 1 << 5;
        const TEMPORARY_TABLES = 1 << 6;
        const TABLE_LOCKS = 1 << 7;
        const NAMED_LOCKS = 1 << 8;
        const NAMED_STATEMENTS = 1 << 9;
        const HANDLERS = 1 << 10;
        const SEQUENCES = 1 << 11;
        const UNKNOWN_CODE = 1 << 12;
        const RULE = 1 << 13;
        const WARNINGS = 1 << 15;
        const FOUND_ROWS = 1 << 16;
        /// A statement that may read tables has switched autocommit. MariaDB 10.11 then does not know of the transaction
        /// that is open: its status does not tell, and COM_RESET_CONNECTION does not end it.
        const AUTOCOMMIT_BY_CODE = 1 << 17;
        const CURSORS = 1 << 18;
        /// The role, the resource group, profiles and traces: COM_RESET_CONNECTION leaves them as they are.
        const OUTLASTS_RESET = 1 << 19;

        /// Reasons that end by themselves after a while.
        const BRIEF = Self::WARNINGS.bits() | Self::FOUND_ROWS.bits();
        /// What a further connection can be given as well, or is asked about right after its statement or never.
        const REPEATABLE = Self::NEXT_TRANSACTION.bits() | Self::BRIEF.bits();
        /// What only closing the connection puts an end to.
        const UNTIL_CLOSED = Self::XA.bits() | Self::AUTOCOMMIT_BY_CODE.bits() | Self::OUTLASTS_RESET.bits();
        /// A transaction is open.
        const IN_TRANSACTION = Self::TRANSACTION.bits() | Self::XA.bits();
        /// Something is begun that later statements end: a pause of the cluster does not hold it up.
        const UNFINISHED = Self::IN_TRANSACTION.bits()
            | Self::SAVEPOINTS.bits()
            | Self::TABLE_LOCKS.bits()
            | Self::CURSORS.bits();
        /// State that a statement elsewhere would miss without a word: it is refused instead.
        const NOT_ELSEWHERE = Self::TABLE_LOCKS.bits() | Self::UNKNOWN_SET.bits();
        /// State that a statement that reads or writes rows elsewhere would miss: a temporary table hides the table of its
        /// name, code that is not in the text may have made one, or set variables, and a savepoint takes nothing back elsewhere.
        const NO_WORK_ELSEWHERE =
            Self::TEMPORARY_TABLES.bits() | Self::UNKNOWN_CODE.bits() | Self::SAVEPOINTS.bits();
        /// State on a writer for which reads stay there.
        const NOT_ON_READERS = Self::NOT_ELSEWHERE.bits()
            | Self::NO_WORK_ELSEWHERE.bits()
            | Self::NAMED_LOCKS.bits()
            | Self::XA.bits();
    }
}

impl Holds {
    const TEXTS: [(Self, &'static str); 19] = [
        (Self::TRANSACTION, "an open transaction"),
        (Self::XA, "an XA transaction"),
        (Self::SAVEPOINTS, "a savepoint under autocommit=0"),
        (Self::NEXT_TRANSACTION, "SET TRANSACTION"),
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
        (Self::WARNINGS, "SHOW WARNINGS"),
        (Self::FOUND_ROWS, "FOUND_ROWS()"),
        (
            Self::AUTOCOMMIT_BY_CODE,
            "an autocommit that was not set to 0 or 1 in the text",
        ),
        (Self::CURSORS, "an open cursor"),
        (Self::OUTLASTS_RESET, "state that a reset does not undo"),
    ];

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
    /// It is a COMMIT or ROLLBACK that opens no other transaction.
    pub(crate) ends_transaction: bool,
    pub(crate) failed: bool,
    /// Its error says that the XA transaction is rolled back.
    pub(crate) was_rolled_back: bool,
    pub(crate) warnings: u16,
    /// What a SET has left.
    pub(crate) set: SetLeft,
    /// What else the first words of the statement say.
    pub(crate) ending: Ending,
    /// It is an XA START or XA BEGIN.
    pub(crate) begins_xa: bool,
    /// It runs nothing: it is a question about an earlier statement, such as GET DIAGNOSTICS.
    pub(crate) is_question: bool,
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
    let mut holds = before;
    if facts.ending != Ending::Asks {
        holds.remove(Holds::WARNINGS | Holds::FOUND_ROWS);
    }
    if let Some(in_transaction) = facts.in_transaction {
        holds.set(Holds::TRANSACTION, in_transaction);
    }
    if facts.autocommit || facts.ends_transaction {
        holds.remove(Holds::SAVEPOINTS);
    } else if facts.shape.class == StatementClass::Savepoint && !facts.failed {
        holds |= Holds::SAVEPOINTS;
    }
    // A server says no to most of XA in most states, and the state stays as it was. XA RECOVER belongs to none.
    if facts.begins_xa && !facts.failed {
        holds |= Holds::XA;
    }
    if facts.ending == Ending::Xa && (!facts.failed || facts.was_rolled_back) {
        holds.remove(Holds::XA);
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
        if effects.intersects(effect) {
            holds |= hold;
        }
    }
    if facts.ending == Ending::TableLocks && !facts.failed {
        holds.remove(Holds::TABLE_LOCKS);
    }
    holds |= match facts.set {
        SetLeft::Nothing | SetLeft::Replayable => Holds::empty(),
        SetLeft::Unknown => Holds::UNKNOWN_SET,
    };
    holds | by_choice(facts)
}

/// Reasons that a rule can wave aside.
fn by_choice(facts: &After<'_>) -> Holds {
    let has = |effect| facts.shape.effects.intersects(effect);
    let mut holds = Holds::empty();
    if facts.multiplex == Some(0) {
        holds |= Holds::RULE;
    }
    if facts.multiplex == Some(1) {
        return holds;
    }
    if has(SessionEffects::USER_VARIABLE) && facts.multiplex != Some(2) {
        holds |= Holds::USER_VARIABLES;
    }
    if has(SessionEffects::UNKNOWN) && !facts.is_question {
        holds |= Holds::UNKNOWN_CODE;
    }
    if facts.warnings != 0 {
        holds |= Holds::WARNINGS;
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
            ends_transaction: false,
            failed: false,
            was_rolled_back: false,
            warnings: 0,
            set: SetLeft::Nothing,
            ending: Ending::None,
            begins_xa: sql.starts_with("XA START"),
            is_question: false,
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
            assert_eq!(holds_after(Holds::empty(), sql, |_| ()), Holds::empty(), "{sql}");
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
            ("XA START 'a'", Holds::XA),
        ] {
            let holds = holds_after(Holds::empty(), sql, |_| ());
            assert!(holds.intersects(expected), "{sql}: {}", holds.texts());
        }
    }

    #[test]
    fn a_transaction_lasts_as_long_as_the_server_says() {
        let open = holds_after(Holds::empty(), "BEGIN", |facts| facts.in_transaction = Some(true));
        assert_eq!(open, Holds::TRANSACTION);
        let unsaid = holds_after(open, "SELECT 1", |facts| facts.in_transaction = None);
        assert_eq!(unsaid, Holds::TRANSACTION);
        assert_eq!(holds_after(open, "COMMIT", |_| ()), Holds::empty());
    }

    #[test]
    fn warnings_and_found_rows_last_until_the_next_statement_that_does_not_ask() {
        let left = holds_after(Holds::empty(), "SELECT 1/0", |facts| facts.warnings = 1);
        assert_eq!(left, Holds::WARNINGS);
        let asked = holds_after(left, "SHOW WARNINGS", |facts| facts.ending = Ending::Asks);
        assert_eq!(asked, Holds::WARNINGS);
        assert_eq!(holds_after(asked, "SELECT 1", |_| ()), Holds::empty());
    }

    #[test]
    fn rules_can_keep_and_release() {
        let kept = holds_after(Holds::empty(), "SELECT 1", |facts| facts.multiplex = Some(0));
        assert_eq!(kept, Holds::RULE);
        for (multiplex, expected) in [
            (Some(1), Holds::empty()),
            (Some(2), Holds::empty()),
            (None, Holds::USER_VARIABLES),
        ] {
            assert_eq!(
                holds_after(Holds::empty(), "SELECT @a", |facts| facts.multiplex = multiplex),
                expected
            );
        }
        let in_transaction = holds_after(Holds::empty(), "BEGIN", |facts| {
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
        assert_eq!(unlock(false), Holds::empty());
        assert_eq!(unlock(true), Holds::TABLE_LOCKS);
    }

    #[test]
    fn xa_lasts_from_a_start_that_works_to_an_end_that_does() {
        let after = |before, sql: &str, failed, was_rolled_back| {
            holds_after(before, sql, |facts| {
                (facts.failed, facts.was_rolled_back) = (failed, was_rolled_back);
                if sql.starts_with("XA COMMIT") {
                    facts.ending = Ending::Xa;
                }
            })
        };
        for sql in ["XA START 'a'", "XA END 'a'", "XA PREPARE 'a'", "XA COMMIT 'a'"] {
            assert_eq!(after(Holds::empty(), sql, true, false), Holds::empty(), "{sql}");
            assert_eq!(after(Holds::XA, sql, true, false), Holds::XA, "{sql}");
        }
        assert_eq!(after(Holds::empty(), "XA RECOVER", false, false), Holds::empty());
        for sql in ["XA RECOVER", "XA END 'a'", "XA PREPARE 'a'"] {
            assert_eq!(after(Holds::XA, sql, false, false), Holds::XA, "{sql}");
        }
        assert_eq!(after(Holds::XA, "XA COMMIT 'a'", false, false), Holds::empty());
        assert_eq!(
            after(Holds::XA, "XA COMMIT 'a' ONE PHASE", true, true),
            Holds::empty()
        );
    }

    #[test]
    fn every_reason_is_on_the_page() {
        let page = include_str!("../../../../docs/language/pooling.md");
        for (_, text) in Holds::TEXTS {
            assert!(page.contains(&format!("\n| {text} | ")), "{text}");
        }
        assert_eq!(Holds::TEXTS.len(), Holds::all().iter().count());
    }

    #[test]
    fn autocommit_off_holds_for_savepoints_only() {
        let off = |before, sql: &str, ends_transaction| {
            holds_after(before, sql, |facts| {
                facts.autocommit = false;
                facts.ends_transaction = ends_transaction;
            })
        };
        assert_eq!(off(Holds::empty(), "SELECT 1", false), Holds::empty());
        let saved = off(Holds::empty(), "SAVEPOINT a", false);
        assert_eq!(saved, Holds::SAVEPOINTS);
        assert_eq!(off(saved, "ROLLBACK TO a", false), Holds::SAVEPOINTS);
        assert_eq!(off(saved, "COMMIT", true), Holds::empty());
    }

    #[test]
    fn reasons_are_named() {
        assert_eq!(
            (Holds::TRANSACTION | Holds::WARNINGS).texts(),
            "an open transaction, SHOW WARNINGS"
        );
    }
}
