//! What a connection has prepared: a log shows executions with their values, and an engine decides them by the text with
//! question marks.

use std::collections::HashMap;

use memchr::memmem;
use shardwright_rules::Statement;
use shardwright_sql::LexMode;

use crate::parameters::around_parameters;

/// Prepared texts by digest, which is that of their executions.
#[derive(Default)]
pub(super) struct Prepared {
    texts: HashMap<u64, Vec<Vec<u8>>>,
}

impl Prepared {
    /// Keeps a text; false when it was known.
    pub(super) fn add(&mut self, text: &[u8]) -> bool {
        let texts = self.texts.entry(digest(text)).or_default();
        let is_new = !texts.iter().any(|known| known == text);
        if is_new {
            texts.push(text.to_vec());
        }
        is_new
    }

    /// The text that an execution was prepared with; `None` where none or more than one can be it.
    pub(super) fn text_of(&self, executed: &[u8]) -> Option<&[u8]> {
        let texts = self.texts.get(&digest(executed))?;
        let mut possible = texts.iter().filter(|text| is_execution(executed, text));
        let text = possible.next()?;
        possible.next().is_none().then_some(text)
    }
}

fn digest(text: &[u8]) -> u64 {
    Statement::new(text, LexMode::default()).digest_hash()
}

/// Whether a text is a prepared one with values for its parameters.
fn is_execution(executed: &[u8], prepared: &[u8]) -> bool {
    let parts = around_parameters(prepared);
    let (first, between, last) = match parts.as_slice() {
        [first, between @ .., last] => (*first, between, *last),
        _ => return executed == prepared,
    };
    let Some(mut rest) = executed
        .strip_prefix(first)
        .and_then(|rest| rest.strip_suffix(last))
    else {
        return false;
    };
    between.iter().all(|part| match memmem::find(rest, part) {
        Some(at) => {
            rest = &rest[at + part.len()..];
            true
        }
        None => false,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn executions_have_the_text_of_the_one_preparation_that_they_can_be_of() {
        let mut prepared = Prepared::default();
        for text in [
            "/* tenant=1 */ SELECT a FROM t WHERE b = ? AND c = 'x'",
            "/* tenant=2 */ SELECT a FROM t WHERE b = ? AND c = 'x'",
            "SELECT a FROM u WHERE b = ? AND c = 1",
            "SELECT a FROM u WHERE b = 1 AND c = ?",
            "SELECT 1",
            "SELECT '?' FROM v",
        ] {
            assert!(prepared.add(text.as_bytes()));
        }
        assert!(!prepared.add(b"SELECT 1"));
        for (executed, text) in [
            (
                "/* tenant=2 */ SELECT a FROM t WHERE b = 17 AND c = 'x'",
                Some("/* tenant=2 */ SELECT a FROM t WHERE b = ? AND c = 'x'"),
            ),
            ("/* tenant=2 */ SELECT a FROM t WHERE b = 17 AND c = 'y'", None),
            ("/* tenant=3 */ SELECT a FROM t WHERE b = 17 AND c = 'x'", None),
            (
                "SELECT a FROM u WHERE b = 2 AND c = 1",
                Some("SELECT a FROM u WHERE b = ? AND c = 1"),
            ),
            ("SELECT a FROM u WHERE b = 1 AND c = 1", None),
            ("SELECT 1", Some("SELECT 1")),
            ("SELECT 2", None),
            ("SELECT '?' FROM v", Some("SELECT '?' FROM v")),
            ("SELECT 'x' FROM v", None),
        ] {
            assert_eq!(
                prepared.text_of(executed.as_bytes()),
                text.map(str::as_bytes),
                "{executed}"
            );
        }
    }
}
