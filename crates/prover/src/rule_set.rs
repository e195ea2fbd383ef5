//! A configuration's rules prepared for questions: chains, jumps, conditions, and the evaluator that has the last word.

mod cycles;

use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet};

use shardwright_rules::decide::{Detail, Index, RulePatterns};
use shardwright_rules::{
    Address, Body, Cluster, Configuration, Decision, EngineRule, Finder, Hits, HostgroupId, InShards,
    MapStep, NativeStep, Rule, SentAs, SessionView, Statement, User, told_apart,
};
use shardwright_sql::Digest;

use crate::condition::{Condition, Side, Term};
use crate::languages::{Domain, Languages};
use crate::lookup::Lookup;
use crate::session::{Session, SessionValues, common_listeners};

/// Rules by position, and what follows from their order.
#[derive(Debug)]
pub struct RuleSet<'c> {
    /// The configuration itself.
    pub configuration: &'c Configuration,
    pub(crate) lookup: Lookup<'c>,
    /// The patterns of all rules.
    pub languages: Languages,
    /// By position; `None` for a native step.
    pub conditions: Vec<Option<Condition<'c>>>,
    /// Positions of the rules that jump to a flag, ascending.
    pub(crate) entrances: BTreeMap<u32, Vec<usize>>,
    /// Flags that a statement can begin at: 0, and what `next_query_flagIN` and `mirror_flagOUT` name.
    pub start_flags: BTreeSet<u32>,
    /// Values of sessions that rules ask for.
    pub session_values: SessionValues,
    /// Copies of statements run through the rules in sessions without an address, which satisfy every condition on one.
    pub mirrors: bool,
    /// Flags at which fast routing has rows.
    pub fast_flags: BTreeSet<u32>,
    /// Rules that mark what is no execution, for the next rule of their chain alone.
    marks: BTreeSet<usize>,
    /// By flag, the first of those next rules: all but executions end there.
    answers: BTreeMap<u32, usize>,
    /// Some rule or step changes the text that later patterns read, but for those marks.
    pub rewrites_anywhere: bool,
    cyclic: OnceCell<bool>,
}

impl<'c> RuleSet<'c> {
    /// Prepares the rules of a configuration.
    #[must_use]
    pub fn of(configuration: &'c Configuration) -> Self {
        let lookup = Lookup::of(configuration);
        lookup.compile_all();
        let mut languages = Languages::new();
        let rules = &configuration.graph.rules;
        let (marks, answers): (BTreeSet<usize>, BTreeSet<usize>) =
            told_apart(rules).map(|pair| (pair.mark, pair.answer)).unzip();
        let has_digests = configuration.digests().is_some();
        let conditions: Vec<Option<Condition<'c>>> = rules
            .iter()
            .enumerate()
            .map(|(position, rule)| match &rule.body {
                // Statements are asked about as queries: behind the mark all of them have it.
                Body::Engine(row) if answers.contains(&position) => Some(Condition::met(row)),
                Body::Engine(row) => Some(Condition::of(
                    row,
                    has_digests,
                    lookup.patterns(position),
                    &mut languages,
                )),
                Body::Native { .. } => None,
            })
            .collect();
        let mut entrances = BTreeMap::<u32, Vec<usize>>::new();
        let mut start_flags = BTreeSet::from([0]);
        for (position, rule) in rules.iter().enumerate() {
            if let Body::Engine(row) = &rule.body {
                for flag in row.jumps() {
                    entrances.entry(flag).or_default().push(position);
                }
                start_flags.extend(row.next_query_flag_in);
                start_flags.extend(row.mirror_flag_out);
            }
        }
        let session_values = SessionValues::of(
            conditions.iter().flatten().map(|condition| condition.row),
            common_listeners([configuration, configuration]),
        );
        let fast = &configuration.graph.fast_routing;
        Self {
            fast_flags: fast.iter().map(|row| row.flag_in).collect(),
            rewrites_anywhere: rules
                .iter()
                .enumerate()
                .any(|(position, rule)| rewrites(rule) && !marks.contains(&position)),
            marks,
            answers: answers
                .iter()
                .rev()
                .map(|&position| (rules[position].flag_in, position))
                .collect(),
            cyclic: OnceCell::new(),
            configuration,
            lookup,
            languages,
            entrances,
            start_flags,
            mirrors: conditions
                .iter()
                .flatten()
                .any(|condition| condition.row.mirror_flag_out.is_some()),
            session_values,
            conditions,
        }
    }

