//! The patterns over the text of one table or of two, each once.
//!
//! Rules share patterns: those for readers have the patterns of those for writers, and two configurations of which one
//! was made from the other have most patterns in common, wherever their rules stand. A pattern is its language, and
//! whether it reads past a NUL byte: rules with other modifiers or negations can share it. Patterns without an
//! automaton are in no pool.

use std::sync::{Arc, OnceLock};

use rustc_hash::FxHashMap;
use shardwright_patterns::{Family, Pattern};
use shardwright_rules::decide::RulePatterns;

/// No family, no rule, no pattern.
pub(crate) const NONE: u32 = u32::MAX;

/// Patterns that a table may have besides those of the pool that it shares with another table.
const MOST_OTHERS: usize = 64;

/// Different patterns, by number.
#[derive(Debug, Default)]
pub(crate) struct Pool {
    /// The patterns of one rule that has it.
    patterns: Vec<Arc<RulePatterns>>,
    /// Made when a table of the pool has been asked often.
    families: OnceLock<PoolFamilies>,
}

/// The patterns of a pool that are matched together.
#[derive(Debug, Default)]
pub(crate) struct PoolFamilies {
    families: Vec<Family>,
    /// By number of the pattern.
    of_pattern: Vec<u32>,
}

impl Pool {
    /// A pool of the patterns of tables, and of each table the numbers of its patterns by position.
    pub(crate) fn of<'p, const TABLES: usize>(
        tables: [&'p [Arc<RulePatterns>]; TABLES],
    ) -> (Arc<Self>, [Vec<u32>; TABLES]) {
        let mut known: FxHashMap<(&'p str, bool), u32> = FxHashMap::default();
        let mut patterns = Vec::new();
        let mut number = |rule: &'p Arc<RulePatterns>| {
            let Some(key) = key_of(rule) else { return NONE };
            *known.entry(key).or_insert_with(|| {
                patterns.push(Arc::clone(rule));
                patterns.len() as u32 - 1
            })
        };
        let numbers = tables.map(|rules| rules.iter().map(&mut number).collect());
        let pool = Self {
            patterns,
            families: OnceLock::new(),
        };
        (Arc::new(pool), numbers)
    }

    /// The numbers of the patterns of another table; `None` if too many are not in the pool. `known` has the number of a
    /// rule that stands in a table of the pool.
    pub(crate) fn numbers(
        &self,
        rules: &[Arc<RulePatterns>],
        known: impl Fn(usize) -> Option<u32>,
    ) -> Option<Vec<u32>> {
        let mut by_key = None;
        let mut others = 0;
        let number = |(position, rule): (usize, &Arc<RulePatterns>)| {
            if let Some(number) = known(position) {
                return Some(number);
            }
            let Some(key) = key_of(rule) else {
                return Some(NONE);
            };
            let number = by_key.get_or_insert_with(|| self.by_key()).get(&key);
            others += usize::from(number.is_none());
            (others <= MOST_OTHERS).then(|| number.copied().unwrap_or(NONE))
        };
        rules.iter().enumerate().map(number).collect()
    }

    fn by_key(&self) -> FxHashMap<(&str, bool), u32> {
        let patterns = self.patterns.iter().zip(0..);
        patterns
            .filter_map(|(rule, number)| Some((key_of(rule)?, number)))
            .collect()
    }

    /// The pattern of a number.
    fn pattern(&self, number: u32) -> Option<&Pattern> {
        text_pattern(self.patterns.get(number as usize)?)
    }

    /// How many patterns there are.
    pub(crate) fn len(&self) -> usize {
        self.patterns.len()
    }

    /// Sorts the patterns into families, the first time.
    pub(crate) fn families(&self) -> &PoolFamilies {
        self.families.get_or_init(|| {
            let numbers = 0..self.patterns.len() as u32;
            let families = Family::among(numbers.filter_map(|number| Some((number, self.pattern(number)?))));
            let mut of_pattern = vec![NONE; self.patterns.len()];
            for (family, number) in families.iter().zip(0..) {
                for &member in family.members() {
                    of_pattern[member as usize] = number;
                }
            }
            PoolFamilies { families, of_pattern }
        })
    }

    /// Gives the numbers of the patterns of a family that `text` contains a match of to `take`, some more than once;
    /// false if that cannot be told.
    pub(crate) fn matching(&self, family: u32, text: &[u8], take: impl FnMut(u32)) -> bool {
        let family = self.families().families.get(family as usize);
        family.is_some_and(|family| family.matching(text, |number| self.pattern(number), take))
    }
}

impl PoolFamilies {
    pub(crate) fn is_empty(&self) -> bool {
        self.families.is_empty()
    }

    /// The family of a pattern; `NONE` if it is in none.
    pub(crate) fn of(&self, number: u32) -> u32 {
        self.of_pattern.get(number as usize).copied().unwrap_or(NONE)
    }
}

/// What tells two patterns of a pool apart.
fn key_of(rule: &RulePatterns) -> Option<(&str, bool)> {
    let pattern = text_pattern(rule)?;
    Some((pattern.regular_text()?, pattern.is_past_nul()))
}

/// The pattern over the text of an engine's rule, if it has one that can be run.
pub(crate) fn text_pattern(rule: &RulePatterns) -> Option<&Pattern> {
    match rule.of_text() {
        [Ok(pattern)] => Some(pattern),
        _ => None,
    }
}
