//! The sections that statements meet. Users whose statements meet the same maps share the rules of those maps; where they part
//! again, behind the maps or where reads leave the writer, they are told apart by name.

use std::collections::BTreeMap;

use shardwright_rules::{Address, EngineRule, MapStep, User};

use crate::draft::{Draft, DraftRule, user_rule};
use crate::engine_rules::{
    Class, EffectUse, Exits, Input, Lowering, Recognised, RoleGroup, RoleTargets, RouteEnds, Routed, Target,
    reads_alike, usable_policies,
};
use crate::program::Section;
use crate::summary;

/// Users whose statements go alike where no map places them, and who follow the same policies.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Home {
    /// They only read.
    reads_only: bool,
    /// Indexes of maps, in order.
    maps: Vec<usize>,
    /// Indexes of policies, in order.
    policies: Vec<usize>,
    /// Name of the users' cluster; empty where it does not matter.
    cluster: String,
    /// Effects on statements that stay on the users' cluster.
    effects: Vec<EffectUse>,
}

/// Users who share the rules of their maps.
struct Audience {
    class: Class,
    /// By users, the most last.
    homes: Vec<(Vec<String>, Home)>,
}

impl Audience {
    /// Whether its users only read. Those who do share no rules with others.
    fn reads_only(&self) -> bool {
        self.homes.iter().any(|(_, home)| home.reads_only)
    }
}

/// What the sections of the first chain became.
pub(super) struct Sections {
    /// For each map, the user that its figures are for.
    pub(super) reference_users: BTreeMap<String, String>,
    /// Rules for statements that need no guards in front of their map.
    pub(super) unguarded: Vec<DraftRule>,
    /// Where routes end in the first chain.
    pub(super) route_ends: RouteEnds,
    /// Whether statements that nothing has placed leave the first chain.
    pub(super) hands_on: bool,
}

/// Which of its axes a map decides.
#[derive(Clone, Copy)]
struct Axes {
    cluster: bool,
    schema: bool,
}

impl Lowering<'_, '_> {
    /// The rules of the first chain that hand each user's statements to the sections. `always_ends`: those that meet no section
    /// go on to `end` too, even where no others do.
    pub(super) fn sections(&mut self, end: Target, always_ends: bool) -> Sections {
        let program = self.input.program;
        let usable = usable_policies(program, self.report);
        let audiences = audiences(self.input, &usable);
        let mut reference_users = BTreeMap::new();
        let mut unguarded = Vec::new();
        let Routed {
            rest: start,
            ends: route_ends,
        } = self.routes_in_front(&audiences);
        let mut hands_on = start != Draft::START;
        for audience in &audiences {
            let class = &audience.class;
            let user = class.users.first().cloned().unwrap_or_default();
            for &map in &class.maps {
                let name = program.maps[map].step.map.clone();
                reference_users.entry(name).or_insert_with(|| user.clone());
            }
            if audience.reads_only() {
                if program.statement_routes.is_empty() {
                    self.section_of_readers(audience);
                }
                continue;
            }
            let target = self.audience_target(audience, end);
            if target == end {
                continue;
            }
            hands_on = true;
            unguarded.extend(self.unguarded(class, target));
            let address = first_address(self.input, audience);
            if class.everyone {
                self.chains
                    .go(start, "everyone", &address, EngineRule::default(), target);
            } else {
                for user in &class.users {
                    self.chains.go(start, user, &address, user_rule(user), target);
                }
            }
        }
        let is_for_everyone = audiences.iter().any(|audience| audience.class.everyone);
        if matches!(end, Target::Jump(_)) && !is_for_everyone && (hands_on || always_ends) {
            let address = Address::new("query_rules");
            self.chains
                .go(start, "rest", &address, EngineRule::default(), end);
        }
        Sections {
            reference_users,
            unguarded,
            route_ends,
            hands_on,
        }
    }

    /// The routes of the first chain. Users who only read come before them: what they may not send is refused first, and
    /// readers take what a route says of the rest.
    fn routes_in_front(&mut self, audiences: &[Audience]) -> Routed {
        let has_routes = !self.input.program.statement_routes.is_empty();
        for audience in audiences
            .iter()
            .filter(|audience| has_routes && audience.reads_only())
        {
            self.section_of_readers(audience);
        }
        self.statement_routes(Draft::START, Target::Stop)
    }

    /// The rules of the first chain for users who only read. Raw rules at the end are not for them: these may lead to writers.
    fn section_of_readers(&mut self, audience: &Audience) {
        let target = self.for_readers(|lowering| {
            let target = lowering.audience_target(audience, Target::Stop);
            let target = lowering.behind_routes(target);
            lowering.reads_only(target)
        });
        for user in &audience.class.users {
            if let Some(&origin) = self.input.program.readers.get(user) {
                let what = "a SELECT that calls a stored function counts as a read: a pattern cannot tell that it writes";
                self.report.difference(origin, "role", what);
            }
            let of_user = self.input.program.users.iter().find(|known| known.name == *user);
            let address = of_user.map_or_else(|| Address::new("users"), |known| known.address.clone());
            self.chains
                .go(Draft::START, user, &address, user_rule(user), target);
        }
    }

