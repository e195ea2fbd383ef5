//! Effects: what happens to a statement besides being placed.
//!
//! Where a statement goes is decided apart from its effects. A delay or the use of its connection that does not depend on the
//! cluster is set by rules in front of everything, which hand nothing on: what a rule without a jump sets stays set. The others
//! are chains behind the rules that place a statement.

use shardwright_rules::{Address, EngineRule, Shard};
use shardwright_topology::model::Multiplex;

use super::chains::{Branch, Chains, Target};
use super::{Lowering, forms};
use crate::conditions::Conditions;
use crate::diagnostics::{Diagnostics, SupportedBy, Unsupported};
use crate::draft::{ChainRef, DraftRule};
use crate::program::effects::Effect;
use crate::program::{Program, Section};

/// Why no rule is made from a throttle.
const NO_THROTTLE: &str =
    "only the bundled engine has throttles besides fixed delays, and it has no rules of effects";

/// An effect on statements of a placed cluster.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct EffectUse {
    /// Its index among the effects of the program.
    pub(crate) effect: usize,
    /// Session schemas that it is for; none for all that its scope means.
    pub(crate) schemas: Option<Vec<String>>,
}

/// The effects that rules can express, by index in the program.
#[derive(Debug, Default)]
pub(crate) struct UsableEffects {
    /// Those that do not depend on the cluster: rules in front of everything set them.
    pub(crate) in_front: Vec<usize>,
    /// Those that are asked for behind the rules that place a statement.
    pub(crate) behind: Vec<usize>,
}

impl UsableEffects {
    /// Has all of them asked for behind the rules that place a statement.
    pub(crate) fn all_behind(&mut self) {
        self.behind.append(&mut self.in_front);
        self.behind.sort_unstable();
    }
}

/// The effects that rules can express; what they cannot is reported.
pub(crate) fn usable_effects(program: &Program, report: &mut Diagnostics<'_>) -> UsableEffects {
    let mut usable = UsableEffects::default();
    // A later effect wins, so that nothing is set in front whose value an earlier one would overwrite behind.
    let sets_behind = |section: &Section<Effect>, usable: &UsableEffects| {
        let same = |&other: &usize| {
            std::mem::discriminant(&program.effects[other].step) == std::mem::discriminant(&section.step)
        };
        usable.behind.iter().any(same)
    };
    for (at, section) in program.effects.iter().enumerate() {
        let names = &section.scope.users;
        let means_nobody = !names.is_any() && !program.users.iter().any(|user| names.contains(&user.name));
        match Conditions::of(&section.scope, &program.users) {
            Ok(_) if means_nobody => {}
            // A refused statement is neither copied nor answered from a cache: that is asked behind its placement.
            Ok(conditions)
                if section.scope.clusters.is_any()
                    && sets_one_value(&section.step)
                    && conditions.is_simple()
                    && !sets_behind(section, &usable) =>
            {
                usable.in_front.push(at);
            }
            Ok(_) => usable.behind.push(at),
            Err(what) => no_effect(section, what, report),
        }
    }
    usable
}

/// Whether a rule without a jump has the effect, on statements that are refused too.
fn sets_one_value(effect: &Effect) -> bool {
    match effect {
        Effect::Delay(_) | Effect::TimeLimit(_) => true,
        Effect::Multiplex(multiplex) => *multiplex != Multiplex::IgnoreSysvarReads,
        Effect::Mirror { .. } | Effect::Cache { .. } => false,
        Effect::Throttle(_) => unreachable!("{NO_THROTTLE}"),
    }
}

/// The rules of an effect in front of everything.
pub(crate) fn effect_in_front(program: &Program, effect: usize) -> Vec<DraftRule> {
    let section = &program.effects[effect];
    let conditions = Conditions::of(&section.scope, &program.users).expect("the effect is usable");
    let rules = conditions.alternatives().into_iter().enumerate();
    rules
        .map(|(at, rule)| {
            let name = format!("effects.{}/{at}", section.address);
            DraftRule::engine(name, &section.address, with(&section.step, rule))
        })
        .collect()
}

fn no_effect(section: &Section<Effect>, what: &str, report: &mut Diagnostics<'_>) {
    let choice = section.on_unsupported.without_approximation();
    let (field, who) = match section.step {
        Effect::Delay(_) => ("applies_to", SupportedBy::Bundled),
        Effect::TimeLimit(_) => ("statement_timeout", SupportedBy::Bundled),
        Effect::Multiplex(_) => ("match", SupportedBy::Bundled),
        Effect::Cache { .. } | Effect::Mirror { .. } => ("match", SupportedBy::Nobody),
        Effect::Throttle(_) => unreachable!("{NO_THROTTLE}"),
    };
    let lacking = Unsupported {
        origin: section.origin,
        field,
        what,
        lost: "it has no effect",
        who,
    };
    report.on_unsupported(choice, lacking);
}

