//! The sections that statements meet: users whose statements meet the same sections share chains.

use std::collections::BTreeMap;

use shardwright_rules::{Address, EngineRule, MapStep, MissingAction, UnknownKey, User};

use crate::draft::Draft;
use crate::engine_rules::{
    Class, EffectUse, Exits, Input, Lowering, RoleTargets, Target, role_chain, usable_policies,
};
use crate::program::Section;

/// What tells classes apart; the fields are those of [`Class`].
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct ClassKey {
    maps: Vec<usize>,
    policies: Vec<usize>,
    cluster: String,
    schemas: Vec<String>,
    home: Vec<EffectUse>,
}

/// Which of its axes a map decides.
#[derive(Clone, Copy)]
struct Axes {
    cluster: bool,
    schema: bool,
}

impl Lowering<'_, '_> {
    /// The rules of the first chain that hand each user's statements to the sections; for each map, the user that its
    /// figures are for.
    pub(super) fn sections(&mut self, end: Target) -> BTreeMap<String, String> {
        let program = self.input.program;
        let usable = usable_policies(program, self.report);
        let classes = classes(self.input, &usable);
        let mut reference_users = BTreeMap::new();
        for class in &classes {
            let user = class.users.first().cloned().unwrap_or_default();
            for &map in &class.maps {
                let name = program.maps[map].step.map.clone();
                reference_users.entry(name).or_insert_with(|| user.clone());
            }
            let target = self.class_target(class, end);
            if target == end {
                continue;
            }
            let address = first_address(self.input, class);
            if class.everyone {
                self.chains
                    .go(Draft::START, "everyone", &address, EngineRule::default(), target);
            } else {
                for user in &class.users {
                    let rule = EngineRule {
                        username: Some(user.clone()),
                        ..EngineRule::default()
                    };
                    self.chains.go(Draft::START, user, &address, rule, target);
                }
            }
        }
        if let (Target::Jump(_), false) = (end, classes.iter().any(|class| class.everyone)) {
            let address = Address::new("query_rules");
            self.chains
                .go(Draft::START, "rest", &address, EngineRule::default(), end);
        }
        reference_users
    }

    /// Where the statements of a class go on behind the first chain.
    fn class_target(&mut self, class: &Class, end: Target) -> Target {
        let unplaced = self.unplaced(class, end);
        let mut chains: Vec<Target> = vec![unplaced; class.maps.len() + 1];
        for at in (0..class.maps.len()).rev() {
            let map = class.maps[at];
            let placed = self.behind(class, at, unplaced, end);
            // A cluster for missing or unknown keys places as a shard does: the maps that compose are asked all the same.
            let elsewhere = if sends_elsewhere(&self.input.map(map).step) {
                self.behind(class, at, Target::Stop, end)
            } else {
                Target::Stop
            };
            let exits = Exits {
                unkeyed: chains[at + 1],
                placed,
                elsewhere,
                end,
            };
            chains[at] = Target::Jump(self.map_chain(map, class, exits));
        }
        chains[0]
    }

    /// What a placed statement meets: a later map that places what this one does not.
    fn behind(&mut self, class: &Class, at: usize, unplaced: Target, end: Target) -> Target {
        let program = self.input.program;
        let own = axes(&program.maps[class.maps[at]].step);
        let composing = class.maps[at + 1..].iter().copied().find(|&other| {
            let other = axes(&program.maps[other].step);
            !(own.cluster && other.cluster || own.schema && other.schema)
        });
        let rest = if own.cluster { Target::Stop } else { unplaced };
        let Some(composing) = composing else {
            return rest;
        };
        let exits = Exits {
            unkeyed: rest,
            placed: Target::Stop,
            elsewhere: Target::Stop,
            end,
        };
        Target::Jump(self.map_chain(composing, class, exits))
    }

    /// Where statements go that no map has placed: reads of a covered cluster to its readers.
    fn unplaced(&mut self, class: &Class, end: Target) -> Target {
        let mut target = self.through(class.home.clone(), end);
        if class.cluster.is_empty() {
            return target;
        }
        let program = self.input.program;
        let covering: Vec<usize> = class
            .policies
            .iter()
            .copied()
            .filter(|&policy| program.roles[policy].scope.clusters.contains(&class.cluster))
            .collect();
        // A read that the first policy leaves on the writer is asked about by the next one.
        for policy in covering.into_iter().rev() {
            let address = &program.roles[policy].address;
            let readers = self.chains.draft.chain(&format!("{address}.{}", class.cluster));
            let reader = program.resolved_cluster(&class.cluster).reader;
            let rule = EngineRule {
                destination_hostgroup: reader.map(|reader| reader.0),
                ..EngineRule::default()
            };
            let placed = self.with_effects(&class.cluster, Target::Stop);
            self.chains.go(readers, "reader", address, rule, placed);
            let name = format!("{address}.{}.role", class.cluster);
            let targets = RoleTargets {
                reader: Target::Jump(readers),
                writer: target,
            };
            target = Target::Jump(role_chain(&mut self.chains, program, &name, policy, targets));
        }
        target
    }
}

