//! One decision over a table, and what it remembers of patterns.
//!
//! A family is asked once for each text. The walk passes the rules that it has told not to match, and those that ask for
//! another schema than the session's; [`crate::families`] and [`crate::chains`] say why nothing else changes.
//!
//! Two tables of one [`Pool`] share patterns, wherever their rules stand. Decisions of both about one statement can share
//! what these have told, by their numbers in the pool: a [`Recollection`]. Which rules have a pattern, and what they do,
//! each table knows for itself.

use std::cell::RefCell;

use shardwright_rules::decide::{Index, KnownAction, NextRule, RulePatterns, ShardOfKey, Subject, schema_of};
use shardwright_rules::{
    Cluster, Configuration, FastRoute, HostgroupId, KeyRef, SessionView, Shard, Step, User,
};
use shardwright_sql::DigestOptions;
use smallvec::SmallVec;

use crate::RoutingTable;
use crate::families::{Place, Positions, Runs};
use crate::pool::{NONE, Pool, text_pattern};

/// Answers that are looked through for one that is not the next in order.
const LOOKED_THROUGH: usize = 16;

/// Numbers of the patterns of a family that match, ascending; `None` where the family did not tell.
type Numbers = Option<SmallVec<[u32; 24]>>;

/// What the patterns of tables have told of one statement. It must not be used for another one.
#[derive(Debug, Default)]
pub struct Recollection<'t>(RefCell<Told<'t>>);

