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
//! The bundled engine answers executions with `error_msg` as well, so [`super::Chains`] writes single rules for it.

use std::collections::HashMap;

use shardwright_rules::refusal::{self, Refusal};
use shardwright_rules::{Address, EngineRule, MapStep, Shard};

use crate::draft::{ChainRef, Draft, DraftRule, REFUSALS, text_rule};
use crate::program::Section;
use crate::summary;

/// In front of what is no execution.
const MARK: &str = ") ";
/// A text with that mark.
pub(crate) const MARKED: &str = r"\A\) ";

/// What a refusal says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Refused {
    pub(super) refusal: Refusal,
    /// The object that refuses.
    address: Address,
    /// The object whose reason it is: a map has one for all its shards.
    reason_of: Address,
    /// To queries and preparations, with its code.
    pub(super) message: String,
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
            reason_of: section.address.clone(),
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

    /// Of the keys of a shard that is refused, in the words of the topology.
    pub(super) fn of_shard(section: &Section<Box<MapStep>>, shard: &Shard, why: &str) -> Self {
        let message = refusal::refused_shard(&shard.address.short(), why);
        Self {
            address: shard.address.clone(),
            ..Self::by(section, Refusal::RefusedShard, message)
        }
    }

    /// By a guard in front of all maps.
    pub(crate) fn by_guard(refusal: Refusal, what: &str) -> Self {
        let message = refusal.message(what);
        Self {
            refusal,
            address: Address::new("users"),
            reason_of: Address::new("users"),
            reason: message.clone(),
            message,
        }
    }

    /// By a route, in the words of the topology. Executions of all routes share one reason.
    pub(super) fn by_route(address: &Address, text: &str) -> Self {
        Self {
            refusal: Refusal::Route,
            address: address.clone(),
            reason_of: Address::new("routes"),
            reason: Refusal::Route.message(refusal::ROUTE_REFUSES),
            message: text.to_owned(),
        }
    }

    /// What the lock file calls the reason.
    fn name(&self) -> String {
        format!("{}.{}", self.reason_of, self.refusal.code())
    }
}

/// Why executions are refused, before it has a hostgroup.
#[derive(Clone, Debug)]
pub(crate) struct Reason {
    /// What the lock file calls it.
    pub(crate) name: String,
    /// The object that refuses.
    pub(crate) address: Address,
    /// The answer to executions.
    pub(crate) text: String,
}

/// The chains that refuse, and the reasons of their hostgroups.
#[derive(Debug, Default)]
pub(super) struct Refusals {
    reasons: Vec<Reason>,
    chains: HashMap<(String, Address), ChainRef>,
}

impl Refusals {
    /// The chain that refuses so.
    pub(super) fn chain(&mut self, draft: &mut Draft, refused: &Refused) -> ChainRef {
        let key = (refused.message.clone(), refused.address.clone());
        if let Some(&chain) = self.chains.get(&key) {
            return chain;
        }
        // Messages that differ only in their words share the hostgroup of their reason.
        let name = refused.name();
        let same = self.reasons.iter().position(|reason| reason.name == name);
        let reason = same.unwrap_or_else(|| {
            self.reasons.push(Reason {
                name: name.clone(),
                address: refused.reason_of.clone(),
                text: refused.reason.clone(),
            });
            self.reasons.len() - 1
        });
        let chain = draft.chain(&format!("{REFUSALS}{name}"));
        draft.rarely(chain);
        let within = draft.get(chain).name.clone();
        let mut push = |name: &str, refuses: Option<usize>, rule: EngineRule| {
            let about = summary::refused(refused.refusal);
            let about = match name {
                "mark" => format!("{about}; marks all but executions"),
                "execution" => format!("{about}; executions"),
                _ => about.to_owned(),
            };
            let rule =
                DraftRule::engine(format!("{within}/{name}"), &refused.address, rule).about(Some(about));
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
    pub(super) fn reasons(&self) -> &[Reason] {
        &self.reasons
    }
}
