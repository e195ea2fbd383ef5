//! Maps that the bundled engine is told to lay out in rules instead of looking their keys up.
//!
//! A map in rules sits between native steps. Behind it there are two lists of the steps that follow: one for statements
//! that it placed, and one for those that it left alone, which raw rules at the end still take.

use shardwright_diagnostics::{Problems, Severity};
use shardwright_layout::Price;
use shardwright_rules::{Address, EngineRule, Finder, MapStep, MissingAction, UnknownKey};
use shardwright_topology::model::{BlockPlace, Origins, RuleLayout, Topology};

use super::classes::Class;
use super::plan::{self, Choosing, MapPlan};
use super::{Lowered, Lowering, Target};
use crate::assemble::Sequence;
use crate::bundled::{self, Slot};
use crate::draft::{ChainRef, Draft, DraftRule};
use crate::native::{Block, Program};
use crate::report::{LAYOUT, Report};

/// The plans of forced maps, by place in the program; the others are dispatched.
pub(crate) fn plans(
    program: &Program,
    topology: &Topology,
    choosing: Choosing<'_>,
    report: &mut Report<'_>,
) -> Vec<Option<MapPlan>> {
    let mut plans: Vec<Option<MapPlan>> = Vec::new();
    for (at, section) in program.maps.iter().enumerate() {
        let map = topology
            .shard_maps
            .get_named(&section.step.map)
            .expect("the section was made from it");
        if matches!(map.rule_layout, RuleLayout::Auto | RuleLayout::Dispatch) {
            plans.push(None);
            continue;
        }
        let shared = plans.iter().zip(&program.maps).find(|(plan, other)| {
            let both = |user: &str| section.scope.users.contains(user) && other.scope.users.contains(user);
            plan.is_some() && program.users.iter().any(|user| both(&user.name))
        });
        let mut scratch = report.of_rules();
        let plan = plan::plan(section, map, program, choosing, &mut scratch);
        let reason = shared
            .map(|(_, other)| format!("{} stands in rules for the same users", other.address))
            .or_else(|| {
                blocks_behind(program, at)
                    .then(|| "raw rules behind it would be needed twice, and have one id each".to_owned())
            })
            .or_else(|| linked(program, &section.step))
            .or_else(|| kept_on_writer(program, &section.step))
            .or_else(|| sees_more_than_rules(&section.step).map(str::to_owned))
            .or_else(|| first_error(&scratch.problems));
        match reason {
            Some(reason) if !is_wrong(&scratch.problems) => {
                let what =
                    format!("`rule_layout` is not followed and keys are looked up by dispatch: {reason}");
                report.difference(section.origin, "rule_layout", what);
                plans.push(None);
            }
            reason => {
                report.take(scratch);
                plans.push(reason.is_none().then_some(plan));
            }
        }
    }
    plans
}

fn first_error(problems: &Problems) -> Option<String> {
    let sorted = problems.sorted();
    let error = sorted
        .iter()
        .find(|problem| problem.severity == Severity::Error)?;
    Some(error.message.clone())
}

/// Maps in a row of `otherwise` compare what they find: a key of both is refused unless they place it alike, and a BEGIN
/// without a key is asked about once.
fn linked(program: &Program, step: &MapStep) -> Option<String> {
    let leads_here = |other: &&MapStep| other.otherwise.as_ref() == Some(&step.map);
    let before = program.maps.iter().map(|map| &*map.step).find(leads_here);
    let other = step.otherwise.as_ref().or(before.map(|other| &other.map))?;
    Some(format!(
        "`otherwise` joins it with shard_maps.{other}, and rules do not compare what two maps find"
    ))
}

/// What `missing_key` or `unknown_key` sends to a cluster stays on its writer; behind the rules of a map nothing tells it
/// from what the map has placed.
fn kept_on_writer(program: &Program, step: &MapStep) -> Option<String> {
    let missing = [&step.missing.statements, &step.missing.session_setup].map(|action| match action {
        MissingAction::Cluster(name) => Some(name),
        MissingAction::Reject | MissingAction::Allow => None,
    });
    let unknown = match &step.unknown {
        UnknownKey::Cluster(name) => Some(name),
        UnknownKey::Reject => None,
    };
    let mut named = missing.into_iter().chain([unknown]).flatten();
    let (name, policy) = named.find_map(|name| {
        program.cluster(name)?.reader?;
        let policy = program
            .roles
            .iter()
            .find(|policy| policy.scope.clusters.contains(name))?;
        Some((name, &policy.address))
    })?;
    Some(format!(
        "rules cannot keep statements on the writer of {name}, whose reads {policy} sends to readers"
    ))
}

/// Dispatch reads the names in a statement, and refuses those of another shard; rules see the session's schema only.
/// Whoever asks for a layout asks for no other meaning.
fn sees_more_than_rules(step: &MapStep) -> Option<&'static str> {
    let is_comment = |finder: &Finder| matches!(finder, Finder::Comment { .. });
    if !step.finders.iter().all(is_comment) {
        return Some("rules find a key as dispatch does in comments only");
    }
    let has_schemas = step.shards.iter().any(|shard| shard.schema.is_some());
    has_schemas.then_some("rules do not see which schemas a statement names")
}

fn is_wrong(problems: &Problems) -> bool {
    problems.sorted().iter().any(|problem| problem.code == LAYOUT)
}

/// Whether raw rules stand behind a map and in front of the end: they would be needed twice, and have one id each.
fn blocks_behind(program: &Program, map: usize) -> bool {
    let before = |block: &Block| match block.at {
        BlockPlace::BeforeAll => true,
        BlockPlace::AfterAll => true,
        BlockPlace::Before(origin) => program.maps[..=map].iter().any(|other| other.origin == origin),
        BlockPlace::After(_) => false,
    };
    !program.blocks.iter().all(before)
}

