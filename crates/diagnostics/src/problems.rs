//! The problems of a run: each once, in file order, and not more than people can use.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use serde::Serialize;

use crate::{Diagnostic, Severity};

/// How many problems are kept for showing; the rest are only counted.
pub const MAX_KEPT: usize = 1_000;

/// How many problems of each severity there are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Counts {
    /// Errors.
    pub error: usize,
    /// Warnings.
    pub warning: usize,
    /// Informations.
    pub info: usize,
}

impl Counts {
    /// All of them.
    #[must_use]
    pub const fn total(self) -> usize {
        self.error + self.warning + self.info
    }

    /// `2 errors, 1 warning`; `no problems` where there are none.
    #[must_use]
    pub fn summary(self) -> String {
        let listed: Vec<String> = [
            (self.error, "error"),
            (self.warning, "warning"),
            (self.info, "note"),
        ]
        .into_iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, name)| format!("{count} {name}{}", if count == 1 { "" } else { "s" }))
        .collect();
        if listed.is_empty() {
            "no problems".to_owned()
        } else {
            listed.join(", ")
        }
    }
}

/// Collects problems. The same problem (code, place, message) in several generator instances is one problem that
/// counts its instances. Past [`MAX_KEPT`] problems are counted but not kept, errors taking the place of lesser
/// ones.
#[derive(Clone, Debug, Default)]
pub struct Problems {
    kept: Vec<Diagnostic>,
    /// Identity of every problem seen; its place in `kept`, or none where it was only counted.
    seen: HashMap<u64, Option<usize>>,
    counts: Counts,
}

impl Problems {
    /// No problems yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds the problems of another collection; those among them that were not here before.
    pub fn append_new(&mut self, other: &Self) -> Self {
        let mut new = Self::new();
        for diagnostic in &other.kept {
            if !self.seen.contains_key(&identity(diagnostic)) {
                new.push(diagnostic.clone());
            }
        }
        new.count_unkept(other);
        self.append(other.clone());
        new
    }

    /// Counts the problems that another collection counts and does not keep.
    pub fn count_unkept(&mut self, other: &Self) {
        let unkept = other.unkept_counts();
        self.counts.error += unkept.error;
        self.counts.warning += unkept.warning;
        self.counts.info += unkept.info;
    }

    /// Those that are at least as bad as `least`.
    #[must_use]
    pub fn at_least(self, least: Severity) -> Self {
        let unkept = self.unkept_counts();
        let is_bad = |severity| severity <= least;
        let mut bad: Self = self
            .kept
            .into_iter()
            .filter(|kept| is_bad(kept.severity))
            .collect();
        bad.counts.error += unkept.error;
        if is_bad(Severity::Warning) {
            bad.counts.warning += unkept.warning;
        }
        if is_bad(Severity::Info) {
            bad.counts.info += unkept.info;
        }
        bad
    }

    /// Adds a problem.
    pub fn push(&mut self, diagnostic: Diagnostic) {
        let identity = identity(&diagnostic);
        match self.seen.get(&identity) {
            Some(Some(at)) => {
                let kept = &mut self.kept[*at];
                if diagnostic.instance.is_some() && kept.instance != diagnostic.instance {
                    kept.more_instances = kept.more_instances.saturating_add(1 + diagnostic.more_instances);
                }
            }
            Some(None) => {}
            None => {
                self.count(diagnostic.severity);
                let place = self.keep(diagnostic);
                self.seen.insert(identity, place);
            }
        }
    }

    /// Adds all problems of another collection.
    pub fn append(&mut self, other: Self) {
        self.count_unkept(&other);
        for diagnostic in other.kept {
            self.push(diagnostic);
        }
    }

    /// How many of each severity were found, kept or not.
    #[must_use]
    pub const fn counts(&self) -> Counts {
        self.counts
    }

    /// Whether any problem prevents a configuration.
    #[must_use]
    pub const fn has_errors(&self) -> bool {
        self.counts.error > 0
    }

    /// Whether nothing was found.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.counts.total() == 0
    }

    /// How many were found beyond those kept.
    #[must_use]
    pub fn unkept(&self) -> usize {
        self.counts.total() - self.kept.len()
    }

    /// The kept problems in file order: files as they were added to the sources, then by offset; those without a
    /// place come last. Equal places keep the order of finding.
    #[must_use]
    pub fn sorted(&self) -> Vec<&Diagnostic> {
        let mut sorted: Vec<&Diagnostic> = self.kept.iter().collect();
        sorted.sort_by_key(|diagnostic| {
            let span = diagnostic.primary.as_ref().map(|label| label.span);
            (span.is_none(), span, diagnostic.severity)
        });
        sorted
    }

    fn count(&mut self, severity: Severity) {
        *match severity {
            Severity::Error => &mut self.counts.error,
            Severity::Warning => &mut self.counts.warning,
            Severity::Info => &mut self.counts.info,
        } += 1;
    }

    fn keep(&mut self, diagnostic: Diagnostic) -> Option<usize> {
        if self.kept.len() < MAX_KEPT {
            self.kept.push(diagnostic);
            return Some(self.kept.len() - 1);
        }
        let at = self
            .kept
            .iter()
            .rposition(|kept| kept.severity > diagnostic.severity)?;
        self.seen.insert(identity(&self.kept[at]), None);
        self.kept[at] = diagnostic;
        Some(at)
    }

    fn unkept_counts(&self) -> Counts {
        let mut counts = self.counts;
        for diagnostic in &self.kept {
            match diagnostic.severity {
                Severity::Error => counts.error -= 1,
                Severity::Warning => counts.warning -= 1,
                Severity::Info => counts.info -= 1,
            }
        }
        counts
    }
}

impl Extend<Diagnostic> for Problems {
    fn extend<T: IntoIterator<Item = Diagnostic>>(&mut self, diagnostics: T) {
        for diagnostic in diagnostics {
            self.push(diagnostic);
        }
    }
}

impl FromIterator<Diagnostic> for Problems {
    fn from_iter<T: IntoIterator<Item = Diagnostic>>(diagnostics: T) -> Self {
        let mut problems = Self::new();
        problems.extend(diagnostics);
        problems
    }
}

/// What makes two reports the same problem, as a hash so that a million of them stay small.
fn identity(diagnostic: &Diagnostic) -> u64 {
    let mut hasher = DefaultHasher::new();
    diagnostic.code.hash(&mut hasher);
    diagnostic.severity.hash(&mut hasher);
    diagnostic.message.hash(&mut hasher);
    // Instances of one template have addresses of their own, and so have the objects that an anchor stands for.
    if diagnostic.primary.is_none() {
        diagnostic.address.hash(&mut hasher);
    }
    diagnostic
        .primary
        .as_ref()
        .map(|label| label.span)
        .hash(&mut hasher);
    hasher.finish()
}
