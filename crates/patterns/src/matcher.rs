//! Finds matches of a regular pattern: at first with what is quick to build, and when it is asked often with what is quick
//! to run.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

use regex_automata::nfa::thompson::{self, NFA, backtrack::BoundedBacktracker, pikevm::PikeVM};
use regex_automata::util::syntax;
use regex_automata::{Input, meta};
use regex_syntax::hir::{Hir, HirKind};

use crate::error::{ErrorKind, PatternError};
use crate::front::MAX_DEPTH;

/// Questions after which the fast matcher is built; building it costs about as much as this many answers of the other.
const OFTEN: u32 = 64;
/// Parts of a pattern, repetitions counted out, from which on its size is checked at once.
const MANY_PARTS: usize = 2_000;

/// Bytes of one compiled regular expression.
pub(crate) const COMPILED_BYTES: usize = 16 << 20;

/// The matchers of one pattern, each built when it is needed. Of 100,000 patterns most are asked once or twice, so what is
/// kept for them is small: no groups, and no memory for the next search.
#[derive(Debug, Default)]
pub(crate) struct Matcher {
    /// An NFA without groups, which tells whether there is a match; kept from the second question on.
    plain: OnceLock<Option<NFA>>,
    /// An NFA with groups.
    light: OnceLock<Option<meta::Regex>>,
    /// With its automata.
    full: OnceLock<Option<meta::Regex>>,
    asked: AtomicU32,
}

impl Matcher {
    /// Whether the text contains a match; `None` if the pattern is too large.
    pub(crate) fn finds(&self, hir: &Hir, text: &[u8]) -> Option<bool> {
        let asked = self.asked.fetch_add(1, Ordering::Relaxed);
        if self.full.get().is_some() || asked >= OFTEN {
            return Some(self.prepared(hir)?.is_match(text));
        }
        match asked {
            0 => is_match(&plain(hir)?, text),
            _ => is_match(self.plain.get_or_init(|| plain(hir)).as_ref()?, text),
        }
    }

    /// Whether the fast matcher is built, or will be with the next question. This counts as one.
    pub(crate) fn is_asked_often(&self) -> bool {
        self.full.get().is_some() || self.asked.fetch_add(1, Ordering::Relaxed) >= OFTEN
    }

    /// What also finds places and groups; `None` if the pattern is too large.
    pub(crate) fn with_groups(&self, hir: &Hir) -> Option<&meta::Regex> {
        if self.full.get().is_some() || self.asked.fetch_add(1, Ordering::Relaxed) >= OFTEN {
            return self.prepared(hir);
        }
        self.light.get_or_init(|| light(hir).ok()).as_ref()
    }

    fn prepared(&self, hir: &Hir) -> Option<&meta::Regex> {
        self.prepare(hir);
        self.full.get()?.as_ref()
    }

    /// Builds the fast matcher.
    pub(crate) fn prepare(&self, hir: &Hir) {
        self.full
            .get_or_init(|| build(hir, engine()).ok().or_else(|| light(hir).ok()));
    }

    /// Builds the light matcher.
    pub(crate) fn check(&self, hir: &Hir) -> Result<(), PatternError> {
        let built = light(hir).map_err(|error| PatternError {
            kind: if error.size_limit().is_some() {
                ErrorKind::TooLarge
            } else {
                ErrorKind::Unsupported
            },
            message: error.to_string(),
            offset: 0,
        })?;
        self.light.get_or_init(|| Some(built));
        Ok(())
    }
}

/// The syntax options that translated patterns are written for.
pub(crate) fn syntax() -> syntax::Config {
    syntax::Config::new().utf8(false).nest_limit(MAX_DEPTH * 4)
}

/// The engine options to compile them with. Without prefilters: with them, the reverse suffix optimization of
/// regex-automata 0.4.18 finds `[ab][ab].+b` in `aab\n`.
pub(crate) fn engine() -> meta::Config {
    meta::Config::new()
        .utf8_empty(false)
        .auto_prefilter(false)
        .nfa_size_limit(Some(COMPILED_BYTES))
}

fn plain(hir: &Hir) -> Option<NFA> {
    let config = thompson::Config::new()
        .utf8(false)
        .which_captures(thompson::WhichCaptures::None)
        .nfa_size_limit(Some(COMPILED_BYTES));
    let mut compiler = thompson::Compiler::new();
    compiler.configure(config).build_from_hir(hir).ok()
}

fn is_match(nfa: &NFA, text: &[u8]) -> Option<bool> {
    let input = Input::new(text).earliest(true);
    let quick = BoundedBacktracker::new_from_nfa(nfa.clone()).ok()?;
    // It takes texts that are short beside the pattern.
    quick
        .try_is_match(&mut quick.create_cache(), input.clone())
        .ok()
        .or_else(|| {
            let any = PikeVM::new_from_nfa(nfa.clone()).ok()?;
            Some(any.is_match(&mut any.create_cache(), input))
        })
}

fn light(hir: &Hir) -> Result<meta::Regex, Box<meta::BuildError>> {
    build(hir, engine().dfa(false).hybrid(false).onepass(false))
}

fn build(hir: &Hir, config: meta::Config) -> Result<meta::Regex, Box<meta::BuildError>> {
    meta::Builder::new()
        .configure(config)
        .build_from_hir(hir)
        .map_err(Box::new)
}

/// Whether a pattern of so many parts can exceed the size limit of the matchers: no part of a small one takes more than a few
/// hundred bytes.
pub(crate) fn is_too_many(parts: usize) -> bool {
    parts > MANY_PARTS
}

/// Parts of an expression, repetitions counted out.
pub(crate) fn parts(hir: &Hir) -> usize {
    match hir.kind() {
        HirKind::Empty | HirKind::Look(_) => 1,
        HirKind::Literal(literal) => literal.0.len(),
        HirKind::Class(regex_syntax::hir::Class::Bytes(_)) => 1,
        HirKind::Class(regex_syntax::hir::Class::Unicode(class)) => class.ranges().len().saturating_mul(8),
        HirKind::Capture(capture) => parts(&capture.sub).saturating_add(1),
        HirKind::Repetition(repetition) => {
            let times = repetition.max.unwrap_or(repetition.min).max(1) as usize;
            parts(&repetition.sub).saturating_mul(times.saturating_add(1))
        }
        HirKind::Concat(subs) | HirKind::Alternation(subs) => {
            subs.iter().fold(0, |sum, sub| parts(sub).saturating_add(sum))
        }
    }
}