    /// The rules for statements that need no guards; they may stand in front of these.
    fn unguarded(&self, class: &Class, target: Target) -> Vec<DraftRule> {
        let Some(usual) = self.usual(target) else {
            return Vec::new();
        };
        let rules = |username: Option<&String>| {
            let reads = usual.reads.as_ref();
            let reads = reads.filter(|reads| username.is_none_or(|user| reads.users.contains(user)));
            // No statement is of two kinds; the one that is told at its first byte comes first.
            let kinds = [
                ("bare", usual.bare.as_ref()),
                ("usual_reads", reads.map(|reads| &reads.reads)),
                ("usual", Some(&usual.keyed)),
            ];
            let rule = |(kind, recognised): (&str, Option<&Recognised>)| {
                let Recognised { rule, found } = recognised?;
                let user = username.map_or("everyone", String::as_str);
                let name = format!("{}.{kind}/{user}", usual.address);
                let rule = EngineRule {
                    username: username.cloned(),
                    ..rule.clone()
                };
                let about = summary::called(kind);
                Some(DraftRule::jumping(name, &usual.address, rule, *found).about(about))
            };
            kinds.into_iter().filter_map(rule).collect::<Vec<_>>()
        };
        match class.everyone {
            true => rules(None),
            false => class.users.iter().flat_map(|user| rules(Some(user))).collect(),
        }
    }

