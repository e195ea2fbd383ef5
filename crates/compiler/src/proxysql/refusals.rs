//! Refusals: `error_msg` for queries and preparations, a hostgroup that refuses for executions.
//!
//! ProxySQL 2.7.1 ends when `error_msg` answers a COM_STMT_EXECUTE, and no column of a rule tells an
//! execution from a query. What tells them apart is that rewrites are skipped for executions. So a refusal is
//! a chain of three rules:
//!
//! 1. `\A` becomes `) `: queries and preparations get a mark in front, executions do not;
//! 2. `\A\) ` has `error_msg`;
//! 3. the rest, which is executions, goes to a refusing hostgroup.
//!
//! Invariant: no execution meets the second rule, and no query or preparation reaches the third. Every query
//! and preparation has the mark. No server prepares a text that begins with a closing parenthesis, so no
//! execution has it, whoever prepared its text under whatever rules.
//!
//! Example: what `SELECT 1` meets.
//!
//! ```text
//! command            after rule 1   rule 2             rule 3
//! COM_QUERY          ) SELECT 1     matches: the error
//! COM_STMT_PREPARE   ) SELECT 1     matches: the error
//! COM_STMT_EXECUTE   SELECT 1       does not match     refusing hostgroup
//! ```
//!
//! Chains are shared by what they say: one for each message of an object. Hostgroups are fewer: one for each
//! map and [`Refusal`], because executions only learn the reason that holds for all statements.
//!
//! The bundled engine answers executions with `error_msg` as well, so `refuse` writes single rules for it.

use std::collections::{BTreeSet, HashMap};

use shardwright_ids::{Lock, Probe};
use shardwright_rules::refusal::Refusal;
use shardwright_rules::{Address, EngineRule, HostgroupId, MapStep, Refuser, RefusingHostgroup};
use shardwright_topology::model::{self as model, IdRanges, Topology};

use super::{Lowering, Target, text_rule};
use crate::draft::{ChainRef, Draft, DraftRule};
use crate::native::Section;
use crate::report::Report;

/// In front of what is no execution.
const MARK: &str = ") ";
const MARKED: &str = r"\A\) ";

/// What a refusal says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Refused {
    refusal: Refusal,
    /// The object that refuses.
    address: Address,
    /// To queries and preparations, with its code.
    message: String,
    /// To executions.
    reason: String,
}

impl Refused {
    /// By a shard map, with a message of its own.
    pub(super) fn by(section: &Section<Box<MapStep>>, refusal: Refusal, message: String) -> Self {
        let step = &section.step;
        Self {
            refusal,
            address: section.address.clone(),
            message,
            reason: refusal.reason(&step.map, &step.key, &step.finders),
        }
    }

    /// By a shard map, for the reason that holds for all statements.
    pub(super) fn plainly(section: &Section<Box<MapStep>>, refusal: Refusal) -> Self {
        let step = &section.step;
        let message = refusal.reason(&step.map, &step.key, &step.finders);
        Self::by(section, refusal, message)
    }

    /// By a guard in front of all maps.
    pub(super) fn by_guard(refusal: Refusal, what: &str) -> Self {
        let message = refusal.message(what);
        Self {
            refusal,
            address: Address::new("users"),
            reason: message.clone(),
            message,
        }
    }

    /// What the lock file calls the reason.
    fn name(&self) -> String {
        format!("{}.{}", self.address, self.refusal.code())
    }
}

/// Why executions are refused, before it has a hostgroup.
#[derive(Clone, Debug)]
pub(crate) struct Reason {
    name: String,
    address: Address,
    text: String,
}

/// The chains that refuse, and the reasons of their hostgroups.
#[derive(Debug, Default)]
pub(super) struct Refusals {
    reasons: Vec<Reason>,
    chains: HashMap<(String, Address), ChainRef>,
}

impl Refusals {
    /// The chain that refuses so.
    fn chain(&mut self, draft: &mut Draft, refused: &Refused) -> ChainRef {
        let key = (refused.message.clone(), refused.address.clone());
        if let Some(&chain) = self.chains.get(&key) {
            return chain;
        }
        // Messages that differ only in their words share the hostgroup of their reason.
        let name = refused.name();
        let known = self.reasons.iter().position(|reason| reason.name == name);
        let reason = known.unwrap_or_else(|| {
            self.reasons.push(Reason {
                name: name.clone(),
                address: refused.address.clone(),
                text: refused.reason.clone(),
            });
            self.reasons.len() - 1
        });
        let chain = draft.chain(&format!("refused.{name}"));
        let within = draft.get(chain).name.clone();
        let mut push = |name: &str, refuses: Option<usize>, rule: EngineRule| {
            let rule = DraftRule::engine(format!("{within}/{name}"), &refused.address, rule);
            draft.push(chain, DraftRule { refuses, ..rule });
        };
        // No `apply`: the next rule of the chain sees the rewritten text.
        let mark = EngineRule {
            replace_pattern: Some(MARK.to_owned()),
            ..text_rule(r"\A".to_owned())
        };
        push("mark", None, mark);
        let message = EngineRule {
            error_msg: Some(refused.message.clone()),
            apply: true,
            ..text_rule(MARKED.to_owned())
        };
        push("message", None, message);
        let execution = EngineRule {
            apply: true,
            ..EngineRule::default()
        };
        push("execution", Some(reason), execution);
        self.chains.insert(key, chain);
        chain
    }

