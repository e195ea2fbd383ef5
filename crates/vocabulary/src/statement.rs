//! Statements: their kinds, and what a firewall makes of them.

use crate::words::words;

words! {
    /// The kinds of statement that `statements:` names.
    pub enum StatementKind {
        /// SELECT, also in parentheses or behind WITH; TABLE, VALUES.
        Select = "select",
        /// INSERT
        Insert = "insert",
        /// UPDATE
        Update = "update",
        /// DELETE
        Delete = "delete",
        /// REPLACE
        Replace = "replace",
        /// CREATE, ALTER, DROP, TRUNCATE, RENAME and other changes of definitions.
        Ddl = "ddl",
        /// CALL
        Call = "call",
        /// SHOW, DESCRIBE, EXPLAIN
        Show = "show",
        /// SET
        Set = "set",
        /// BEGIN, START TRANSACTION
        Begin = "begin",
        /// COMMIT, ROLLBACK
        Commit = "commit",
        /// LOCK TABLES, UNLOCK TABLES
        Lock = "lock",
        /// PREPARE, EXECUTE, DEALLOCATE as text
        Prepare = "prepare",
        /// Everything else.
        Other = "other",
    }

    /// What happens to statements that a firewall does not allow.
    pub enum FirewallMode {
        /// They pass (`OFF`).
        Disabled = "disabled",
        /// They pass and are logged (`DETECTING`).
        Detecting = "detecting",
        /// They are refused (`PROTECTING`).
        Protecting = "protecting",
    }
}
