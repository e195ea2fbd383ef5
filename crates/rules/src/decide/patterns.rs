//! The compiled patterns of one rule.

use shardwright_patterns::{Dialect, Flags, Pattern, PatternError};

use crate::{Address, Body, Configuration, EngineRule, NativeStep, ReadSelection, RegexEngine, Rule, Scope};

/// A pattern as the engine holds it: compiled, or refused by the engine's library.
type Compiled = Result<Pattern, PatternError>;

/// The patterns of a rule, by the place that they stand in.
#[derive(Debug, Default)]
pub struct RulePatterns {
    pub(super) digest: Vec<Compiled>,
    pub(super) text: Vec<Compiled>,
    pub(super) reads: Vec<Compiled>,
}

/// Where a pattern stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PatternColumn {
    /// `match_digest`
    MatchDigest,
    /// `match_pattern`
    MatchPattern,
    /// `reads:` of a read/write policy.
    Reads,
}

/// A pattern that the engine's library refuses.
#[derive(Debug)]
pub struct BrokenPattern<'a> {
    /// Its rule.
    pub rule_id: u32,
    /// The rule's origin.
    pub address: &'a Address,
    /// Where it stands in the rule.
    pub column: PatternColumn,
    /// Why it is refused.
    pub error: &'a PatternError,
}

impl RulePatterns {
    /// Compiles the patterns of every rule, in the order of the rules.
    pub fn of(configuration: &Configuration) -> Vec<Self> {
        let regex = configuration.settings.regex;
        configuration
            .graph
            .rules
            .iter()
            .map(|rule| Self::compile(rule, regex))
            .collect()
    }

    /// Patterns over the digest text: one at most for an engine rule.
    pub fn of_digest(&self) -> &[Result<Pattern, PatternError>] {
        &self.digest
    }

    /// Patterns over the statement: one at most for an engine rule.
    pub fn of_text(&self) -> &[Result<Pattern, PatternError>] {
        &self.text
    }

    fn compile(rule: &Rule, regex: RegexEngine) -> Self {
        match &rule.body {
            Body::Engine(row) => Self::of_row(row, regex),
            Body::Native { scope, step } => Self::of_step(scope, step, regex),
        }
    }

    fn of_row(row: &EngineRule, regex: RegexEngine) -> Self {
        let flags = Flags {
            caseless: row.re_modifiers.caseless,
            global: row.re_modifiers.global,
        };
        let compile = |text: &Option<String>| {
            text.iter()
                .map(|text| Pattern::compile(text, flags, dialect(regex)))
                .collect()
        };
        Self {
            digest: compile(&row.match_digest),
            text: compile(&row.match_pattern),
            reads: Vec::new(),
        }
    }

    fn of_step(scope: &Scope, step: &NativeStep, regex: RegexEngine) -> Self {
        let flags = Flags {
            caseless: true,
            global: false,
        };
        let compile = |texts: &[String]| -> Vec<Compiled> {
            texts
                .iter()
                .map(|text| Pattern::compile(text, flags, dialect(regex)))
                .collect()
        };
        let reads = match step {
            NativeStep::Role(role) => match &role.reads {
                ReadSelection::All => Vec::new(),
                ReadSelection::Only(texts) | ReadSelection::Except(texts) => compile(texts),
            },
            NativeStep::Map(_) | NativeStep::Delay(_) | NativeStep::StopIfPlaced => Vec::new(),
        };
        Self {
            digest: compile(&scope.match_digest),
            text: compile(&scope.match_pattern),
            reads,
        }
    }

    pub(crate) fn broken<'a>(&'a self, rule: &'a Rule) -> impl Iterator<Item = BrokenPattern<'a>> {
        let columns = [
            (PatternColumn::MatchDigest, &self.digest),
            (PatternColumn::MatchPattern, &self.text),
            (PatternColumn::Reads, &self.reads),
        ];
        columns.into_iter().flat_map(move |(column, patterns)| {
            patterns.iter().filter_map(move |pattern| {
                let error = pattern.as_ref().err()?;
                Some(BrokenPattern {
                    rule_id: rule.id,
                    address: &rule.address,
                    column,
                    error,
                })
            })
        })
    }
}

/// Whether a pattern matches; one that does not compile matches nothing.
pub(super) fn matches(pattern: &Compiled, subject: &[u8]) -> bool {
    pattern.as_ref().is_ok_and(|pattern| pattern.is_match(subject))
}

fn dialect(regex: RegexEngine) -> Dialect {
    match regex {
        RegexEngine::Pcre => Dialect::Pcre,
        RegexEngine::Re2 => Dialect::Re2,
    }
}
