//! The languages of the patterns of a rule set: automata made at most once, and conjunctions of them.

mod around;

use std::cell::{Cell, OnceCell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;

use shardwright_patterns::{Automaton, Dialect, Flags, Limits, Literal, Pattern, Undecided, walk};

use crate::budget::{Cause, Spending};
use crate::needles::{Needles, rarest};

/// Where a pattern stands in [`Languages`].
pub(crate) type LanguageId = usize;

/// A pattern that must match, or must not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Lit {
    pub(crate) language: LanguageId,
    pub(crate) positive: bool,
}

impl Lit {
    /// The same pattern, the other way round.
    #[must_use]
    pub fn negated(self) -> Self {
        Lit {
            positive: !self.positive,
            ..self
        }
    }
}

/// Which texts are asked about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Domain {
    /// Any statement.
    Text,
    /// A set that holds every digest text.
    Digest,
    /// Digest texts that are, with few exceptions, their own digest.
    PlainDigest,
}

/// No digest text holds these, whatever the statement and the variables; see `sql::digest`. All else can stand in one: an
/// executable comment is copied as it is.
const NEVER_IN_DIGESTS: &str = r"\x00|\A ";
/// What pass 1 changes outside of executable comments: quotes, comments, blanks, digits that begin a word.
const READ_IN_DIGESTS: &str = r##"['"#\t\n\r]|/\*|--|  |(?:\A|[^0-9A-Za-z_$])[0-9]"##;
/// What the later passes change: blanks beside brackets, commas and `?`, signs without an operand; and what goes at the
/// end, but for a text that is cut off.
const SQUEEZED_IN_DIGESTS: &str = r"[(,] | [),]|[-+*/%] \?|\? [-+*/%]|[0-9A-Za-z_$] [-+]|(?:[^0-9A-Za-z_$?)]|[^0-9A-Za-z_$?)] )[-+][? ]|[ ;]\z";

/// Small enough that the hardest pattern gives up within a tenth of a second; guards over a comment of several keys need
/// some ten thousand states.
const LIMITS: Limits = Limits {
    bytes: 16 << 20,
    states: 4_000,
    tuples: 30_000,
};

/// States of all automata, and tuples of all questions, of one rule set: some seconds of work. What comes later has the
/// lower limits, so that a set of thousands of rules that all ask too much ends too; what they cut off is undecided.
const MOST_STATES: usize = 400_000;
const LATE_STATES: usize = 400;
const MOST_TUPLES: usize = 3_000_000;
const LATE_TUPLES: usize = 2_000;

/// What a state of an automaton and a tuple of states cost, in steps of a budget, about; and the bytes of a state.
const STATE_STEPS: usize = 50;
const TUPLE_STEPS: usize = 20;
const STATE_BYTES: usize = 256;

#[derive(Debug)]
struct Language {
    pattern: Pattern,
    automaton: OnceCell<Result<Automaton, Undecided>>,
    /// A larger language, for a pattern whose own automaton is too large.
    around: OnceCell<Result<Automaton, Undecided>>,
}

/// A text that many patterns are asked about.
pub(crate) struct Subject<'t> {
    text: &'t [u8],
    index: Rc<NeedleIndex>,
    /// The languages whose needle the text holds, ascending.
    hits: Vec<LanguageId>,
}

/// A needle of each language, searched at once.
#[derive(Debug, Default)]
struct NeedleIndex {
    needles: Needles,
    /// By language: it has a needle. Languages that were added later are not in it.
    has_needle: Vec<bool>,
}

/// The patterns of a rule set.
#[derive(Debug)]
pub struct Languages {
    languages: Vec<Language>,
    by_text: HashMap<(String, Flags, Dialect), LanguageId>,
    never_in_digests: Lit,
    rare_in_digests: [Lit; 2],
    /// What was asked before: rules of one chain share what leads to it.
    answers: RefCell<HashMap<(Vec<Lit>, Domain), Shortest>>,
    /// States that were made so far.
    states: Cell<usize>,
    /// Tuples that were visited so far.
    tuples: Cell<usize>,
    index: RefCell<Rc<NeedleIndex>>,
    /// What all work is charged to; without it, only the limits of one rule set hold.
    spending: Option<Rc<Spending>>,
}

