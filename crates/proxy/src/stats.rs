//! What a worker counts: rules, members, digests and refusals. Workers count alone; figures are merged when asked for.

use std::cell::{Cell, RefCell};
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rustc_hash::{FxHashMap, FxHasher};
use shardwright_rules::refusal::Refusal;
use shardwright_rules::{Address, Configuration, HostgroupId, Rule, Statement};

use crate::pool::MemberFigures;
use crate::snapshot::Snapshot;

/// Refusals are counted by code; there are fewer codes than this, unless rules make them up.
const MAX_REFUSAL_CODES: usize = 256;

/// Bytes of the text of a digest, if there are as many as may be; a single one may be longer.
const MEAN_DIGEST_TEXT: usize = 2 * 1024;

/// The counters of one worker.
pub(crate) struct Counters {
    rules: RefCell<RuleHits>,
    members: RefCell<FxHashMap<u64, MemberCounters>>,
    digests: RefCell<DigestTable>,
    refusals: RefCell<FxHashMap<Reason, u64>>,
    pub(crate) totals: Totals,
    /// The time when it was looked at last, in seconds since 1970: digests are dated by it.
    now_s: Cell<u64>,
}

/// Plain totals of a worker.
#[derive(Default)]
pub(crate) struct Totals {
    pub(crate) sessions: Cell<u64>,
    /// Clients that found no room: too many sessions, logins under way or file descriptors.
    pub(crate) clients_refused: Cell<u64>,
    pub(crate) logins_denied: Cell<u64>,
    /// Logins that took too long or had to make room.
    pub(crate) logins_cut: Cell<u64>,
    pub(crate) questions: Cell<u64>,
    pub(crate) backend_lost: Cell<u64>,
    /// Reads that were sent again because their connection was lost.
    pub(crate) reads_repeated: Cell<u64>,
    pub(crate) session_panics: Cell<u64>,
    pub(crate) statements_prepared: Cell<u64>,
    /// Reads for which a server was asked to catch up.
    pub(crate) causal_waits: Cell<u64>,
    /// How long all of them waited, microseconds.
    pub(crate) causal_waited_us: Cell<u64>,
    /// Reads that the writer answered because no reader had caught up.
    pub(crate) causal_on_writer: Cell<u64>,
}

fn now_s() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| since.as_secs())
}

/// Adds one.
pub(crate) fn bump(cell: &Cell<u64>) {
    cell.set(cell.get() + 1);
}

/// What went through one member.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct MemberCounters {
    pub(crate) queries: u64,
    pub(crate) errors: u64,
    pub(crate) bytes_sent: u64,
    pub(crate) bytes_received: u64,
    pub(crate) time_us: u64,
}

/// One statement, for the statistics.
pub(crate) struct Sample<'a> {
    pub(crate) member: u64,
    pub(crate) hostgroup: HostgroupId,
    pub(crate) user: &'a str,
    pub(crate) schema: Option<&'a str>,
    pub(crate) statement: &'a Statement<'a>,
    pub(crate) time: Duration,
    pub(crate) bytes_sent: u64,
    pub(crate) bytes_received: u64,
    pub(crate) rows_affected: u64,
    pub(crate) rows_sent: u64,
    pub(crate) failed: bool,
}

impl Counters {
    pub(crate) fn new(max_digests: usize) -> Self {
        Self {
            rules: RefCell::default(),
            members: RefCell::default(),
            digests: RefCell::new(DigestTable {
                limit: max_digests,
                ..DigestTable::default()
            }),
            refusals: RefCell::default(),
            totals: Totals::default(),
            now_s: Cell::new(now_s()),
        }
    }

    /// Looks at the time.
    pub(crate) fn look_at_time(&self) {
        self.now_s.set(now_s());
    }

    /// Follows a change of generation: counters of rules that stay, stay.
    pub(crate) fn follow(&self, snapshot: &Snapshot) {
        self.rules.borrow_mut().follow(snapshot);
    }

    /// Counts the rules that matched.
    pub(crate) fn hits(&self, snapshot: &Snapshot, positions: &[u32]) {
        self.rules.borrow_mut().count(snapshot, positions);
    }

