//! Maps whose key stands in the name of the user: users are known, so each has its place before it says anything.

use std::collections::HashMap;

use shardwright_rules::refusal::{self, Refusal};
use shardwright_rules::{Conflict, EngineRule, Finder, KeyTemplate, KeyValue, MapStep, UnknownKey};

use super::classes::Class;
use super::refusals::Refused;
use super::tree::shard_name;
use super::{Lowering, Target, text_rule};
use crate::draft::ChainRef;
use crate::keys::integer;
use crate::keys::site::KeySite;

/// Where a user's key leads.
#[derive(Clone, Copy)]
enum Home {
    /// To the shard at this place.
    Shard(usize),
    /// No shard has it.
    Unknown,
}

/// A user with a key in its name.
struct Keyed<'c> {
    user: &'c str,
    key: KeyValue,
    home: Home,
}

/// Users of a class whose names have the form.
fn keyed<'c>(step: &MapStep, template: &KeyTemplate, class: &'c Class) -> Vec<Keyed<'c>> {
    let mut singles: HashMap<&KeyValue, usize> = HashMap::new();
    let mut ranges: Vec<(i64, i64, usize)> = Vec::new();
    for (at, shard) in step.shards.iter().enumerate() {
        singles.extend(shard.keys.iter().map(|key| (key, at)));
        ranges.extend(shard.ranges.iter().map(|&(first, last)| (first, last, at)));
    }
    ranges.sort_unstable();
    let in_ranges = |key: &KeyValue| {
        let KeyValue::Integer(n) = key else { return None };
        let behind = ranges.partition_point(|(first, ..)| first <= n);
        let (_, last, at) = ranges.get(behind.checked_sub(1)?)?;
        (n <= last).then_some(*at)
    };
    let shard_of = |key: &KeyValue| singles.get(key).copied().or_else(|| in_ranges(key));
    let of = |user: &'c String| {
        let key = KeyValue::parse(step.kind, template.extract(step.kind, user)?)?;
        let home = shard_of(&key).map_or(Home::Unknown, Home::Shard);
        Some(Keyed { user, key, home })
    };
    class.users.iter().filter_map(of).collect()
}

/// Rules for the users of a class whose names have a key.
pub(super) fn keyed_users(step: &MapStep, template: &KeyTemplate, class: &Class) -> Vec<EngineRule> {
    keyed(step, template, class).iter().map(of_user).collect()
}

impl Lowering<'_, '_> {
    /// The chain of a map whose only finder is the user; `next` takes the users without a key.
    pub(super) fn user_chain(
        &mut self,
        map: usize,
        template: &KeyTemplate,
        class: &Class,
        next: Target,
        leaf: Target,
    ) -> ChainRef {
        let section = &self.program.maps[map];
        let chain = self.draft.chain(&format!("{}.users", section.address));
        let names = keyed_users(&section.step, template, class);
        self.other_maps_keys_beside_names(chain, section, (class, &names), next);
        for user in keyed(&section.step, template, class) {
            self.user_rule(chain, map, &user, class, leaf);
        }
        self.missing(chain, section, next);
        chain
    }

    /// A chain for users with a key in their names, in front of the one that looks for keys in comments.
    pub(super) fn users_with_comments(
        &mut self,
        map: usize,
        (template, site): (&KeyTemplate, &KeySite),
        class: &Class,
        leaf: Target,
        others: ChainRef,
    ) -> ChainRef {
        let section = &self.program.maps[map];
        let first_decides = section.step.conflict == Conflict::First;
        let chain = self.draft.chain(&format!("{}.users", section.address));
        let names = keyed_users(&section.step, template, class);
        self.other_maps_keys_beside_names(chain, section, (class, &names), Target::Jump(others));
        for user in keyed(&section.step, template, class) {
            if first_decides {
                self.user_rule(chain, map, &user, class, leaf);
                continue;
            }
            let agreed = self.agreed(map, site, &user, class, leaf);
            let rule = of_user(&user);
            self.go(chain, user.user, &section.address, rule, Target::Jump(agreed));
        }
        self.go(
            chain,
            "rest",
            &section.address,
            EngineRule::default(),
            Target::Jump(others),
        );
        chain
    }

