//! What the keys of one map pay, by asking for one key of each class and following the tree for the others.
//!
//! Statements of two keys part only where rules tell the keys apart. In front of a map's tree they differ by the bytes that
//! stand in the key besides letters, digits and `_`; behind it by where the leaf leads. So the evaluator is asked once for
//! each such class, and for the other keys of the class the cost inside the tree takes the place of that of the asked one.
//!
//! Example: of keys 1 to 1,000 on two clusters, in a tree of depth 2 whose leaves end the evaluation, the evaluator is asked for
//! key 1. It says 9 patterns, 4 of them inside the tree. Key 700 has 6 inside the tree: it pays 9 − 4 + 6 = 11.

use std::collections::{HashMap, HashSet};

use shardwright_rules::{CommentForm, Finder, KeyKind, KeyValue, MapStep, Shard};

use super::TreeRules;
use super::asker::{Asker, ClusterShape, Paid, Question};
use super::evaluated::Evaluated;
use super::said::{self, Said};
use super::ways::{Inside, Ways, jump};
use crate::engine_rules::MapTree;
use crate::map_plans::{Layout, MapPlan, entry_of};

/// Keys that are asked about one by one, where no class holds.
const MOST_ASKED: usize = 1_000;
/// Classes of one map. Leaves that lead elsewhere than those of so many classes are taken to cost like one another behind
/// the tree.
const MOST_CLASSES: usize = 1_000;

/// Sums over keys, each times its weight.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Sums {
    pub(super) weight: f64,
    pub(super) evaluations: f64,
    pub(super) pattern_ns: f64,
    pub(super) visits: f64,
}

impl Sums {
    fn add(&mut self, weight: f64, evaluated: Evaluated, visits: u64) {
        self.weight += weight;
        self.evaluations += weight * f64::from(evaluated.patterns);
        self.pattern_ns += weight * evaluated.ns;
        self.visits += weight * visits as f64;
    }
}

/// What was counted over the keys of a map.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct MapCount {
    /// All keys alike.
    pub(super) uniform: Sums,
    /// By traffic, where there is some.
    pub(super) weighted: Option<Sums>,
    /// Most patterns of one key.
    pub(super) worst: u32,
    /// Keys whose figures are their own.
    pub(super) exact: u64,
    /// Keys that were left out, or taken to cost like others.
    pub(super) estimated: u64,
}

/// A map and who asks it.
pub(super) struct MapOf<'m> {
    pub(super) step: &'m MapStep,
    pub(super) plan: &'m MapPlan,
    /// The user whose statements are counted.
    pub(super) user: &'m str,
    /// The other maps that the user's statements meet.
    pub(super) others: Vec<&'m MapStep>,
}

/// Counts the keys of a map.
pub(super) struct MapCosts<'m> {
    of: MapOf<'m>,
    asker: &'m Asker<'m>,
    finder: Option<&'m Finder>,
    ways: Vec<Ways<'m>>,
    tree_flags: HashSet<u32>,
    /// Keys in the names of the user and of its schema.
    of_session: HashSet<KeyValue>,
    /// No class holds: other maps, or a rule for each name, tell keys apart.
    each: bool,
}

/// A key, its shard and its statement.
struct Case<'m> {
    key: KeyValue,
    shard: &'m Shard,
    entry: Option<u32>,
}

/// Keys of which one tells the cost of all, but for the tree.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum CostClass {
    /// The key alone.
    Own(KeyValue),
    Shape {
        /// ASCII characters that no word has, by bit; the last bit: any other byte.
        signs: u128,
        /// Of each tree: the chain that the leaf goes on in, and its depth.
        leaves: Vec<Option<(Option<u32>, usize)>>,
        /// What the steps behind see of the shard's cluster.
        cluster: Option<ClusterShape>,
    },
}

/// What the asked key of a class paid.
struct Asked {
    paid: Paid,
    /// The tree that decided it, the jumps in front, and the cost inside.
    tree: Option<(usize, u32, Inside)>,
}