    /// Counts an error that was the answer to a statement which was not sent.
    pub(crate) fn refused(&self, reason: Reason) {
        let mut refusals = self.refusals.borrow_mut();
        if let Some(count) = refusals.get_mut(&reason) {
            *count += 1;
        } else if refusals.len() < MAX_REFUSAL_CODES {
            refusals.insert(reason, 1);
        }
    }

    /// Counts a statement that was sent and answered. Its digest.
    pub(crate) fn statement(&self, sample: &Sample<'_>) -> u64 {
        let now_s = self.now_s.get();
        let mut members = self.members.borrow_mut();
        let member = members.entry(sample.member).or_default();
        member.queries += 1;
        member.errors += u64::from(sample.failed);
        member.bytes_sent += sample.bytes_sent;
        member.bytes_received += sample.bytes_received;
        member.time_us += sample.time.as_micros() as u64;
        self.digests.borrow_mut().count(sample, now_s)
    }

    /// How often a digest was answered, for whomever and wherever.
    pub(crate) fn answered(&self, digest: u64) -> u64 {
        let digests = self.digests.borrow();
        let entries = digests.entries.values();
        entries
            .filter(|entry| entry.digest == digest)
            .map(|entry| entry.count)
            .sum()
    }

    /// Forgets members that are not served any more.
    pub(crate) fn prune(&self, wanted: impl Fn(u64) -> bool) {
        self.members.borrow_mut().retain(|member, _| wanted(*member));
    }

    /// Forgets the digests and gives them.
    pub(crate) fn take_digests(&self) -> Vec<DigestFigures> {
        let mut digests = self.digests.borrow_mut();
        digests.dropped = 0;
        digests.text_bytes = 0;
        std::mem::take(&mut digests.entries).into_values().collect()
    }

    pub(crate) fn figures(&self, idle: Vec<MemberFigures>) -> WorkerFigures {
        let rules = self.rules.borrow();
        let digests = self.digests.borrow();
        WorkerFigures {
            rules: rules
                .keys
                .iter()
                .cloned()
                .zip(rules.counts.iter().copied())
                .collect(),
            members: self
                .members
                .borrow()
                .iter()
                .map(|(&member, &counters)| (member, counters))
                .collect(),
            idle,
            digests: digests.entries.values().cloned().collect(),
            digests_dropped: digests.dropped,
            refusals: self
                .refusals
                .borrow()
                .iter()
                .map(|(&reason, &count)| (reason, count))
                .collect(),
            totals: [
                ("Client_Connections_created", &self.totals.sessions),
                ("Client_Connections_refused", &self.totals.clients_refused),
                ("Access_Denied_Wrong_Password", &self.totals.logins_denied),
                ("Client_Logins_Cut", &self.totals.logins_cut),
                ("Questions", &self.totals.questions),
                ("Server_Connections_lost", &self.totals.backend_lost),
                ("Reads_sent_again", &self.totals.reads_repeated),
                ("Session_Panics", &self.totals.session_panics),
                ("Com_frontend_stmt_prepare", &self.totals.statements_prepared),
                ("Causal_reads_waited", &self.totals.causal_waits),
                ("Causal_reads_waited_us", &self.totals.causal_waited_us),
                ("Causal_reads_on_writer", &self.totals.causal_on_writer),
            ]
            .map(|(name, cell)| (name, cell.get()))
            .to_vec(),
        }
    }
}

/// Why a statement was not sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Reason {
    /// The rules refuse it, for a reason that has a page.
    Refusal(Refusal),
    /// The number of the client's error.
    Error(u16),
}

impl fmt::Display for Reason {
    /// `SW351`, `9001`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Refusal(refusal) => f.write_str(refusal.code()),
            Self::Error(number) => write!(f, "{number}"),
        }
    }
}

/// A rule, whatever generation it is in.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct RuleKey {
    pub(crate) id: u32,
    pub(crate) address: Address,
}

