//! Whether a line begins as a statement does, so that other texts are not taken for a list of statements.

/// The first words of statements of MySQL 8.4 and MariaDB 10.11, sorted.
const VERBS: &[&str] = &[
    "ALTER",
    "ANALYZE",
    "BACKUP",
    "BEGIN",
    "BINLOG",
    "CACHE",
    "CALL",
    "CHANGE",
    "CHECK",
    "CHECKSUM",
    "CLONE",
    "COMMIT",
    "CREATE",
    "DEALLOCATE",
    "DELETE",
    "DESC",
    "DESCRIBE",
    "DO",
    "DROP",
    "EXECUTE",
    "EXPLAIN",
    "FLUSH",
    "GET",
    "GRANT",
    "HANDLER",
    "HELP",
    "IMPORT",
    "INSERT",
    "INSTALL",
    "KILL",
    "LOAD",
    "LOCK",
    "OPTIMIZE",
    "PREPARE",
    "PURGE",
    "RELEASE",
    "RENAME",
    "REPAIR",
    "REPLACE",
    "RESET",
    "RESIGNAL",
    "RESTART",
    "REVOKE",
    "ROLLBACK",
    "SAVEPOINT",
    "SELECT",
    "SET",
    "SHOW",
    "SHUTDOWN",
    "SIGNAL",
    "START",
    "STOP",
    "TABLE",
    "TRUNCATE",
    "UNINSTALL",
    "UNLOCK",
    "UPDATE",
    "USE",
    "VALUES",
    "WITH",
    "XA",
];
/// The longest of them.
const LONGEST: usize = 10;

/// How a line begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Begins {
    /// As a statement.
    Statement,
    /// There are only blanks and comments.
    Nothing,
    /// As something else.
    Other,
}

/// Looks behind blanks, comments and opening parentheses. A comment that servers execute is a statement.
pub(super) fn begins(text: &[u8]) -> Begins {
    let mut rest = text;
    loop {
        rest = rest.trim_ascii_start();
        if rest.starts_with(b"/*!") || rest.starts_with(b"/*M!") {
            return Begins::Statement;
        }
        if let Some(comment) = rest.strip_prefix(b"/*") {
            let Some(end) = memchr::memmem::find(comment, b"*/") else {
                return Begins::Other;
            };
            rest = &comment[end + 2..];
        } else if rest.is_empty() || rest.starts_with(b"--") || rest.starts_with(b"#") {
            return Begins::Nothing;
        } else if let Some(inner) = rest.strip_prefix(b"(") {
            rest = inner;
        } else {
            return verb(rest);
        }
    }
}

fn verb(text: &[u8]) -> Begins {
    let end = text.iter().position(|byte| !byte.is_ascii_alphabetic());
    let word = &text[..end.unwrap_or(text.len())];
    // A word goes on with what names go on with, and `root:x:0` is no statement either.
    let goes_on =
        end.is_some_and(|end| matches!(text[end], b'_' | b'0'..=b'9' | b':' | b'.' | b'=' | 0x80..));
    if goes_on || word.len() > LONGEST {
        return Begins::Other;
    }
    let mut upper = [0; LONGEST];
    let upper = &mut upper[..word.len()];
    upper.copy_from_slice(word);
    upper.make_ascii_uppercase();
    match VERBS.binary_search_by(|verb| verb.as_bytes().cmp(upper)) {
        Ok(_) => Begins::Statement,
        Err(_) => Begins::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines() {
        assert!(VERBS.is_sorted());
        assert_eq!(VERBS.iter().map(|verb| verb.len()).max(), Some(LONGEST));
        for (text, expected) in [
            ("SELECT 1", Begins::Statement),
            ("select*from t", Begins::Statement),
            ("/* tenant=5 */ Update t SET a=1", Begins::Statement),
            ("((SELECT 1) UNION (SELECT 2))", Begins::Statement),
            ("/*!40101 SET NAMES utf8 */", Begins::Statement),
            ("BEGIN", Begins::Statement),
            ("-- a list", Begins::Nothing),
            ("/* only this */", Begins::Nothing),
            ("", Begins::Nothing),
            ("root:x:0:0:root:/root:/bin/bash", Begins::Other),
            ("backup:x:34:34:backup:/var/backups", Begins::Other),
            ("selection of words", Begins::Other),
            ("/* not closed", Begins::Other),
            ("<html>", Begins::Other),
        ] {
            assert_eq!(begins(text.as_bytes()), expected, "{text}");
        }
    }
}
