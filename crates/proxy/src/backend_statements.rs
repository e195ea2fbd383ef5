//! Where statements are prepared: the numbers that servers gave them, by backend connection.

use std::rc::Rc;
use std::sync::Arc;

use rustc_hash::FxHashMap;
use smallvec::{SmallVec, smallvec};

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
    /// SETs of the session until then: MySQL keeps the value of some variables with a statement, such as `group_concat_max_len`.
    pub(crate) sets: u64,
}

impl PreparedText {
    pub(crate) fn new(
        text: Rc<[u8]>,
        schema: Option<Arc<str>>,
        names: Option<&SetNames>,
        reading: Reading,
        sets: u64,
    ) -> Self {
        Self {
            text,
            schema,
            names: names.cloned(),
            reading,
            sets,
        }
    }
}

/// Bytes of memory for the texts of a connection; more only for a single one.
const MOST_BYTES: usize = 512 * 1024;

impl PreparedText {
    /// Bytes of memory. The name of a schema is short, and what a session has set is its own.
    fn footprint(&self) -> usize {
        self.text.len() + 128
    }
}

/// The kinds of types that a statement was executed with, one for each parameter; empty: none yet.
///
/// MySQL resolves a parameter anew where a type does not fit the one before, and keeps that for what follows: behind a DOUBLE, an
/// integer is compared as a DOUBLE (seen on 9.7.4). So each combination of kinds is a statement of its own, and what was bound to one of
/// a session's statements changes no answer of another with the same text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Bound(Vec<u8>);

impl Bound {
    /// Nothing is known of a parameter: it was NULL.
    pub(crate) const ANY: u8 = 0;

    pub(crate) fn of(kinds: impl Iterator<Item = u8>) -> Self {
        Self(kinds.collect())
    }

    /// Whether these kinds can follow.
    fn takes(&self, kinds: impl Iterator<Item = u8>) -> bool {
        let mut pairs = self.0.iter().zip(kinds);
        pairs.all(|(&bound, kind)| bound == kind || bound == Self::ANY || kind == Self::ANY)
    }

    fn add(&mut self, kinds: impl Iterator<Item = u8>) {
        for (at, kind) in kinds.enumerate() {
            match self.0.get_mut(at) {
                Some(bound) if *bound == Self::ANY => *bound = kind,
                Some(_) => {}
                None => self.0.push(kind),
            }
        }
    }
}

/// The prepared statements of one backend connection. They may have been prepared for any session: what a client
/// sees is its session's numbers only.
#[derive(Default)]
pub(crate) struct BackendStatements {
    by_text: FxHashMap<PreparedText, Vec<Prepared>>,
    count: usize,
    /// Bytes of memory for the texts.
    footprint: usize,
    clock: u64,
}

struct Prepared {
    id: u32,
    bound: Bound,
    used: u64,
}

impl BackendStatements {
    /// The server's number of a statement that is about to be executed with parameters of these kinds.
    pub(crate) fn get(
        &mut self,
        text: &PreparedText,
        kinds: impl Iterator<Item = u8> + Clone,
    ) -> Option<u32> {
        self.clock += 1;
        let variants = self.by_text.get_mut(text)?;
        let prepared = variants
            .iter_mut()
            .find(|prepared| prepared.bound.takes(kinds.clone()))?;
        let before = prepared.bound.0.len();
        prepared.bound.add(kinds);
        self.footprint += prepared.bound.0.len() - before;
        prepared.used = self.clock;
        Some(prepared.id)
    }

    /// Forgets the statement with this number.
    pub(crate) fn remove(&mut self, id: u32) -> Option<(PreparedText, Bound)> {
        let has_it = |variants: &[Prepared]| variants.iter().position(|prepared| prepared.id == id);
        let mut all = self.by_text.iter();
        let (text, at) = all.find_map(|(text, variants)| Some((text.clone(), has_it(variants)?)))?;
        let removed = self.take(&text, at)?;
        Some((text, removed.bound))
    }

    /// Remembers a statement; the numbers of those to close: the former one of the same kinds, or the least recently used when there are
    /// more than `limit`, or their texts are too long.
    pub(crate) fn insert(
        &mut self,
        text: PreparedText,
        bound: Bound,
        id: u32,
        limit: usize,
    ) -> SmallVec<[u32; 1]> {
        self.clock += 1;
        let used = self.clock;
        let footprint = text.footprint();
        let variants = self.by_text.entry(text).or_default();
        if let Some(former) = variants.iter_mut().find(|prepared| prepared.bound == bound) {
            former.used = used;
            return smallvec![std::mem::replace(&mut former.id, id)];
        }
        if variants.is_empty() {
            self.footprint += footprint;
        }
        self.footprint += bound.0.len();
        variants.push(Prepared { id, bound, used });
        self.count += 1;
        let mut closed = SmallVec::new();
        while self.count > limit || (self.has_long_texts() && self.count > 1) {
            let Some(oldest) = self.take_oldest() else {
                break;
            };
            closed.push(oldest);
        }
        closed
    }