impl RuleKey {
    pub(crate) fn of(rule: &Rule) -> Self {
        Self {
            id: rule.id,
            address: rule.address.clone(),
        }
    }
}

/// Hits by rule, in the order of the generation that is followed.
#[derive(Default)]
struct RuleHits {
    generation: i64,
    keys: Arc<[RuleKey]>,
    counts: Vec<u64>,
}

impl RuleHits {
    fn follow(&mut self, snapshot: &Snapshot) {
        let keys = rule_keys(&snapshot.configuration);
        let mut old: FxHashMap<&RuleKey, u64> = self
            .keys
            .iter()
            .zip(self.counts.iter().copied())
            .filter(|(_, count)| *count > 0)
            .collect();
        self.counts = keys.iter().map(|key| old.remove(key).unwrap_or(0)).collect();
        self.keys = keys;
        self.generation = snapshot.generation;
    }

    fn count(&mut self, snapshot: &Snapshot, positions: &[u32]) {
        for &position in positions {
            let position = if snapshot.generation == self.generation {
                Some(position as usize)
            } else {
                // A transaction that is older than the generation: its rules may be there still.
                let rule = snapshot.configuration.graph.rules.get(position as usize);
                rule.and_then(|rule| {
                    let found = self.keys.binary_search_by_key(&rule.id, |key| key.id).ok();
                    found.filter(|&at| self.keys[at].address == rule.address)
                })
            };
            if let Some(count) = position.and_then(|position| self.counts.get_mut(position)) {
                *count += 1;
            }
        }
    }
}

fn rule_keys(configuration: &Configuration) -> Arc<[RuleKey]> {
    configuration.graph.rules.iter().map(RuleKey::of).collect()
}

/// A row of `stats_mysql_query_digest`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct DigestFigures {
    pub(crate) hostgroup: HostgroupId,
    pub(crate) schema: String,
    pub(crate) user: String,
    pub(crate) digest: u64,
    pub(crate) text: String,
    pub(crate) count: u64,
    pub(crate) first_seen_s: u64,
    pub(crate) last_seen_s: u64,
    pub(crate) sum_time_us: u64,
    pub(crate) min_time_us: u64,
    pub(crate) max_time_us: u64,
    pub(crate) rows_affected: u64,
    pub(crate) rows_sent: u64,
}

impl DigestFigures {
    /// Adds a statement that was answered at `now_s`.
    fn count(&mut self, sample: &Sample<'_>, time_us: u64, now_s: u64) {
        self.count += 1;
        self.last_seen_s = now_s;
        self.sum_time_us += time_us;
        self.min_time_us = self.min_time_us.min(time_us);
        self.max_time_us = self.max_time_us.max(time_us);
        self.rows_affected += sample.rows_affected;
        self.rows_sent += sample.rows_sent;
    }

    /// Adds figures of another worker about the same digest.
    pub(crate) fn merge(&mut self, other: &Self) {
        self.count += other.count;
        self.first_seen_s = self.first_seen_s.min(other.first_seen_s);
        self.last_seen_s = self.last_seen_s.max(other.last_seen_s);
        self.sum_time_us += other.sum_time_us;
        self.min_time_us = self.min_time_us.min(other.min_time_us);
        self.max_time_us = self.max_time_us.max(other.max_time_us);
        self.rows_affected += other.rows_affected;
        self.rows_sent += other.rows_sent;
    }
}

#[derive(Default)]
struct DigestTable {
    limit: usize,
    entries: FxHashMap<(u64, u64), DigestFigures>,
    /// Of all of them.
    text_bytes: usize,
    dropped: u64,
    /// Where digest texts are made, so that a statement that is known already costs no allocation.
    text: Vec<u8>,
}