    /// Number of rules.
    pub fn rule_count(&self) -> usize {
        self.conditions.len()
    }

    /// The id of the rule at a position.
    pub fn id(&self, position: usize) -> u32 {
        self.configuration.graph.rules[position].id
    }

    /// The ids of the rules at some positions.
    pub fn ids(&self, positions: &[usize]) -> Vec<u32> {
        positions.iter().map(|&position| self.id(position)).collect()
    }

    /// The flag of the chain that the rule is in.
    pub fn flag_in(&self, position: usize) -> u32 {
        self.configuration.graph.rules[position].flag_in
    }

    /// The object that the rule came from.
    pub fn address(&self, position: usize) -> Option<Address> {
        Some(self.configuration.graph.rules[position].address.clone())
    }

    /// The row of an engine rule; `None` for a native step.
    pub fn row(&self, position: usize) -> Option<&'c EngineRule> {
        self.conditions[position].as_ref().map(|condition| condition.row)
    }

    /// `mysql-query_processor_iterations`.
    pub fn iterations(&self) -> u32 {
        self.configuration.settings.query_processor_iterations
    }

    /// The chain of a flag; empty when no rule is in it.
    pub fn chain(&self, flag: u32) -> &[usize] {
        self.lookup.chains.of_flag(flag)
    }

    /// The chains that have rules, by flag.
    pub fn chains(&self) -> impl Iterator<Item = (u32, &[usize])> {
        self.lookup.chains.iter()
    }

    /// The flags that rules jump to, ascending.
    pub fn jump_targets(&self) -> impl Iterator<Item = u32> {
        self.entrances.keys().copied()
    }

    /// Positions of the rules that jump to a flag, ascending.
    pub fn entrances(&self, flag: u32) -> &[usize] {
        self.entrances.get(&flag).map_or(&[], Vec::as_slice)
    }

    /// The flags that a match at `position` goes on in.
    pub fn jumps(&self, position: usize) -> Vec<u32> {
        self.row(position)
            .map_or_else(Vec::new, |row| row.jumps().collect())
    }

    /// Whether a match keeps every later rule of the chain from being asked. `restarting`: jumps begin again at the
    /// first rule; otherwise a jump to the rule's own chain changes nothing.
    pub fn takes(&self, position: usize, restarting: bool) -> bool {
        let Some(row) = self.row(position) else {
            return false;
        };
        row.ends() && (restarting || row.jumps().all(|flag| flag != self.flag_in(position)))
    }

    /// Whether the statement that later patterns read can differ from the client's behind this rule.
    pub fn rewrites(&self, position: usize) -> bool {
        !self.marks.contains(&position) && rewrites(&self.configuration.graph.rules[position])
    }

    /// Whether only executions of prepared statements come to the rule: all else ended at an earlier one of its chain.
    pub(crate) fn is_for_executions(&self, position: usize) -> bool {
        let first = self.answers.get(&self.flag_in(position));
        first.is_some_and(|&answer| answer < position)
    }

    /// Whether the rule puts a mark in front of what is no execution, and does nothing else.
    pub fn is_mark(&self, position: usize) -> bool {
        self.marks.contains(&position)
    }

    /// Groups of flags that jumps lead around in a circle; both the groups and their flags are in ascending order.
    pub fn cycles(&self) -> Vec<Vec<u32>> {
        cycles::cycles(self)
    }

    /// Whether some flag can come back to itself by jumps that begin again at the first rule.
    pub(crate) fn is_cyclic(&self) -> bool {
        let find = || self.iterations() > 0 && !self.cycles().is_empty();
        *self.cyclic.get_or_init(find)
    }

    /// Whether a match goes on in a chain that refuses, which begins with a mark.
    fn leads_to_refusal(&self, position: usize) -> bool {
        let first = |flag: u32| self.chain(flag).first().copied();
        let jumps = self.jumps(position);
        !jumps.is_empty()
            && jumps
                .iter()
                .all(|&flag| first(flag).is_some_and(|first| self.is_mark(first)))
    }

    /// Whether the rule is the last of its chain, without a condition, and ends the evaluation or refuses.
    pub fn is_safety_net(&self, position: usize) -> bool {
        let chain = self.chain(self.flag_in(position));
        self.matches_everything(position)
            && chain.last() == Some(&position)
            && chain.len() > 1
            && (self.jumps(position).is_empty() || self.leads_to_refusal(position))
    }

    /// Whether the rule is such a net and no user can move it.
    pub fn is_compiled_net(&self, position: usize) -> bool {
        self.is_safety_net(position) && !self.is_written(position)
    }

    /// Whether no session and no statement fails the rule's conditions.
    pub fn matches_everything(&self, position: usize) -> bool {
        self.conditions[position]
            .as_ref()
            .is_some_and(|condition| condition.is_everything())
    }

    /// Whether every statement of every session matches the rule, if only because its pattern matches any text.
    pub fn takes_any_text(&self, position: usize) -> bool {
        self.conditions[position].as_ref().is_some_and(|condition| {
            let matches_any = |(side, term): &(Side, Term)| match (side, term) {
                (_, Term::Always) => true,
                (Side::Digest, Term::Lit(lit)) => self.languages.holds_everywhere(*lit, Domain::Digest),
                (Side::Text, Term::Lit(lit)) => self.languages.holds_everywhere(*lit, Domain::Text),
                (_, Term::Never | Term::Unknown(_)) => false,
            };
            !condition.has_session_condition()
                && condition.row.digest.is_none()
                && condition.terms.iter().all(matches_any)
        })
    }

    /// Whether the rule was written by hand, and is not compiled from what a topology says.
    pub fn is_written(&self, position: usize) -> bool {
        let address = self.configuration.graph.rules[position].address.as_str();
        address.starts_with("query_rules.") || address.starts_with("mysql_query_rules.")
    }

    /// The engine rules that were written by hand.
    pub fn written(&self) -> impl Iterator<Item = (usize, &'c EngineRule)> {
        (0..self.rule_count())
            .filter_map(|position| Some((position, self.row(position)?)))
            .filter(|(position, _)| self.is_written(*position))
    }

    /// The digest text as the engine makes it; where it makes none, as it would by its defaults.
    pub fn digest_text(&self, text: &[u8]) -> Vec<u8> {
        let options = self.configuration.digests().unwrap_or_default();
        Digest::with(text, &options).text
    }

    /// The compiled patterns of the rule at a position.
    pub fn patterns(&self, position: usize) -> &RulePatterns {
        self.lookup.patterns(position)
    }

    /// The user of this name.
    pub fn user(&self, name: &str) -> Option<&User> {
        self.lookup.user(name)
    }

    /// The cluster that owns a hostgroup.
    pub fn cluster_of(&self, hostgroup: HostgroupId) -> Option<&Cluster> {
        self.lookup.cluster_of(hostgroup)
    }

    /// What the evaluator says of a session in any state, with the evaluations that it counts.
    pub fn evaluate(&self, session: &SessionView<'_>, text: &[u8]) -> Decision {
        self.lookup.decide(session, text)
    }

    /// What the evaluator says.
    pub fn decide(&self, session: &Session, text: &[u8]) -> Decision {
        self.decide_as(SentAs::Query, session, text)
    }

    /// What the evaluator says of a statement that is sent with this command.
    pub fn decide_as(&self, sent_as: SentAs, session: &Session, text: &[u8]) -> Decision {
        let statement = Statement::new(text, Default::default()).sent_as(sent_as);
        self.lookup
            .decide_quickly(&session.view(), &statement, Detail::Path)
    }

    /// The rules that a statement matches, as [`RuleSet::decide`] tells them.
    pub(crate) fn hits(&self, session: &Session, text: &[u8]) -> Hits {
        let statement = Statement::new(text, Default::default());
        let decision = self
            .lookup
            .decide_quickly(&session.view(), &statement, Detail::Dispatch);
        decision.hits
    }
}

/// The text with `?` for its literals, which is what clients prepare. It is no digest of the engine, whose settings change
/// more than literals.
pub fn without_literals(text: &[u8]) -> Vec<u8> {
    Digest::of(text).text
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
