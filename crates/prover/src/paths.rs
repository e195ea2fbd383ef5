//! The paths on which a statement can come to a rule: chains of jumps, and the rules before them that must not take it.
//!
//! Without restarts a path is a sequence of jumps at ascending positions. With restarts the first `iterations` jumps begin
//! again at the first rule and later ones go on forward; a path that burns its restarts in a cycle is cut off where the
//! cycle begins, so that it stands for more statements than take it. Emptiness is therefore always a proof, and whatever
//! is not empty goes to the evaluator.

use crate::rule_set::RuleSet;

/// Paths asked about for one rule; beyond, the rule is undecided unless its own chain decides.
const MOST_PATHS: usize = 24;
/// Steps of the enumeration for one rule.
const MOST_STEPS: usize = 2_000;
/// Jumps of one path.
const MOST_JUMPS: usize = 48;

/// Rules of one chain that are asked in a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Segment {
    pub(crate) flag: u32,
    /// First position.
    pub(crate) from: usize,
    /// The position of the rule that must match: a jump, or the goal. At the end of the rules: their number.
    pub(crate) to: usize,
    /// Jumps of this segment begin again at the first rule.
    pub(crate) restarting: bool,
}

/// From a start flag to the goal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct JumpPath {
    /// In the order of evaluation.
    pub(crate) segments: Vec<Segment>,
    /// Earlier segments were left out.
    pub(crate) cut: bool,
}

/// The paths to one position.
#[derive(Debug)]
pub(crate) struct JumpPaths {
    pub(crate) paths: Vec<JumpPath>,
    /// There are no others.
    pub(crate) complete: bool,
}

/// The paths to position `to` in the chain of `flag`.
pub(crate) fn leading_to(set: &RuleSet<'_>, flag: u32, to: usize) -> JumpPaths {
    let mut search = Search {
        set,
        paths: Vec::new(),
        steps: 0,
        complete: true,
        cyclic: set.is_cyclic(),
    };
    search.extend(&mut Vec::new(), flag, to, Phase::Forward, 0);
    search.paths.sort_by_key(|path| path.segments.len());
    JumpPaths {
        paths: search.paths,
        complete: search.complete,
    }
}

/// What holds on every path to a position: the part of its own chain behind the last jump into the chain.
pub(crate) fn common_end(set: &RuleSet<'_>, flag: u32, to: usize) -> JumpPath {
    let changes = |position: usize| set.iterations() > 0 || set.flag_in(position) != flag;
    let behind = |&position: &usize| (position < to && changes(position)).then_some(position + 1);
    let last = set.entrances(flag).iter().filter_map(behind).max().unwrap_or(0);
    let segment = Segment {
        flag,
        from: last.min(to),
        to,
        restarting: false,
    };
    JumpPath {
        segments: vec![segment],
        cut: true,
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// Only forward jumps stand between here and the goal.
    Forward,
    /// A jump that began again stands between here and the goal.
    Restarting,
}

struct Search<'s, 'c> {
    set: &'s RuleSet<'c>,
    paths: Vec<JumpPath>,
    steps: usize,
    complete: bool,
    cyclic: bool,
}

impl Search<'_, '_> {
    /// `behind`: the segments behind this one, last first; `restarts`: jumps among them that began again.
    fn extend(&mut self, behind: &mut Vec<Segment>, flag: u32, to: usize, phase: Phase, restarts: u32) {
        self.steps += 1;
        if self.steps > MOST_STEPS || self.paths.len() >= MOST_PATHS || behind.len() >= MOST_JUMPS {
            self.complete = false;
            return;
        }
        let set = self.set;
        let iterations = set.iterations();
        // How many restarts must lie before a segment that is followed by a forward jump.
        let burnt = |restarts: u32| iterations == 0 || restarts == iterations;
        let followed_forward = phase == Phase::Forward && !behind.is_empty();
        let from_start = Segment {
            flag,
            from: 0,
            to,
            restarting: iterations > 0,
        };
        let starts = set.start_flags.contains(&flag) && (!followed_forward || burnt(restarts));
        if starts {
            self.finish(behind, from_start, false);
        } else if followed_forward && iterations > 0 && self.cyclic {
            self.finish(behind, from_start, true);
        }
        for &jump in set.entrances(flag) {
            let jump_flag = set.flag_in(jump);
            if phase == Phase::Forward && jump < to && (iterations > 0 || jump_flag != flag) {
                let segment = Segment {
                    flag,
                    from: jump + 1,
                    to,
                    restarting: false,
                };
                behind.push(segment);
                self.extend(behind, jump_flag, jump, Phase::Forward, restarts);
                behind.pop();
            }
            let repeats = jump_flag == flag
                || behind
                    .iter()
                    .any(|segment| segment.restarting && segment.flag == jump_flag);
            if restarts < iterations && !repeats {
                behind.push(from_start);
                self.extend(behind, jump_flag, jump, Phase::Restarting, restarts + 1);
                behind.pop();
            }
        }
    }

    fn finish(&mut self, behind: &[Segment], first: Segment, cut: bool) {
        let segments = std::iter::once(first)
            .chain(behind.iter().rev().copied())
            .collect();
        let path = JumpPath { segments, cut };
        if !self.paths.contains(&path) {
            self.paths.push(path);
        }
    }
}

/// The rule without what leads to it.
pub(crate) fn alone(set: &RuleSet<'_>, position: usize) -> JumpPath {
    let segment = Segment {
        flag: set.flag_in(position),
        from: position,
        to: position,
        restarting: false,
    };
    JumpPath {
        segments: vec![segment],
        cut: true,
    }
}
