//! Users whose statements meet the same sections share chains.

use std::collections::{BTreeMap, HashMap};

use shardwright_rules::{Address, EngineRule, MapStep, MissingAction, UnknownKey, User};

use super::effects::Use;
use super::{Lowering, Target};
use crate::draft::Draft;
use crate::native::Section;

/// Users and the sections that their statements meet.
#[derive(Clone, Debug)]
pub(super) struct Class {
    /// Names, ascending.
    pub users: Vec<String>,
    /// Whether every statement belongs to the class, whoever sends it.
    pub everyone: bool,
    /// Places of maps, in order.
    pub maps: Vec<usize>,
    /// Places of policies, in order.
    pub policies: Vec<usize>,
    /// Name of the users' cluster; empty where it does not matter.
    pub cluster: String,
    /// Session schemas that belong to no shard.
    pub schemas: Vec<String>,
    /// Effects on statements that stay on the users' cluster.
    pub home: Vec<Use>,
}

type Key = (Vec<usize>, Vec<usize>, String, Vec<String>, Vec<Use>);

impl Lowering<'_, '_> {
    /// The rules of the first chain that hand each user's statements to the sections; for each map, the user that its
    /// figures are for.
    pub(super) fn entries(&mut self) -> HashMap<usize, String> {
        let usable = self.check_roles();
        let classes = self.classes(&usable);
        let mut reference_users = HashMap::new();
        for class in &classes {
            let user = class.users.first().cloned().unwrap_or_default();
            for &map in &class.maps {
                reference_users.entry(map).or_insert_with(|| user.clone());
            }
            let target = self.class_target(class);
            if target == self.end {
                continue;
            }
            let name = self.first_address(class);
            if class.everyone {
                self.go(Draft::START, "everyone", &name, EngineRule::default(), target);
            } else {
                for user in &class.users {
                    let rule = EngineRule {
                        username: Some(user.clone()),
                        ..EngineRule::default()
                    };
                    self.go(Draft::START, user, &name, rule, target);
                }
            }
        }
        if let (Target::Jump(_), false) = (self.end, classes.iter().any(|class| class.everyone)) {
            let address = Address::new("query_rules");
            self.go(Draft::START, "rest", &address, EngineRule::default(), self.end);
        }
        reference_users
    }