/// What was told of one text.
#[derive(Debug, Default)]
struct Told<'t> {
    /// As in [`Subject`].
    rewrites: u32,
    /// By the pool and the number of a family.
    matches: SmallVec<[(&'t Pool, u32, Numbers); 2]>,
    /// Whether patterns that are in no family matched, in the order in which they were asked.
    patterns: SmallVec<[(&'t Pool, u32, bool); 8]>,
    /// The answer that is asked for next if one decision asks what the other did.
    next: usize,
}

impl<'t> Told<'t> {
    /// Forgets what was told of another text.
    fn of_text(&mut self, rewrites: u32) -> &mut Self {
        if self.rewrites != rewrites {
            self.rewrites = rewrites;
            self.matches.clear();
            self.patterns.clear();
            self.next = 0;
        }
        self
    }

    /// Asks the family, or what it has told of this text.
    fn of_family(&mut self, pool: &'t Pool, family: u32, subject: Subject<'_>) -> Option<&[u32]> {
        let told = self.of_text(subject.rewrites);
        let is_asked = |(of, number, _): &(&Pool, u32, Numbers)| *number == family && std::ptr::eq(*of, pool);
        let at = match told.matches.iter().position(is_asked) {
            Some(at) => at,
            None => {
                told.matches.push((pool, family, ask(pool, family, subject.text)));
                told.matches.len() - 1
            }
        };
        told.matches[at].2.as_deref()
    }
}

fn ask(pool: &Pool, family: u32, text: &[u8]) -> Numbers {
    let mut numbers = SmallVec::new();
    pool.matching(family, text, |number| numbers.push(number))
        .then(|| {
            numbers.sort_unstable();
            numbers.dedup();
            numbers
        })
}

/// A table, and what patterns have told of one statement.
pub(crate) struct Recall<'t, 'r> {
    table: &'t RoutingTable,
    /// Where the patterns of the table are matched together.
    runs: Option<&'t Runs>,
    /// The session's schema as rules see it.
    schema: Option<&'r str>,
    told: &'r Recollection<'t>,
    /// The rules of the table whose only condition is a pattern of a family that matches, by how often the text was
    /// rewritten and the family.
    positions: RefCell<SmallVec<[(u32, u32, Positions); 1]>>,
    /// Somebody asks again about the same statement.
    is_shared: bool,
}

impl<'t, 'r> Recall<'t, 'r> {
    /// For a decision about a statement of `session`, before any rewrite.
    pub(crate) fn new(
        table: &'t RoutingTable,
        session: &'r SessionView<'_>,
        told: &'r Recollection<'t>,
        is_shared: bool,
    ) -> Self
    where
        't: 'r,
    {
        told.0.borrow_mut().of_text(0).next = 0;
        Self {
            table,
            runs: table.runs(),
            schema: schema_of(&table.configuration, session),
            told,
            positions: RefCell::default(),
            is_shared,
        }
    }

    /// Gives the rules that are in runs of a family and match, ascending; `None` where the family did not tell.
    fn with_positions<R>(
        &self,
        runs: &Runs,
        family: u32,
        subject: Subject<'_>,
        read: impl FnOnce(&[u32]) -> R,
    ) -> Option<R> {
        let mut known = self.positions.borrow_mut();
        let is_known =
            |(rewrites, of, _): &(u32, u32, Positions)| (*rewrites, *of) == (subject.rewrites, family);
        let at = match known.iter().position(is_known) {
            Some(at) => at,
            None => {
                let mut told = self.told.0.borrow_mut();
                let numbers = told.of_family(&self.table.pool, family, subject)?;
                known.push((subject.rewrites, family, Positions::new()));
                let at = known.len() - 1;
                runs.add_with(numbers, &mut known[at].2);
                at
            }
        };
        Some(read(&known[at].2))
    }

    /// Whether a member of a family matches.
    fn told_by_family(&self, position: usize, subject: Subject<'_>) -> Option<bool> {
        let family = self.runs?.rules.get(position)?.family;
        if family == NONE {
            return None;
        }
        let mut told = self.told.0.borrow_mut();
        let numbers = told.of_family(&self.table.pool, family, subject)?;
        let number = self.table.numbers.get(position)?;
        Some(numbers.binary_search(number).is_ok())
    }

    /// What a pattern told when another decision asked it; asks it where none has.
    fn told_before(&self, position: usize, subject: Subject<'_>) -> Option<bool> {
        let number = *self.table.numbers.get(position)?;
        if !self.is_shared || number == NONE {
            return None;
        }
        let pool: &'t Pool = &self.table.pool;
        let mut told = self.told.0.borrow_mut();
        let told = told.of_text(subject.rewrites);
        let ahead = told.patterns[told.next..].iter().take(LOOKED_THROUGH);
        let known = ahead
            .enumerate()
            .find(|(_, (of, known, _))| *known == number && std::ptr::eq(*of, pool));
        if let Some((skipped, &(.., is_match))) = known {
            told.next += skipped + 1;
            return Some(is_match);
        }
        let is_match = text_pattern(self.table.patterns.get(position)?)?.finds(subject.text)?;
        if told.next == told.patterns.len() {
            told.patterns.push((pool, number, is_match));
            told.next += 1;
        }
        Some(is_match)
    }

    /// The first rule of chain `flag` from its rule `position` on that does not ask for another schema.
    fn of_schema(&self, flag: u32, position: usize) -> Option<usize> {
        match self.place(position) {
            Some(place) if !place.is_by_schema => Some(position),
            _ => self.table.chains.of_schema(flag, position, self.schema),
        }
    }

    fn place(&self, position: usize) -> Option<&'t Place> {
        self.runs?.rules.get(position)
    }
}

impl Index for Recall<'_, '_> {
    fn next_candidate(&self, flag: u32, from: usize, subject: Subject<'_>) -> NextRule {
        let before = from.checked_sub(1).and_then(|before| self.place(before));
        let position = match before {
            Some(before) if before.action == Some(KnownAction::Jump(flag)) => {
                (before.landing != NONE).then_some(before.landing as usize)
            }
            _ => self.table.next_rule(flag, from),
        };
        let position = position.and_then(|position| self.of_schema(flag, position));
        let mut next = NextRule {
            position,
            passed: 0,
            matched: None,
        };
        let Some(runs) = self.runs else { return next };
        let rules = &runs.rules;
        // From run to run, as long as no rule of them matches.
        while let Some(position) = next.position {
            let Some(&first) = rules.get(position) else { break };
            if first.end as usize == position {
                next.matched = first.is_free.then_some(0);
                break;
            }
            let told = self.with_positions(runs, first.family, subject, |matches| {
                let behind = &matches[matches.partition_point(|&at| (at as usize) < position)..];
                let in_run = behind.iter().take_while(|&&at| at < first.end);
                in_run.copied().find(|&at| rules[at as usize].flag == flag)
            });
            match told {
                None => break,
                Some(Some(at)) => {
                    next.position = Some(at as usize);
                    next.passed += rules[at as usize].rank - first.rank;
                    next.matched = Some(1);
                    break;
                }
                Some(None) => {
                    next.passed += first.end_rank - first.rank;
                    let end = (first.end != NONE).then_some(first.end as usize);
                    next.position = end.and_then(|end| self.of_schema(flag, end));
                }
            }
        }
        next
    }

    fn known_match(&self, position: usize, subject: Subject<'_>) -> Option<bool> {
        self.told_by_family(position, subject)
            .or_else(|| self.told_before(position, subject))
    }

    fn known_action(&self, position: usize) -> Option<KnownAction> {
        self.place(position)?.action
    }

    fn known_step(&self, position: usize) -> Option<&Step> {
        self.table.step(position)
    }

    fn configuration(&self) -> &Configuration {
        self.table.configuration()
    }

    fn digests(&self) -> Option<DigestOptions> {
        self.table.digests()
    }

    fn patterns(&self, position: usize) -> &RulePatterns {
        self.table.patterns(position)
    }

    fn next_rule(&self, flag: u32, from: usize) -> Option<usize> {
        self.table.next_rule(flag, from)
    }

    fn user(&self, name: &str) -> Option<&User> {
        self.table.user(name)
    }

    fn cluster(&self, name: &str) -> Option<&Cluster> {
        self.table.cluster(name)
    }

    fn cluster_of(&self, hostgroup: HostgroupId) -> Option<&Cluster> {
        self.table.cluster_of(hostgroup)
    }

    fn shard(&self, position: usize, key: &KeyRef<'_>) -> Option<ShardOfKey<'_>> {
        self.table.shard(position, key)
    }

    fn shard_of_schema(&self, position: usize, name: &str) -> Option<&Shard> {
        self.table.shard_of_schema(position, name)
    }

    fn fast_route(&self, user: &str, schema: &str, flag: u32) -> Option<&FastRoute> {
        self.table.fast_route(user, schema, flag)
    }
}