    /// The chains, each after every rule that leads to it has been made.
    pub(super) fn chains(&self) -> Vec<ChainRef> {
        let mut chains: Vec<ChainRef> = self.chains.values().copied().collect();
        chains.sort_unstable();
        chains
    }

    /// What hostgroups have to be numbered for.
    pub(super) fn into_reasons(self) -> Vec<Reason> {
        self.reasons
    }
}

impl Lowering<'_, '_> {
    /// Adds a rule that refuses.
    pub(super) fn refuse(
        &mut self,
        chain: ChainRef,
        name: &str,
        address: &Address,
        rule: EngineRule,
        refused: &Refused,
    ) {
        if self.automata {
            let rule = EngineRule {
                error_msg: Some(refused.message.clone()),
                ..rule
            };
            return self.go(chain, name, address, rule, Target::Stop);
        }
        let refusing = self.refusals.chain(&mut self.draft, refused);
        self.go(chain, name, address, rule, Target::Jump(refusing));
    }

    /// A rule that refuses and belongs to no chain of the draft yet.
    pub(super) fn refusing(
        &mut self,
        name: String,
        address: &Address,
        rule: EngineRule,
        refused: &Refused,
    ) -> DraftRule {
        let refusing = self.refusals.chain(&mut self.draft, refused);
        DraftRule::jumping(name, address, rule, refusing)
    }
}

/// Gives every reason a hostgroup, and the servers of `shardwright refuse` a port each.
pub(crate) fn hostgroups(
    reasons: &[Reason],
    topology: &Topology,
    (ids, taken): (&IdRanges, &[HostgroupId]),
    lock: &mut Lock,
    report: &mut Report<'_>,
) -> Vec<RefusingHostgroup> {
    let prefix = format!("refusals.{}.", report.engine);
    let known = lock.clone();
    lock.forget(&prefix);
    let mut numbers = Probe::new((&ids.hostgroups).into());
    for id in taken {
        numbers.take(id.0);
    }
    let mut ports = BTreeSet::new();
    let name = |reason: &Reason, what: &str| format!("{prefix}{}.{what}", reason.name);
    // All pinned numbers are taken before a new one is given.
    let pinned: Vec<(Option<u32>, Option<u32>)> = reasons
        .iter()
        .map(|reason| {
            let id = known
                .get(&name(reason, "hostgroup"))
                .filter(|&id| numbers.is_free(id));
            if let Some(id) = id {
                numbers.take(id);
            }
            let port = known
                .get(&name(reason, "port"))
                .filter(|&port| ports.insert(port));
            (id, port)
        })
        .collect();
    let mut refusing = Vec::with_capacity(reasons.len());
    for (reason, (id, port)) in reasons.iter().zip(pinned) {
        // Where none is left, 0 stands in for it: the error below ends the compilation.
        let id = id.or_else(|| numbers.give(&reason.name)).unwrap_or(0);
        let offset = port.unwrap_or_else(|| first_free(&mut ports));
        lock.set(name(reason, "hostgroup"), id);
        lock.set(name(reason, "port"), offset);
        let refuser = match topology.refuser().0 {
            model::Refuser::Admin => Refuser::Admin,
            model::Refuser::Service { .. } => Refuser::Service,
        };
        let server = u16::try_from(offset)
            .ok()
            .and_then(|nth| topology.refusing_server(nth));
        let (host, port) = server.unwrap_or_else(|| {
            let message = format!(
                "engine_settings.proxysql.refuser.port: {} ports are needed from it on, and the last port is 65535",
                offset + 1
            );
            report.exhausted(message);
            Default::default()
        });
        refusing.push(RefusingHostgroup {
            id: HostgroupId(id),
            address: reason.address.clone(),
            reason: reason.text.clone(),
            refuser,
            host: host.to_string(),
            port,
        });
    }
    if numbers.missing() > 0 {
        let message = format!(
            "ids.hostgroups {}-{} has {} numbers, {} too few for the hostgroups that refuse executions on {}",
            ids.hostgroups.start(),
            ids.hostgroups.end(),
            numbers.size(),
            numbers.missing(),
            report.engine
        );
        report.exhausted(message);
    }
    refusing
}

/// The lowest number that is not taken, which then is.
fn first_free(taken: &mut BTreeSet<u32>) -> u32 {
    let free = (0..).find(|number| taken.insert(*number));
    free.expect("a set of a few numbers leaves others")
}
