//! SW130: patterns that the engine's library refuses. Engines take such a rule without a word, and it never matches.

use std::sync::Arc;

use shardwright_rules::RegexEngine;
use shardwright_rules::decide::refused;
use shardwright_topology::model::{OriginId, ReadSelection, Scope, Topology};

use crate::diagnostics::{Diagnostics, NO_PATTERN};

/// Reports each at its line, as people wrote it: what is compiled from it can be another text.
pub(crate) fn check(topology: &Topology, regex: RegexEngine, report: &mut Diagnostics<'_>) {
    let mut check = Check { regex, report };
    for map in &topology.shard_maps {
        check.scope(&map.applies_to, map.origin, "applies_to");
    }
    for policy in &topology.read_write_policies {
        check.scope(&policy.applies_to, policy.origin, "applies_to");
        match &policy.reads {
            ReadSelection::Only(scopes) => check.scopes(scopes, policy.origin, "reads.only"),
            ReadSelection::Except(scopes) => check.scopes(scopes, policy.origin, "reads.except"),
            ReadSelection::All => {}
        }
    }
    for route in &topology.routes {
        check.scope(&route.matches, route.origin, "match");
    }
    for throttle in &topology.throttles {
        check.scope(&throttle.applies_to, throttle.origin, "applies_to");
    }
    for exception in &topology.pooling_exceptions {
        check.scope(&exception.matches, exception.origin, "match");
    }
    for cache in &topology.caches {
        check.scope(&cache.matches, cache.origin, "match");
    }
    for mirror in &topology.mirrors {
        check.scope(&mirror.matches, mirror.origin, "match");
    }
    for block in &topology.query_rules {
        for rule in block.rules.iter().filter(|rule| rule.active) {
            let columns = [
                ("match_digest", &rule.columns.match_digest),
                ("match_pattern", &rule.columns.match_pattern),
            ];
            for (column, pattern) in columns {
                if let Some(pattern) = pattern {
                    check.pattern(pattern, rule.origin, column, column);
                }
            }
        }
    }
}

struct Check<'c, 'r> {
    regex: RegexEngine,
    report: &'c mut Diagnostics<'r>,
}

impl Check<'_, '_> {
    fn scopes(&mut self, scopes: &[Scope], origin: OriginId, field: &str) {
        for (at, scope) in scopes.iter().enumerate() {
            self.scope(scope, origin, &format!("{field}[{at}]"));
        }
    }

    fn scope(&mut self, scope: &Scope, origin: OriginId, field: &str) {
        let lists: [(&str, &[Arc<str>]); 4] = [
            ("match_digest", &scope.match_digest),
            ("except_match_digest", &scope.except_match_digest),
            ("match_pattern", &scope.match_pattern),
            ("except_match_pattern", &scope.except_match_pattern),
        ];
        for (key, patterns) in lists {
            for (at, pattern) in patterns.iter().enumerate() {
                self.pattern(pattern, origin, key, &format!("{field}.{key}[{at}]"));
            }
        }
    }

    fn pattern(&mut self, pattern: &str, origin: OriginId, key: &str, field: &str) {
        let Some((why, offset)) = refused(pattern, self.regex) else {
            return;
        };
        let library = match self.regex {
            RegexEngine::Pcre => "PCRE",
            RegexEngine::Re2 => "RE2",
        };
        let message = format!("this {key} does not compile with {library}: {why} (at byte {offset})");
        self.report.error(NO_PATTERN, origin, field, message);
    }
}
