//! A configuration's rules prepared for questions: chains, jumps, conditions, and the evaluator that has the last word.

use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet};

use shardwright_rules::decide::Index;
use shardwright_rules::{
    Address, Body, Configuration, Decision, EngineRule, Finder, InShards, MapStep, NativeStep, Rule, SentAs,
    Statement,
};

use crate::condition::Condition;
use crate::languages::Languages;
use crate::lookup::Lookup;
use crate::session::{Mentioned, Session};

/// Rules by position, and what follows from their order.
#[derive(Debug)]
pub(crate) struct RuleSet<'c> {
    pub(crate) configuration: &'c Configuration,
    pub(crate) lookup: Lookup<'c>,
    pub(crate) languages: Languages,
    /// By position; `None` for a native step.
    pub(crate) conditions: Vec<Option<Condition<'c>>>,
    /// Positions by flag, ascending.
    pub(crate) chains: BTreeMap<u32, Vec<usize>>,
    /// Positions of the rules that jump to a flag, ascending.
    pub(crate) entrances: BTreeMap<u32, Vec<usize>>,
    /// Flags that a statement can begin at: 0, and what `next_query_flagIN` and `mirror_flagOUT` name.
    pub(crate) start_flags: BTreeSet<u32>,
    pub(crate) mentioned: Mentioned,
    /// Copies of statements run through the rules in sessions without an address, which satisfy every condition on one.
    pub(crate) mirrors: bool,
    /// Flags at which fast routing has rows.
    pub(crate) fast_flags: BTreeSet<u32>,
    /// Some rule or step changes the text that later patterns read.
    pub(crate) rewrites_anywhere: bool,
    cyclic: OnceCell<bool>,
}

impl<'c> RuleSet<'c> {
    pub(crate) fn of(configuration: &'c Configuration) -> Self {
        let lookup = Lookup::of(configuration);
        let mut languages = Languages::new();
        let rules = &configuration.graph.rules;
        let has_digests = configuration.digests().is_some();
        let conditions: Vec<Option<Condition<'c>>> = rules
            .iter()
            .enumerate()
            .map(|(position, rule)| match &rule.body {
                Body::Engine(row) => Some(Condition::of(
                    row,
                    has_digests,
                    lookup.patterns(position),
                    &mut languages,
                )),
                Body::Native { .. } => None,
            })
            .collect();
        let (mut chains, mut entrances) = (
            BTreeMap::<u32, Vec<usize>>::new(),
            BTreeMap::<u32, Vec<usize>>::new(),
        );
        let mut start_flags = BTreeSet::from([0]);
        for (position, rule) in rules.iter().enumerate() {
            chains.entry(rule.flag_in).or_default().push(position);
            if let Body::Engine(row) = &rule.body {
                for flag in jumps(row) {
                    entrances.entry(flag).or_default().push(position);
                }
                start_flags.extend(row.next_query_flag_in);
                start_flags.extend(row.mirror_flag_out);
            }
        }
        let mentioned = Mentioned::by(conditions.iter().flatten().map(|condition| condition.row));
        let fast = &configuration.graph.fast_routing;
        Self {
            fast_flags: fast.iter().map(|row| row.flag_in).collect(),
            rewrites_anywhere: rules.iter().any(rewrites),
            cyclic: OnceCell::new(),
            configuration,
            lookup,
            languages,
            chains,
            entrances,
            start_flags,
            mirrors: conditions
                .iter()
                .flatten()
                .any(|condition| condition.row.mirror_flag_out.is_some()),
            mentioned,
            conditions,
        }
    }

    /// Number of rules.
    pub(crate) fn len(&self) -> usize {
        self.conditions.len()
    }

    pub(crate) fn id(&self, position: usize) -> u32 {
        self.configuration.graph.rules[position].id
    }

    pub(crate) fn ids(&self, positions: &[usize]) -> Vec<u32> {
        positions.iter().map(|&position| self.id(position)).collect()
    }

    pub(crate) fn flag_in(&self, position: usize) -> u32 {
        self.configuration.graph.rules[position].flag_in
    }

    pub(crate) fn address(&self, position: usize) -> Option<Address> {
        Some(self.configuration.graph.rules[position].address.clone())
    }

