//! Effects: chains behind the rules that place a statement, which set what happens to it besides and hand it on.
//!
//! Where a statement goes is decided before, so effects never change it.

use shardwright_rules::{Address, EngineRule, Shard};
use shardwright_topology::model::{Multiplex, OnUnsupported};

use super::conditions::Conditions;
use super::{Lowering, Target};
use crate::draft::{ChainRef, DraftRule};
use crate::native::effects::Effect;
use crate::report::Who;

/// An effect on statements of a placed cluster.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Use {
    /// Its place among the effects of the program.
    pub effect: usize,
    /// Session schemas that it is for; none for all that its scope means.
    pub schemas: Option<Vec<String>>,
}

impl Lowering<'_, '_> {
    /// Finds the effects that rules can express; what they cannot is reported.
    pub(super) fn check_effects(&mut self) {
        let program = self.program;
        for (at, section) in program.effects.iter().enumerate() {
            match Conditions::of(&section.scope, &program.users) {
                Ok(_) if self.means_nobody(at) => {}
                Ok(_) => self.effects.push(at),
                Err(what) => self.no_effect(at, what),
            }
        }
    }

    fn means_nobody(&self, at: usize) -> bool {
        let names = &self.program.effects[at].scope.users;
        !names.is_any() && !self.program.users.iter().any(|user| names.contains(&user.name))
    }

    fn no_effect(&mut self, at: usize, what: &str) {
        let section = &self.program.effects[at];
        let choice = match section.on_unsupported {
            OnUnsupported::Error => OnUnsupported::Error,
            OnUnsupported::Approximate | OnUnsupported::Skip => OnUnsupported::Skip,
        };
        let (field, who) = match section.step {
            Effect::Delay(_) => ("applies_to", Who::Bundled),
            Effect::Multiplex(_) => ("match", Who::Bundled),
            Effect::Cache { .. } | Effect::Mirror { .. } => ("match", Who::Nobody),
        };
        let origin = section.origin;
        self.report
            .on_unsupported(choice, (origin, field), what, "it has no effect", who);
    }

    /// The effects on statements that are placed on a cluster.
    pub(super) fn effects_of(&self, cluster: &str) -> Vec<Use> {
        let covers = |effect: &&usize| self.program.effects[**effect].scope.clusters.contains(cluster);
        let used = self.effects.iter().filter(covers);
        used.map(|&effect| Use {
            effect,
            schemas: None,
        })
        .collect()
    }

    /// Where a statement goes on that has been placed on a cluster: through the effects on it, and then to `then`.
    pub(super) fn with_effects(&mut self, cluster: &str, then: Target) -> Target {
        let used = match self.cluster_effects.get(cluster) {
            Some(used) => used.clone(),
            None => {
                let used = self.effects_of(cluster);
                self.cluster_effects.insert(cluster.to_owned(), used.clone());
                used
            }
        };
        self.through(used, then)
    }

    /// Where a statement goes on that has been placed on a shard.
    pub(super) fn behind_shard(&mut self, shard: &Shard, leaf: Target) -> Target {
        match shard.cluster.as_deref() {
            Some(cluster) => self.with_effects(cluster, leaf),
            None => leaf,
        }
    }

    /// The same for a list of effects. With a firewall, statements that end here end at one flag.
    pub(super) fn through(&mut self, used: Vec<Use>, then: Target) -> Target {
        let one_end = then == Target::Stop && !self.program.firewall.is_empty();
        if used.is_empty() && !one_end {
            return then;
        }
        let key = (used, then);
        if let Some(&chain) = self.effect_chains.get(&key) {
            return Target::Jump(chain);
        }
        let (used, _) = &key;
        let first = self.draft.chain(&self.chain_name(used));
        let mut chain = first;
        let mut address = Address::new("firewall");
        for one in used {
            address = self.program.effects[one.effect].address.clone();
            chain = self.effect(chain, one, &address);
        }
        self.go(chain, "end", &address, EngineRule::default(), then);
        self.effect_chains.insert(key, first);
        Target::Jump(first)
    }

    fn chain_name(&self, used: &[Use]) -> String {
        match used {
            [] => "placed".to_owned(),
            [first, others @ ..] => {
                let first = &self.program.effects[first.effect].address;
                let more = if others.is_empty() {
                    String::new()
                } else {
                    format!("+{}", others.len())
                };
                format!("effects.{first}{more}")
            }
        }
    }

