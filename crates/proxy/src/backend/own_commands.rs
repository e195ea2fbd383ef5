//! What commands of the proxy's own do to a connection's answers about the statement before: FOUND_ROWS(), ROW_COUNT() and
//! the list of warnings are then about such a command.
//!
//! Measured on MariaDB 10.11 and MySQL 9.7: a ping sets ROW_COUNT() to 0, SHOW WARNINGS to -1, and both leave the rest. A SET
//! leaves FOUND_ROWS(). MySQL begins its list with every other statement, MariaDB with one that names a table.

use shardwright_wire::{Command, Outcome};

/// How often each answer was changed by commands of the proxy's own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct OwnCommands {
    pub(crate) found_rows: u32,
    pub(crate) row_count: u32,
    pub(crate) warnings: u32,
}

/// Statements of the proxy's own that leave FOUND_ROWS().
const LEAVING_FOUND_ROWS: [&[u8]; 6] = [
    b"SET ",
    b"BEGIN",
    b"START ",
    b"XA ",
    b"SAVEPOINT ",
    b"SHOW WARNINGS",
];

impl OwnCommands {
    /// Notes a command that was answered.
    pub(crate) fn note(&mut self, command: &Command<'_>, outcome: &Outcome, is_mariadb: bool) {
        let warns = outcome.warnings > 0 || outcome.error.is_some();
        match command {
            Command::Ping | Command::InitDb(_) => {
                self.row_count += 1;
                self.warnings += u32::from(outcome.error.is_some());
            }
            Command::Query(text) => {
                self.row_count += 1;
                let leaves = LEAVING_FOUND_ROWS.iter().any(|word| begins(text, word));
                self.found_rows += u32::from(!leaves || outcome.error.is_some());
                let keeps_list = match is_mariadb {
                    true => !warns && !names_table(text),
                    false => false,
                };
                self.warnings += u32::from(!keeps_list && !begins(text, b"SHOW WARNINGS"));
            }
            Command::StmtPrepare(text) => {
                let keeps_list = is_mariadb && !warns && !names_table(text) && is_expression(text);
                self.warnings += u32::from(!keeps_list);
            }
            _ => self.note_all(),
        }
    }

    /// Notes what may have changed all of them.
    pub(crate) fn note_all(&mut self) {
        self.found_rows += 1;
        self.row_count += 1;
        self.warnings += 1;
    }
}

fn begins(text: &[u8], word: &[u8]) -> bool {
    text.get(..word.len())
        .is_some_and(|beginning| beginning.eq_ignore_ascii_case(word))
}

/// Whether a text may name a table. `FROM DUAL` names none.
fn names_table(text: &[u8]) -> bool {
    let is_from = |window: &[u8]| window.eq_ignore_ascii_case(b"FROM");
    text.windows(4).enumerate().any(|(at, window)| {
        let behind = text.get(at + 4..).unwrap_or_default();
        is_from(window) && !begins(behind, b" DUAL ")
    })
}

/// Whether a text is a statement that names tables behind FROM alone.
fn is_expression(text: &[u8]) -> bool {
    [&b"SELECT "[..], b"DO ", b"SET ", b"SHOW WARNINGS"]
        .iter()
        .any(|word| begins(text, word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_command_changes_what_servers_change() {
        for (command, is_mariadb, expected) in [
            (Command::Ping, true, (0, 1, 0)),
            (Command::InitDb(b"a"), false, (0, 1, 0)),
            (Command::Query(b"SET time_zone='+00:00'"), true, (0, 1, 0)),
            (Command::Query(b"SET time_zone='+00:00'"), false, (0, 1, 1)),
            (Command::Query(b"SELECT @a"), true, (1, 1, 0)),
            (Command::Query(b"SELECT 1 FROM DUAL WHERE 1"), true, (1, 1, 0)),
            (Command::Query(b"SELECT 1 FROM t"), true, (1, 1, 1)),
            (Command::Query(b"SHOW WARNINGS LIMIT 0"), false, (0, 1, 0)),
            (Command::StmtPrepare(b"SELECT ?"), true, (0, 0, 0)),
            (Command::StmtPrepare(b"SELECT ?"), false, (0, 0, 1)),
            (Command::StmtPrepare(b"INSERT INTO t VALUES (1)"), true, (0, 0, 1)),
            (Command::ResetConnection, true, (1, 1, 1)),
        ] {
            let mut own = OwnCommands::default();
            own.note(&command, &Outcome::default(), is_mariadb);
            let changed = (own.found_rows, own.row_count, own.warnings);
            assert_eq!(changed, expected, "{command:?} {is_mariadb}");
        }
    }
}
