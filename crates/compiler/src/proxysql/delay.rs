//! Fixed delays: a rule in front that sets the delay and lets the statement go on.

use shardwright_rules::{EngineRule, Names};
use shardwright_topology::model::OnUnsupported;

use super::{Lowering, conditions};
use crate::draft::{Draft, DraftRule};

impl Lowering<'_, '_> {
    /// Every delay, the shortest first: of several rules that match, the last one decides.
    pub(super) fn delays(&mut self) {
        let program = self.program;
        let mut order: Vec<usize> = (0..program.delays.len()).collect();
        order.sort_by_key(|&at| program.delays[at].step.delay_ms);
        for at in order {
            self.delay(at);
        }
    }

    fn delay(&mut self, at: usize) {
        let program = self.program;
        let section = &program.delays[at];
        let users: Vec<&str> = program
            .users
            .iter()
            .map(|user| user.name.as_str())
            .filter(|user| section.scope.users.contains(user))
            .collect();
        let reachable = users.iter().flat_map(|user| self.reachable(user));
        if !conditions::covers(&section.scope.clusters, reachable) {
            self.cannot(
                at,
                "applies_to.clusters",
                "delay statements of some of the clusters that they can go to",
            );
            return;
        }
        let alternatives = match conditions::alternatives(&section.scope) {
            Ok(alternatives) => alternatives,
            Err(what) => return self.cannot(at, "applies_to", what),
        };
        let usernames: Vec<Option<String>> = if section.scope.users == Names::default() {
            vec![None]
        } else {
            users.iter().map(|user| Some((*user).to_owned())).collect()
        };
        for (nth, (username, rule)) in usernames
            .iter()
            .flat_map(|user| alternatives.iter().map(move |rule| (user, rule)))
            .enumerate()
        {
            let rule = EngineRule {
                username: username.clone(),
                delay_ms: Some(section.step.delay_ms),
                ..rule.clone()
            };
            let name = format!("{}/{nth}", section.address);
            self.draft
                .push(Draft::START, DraftRule::engine(name, &section.address, rule));
        }
    }

    fn cannot(&mut self, at: usize, field: &str, what: &str) {
        let program = self.program;
        let section = &program.delays[at];
        let lost = "they are not delayed";
        let choice = match section.on_unsupported {
            OnUnsupported::Error => OnUnsupported::Error,
            OnUnsupported::Approximate | OnUnsupported::Skip => OnUnsupported::Skip,
        };
        self.report
            .on_unsupported(choice, section.origin, field, what, lost);
    }

    /// Every cluster that statements of a user can go to.
    fn reachable(&self, user: &str) -> Vec<String> {
        let program = self.program;
        let mut clusters: Vec<String> = program
            .users
            .iter()
            .filter(|account| account.name == user)
            .filter_map(|account| {
                program
                    .clusters
                    .iter()
                    .find(|cluster| cluster.writer == account.default_hostgroup)
            })
            .map(|cluster| cluster.name.to_string())
            .collect();
        for map in program.maps.iter().filter(|map| map.scope.users.contains(user)) {
            clusters.extend(
                map.step
                    .shards
                    .iter()
                    .filter_map(|shard| shard.cluster.as_deref().map(str::to_owned)),
            );
        }
        clusters.sort_unstable();
        clusters.dedup();
        clusters
    }
}