impl<'m> MapCosts<'m> {
    pub(super) fn of(of: MapOf<'m>, trees: &[&MapTree], rules: &TreeRules, asker: &'m Asker<'m>) -> Self {
        let ways: Vec<Ways<'m>> = trees
            .iter()
            .filter_map(|tree| Ways::of(tree, rules, asker))
            .collect();
        let chains = trees.iter().flat_map(|tree| &tree.chains);
        let finder = said::finder(of.step);
        let is_for_each_name =
            ways.is_empty() && !matches!(of.plan.layout, Layout::Dispatch | Layout::FastRouting);
        let others = of.others.iter().flat_map(|map| &map.finders);
        let is_shared = finder.is_some_and(|own| others.into_iter().any(|other| look_alike(own, other)));
        let home = asker.configuration().default_schema(of.user);
        let of_session = of.step.finders.iter().filter_map(|finder| {
            let (template, name) = match finder {
                Finder::Schema { template } => (template, home?),
                Finder::User { template } => (template, of.user),
                _ => return None,
            };
            KeyValue::parse(of.step.kind, template.extract(of.step.kind, name)?)
        });
        Self {
            of_session: of_session.collect(),
            each: is_for_each_name || is_shared,
            tree_flags: chains
                .filter_map(|chain| rules.flags.get(chain).copied())
                .collect(),
            of,
            asker,
            finder,
            ways,
        }
    }

    /// The user whose statements are counted.
    pub(super) fn user(&self) -> &str {
        self.of.user
    }

    /// Counts.
    pub(super) fn count(&self) -> MapCount {
        let hits = self.of.plan.weights.hits();
        let mut count = MapCount {
            weighted: hits.map(|_| Sums::default()),
            ..MapCount::default()
        };
        let mut classes: HashMap<CostClass, Option<Asked>> = HashMap::new();
        let kind = self.of.step.kind;
        let keys = self
            .of
            .step
            .shards
            .iter()
            // What is refused is not served: it is in no mean.
            .filter(|shard| shard.refuse.is_none())
            .flat_map(move |shard| keys(kind, shard));
        let every = match self.each {
            true => keys.clone().count().div_ceil(MOST_ASKED).max(1),
            false => 1,
        };
        for (at, (key, shard)) in keys.enumerate() {
            if !self.is_said(&key) {
                continue;
            }
            if at % every != 0 {
                count.estimated += 1;
                continue;
            }
            let case = Case {
                entry: entry_of(&key, &self.of.plan.entries).map(|entry| entry as u32),
                key,
                shard,
            };
            let full = classes.len() >= MOST_CLASSES;
            let class = self.class(&case, full);
            let is_estimated = full && class != self.class(&case, false);
            let asked = classes.entry(class).or_insert_with(|| self.ask(&case));
            let Some(asked) = asked else { continue };
            let (evaluated, visits) = self.in_place(asked, case.entry);
            count.uniform.add(1.0, evaluated, visits);
            match is_estimated {
                true => count.estimated += 1,
                false => count.exact += 1,
            }
            if let (Some(weighted), Some(hits), Some(entry)) = (&mut count.weighted, hits, case.entry) {
                let entry = entry as usize;
                let weight = hits[entry] / self.of.plan.entries[entry].keys as f64;
                weighted.add(weight, evaluated, visits);
            }
            count.worst = count.worst.max(evaluated.patterns);
        }
        count
    }