impl DigestTable {
    /// Counts a statement that was answered at `now`. Its digest.
    fn count(&mut self, sample: &Sample<'_>, now: u64) -> u64 {
        let digest = sample.statement.digest_hash_in(&mut self.text);
        let mut hasher = FxHasher::default();
        (sample.hostgroup, sample.user, sample.schema).hash(&mut hasher);
        let key = (digest, hasher.finish());
        let time_us = sample.time.as_micros() as u64;
        if let Some(entry) = self.entries.get_mut(&key) {
            entry.count(sample, time_us, now);
            return digest;
        }
        let text = sample.statement.digest_text();
        if self.entries.len() >= self.limit || self.text_bytes + text.len() > self.limit * MEAN_DIGEST_TEXT {
            self.dropped += 1;
            return digest;
        }
        self.text_bytes += text.len();
        let mut entry = DigestFigures {
            hostgroup: sample.hostgroup,
            schema: sample.schema.unwrap_or_default().to_owned(),
            user: sample.user.to_owned(),
            digest,
            text: String::from_utf8_lossy(text).into_owned(),
            count: 0,
            first_seen_s: now,
            last_seen_s: now,
            sum_time_us: 0,
            min_time_us: u64::MAX,
            max_time_us: 0,
            rows_affected: 0,
            rows_sent: 0,
        };
        entry.count(sample, time_us, now);
        self.entries.insert(key, entry);
        digest
    }
}

/// The figures of one worker, or of all of them once merged.
#[derive(Clone, Debug, Default)]
pub(crate) struct WorkerFigures {
    pub(crate) rules: Vec<(RuleKey, u64)>,
    pub(crate) members: Vec<(u64, MemberCounters)>,
    pub(crate) idle: Vec<MemberFigures>,
    pub(crate) digests: Vec<DigestFigures>,
    pub(crate) digests_dropped: u64,
    pub(crate) refusals: Vec<(Reason, u64)>,
    pub(crate) totals: Vec<(&'static str, u64)>,
}

impl WorkerFigures {
    /// Hits by rule id and address.
    pub(crate) fn rule_hits(figures: &[WorkerFigures]) -> FxHashMap<RuleKey, u64> {
        sum(figures.iter().flat_map(|figures| figures.rules.iter().cloned()))
    }

    /// Refusals by code.
    pub(crate) fn all_refusals(figures: &[WorkerFigures]) -> FxHashMap<Reason, u64> {
        sum(figures
            .iter()
            .flat_map(|figures| figures.refusals.iter().cloned()))
    }

    /// Totals by name.
    pub(crate) fn all_totals(figures: &[WorkerFigures]) -> FxHashMap<&'static str, u64> {
        sum(figures.iter().flat_map(|figures| figures.totals.iter().copied()))
    }

    /// What went through a member, and its idle connections.
    pub(crate) fn member(figures: &[WorkerFigures], number: u64) -> (MemberCounters, usize) {
        let mut all = MemberCounters::default();
        for (_, counters) in figures
            .iter()
            .flat_map(|figures| &figures.members)
            .filter(|(member, _)| *member == number)
        {
            all.queries += counters.queries;
            all.errors += counters.errors;
            all.bytes_sent += counters.bytes_sent;
            all.bytes_received += counters.bytes_received;
            all.time_us += counters.time_us;
        }
        let idle = figures
            .iter()
            .flat_map(|figures| &figures.idle)
            .filter(|figures| figures.member == number);
        (all, idle.map(|figures| figures.idle).sum())
    }

    /// Digests of all workers, merged.
    pub(crate) fn all_digests(figures: &[WorkerFigures]) -> Vec<DigestFigures> {
        let mut merged: FxHashMap<(HostgroupId, &str, &str, u64), DigestFigures> = FxHashMap::default();
        for figures in figures.iter().flat_map(|figures| &figures.digests) {
            let key = (
                figures.hostgroup,
                figures.schema.as_str(),
                figures.user.as_str(),
                figures.digest,
            );
            merged
                .entry(key)
                .and_modify(|all| all.merge(figures))
                .or_insert_with(|| figures.clone());
        }
        merged.into_values().collect()
    }
}

fn sum<K: Eq + Hash>(entries: impl Iterator<Item = (K, u64)>) -> FxHashMap<K, u64> {
    let mut all = FxHashMap::default();
    for (key, count) in entries {
        *all.entry(key).or_insert(0) += count;
    }
    all
}