/// The rules of the bundled engine with maps that are laid out in rules.
pub(crate) fn lower(
    program: &Program,
    origins: &Origins,
    (plans, price): (Vec<Option<MapPlan>>, Price),
    report: &mut Report<'_>,
) -> Lowered {
    let slots = bundled::slots(program, origins, report);
    let forced: Vec<bool> = plans.iter().map(Option::is_some).collect();
    let plans = plans.into_iter().map(Option::unwrap_or_default).collect();
    let mut lowering = Lowering::new(program, report, Draft::new(), (plans, price));
    lowering.automata = true;
    let mut between = Between {
        sequence: Sequence::default(),
        rest: Draft::START,
        placed: None,
    };
    let mut slots = slots.into_iter().peekable();
    while let Some(slot) = slots.next() {
        match slot {
            Slot::Block(block) => {
                let zero = Some(between.rest).filter(|&rest| rest != Draft::START);
                between.sequence.block(block, zero);
            }
            Slot::Mark(rule) => between.sequence.chain(between.rest, vec![rule]),
            Slot::Step(origin, rule) | Slot::Compiled(origin, rule) => {
                let map = program.maps.iter().position(|map| map.origin == origin);
                match map.filter(|&map| forced[map]) {
                    Some(map) => lowering.forced_map(map, &mut between, slots.peek().is_none()),
                    None => between.step(rule),
                }
            }
        }
    }
    let mut sequence = between.sequence;
    sequence.routes(lowering.routes);
    let reference_users = program.maps.iter().enumerate().filter_map(|(at, map)| {
        let user = program
            .users
            .iter()
            .find(|user| map.scope.users.contains(&user.name))?;
        Some((at, user.name.clone()))
    });
    Lowered {
        sequence,
        draft: lowering.draft,
        trees: lowering.tree_leaves,
        plans: lowering.plans,
        reference_users: reference_users.collect(),
        rows: lowering.rows,
        reasons: Vec::new(),
    }
}

/// The rules so far, and the chains that go on.
struct Between {
    sequence: Sequence,
    /// Of statements that no map in rules has placed.
    rest: ChainRef,
    /// Of those that one has.
    placed: Option<ChainRef>,
}

impl Between {
    /// A native step, for placed statements too.
    fn step(&mut self, rule: DraftRule) {
        if let Some(placed) = self.placed {
            let again = DraftRule {
                name: format!("{}/placed", rule.name),
                formerly: None,
                address: rule.address.clone(),
                body: rule.body.clone(),
                jump: None,
                refuses: None,
                draws: Vec::new(),
                ends: false,
            };
            self.sequence.chain(placed, vec![again]);
        }
        self.sequence.chain(self.rest, vec![rule]);
    }
}

impl Lowering<'_, '_> {
    fn forced_map(&mut self, map: usize, between: &mut Between, is_last: bool) {
        let program = self.program;
        let section = &program.maps[map];
        let address = &section.address;
        let rest = self.draft.chain(&format!("{address}.left"));
        let placed = self.draft.chain(&format!("{address}.placed"));
        let class = self.class_of_map(map);
        let behind = |chain| {
            if is_last {
                Target::Stop
            } else {
                Target::Jump(chain)
            }
        };
        self.end = behind(rest);
        self.placed = behind(placed);
        let chain = self.map_chain(map, &class, behind(rest), behind(placed));
        let names: Vec<Option<&String>> = if class.everyone {
            vec![None]
        } else {
            class.users.iter().map(Some).collect()
        };
        let rules = names.into_iter().map(|user| {
            let name = format!("{address}/for/{}", user.map_or("everyone", String::as_str));
            let rule = EngineRule {
                username: user.cloned(),
                ..EngineRule::default()
            };
            DraftRule::jumping(name, address, rule, chain)
        });
        between.sequence.chain(between.rest, rules.collect());
        if !is_last {
            on(&mut between.sequence, between.rest, "left", address, rest);
            if let Some(before) = between.placed {
                on(&mut between.sequence, before, "placed", address, placed);
            }
        }
        between.sequence.from(&mut self.draft, chain);
        between.rest = rest;
        between.placed = Some(placed);
    }

    /// The users of a map, as one class.
    fn class_of_map(&self, map: usize) -> Class {
        let program = self.program;
        let scope = &program.maps[map].scope;
        let cluster_of = |user: &shardwright_rules::User| {
            let cluster = program
                .clusters
                .iter()
                .find(|cluster| cluster.owns(user.default_hostgroup));
            cluster.map_or("", |cluster| &*cluster.name)
        };
        let users = program
            .users
            .iter()
            .filter(|user| scope.users.contains(&user.name));
        let users: Vec<_> = users
            .filter(|user| scope.clusters.contains(cluster_of(user)))
            .collect();
        let mut schemas = vec!["information_schema".to_owned()];
        schemas.extend(users.iter().filter_map(|user| user.default_schema.clone()));
        schemas.sort();
        schemas.dedup();
        Class {
            users: users.iter().map(|user| user.name.clone()).collect(),
            everyone: scope.users.is_any() && scope.clusters.is_any(),
            maps: vec![map],
            policies: Vec::new(),
            cluster: String::new(),
            schemas,
            home: Vec::new(),
        }
    }
}

/// What a chain has not taken goes on in another.
fn on(sequence: &mut Sequence, chain: ChainRef, name: &str, address: &Address, to: ChainRef) {
    let rule = DraftRule::jumping(format!("{address}/on/{name}"), address, EngineRule::default(), to);
    sequence.chain(chain, vec![rule]);
}
