//! Routes, in front of everything that places statements.
//!
//! A route is rules on every engine: one for each alternative of its match, in a row with those of the other routes, so that the
//! first that matches counts. What a route sends to a cluster goes on through the effects on that cluster; what it refuses ends
//! in the chain of its text.

use shardwright_rules::{EngineRule, HostgroupId, Role, Scope};

use super::chains::{Branch, Target};
use super::refusals::Refused;
use super::{Dialect, Lowering};
use crate::conditions::Conditions;
use crate::diagnostics::UNSUPPORTED;
use crate::draft::ChainRef;
use crate::program::statement_route::{StatementEnd, of_users};
use crate::program::{Program, Section};

/// What routes became.
pub(crate) struct Routed {
    /// The chain in which all other statements go on.
    pub(crate) rest: ChainRef,
    /// Where each route ends.
    pub(crate) ends: RouteEnds,
}

/// How many rules the first chain of the routes has up to the end of each; none from the first on that goes on in another.
#[derive(Debug, Default)]
pub(crate) struct RouteEnds(Vec<Option<usize>>);

impl RouteEnds {
    /// Where a route ends, by its place among all.
    pub(crate) fn behind(&self, route: usize) -> Option<usize> {
        self.0.get(route).copied().flatten()
    }
}

impl Lowering<'_, '_> {
    /// The routes in front of a target; the target where there are none.
    pub(crate) fn behind_routes(&mut self, target: Target) -> Target {
        if self.input.program.statement_routes.is_empty() {
            return target;
        }
        let first = self.chains.draft.chain("routes");
        let Routed { rest, .. } = self.statement_routes(first, Target::Stop);
        let address = self.input.program.statement_routes[0].address.clone();
        self.chains
            .go(rest, "rest", &address, EngineRule::default(), target);
        Target::Jump(first)
    }

    /// Adds the rules of all routes to a chain. `then`: where routed statements go on, behind the effects on their cluster.
    pub(crate) fn statement_routes(&mut self, chain: ChainRef, then: Target) -> Routed {
        let program = self.input.program;
        let mut rest = chain;
        let mut ends = RouteEnds::default();
        for section in &program.statement_routes {
            rest = self.statement_route(rest, section, then);
            let rules = self.chains.draft.get(rest).rules.len();
            ends.0.push((rest == chain).then_some(rules));
        }
        Routed { rest, ends }
    }

    fn statement_route(
        &mut self,
        chain: ChainRef,
        section: &Section<StatementEnd>,
        then: Target,
    ) -> ChainRef {
        let Some(conditions) = self.conditions_of(section) else {
            return chain;
        };
        let address = &section.address;
        if conditions.is_simple() {
            for (at, rule) in conditions.alternatives().into_iter().enumerate() {
                self.end(chain, &format!("{address}/{at}"), section, rule, then);
            }
            return chain;
        }
        let taken = self.chains.draft.chain(&format!("{address}.taken"));
        self.end(taken, "taken", section, EngineRule::default(), then);
        let branch = Branch {
            name: address.as_str(),
            address,
            conditions: &conditions,
            yes: Target::Jump(taken),
        };
        self.chains.branch(chain, branch)
    }

    /// The conditions of a route; none where it means nobody, and where rules cannot ask for it, which is reported.
    fn conditions_of(&mut self, section: &Section<StatementEnd>) -> Option<Conditions> {
        let program = self.input.program;
        let cluster_of = |user: &_| {
            let cluster = program.cluster_of(user);
            cluster.map_or_else(String::new, |cluster| cluster.name.to_string())
        };
        let scope: Scope = of_users(&section.scope, &program.users, cluster_of)?;
        match Conditions::of(&scope, &program.users) {
            Ok(conditions) => Some(conditions),
            Err(what) => {
                let message =
                    format!("a route is compiled to rules on every engine, and rules cannot {what}");
                self.report.error(UNSUPPORTED, section.origin, "match", message);
                None
            }
        }
    }

    /// A rule that sends or refuses what it matches.
    fn end(
        &mut self,
        chain: ChainRef,
        name: &str,
        section: &Section<StatementEnd>,
        rule: EngineRule,
        then: Target,
    ) {
        let address = &section.address;
        let program = self.input.program;
        match &section.step {
            StatementEnd::Cluster { name: cluster, role } => {
                let rule = EngineRule {
                    destination_hostgroup: Some(hostgroup(program, cluster, *role).0),
                    ..rule
                };
                let target = match self.chains.dialect {
                    Dialect::Bundled => then,
                    Dialect::Proxysql(_) => self.with_effects(cluster, then),
                };
                self.chains
                    .go_about(chain, name, address, rule, target, None::<String>);
            }
            StatementEnd::Refuse(text) => {
                let refused = Refused::by_route(address, text);
                self.chains.refuse(chain, name, address, rule, &refused);
            }
        }
    }
}

fn hostgroup(program: &Program, cluster: &str, role: Role) -> HostgroupId {
    let cluster = program.resolved_cluster(cluster);
    match role {
        Role::Writer => cluster.writer,
        Role::Reader => cluster.reader.unwrap_or(cluster.writer),
    }
}
