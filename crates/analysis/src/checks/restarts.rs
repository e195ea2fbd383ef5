//! How often jumps that lead in a circle restart a statement, bounded from both sides.

use shardwright_diagnostics::Proof;

use super::CheckContext;
use shardwright_prover::Domain;
use shardwright_prover::Example;
use shardwright_prover::Question;
use shardwright_prover::RuleSet;
use shardwright_prover::Session;

/// Jumps of one circle that are asked about in pairs; more are taken to follow each other.
const MOST_PAIRED: usize = 24;

/// Restarts of the statements in a circle of jumps.
pub(super) struct Restarts {
    /// Those of a statement that the evaluator was run on; 0 if none was found.
    pub(super) at_least: u32,
    pub(super) at_most: u32,
    /// The statement, and whether it shows that the circle is gone around.
    pub(super) example: Option<Example>,
    pub(super) proof: Proof,
}

impl Restarts {
    pub(super) fn is_exact(&self) -> bool {
        self.at_least == self.at_most
    }

    /// `3 times`, `at least 1 and at most 3 times`; of something that happens `more` times besides.
    pub(super) fn times(&self, more: u32) -> String {
        let (least, most) = (self.at_least + more, self.at_most + more);
        match self.at_least {
            _ if self.is_exact() => format!("{most} times"),
            0 => format!("at most {most} times"),
            _ => format!("at least {least} and at most {most} times"),
        }
    }
}

impl CheckContext<'_, '_> {
    /// What these jumps, none of them dead, do to the statements in them; `None` if no statement can go around.
    pub(super) fn restarts(&self, jumps: &[usize]) -> Option<Restarts> {
        let set = self.set;
        if jumps.is_empty() || !can_go_around(set, jumps) {
            return None;
        }
        let at_most = set.iterations();
        let around = (at_most as usize + 1).min(jumps.len() + 1);
        let mut estimate = Restarts {
            at_least: 0,
            at_most,
            example: None,
            proof: Proof::Possible,
        };
        for example in jumps.iter().filter_map(|&jump| self.reach.example(jump)) {
            let hits = set.decide(&example.session, &example.text).hits;
            let hits = || hits.iter().map(|&hit| hit as usize);
            if hits().filter(|hit| jumps.contains(hit)).count() < around {
                continue;
            }
            // Jumps before the circle use restarts up as well.
            let restarting = hits()
                .filter(|&hit| !set.jumps(hit).is_empty())
                .take(at_most as usize)
                .filter(|hit| jumps.contains(hit));
            let restarts = u32::try_from(restarting.count()).unwrap_or(at_most);
            if estimate.example.is_none() || restarts > estimate.at_least {
                estimate.at_least = restarts;
                estimate.example = Some(example.clone());
                estimate.proof = Proof::Witnessed;
            }
        }
        Some(estimate)
    }
}

/// Whether some jumps follow each other in a circle of which every two in a row can match one statement.
fn can_go_around(set: &RuleSet<'_>, jumps: &[usize]) -> bool {
    if jumps.len() > MOST_PAIRED {
        return true;
    }
    let follows = |jump: usize, next: usize| {
        set.jumps(jump).contains(&set.flag_in(next)) && match_together(set, jump, next)
    };
    let mut left: Vec<usize> = jumps.to_vec();
    // What nothing follows is in no circle.
    loop {
        let before = left.len();
        let open = left.clone();
        left.retain(|&jump| open.iter().any(|&next| follows(jump, next)));
        if left.is_empty() {
            return false;
        }
        if left.len() == before {
            return true;
        }
    }
}

/// Whether a statement can match both rules, as far as is known.
fn match_together(set: &RuleSet<'_>, one: usize, other: usize) -> bool {
    let rows = [one, other].into_iter().filter_map(|position| set.row(position));
    let session = Session::meeting(set.configuration, &set.session_values, rows, std::iter::empty());
    let Some(session) = session else {
        return set.mirrors;
    };
    let mut question = Question::of(session);
    let conditions = [one, other]
        .into_iter()
        .filter_map(|position| set.conditions[position].as_ref());
    for condition in conditions {
        if !question.require(condition, !set.rewrites_anywhere) {
            return false;
        }
    }
    let is_empty = |lits: &[_], domain| matches!(set.languages.shortest(lits, domain), Ok(None));
    !is_empty(&question.digest, Domain::Digest) && !is_empty(&question.text, Domain::Text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_exact_is_said_from_both_sides() {
        for (at_least, at_most, more, expected) in [
            (3, 3, 0, "3 times"),
            (3, 3, 1, "4 times"),
            (1, 3, 0, "at least 1 and at most 3 times"),
            (1, 3, 1, "at least 2 and at most 4 times"),
            (0, 3, 1, "at most 4 times"),
        ] {
            let restarts = Restarts {
                at_least,
                at_most,
                example: None,
                proof: Proof::Possible,
            };
            assert_eq!(restarts.times(more), expected);
        }
    }
}
