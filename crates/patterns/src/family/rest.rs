//! Patterns that share no beginning, taken together in the order of their rules.

use regex_syntax::hir::{Hir, HirKind};

use crate::Pattern;
use crate::matcher::parts;

/// Families without a head: beyond them, patterns are asked one by one.
pub(super) const MOST_FAMILIES: usize = 16;
/// Members of such a family: a bit for each.
pub(super) const MOST_MEMBERS: usize = 64;
/// Members of the smallest one.
const FEWEST_MEMBERS: usize = 2;
/// Parts of a member, repetitions counted out. The test for a read has thousands.
const MOST_PARTS: usize = 20_000;
/// The most that a member may repeat a class, if there is a bound: an automaton counts in its states.
const MOST_COUNTED: u32 = 16;

/// Members of one family.
pub(super) struct Group {
    pub(super) members: Vec<u32>,
    pub(super) past_nul: bool,
}

/// The families among patterns, which are given with ascending numbers.
pub(super) fn groups<'p>(patterns: impl IntoIterator<Item = (u32, &'p Pattern)>) -> Vec<Group> {
    let mut groups: Vec<Group> = Vec::new();
    let mut open: [Option<usize>; 2] = [None, None];
    for (number, pattern) in patterns {
        if !pattern.hir().is_some_and(is_suitable) {
            continue;
        }
        let past_nul = pattern.is_past_nul();
        let open = &mut open[usize::from(past_nul)];
        let at = match open.filter(|&at| groups[at].members.len() < MOST_MEMBERS) {
            Some(at) => at,
            None if groups.len() == MOST_FAMILIES => break,
            None => {
                groups.push(Group {
                    members: Vec::new(),
                    past_nul,
                });
                groups.len() - 1
            }
        };
        *open = Some(at);
        groups[at].members.push(number);
    }
    groups.retain(|group| group.members.len() >= FEWEST_MEMBERS);
    groups
}

/// Whether an automaton of several such expressions stays small, as a rule.
fn is_suitable(hir: &Hir) -> bool {
    !hir.properties().look_set().contains_word_unicode() && parts(hir) <= MOST_PARTS && counts_little(hir)
}

fn counts_little(hir: &Hir) -> bool {
    match hir.kind() {
        HirKind::Empty | HirKind::Literal(_) | HirKind::Look(_) | HirKind::Class(_) => true,
        HirKind::Capture(capture) => counts_little(&capture.sub),
        HirKind::Concat(subs) | HirKind::Alternation(subs) => subs.iter().all(counts_little),
        HirKind::Repetition(repetition) => {
            let most = repetition.max.unwrap_or(repetition.min);
            most <= MOST_COUNTED && counts_little(&repetition.sub)
        }
    }
}