    pub(crate) fn row(&self, position: usize) -> Option<&'c EngineRule> {
        self.conditions[position].as_ref().map(|condition| condition.row)
    }

    /// `mysql-query_processor_iterations`.
    pub(crate) fn iterations(&self) -> u32 {
        self.configuration.settings.query_processor_iterations
    }

    /// The chain of a flag; empty when no rule is in it.
    pub(crate) fn chain(&self, flag: u32) -> &[usize] {
        self.chains.get(&flag).map_or(&[], Vec::as_slice)
    }

    pub(crate) fn entrances(&self, flag: u32) -> &[usize] {
        self.entrances.get(&flag).map_or(&[], Vec::as_slice)
    }

    /// The flags that a match at `position` goes on in.
    pub(crate) fn jumps(&self, position: usize) -> Vec<u32> {
        self.row(position).map_or_else(Vec::new, jumps)
    }

    /// Whether a match keeps every later rule of the chain from being asked. `restarting`: jumps begin again at the
    /// first rule; otherwise a jump to the rule's own chain changes nothing.
    pub(crate) fn takes(&self, position: usize, restarting: bool) -> bool {
        let Some(row) = self.row(position) else {
            return false;
        };
        let flags = jumps(row);
        row.apply
            || (!flags.is_empty() && (restarting || flags.iter().all(|&flag| flag != self.flag_in(position))))
    }

    /// Whether the statement that later patterns read can differ from the client's behind this rule.
    pub(crate) fn rewrites(&self, position: usize) -> bool {
        rewrites(&self.configuration.graph.rules[position])
    }

    /// Whether some flag can come back to itself by jumps that begin again at the first rule.
    pub(crate) fn is_cyclic(&self) -> bool {
        let find = || self.iterations() > 0 && !crate::checks::cycles::cycles(self).is_empty();
        *self.cyclic.get_or_init(find)
    }

    /// Whether the rule is the last of its chain, without a condition or a jump.
    pub(crate) fn is_safety_net(&self, position: usize) -> bool {
        let chain = self.chain(self.flag_in(position));
        let everything = self.conditions[position]
            .as_ref()
            .is_some_and(|condition| condition.is_everything());
        everything && chain.last() == Some(&position) && chain.len() > 1 && self.jumps(position).is_empty()
    }

    /// Whether the rule was written by hand, and is not compiled from what a topology says.
    pub(crate) fn is_written(&self, position: usize) -> bool {
        let address = self.configuration.graph.rules[position].address.as_str();
        address.starts_with("query_rules.") || address.starts_with("mysql_query_rules.")
    }

    /// The engine rules that were written by hand.
    pub(crate) fn written(&self) -> impl Iterator<Item = (usize, &'c EngineRule)> {
        (0..self.len())
            .filter_map(|position| Some((position, self.row(position)?)))
            .filter(|(position, _)| self.is_written(*position))
    }

    /// What the evaluator says.
    pub(crate) fn decide(&self, session: &Session, text: &[u8]) -> Decision {
        self.decide_as(SentAs::Query, session, text)
    }

    /// What the evaluator says of a statement that is sent with this command.
    pub(crate) fn decide_as(&self, sent_as: SentAs, session: &Session, text: &[u8]) -> Decision {
        let statement = Statement::new(text, Default::default()).sent_as(sent_as);
        self.lookup.decide_quickly(&session.view(), &statement)
    }
}

fn rewrites(rule: &Rule) -> bool {
    match &rule.body {
        Body::Engine(row) => {
            row.replace_pattern.is_some() && row.match_pattern.is_some() && !row.negate_match_pattern
        }
        Body::Native {
            step: NativeStep::Map(map),
            ..
        } => map_rewrites(map),
        Body::Native { .. } => false,
    }
}

fn map_rewrites(map: &MapStep) -> bool {
    let absent = |finder: &Finder| {
        matches!(
            finder,
            Finder::Column {
                in_shards: InShards::Absent,
                ..
            }
        )
    };
    let renamed = map.logical_schema.is_some() && map.shards.iter().any(|shard| shard.schema.is_some());
    renamed || map.finders.iter().any(absent)
}

/// `flagOUT`, or the weighted flags that can be drawn; none for a rule that ends the evaluation.
fn jumps(row: &EngineRule) -> Vec<u32> {
    match row.flag_out {
        _ if row.apply => Vec::new(),
        Some(flag) => vec![flag],
        None => row
            .flag_outs
            .iter()
            .filter(|choice| choice.weight > 0)
            .map(|choice| choice.id)
            .collect(),
    }
}
