//! Rows of fast routing that are written, beside everything else that a project can have.
//!
//! [`Case::meaning`] reads a topology as the pages of the language do, in the order of the sections, and knows nothing of rules,
//! flags and ids. Both engines have to agree with it.

use std::fmt::Write as _;

use shardwright_compiler::{Lock, Options, compile};
use shardwright_diagnostics::Severity;
use shardwright_rules::{EngineId, Outcome};

use crate::composed::dice::Dice;
use crate::support::*;

const TOPOLOGIES: u64 = 120;
const USERS: [&str; 3] = ["app", "ops", "viewer"];
const SCHEMAS: [&str; 4] = ["s1", "s2", "s3", "s4"];
const CLUSTERS: [&str; 4] = ["c1", "c2", "d1", "d2"];
/// Flags of rows: where nothing has placed a statement, and a chain of raw rules.
const FLAGS: [u32; 2] = [0, 500];
const STATEMENTS: [&str; 9] = [
    "SELECT a FROM t WHERE id = 1",
    "UPDATE t SET a = 1 WHERE id = 1",
    "DELETE FROM audit WHERE id = 1",
    "DELETE FROM audit",
    "SELECT a FROM facts",
    "SELECT a FROM facts WHERE id = 1",
    "SELECT a FROM raw_x",
    "DROP TABLE t",
    "SELECT 7",
];

/// A topology, as what was chosen for each section.
#[derive(Clone, Debug)]
struct Case {
    /// `app` and `ops` may send annotations.
    annotations: [bool; 2],
    has_viewer: bool,
    has_chain: bool,
    has_early: bool,
    has_late: bool,
    /// None, a plain one, or one with an exception, whose rules are chains.
    route: usize,
    refuses_drops: bool,
    has_map: bool,
    has_policy: bool,
    /// None, for all clusters, or for one of them.
    throttle: usize,
    /// Statements that `app` may send.
    allowed: Option<Vec<&'static str>>,
    /// User, schema, flag, cluster.
    rows: Vec<(&'static str, &'static str, u32, &'static str)>,
}

impl Case {
    fn new(number: u64) -> Self {
        let dice = &mut Dice::new(number);
        let mut rows = Vec::new();
        for user in ["", "app", "ops"] {
            for schema in SCHEMAS {
                for flag in FLAGS {
                    if dice.one_in(3) {
                        rows.push((user, schema, flag, *dice.of(&CLUSTERS)));
                    }
                }
            }
        }
        let allowed = STATEMENTS.into_iter().filter(|_| !dice.one_in(3));
        let allowed = allowed.collect();
        Self {
            annotations: [dice.one_in(2), dice.one_in(2)],
            has_viewer: dice.one_in(3),
            has_chain: dice.one_in(2),
            has_early: dice.one_in(2),
            has_late: dice.one_in(3),
            route: dice.below(3),
            refuses_drops: dice.one_in(2),
            has_map: dice.one_in(2),
            has_policy: dice.one_in(2),
            throttle: dice.below(3),
            allowed: dice.one_in(3).then_some(allowed),
            rows,
        }
    }

