//! Small configurations, written as JSON, and questions to the evaluator.

use std::sync::Arc;

use serde_json::{Value, json};
use shardwright_rules::{
    Configuration, Decision, Evaluator, HostgroupId, Outcome, PendingKind, SentAs, SessionView, Statement,
    Transaction,
};

pub(crate) fn configuration(engine: &str, rules: Value) -> Configuration {
    let cluster = |name: &str, writer: u32, reader: Option<u32>| {
        json!({"name": name, "address": format!("clusters.{name}"), "kind": {"type": "single"},
               "writer": writer, "reader": reader, "writer_serves_reads": "last_resort"})
    };
    let user = |name: &str, schema: Option<&str>| {
        json!({"name": name, "address": format!("users.{name}"), "password": null, "default_hostgroup": 10,
               "default_schema": schema, "max_connections": 100, "transaction_persistent": true,
               "annotations_allowed": name == "dba"})
    };
    serde_json::from_value(json!({
        "format": 1, "engine": engine,
        "settings": {"query_processor_iterations": 0, "regex": "pcre"},
        "clusters": [cluster("a", 10, Some(11)), cluster("b", 20, Some(21)), cluster("c", 30, None)],
        "hostgroups": [],
        "users": [user("app", Some("app")), user("geo", Some("world")), user("dba", None)],
        "graph": {"rules": rules, "fast_routing": []}
    }))
    .unwrap()
}

pub(crate) fn rule(id: u32, flag_in: u32, columns: Value) -> Value {
    json!({"id": id, "address": format!("query_rules.r.rules[{id}]"), "flag_in": flag_in, "body": {"engine": with_modifiers(columns)}})
}

fn with_modifiers(mut columns: Value) -> Value {
    columns["re_modifiers"] = json!({"caseless": true, "global": true});
    columns
}

pub(crate) fn native(id: u32, scope: Value, step: Value) -> Value {
    json!({"id": id, "address": format!("step.{id}"), "flag_in": 0, "body": {"native": {"scope": scope, "step": step}}})
}

pub(crate) struct World {
    pub evaluator: Evaluator,
    pub user: &'static str,
    pub schema: Option<&'static str>,
    pub transaction: Option<u32>,
    pub transaction_pending: Option<PendingKind>,
    pub autocommit_off: bool,
    pub since_write_ms: Option<u64>,
}

impl World {
    pub(crate) fn new(configuration: Configuration) -> Self {
        let evaluator = Evaluator::new(Arc::new(configuration));
        Self {
            evaluator,
            user: "app",
            schema: Some("app"),
            transaction: None,
            transaction_pending: None,
            autocommit_off: false,
            since_write_ms: None,
        }
    }

    pub(crate) fn decide(&self, sql: &str) -> Decision {
        self.decide_as(SentAs::Query, sql)
    }

    pub(crate) fn decide_as(&self, sent_as: SentAs, sql: &str) -> Decision {
        let session = SessionView {
            user: self.user,
            schema: self.schema,
            client_addr: Some("10.0.0.7"),
            transaction: self.transaction.map(|id| Transaction {
                hostgroup: HostgroupId(id),
            }),
            transaction_pending: self.transaction_pending,
            autocommit_off: self.autocommit_off,
            since_write_ms: self.since_write_ms,
            ..SessionView::default()
        };
        let statement = Statement::new(sql.as_bytes(), Default::default()).sent_as(sent_as);
        self.evaluator.decide(&session, &statement)
    }

    /// One line: `10`, `10 shard`, `10 shard «rewritten»`, `refused: message`, `answered`.
    pub(crate) fn ask(&self, sql: &str) -> String {
        Self::line(self.decide(sql).outcome)
    }

    pub(crate) fn line(outcome: Outcome) -> String {
        match outcome {
            Outcome::Route(route) => {
                let mut line = route.hostgroup.to_string();
                if let Some(shard) = route.shard {
                    line += &format!(" {}", shard.short());
                }
                if route.effects.causal {
                    line += " behind own writes";
                }
                if let Some(delay) = route.effects.delay_ms {
                    line += &format!(" after {delay} ms");
                }
                if let Some(schema) = route.backend_schema {
                    line += &format!(" in {schema}");
                }
                if let Some(text) = route.rewritten {
                    line += &format!(" «{}»", String::from_utf8(text).unwrap());
                }
                line
            }
            Outcome::Reject(rejection) => format!("refused: {}", rejection.message),
            Outcome::Answer { message } => format!("answered {message}"),
            Outcome::Own { answer, .. } => format!("own answer {answer:?}"),
            Outcome::DeferBegin => "deferred".to_owned(),
        }
    }
}

/// Checks a table of statements and answers at once, so that a failure shows every difference.
pub(crate) fn check(world: &World, table: &[(&str, &str)]) {
    let wanted: Vec<String> = table
        .iter()
        .map(|(sql, answer)| format!("{sql}\n    {answer}"))
        .collect();
    let got: Vec<String> = table
        .iter()
        .map(|(sql, _)| format!("{sql}\n    {}", world.ask(sql)))
        .collect();
    assert_eq!(got.join("\n"), wanted.join("\n"));
}