    fn class(&self, case: &Case<'m>, is_full: bool) -> CostClass {
        let key = &case.key;
        if self.each || self.of_session.contains(key) {
            return CostClass::Own(key.clone());
        }
        let is_named = match self.finder {
            Some(Finder::Schema { template }) => template
                .render(key)
                .is_some_and(|schema| self.asker.names_schema(&schema)),
            Some(Finder::User { template }) => template
                .render(key)
                .is_some_and(|user| self.asker.names_user(&user)),
            _ => false,
        };
        if is_named {
            return CostClass::Own(key.clone());
        }
        let leaf = |ways: &Ways<'_>| {
            let (onwards, depth) = ways.shape(case.entry?)?;
            Some((onwards.filter(|_| !is_full), depth))
        };
        CostClass::Shape {
            signs: signs(key),
            leaves: self.ways.iter().map(leaf).collect(),
            cluster: self.asker.shape_of(case.shard.cluster.as_deref()),
        }
    }

    fn said(&self, key: &KeyValue) -> Option<Said> {
        said::said(self.of.step, self.finder?, key, self.of.user)
    }

    /// Whether a session can have the key: of keys in the names of users, those of the configuration.
    fn is_said(&self, key: &KeyValue) -> bool {
        match self.finder {
            Some(Finder::User { template }) => template
                .render(key)
                .is_some_and(|user| self.asker.has_user(&user)),
            _ => true,
        }
    }

    /// Asks the evaluator; `None` where the place cannot hold the key.
    fn ask(&self, case: &Case<'_>) -> Option<Asked> {
        let said = self.said(&case.key)?;
        let positions = |ways: &Ways<'_>| case.entry.map(|entry| ways.positions(entry)).unwrap_or_default();
        let ways: Vec<Vec<usize>> = self.ways.iter().map(positions).collect();
        let paid = self.asker.ask(&Question {
            user: &said.user,
            schema: said.schema.as_deref(),
            sql: &said.sql,
            key: &case.key,
            map: &self.of.step.map,
            shard: case.shard,
            tree_flags: &self.tree_flags,
            way: &ways.concat(),
        });
        let decides = |way: &Vec<usize>| way.first().is_some_and(|leaf| paid.hits.contains(leaf));
        let tree = ways.iter().position(decides).zip(case.entry);
        let tree = tree.map(|(tree, entry)| {
            let rules = &self.asker.configuration().graph.rules;
            let in_front = paid.hits.iter().take_while(|hit| !ways[tree].contains(hit));
            let jumps = in_front.filter(|&&hit| jump(&rules[hit]).is_some()).count() as u32;
            (tree, jumps, self.ways[tree].inside(entry, jumps))
        });
        Some(Asked { paid, tree })
    }

    /// What a key of an entry pays whose class was asked.
    fn in_place(&self, asked: &Asked, entry: Option<u32>) -> (Evaluated, u64) {
        let Paid {
            evaluated, visits, ..
        } = asked.paid;
        let (Some((tree, jumps, there)), Some(entry)) = (asked.tree, entry) else {
            return (evaluated, visits);
        };
        let here = self.ways[tree].inside(entry, jumps);
        (
            Evaluated {
                patterns: evaluated.patterns + here.evaluated.patterns - there.evaluated.patterns,
                ns: evaluated.ns + here.evaluated.ns - there.evaluated.ns,
            },
            visits + here.visits - there.visits,
        )
    }
}

/// The keys of a shard; of a range the first, of a remainder the number itself.
fn keys(kind: KeyKind, shard: &Shard) -> impl Iterator<Item = (KeyValue, &Shard)> + Clone {
    let ranges = shard.ranges.iter().map(|range| KeyValue::Integer(range.0));
    let remainders = shard.remainders.iter().map(move |&remainder| match kind {
        KeyKind::Integer => KeyValue::Integer(remainder.cast_signed()),
        KeyKind::Text => KeyValue::Text(remainder.to_string().into()),
    });
    let all = shard.keys.iter().cloned().chain(ranges).chain(remainders);
    all.map(move |key| (key, shard))
}

/// The characters of a key that no word has, as bits.
fn signs(key: &KeyValue) -> u128 {
    let text = match key {
        KeyValue::Integer(number) => return u128::from(*number < 0) << b'-',
        KeyValue::Text(text) => text,
    };
    let other = text
        .bytes()
        .filter(|byte| !byte.is_ascii_alphanumeric() && *byte != b'_');
    other.fold(0, |signs, byte| signs | 1 << byte.min(127))
}

/// Whether two finders may read one key.
fn look_alike(one: &Finder, other: &Finder) -> bool {
    match (one, other) {
        (
            Finder::Comment { word, form },
            Finder::Comment {
                word: other,
                form: other_form,
            },
        ) => {
            let exact = |form: &CommentForm| matches!(form, CommentForm::Exact(_));
            exact(form) && exact(other_form) || word.eq_ignore_ascii_case(other)
        }
        (Finder::Column { column, .. }, Finder::Column { column: other, .. }) => {
            column.eq_ignore_ascii_case(other)
        }
        (Finder::Schema { .. }, Finder::Schema { .. })
        | (Finder::User { .. }, Finder::User { .. })
        | (Finder::Table { .. }, Finder::Table { .. }) => true,
        _ => false,
    }
}