    /// The project's text; the firewall is for ProxySQL alone.
    fn text(&self, engine: EngineId) -> String {
        let mut text = "version: 1\nclusters:\n".to_owned();
        for cluster in ["c1", "c2"] {
            text += &format!(
                "  {cluster}: {{type: replication, servers: {{w: {{host: {cluster}-w.db}}, r: {{host: {cluster}-r.db}}}}}}\n"
            );
        }
        for cluster in ["d1", "d2"] {
            text += &format!("  {cluster}: {{type: single, servers: {{w: {{host: {cluster}.db}}}}}}\n");
        }
        text += "users:\n";
        for (user, allows) in ["app", "ops"].into_iter().zip(self.annotations) {
            let annotations = if allows { ", annotations: allow" } else { "" };
            text += &format!("  {user}: {{password: {{env: P}}, cluster: c1, schema: s4{annotations}}}\n");
        }
        if self.has_viewer {
            text += "  viewer: {password: {env: P}, cluster: c1, role: reader}\n";
        }
        text += "query_rules:\n  early:\n    rules:\n";
        if self.has_early {
            text += "      - {rule_id: 900, match_digest: \"^SELECT .* FROM raw_\", username: ops, cluster: d2, apply: 1}\n";
        }
        if self.has_chain {
            text += "      - {match_digest: \"^DELETE FROM audit\", username: app, flagOUT: 500}\n      \
                     - {flagIN: 500, username: app, match_digest: \" WHERE \", cluster: d1, apply: 1}\n";
        }
        if !self.has_chain && !self.has_early {
            text = text.replace("    rules:\n", "    rules: []\n");
        }
        text += "    fast_routing:\n";
        for (user, schema, flag, cluster) in &self.rows {
            let user = if user.is_empty() {
                String::new()
            } else {
                format!("username: {user}, ")
            };
            let _ = writeln!(
                text,
                "      - {{{user}schemaname: {schema}, flagIN: {flag}, cluster: {cluster}}}"
            );
        }
        if self.has_late {
            text += "  late:\n    at: after_all\n    rules:\n      - {match_digest: \"^SELECT [?]$\", cluster: d2, apply: 1}\n";
        }
        if self.route > 0 || self.refuses_drops {
            text += "routes:\n";
        }
        if self.route > 0 {
            let except = if self.route == 2 {
                ", except_match_digest: \" WHERE \""
            } else {
                ""
            };
            text += &format!(
                "  facts: {{match: {{match_digest: \"^SELECT .* FROM facts\"{except}}}, cluster: d2}}\n"
            );
        }
        if self.refuses_drops {
            text += "  drops: {match: {match_digest: \"^DROP \"}, refuse: no drops}\n";
        }
        if self.has_map {
            text += "shard_maps:\n  by_schema:\n    applies_to: {users: [app], schemas: [s1, s2]}\n    \
                     key: {name: schema, type: text}\n    key_from: [{schema: \"$(key)\"}]\n    shards:\n      \
                     one: {keys: [s1], cluster: c2}\n      two: {keys: [s2], cluster: d1}\n";
        }
        if self.has_policy {
            text += "read_write_policies:\n  c1: {applies_to: {clusters: [c1]}, reads: {all: true}}\n";
        }
        text += match self.throttle {
            0 => "",
            1 => "throttles:\n  slow: {applies_to: {match_digest: \"^UPDATE \"}, delay: 5ms, reason: test}\n",
            _ => {
                "throttles:\n  slow: {applies_to: {clusters: [c1], match_digest: \"^UPDATE \"}, delay: 5ms, reason: test}\n"
            }
        };
        if let (Some(allowed), true) = (&self.allowed, engine.is_proxysql()) {
            text += "firewall:\n  app:\n    mode: protecting\n    schemas: [s1, s2, s3]\n    allow:\n      digests: []\n";
            if !allowed.is_empty() {
                text += "      statements:\n";
            }
            for statement in allowed {
                let _ = writeln!(text, "        - \"{statement}\"");
            }
        }
        text
    }

    /// The destination by the topology; `refused` for none.
    fn meaning(&self, engine: EngineId, user: &str, schema: &str, sql: &'static str) -> String {
        let is_firewalled = engine.is_proxysql() && user == "app";
        if let Some(allowed) = self.allowed.as_ref().filter(|_| is_firewalled)
            && !allowed.iter().any(|other| digest(other) == digest(sql))
        {
            return "refused".to_owned();
        }
        self.place(user, schema, sql)
    }

