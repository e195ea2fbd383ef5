//! What a session has written, as far as reads elsewhere may lack it: for each cluster when, where, and up to which position.

use std::sync::Arc;
use std::time::Instant;

use shardwright_rules::Address;
use shardwright_sql::StatementClass;
use smallvec::SmallVec;

use crate::backend::Backend;
use crate::causal::Position;
use crate::members::MemberRuntime;

/// The writes of a session.
#[derive(Debug, Default)]
pub(super) struct OwnWrites {
    clusters: Vec<(Address, ClusterWrites)>,
    /// Writes of which nothing but the time is known: no policy asked for more.
    unnoted: Option<Instant>,
}

/// The writes of a session in one cluster.
#[derive(Debug)]
pub(super) struct ClusterWrites {
    /// When the last of them was answered.
    pub(super) at: Instant,
    /// The server that has executed all of them; `None`: several, or nobody knows.
    pub(super) server: Option<Arc<MemberRuntime>>,
    /// The connection that has run all of them but those that `base` covers.
    pub(super) connection: Option<u64>,
    /// A position that covers what was written before on other connections.
    pub(super) base: Option<Position>,
    /// What covers all of them, if it is known.
    pub(super) target: Option<Target>,
    /// Servers that have all of them, and when that became known.
    known: SmallVec<[(u64, Instant); 2]>,
    /// A transaction is open that has written, on this connection.
    unfinished: Option<u64>,
    /// Writes whose answer did not come: the server, and its number of the connection.
    pub(super) lost: Vec<(Arc<MemberRuntime>, u32)>,
    /// Some of them are in no log: only their server has them.
    pub(super) is_unlogged: bool,
}

/// A position that covers the writes of a session.
#[derive(Clone, Debug)]
pub(super) struct Target {
    pub(super) position: Position,
    /// Who said it: it counts as long as that server writes.
    pub(super) by: Arc<MemberRuntime>,
    /// Its `server_id`, where that was asked.
    pub(super) writer: Option<u32>,
    /// The position covers everything that the cluster had at this moment; `None`: only the session's writes.
    pub(super) asked_at: Option<Instant>,
}

/// What is known of a statement that may have written.
pub(super) struct Wrote {
    /// The position that the server has said with the answer.
    pub(super) said: Option<Position>,
    /// It may have written to a log of its own choice, or to several.
    pub(super) is_obscure: bool,
    /// It may be in no log.
    pub(super) is_unlogged: bool,
    /// A transaction is open behind it.
    pub(super) in_transaction: bool,
}

impl OwnWrites {
    /// Something was written, and no policy asks for more than that.
    pub(super) fn wrote_somewhere(&mut self) {
        self.unnoted = Some(Instant::now());
    }

    /// The writes in a cluster; `None`: there are none.
    pub(super) fn of(&mut self, cluster: &Address) -> Option<&mut ClusterWrites> {
        let found = self.clusters.iter().position(|(address, _)| address == cluster);
        let at = match (found, self.unnoted) {
            (Some(at), None) => at,
            (None, None) => return None,
            (found, Some(unnoted)) => {
                let at = found.unwrap_or_else(|| self.begin(cluster, ClusterWrites::unknown(unnoted)));
                // They may be in any cluster.
                let writes = &mut self.clusters[at].1;
                if writes.at <= unnoted {
                    *writes = ClusterWrites {
                        lost: std::mem::take(&mut writes.lost),
                        is_unlogged: writes.is_unlogged,
                        known: std::mem::take(&mut writes.known),
                        ..ClusterWrites::unknown(unnoted)
                    };
                    writes.known.retain(|(_, at)| *at > unnoted);
                }
                at
            }
        };
        Some(&mut self.clusters[at].1)
    }

    fn begin(&mut self, cluster: &Address, writes: ClusterWrites) -> usize {
        self.clusters.push((cluster.clone(), writes));
        self.clusters.len() - 1
    }

    /// A statement was answered that may have written.
    pub(super) fn wrote(&mut self, cluster: &Address, backend: &mut Backend, session: u64, wrote: Wrote) {
        let unfinished = wrote.in_transaction.then_some(backend.serial);
        if let Some(writes) = self.of(cluster) {
            writes.add(backend, session, wrote);
            writes.unfinished = unfinished;
            return;
        }
        let writes = ClusterWrites {
            server: Some(backend.member.clone()),
            connection: (!wrote.is_obscure).then_some(backend.serial),
            target: wrote.target(backend),
            unfinished,
            is_unlogged: wrote.is_unlogged,
            ..ClusterWrites::unknown(Instant::now())
        };
        backend.wrote_for = session;
        self.begin(cluster, writes);
    }

