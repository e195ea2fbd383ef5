//! `(*COMMIT)` behind a whole word: the first place where the word stands decides.
//!
//! # Idea
//!
//! PCRE tries a pattern at one byte of the text after another. Once it has gone past `(*COMMIT)` and what follows fails, it
//! gives up the search. So in `\btenant=(*COMMIT)17\b` the first `tenant=` of a text decides, wherever others stand.
//!
//! That is a regular language where the part before the verb, the *head*, is a word of fixed letters from its boundary to a
//! byte that is no part of a word: two such heads never overlap. The text before the first one is then a row of bytes that
//! belong to no word, and of words; none of these words is that of the head with its last byte behind it. [`before`] writes
//! an expression for such texts.
//!
//! # Example
//!
//! Before `\bid=`: a byte of no word; or a word other than `id` and the byte behind it; or `id` and a byte behind it that is
//! neither `=` nor of a word. So `(?:\W|(?:[\w--i]\w*|i(?:[\w--d]\w*|d\w+)?)\W|id[^\w=])*`.

use std::cell::RefCell;
use std::sync::{Arc, OnceLock};

use regex_automata::{Anchored, Input};
use regex_syntax::hir::{Class, Hir, HirKind, Look};

use crate::dialect::Captures;
use crate::error::PatternError;
use crate::matcher::{self, Matcher};
use crate::walk;

/// A pattern with the verb. Of the many patterns of a map, most are asked once, so what is not asked is not made: the language
/// with the texts before the head, and what it is written as.
#[derive(Debug)]
pub(crate) struct Committed {
    head: Arc<Head>,
    /// The whole pattern, without the verb.
    whole: Hir,
    wholes: Matcher,
    language: OnceLock<Hir>,
    regular: OnceLock<String>,
}

impl Committed {
    /// `head` is what stands before the verb in `whole`.
    pub(crate) fn new(head: Arc<Head>, whole: Hir) -> Self {
        Self {
            head,
            whole,
            wholes: Matcher::default(),
            language: OnceLock::new(),
            regular: OnceLock::new(),
        }
    }

    /// The part before the verb.
    pub(crate) fn head(&self) -> &Hir {
        &self.head.head
    }

    /// The whole pattern, without the verb.
    pub(crate) fn whole(&self) -> &Hir {
        &self.whole
    }

    /// The texts with a match, as an expression that is anchored at their beginning.
    pub(crate) fn language(&self) -> &Hir {
        let before = &self.head.before.1;
        self.language
            .get_or_init(|| Hir::concat(vec![before.clone(), self.whole.clone()]))
    }

    /// The same in the syntax of `regex-syntax`; `whole` is what the whole pattern was read from.
    pub(crate) fn regular(&self, whole: &str) -> &str {
        let before = &self.head.before.0;
        self.regular.get_or_init(|| format!("{before}{whole}"))
    }

    /// Parts of [`Committed::language`], repetitions counted out.
    pub(crate) fn parts(&self) -> usize {
        self.head.parts.saturating_add(matcher::parts(&self.whole))
    }

    /// Whether the text contains a match; `None` where that is not found in a few steps.
    pub(crate) fn finds_quickly(&self, text: &[u8]) -> Option<bool> {
        match self.head.first(text, 0)? {
            Some(first) => walk::matches_at(&self.whole, text, first),
            None => Some(false),
        }
    }

    /// The match where the head stands first, at `from` or later.
    pub(crate) fn captures_at(&self, text: &[u8], from: usize) -> Option<Captures> {
        let first = self.head.first(text, from)??;
        let whole = self.wholes.with_groups(&self.whole)?;
        let mut captures = whole.create_captures();
        let there = Input::new(text).range(first..).anchored(Anchored::Yes);
        whole.captures(there, &mut captures);
        captures.is_match().then(|| {
            (0..captures.group_len())
                .map(|group| captures.get_group(group).map(|span| span.range()))
                .collect()
        })
    }
}

/// What stands before the verb, and an expression for the texts before the first match of it, with its syntax tree. The patterns
/// for the keys of a map have one head together.
#[derive(Debug)]
pub(crate) struct Head {
    pub(crate) head: Hir,
    heads: Matcher,
    before: (String, Hir),
    /// Parts of that tree.
    parts: usize,
}

/// Heads that a thread keeps.
const KEPT: usize = 16;

thread_local! {
    static HEADS: RefCell<Vec<(String, Option<Arc<Head>>)>> = const { RefCell::new(Vec::new()) };
}

