//! Chains under construction: rules that go on to a target or refuse, and chains that several rules share.

use std::collections::HashMap;

use shardwright_rules::{Address, EngineRule, RegexEngine};

use super::refusals::{Reason, Refusals, Refused};
use crate::conditions::Conditions;
use crate::draft::{ChainRef, Draft, DraftRule};
use crate::statement_patterns::Wording;
use crate::summary;

/// Where evaluation goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Target {
    /// Nowhere: what is decided so far holds, else the user's cluster.
    Stop,
    /// In a chain.
    Jump(ChainRef),
}

/// How an engine matches patterns and refuses statements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Dialect {
    /// By automata, which repeat groups for nothing; `error_msg` answers executions too.
    Bundled,
    /// By this library; executions are refused by a hostgroup.
    Proxysql(RegexEngine),
}

/// Chains under construction.
#[derive(Debug)]
pub(crate) struct Chains {
    /// All chains.
    pub(crate) draft: Draft,
    pub(super) dialect: Dialect,
    refusals: Refusals,
    pub(super) shared: Shared,
}

/// Chains that are built already, by what they depend on.
#[derive(Debug, Default)]
pub(super) struct Shared {
    /// Those that write a shard's schema for the logical one.
    pub(super) rewrites: HashMap<Rewrite, ChainRef>,
    /// Those that take a predicate out, by the name of the map and what follows.
    pub(super) predicates: HashMap<(String, Target), ChainRef>,
}

/// A schema that replaces another.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Rewrite {
    pub(super) logical: String,
    pub(super) own: String,
    pub(super) target: Target,
}

/// What a chain of conditions tells apart.
#[derive(Clone, Copy)]
pub(super) struct Branch<'b> {
    /// Begins the names of its rules.
    pub(super) name: &'b str,
    pub(super) address: &'b Address,
    pub(super) conditions: &'b Conditions,
    /// Where statements go on that meet the conditions.
    pub(super) yes: Target,
}

impl Chains {
    /// The first chain, without rules.
    pub(crate) fn new(dialect: Dialect) -> Self {
        Self {
            draft: Draft::new(),
            dialect,
            refusals: Refusals::default(),
            shared: Shared::default(),
        }
    }

    /// RE2 matches characters, and finds nothing across bytes that are none.
    pub(crate) fn reads_utf8_only(&self) -> bool {
        self.dialect == Dialect::Proxysql(RegexEngine::Re2)
    }

    /// How this engine's patterns are written.
    pub(crate) fn wording(&self) -> Wording {
        Wording {
            possessive: self.dialect == Dialect::Proxysql(RegexEngine::Pcre),
        }
    }

    /// Adds a rule that goes on to a target.
    pub(crate) fn go(
        &mut self,
        chain: ChainRef,
        name: &str,
        address: &Address,
        rule: EngineRule,
        target: Target,
    ) {
        let about = summary::guard(name, &rule);
        self.go_about(chain, name, address, rule, target, about);
    }

    /// The same, with what the rule decides.
    pub(crate) fn go_about(
        &mut self,
        chain: ChainRef,
        name: &str,
        address: &Address,
        rule: EngineRule,
        target: Target,
        about: Option<impl Into<String>>,
    ) {
        let name = format!("{}/{name}", self.draft.get(chain).name);
        let rule = match target {
            Target::Stop => DraftRule::engine(name, address, EngineRule { apply: true, ..rule }),
            Target::Jump(to) => DraftRule::jumping(name, address, rule, to),
        };
        self.draft.push(chain, rule.about(about));
    }

    /// Adds a rule that refuses.
    pub(super) fn refuse(
        &mut self,
        chain: ChainRef,
        name: &str,
        address: &Address,
        rule: EngineRule,
        refused: &Refused,
    ) {
        let about = summary::guard(name, &rule).filter(|about| about.starts_with("refused"));
        let about = Some(about.unwrap_or_else(|| summary::refused(refused.refusal)));
        if self.dialect == Dialect::Bundled {
            let rule = EngineRule {
                error_msg: Some(refused.message.clone()),
                ..rule
            };
            return self.go_about(chain, name, address, rule, Target::Stop, about);
        }
        let refusing = self.refusals.chain(&mut self.draft, refused);
        self.go_about(chain, name, address, rule, Target::Jump(refusing), about);
    }

    /// A rule that refuses and belongs to no chain of the draft yet.
    pub(crate) fn refusing(
        &mut self,
        name: String,
        address: &Address,
        rule: EngineRule,
        refused: &Refused,
    ) -> DraftRule {
        let refusing = self.refusals.chain(&mut self.draft, refused);
        DraftRule::jumping(name, address, rule, refusing).about(Some(summary::refused(refused.refusal)))
    }

    /// The chains that refuse, each after every rule that leads to it has been made.
    pub(crate) fn refusal_chains(&self) -> Vec<ChainRef> {
        self.refusals.chains()
    }

    /// Why executions are refused, in the order of the rules' references; each reason needs a hostgroup.
    pub(crate) fn refusal_reasons(&self) -> Vec<Reason> {
        self.refusals.reasons().to_vec()
    }

    /// Rules that send what meets the conditions to `yes` and the rest to `no`.
    pub(super) fn branch_to(&mut self, chain: ChainRef, branch: Branch<'_>, no: ChainRef) {
        let Branch {
            name,
            address,
            conditions,
            yes,
        } = branch;
        for (at, rule) in conditions.exceptions.iter().enumerate() {
            let name = format!("{name}/except{at}");
            self.go(chain, &name, address, rule.clone(), Target::Jump(no));
        }
        let mut chain = chain;
        for (depth, level) in conditions.levels.iter().enumerate() {
            let target = if depth + 1 == conditions.levels.len() {
                yes
            } else {
                let name = format!("{}/{name}.{depth}", self.draft.get(chain).name);
                Target::Jump(self.draft.chain(&name))
            };
            for (at, rule) in level.iter().enumerate() {
                self.go(chain, &format!("{name}/{at}"), address, rule.clone(), target);
            }
            self.go(
                chain,
                &format!("{name}/rest"),
                address,
                EngineRule::default(),
                Target::Jump(no),
            );
            if let Target::Jump(next) = target {
                chain = next;
            }
        }
        if conditions.levels.is_empty() {
            self.go(chain, &format!("{name}/all"), address, EngineRule::default(), yes);
        }
    }

    /// The same in front of other rules of a chain; gives the chain in which the rest goes on.
    pub(super) fn branch(&mut self, chain: ChainRef, branch: Branch<'_>) -> ChainRef {
        let Branch {
            name,
            address,
            conditions,
            yes,
        } = branch;
        if conditions.is_simple() {
            for (at, rule) in conditions.alternatives().into_iter().enumerate() {
                self.go(chain, &format!("{name}{at}"), address, rule, yes);
            }
            return chain;
        }
        let next = self
            .draft
            .chain(&format!("{}/{name}.rest", self.draft.get(chain).name));
        self.branch_to(chain, branch, next);
        next
    }
}
