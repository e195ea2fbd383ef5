//! The rules of each flag, so that a jump costs a look-up and not a walk over every other chain.

use rustc_hash::FxHashMap;
use shardwright_rules::{Body, Rule, RuleGraph};

/// No rule.
const NONE: u32 = u32::MAX;
/// Rules of a chain that ask for a schema: fewer are asked one by one.
const FEWEST_SCHEMAS: usize = 8;

/// Positions of rules by flag, ascending.
#[derive(Debug, Default)]
pub(crate) struct Chains {
    by_flag: FxHashMap<u32, Vec<usize>>,
    /// The first rule of flag 0, where nearly every statement begins.
    first: Option<usize>,
    /// By position: the flag of the rule, and the next rule of that flag.
    followers: Vec<(u32, u32)>,
    /// Chains in which many rules ask for a schema, by flag.
    by_schema: FxHashMap<u32, BySchema>,
}

/// Positions of the rules of one chain by the schema that they ask for, ascending.
#[derive(Debug, Default)]
struct BySchema {
    own: FxHashMap<String, Vec<usize>>,
    /// Of rules that take every schema.
    free: Vec<usize>,
}

impl BySchema {
    fn of(graph: &RuleGraph, chain: &[usize]) -> Option<Self> {
        let wanted = |&&position: &&usize| schema_of(&graph.rules[position]).is_some();
        if chain.iter().filter(wanted).count() < FEWEST_SCHEMAS {
            return None;
        }
        let mut sorted = Self::default();
        for &position in chain {
            match schema_of(&graph.rules[position]) {
                Some(schema) => sorted.own.entry(schema.to_owned()).or_default().push(position),
                None => sorted.free.push(position),
            }
        }
        Some(sorted)
    }

    fn next(&self, schema: Option<&str>, from: usize) -> Option<usize> {
        let first = |rules: &[usize]| {
            rules
                .get(rules.partition_point(|&position| position < from))
                .copied()
        };
        let own = schema.and_then(|schema| first(self.own.get(schema)?));
        own.into_iter().chain(first(&self.free)).min()
    }
}

/// The schema that an engine's rule asks for.
fn schema_of(rule: &Rule) -> Option<&str> {
    match &rule.body {
        Body::Engine(row) => row.schemaname.as_deref().filter(|schema| !schema.is_empty()),
        Body::Native { .. } => None,
    }
}

impl Chains {
    pub(crate) fn of(graph: &RuleGraph) -> Self {
        let mut by_flag: FxHashMap<u32, Vec<usize>> = FxHashMap::default();
        let mut followers: Vec<(u32, u32)> = Vec::with_capacity(graph.rules.len());
        for (position, rule) in graph.rules.iter().enumerate() {
            let chain = by_flag.entry(rule.flag_in).or_default();
            if let Some(&before) = chain.last() {
                followers[before].1 = u32::try_from(position).unwrap_or(NONE);
            }
            chain.push(position);
            followers.push((rule.flag_in, NONE));
        }
        let by_schema = by_flag
            .iter()
            .filter_map(|(&flag, chain)| Some((flag, BySchema::of(graph, chain)?)))
            .collect();
        Self {
            by_schema,
            first: by_flag.get(&0).and_then(|chain| chain.first().copied()),
            by_flag,
            followers,
        }
    }

    /// The first rule of chain `flag` at or behind position `from`.
    pub(crate) fn next(&self, flag: u32, from: usize) -> Option<usize> {
        if (flag, from) == (0, 0) {
            return self.first;
        }
        let before = from.checked_sub(1).and_then(|before| self.followers.get(before));
        if let Some(&(own, next)) = before
            && own == flag
        {
            return (next != NONE).then_some(next as usize);
        }
        let chain = self.by_flag.get(&flag)?;
        chain
            .get(chain.partition_point(|&position| position < from))
            .copied()
    }

    /// Whether [`Chains::of_schema`] passes rules.
    pub(crate) fn ask_for_schemas(&self) -> bool {
        !self.by_schema.is_empty()
    }

    /// Whether many rules of a chain ask for a schema.
    pub(crate) fn is_by_schema(&self, flag: u32) -> bool {
        self.by_schema.contains_key(&flag)
    }

    /// The first rule of chain `flag` from its rule `position` on that does not ask for another schema.
    pub(crate) fn of_schema(&self, flag: u32, position: usize, schema: Option<&str>) -> Option<usize> {
        match self.by_schema.get(&flag) {
            Some(chain) => chain.next(schema, position),
            None => Some(position),
        }
    }

    /// The rules of flag 0, in order.
    pub(crate) fn of_flag_0(&self) -> impl Iterator<Item = usize> {
        self.by_flag.get(&0).into_iter().flatten().copied()
    }
}
