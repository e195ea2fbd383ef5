//! The compiled patterns of one rule.

use shardwright_patterns::{Dialect, ErrorKind, Flags, Pattern, PatternError};

use crate::{Address, Body, Configuration, EngineRule, NativeStep, ReadSelection, RegexEngine, Rule, Scope};

/// A pattern as the engine holds it: compiled, or refused by the engine's library.
type Compiled = Result<Pattern, PatternError>;

/// Rules whose patterns are worth a thread: compiling them takes about 50 ms.
const RULES_OF_A_THREAD: usize = 4_096;

/// The patterns of a scope, or of an engine rule.
#[derive(Debug, Default)]
pub(super) struct ScopePatterns {
    pub(super) digest: Vec<Compiled>,
    pub(super) text: Vec<Compiled>,
    pub(super) except_digest: Vec<Compiled>,
    pub(super) except_text: Vec<Compiled>,
    /// The scope has conditions on the session besides its user.
    pub(super) asks_of_session: bool,
    /// The scope has conditions on the statement.
    pub(super) asks_of_statement: bool,
}

impl ScopePatterns {
    fn of(scope: &Scope, library: Library) -> Self {
        let flags = Flags {
            caseless: true,
            global: false,
        };
        let compile = |texts: &[String]| -> Vec<Compiled> {
            texts.iter().map(|text| library.compile(text, flags)).collect()
        };
        Self {
            digest: compile(&scope.match_digest),
            text: compile(&scope.match_pattern),
            except_digest: compile(&scope.except_match_digest),
            except_text: compile(&scope.except_match_pattern),
            asks_of_session: !scope.takes_every_session_of_its_users(),
            asks_of_statement: !scope.takes_every_statement(),
        }
    }

    /// How many there are.
    pub(super) fn len(&self) -> u32 {
        let lists = [&self.digest, &self.text, &self.except_digest, &self.except_text];
        lists.iter().map(|list| list.len() as u32).sum()
    }
}

/// The patterns of a rule, by the place that they stand in.
#[derive(Debug, Default)]
pub struct RulePatterns {
    pub(super) scope: ScopePatterns,
    /// Of each scope of `reads:`.
    pub(super) reads: Vec<ScopePatterns>,
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

impl PatternColumn {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::MatchDigest => "match_digest",
            Self::MatchPattern => "match_pattern",
            Self::Reads => "reads",
        }
    }
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

/// Why the engine's library refuses a pattern, and at which byte; `None` where it takes it, also where what it matches
/// cannot be computed here.
pub fn refused(pattern: &str, regex: RegexEngine) -> Option<(String, usize)> {
    let error = Pattern::compile(pattern, Flags::default(), dialect(regex)).err()?;
    (error.kind == ErrorKind::Invalid).then_some((error.message, error.offset))
}

impl RulePatterns {
    /// Compiles the patterns of every rule, in the order of the rules. Those of many rules are compiled on several cores.
    pub fn of(configuration: &Configuration) -> Vec<Self> {
        let compiled = |rules: &[Rule]| -> Vec<Self> {
            let patterns = rules.iter().map(|rule| Self::of_rule(rule, configuration));
            patterns.collect()
        };
        let rules = &*configuration.graph.rules;
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let threads = (rules.len() / RULES_OF_A_THREAD).min(cores);
        if threads < 2 {
            return compiled(rules);
        }
        std::thread::scope(|scope| {
            let parts = rules.chunks(rules.len().div_ceil(threads));
            let running: Vec<_> = parts.map(|part| scope.spawn(move || compiled(part))).collect();
            let mut patterns = Vec::with_capacity(rules.len());
            for part in running {
                // A panic of a thread is one of this function.
                patterns.extend(
                    part.join()
                        .unwrap_or_else(|panic| std::panic::resume_unwind(panic)),
                );
            }
            patterns
        })
    }

    /// Compiles the patterns of one rule of a configuration.
    pub fn of_rule(rule: &Rule, configuration: &Configuration) -> Self {
        let library = Library {
            regex: configuration.settings.regex,
            reads_past_nul: !configuration.engine.is_proxysql(),
        };
        match &rule.body {
            Body::Engine(row) => Self::of_row(row, library),
            Body::Native { scope, step } => Self::of_step(scope, step, library),
        }
    }

