//! What a rule asks of a statement, as literals over its two texts.

use shardwright_patterns::{ErrorKind, Pattern, PatternError};
use shardwright_rules::EngineRule;
use shardwright_rules::decide::RulePatterns;

use crate::languages::{Languages, Lit};
use crate::session::given;

/// One of the two texts that patterns read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// The digest text.
    Digest,
    /// The statement.
    Text,
}

/// One pattern of a rule, its negation counted in.
#[derive(Clone, Debug, PartialEq)]
pub enum Term {
    /// It is a question to a language.
    Lit(Lit),
    /// True: a pattern that does not compile, negated.
    Always,
    /// False: a pattern that does not compile.
    Never,
    /// The engine knows what it matches, and this analysis does not.
    Unknown(String),
}

/// The conditions of an engine rule.
#[derive(Debug)]
pub struct Condition<'c> {
    /// The row.
    pub row: &'c EngineRule,
    /// The hash of the digest that it asks for.
    pub hash: Option<u64>,
    /// Its patterns, each with the text that it reads.
    pub terms: Vec<(Side, Term)>,
}

impl<'c> Condition<'c> {
    /// That of a row which every statement matches that comes to it.
    pub(crate) fn met(row: &'c EngineRule) -> Self {
        Self {
            row,
            terms: Vec::new(),
            hash: None,
        }
    }

    /// Without digests (`has_digests`), the engine skips what asks for them.
    pub(crate) fn of(
        row: &'c EngineRule,
        has_digests: bool,
        patterns: &RulePatterns,
        languages: &mut Languages,
    ) -> Self {
        let mut terms = Vec::new();
        let of_digest = (Side::Digest, patterns.of_digest());
        let of_text = (Side::Text, patterns.of_text());
        for (side, patterns) in [of_digest, of_text] {
            if side == Side::Digest && !has_digests {
                continue;
            }
            for pattern in patterns {
                terms.push((side, term(pattern, row.negate_match_pattern, languages)));
            }
        }
        Self {
            row,
            hash: row.digest.filter(|_| has_digests),
            terms,
        }
    }

    /// No session and no statement fails it.
    pub(crate) fn is_everything(&self) -> bool {
        !self.has_session_condition()
            && self.hash.is_none()
            && self.terms.iter().all(|(_, term)| *term == Term::Always)
    }

    pub(crate) fn has_session_condition(&self) -> bool {
        let row = self.row;
        let texts = [&row.username, &row.schemaname, &row.client_addr, &row.proxy_addr];
        texts.into_iter().any(|text| given(text).is_some()) || row.proxy_port.is_some()
    }

    /// A pattern of it is false whatever the statement.
    pub fn is_never(&self) -> bool {
        self.terms.iter().any(|(_, term)| *term == Term::Never)
    }
}

fn term(pattern: &Result<Pattern, PatternError>, negated: bool, languages: &mut Languages) -> Term {
    match pattern {
        Ok(pattern) => Term::Lit(Lit {
            language: languages.add(pattern),
            positive: !negated,
        }),
        Err(error) if error.kind == ErrorKind::Invalid => {
            if negated {
                Term::Always
            } else {
                Term::Never
            }
        }
        Err(error) => Term::Unknown(error.message.clone()),
    }
}
