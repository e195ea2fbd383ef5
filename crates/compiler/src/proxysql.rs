//! ProxySQL: everything in engine rules.
//!
//! The program and the plans of its maps go in, rules in order come out ([`lower`]). Sections are chains; what a section does
//! not decide it hands to the next. [`sections`] joins the chains of `engine_rules` for each class of users; [`guard`] refuses
//! annotations in front of them. Behind the numbers, [`refusing_hostgroups`] and [`firewall`] make the other tables.

pub(crate) mod firewall;
mod guard;
mod readers;
pub(crate) mod refusing_hostgroups;
mod sections;

pub(crate) use guard::annotations_pattern;
use std::collections::BTreeMap;

use shardwright_layout::Price;
use shardwright_rules::{Address, EngineRule, RegexEngine};
use shardwright_topology::model::{BlockPlace, Origins};

use crate::diagnostics::Diagnostics;
use crate::draft::{ChainRef, Draft, DraftRule};
use crate::engine_rules::{Chains, Dialect, Input, Lowering, Target, effect_in_front, usable_effects};
use crate::lowered::Lowered;
use crate::map_plans::MapPlan;
use crate::numbering::Sequence;
use crate::program::{Program, RawBlock};
use crate::raw_blocks::{self, ListEntry, PassedRoutes};
use sections::Sections;

/// What a project and its engine say about rules besides the topology.
#[derive(Clone, Copy)]
pub(crate) struct EngineFacts {
    /// The library that matches patterns.
    pub(crate) regex: RegexEngine,
    /// The engine's prices.
    pub(crate) price: Price,
    /// The first rule id of the project's range.
    pub(crate) first_id: u32,
}

/// Lowers a program to engine rules.
pub(crate) fn lower(
    program: &Program,
    plans: &[MapPlan],
    origins: &Origins,
    facts: EngineFacts,
    report: &mut Diagnostics<'_>,
) -> Lowered {
    let mut chains = Chains::new(Dialect::Proxysql(facts.regex));
    let rules_at_end = program
        .blocks
        .iter()
        .any(|block| block.at == BlockPlace::AfterAll && !block.rules.is_empty());
    let has_last = rules_at_end || program.routes_what_is_left();
    let last = has_last.then(|| chains.draft.chain("query_rules.after_all"));
    let guards = guard::annotation_guards(&mut chains, program);
    let mut effects = usable_effects(program, report);
    // Nothing is set in front of raw rules that do not ask for it, those among routes too.
    let without = |block: &RawBlock| program.may_stand_among_routes(block) && !block.behind_effects;
    if program.blocks.iter().any(without) {
        effects.all_behind();
    }
    let input = Input {
        program,
        plans,
        effects: &effects.behind,
        price: facts.price,
    };
    readers::check_raw_rules(program, report);
    let of_readers = (!program.readers.is_empty()).then(|| program.of_readers());
    let mut lowering = Lowering::new(input, chains, report).with_readers(of_readers.as_ref());
    let end = last.map_or(Target::Stop, Target::Jump);
    let effects = effects
        .in_front
        .iter()
        .flat_map(|&effect| effect_in_front(program, effect));
    // Raw rules between the guards and the sections come first: nothing passes them, and nothing is set in front of them.
    let raw_in_front = program
        .blocks
        .iter()
        .any(|block| block.at != BlockPlace::AfterAll);
    let mut in_front: Vec<DraftRule> = Vec::new();
    for rule in effects {
        match raw_in_front {
            true => lowering.chains.draft.push(Draft::START, rule),
            false => in_front.push(rule),
        }
    }
    let Sections {
        reference_users,
        unguarded,
        route_ends,
        hands_on,
    } = lowering.sections(end, rules_at_end);
    // Without sections, what nothing has placed ends in the first chain.
    let last = last.filter(|_| hands_on || rules_at_end);
    // Routes come before maps, whatever statements a map usually gets.
    if !raw_in_front && program.statement_routes.is_empty() {
        for chain in unguarded.iter().filter_map(|rule| rule.jump) {
            lowering.chains.draft.enter(chain);
        }
        in_front.extend(unguarded);
    }
    in_front.extend(guards);
    if let (Some(last), true) = (last, starts_nowhere(&lowering.chains.draft)) {
        // Nothing else is compiled: raw rules at the end are reached from the start.
        let name = "query_rules.after_all".to_owned();
        let address = Address::new("query_rules");
        let rule = DraftRule::jumping(name, &address, EngineRule::default(), last);
        lowering.chains.draft.push(Draft::START, rule);
    }
    let late_from = LateGuards {
        guards: in_front,
        first_id: facts.first_id,
    };
    let routes = PassedRoutes::new(route_ends);
    in_order(lowering, late_from, routes, last, origins, reference_users)
}

