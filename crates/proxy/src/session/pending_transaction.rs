//! A transaction that was begun and that no server knows of yet: its BEGIN waits for the first statement that has a key.

use shardwright_rules::{PendingKind, Statement, TransactionEnd};
use shardwright_sql::lex::{identifier, reads_alike};
use shardwright_sql::names::mentions;
use shardwright_sql::{StatementClass, TokenKind};
use shardwright_wire::{MysqlError, StatusFlags, errors};

use super::statement_words::words;

/// Texts that are kept at most: BEGIN, and savepoints behind it.
const MAX_TEXTS: usize = 32;

/// Bytes of each.
const LONGEST_TEXT: usize = 4 * 1024;

/// What a server must be told before the first statement of the transaction.
#[derive(Debug, Default)]
pub(super) struct PendingTransaction {
    texts: Vec<Vec<u8>>,
    /// How many of them begin: the last, and in front of it the one whose access mode MySQL keeps.
    begins: usize,
    /// Names of the savepoints that are set, the oldest first.
    savepoints: Vec<Vec<u8>>,
    is_xa: bool,
}

impl PendingTransaction {
    /// No transaction waits.
    pub(super) fn is_empty(&self) -> bool {
        self.texts.is_empty()
    }

    /// How it was begun; `None`: no transaction waits.
    pub(super) fn kind(&self) -> Option<PendingKind> {
        let kind = if self.is_xa {
            PendingKind::Xa
        } else {
            PendingKind::Local
        };
        (!self.is_empty()).then_some(kind)
    }

    /// What a server's status would say of it. To MySQL, a BEGIN that says no access mode has that of the one before it.
    pub(super) fn status(&self, is_mariadb: bool) -> StatusFlags {
        let begins = self.texts.get(..self.begins).unwrap_or_default();
        let has_mode = |text: &&Vec<u8>| mentions(text, b"READ");
        let decides = match is_mariadb {
            true => begins.last(),
            false => begins.iter().rfind(has_mode),
        };
        let is_read_only = decides
            .filter(has_mode)
            .is_some_and(|text| mentions(text, b"ONLY"));
        let mut status = StatusFlags::empty();
        status.set(StatusFlags::SERVER_STATUS_IN_TRANS, !self.is_empty());
        status.set(StatusFlags::SERVER_STATUS_IN_TRANS_READONLY, is_read_only);
        status
    }

    /// The error for a text that is too long to wait.
    pub(super) fn too_long(statement: &Statement<'_>) -> Option<MysqlError> {
        (statement.text().len() > LONGEST_TEXT).then(|| {
            errors::UNKNOWN.with(format_args!(
                "the proxy keeps no text of more than {LONGEST_TEXT} bytes until the transaction's first statement with a key; write it shorter"
            ))
        })
    }

    /// Whether the texts that wait are read alike in every sql_mode.
    pub(super) fn reads_alike(&self) -> bool {
        self.texts.iter().all(|text| reads_alike(text))
    }

    /// A transaction begins in place of one that waits. To MySQL, BEGIN behind START TRANSACTION READ ONLY is read only, too.
    /// `keeps`: the one that waits uses up what was set for it alone.
    pub(super) fn begin(&mut self, statement: &Statement<'_>, keeps: bool) {
        let mut former = std::mem::take(self);
        former.texts.truncate(former.begins);
        if keeps && former.texts.len() < MAX_TEXTS {
            self.texts = former.texts;
        } else {
            former.texts.retain(|text| mentions(text, b"READ"));
            self.texts.extend(former.texts.pop());
        }
        self.texts.push(statement.text().to_vec());
        self.begins = self.texts.len();
        self.is_xa = statement.pending_kind() == PendingKind::Xa;
    }

    pub(super) fn clear(&mut self) {
        *self = Self::default();
    }

    /// The texts in their order.
    pub(super) fn texts(&self) -> &[Vec<u8>] {
        &self.texts
    }

    /// Whether a text begins the transaction.
    pub(super) fn begins(&self, number: usize) -> bool {
        number < self.begins
    }

    /// Transaction control of the client, which the proxy answers as a server would.
    ///
    /// # Errors
    /// For the client: a savepoint that is not set, or what cannot wait.
    pub(super) fn note(&mut self, statement: &Statement<'_>) -> Result<(), MysqlError> {
        if self.is_empty() || !statement.follows_transaction() {
            return Ok(());
        }
        if statement.shape().executable_comment {
            return Err(errors::UNKNOWN.with(
                "the proxy does not support an executable comment before the transaction's first statement with a key: its meaning depends on the server's version; write it without the comment",
            ));
        }
        if let Some(end) = statement.transaction_end() {
            let stays = end == TransactionEnd::Chained;
            self.texts.truncate(if stays { self.begins } else { 0 });
            self.savepoints.clear();
            return Ok(());
        }
        if let Some(error) = Self::too_long(statement) {
            return Err(error);
        }
        if self.texts.len() >= MAX_TEXTS {
            return Err(errors::UNKNOWN.with(format_args!(
                "more than {MAX_TEXTS} savepoints before the first statement with a key"
            )));
        }
        self.savepoint(statement)
    }