    fn place(&self, user: &str, schema: &str, sql: &str) -> String {
        let writer = |cluster: &str| format!("{cluster} writer");
        let row = |flag: u32| {
            let of = |name: &str| {
                let mut rows = self.rows.iter();
                rows.find(|row| (row.0, row.1, row.2) == (name, schema, flag))
            };
            of(user)
                .or_else(|| of(""))
                .map_or_else(|| writer("c1"), |row| writer(row.3))
        };
        if self.has_chain && user == "app" && sql.starts_with("DELETE FROM audit") {
            return if sql.contains(" WHERE ") {
                writer("d1")
            } else {
                row(500)
            };
        }
        if self.has_early && user == "ops" && sql.contains(" FROM raw_") {
            return writer("d2");
        }
        let is_change = !sql.starts_with("SELECT");
        if user == "viewer" && is_change {
            return "refused".to_owned();
        }
        let is_excepted = self.route == 2 && sql.contains(" WHERE ");
        if self.route > 0 && sql.contains(" FROM facts") && !is_excepted {
            return writer("d2");
        }
        if self.refuses_drops && sql.starts_with("DROP ") {
            return "refused".to_owned();
        }
        if user == "viewer" {
            return "c1 reader".to_owned();
        }
        if self.has_map && user == "app" && matches!(schema, "s1" | "s2") {
            return writer(if schema == "s1" { "c2" } else { "d1" });
        }
        if self.has_policy && !is_change {
            return "c1 reader".to_owned();
        }
        if self.has_late && sql == "SELECT 7" {
            return writer("d2");
        }
        row(0)
    }
}

/// Statements that differ in a number have one digest.
fn digest(sql: &str) -> String {
    sql.replace(['1', '7'], "?")
}

#[test]
fn rows_act_as_the_language_says_beside_everything_else() {
    let mut placed = [0, 0];
    for number in 0..TOPOLOGIES {
        let case = Case::new(number);
        for (at, engine) in BOTH.into_iter().enumerate() {
            let text = case.text(engine);
            let project = loaded(&text);
            let decider = Decider::new(&compiled(&project, engine));
            let users = USERS
                .into_iter()
                .filter(|user| case.has_viewer || *user != "viewer");
            for user in users {
                for schema in SCHEMAS {
                    for sql in STATEMENTS {
                        let found = match decider.decision(user, Some(schema), sql).outcome {
                            Outcome::Reject(_) => "refused".to_owned(),
                            _ => decider.short(user, Some(schema), sql),
                        };
                        let expected = case.meaning(engine, user, schema, sql);
                        assert_eq!(
                            found, expected,
                            "topology {number} on {engine}: {user} in {schema}: {sql}\n{text}"
                        );
                        placed[at] += 1;
                    }
                }
            }
        }
    }
    println!("{placed:?} statements");
}

#[test]
fn a_row_for_a_user_who_only_reads_is_an_error_at_its_line() {
    let project = loaded(
        "version: 1\nclusters:\n  c1: {type: replication, servers: {w: {host: w.db}, r: {host: r.db}}}\nusers:\n  \
         viewer: {password: {env: P}, cluster: c1, role: reader}\nquery_rules:\n  rows:\n    rules: []\n    \
         fast_routing: [{username: viewer, schemaname: s1, cluster: c1}]\n",
    );
    for engine in BOTH {
        let compiled = compile(&project, engine, &Lock::default(), &Options::default());
        let errors = problems(&compiled, Severity::Error);
        assert_eq!(
            errors,
            [
                "SW320: fast routing is never asked for user viewer, who only reads (role: reader); remove the row, or give the user `reads_only: false`"
            ],
            "{engine}"
        );
    }
}

/// What only raw rules decide is compiled as it stands: rules and rows have the flags that they were written with.
#[test]
fn rows_beside_raw_rules_and_a_firewall_alone_keep_their_flags() {
    let text = "version: 1\nclusters:\n  c1: {type: single, servers: {w: {host: w.db}}}\nusers:\n  \
         app: {password: {env: P}, cluster: c1, annotations: allow}\nquery_rules:\n  rows:\n    \
         rules: [{rule_id: 7, match_digest: \"^DELETE \", delay: 5}]\n    \
         fast_routing: [{schemaname: s1, cluster: c1}]\nfirewall:\n  app: {mode: detecting, allow: {statements: [SELECT 1]}}\n";
    let compiled = compiled(&loaded(text), EngineId::Proxysql27);
    let graph = &compiled.configuration.graph;
    let ids: Vec<u32> = graph.rules.iter().map(|rule| rule.id).collect();
    let flags: Vec<u32> = graph.fast_routing.iter().map(|row| row.flag_in).collect();
    assert_eq!((ids, flags), (vec![7], vec![0]));
}