    /// Adds the rules of one effect to a chain; gives the chain in which statements go on, changed or not.
    fn effect(&mut self, chain: ChainRef, used: &Use, address: &Address) -> ChainRef {
        let program = self.program;
        let section = &program.effects[used.effect];
        let mut scope = section.scope.clone();
        if let Some(schemas) = &used.schemas {
            scope.schemas.any_of = schemas
                .iter()
                .filter(|schema| section.scope.schemas.contains(schema))
                .map(|schema| schema.as_str().into())
                .collect();
        }
        let Ok(conditions) = Conditions::of(&scope, &program.users) else {
            self.no_effect(used.effect, "select statements by so many session schemas");
            return chain;
        };
        let name = address.to_string();
        let effect = &section.step;
        let plain = match effect {
            Effect::Delay(_) => true,
            Effect::Multiplex(multiplex) => *multiplex != Multiplex::IgnoreSysvarReads,
            Effect::Mirror { percent, .. } => *percent >= 100,
            Effect::Cache { .. } => false,
        };
        if plain && conditions.is_simple() {
            for (at, rule) in conditions.alternatives().into_iter().enumerate() {
                let rule_name = format!("{}/{name}/{at}", self.draft.get(chain).name);
                let rule = DraftRule::engine(rule_name, address, with(effect, rule));
                self.draft.push(chain, rule);
            }
            return chain;
        }
        let inner = self
            .draft
            .chain(&format!("{}/{name}", self.draft.get(chain).name));
        let next = self
            .draft
            .chain(&format!("{}/{name}.next", self.draft.get(chain).name));
        self.branch_to(chain, &name, address, &conditions, Target::Jump(inner), next);
        self.meant(inner, effect, address, next);
        next
    }

    /// The statements that an effect means: some of them are safe from it.
    fn meant(&mut self, chain: ChainRef, effect: &Effect, address: &Address, next: ChainRef) {
        let go_on = Target::Jump(next);
        match effect {
            Effect::Cache { .. } => {
                self.go(chain, "quoted_call", address, self.quoted_call(), go_on);
                let read = with(effect, self.read(false, false));
                self.go(chain, "read", address, read, go_on);
            }
            Effect::Multiplex(Multiplex::IgnoreSysvarReads) => {
                let read = self.reads_of_system_variables();
                self.go(chain, "read", address, with(effect, read), go_on);
            }
            Effect::Mirror { percent, .. } if *percent < 100 => {
                let name = self.draft.get(chain).name.clone();
                let copy = self.draft.chain(&format!("{name}.copy"));
                self.go(copy, "copy", address, with(effect, EngineRule::default()), go_on);
                let draws = vec![(copy, *percent), (next, 100 - percent)];
                let rule = DraftRule {
                    draws,
                    ..DraftRule::engine(format!("{name}/draw"), address, EngineRule::default())
                };
                return self.draft.push(chain, rule);
            }
            Effect::Delay(_) | Effect::Multiplex(_) | Effect::Mirror { .. } => {
                return self.go(chain, "set", address, with(effect, EngineRule::default()), go_on);
            }
        }
        self.go(chain, "rest", address, EngineRule::default(), go_on);
    }

    /// Rules that send what is meant to `yes` and the rest to `no`.
    pub(super) fn branch_to(
        &mut self,
        chain: ChainRef,
        name: &str,
        address: &Address,
        conditions: &Conditions,
        yes: Target,
        no: ChainRef,
    ) {
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
    pub(super) fn branch(
        &mut self,
        chain: ChainRef,
        name: &str,
        address: &Address,
        conditions: &Conditions,
        yes: Target,
    ) -> ChainRef {
        if conditions.is_simple() {
            for (at, rule) in conditions.alternatives().into_iter().enumerate() {
                self.go(chain, &format!("{name}{at}"), address, rule, yes);
            }
            return chain;
        }
        let next = self
            .draft
            .chain(&format!("{}/{name}.rest", self.draft.get(chain).name));
        self.branch_to(chain, name, address, conditions, yes, next);
        next
    }
}

/// A rule that has the effect.
fn with(effect: &Effect, rule: EngineRule) -> EngineRule {
    match effect {
        Effect::Delay(delay_ms) => EngineRule {
            delay_ms: Some(*delay_ms),
            ..rule
        },
        Effect::Cache { ttl_ms, empty } => EngineRule {
            cache_ttl_ms: Some(*ttl_ms),
            // NULL is 1 (2.7.1, `query_processor.h`).
            cache_empty_result: (!empty).then_some(false),
            ..rule
        },
        Effect::Multiplex(multiplex) => EngineRule {
            multiplex: Some(match multiplex {
                Multiplex::Never => 0,
                Multiplex::Default => 1,
                Multiplex::IgnoreSysvarReads => 2,
            }),
            ..rule
        },
        Effect::Mirror { hostgroup, .. } => EngineRule {
            mirror_hostgroup: Some(hostgroup.0),
            ..rule
        },
    }
}
