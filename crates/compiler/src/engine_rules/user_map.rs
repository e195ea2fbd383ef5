//! Maps whose key stands in the name of the user: users are known, so each has its place before it says anything.

use shardwright_rules::refusal::{self, Refusal};
use shardwright_rules::{Conflict, EngineRule, KeyTemplate, UnknownKey};

use super::Lowering;
use super::chains::Target;
use super::keyed_users::{KeyedUser, keyed_users, rules_for_keyed_users};
use super::maps::MapUse;
use super::refusals::Refused;
use super::role::{RoleTargets, policies_of};
use super::tree::shard_name;
use crate::draft::{ChainRef, text_rule, user_rule};
use crate::key_patterns::KeyPatterns;
use crate::summary;

impl Lowering<'_, '_> {
    /// The chain of a map whose only finder is the user.
    pub(super) fn user_chain(&mut self, of: MapUse<'_>, template: &KeyTemplate) -> ChainRef {
        let section = of.section;
        let chain = self.chains.draft.chain(&format!("{}.users", section.address));
        let names = rules_for_keyed_users(&section.step, template, of.class);
        self.refuse_sessions_with_keys_of_later_maps(chain, of, &names, of.exits.unkeyed);
        for user in keyed_users(&section.step, template, of.class) {
            self.user_rule(chain, of, &user);
        }
        self.missing(chain, of);
        chain
    }

    /// A chain for users with a key in their names, in front of the one that looks for keys in comments.
    pub(super) fn users_with_comments(
        &mut self,
        of: MapUse<'_>,
        template: &KeyTemplate,
        comment: &KeyPatterns,
        others: ChainRef,
    ) -> ChainRef {
        let section = of.section;
        let first_decides = section.step.conflict == Conflict::First;
        let chain = self.chains.draft.chain(&format!("{}.users", section.address));
        let names = rules_for_keyed_users(&section.step, template, of.class);
        self.refuse_sessions_with_keys_of_later_maps(chain, of, &names, Target::Jump(others));
        for user in keyed_users(&section.step, template, of.class) {
            if first_decides {
                self.user_rule(chain, of, &user);
                continue;
            }
            let agreed = self.agreed(of, comment, &user);
            let rule = user_rule(user.user);
            self.chains
                .go(chain, user.user, &section.address, rule, Target::Jump(agreed));
        }
        self.chains.go(
            chain,
            "rest",
            &section.address,
            EngineRule::default(),
            Target::Jump(others),
        );
        chain
    }

    /// A chain for one user: a key in a comment must be the user's own.
    fn agreed(&mut self, of: MapUse<'_>, comment: &KeyPatterns, user: &KeyedUser<'_>) -> ChainRef {
        let section = of.section;
        let (step, address) = (&*section.step, &section.address);
        let chain = self.chains.draft.chain(&format!("{address}.users.{}", user.user));
        let found = self
            .chains
            .draft
            .chain(&format!("{address}.users.{}.found", user.user));
        let rule = text_rule(comment.accepts.clone());
        self.chains.go(chain, "found", address, rule, Target::Jump(found));
        self.chains.doubtful(chain, section, comment);
        self.user_rule(chain, of, user);

        let several = Refused::plainly(section, Refusal::ConflictingKeys);
        let rule = text_rule(comment.repeats.clone());
        self.chains.refuse(found, "repeated", address, rule, &several);
        let message = refusal::conflicting_keys(&step.map, &step.key, &[&user.key.to_string()]);
        let others = Refused::by(section, Refusal::ConflictingKeys, message);
        if let Some(own) = comment.one(&user.key) {
            let own = comment.pattern(own);
            let back = self
                .chains
                .draft
                .chain(&format!("{address}.users.{}.own", user.user));
            self.user_rule(back, of, user);
            self.chains
                .go(found, "own", address, text_rule(own), Target::Jump(back));
        }
        self.chains
            .refuse(found, "other", address, EngineRule::default(), &others);
        chain
    }

    /// The rule that places a user, or refuses it.
    fn user_rule(&mut self, chain: ChainRef, of: MapUse<'_>, user: &KeyedUser<'_>) {
        let section = of.section;
        let (step, rule) = (&*section.step, user_rule(user.user));
        match (user.shard, &step.unknown) {
            (Some(at), _) => {
                let policies = of.class.policies(user.user);
                let policies = policies_of(self.input.program, section, policies, self.report);
                let shard = &step.shards[at];
                let about = summary::key(&step.key, &user.key);
                if let Some(refused) = self.refused_shard(section, shard, of.exits.end) {
                    let address = &shard.address;
                    return self
                        .chains
                        .go_about(chain, user.user, address, rule, refused, Some(about));
                }
                let leaf = self.behind_shard(shard, of.exits.placed);
                let input = self.input;
                let placing = |readers: &[usize], rule: EngineRule| EngineRule {
                    destination_hostgroup: input.destination(readers, shard).map(|hostgroup| hostgroup.0),
                    ..rule
                };
                let Some(&policy) = policies.first() else {
                    let rule = placing(&[], rule);
                    return self
                        .chains
                        .go_about(chain, user.user, &shard.address, rule, leaf, Some(about));
                };
                let name = format!("{}.{}", self.chains.draft.get(chain).name, user.user);
                let readers = self.chains.draft.chain(&format!("{name}.readers"));
                let writers = self.chains.draft.chain(&format!("{name}.writers"));
                for (end, policies) in [(readers, &policies[..]), (writers, &[])] {
                    let rule = placing(policies, EngineRule::default());
                    let about = Some(about.as_str());
                    self.chains
                        .go_about(end, "shard", &shard.address, rule, leaf, about);
                }
                let role = format!("{name}.role");
                let targets = RoleTargets::chains(readers, writers);
                let role = self.in_turn(&role, &[policy], targets);
                self.chains
                    .go_about(chain, user.user, &section.address, rule, role, Some(about));
            }
            (None, UnknownKey::Cluster(cluster)) => {
                let rule = EngineRule {
                    destination_hostgroup: Some(self.input.program.resolved_cluster(cluster).writer.0),
                    ..rule
                };
                let target = self.with_effects(cluster, of.exits.elsewhere);
                self.chains.go(chain, user.user, &section.address, rule, target);
            }
            (None, UnknownKey::Reject) => {
                let shards: Vec<&str> = step.shards.iter().map(shard_name).collect();
                let key = user.key.to_string();
                let message = refusal::unknown_key(&step.map, &step.key, Some(&key), &shards);
                let refused = Refused::by(section, Refusal::UnknownKey, message);
                self.chains
                    .refuse(chain, user.user, &section.address, rule, &refused);
            }
        }
    }
}
