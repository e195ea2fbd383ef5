//! The rules that a placed statement passes behind its map, and their patterns.

use shardwright_rules::{
    Body, HostgroupId, NativeStep, PatternKind, PatternPrices, ReadSelection, Rule, Scope, StatementKind,
    TextLength,
};

use super::evaluated::Evaluated;

use crate::program::Program;

/// A read of a map's keys by a session that names no schema, for native steps to ask. The clusters of a map are taken to
/// be alike.
pub(super) struct PlacedRead<'p> {
    user: &'p str,
    cluster: Option<&'p str>,
    has_reader: bool,
}

impl<'p> PlacedRead<'p> {
    /// By the first user whom the map is about, to its first shard.
    pub(super) fn of(program: &'p Program, map: usize) -> Self {
        let section = &program.maps[map];
        let user = program
            .users
            .iter()
            .find(|user| section.scope.users.contains(&user.name));
        let own = |hostgroup: HostgroupId| program.clusters.iter().find(|cluster| cluster.owns(hostgroup));
        let placed = section
            .step
            .shards
            .first()
            .and_then(|shard| shard.cluster.as_deref());
        let cluster = match placed {
            Some(name) => program.cluster(name),
            None => user.and_then(|user| own(user.default_hostgroup)),
        };
        Self {
            user: user.map_or("", |user| user.name.as_str()),
            cluster: cluster.map(|cluster| &*cluster.name),
            has_reader: cluster.is_some_and(|cluster| cluster.reader.is_some()),
        }
    }

    /// Patterns that one look at a rule runs.
    pub(super) fn patterns(&self, rule: &Rule, prices: &PatternPrices) -> Evaluated {
        let Body::Native { scope, step } = &rule.body else {
            return patterns(rule, self.user, prices);
        };
        let own = self.of_scope(scope);
        let matches = scope.match_digest.is_empty() && scope.match_pattern.is_empty();
        let reads = match step {
            NativeStep::Role(role) if own.is_some() && matches && self.has_reader => match &role.reads {
                ReadSelection::All => 0,
                ReadSelection::Only(scopes) | ReadSelection::Except(scopes) => {
                    scopes.iter().filter_map(|scope| self.of_scope(scope)).sum()
                }
            },
            _ => 0,
        };
        let patterns = own.unwrap_or(0) + reads;
        // Users wrote them, and steps of the bundled engine have one price for all.
        let each = prices.ns(PatternKind::Search, TextLength::default());
        Evaluated {
            patterns,
            ns: f64::from(patterns) * each,
        }
    }

    /// Patterns of a scope; `None` where something else of it leaves the statement out.
    fn of_scope(&self, scope: &Scope) -> Option<u32> {
        let takes_cluster = scope.clusters.is_any()
            || self
                .cluster
                .is_some_and(|cluster| scope.clusters.contains(cluster));
        let is_about = scope.users.contains(self.user)
            && takes_cluster
            && scope.schemas.is_any()
            && scope.client_addrs.is_empty()
            && scope.listener_ports.is_empty()
            && (scope.statements.is_empty() || scope.statements.contains(&StatementKind::Select))
            && scope.digests.is_empty()
            && scope.functions.is_empty()
            && scope.tables.is_any();
        let lists = [
            &scope.match_digest,
            &scope.match_pattern,
            &scope.except_match_digest,
            &scope.except_match_pattern,
        ];
        is_about.then(|| lists.iter().map(|list| list.len() as u32).sum())
    }
}

/// Rules looked at from the first one, by a statement that goes on in chain `flag` at `from`.
pub(super) fn visits(rules: &[Rule], flag: u32, from: usize) -> usize {
    let end = rules[from..]
        .iter()
        .position(|rule| rule.flag_in == flag && ends(rule));
    end.map_or(rules.len(), |end| from + end + 1)
}

/// Whether every placed statement that reaches a rule goes no further in its chain.
pub(super) fn ends(rule: &Rule) -> bool {
    match &rule.body {
        Body::Native { step, .. } => matches!(step, NativeStep::StopIfPlaced),
        Body::Engine(row) => row.ends() && row.is_unconditional(),
    }
}

/// Patterns that one look at a rule runs, for a session of `user` without a schema.
pub(super) fn patterns(rule: &Rule, user: &str, prices: &PatternPrices) -> Evaluated {
    let Body::Engine(rule) = &rule.body else {
        return Evaluated::default();
    };
    let passes = rule.username.as_deref().is_none_or(|name| name == user)
        && rule.schemaname.is_none()
        && rule.client_addr.is_none()
        && rule.digest.is_none();
    if !passes {
        return Evaluated::default();
    }
    let texts = [&rule.match_digest, &rule.match_pattern];
    let evaluated = texts.into_iter().flatten().map(|text| Evaluated {
        patterns: 1,
        ns: prices.ns(PatternKind::of(text), TextLength::default()),
    });
    evaluated.sum()
}