    /// `SAVEPOINT a`, `ROLLBACK TO a`, `RELEASE SAVEPOINT a`.
    fn savepoint(&mut self, statement: &Statement<'_>) -> Result<(), MysqlError> {
        let name = statement
            .tokens()
            .filter(|token| token.kind != TokenKind::Semicolon)
            .last();
        let name = name.and_then(|token| identifier(&token, statement.text()));
        let name = name.unwrap_or_default().to_ascii_lowercase();
        if !name.is_ascii() {
            return Err(errors::UNKNOWN.with(format_args!(
                "the proxy does not know which savepoint {} is before the transaction's first statement with a key: servers compare \
                 names without regard to accents; use a name in ASCII, or set it after that statement",
                String::from_utf8_lossy(&name)
            )));
        }
        let position = self.savepoints.iter().position(|set| *set == name);
        let is_set_anew = statement.shape().class == StatementClass::Savepoint && !has(statement, "RELEASE");
        match position {
            _ if is_set_anew => {
                self.savepoints.retain(|set| *set != name);
                self.savepoints.push(name);
            }
            Some(position) => {
                let stays = statement.shape().class == StatementClass::Rollback;
                self.savepoints.truncate(position + usize::from(stays));
            }
            None => {
                let name = String::from_utf8_lossy(&name);
                return Err(errors::SP_DOES_NOT_EXIST.with(format_args!("SAVEPOINT {name} does not exist")));
            }
        }
        self.texts.push(statement.text().to_vec());
        Ok(())
    }
}

fn has(statement: &Statement<'_>, word: &str) -> bool {
    words(statement).any(|found| found.eq_ignore_ascii_case(word.as_bytes()))
}

#[cfg(test)]
mod tests {
    use shardwright_sql::LexMode;

    use super::*;

    /// What waits after `texts`, or the number of the error of the last one.
    fn after(texts: &[&str]) -> Result<Vec<String>, u16> {
        let mut pending = PendingTransaction::default();
        pending.begin(&Statement::new(b"BEGIN", LexMode::default()), false);
        let mut last = Ok(());
        for text in texts {
            last = pending.note(&Statement::new(text.as_bytes(), LexMode::default()));
        }
        last.map_err(|error| error.code)?;
        let texts = pending.texts();
        Ok(texts
            .iter()
            .map(|text| String::from_utf8_lossy(text).into_owned())
            .collect())
    }

    #[test]
    fn control_is_kept_or_ends_what_waits() {
        for (texts, expected) in [
            (&["SAVEPOINT a"][..], &["BEGIN", "SAVEPOINT a"][..]),
            (&["SAVEPOINT a", "COMMIT"], &[]),
            (&["SAVEPOINT a", "COMMIT AND CHAIN"], &["BEGIN"]),
            (&["ROLLBACK AND NO CHAIN"], &[]),
            (&["COMMIT AND CHAIN NO RELEASE"], &["BEGIN"]),
            (
                &["SAVEPOINT a", "ROLLBACK TO SAVEPOINT `A`;"],
                &["BEGIN", "SAVEPOINT a", "ROLLBACK TO SAVEPOINT `A`;"],
            ),
        ] {
            assert_eq!(after(texts).unwrap(), expected, "{texts:?}");
        }
    }

    #[test]
    fn an_access_mode_stays_in_front_of_begin() {
        let mut pending = PendingTransaction::default();
        let begins: [&[u8]; 4] = [b"BEGIN", b"START TRANSACTION READ ONLY", b"BEGIN", b"BEGIN WORK"];
        for text in begins {
            let read = |text| Statement::new(text, LexMode::default());
            pending.begin(&read(text), false);
            pending.note(&read(b"SAVEPOINT ready")).unwrap();
        }
        pending
            .note(&Statement::new(b"COMMIT AND CHAIN", LexMode::default()))
            .unwrap();
        assert_eq!(pending.texts(), [begins[1], begins[3]]);
    }

    #[test]
    fn savepoints_that_are_not_set_are_errors() {
        assert_eq!(after(&["COMMIT /*! AND CHAIN */"]), Err(errors::UNKNOWN.code));
        for texts in [
            &["ROLLBACK TO a"][..],
            &["RELEASE SAVEPOINT a"],
            &["SAVEPOINT a", "RELEASE SAVEPOINT a", "ROLLBACK TO a"],
            &["SAVEPOINT a", "SAVEPOINT b", "ROLLBACK TO a", "ROLLBACK TO b"],
            &["SAVEPOINT a", "COMMIT AND CHAIN", "ROLLBACK TO a"],
        ] {
            assert_eq!(after(texts), Err(1305), "{texts:?}");
        }
        assert!(after(&["SAVEPOINT a", "SAVEPOINT b", "ROLLBACK TO a", "ROLLBACK TO a"]).is_ok());
        for text in ["SAVEPOINT é", "ROLLBACK TO `É`", "RELEASE SAVEPOINT \u{212A}"] {
            assert_eq!(
                after(&["SAVEPOINT e", "SAVEPOINT k", text]),
                Err(errors::UNKNOWN.code),
                "{text}"
            );
        }
    }
}