    /// A statement was answered that has written nothing itself. It may have ended the transaction that has.
    pub(super) fn passed(
        &mut self,
        cluster: &Address,
        backend: &mut Backend,
        session: u64,
        class: Option<StatementClass>,
        wrote: Wrote,
    ) {
        let found = self.clusters.iter_mut().find(|(address, _)| address == cluster);
        let Some((_, writes)) = found.filter(|(_, writes)| writes.unfinished == Some(backend.serial)) else {
            return;
        };
        let ends = matches!(
            class,
            Some(StatementClass::Begin | StatementClass::Commit | StatementClass::Rollback)
        );
        if ends || !wrote.in_transaction {
            writes.add(backend, session, wrote);
            writes.unfinished = None;
        }
    }

    /// The answer to a statement did not come that may have written.
    pub(super) fn lost(&mut self, cluster: &Address, backend: &Backend) {
        let at = match self.clusters.iter().position(|(address, _)| address == cluster) {
            Some(at) => at,
            None => self.begin(cluster, ClusterWrites::unknown(Instant::now())),
        };
        let writes = &mut self.clusters[at].1;
        writes.lost.push((backend.member.clone(), backend.thread_id));
    }
}

impl Target {
    /// The same with what an earlier one covers.
    fn after(self, before: &Self) -> Option<Self> {
        let position = self.position.joined(&before.position)?;
        Some(Self { position, ..self })
    }

    fn with(self, base: Option<&Position>) -> Self {
        let position = base.and_then(|base| self.position.joined(base));
        Self {
            position: position.unwrap_or(self.position),
            ..self
        }
    }
}

impl Wrote {
    fn target(&self, backend: &Backend) -> Option<Target> {
        let position = self.said.clone().filter(|_| !self.is_obscure)?;
        Some(Target {
            position,
            by: backend.member.clone(),
            writer: None,
            asked_at: None,
        })
    }
}

impl ClusterWrites {
    /// Writes on any server.
    fn unknown(at: Instant) -> Self {
        Self {
            at,
            server: None,
            connection: None,
            base: None,
            target: None,
            known: SmallVec::new(),
            unfinished: None,
            lost: Vec::new(),
            is_unlogged: false,
        }
    }

    fn add(&mut self, backend: &mut Backend, session: u64, wrote: Wrote) {
        let had_all = self.are_on(&backend.member, backend.opened);
        let is_same = self.connection == Some(backend.serial) && backend.wrote_for == session;
        let before = self.target.take();
        let said = wrote.target(backend);
        match (is_same, before) {
            // Everything before is covered: what follows begins anew.
            (_, Some(before)) => {
                self.target = said.and_then(|said| said.after(&before));
                if !is_same {
                    self.connection = Some(backend.serial);
                    self.base = Some(before.position);
                }
            }
            // On one connection, the later position covers the earlier writes.
            (true, None) => self.target = said.map(|said| said.with(self.base.as_ref())),
            (false, None) => (self.connection, self.base) = (None, None),
        }
        if wrote.is_obscure {
            (self.connection, self.base) = (None, None);
        }
        self.at = Instant::now();
        let server = self.server.take();
        self.server = match had_all {
            true => Some(backend.member.clone()),
            false => server.filter(|server| server.endpoint_is(&backend.member)),
        };
        self.known.clear();
        self.is_unlogged |= wrote.is_unlogged;
        backend.wrote_for = session;
    }

    /// All answers have come, or will not count: what was written until now is.
    pub(super) fn settle(&mut self) {
        self.lost.clear();
        self.at = Instant::now();
        self.server = None;
        (self.connection, self.base) = (None, None);
        self.target = None;
        self.known.clear();
    }

    /// Notes that a server has all of them.
    pub(super) fn is_on(&mut self, member: u64, at: Instant) {
        self.known.retain(|(known, _)| *known != member);
        self.known.push((member, at));
    }

    /// Whether a server is known to have all of them, by what became known after `opened`.
    pub(super) fn are_on(&self, member: &MemberRuntime, opened: Instant) -> bool {
        if !self.lost.is_empty() {
            return false;
        }
        let is_its_own = self
            .server
            .as_ref()
            .is_some_and(|server| server.endpoint_is(member));
        if is_its_own {
            return true;
        }
        if self.is_unlogged {
            return false;
        }
        let by_position = |target: &Target| member.reach.has_position(&target.position, opened);
        self.known
            .iter()
            .any(|(known, at)| *known == member.number && *at > opened)
            || member.reach.has_since(self.at, opened)
            || self.target.as_ref().is_some_and(by_position)
    }
}
