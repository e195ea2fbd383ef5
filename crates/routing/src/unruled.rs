//! The short way of statements that no rule is about: those of a user whom no rule of the first chain takes in.
//!
//! The walk would pass every rule and end at the user's own hostgroup. What it asks of the statement on its way is asked here
//! too; what it asks of the session has its usual answers ([`crate::direct::is_usual`]), or the walk tells.

use shardwright_rules::{
    Body, Configuration, Destination, Dispatch, Hits, HostgroupId, Outcome, SentAs, Statement, User,
};
use shardwright_sql::annotation::{Annotation, annotations_in};

use crate::direct::MOST_RULES;

/// Where the statements of such a user go.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Unruled(HostgroupId);

impl Unruled {
    /// `None` where a rule may take the user's statements in, or something besides the rules asks more of them. `chain` gives
    /// the positions of the rules of flag 0, in order.
    pub(crate) fn of(
        configuration: &Configuration,
        mut chain: impl Iterator<Item = usize>,
        user: &User,
    ) -> Option<Self> {
        let graph = &configuration.graph;
        let passes = |position: usize| match &graph.rules[position].body {
            Body::Native { scope, .. } => !scope.users.contains(&user.name),
            Body::Engine(_) => false,
        };
        let is_free = configuration.firewall.is_empty()
            && graph.fast_routing.is_empty()
            && !configuration.engine.profile().answers_itself
            && !user.reads_only
            && configuration.refusing(user.default_hostgroup).is_none();
        let is_passed = is_free && chain.by_ref().take(MOST_RULES).all(passes) && chain.next().is_none();
        is_passed.then_some(Self(user.default_hostgroup))
    }

    /// Whether nothing in a statement asks for more: its annotations are refused or obeyed by the walk, and so is what cannot
    /// be prepared.
    #[inline]
    pub(crate) fn takes(statement: &Statement<'_>) -> bool {
        let is_known = |annotation: Annotation<'_>| annotation.is_known();
        statement.command() != SentAs::Prepare
            && statement
                .first_comment()
                .is_none_or(|comment| !annotations_in(&comment.text).any(is_known))
    }

    #[inline]
    pub(crate) fn dispatch(self) -> Dispatch {
        Dispatch {
            outcome: Outcome::Route(Destination::plain(self.0, false)),
            hits: Hits::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use serde_json::{Value, json};
    use shardwright_rules::{
        Configuration, Dispatch, Evaluator, HostgroupId, PendingKind, SentAs, SessionView, Statement,
        Transaction,
    };

    use crate::RoutingTable;

    /// A user whom a rule takes in, and one without; both may have annotations obeyed.
    fn configuration(annotations_allowed: bool) -> Arc<Configuration> {
        let rule = json!({"id": 1, "address": "rule.1", "flag_in": 0,
            "body": {"native": {"scope": {"users": {"any_of": ["app"]}}, "step": {"delay": {"delay_ms": 5}}}}});
        let users: Vec<Value> = ["app", "free"]
            .map(|name| {
                json!({"name": name, "address": format!("users.{name}"), "password": null, "default_hostgroup": 10,
                    "default_schema": null, "max_connections": 1, "transaction_persistent": true,
                    "annotations_allowed": annotations_allowed})
            })
            .to_vec();
        let configuration = serde_json::from_value(json!({
            "format": 1, "engine": "bundled", "settings": {"query_processor_iterations": 0, "regex": "pcre"},
            "clusters": [{"name": "a", "address": "clusters.a", "kind": {"type": "single"}, "writer": 10,
                "reader": null, "writer_serves_reads": "never"}],
            "hostgroups": [], "users": users, "graph": {"rules": [rule], "fast_routing": []}}));
        Arc::new(configuration.unwrap())
    }

    #[test]
    fn what_no_rule_is_about_goes_the_short_way_and_where_the_evaluator_says() {
        let usual = SessionView {
            user: "free",
            ..SessionView::default()
        };
        let open = Some(Transaction {
            hostgroup: HostgroupId(10),
        });
        let sessions = [
            (true, usual.clone()),
            (
                true,
                SessionView {
                    autocommit_off: true,
                    ..usual.clone()
                },
            ),
            (
                true,
                SessionView {
                    schema: Some("s"),
                    since_write_ms: Some(1),
                    ..usual.clone()
                },
            ),
            (
                false,
                SessionView {
                    user: "app",
                    ..usual.clone()
                },
            ),
            (
                false,
                SessionView {
                    user: "nobody",
                    ..usual.clone()
                },
            ),
            (
                false,
                SessionView {
                    transaction: open,
                    ..usual.clone()
                },
            ),
            (
                false,
                SessionView {
                    transaction_pending: Some(PendingKind::Local),
                    ..usual.clone()
                },
            ),
            (
                false,
                SessionView {
                    next_query_flag_in: Some(1),
                    ..usual.clone()
                },
            ),
        ];
        let texts = [
            (true, SentAs::Query, "SELECT 1 FROM t"),
            (true, SentAs::Execute, "SELECT 1 FROM t WHERE a=?"),
            (true, SentAs::Query, "/* app=web */ UPDATE t SET a=1; SELECT 2"),
            (true, SentAs::Query, "COMMIT"),
            (true, SentAs::Query, "SET @a=1"),
            (false, SentAs::Query, "/* hostgroup=11 */ SELECT 1"),
            (false, SentAs::Query, "SELECT 1 /* query_delay=7 */"),
            (false, SentAs::Prepare, "SELECT 1"),
            (false, SentAs::Prepare, "BEGIN"),
        ];
        for allowed in [false, true] {
            let configuration = configuration(allowed);
            let table = RoutingTable::new(Arc::clone(&configuration));
            let evaluator = Evaluator::new(configuration);
            for (is_usual, session) in &sessions {
                for (is_plain, sent_as, text) in texts {
                    let statement = || Statement::new(text.as_bytes(), Default::default()).sent_as(sent_as);
                    let is_short = table.shortly(session, &statement()).is_some();
                    assert_eq!(is_short, *is_usual && is_plain, "{text} {session:?}");
                    let decision = evaluator.decide(session, &statement());
                    let dispatch = table.dispatch(session, &statement());
                    assert_eq!(dispatch, Dispatch::from(decision), "{text} {session:?}");
                }
            }
        }
    }
}