type Shortest = Result<Option<Vec<u8>>, Undecided>;

impl Languages {
    pub(crate) fn new() -> Self {
        let mut languages = Self {
            languages: Vec::new(),
            by_text: HashMap::new(),
            never_in_digests: Lit {
                language: 0,
                positive: false,
            },
            rare_in_digests: [1, 2].map(|language| Lit {
                language,
                positive: false,
            }),
            answers: RefCell::default(),
            states: Cell::new(0),
            tuples: Cell::new(0),
            index: RefCell::default(),
            spending: None,
        };
        for text in [NEVER_IN_DIGESTS, READ_IN_DIGESTS, SQUEEZED_IN_DIGESTS] {
            let flags = Flags {
                caseless: false,
                global: false,
            };
            let pattern =
                Pattern::compile(text, flags, Dialect::Pcre).expect("a constant that the tests compile");
            languages.push(pattern);
        }
        languages
    }

    /// Whose work is charged.
    pub(crate) fn within(spending: Rc<Spending>) -> Self {
        Self {
            spending: Some(spending),
            ..Self::new()
        }
    }

    /// The limits of one question: they grow with the budget, and where there is none, they fall late in the work.
    fn limits(&self) -> Limits {
        match &self.spending {
            Some(spending) => {
                let factor = spending.budget().factor();
                Limits {
                    bytes: LIMITS.bytes,
                    states: LIMITS.states.saturating_mul(factor),
                    tuples: LIMITS.tuples.saturating_mul(factor),
                }
            }
            None => Limits {
                states: match self.states.get() < MOST_STATES {
                    true => LIMITS.states,
                    false => LATE_STATES,
                },
                tuples: match self.tuples.get() < MOST_TUPLES {
                    true => LIMITS.tuples,
                    false => LATE_TUPLES,
                },
                ..LIMITS
            },
        }
    }

    /// Charges work; false if the budget is spent. Bytes are those of what is kept.
    fn charge(&self, steps: usize, bytes: usize) -> bool {
        self.spending.as_ref().is_none_or(|spending| {
            spending.steps(steps as u64).is_ok() && spending.bytes(bytes as u64).is_ok()
        })
    }

    fn push(&mut self, pattern: Pattern) -> LanguageId {
        self.languages.push(Language {
            pattern,
            automaton: OnceCell::new(),
            around: OnceCell::new(),
        });
        self.languages.len() - 1
    }

    /// The language of a pattern; the same for patterns that are written alike.
    pub(crate) fn add(&mut self, pattern: &Pattern) -> LanguageId {
        let flags = Flags {
            global: false,
            ..pattern.flags()
        };
        let key = (pattern.text().to_owned(), flags, pattern.dialect());
        if let Some(&known) = self.by_text.get(&key) {
            return known;
        }
        let id = self.push(pattern.clone());
        self.by_text.insert(key, id);
        id
    }