impl Lowering<'_, '_> {
    /// Where a statement goes on that has been placed on a cluster: through the effects on it, and then to `then`.
    pub(crate) fn with_effects(&mut self, cluster: &str, then: Target) -> Target {
        let asked = &mut self.shared.cluster_effects;
        let used = match asked.get(cluster) {
            Some(used) => used.clone(),
            None => {
                let used = self.input.effects_of(cluster);
                asked.insert(cluster.to_owned(), used.clone());
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
    pub(crate) fn through(&mut self, used: Vec<EffectUse>, then: Target) -> Target {
        let one_end = then == Target::Stop && !self.input.program.firewall.is_empty();
        if used.is_empty() && !one_end {
            return then;
        }
        let key = (used, then);
        if let Some(&chain) = self.shared.effects.get(&key) {
            return Target::Jump(chain);
        }
        let (used, _) = &key;
        let first = self.chains.draft.chain(&self.chain_name(used));
        let mut chain = first;
        let mut address = Address::new("firewall");
        for one in used {
            address = self.input.program.effects[one.effect].address.clone();
            chain = self.effect(chain, one, &address);
        }
        self.chains
            .go(chain, "end", &address, EngineRule::default(), then);
        self.shared.effects.insert(key, first);
        Target::Jump(first)
    }

    fn chain_name(&self, used: &[EffectUse]) -> String {
        match used {
            [] => "placed".to_owned(),
            [first, others @ ..] => {
                let first = &self.input.program.effects[first.effect].address;
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
    fn effect(&mut self, chain: ChainRef, used: &EffectUse, address: &Address) -> ChainRef {
        let program = self.input.program;
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
            let what = "select statements by so many session schemas";
            no_effect(section, what, self.report);
            return chain;
        };
        let name = address.to_string();
        let effect = &section.step;
        let copies_all = matches!(effect, Effect::Mirror { percent, .. } if *percent >= 100);
        let plain = sets_one_value(effect) || copies_all;
        if plain && conditions.is_simple() {
            for (at, rule) in conditions.alternatives().into_iter().enumerate() {
                let rule_name = format!("{}/{name}/{at}", self.chains.draft.get(chain).name);
                let rule = DraftRule::engine(rule_name, address, with(effect, rule));
                self.chains.draft.push(chain, rule);
            }
            return chain;
        }
        let inner = self
            .chains
            .draft
            .chain(&format!("{}/{name}", self.chains.draft.get(chain).name));
        let next = self
            .chains
            .draft
            .chain(&format!("{}/{name}.next", self.chains.draft.get(chain).name));
        let branch = Branch {
            name: &name,
            address,
            conditions: &conditions,
            yes: Target::Jump(inner),
        };
        self.chains.branch_to(chain, branch, next);
        affect(&mut self.chains, inner, effect, address, next);
        next
    }
}

/// Rules for the statements that an effect is about: some of them are safe from it.
fn affect(chains: &mut Chains, chain: ChainRef, effect: &Effect, address: &Address, next: ChainRef) {
    let go_on = Target::Jump(next);
    match effect {
        Effect::Cache { .. } => {
            chains.go(
                chain,
                "quoted_call",
                address,
                forms::quoted_call(chains.wording()),
                go_on,
            );
            let read = with(effect, forms::read(chains.wording(), false, false));
            chains.go(chain, "read", address, read, go_on);
        }
        Effect::Multiplex(Multiplex::IgnoreSysvarReads) => {
            let read = forms::reads_of_system_variables(chains.wording());
            chains.go(chain, "read", address, with(effect, read), go_on);
        }
        Effect::Mirror { percent, .. } if *percent < 100 => {
            let name = chains.draft.get(chain).name.clone();
            let copy = chains.draft.chain(&format!("{name}.copy"));
            chains.go(copy, "copy", address, with(effect, EngineRule::default()), go_on);
            let draws = vec![(copy, *percent), (next, 100 - percent)];
            let rule = DraftRule {
                draws,
                ..DraftRule::engine(format!("{name}/draw"), address, EngineRule::default())
            };
            return chains.draft.push(chain, rule);
        }
        Effect::Delay(_) | Effect::TimeLimit(_) | Effect::Multiplex(_) | Effect::Mirror { .. } => {
            return chains.go(chain, "set", address, with(effect, EngineRule::default()), go_on);
        }
        Effect::Throttle(_) => unreachable!("{NO_THROTTLE}"),
    }
    chains.go(chain, "rest", address, EngineRule::default(), go_on);
}

/// A rule that has the effect.
fn with(effect: &Effect, rule: EngineRule) -> EngineRule {
    match effect {
        Effect::Delay(delay_ms) => EngineRule {
            delay_ms: Some(*delay_ms),
            ..rule
        },
        Effect::TimeLimit(limit_ms) => EngineRule {
            timeout_ms: Some(*limit_ms),
            ..rule
        },
        Effect::Throttle(_) => unreachable!("{NO_THROTTLE}"),
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
