//! The bundled engine: one ordered list of raw rules and native steps.

use shardwright_rules::{Address, Body, DelayStep, NativeStep, Scope};
use shardwright_topology::model::{BlockPlace, OriginId, Origins};

use crate::draft::DraftRule;
use crate::native::effects::Effect;
use crate::native::{Block, Program, Section};
use crate::report::{PLACE, Report};

/// What stands at one place of the order.
pub(crate) enum Slot<'p> {
    /// Raw rules.
    Block(&'p Block),
    /// A native step of an object.
    Step(OriginId, DraftRule),
    /// Everything that is compiled, which begins with an object: a block may stand in front of it, not inside.
    Compiled(OriginId, DraftRule),
    /// A mark that is no object's.
    Mark(DraftRule),
}

/// The whole order.
pub(crate) fn slots<'p>(program: &'p Program, origins: &Origins, report: &mut Report<'_>) -> Vec<Slot<'p>> {
    let mut slots: Vec<Slot<'_>> = Vec::new();
    slots.extend(steps(&program.maps, |map| NativeStep::Map(map.clone())));
    slots.extend(steps(&program.roles, |role| {
        NativeStep::Role(Box::new(role.clone()))
    }));
    slots.extend(steps(&program.effects, |effect| match effect {
        Effect::Delay(delay_ms) => NativeStep::Delay(DelayStep { delay_ms: *delay_ms }),
        Effect::Multiplex(_) => NativeStep::NoMultiplex,
        Effect::Cache { .. } | Effect::Mirror { .. } => {
            unreachable!("what the bundled engine cannot do is reported and left out")
        }
    }));
    let places = !program.maps.is_empty() || !program.roles.is_empty();
    let last = program
        .blocks
        .iter()
        .any(|block| block.at == BlockPlace::AfterAll);
    if places && last {
        let stop = Body::Native {
            scope: Box::default(),
            step: NativeStep::StopIfPlaced,
        };
        slots.push(Slot::Mark(DraftRule {
            name: "stop_if_placed".to_owned(),
            address: Address::new("query_rules"),
            body: stop,
            jump: None,
            refuses: None,
            draws: Vec::new(),
            formerly: None,
            ends: false,
        }));
    }
    with_blocks(slots, &program.blocks, origins, report)
}

fn steps<T>(sections: &[Section<T>], step: impl Fn(&T) -> NativeStep) -> Vec<Slot<'static>> {
    sections
        .iter()
        .map(|section| {
            let scope: Box<Scope> = Box::new(section.scope.clone());
            let rule = DraftRule {
                name: section.address.to_string(),
                address: section.address.clone(),
                body: Body::Native {
                    scope,
                    step: step(&section.step),
                },
                jump: None,
                refuses: None,
                draws: Vec::new(),
                formerly: None,
                ends: false,
            };
            Slot::Step(section.origin, rule)
        })
        .collect()
}

/// Puts raw blocks around the other slots; those that name each other in a circle are reported.
pub(crate) fn with_blocks<'p>(
    slots: Vec<Slot<'p>>,
    blocks: &'p [Block],
    origins: &Origins,
    report: &mut Report<'_>,
) -> Vec<Slot<'p>> {
    let at = |place: BlockPlace| {
        blocks
            .iter()
            .filter(move |block| block.at == place)
            .map(Slot::Block)
    };
    let mut order: Vec<Slot<'p>> = at(BlockPlace::BeforeAll).collect();
    order.extend(slots);
    order.extend(at(BlockPlace::AfterAll));
    let mut waiting: Vec<&Block> = blocks
        .iter()
        .filter(|block| matches!(block.at, BlockPlace::Before(_) | BlockPlace::After(_)))
        .collect();
    while !waiting.is_empty() {
        let before = waiting.len();
        waiting.retain(|block| match place(&order, block.at, origins) {
            Some(at) => {
                order.insert(at, Slot::Block(block));
                false
            }
            None => true,
        });
        if waiting.len() == before {
            for block in waiting {
                let message = format!(
                    "nothing of {} has rules at the place that `at` names",
                    report.engine
                );
                report.error(PLACE, block.origin, "at", message);
            }
            break;
        }
    }
    order
}

/// Where a block goes that stands beside an object, or beside the object that holds it.
fn place(order: &[Slot<'_>], at: BlockPlace, origins: &Origins) -> Option<usize> {
    let (object, behind) = match at {
        BlockPlace::Before(object) => (object, 0),
        BlockPlace::After(object) => (object, 1),
        BlockPlace::BeforeAll | BlockPlace::AfterAll => return None,
    };
    let mut next = Some(object);
    while let Some(object) = next {
        let found = order.iter().position(|slot| match slot {
            Slot::Block(block) => block.origin == object,
            Slot::Step(origin, _) => *origin == object,
            Slot::Compiled(origin, _) => behind == 0 && *origin == object,
            Slot::Mark(_) => false,
        });
        if let Some(found) = found {
            return Some(found + behind);
        }
        next = origins.parent(object);
    }
    None
}
