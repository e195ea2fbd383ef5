//! Finds matches of a regular pattern: at first with what is quick to build, and when it is asked often with what is quick
//! to run.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

use regex_automata::meta;
use regex_automata::util::syntax;
use regex_syntax::hir::{Hir, HirKind};

use crate::error::{ErrorKind, PatternError};
use crate::front::MAX_DEPTH;

/// Questions after which the fast matcher is built; building it costs about as much as this many answers of the other.
const OFTEN: u32 = 64;
/// Parts of a pattern, repetitions counted out, from which on its size is checked at once.
const MANY_PARTS: usize = 2_000;

/// Bytes of one compiled regular expression.
pub(crate) const COMPILED_BYTES: usize = 16 << 20;

/// The matchers of one pattern, each built when it is needed.
#[derive(Debug, Default)]
pub(crate) struct Matcher {
    /// An NFA.
    light: OnceLock<Option<meta::Regex>>,
    /// With its automata.
    full: OnceLock<Option<meta::Regex>>,
    asked: AtomicU32,
}

impl Matcher {
    pub(crate) fn of(&self, hir: &Hir) -> Option<&meta::Regex> {
        if let Some(full) = self.full.get() {
            return full.as_ref();
        }
        if self.asked.fetch_add(1, Ordering::Relaxed) >= OFTEN {
            self.prepare(hir);
            return self.full.get().and_then(Option::as_ref);
        }
        self.light.get_or_init(|| light(hir).ok()).as_ref()
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

fn light(hir: &Hir) -> Result<meta::Regex, Box<meta::BuildError>> {
    build(hir, engine().dfa(false).hybrid(false).onepass(false))
}

fn build(hir: &Hir, config: meta::Config) -> Result<meta::Regex, Box<meta::BuildError>> {
    meta::Builder::new()
        .configure(config)
        .build_from_hir(hir)
        .map_err(Box::new)
}

/// Whether a pattern can exceed the size limit of the matchers: no part of a small one takes more than a few hundred bytes.
pub(crate) fn may_be_too_large(hir: &Hir) -> bool {
    parts(hir) > MANY_PARTS
}

fn parts(hir: &Hir) -> usize {
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