    /// The first section that the statements of a class meet.
    fn first_address(&self, class: &Class) -> Address {
        let program = self.program;
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

    fn classes(&self, usable: &[usize]) -> Vec<Class> {
        let program = self.program;
        let everyone = |map: &Section<Box<MapStep>>| map.scope.users.is_any() && map.scope.clusters.is_any();
        let readable = |map: usize| self.plans[map].reading.is_some();
        let all: Vec<usize> = (0..program.maps.len()).filter(|&map| readable(map)).collect();
        let by_policy = usable
            .iter()
            .any(|&policy| !program.roles[policy].scope.users.is_any());
        let mut groups: BTreeMap<Key, Vec<String>> = BTreeMap::new();
        for user in &program.users {
            groups
                .entry(self.class_of(user, &all, usable))
                .or_default()
                .push(user.name.clone());
        }
        let unscoped: Vec<usize> = all
            .iter()
            .copied()
            .filter(|&map| everyone(&program.maps[map]))
            .collect();
        if program.users.is_empty() && !unscoped.is_empty() {
            let key = (unscoped, usable.to_vec(), String::new(), Vec::new(), Vec::new());
            groups.insert(key, Vec::new());
        }
        let single = groups.len() == 1;
        let mut classes: Vec<Class> = groups
            .into_iter()
            .filter(|((maps, policies, cluster, _, home), _)| {
                !maps.is_empty()
                    || (!policies.is_empty() && !cluster.is_empty())
                    || !home.is_empty()
                    || !program.firewall.is_empty()
            })
            .map(|((maps, policies, cluster, schemas, home), users)| Class {
                everyone: single
                    && !by_policy
                    && cluster.is_empty()
                    && maps.iter().all(|&map| everyone(&program.maps[map])),
                users,
                maps,
                policies,
                cluster,
                schemas,
                home,
            })
            .collect();
        classes.sort_by(|a, b| a.users.cmp(&b.users));
        classes
    }

    fn class_of(&self, user: &User, maps: &[usize], usable: &[usize]) -> Key {
        let program = self.program;
        let cluster = program
            .clusters
            .iter()
            .find(|cluster| cluster.owns(user.default_hostgroup));
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
            self.plans[map]
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
        (
            maps,
            policies,
            if reads {
                cluster_name.to_owned()
            } else {
                String::new()
            },
            schemas,
            self.home_effects(&user.name, cluster_name),
        )
    }

    /// The effects on statements of a user that nothing places.
    fn home_effects(&self, user: &str, cluster: &str) -> Vec<Use> {
        let used = self.effects_of(cluster);
        let is_meant = |one: &Use| self.program.effects[one.effect].scope.users.contains(user);
        // All of them or none, so that users do not get chains of their own for each effect.
        if used.iter().any(is_meant) {
            used
        } else {
            Vec::new()
        }
    }

    /// Where the statements of a class go on behind the first chain.
    fn class_target(&mut self, class: &Class) -> Target {
        let unplaced = self.unplaced(class);
        let mut chains: Vec<Target> = vec![unplaced; class.maps.len() + 1];
        for at in (0..class.maps.len()).rev() {
            let map = class.maps[at];
            let program = self.program;
            let leaf = self.behind(class, at, unplaced);
            // A cluster for missing or unknown keys places as a shard does: the maps that compose are asked all the same.
            let placed = if sends_elsewhere(&program.maps[map].step) {
                self.behind(class, at, Target::Stop)
            } else {
                Target::Stop
            };
            self.placed = placed;
            chains[at] = Target::Jump(self.map_chain(map, class, chains[at + 1], leaf));
        }
        chains[0]
    }

    /// What a placed statement meets: a later map that places what this one does not.
    fn behind(&mut self, class: &Class, at: usize, unplaced: Target) -> Target {
        let program = self.program;
        let (cluster, schema) = places(&program.maps[class.maps[at]].step);
        let composing = class.maps[at + 1..].iter().copied().find(|&other| {
            let (other_cluster, other_schema) = places(&program.maps[other].step);
            !(cluster && other_cluster || schema && other_schema)
        });
        let rest = if cluster { Target::Stop } else { unplaced };
        self.placed = Target::Stop;
        match composing {
            Some(other) => Target::Jump(self.map_chain(other, class, rest, Target::Stop)),
            None => rest,
        }
    }

    /// Where statements go that no map has placed: reads of a covered cluster to its readers.
    fn unplaced(&mut self, class: &Class) -> Target {
        let mut target = self.through(class.home.clone(), self.end);
        if class.cluster.is_empty() {
            return target;
        }
        let program = self.program;
        let covering: Vec<usize> = class
            .policies
            .iter()
            .copied()
            .filter(|&policy| program.roles[policy].scope.clusters.contains(&class.cluster))
            .collect();
        // A read that the first policy leaves on the writer is asked about by the next one.
        for policy in covering.into_iter().rev() {
            let address = &program.roles[policy].address;
            let readers = self.draft.chain(&format!("{address}.{}", class.cluster));
            let (_, reader) = self.hostgroups(&class.cluster);
            let rule = EngineRule {
                destination_hostgroup: reader.map(|reader| reader.0),
                ..EngineRule::default()
            };
            let placed = self.with_effects(&class.cluster, Target::Stop);
            self.go(readers, "reader", address, rule, placed);
            let name = format!("{address}.{}.role", class.cluster);
            target = Target::Jump(self.role_chain(&name, policy, Target::Jump(readers), target));
        }
        target
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

/// Whether a map places by cluster, and by schema.
fn places(step: &MapStep) -> (bool, bool) {
    let cluster = step.shards.iter().any(|shard| shard.cluster.is_some());
    let schema = step.logical_schema.is_some() && step.shards.iter().any(|shard| shard.schema.is_some());
    (cluster, schema)
}
