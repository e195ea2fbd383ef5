//! Maps that the bundled engine lays out in rules because the topology asks for it, instead of looking their keys up.
//!
//! A map in rules sits between native steps. Behind it there are two lists of the steps that follow: one for statements
//! that it placed, and one for those that it left alone, which raw rules at the end still take.

use std::collections::BTreeMap;

use shardwright_diagnostics::{Problems, Severity};
use shardwright_layout::Price;
use shardwright_rules::{Address, Body, EngineRule, Finder, MapStep, NativeStep, User};
use shardwright_topology::model::{BlockPlace, RuleLayout, Topology};

use crate::diagnostics::{Diagnostics, LAYOUT};
use crate::draft::{ChainRef, Draft, DraftRule};
use crate::engine_rules::{Chains, Class, Dialect, Exits, Input, Lowering, RoleGroup, Routed, Target};
use crate::lowered::Lowered;
use crate::map_plans::{self, Layout, MapPlan, PlanInput};
use crate::numbering::Sequence;
use crate::program::{Program, RawBlock};
use crate::raw_blocks::{ListEntry, PassedRoutes};

/// The plan of each map: one that cannot or need not be laid out in rules is dispatched.
pub(crate) fn plans(
    program: &Program,
    topology: &Topology,
    planning: PlanInput<'_>,
    report: &mut Diagnostics<'_>,
) -> Vec<MapPlan> {
    let mut plans: Vec<MapPlan> = Vec::new();
    for (at, section) in program.maps.iter().enumerate() {
        let map = topology
            .shard_maps
            .get_named(&section.step.map)
            .expect("the section was made from it");
        if matches!(map.rule_layout, RuleLayout::Auto | RuleLayout::Dispatch) {
            plans.push(MapPlan::default());
            continue;
        }
        let shared = plans.iter().zip(&program.maps).find(|(plan, other)| {
            let both = |user: &str| section.scope.users.contains(user) && other.scope.users.contains(user);
            plan.layout != Layout::Dispatch && program.users.iter().any(|user| both(&user.name))
        });
        let mut scratch = report.of_rules();
        let plan = map_plans::plan(section, map, program, planning, &mut scratch);
        let reason = shared
            .map(|(_, other)| format!("{} stands in rules for the same users", other.address))
            .or_else(|| {
                blocks_behind(program, at)
                    .then(|| "raw rules after it would be needed twice, but each has only one id".to_owned())
            })
            .or_else(|| linked(program, &section.step))
            .or_else(|| kept_on_writer(program, &section.step))
            .or_else(|| sees_more_than_rules(&section.step).map(str::to_owned))
            .or_else(|| first_error(&scratch.problems));
        match reason {
            Some(reason) if !is_wrong(&scratch.problems) => {
                let what = format!("`rule_layout` is ignored, and dispatch looks the keys up: {reason}");
                report.difference(section.origin, "rule_layout", what);
                plans.push(MapPlan::default());
            }
            reason => {
                report.take(scratch);
                plans.push(if reason.is_none() {
                    plan
                } else {
                    MapPlan::default()
                });
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
    let mut named = step.clusters_elsewhere();
    let (name, policy) = named.find_map(|name| {
        program.cluster(name)?.reader?;
        let policy = program
            .roles
            .iter()
            .find(|policy| policy.scope.clusters.contains(name))?;
        Some((name, &policy.address))
    })?;
    Some(format!(
        "{policy} sends reads of {name} to readers, and rules cannot keep statements on its writer"
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
    let before = |block: &RawBlock| match block.at {
        BlockPlace::BeforeAll => true,
        BlockPlace::AfterAll => true,
        BlockPlace::Before(origin) => program.maps[..=map].iter().any(|other| other.origin == origin),
        BlockPlace::After(_) => false,
    };
    !program.blocks.iter().all(before)
}

/// The rules of the bundled engine: its list, with maps that are laid out in rules.
pub(super) fn lower(
    program: &Program,
    plans: &[MapPlan],
    list: Vec<ListEntry<'_>>,
    price: Price,
    report: &mut Diagnostics<'_>,
) -> Lowered {
    let input = Input {
        program,
        plans,
        effects: &[],
        price,
    };
    let mut lowering = Lowering::new(input, Chains::new(Dialect::Bundled), report);
    let mut rules = RulesSoFar {
        sequence: Sequence::default(),
        rest: Draft::START,
        placed: None,
        routed: None,
    };
    let mut list = list.into_iter().peekable();
    while let Some(entry) = list.next() {
        match entry {
            ListEntry::Block(block) => {
                let zero = Some(rules.rest).filter(|&rest| rest != Draft::START);
                rules.sequence.block(block, zero);
            }
            ListEntry::Mark(rule) => rules.sequence.chain(rules.rest, vec![rule]),
            ListEntry::Route(_) => add_routes(&mut lowering, &mut rules, &mut list),
            ListEntry::Step(origin, rule) | ListEntry::Compiled(origin, rule) => {
                let map = program.maps.iter().position(|map| map.origin == origin);
                match map.filter(|&map| plans[map].layout != Layout::Dispatch) {
                    Some(map) => add_map(&mut lowering, map, &mut rules, list.peek().is_none()),
                    None => rules.step(rule),
                }
            }
        }
    }
    let Lowering {
        chains, mut outputs, ..
    } = lowering;
    let mut sequence = rules.sequence;
    let zero = Some(rules.rest).filter(|&rest| rest != Draft::START);
    sequence.written_routes(&program.blocks, zero);
    sequence.routes(std::mem::take(&mut outputs.routes));
    Lowered {
        sequence,
        draft: chains.draft,
        // `error_msg` answers executions too.
        reasons: Vec::new(),
        outputs,
        reference_users: reference_users(program),
    }
}

/// The first user of each map.
fn reference_users(program: &Program) -> BTreeMap<String, String> {
    let first = program.maps.iter().filter_map(|map| {
        let user = program
            .users
            .iter()
            .find(|user| map.scope.users.contains(&user.name))?;
        Some((map.step.map.clone(), user.name.clone()))
    });
    first.collect()
}

/// The rules so far, and the chains that go on.
struct RulesSoFar {
    sequence: Sequence,
    /// Of statements that no map in rules has placed.
    rest: ChainRef,
    /// Of those that one has.
    placed: Option<ChainRef>,
    /// Of those that a route has placed; none where nothing has an effect on them.
    routed: Option<ChainRef>,
}

impl RulesSoFar {
    /// A native step, for placed statements too, and for routed ones if it does not place them.
    fn step(&mut self, rule: DraftRule) {
        if let Some(routed) = self.routed.filter(|_| has_effect(&rule)) {
            let again = rule.copy(format!("{}/routed", rule.name));
            self.sequence.chain(routed, vec![again]);
        }
        if let Some(placed) = self.placed {
            let again = rule.copy(format!("{}/placed", rule.name));
            self.sequence.chain(placed, vec![again]);
        }
        self.sequence.chain(self.rest, vec![rule]);
    }
}

/// Whether a step does something to a statement besides placing it.
fn has_effect(rule: &DraftRule) -> bool {
    matches!(
        rule.body,
        Body::Native {
            step: NativeStep::Delay(_) | NativeStep::Throttle(_) | NativeStep::NoMultiplex,
            ..
        }
    )
}

/// Adds the rules of all routes, and the blocks that stand among them; the first is taken from the list already. Effects are
/// repeated in a chain for what routes have placed.
fn add_routes<'p>(
    lowering: &mut Lowering<'_, '_>,
    rules: &mut RulesSoFar,
    list: &mut impl Iterator<Item = ListEntry<'p>>,
) {
    let program = lowering.input.program;
    if !program.effects.is_empty() {
        rules.routed = Some(lowering.chains.draft.chain("routes.placed"));
    }
    let then = rules.routed.map_or(Target::Stop, Target::Jump);
    let Routed { rest, ends } = lowering.statement_routes(Draft::START, then);
    rules.rest = rest;
    let draft = &mut lowering.chains.draft;
    let mut routes = PassedRoutes::new(ends);
    routes.pass();
    let mut others = program.statement_routes.len() - 1;
    while others > 0 {
        match list.next() {
            Some(ListEntry::Block(block)) => {
                routes.add(&mut rules.sequence, draft, block, lowering.report);
                rules.sequence.block(block, None);
            }
            _ => {
                routes.pass();
                others -= 1;
            }
        }
    }
    rules.sequence.from(draft, Draft::START);
}

/// Adds the rules of a map, and the two chains that follow it.
fn add_map(lowering: &mut Lowering<'_, '_>, map: usize, rules: &mut RulesSoFar, is_last: bool) {
    let address = &lowering.input.map(map).address;
    let rest = lowering.chains.draft.chain(&format!("{address}.left"));
    let placed = lowering.chains.draft.chain(&format!("{address}.placed"));
    let class = class_of_map(lowering.input.program, map);
    let behind = |chain| {
        if is_last {
            Target::Stop
        } else {
            Target::Jump(chain)
        }
    };
    let exits = Exits {
        unkeyed: behind(rest),
        placed: behind(placed),
        elsewhere: behind(placed),
        end: behind(rest),
    };
    let chain = lowering.map_chain(map, &class, exits);
    let names: Vec<Option<&String>> = if class.everyone {
        vec![None]
    } else {
        class.users.iter().map(Some).collect()
    };
    let users = names.into_iter().map(|user| {
        let name = format!("{address}/for/{}", user.map_or("everyone", String::as_str));
        let rule = EngineRule {
            username: user.cloned(),
            ..EngineRule::default()
        };
        DraftRule::jumping(name, address, rule, chain)
    });
    rules.sequence.chain(rules.rest, users.collect());
    if !is_last {
        on(&mut rules.sequence, rules.rest, "left", address, rest);
        if let Some(before) = rules.placed {
            on(&mut rules.sequence, before, "placed", address, placed);
        }
    }
    rules.sequence.from(&mut lowering.chains.draft, chain);
    rules.rest = rest;
    rules.placed = Some(placed);
}

/// The users of a map, as one class.
fn class_of_map(program: &Program, map: usize) -> Class {
    let scope = &program.maps[map].scope;
    let is_meant = |user: &&User| {
        let cluster = program.cluster_of(user).map_or("", |cluster| &*cluster.name);
        scope.users.contains(&user.name) && scope.clusters.contains(cluster)
    };
    let users: Vec<_> = program.users.iter().filter(is_meant).collect();
    let users: Vec<String> = users.iter().map(|user| user.name.clone()).collect();
    // Steps behind the map tell reads from writes.
    let group = RoleGroup {
        users: users.clone(),
        policies: Vec::new(),
    };
    Class {
        users,
        everyone: scope.users.is_any() && scope.clusters.is_any(),
        maps: vec![map],
        groups: vec![group],
    }
}

/// What a chain has not taken goes on in another.
fn on(sequence: &mut Sequence, chain: ChainRef, name: &str, address: &Address, to: ChainRef) {
    let rule = DraftRule::jumping(format!("{address}/on/{name}"), address, EngineRule::default(), to);
    sequence.chain(chain, vec![rule]);
}