    /// A chain for one user: a key in a comment must be the user's own.
    fn agreed(
        &mut self,
        map: usize,
        site: &KeySite,
        user: &Keyed<'_>,
        class: &Class,
        leaf: Target,
    ) -> ChainRef {
        let section = &self.program.maps[map];
        let (step, address) = (&*section.step, &section.address);
        let chain = self.draft.chain(&format!("{address}.users.{}", user.user));
        let found = self.draft.chain(&format!("{address}.users.{}.found", user.user));
        let rule = text_rule(site.accepts.clone());
        self.go(chain, "found", address, rule, Target::Jump(found));
        self.doubtful(chain, section, site);
        self.user_rule(chain, map, user, class, leaf);

        let several = Refused::plainly(section, Refusal::ConflictingKeys);
        let rule = text_rule(site.repeats.clone());
        self.refuse(found, "repeated", address, rule, &several);
        let own = match &user.key {
            KeyValue::Integer(n) => site.number(&integer::pattern(&[(*n, *n)], site.writing)),
            KeyValue::Text(text) => site.texts(&[text]),
        };
        let message = refusal::conflicting_keys(&step.map, &step.key, &[&user.key.to_string()]);
        let others = Refused::by(section, Refusal::ConflictingKeys, message);
        let readable = match &user.key {
            KeyValue::Integer(_) => true,
            KeyValue::Text(text) => site.can_hold(text),
        };
        if readable {
            let back = self.draft.chain(&format!("{address}.users.{}.own", user.user));
            self.user_rule(back, map, user, class, leaf);
            self.go(found, "own", address, text_rule(own), Target::Jump(back));
        }
        self.refuse(found, "other", address, EngineRule::default(), &others);
        chain
    }

    /// The rule that places a user, or refuses it.
    fn user_rule(&mut self, chain: ChainRef, map: usize, user: &Keyed<'_>, class: &Class, leaf: Target) {
        let section = &self.program.maps[map];
        let (step, rule) = (&*section.step, of_user(user));
        match (user.home, &step.unknown) {
            (Home::Shard(at), _) => {
                let policies = self.policies_of(section, &class.policies);
                let shard = &step.shards[at];
                let leaf = self.behind_shard(shard, leaf);
                let place = |lowering: &Self, readers: &[usize], rule: EngineRule| EngineRule {
                    destination_hostgroup: lowering.destination(readers, shard).map(|hostgroup| hostgroup.0),
                    ..rule
                };
                let Some(&policy) = policies.first() else {
                    let rule = place(self, &[], rule);
                    return self.go(chain, user.user, &shard.address, rule, leaf);
                };
                let name = format!("{}.{}", self.draft.get(chain).name, user.user);
                let readers = self.draft.chain(&format!("{name}.readers"));
                let writers = self.draft.chain(&format!("{name}.writers"));
                for (end, policies) in [(readers, &policies[..]), (writers, &[])] {
                    let rule = place(self, policies, EngineRule::default());
                    self.go(end, "shard", &shard.address, rule, leaf);
                }
                let role = format!("{name}.role");
                let role = self.role_chain(&role, policy, Target::Jump(readers), Target::Jump(writers));
                self.go(chain, user.user, &section.address, rule, Target::Jump(role));
            }
            (Home::Unknown, UnknownKey::Cluster(cluster)) => {
                let rule = EngineRule {
                    destination_hostgroup: Some(self.hostgroups(cluster).0.0),
                    ..rule
                };
                let target = self.with_effects(cluster, self.placed);
                self.go(chain, user.user, &section.address, rule, target);
            }
            (Home::Unknown, UnknownKey::Reject) => {
                let shards: Vec<&str> = step.shards.iter().map(shard_name).collect();
                let key = user.key.to_string();
                let message = refusal::unknown_key(&step.map, &step.key, Some(&key), &shards);
                let refused = Refused::by(section, Refusal::UnknownKey, message);
                self.refuse(chain, user.user, &section.address, rule, &refused);
            }
        }
    }

    /// Whether the finder of comments stands before that of users.
    pub(super) fn comment_is_first(step: &MapStep) -> bool {
        let place = |wanted: fn(&Finder) -> bool| step.finders.iter().position(wanted);
        place(|finder| matches!(finder, Finder::Comment { .. }))
            < place(|finder| matches!(finder, Finder::User { .. }))
    }
}

fn of_user(user: &Keyed<'_>) -> EngineRule {
    EngineRule {
        username: Some(user.user.to_owned()),
        ..EngineRule::default()
    }
}
