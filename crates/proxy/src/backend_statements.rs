//! Where statements are prepared: the numbers that servers gave them, by backend connection.

use std::rc::Rc;
use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::reading::Reading;
use crate::set_names::SetNames;

/// What a prepared statement means depends on: its text, and the session it was prepared in.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct PreparedText {
    pub(crate) text: Rc<[u8]>,
    pub(crate) schema: Option<Arc<str>>,
    /// What `SET NAMES` said, where it is not the login's character set.
    pub(crate) names: Option<SetNames>,
    pub(crate) reading: Reading,
}

impl PreparedText {
    pub(crate) fn new(
        text: Rc<[u8]>,
        schema: Option<Arc<str>>,
        names: Option<&SetNames>,
        reading: Reading,
    ) -> Self {
        Self {
            text,
            schema,
            names: names.cloned(),
            reading,
        }
    }
}

/// The prepared statements of one backend connection. They may have been prepared for any session: what a client
/// sees is its session's numbers only.
#[derive(Default)]
pub(crate) struct BackendStatements {
    by_text: FxHashMap<PreparedText, Prepared>,
    clock: u64,
}

#[derive(Clone, Copy)]
struct Prepared {
    id: u32,
    used: u64,
}

impl BackendStatements {
    /// The server's number of this statement.
    pub(crate) fn get(&mut self, text: &PreparedText) -> Option<u32> {
        self.clock += 1;
        let prepared = self.by_text.get_mut(text)?;
        prepared.used = self.clock;
        Some(prepared.id)
    }

    /// Forgets the statement with this number.
    pub(crate) fn remove(&mut self, id: u32) -> Option<PreparedText> {
        let text = self
            .by_text
            .iter()
            .find(|(_, prepared)| prepared.id == id)?
            .0
            .clone();
        self.by_text.remove(&text);
        Some(text)
    }

    /// Remembers a statement; the number of one to close, when there are more than `limit`.
    pub(crate) fn insert(&mut self, text: PreparedText, id: u32, limit: usize) -> Option<u32> {
        self.clock += 1;
        let used = self.clock;
        let replaced = self.by_text.insert(text, Prepared { id, used });
        if replaced.is_some() || self.by_text.len() <= limit {
            return replaced.map(|replaced| replaced.id);
        }
        let oldest = self
            .by_text
            .iter()
            .min_by_key(|(_, prepared)| prepared.used)
            .map(|(text, _)| text.clone())?;
        self.by_text.remove(&oldest).map(|prepared| prepared.id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(text: &str, schema: Option<&str>) -> PreparedText {
        PreparedText::new(
            Rc::from(text.as_bytes()),
            schema.map(Arc::from),
            None,
            Reading::default(),
        )
    }

    #[test]
    fn the_least_recently_used_is_closed() {
        let mut statements = BackendStatements::default();
        assert_eq!(statements.insert(text("a", None), 1, 2), None);
        assert_eq!(statements.insert(text("b", None), 2, 2), None);
        assert_eq!(statements.get(&text("a", None)), Some(1));
        assert_eq!(statements.insert(text("c", None), 3, 2), Some(2));
        assert_eq!(statements.get(&text("b", None)), None);
        assert_eq!(statements.get(&text("a", None)), Some(1));
    }

    #[test]
    fn a_schema_makes_another_statement() {
        let mut statements = BackendStatements::default();
        statements.insert(text("a", Some("one")), 1, 9);
        assert_eq!(statements.get(&text("a", Some("two"))), None);
        assert_eq!(statements.get(&text("a", None)), None);
        assert_eq!(statements.get(&text("a", Some("one"))), Some(1));
    }
}