/// The first section that the statements of a class meet.
fn first_address(input: Input<'_>, class: &Class) -> Address {
    let program = input.program;
    let map = class.maps.first().map(|&map| &program.maps[map].address);
    let policy = class
        .policies
        .first()
        .filter(|_| !class.cluster.is_empty())
        .map(|&policy| &program.roles[policy].address);
    let effect = class.home.first().map(|one| &program.effects[one.effect].address);
    map.or(policy)
        .or(effect)
        .cloned()
        .unwrap_or_else(|| Address::new("firewall"))
}

/// The classes of users, by name of the first; `usable` has the policies that rules can follow.
fn classes(input: Input<'_>, usable: &[usize]) -> Vec<Class> {
    let program = input.program;
    let everyone = |map: &Section<Box<MapStep>>| map.scope.users.is_any() && map.scope.clusters.is_any();
    let readable = |map: usize| input.plan(map).reading.is_some();
    let all: Vec<usize> = (0..program.maps.len()).filter(|&map| readable(map)).collect();
    let by_policy = usable
        .iter()
        .any(|&policy| !program.roles[policy].scope.users.is_any());
    let mut groups: BTreeMap<ClassKey, Vec<String>> = BTreeMap::new();
    for user in &program.users {
        groups
            .entry(class_of(input, user, &all, usable))
            .or_default()
            .push(user.name.clone());
    }
    let unscoped: Vec<usize> = all
        .iter()
        .copied()
        .filter(|&map| everyone(&program.maps[map]))
        .collect();
    if program.users.is_empty() && !unscoped.is_empty() {
        let key = ClassKey {
            maps: unscoped,
            policies: usable.to_vec(),
            cluster: String::new(),
            schemas: Vec::new(),
            home: Vec::new(),
        };
        groups.insert(key, Vec::new());
    }
    let single = groups.len() == 1;
    let mut classes: Vec<Class> = groups
        .into_iter()
        .filter(|(key, _)| {
            !key.maps.is_empty()
                || (!key.policies.is_empty() && !key.cluster.is_empty())
                || !key.home.is_empty()
                || !program.firewall.is_empty()
        })
        .map(|(key, users)| Class {
            everyone: single
                && !by_policy
                && key.cluster.is_empty()
                && key.maps.iter().all(|&map| everyone(&program.maps[map])),
            users,
            maps: key.maps,
            policies: key.policies,
            cluster: key.cluster,
            schemas: key.schemas,
            home: key.home,
        })
        .collect();
    classes.sort_by(|a, b| a.users.cmp(&b.users));
    classes
}

fn class_of(input: Input<'_>, user: &User, maps: &[usize], usable: &[usize]) -> ClassKey {
    let program = input.program;
    let cluster = program.cluster_of(user);
    let cluster_name = cluster.map_or("", |cluster| &*cluster.name);
    let maps: Vec<usize> = maps
        .iter()
        .copied()
        .filter(|&map| {
            let scope = &program.maps[map].scope;
            scope.users.contains(&user.name) && scope.clusters.contains(cluster_name)
        })
        .collect();
    let policies: Vec<usize> = usable
        .iter()
        .copied()
        .filter(|&policy| program.roles[policy].scope.users.contains(&user.name))
        .collect();
    let reads = cluster.is_some_and(|cluster| cluster.reader.is_some())
        && policies
            .iter()
            .any(|&policy| program.roles[policy].scope.clusters.contains(cluster_name));
    let checked = maps.iter().any(|&map| {
        input
            .plan(map)
            .reading
            .as_ref()
            .is_some_and(|reading| reading.comment.is_some() && reading.schema.is_some())
    });
    let mut schemas = Vec::new();
    if checked {
        schemas.push("information_schema".to_owned());
        schemas.extend(
            user.default_schema
                .clone()
                .filter(|schema| schema != "information_schema"),
        );
    }
    ClassKey {
        maps,
        policies,
        cluster: if reads {
            cluster_name.to_owned()
        } else {
            String::new()
        },
        schemas,
        home: home_effects(input, &user.name, cluster_name),
    }
}

/// The effects on statements of a user that nothing places.
fn home_effects(input: Input<'_>, user: &str, cluster: &str) -> Vec<EffectUse> {
    let used = input.effects_of(cluster);
    let is_meant = |one: &EffectUse| input.program.effects[one.effect].scope.users.contains(user);
    // All of them or none, so that users do not get chains of their own for each effect.
    if used.iter().any(is_meant) {
        used
    } else {
        Vec::new()
    }
}

/// Whether statements with a missing or an unknown key have a cluster.
fn sends_elsewhere(step: &MapStep) -> bool {
    let missing = [&step.missing.statements, &step.missing.session_setup];
    matches!(step.unknown, UnknownKey::Cluster(_))
        || missing
            .into_iter()
            .any(|action| matches!(action, MissingAction::Cluster(_)))
}

fn axes(step: &MapStep) -> Axes {
    Axes {
        cluster: step.shards.iter().any(|shard| shard.cluster.is_some()),
        schema: step.logical_schema.is_some() && step.shards.iter().any(|shard| shard.schema.is_some()),
    }
}