    /// Whether two rules have the same patterns, each under its configuration; false where that is not seen at once.
    pub fn are_shared(of: (&Rule, &Configuration), with: (&Rule, &Configuration)) -> bool {
        let is_same_library = of.1.settings.regex == with.1.settings.regex
            && of.1.engine.is_proxysql() == with.1.engine.is_proxysql();
        is_same_library
            && match (&of.0.body, &with.0.body) {
                (Body::Engine(row), Body::Engine(other)) => {
                    row.match_digest == other.match_digest
                        && row.match_pattern == other.match_pattern
                        && row.re_modifiers == other.re_modifiers
                }
                (body, other) => body == other,
            }
    }

    /// Makes every pattern fast at once, and not after it has been asked often.
    pub fn prepare(&self) {
        for scope in std::iter::once(&self.scope).chain(&self.reads) {
            let lists = [
                &scope.digest,
                &scope.text,
                &scope.except_digest,
                &scope.except_text,
            ];
            lists.into_iter().flatten().flatten().for_each(Pattern::prepare);
        }
    }

    /// Patterns over the digest text: one at most for an engine rule.
    pub fn of_digest(&self) -> &[Result<Pattern, PatternError>] {
        &self.scope.digest
    }

    /// Patterns over the statement: one at most for an engine rule.
    pub fn of_text(&self) -> &[Result<Pattern, PatternError>] {
        &self.scope.text
    }

    fn of_row(row: &EngineRule, library: Library) -> Self {
        let flags = Flags {
            caseless: row.re_modifiers.caseless,
            global: row.re_modifiers.global,
        };
        let compile = |text: &Option<String>| text.iter().map(|text| library.compile(text, flags)).collect();
        Self {
            scope: ScopePatterns {
                digest: compile(&row.match_digest),
                text: compile(&row.match_pattern),
                ..ScopePatterns::default()
            },
            reads: Vec::new(),
        }
    }

    fn of_step(scope: &Scope, step: &NativeStep, library: Library) -> Self {
        let reads: &[Scope] = match step {
            NativeStep::Role(role) => match &role.reads {
                ReadSelection::All => &[],
                ReadSelection::Only(scopes) | ReadSelection::Except(scopes) => scopes,
            },
            NativeStep::Map(_)
            | NativeStep::Delay(_)
            | NativeStep::Throttle(_)
            | NativeStep::NoMultiplex
            | NativeStep::StopIfPlaced => &[],
        };
        Self {
            scope: ScopePatterns::of(scope, library),
            reads: reads
                .iter()
                .map(|scope| ScopePatterns::of(scope, library))
                .collect(),
        }
    }

    /// The patterns of `rule`, whose patterns these are, that the engine's library refuses.
    pub fn broken<'a>(&'a self, rule: &'a Rule) -> impl Iterator<Item = BrokenPattern<'a>> {
        let own = [
            (PatternColumn::MatchDigest, &self.scope.digest),
            (PatternColumn::MatchDigest, &self.scope.except_digest),
            (PatternColumn::MatchPattern, &self.scope.text),
            (PatternColumn::MatchPattern, &self.scope.except_text),
        ];
        let reads = self.reads.iter().flat_map(|reads| {
            [
                &reads.digest,
                &reads.except_digest,
                &reads.text,
                &reads.except_text,
            ]
            .map(|patterns| (PatternColumn::Reads, patterns))
        });
        let columns = own.into_iter().chain(reads);
        columns.flat_map(move |(column, patterns)| {
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

/// Whether a pattern matches; one that the engine's library refuses matches nothing. `None` where that cannot be told:
/// the pattern cannot be evaluated here, or the search was given up.
pub(super) fn finds(pattern: &Compiled, subject: &[u8]) -> Option<bool> {
    match pattern {
        Ok(pattern) => pattern.finds(subject),
        Err(error) => (error.kind == ErrorKind::Invalid).then_some(false),
    }
}

/// Whether a pattern is known to match.
pub(super) fn matches(pattern: &Compiled, subject: &[u8]) -> bool {
    finds(pattern, subject).unwrap_or(false)
}

/// What compiles and matches the patterns of a configuration.
#[derive(Clone, Copy, Debug)]
struct Library {
    regex: RegexEngine,
    /// The engine knows how long a statement is: a NUL byte hides nothing behind it.
    reads_past_nul: bool,
}

impl Library {
    fn compile(self, text: &str, flags: Flags) -> Compiled {
        let pattern = Pattern::compile(text, flags, dialect(self.regex))?;
        Ok(if self.reads_past_nul {
            pattern.past_nul()
        } else {
            pattern
        })
    }
}

fn dialect(regex: RegexEngine) -> Dialect {
    match regex {
        RegexEngine::Pcre => Dialect::Pcre,
        RegexEngine::Re2 => Dialect::Re2,
    }
}
