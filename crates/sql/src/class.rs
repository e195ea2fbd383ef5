//! What kind of statement a text is, whether it is provably a read, and what it leaves behind in its session.

mod effects;
mod keywords;
mod shape;
mod words;

pub use effects::{ReadHazards, SessionEffects};
pub use keywords::classify;
pub(crate) use keywords::{MAX_NESTED, classify_from, code_of};
pub use shape::{Shape, called_functions, calls_of_no_read, function_names, words_of_no_read};

use shardwright_vocabulary::StatementKind;

/// The kind of a statement, from its leading keywords.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum StatementClass {
    /// `SELECT`, `(SELECT`, `WITH … SELECT`, `TABLE t`, `VALUES ROW(…)`.
    Select,
    /// `INSERT`
    Insert,
    /// `UPDATE`, `WITH … UPDATE`
    Update,
    /// `DELETE`, `WITH … DELETE`
    Delete,
    /// `REPLACE`
    Replace,
    /// `LOAD DATA`, `LOAD XML`
    Load,
    /// `CREATE`, `ALTER`, `DROP`, `RENAME`, `TRUNCATE`
    Ddl,
    /// `CALL`
    Call,
    /// `SHOW`
    Show,
    /// `EXPLAIN`, `DESCRIBE`, `DESC`, and MariaDB's `ANALYZE SELECT …`, which executes.
    Explain,
    /// `SET …`, but not MariaDB's `SET STATEMENT … FOR …`.
    Set,
    /// `USE`
    Use,
    /// `BEGIN`, `START TRANSACTION`
    Begin,
    /// `COMMIT`
    Commit,
    /// `ROLLBACK`, also `ROLLBACK TO SAVEPOINT`
    Rollback,
    /// `SAVEPOINT`, `RELEASE SAVEPOINT`
    Savepoint,
    /// `XA …`
    Xa,
    /// `LOCK`, `UNLOCK`, `BACKUP LOCK`, `BACKUP STAGE`
    Lock,
    /// `PREPARE`, `EXECUTE`, `DEALLOCATE PREPARE`
    Prepare,
    /// `DO`
    Do,
    /// `HANDLER`
    Handler,
    /// `KILL`
    Kill,
    /// No token but blanks and comments.
    Empty,
    /// Everything else.
    Other,
}

impl StatementClass {
    /// The kind that `statements:` in a match names it by. Classes are finer: a proxy must tell USE from KILL, users need not.
    pub fn kind(self) -> StatementKind {
        match self {
            StatementClass::Select => StatementKind::Select,
            StatementClass::Insert => StatementKind::Insert,
            StatementClass::Update => StatementKind::Update,
            StatementClass::Delete => StatementKind::Delete,
            StatementClass::Replace => StatementKind::Replace,
            StatementClass::Ddl => StatementKind::Ddl,
            StatementClass::Call => StatementKind::Call,
            StatementClass::Show => StatementKind::Show,
            StatementClass::Set => StatementKind::Set,
            StatementClass::Begin => StatementKind::Begin,
            StatementClass::Commit => StatementKind::Commit,
            StatementClass::Lock => StatementKind::Lock,
            StatementClass::Prepare => StatementKind::Prepare,
            _ => StatementKind::Other,
        }
    }

    /// COMMIT, ROLLBACK, SAVEPOINT and XA: they follow the open transaction. BEGIN opens one and is not among them.
    pub fn is_transaction_control(self) -> bool {
        matches!(
            self,
            StatementClass::Commit
                | StatementClass::Rollback
                | StatementClass::Savepoint
                | StatementClass::Xa
        )
    }
}
