//! Where blocks of raw rules stand among the rules that are compiled.

use shardwright_topology::model::{BlockPlace, OriginId, Origins};

use crate::diagnostics::{BLOCK_POSITION, Diagnostics};
use crate::draft::{Draft, DraftRule};
use crate::engine_rules::RouteEnds;
use crate::numbering::Sequence;
use crate::program::RawBlock;

/// One entry of the list of rules.
pub(crate) enum ListEntry<'p> {
    /// Raw rules.
    Block(&'p RawBlock),
    /// A native step of an object.
    Step(OriginId, DraftRule),
    /// Everything that is compiled, which begins with an object: a block may stand in front of it, not inside.
    Compiled(OriginId, DraftRule),
    /// A route.
    Route(OriginId),
    /// A mark that is no object's.
    Mark(DraftRule),
}

/// Puts raw blocks around the other entries; those that name each other in a circle are reported.
pub(crate) fn with_blocks<'p>(
    entries: Vec<ListEntry<'p>>,
    blocks: &'p [RawBlock],
    origins: &Origins,
    report: &mut Diagnostics<'_>,
) -> Vec<ListEntry<'p>> {
    let at = |position: BlockPlace| {
        blocks
            .iter()
            .filter(move |block| block.at == position)
            .map(ListEntry::Block)
    };
    let mut order: Vec<ListEntry<'p>> = at(BlockPlace::BeforeAll).collect();
    order.extend(entries);
    order.extend(at(BlockPlace::AfterAll));
    let mut waiting: Vec<&RawBlock> = blocks
        .iter()
        .filter(|block| matches!(block.at, BlockPlace::Before(_) | BlockPlace::After(_)))
        .collect();
    while !waiting.is_empty() {
        let before = waiting.len();
        waiting.retain(|block| match index_of(&order, block.at, origins) {
            Some(at) => {
                order.insert(at, ListEntry::Block(block));
                false
            }
            None => true,
        });
        if waiting.len() == before {
            for block in waiting {
                let message = format!("on {}, the object that `at` names has no rules", report.engine);
                report.error(BLOCK_POSITION, block.origin, "at", message);
            }
            break;
        }
    }
    order
}

/// The routes at the front of the first chain, while the list is put in order: blocks may stand behind each.
#[derive(Default)]
pub(crate) struct PassedRoutes {
    ends: RouteEnds,
    passed: usize,
    added: usize,
}

impl PassedRoutes {
    pub(crate) fn new(ends: RouteEnds) -> Self {
        Self {
            ends,
            ..Self::default()
        }
    }

    /// Goes past the next route.
    pub(crate) fn pass(&mut self) {
        self.passed += 1;
    }

    /// Adds the rules of the routes that were passed, so that a block may follow; where no block can, that is reported.
    pub(crate) fn add(
        &mut self,
        sequence: &mut Sequence,
        draft: &mut Draft,
        block: &RawBlock,
        report: &mut Diagnostics<'_>,
    ) {
        let Some(passed) = self.passed.checked_sub(1) else {
            return;
        };
        match self.ends.behind(passed) {
            Some(end) => {
                sequence.chain(Draft::START, draft.take_front(end - self.added));
                self.added = end;
            }
            None => {
                let message = format!(
                    "on {}, no rules can stand behind a route whose `match` needs chains of rules: one with `except_…`, \
                     or with several lists",
                    report.engine
                );
                report.error(BLOCK_POSITION, block.origin, "at", message);
            }
        }
    }
}

/// Where a block goes that stands beside an object, or beside the object that holds it.
fn index_of(order: &[ListEntry<'_>], at: BlockPlace, origins: &Origins) -> Option<usize> {
    let (object, behind) = match at {
        BlockPlace::Before(object) => (object, 0),
        BlockPlace::After(object) => (object, 1),
        BlockPlace::BeforeAll | BlockPlace::AfterAll => return None,
    };
    let mut next = Some(object);
    while let Some(object) = next {
        let index = order.iter().position(|entry| match entry {
            ListEntry::Block(block) => block.origin == object,
            ListEntry::Step(origin, _) => *origin == object,
            ListEntry::Compiled(origin, _) => behind == 0 && *origin == object,
            ListEntry::Route(origin) => *origin == object,
            ListEntry::Mark(_) => false,
        });
        if let Some(index) = index {
            return Some(index + behind);
        }
        next = origins.parent(object);
    }
    None
}