    /// Whether its texts are longer than those of a connection that is kept for others.
    pub(crate) fn has_long_texts(&self) -> bool {
        self.footprint > MOST_BYTES
    }

    /// Forgets the least recently used; its number.
    fn take_oldest(&mut self) -> Option<u32> {
        let all = self.by_text.iter().flat_map(|(text, variants)| {
            let variants = variants.iter().enumerate();
            variants.map(move |(at, prepared)| (prepared.used, text, at))
        });
        let (_, oldest, at) = all.min_by_key(|(used, _, _)| *used)?;
        let oldest = oldest.clone();
        self.take(&oldest, at).map(|prepared| prepared.id)
    }

    fn take(&mut self, text: &PreparedText, at: usize) -> Option<Prepared> {
        let variants = self.by_text.get_mut(text)?;
        let taken = variants.remove(at);
        self.footprint -= taken.bound.0.len();
        if variants.is_empty() {
            self.by_text.remove(text);
            self.footprint -= text.footprint();
        }
        self.count -= 1;
        Some(taken)
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
            0,
        )
    }

    /// Of a statement without parameters.
    const NO_KINDS: [u8; 0] = [];

    fn get(statements: &mut BackendStatements, of: &PreparedText, kinds: &[u8]) -> Option<u32> {
        statements.get(of, kinds.iter().copied())
    }

    fn insert(statements: &mut BackendStatements, of: PreparedText, id: u32, limit: usize) -> Option<u32> {
        let closed = statements.insert(of, Bound::default(), id, limit);
        assert!(closed.len() < 2);
        closed.first().copied()
    }

    #[test]
    fn the_least_recently_used_is_closed() {
        let mut statements = BackendStatements::default();
        assert_eq!(insert(&mut statements, text("a", None), 1, 2), None);
        assert_eq!(insert(&mut statements, text("b", None), 2, 2), None);
        assert_eq!(get(&mut statements, &text("a", None), &NO_KINDS), Some(1));
        assert_eq!(insert(&mut statements, text("c", None), 3, 2), Some(2));
        assert_eq!(get(&mut statements, &text("b", None), &NO_KINDS), None);
        assert_eq!(get(&mut statements, &text("a", None), &NO_KINDS), Some(1));
        assert_eq!(insert(&mut statements, text("a", None), 4, 2), Some(1));
        assert_eq!(get(&mut statements, &text("c", None), &NO_KINDS), Some(3));
    }

    #[test]
    fn a_schema_makes_another_statement() {
        let mut statements = BackendStatements::default();
        insert(&mut statements, text("a", Some("one")), 1, 9);
        assert_eq!(get(&mut statements, &text("a", Some("two")), &NO_KINDS), None);
        assert_eq!(get(&mut statements, &text("a", None), &NO_KINDS), None);
        assert_eq!(get(&mut statements, &text("a", Some("one")), &NO_KINDS), Some(1));
    }

    #[test]
    fn other_kinds_of_types_make_another_statement() {
        let mut statements = BackendStatements::default();
        let a = text("a", None);
        insert(&mut statements, a.clone(), 1, 2);
        for (kinds, id) in [
            ([1, Bound::ANY], Some(1)),
            ([1, 2], Some(1)),
            ([Bound::ANY, 2], Some(1)),
            ([1, 3], None),
            ([2, 2], None),
        ] {
            assert_eq!(get(&mut statements, &a, &kinds), id, "{kinds:?}");
        }
        assert_eq!(insert(&mut statements, a.clone(), 2, 2), None);
        assert_eq!(get(&mut statements, &a, &[1, 3]), Some(2));
        assert_eq!(get(&mut statements, &a, &[1, 2]), Some(1));
        let (of, bound) = statements.remove(2).unwrap();
        assert_eq!(get(&mut statements, &a, &[1, 3]), None);
        statements.insert(of, bound, 2, 2);
        assert_eq!(get(&mut statements, &a, &[1, 3]), Some(2));
        assert_eq!(insert(&mut statements, a.clone(), 3, 2), Some(1), "the oldest");
        assert_eq!(insert(&mut statements, a, 4, 2), Some(3), "not executed yet");
    }
}
