//! What a map's tree costs with the read/write split in front of it, and with the split behind its leaves.
//!
//! The costs themselves are those of [`layout::compare`]. Here the tree that was lowered is turned into its
//! arguments: the rules that tell reads from writes are counted, and the entries are put into groups. Entries
//! are in one group where the rules behind their leaves would be the same, so that one copy serves them all.
//! An entry whose reads go where its writes go needs no such rules and has no group.
//!
//! Example: the shards a, b, c are on the clusters x, y, x. x and y have readers, and no schema is written.
//! The groups are 0, 1, 0, so a split at the leaves has its rules twice, and a split at the root once. Where
//! each statement gets the schema of its shard, a and c differ in what follows, and the groups are 0, 1, 2.

use std::collections::HashMap;

use shardwright_layout::{self as layout, RoleRules, Split};
use shardwright_rules::Body;

use super::input::Input;
use super::tree::TreeKey;
use crate::draft::{ChainRef, Draft};

/// What the rules of a split at the leaves can be shared by.
#[derive(PartialEq, Eq, Hash)]
struct SplitGroup<'p> {
    cluster: &'p str,
    /// The schema that is written.
    schema: Option<&'p str>,
}

/// Compares the two positions of the split for a map whose readers' tree has this key; `role` has the rules
/// of the split, `ends` are the roots that it leads to.
pub(super) fn compare(
    input: Input<'_>,
    draft: &Draft,
    readers: &TreeKey,
    role: ChainRef,
    ends: [ChainRef; 2],
) -> [Split; 2] {
    let plan = input.plan(readers.map);
    let measure = plan.weights.measure(input.price);
    let role = role_rules(draft, role, ends);
    layout::compare(&plan.shape, measure, role, &groups(input, readers))
}

/// For each entry the group whose rules of the split it would lead to.
fn groups(input: Input<'_>, readers: &TreeKey) -> Vec<Option<u32>> {
    let plan = input.plan(readers.map);
    let step = &input.map(readers.map).step;
    let mut numbers: HashMap<SplitGroup<'_>, u32> = HashMap::new();
    let mut group = |shard: usize| {
        let shard = &step.shards[shard];
        let cluster = shard.cluster.as_deref().filter(|_| shard.refuse.is_none())?;
        // No policy covers the cluster, or it has no readers.
        if input.destination(&readers.readers, shard) == input.destination(&[], shard) {
            return None;
        }
        let schema = step.logical_schema.as_ref().and(shard.schema.as_deref());
        let next = numbers.len() as u32;
        let shared = SplitGroup { cluster, schema };
        Some(*numbers.entry(shared).or_insert(next))
    };
    plan.entries.iter().map(|entry| group(entry.shard())).collect()
}

/// Counts the chains from one up to the trees that they lead to, and the patterns of all their rules. A
/// statement may stop before the last of them, so the patterns are an upper bound.
fn role_rules(draft: &Draft, first: ChainRef, ends: [ChainRef; 2]) -> RoleRules {
    let mut role = RoleRules {
        rules: 0,
        chains: 0,
        patterns: 0.0,
    };
    // The trees count as seen, so the search stops at them.
    let mut seen = ends.to_vec();
    let mut waiting = vec![first];
    while let Some(chain) = waiting.pop() {
        if seen.contains(&chain) {
            continue;
        }
        seen.push(chain);
        role.chains += 1;
        for rule in &draft.get(chain).rules {
            role.rules += 1;
            if let Body::Engine(engine) = &rule.body {
                let patterns =
                    usize::from(engine.match_digest.is_some()) + usize::from(engine.match_pattern.is_some());
                role.patterns += patterns as f64;
            }
            waiting.extend(rule.jump);
        }
    }
    role
}