/// Whether no rule of the first chain hands anything on.
fn starts_nowhere(draft: &Draft) -> bool {
    draft
        .get(Draft::START)
        .rules
        .iter()
        .all(|rule| rule.jump.is_none())
}

/// The rules in front of everything, guards last, and the first id that they may have.
struct LateGuards {
    guards: Vec<DraftRule>,
    first_id: u32,
}

/// Puts guards, raw rules and everything that is compiled in the order of evaluation.
fn in_order(
    lowering: Lowering<'_, '_>,
    LateGuards { guards, first_id }: LateGuards,
    mut routes: PassedRoutes,
    last: Option<ChainRef>,
    origins: &Origins,
    reference_users: BTreeMap<String, String>,
) -> Lowered {
    let Lowering {
        input,
        mut chains,
        mut outputs,
        report,
        ..
    } = lowering;
    let program = input.program;
    let order = raw_blocks::with_blocks(compiled_rules(program), &program.blocks, origins, report);
    let mut sequence = Sequence::default();
    let mut guards = Some(guards);
    let count = guards.as_ref().map_or(0, Vec::len);
    if !guard::would_renumber(&order, count, first_id) {
        sequence.chain(Draft::START, guards.take().unwrap_or_default());
    }
    let mut compiled = false;
    for entry in order {
        match entry {
            ListEntry::Block(block) => {
                if !compiled {
                    routes.add(&mut sequence, &mut chains.draft, block, report);
                }
                sequence.block(block, last.filter(|_| compiled));
                continue;
            }
            ListEntry::Route(_) => routes.pass(),
            ListEntry::Step(..) | ListEntry::Compiled(..) | ListEntry::Mark(_) => compiled = true,
        }
        if let Some(guards) = guards.take() {
            guard::report_late_guards(program, &guards, report);
            sequence.chain(Draft::START, guards);
        }
        if compiled {
            sequence.rest(&mut chains.draft);
        }
    }
    for chain in chains.refusal_chains() {
        let rules = chains.draft.take(chain);
        sequence.chain(chain, rules);
    }
    sequence.written_routes(&program.blocks, last);
    // The engine skips fast routing when its highest rule has apply = 1, matched or not (ProxySQL #5620).
    let routes = outputs.routes.first();
    // It is no shard's: every statement that rows of fast routing place comes by it.
    let of_map = routes.map(|route| (route.address.or_map(), route.chain));
    let written = program
        .first_written_route()
        .filter(|_| sequence.ends_with_apply());
    let written = written.map(|row| (row.route.address.clone(), last.unwrap_or(Draft::START)));
    if let Some((address, chain)) = of_map.or(written) {
        let tail = EngineRule {
            comment: Some("the highest rule must not apply, or fast routing is skipped".to_owned()),
            ..EngineRule::default()
        };
        let tail = DraftRule::engine("fast_routing.tail".to_owned(), &address, tail);
        sequence.chain(chain, vec![tail]);
    }
    sequence.routes(std::mem::take(&mut outputs.routes));
    Lowered {
        sequence,
        reasons: chains.refusal_reasons(),
        draft: chains.draft,
        outputs,
        reference_users,
    }
}

/// The routes, and what stands for everything else that is compiled. In front of the first section is in front of all of that.
fn compiled_rules(program: &Program) -> Vec<ListEntry<'_>> {
    let address = Address::new("query_rules");
    let marker = DraftRule::engine("rest".to_owned(), &address, EngineRule::default());
    let first = program.maps.first().map(|map| map.origin);
    let rest = match first.or_else(|| program.roles.first().map(|policy| policy.origin)) {
        Some(first) => ListEntry::Compiled(first, marker),
        None => ListEntry::Mark(marker),
    };
    let routes = program.statement_routes.iter();
    routes
        .map(|route| ListEntry::Route(route.origin))
        .chain([rest])
        .collect()
}