    /// Where the statements of an audience go on behind the first chain.
    fn audience_target(&mut self, audience: &Audience, end: Target) -> Target {
        let class = &audience.class;
        let unplaced = self.unplaced_of(audience, end);
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

    /// Where statements go that no map has placed: by the users' homes.
    fn unplaced_of(&mut self, audience: &Audience, end: Target) -> Target {
        let ends: Vec<Target> = audience
            .homes
            .iter()
            .map(|(_, home)| self.unplaced(home, end))
            .collect();
        let groups: Vec<RoleGroup> = audience
            .homes
            .iter()
            .map(|(users, home)| RoleGroup {
                users: users.clone(),
                policies: home.policies.clone(),
            })
            .collect();
        let address = first_address(self.input, audience);
        self.by_group(&format!("{address}.unplaced"), &address, &groups, &ends)
    }

    /// Where statements of users of one home go: reads of a covered cluster to its readers.
    fn unplaced(&mut self, home: &Home, end: Target) -> Target {
        let target = self.through(home.effects.clone(), end);
        if home.cluster.is_empty() {
            return target;
        }
        let program = self.input.program;
        let covers = |policy: &usize| program.roles[*policy].scope.clusters.contains(&home.cluster);
        let covering: Vec<usize> = home.policies.iter().copied().filter(covers).collect();
        let reader = program.resolved_cluster(&home.cluster).reader;
        let targets = RoleTargets {
            reader: self.with_effects(&home.cluster, Target::Stop),
            hostgroup: reader.map(|reader| reader.0),
            writer: target,
            writer_is_set: false,
        };
        self.in_turn(&format!("clusters.{}.reads", home.cluster), &covering, targets)
    }
}

/// The first section that the statements of an audience meet.
fn first_address(input: Input<'_>, audience: &Audience) -> Address {
    let program = input.program;
    let map = audience.class.maps.first().map(|&map| &program.maps[map].address);
    let (_, home) = audience.homes.last().expect("an audience has users");
    let policy = home
        .policies
        .first()
        .filter(|_| !home.cluster.is_empty())
        .map(|&policy| &program.roles[policy].address);
    let effect = home
        .effects
        .first()
        .map(|one| &program.effects[one.effect].address);
    map.or(policy)
        .or(effect)
        .cloned()
        .unwrap_or_else(|| Address::new("firewall"))
}

/// The audiences by name of their first users; `usable` has the policies that rules can follow.
fn audiences(input: Input<'_>, usable: &[usize]) -> Vec<Audience> {
    let program = input.program;
    let everyone = |map: &Section<Box<MapStep>>| map.scope.users.is_any() && map.scope.clusters.is_any();
    let readable = |map: usize| input.plan(map).reading.is_some();
    let all: Vec<usize> = (0..program.maps.len()).filter(|&map| readable(map)).collect();
    let by_policy = usable
        .iter()
        .any(|&policy| !program.roles[policy].scope.users.is_any());
    let mut homes: BTreeMap<Home, Vec<String>> = BTreeMap::new();
    for user in &program.users {
        homes
            .entry(home_of(input, user, &all, usable))
            .or_default()
            .push(user.name.clone());
    }
    let unscoped: Vec<usize> = all
        .iter()
        .copied()
        .filter(|&map| everyone(&program.maps[map]))
        .collect();
    if program.users.is_empty() && !unscoped.is_empty() {
        let home = Home {
            reads_only: false,
            maps: unscoped,
            policies: usable.to_vec(),
            cluster: String::new(),
            effects: Vec::new(),
        };
        homes.insert(home, Vec::new());
    }
    let single = homes.len() == 1;
    let mut homes: Vec<(Vec<String>, Home)> = homes
        .into_iter()
        .filter(|(home, _)| {
            home.reads_only
                || !home.maps.is_empty()
                || (!home.policies.is_empty() && !home.cluster.is_empty())
                || !home.effects.is_empty()
        })
        .map(|(home, users)| (users, home))
        .collect();
    // The most users first: those who come later are told apart by name.
    homes.sort_by(|(a, _), (b, _)| b.len().cmp(&a.len()).then_with(|| a.cmp(b)));
    let mut joined: Vec<Vec<(Vec<String>, Home)>> = Vec::new();
    for one in homes {
        match joined.iter_mut().find(|homes| joins(input, homes, &one)) {
            Some(homes) => homes.push(one),
            None => joined.push(vec![one]),
        }
    }
    let audience = |mut homes: Vec<(Vec<String>, Home)>| {
        homes.reverse();
        let everyone = single
            && !by_policy
            && homes.iter().all(|(_, home)| {
                !home.reads_only
                    && home.cluster.is_empty()
                    && home.maps.iter().all(|&map| everyone(&program.maps[map]))
            });
        let mut users: Vec<String> = homes.iter().flat_map(|(users, _)| users.clone()).collect();
        users.sort();
        let class = Class {
            users,
            everyone,
            maps: homes
                .last()
                .map(|(_, home)| home.maps.clone())
                .unwrap_or_default(),
            groups: groups(&homes),
        };
        Audience { class, homes }
    };
    let mut audiences: Vec<Audience> = joined.into_iter().map(audience).collect();
    audiences.sort_by(|a, b| (a.reads_only(), &a.class.users).cmp(&(b.reads_only(), &b.class.users)));
    audiences
}

/// Homes by the policies that their users follow; the group of the last home is the last.
fn groups(homes: &[(Vec<String>, Home)]) -> Vec<RoleGroup> {
    let mut groups: Vec<RoleGroup> = Vec::new();
    for (users, home) in homes.iter().rev() {
        match groups.iter_mut().find(|group| group.policies == home.policies) {
            Some(group) => group.users.extend_from_slice(users),
            None => groups.push(RoleGroup {
                users: users.clone(),
                policies: home.policies.clone(),
            }),
        }
    }
    for group in &mut groups {
        group.users.sort();
    }
    groups.reverse();
    groups
}

/// Whether users share the rules of their maps with others: a rule for each of them, at each cluster where they are told apart,
/// is less than a copy of those rules.
fn joins(input: Input<'_>, homes: &[(Vec<String>, Home)], (users, home): &(Vec<String>, Home)) -> bool {
    let (_, first) = &homes[0];
    if first.maps != home.maps || home.maps.is_empty() || first.reads_only != home.reads_only {
        return false;
    }
    let mut all: Vec<(Vec<String>, Home)> = homes.to_vec();
    all.push((users.clone(), home.clone()));
    let groups = groups(&all);
    let alike = |&map: &usize| reads_alike(input.program, input.map(map), &groups);
    let named: usize = all[1..].iter().map(|(users, _)| users.len()).sum();
    let clusters = match groups.len() {
        1 => 0,
        _ => home
            .maps
            .iter()
            .map(|&map| input.clusters_of(map).len())
            .max()
            .unwrap_or(0),
    };
    let rows: usize = home.maps.iter().map(|&map| input.rows_of(map)).sum();
    home.maps.iter().all(alike) && named * (1 + clusters) <= rows
}

fn home_of(input: Input<'_>, user: &User, maps: &[usize], usable: &[usize]) -> Home {
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
    let reads_only = program.readers.contains_key(&user.name);
    let follows = |&policy: &usize| !reads_only && program.roles[policy].scope.users.contains(&user.name);
    let policies: Vec<usize> = usable.iter().copied().filter(follows).collect();
    let reads = cluster.is_some_and(|cluster| cluster.reader.is_some())
        && policies
            .iter()
            .any(|&policy| program.roles[policy].scope.clusters.contains(cluster_name));
    Home {
        reads_only,
        maps,
        policies,
        cluster: if reads {
            cluster_name.to_owned()
        } else {
            String::new()
        },
        effects: home_effects(input, &user.name, cluster_name),
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
    step.clusters_elsewhere().next().is_some()
}

fn axes(step: &MapStep) -> Axes {
    Axes {
        cluster: step.shards.iter().any(|shard| shard.cluster.is_some()),
        schema: step.logical_schema.is_some() && step.shards.iter().any(|shard| shard.schema.is_some()),
    }
}
