//! One decision over a table, and what it remembers of patterns.
//!
//! A family is asked once for each text. The walk passes the rules that it has told not to match, and those that ask for
//! another schema than the session's; [`crate::families`] and [`crate::chains`] say why nothing else changes.
//!
//! Two tables of which one was made from the other ([`RoutingTable::changed`]) share patterns. Decisions of both about one
//! statement can share what these have told: a [`Recollection`].

use std::cell::RefCell;

use shardwright_rules::decide::{Index, KnownAction, NextRule, RulePatterns, ShardOfKey, Subject, schema_of};
use shardwright_rules::{
    Cluster, Configuration, FastRoute, HostgroupId, KeyRef, SessionView, Shard, Step, User,
};
use shardwright_sql::DigestOptions;
use smallvec::SmallVec;

use crate::RoutingTable;
use crate::families::{Action, Families, NONE, text_pattern};

/// What stands for the families of a table that has none.
static NO_FAMILIES: Families = Families::NONE;

/// Answers that are looked through for one that is not the next in order.
const LOOKED_THROUGH: usize = 16;

/// Positions of the rules of a family that match, ascending; `None` where the family did not tell.
type Matches = Option<SmallVec<[u32; 32]>>;

/// What the patterns of tables have told of one statement. It must not be used for another one.
#[derive(Debug, Default)]
pub struct Recollection<'t>(RefCell<Told<'t>>);

/// What was told of one text.
#[derive(Debug, Default)]
struct Told<'t> {
    /// As in [`Subject`].
    rewrites: u32,
    /// By the families and the number of one.
    matches: SmallVec<[(&'t Families, u32, Matches); 1]>,
    /// Whether patterns that are in no family matched, in the order in which they were asked.
    patterns: SmallVec<[(&'t RulePatterns, bool); 8]>,
    /// The answer that is asked for next if one decision asks what the other did.
    next: usize,
}

impl Told<'_> {
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
}

/// A table, and what patterns have told of one statement.
pub(crate) struct Recall<'t, 'r> {
    table: &'t RoutingTable,
    families: &'t Families,
    /// Empty where there are no families.
    actions: &'t [Action],
    /// The session's schema as rules see it.
    schema: Option<&'r str>,
    told: &'r Recollection<'t>,
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
        let families = table.families();
        Self {
            table,
            families: families.unwrap_or(&NO_FAMILIES),
            actions: families.map_or(&[], |_| table.actions()),
            schema: schema_of(&table.configuration, session),
            told,
            is_shared,
        }
    }

    /// Asks the family, or what it has told of this text.
    fn with_matches<R>(
        &self,
        family: u32,
        subject: Subject<'_>,
        read: impl FnOnce(&[u32]) -> R,
    ) -> Option<R> {
        let mut told = self.told.0.borrow_mut();
        let told = told.of_text(subject.rewrites);
        let is_asked = |(families, number, _): &(&Families, u32, Matches)| {
            *number == family && std::ptr::eq(*families, self.families)
        };
        let at = match told.matches.iter().position(is_asked) {
            Some(at) => at,
            None => {
                told.matches
                    .push((self.families, family, self.ask(family, subject.text)));
                told.matches.len() - 1
            }
        };
        told.matches[at].2.as_deref().map(read)
    }

    fn ask(&self, family: u32, text: &[u8]) -> Matches {
        let family = self.families.families.get(family as usize)?;
        let mut matches = SmallVec::new();
        let pattern = |number: u32| text_pattern(self.table.patterns.get(number as usize)?);
        family
            .matching(text, pattern, |position| matches.push(position))
            .then(|| {
                matches.sort_unstable();
                matches.dedup();
                matches
            })
    }

    /// Whether a member of a family matches.
    fn told_by_family(&self, position: usize, subject: Subject<'_>) -> Option<bool> {
        let family = self.families.rules.get(position)?.family;
        if family == NONE {
            return None;
        }
        self.with_matches(family, subject, |matches| {
            matches.binary_search(&(position as u32)).is_ok()
        })
    }

    /// What a pattern told when another decision asked it; asks it where none has.
    fn told_before(&self, position: usize, subject: Subject<'_>) -> Option<bool> {
        if !self.is_shared {
            return None;
        }
        let patterns: &'t RulePatterns = self.table.patterns.get(position)?;
        let pattern = text_pattern(patterns)?;
        if pattern.opaque().is_some() {
            return None;
        }
        let mut told = self.told.0.borrow_mut();
        let told = told.of_text(subject.rewrites);
        let ahead = told.patterns[told.next..].iter().take(LOOKED_THROUGH);
        let known = ahead
            .enumerate()
            .find(|(_, (known, _))| std::ptr::eq(*known, patterns));
        if let Some((skipped, &(_, is_match))) = known {
            told.next += skipped + 1;
            return Some(is_match);
        }
        let is_match = pattern.finds(subject.text)?;
        if told.next == told.patterns.len() {
            told.patterns.push((patterns, is_match));
            told.next += 1;
        }
        Some(is_match)
    }
}

impl Index for Recall<'_, '_> {
    fn next_candidate(&self, flag: u32, from: usize, subject: Subject<'_>) -> NextRule {
        let rules = &self.families.rules;
        let before = from.checked_sub(1).and_then(|before| self.actions.get(before));
        let position = match before {
            Some(before) if before.known == Some(KnownAction::Jump(flag)) => {
                (before.landing != NONE).then_some(before.landing as usize)
            }
            _ => self.table.next_rule(flag, from),
        };
        let position = position.and_then(|position| self.table.chains.of_schema(flag, position, self.schema));
        let mut next = NextRule {
            position,
            passed: 0,
            matches: false,
        };
        // From run to run, as long as no rule of them matches.
        while let Some(position) = next.position {
            let Some(&first) = rules.get(position) else { break };
            if first.end as usize == position {
                break;
            }
            let told = self.with_matches(first.family, subject, |matches| {
                let behind = &matches[matches.partition_point(|&at| (at as usize) < position)..];
                let in_run = behind.iter().take_while(|&&at| at < first.end);
                in_run.copied().find(|&at| rules[at as usize].flag == flag)
            });
            match told {
                None => break,
                Some(Some(at)) => {
                    next.position = Some(at as usize);
                    next.passed += rules[at as usize].rank - first.rank;
                    next.matches = true;
                    break;
                }
                Some(None) => {
                    next.passed += first.end_rank - first.rank;
                    let end = (first.end != NONE).then_some(first.end as usize);
                    next.position = end.and_then(|end| self.table.chains.of_schema(flag, end, self.schema));
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
        self.actions.get(position)?.known
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