    /// A text to ask patterns about.
    pub(crate) fn subject<'t>(&self, text: &'t [u8]) -> Subject<'t> {
        self.charge(16 + text.len(), 0);
        let index = self.index();
        let mut hits = Vec::new();
        index.needles.find(text, &mut hits);
        hits.sort_unstable();
        hits.dedup();
        Subject { text, index, hits }
    }

    /// Made anew when half of the languages are not in it.
    fn index(&self) -> Rc<NeedleIndex> {
        let known = self.index.borrow().clone();
        if known.has_needle.len() * 2 > self.languages.len() {
            return known;
        }
        let wanted = self.languages.iter().map(|language| {
            let needles = language.pattern.needles().into_iter();
            needles.map(|needle| (0, needle)).collect()
        });
        let chosen = rarest(wanted.collect());
        let mut by_needle: HashMap<Vec<u8>, Vec<LanguageId>> = HashMap::new();
        let has_needle = chosen.iter().map(Option::is_some).collect();
        for (id, needle) in chosen.into_iter().enumerate() {
            if let Some((_, needle)) = needle {
                by_needle.entry(needle).or_default().push(id);
            }
        }
        let made = Rc::new(NeedleIndex {
            needles: Needles::of(by_needle),
            has_needle,
        });
        self.index.replace(made.clone());
        made
    }

    /// Whether a text satisfies a literal, by the pattern itself.
    pub(crate) fn holds(&self, lit: Lit, subject: &Subject<'_>) -> bool {
        let needs = subject.index.has_needle.get(lit.language) == Some(&true);
        let possible = !needs || subject.hits.binary_search(&lit.language).is_ok();
        self.charge(1 + usize::from(possible) * (8 + subject.text.len()), 0);
        let pattern = &self.languages[lit.language].pattern;
        (possible && pattern.is_match(subject.text)) == lit.positive
    }

    /// The pattern of a literal.
    pub(crate) fn pattern(&self, lit: Lit) -> &str {
        self.languages[lit.language].pattern.text()
    }

    /// A text that the pattern shows, for a literal that asks for a match.
    pub(crate) fn sample(&self, lit: Lit) -> Option<Vec<u8>> {
        let language = self.languages.get(lit.language).filter(|_| lit.positive)?;
        language.pattern.sample()
    }

    fn automaton(&self, id: LanguageId) -> &Result<Automaton, Undecided> {
        let language = &self.languages[id];
        language.automaton.get_or_init(|| {
            let limits = self.limits();
            if !self.charge(0, 0) {
                return Err(Undecided::TooLarge {
                    states: limits.states,
                    bytes: limits.bytes,
                });
            }
            let made = Automaton::of(&language.pattern, &limits);
            let spent = made.as_ref().map_or(limits.states, Automaton::states);
            self.states.set(self.states.get() + spent);
            let pattern = || Cause::Pattern(language.pattern.text().to_owned());
            let before = self
                .spending
                .as_ref()
                .map(|spending| spending.charge_to(pattern()));
            self.charge(spent * STATE_STEPS, spent * STATE_BYTES);
            if let (Some(spending), Some(before)) = (&self.spending, before) {
                spending.charge_to(before);
            }
            made
        })
    }

    /// Why a question that went beyond a limit stays open.
    pub(crate) fn limit_reached(&self) -> &'static str {
        let is_early = self.tuples.get() < MOST_TUPLES && self.states.get() < MOST_STATES;
        match is_early || self.spending.is_some() {
            true => "a combination of patterns that is too large to decide",
            false => {
                "a combination of patterns that is too large to decide with what is left of the work of one analysis"
            }
        }
    }

    /// Whether it is proved that every text of the domain satisfies the literal.
    pub(crate) fn holds_everywhere(&self, lit: Lit, domain: Domain) -> bool {
        // The empty text is one of every domain, so most patterns need no automaton.
        let fails_empty = lit.positive && self.languages[lit.language].pattern.reads_bytes();
        !fails_empty
            && matches!(self.shortest(&[lit.negated()], domain), Ok(None))
            && self.unknown(lit).is_none()
    }

    /// Why the literal's language is not known exactly.
    pub fn unknown(&self, lit: Lit) -> Option<String> {
        let reason = self.automaton(lit.language).as_ref().err()?;
        let text = self.languages[lit.language].pattern.text();
        Some(format!("pattern `{}`: {reason}", shortened(text)))
    }

    /// A shortest text of the domain that satisfies the literals. Literals of unknown language are left out, so `None`
    /// is a proof that there is none, and a text may fail them.
    ///
    /// # Errors
    /// Beyond the limits.
    pub fn shortest(&self, lits: &[Lit], domain: Domain) -> Shortest {
        let mut lits = lits.to_vec();
        lits.sort_unstable();
        lits.dedup();
        let question = (lits, domain);
        if let Some(known) = self.answers.borrow().get(&question) {
            return known.clone();
        }
        let answer = self.search(&self.literals(&question.0, domain));
        self.answers.borrow_mut().insert(question, answer.clone());
        answer
    }

    fn search(&self, literals: &[Literal<'_>]) -> Shortest {
        let limits = self.limits();
        if !self.charge(1, 0) {
            return Err(Undecided::TooManyTuples(limits.tuples));
        }
        let (answer, visited) = walk(literals, &limits);
        self.tuples.set(self.tuples.get() + visited);
        self.charge(visited * (TUPLE_STEPS + literals.len()), 0);
        answer
    }

    /// As [`Languages::shortest`], outside of every one of `excluded` as well. Exact in `excluded` only if it is `Ok`.
    ///
    /// # Errors
    /// Beyond the limits, or where the language of an excluded pattern is unknown.
    pub(crate) fn shortest_outside(&self, lits: &[Lit], excluded: &[LanguageId], domain: Domain) -> Shortest {
        let patterns: Vec<&Pattern> = excluded.iter().map(|&id| &self.languages[id].pattern).collect();
        let limits = Limits {
            bytes: 16 << 20,
            states: 50_000,
            ..LIMITS
        };
        if !self.charge(0, 0) {
            return Err(Undecided::TooManyTuples(limits.tuples));
        }
        let union = Automaton::of_any(&patterns, &limits);
        let states = union.as_ref().map_or(limits.states, Automaton::states);
        self.charge(states * STATE_STEPS, 0);
        let union = union?;
        let mut literals = self.literals(lits, domain);
        literals.push(Literal {
            automaton: &union,
            positive: false,
        });
        self.search(&literals)
    }

    fn literals(&self, lits: &[Lit], domain: Domain) -> Vec<Literal<'_>> {
        let of_domain: &[Lit] = match domain {
            Domain::Text => &[],
            Domain::Digest => &[self.never_in_digests],
            Domain::PlainDigest => &[
                self.never_in_digests,
                self.rare_in_digests[0],
                self.rare_in_digests[1],
            ],
        };
        lits.iter()
            .chain(of_domain)
            .filter_map(|lit| {
                let automaton = self.automaton(lit.language).as_ref().ok()?;
                Some(Literal {
                    automaton,
                    positive: lit.positive,
                })
            })
            .collect()
    }
}

