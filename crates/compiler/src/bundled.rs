//! The bundled engine: one ordered list of raw rules and native steps.
//!
//! The program and the plans of its maps go in, rules in order come out ([`lower`]). A map is a native step, which looks its
//! keys up, unless its plan lays it out in rules ([`rule_maps`]). Routes are rules.

mod rule_maps;

use shardwright_layout::Price;
use shardwright_rules::{Address, DelayStep, NativeStep, Scope};
use shardwright_topology::model::{BlockPlace, Origins};

use crate::diagnostics::Diagnostics;
use crate::draft::DraftRule;
use crate::lowered::Lowered;
use crate::map_plans::MapPlan;
use crate::program::effects::Effect;
use crate::program::{Program, Section};
use crate::raw_blocks::{ListEntry, with_blocks};
pub(crate) use rule_maps::plans;

/// Lowers a program to native steps, and to engine rules where a map's plan asks for them.
pub(crate) fn lower(
    program: &Program,
    plans: &[MapPlan],
    origins: &Origins,
    price: Price,
    report: &mut Diagnostics<'_>,
) -> Lowered {
    let list = list(program, origins, report);
    rule_maps::lower(program, plans, list, price, report)
}

/// The whole order.
fn list<'p>(program: &'p Program, origins: &Origins, report: &mut Diagnostics<'_>) -> Vec<ListEntry<'p>> {
    let mut list: Vec<ListEntry<'_>> = Vec::new();
    let routes = program.statement_routes.iter();
    list.extend(routes.map(|route| ListEntry::Route(route.origin)));
    list.extend(steps(&program.maps, |map| NativeStep::Map(map.clone())));
    list.extend(steps(&program.roles, |role| {
        NativeStep::Role(Box::new(role.clone()))
    }));
    list.extend(steps(&program.effects, |effect| match effect {
        Effect::Delay(delay_ms) => NativeStep::Delay(DelayStep { delay_ms: *delay_ms }),
        Effect::Throttle(throttle) => NativeStep::Throttle(throttle.clone()),
        Effect::Multiplex(_) => NativeStep::NoMultiplex,
        Effect::TimeLimit(_) | Effect::Cache { .. } | Effect::Mirror { .. } => {
            unreachable!("what the bundled engine does by other means, or cannot do, is left out")
        }
    }));
    let places_statements = !program.maps.is_empty() || !program.roles.is_empty();
    let has_last = program
        .blocks
        .iter()
        .any(|block| block.at == BlockPlace::AfterAll)
        || program.routes_what_is_left();
    if (places_statements || !program.readers.is_empty()) && has_last {
        list.push(ListEntry::Mark(DraftRule::native(
            "stop_if_placed".to_owned(),
            &Address::new("query_rules"),
            Scope::default(),
            NativeStep::StopIfPlaced,
        )));
    }
    with_blocks(list, &program.blocks, origins, report)
}

fn steps<T>(sections: &[Section<T>], step: impl Fn(&T) -> NativeStep) -> Vec<ListEntry<'static>> {
    let entry = |section: &Section<T>| {
        let name = section.address.to_string();
        let rule = DraftRule::native(name, &section.address, section.scope.clone(), step(&section.step));
        ListEntry::Step(section.origin, rule)
    };
    sections.iter().map(entry).collect()
}