impl Head {
    /// Reads a head, or finds it among those that were read last; none where it is no whole word and a byte behind it.
    pub(crate) fn read(
        text: &str,
        parse: impl Fn(&str) -> Result<Hir, PatternError>,
    ) -> Result<Option<Arc<Self>>, PatternError> {
        let known = HEADS.with_borrow(|heads| {
            let mut heads = heads.iter();
            heads
                .find(|(known, _)| known == text)
                .map(|(_, head)| head.clone())
        });
        if let Some(known) = known {
            return Ok(known);
        }
        let head = parse(text)?;
        let read = match before(&head) {
            Some(before) => {
                let text = format!(r"(?-u:\A{before})");
                let tree = parse(&text)?;
                Some(Arc::new(Self {
                    head,
                    heads: Matcher::default(),
                    parts: matcher::parts(&tree),
                    before: (text, tree),
                }))
            }
            None => None,
        };
        HEADS.with_borrow_mut(|heads| {
            heads.truncate(KEPT - 1);
            heads.insert(0, (text.to_owned(), read.clone()));
        });
        Ok(read)
    }

    /// Where it stands first in the text, at `from` or later; the outer `None`: it is too large to be searched.
    fn first(&self, text: &[u8], from: usize) -> Option<Option<usize>> {
        let heads = self.heads.with_groups(&self.head)?;
        let found = heads.find(Input::new(text).range(from..));
        Some(found.map(|found| found.start()))
    }
}

/// Bytes, a bit for each.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Bytes([u64; 4]);

/// An expression for the texts before the first match of `head`; `None` where that is no whole word and a byte behind it.
///
/// It is written for an anchor before it and `head` behind it, and for bytes (`(?-u)`).
fn before(head: &Hir) -> Option<String> {
    let HirKind::Concat(parts) = head.kind() else {
        return None;
    };
    let (boundary, parts) = parts.split_first()?;
    if !matches!(boundary.kind(), HirKind::Look(Look::WordAscii)) {
        return None;
    }
    let mut bytes = Vec::new();
    for part in parts {
        match part.kind() {
            HirKind::Literal(literal) => bytes.extend(literal.0.iter().map(|&byte| Bytes::range(byte, byte))),
            HirKind::Class(Class::Bytes(class)) => {
                let ranges = class.ranges().iter();
                let ranges = ranges.map(|range| Bytes::range(range.start(), range.end()));
                bytes.push(ranges.fold(Bytes::NONE, Bytes::or));
            }
            _ => return None,
        }
    }
    let (end, word) = bytes.split_last()?;
    let is_whole = word
        .iter()
        .all(|letter| letter.without(Bytes::word()) == Bytes::NONE)
        && end.without(Bytes::word()) == *end;
    if word.is_empty() || !is_whole {
        return None;
    }
    let letters: String = word.iter().map(|letter| letter.class()).collect();
    let others = other_words(word, true);
    let behind = Bytes::ALL.without(Bytes::word()).without(*end).class();
    Some(format!(r"(?:\W|{others}\W|{letters}{behind})*"))
}

/// Words other than `word`, which stands behind a beginning that they have in common; `at_start` if that is empty.
fn other_words(word: &[Bytes], at_start: bool) -> String {
    let Some((letter, rest)) = word.split_first() else {
        return r"\w+".to_owned();
    };
    let different = Bytes::word().without(*letter).class();
    let same = other_words(rest, false);
    let same = if rest.is_empty() {
        same
    } else {
        format!("(?:{same})?")
    };
    let words = format!(r"{different}\w*|{}{same}", letter.class());
    if at_start { format!("(?:{words})") } else { words }
}

impl Bytes {
    const NONE: Self = Self([0; 4]);
    const ALL: Self = Self([u64::MAX; 4]);

    fn range(first: u8, last: u8) -> Self {
        let mut bytes = [0; 4];
        for byte in first..=last {
            bytes[usize::from(byte >> 6)] |= 1 << (byte & 63);
        }
        Self(bytes)
    }

    fn word() -> Self {
        [(b'0', b'9'), (b'A', b'Z'), (b'_', b'_'), (b'a', b'z')]
            .into_iter()
            .fold(Self::NONE, |all, (first, last)| all.or(Self::range(first, last)))
    }

    fn or(self, other: Self) -> Self {
        Self(std::array::from_fn(|at| self.0[at] | other.0[at]))
    }

    fn without(self, other: Self) -> Self {
        Self(std::array::from_fn(|at| self.0[at] & !other.0[at]))
    }

    /// One of them, whatever the flags say of letters.
    fn class(self) -> String {
        let has = |byte: u8| self.0[usize::from(byte >> 6)] >> (byte & 63) & 1 == 1;
        let members: String = (0..=u8::MAX)
            .filter(|&byte| has(byte))
            .map(|byte| format!(r"\x{byte:02x}"))
            .collect();
        match members.as_str() {
            // A class of no bytes, which never matches.
            "" => r"[^\x00-\xff]".to_owned(),
            members => format!("(?-i:[{members}])"),
        }
    }
}