/// A pattern as a message shows it.
pub fn shortened(text: &str) -> String {
    shardwright_diagnostics::shortened(text, 60).into_owned()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use shardwright_sql::{Digest, DigestOptions};

    use super::*;

    fn pieces() -> impl Strategy<Value = Vec<u8>> {
        let pieces = prop::sample::select(vec![
            "a",
            "1",
            " ",
            "  ",
            "(",
            ")",
            ",",
            ";",
            "'",
            "\"",
            "/*",
            "*/",
            "/",
            "*",
            "!",
            "-",
            "--",
            "#",
            "\n",
            "\t",
            "+",
            "`",
            ".",
            "0x",
            "e5",
            "?",
            "\\",
            "é",
            "/*!",
            "'x'",
            "12",
            "\0",
            "\x0b",
            "-- ",
            "NULL",
            "(1,2,3,4,5),",
        ]);
        prop::collection::vec(pieces, 0..14).prop_map(|pieces| pieces.concat().into_bytes())
    }

    fn options() -> impl Strategy<Value = DigestOptions> {
        (any::<[bool; 4]>(), 1_u32..5, 0_u32..3, 16_usize..40).prop_map(|(on, kept, groups, longest)| {
            DigestOptions {
                lowercase: on[0],
                replace_null: on[1],
                no_digits: on[2],
                keep_comment: on[3],
                grouping_limit: kept,
                groups_grouping_limit: groups,
                max_query_length: longest,
                max_digest_length: 2048,
            }
        })
    }

    proptest! {
        #[test]
        fn no_digest_holds_what_digests_never_hold(text in pieces(), options in options()) {
            let languages = Languages::new();
            for options in [options, DigestOptions::DEFAULT] {
                let digest = Digest::with(&text, &options).text;
                let subject = languages.subject(&digest);
                prop_assert!(languages.holds(languages.never_in_digests, &subject), "{:?}", digest.escape_ascii().to_string());
            }
        }

        #[test]
        fn what_reads_as_a_plain_digest_is_its_own_digest(text in pieces()) {
            let languages = Languages::new();
            let subject = languages.subject(&text);
            let domain = [&[languages.never_in_digests][..], &languages.rare_in_digests].concat();
            // Patterns read a text up to its first NUL, and long lists of `?` are shortened.
            let is_shortened = text.windows(3).any(|part| part == b"?,?");
            if !text.contains(&0) && !is_shortened && domain.iter().all(|&lit| languages.holds(lit, &subject)) {
                prop_assert_eq!(Digest::of(&text).text.escape_ascii().to_string(), text.escape_ascii().to_string());
            }
        }
    }
}
