//! One topology on both engines: whatever a client sends, no engine places it on another shard than the other does, and
//! what ProxySQL lets leave the writer is a read on the bundled engine too.

mod access;
pub(crate) mod cases;
pub(crate) mod statements;

use std::sync::OnceLock;

use cases::{CASES, CLUSTERS, Case};
use proptest::prelude::*;
use proptest::sample::select;
use shardwright_rules::{Decision, EngineId, HostgroupId, Outcome, Role, Route, Statement};
use shardwright_sql::LexMode;
use shardwright_topology::model::{Finder, Project, RuleLayout, ShardMap, Table};
use statements::{AROUND, BODIES};

use crate::support::*;

/// Place of the case, user, schema and text.
pub(crate) type Asked = (usize, &'static str, Option<&'static str>, String);

pub(crate) fn text() -> impl Strategy<Value = Asked> {
    (0..CASES.len()).prop_flat_map(|at| {
        let case = &CASES[at];
        let piece = || {
            (select(AROUND.to_vec()), select(case.comments))
                .prop_map(|(around, key)| around.replace("KEY", key))
        };
        let body = (select(BODIES), select(case.comments)).prop_map(|(body, key)| body.replace("KEY", key));
        (
            select(case.users),
            select(case.schemas),
            piece(),
            body,
            piece(),
            select(vec!["", "", "", ";", "; DELETE FROM t"]),
        )
            .prop_map(move |(user, schema, before, body, after, end)| {
                (at, user, schema, format!("{before}{body}{after}{end}"))
            })
    })
}

fn placed(route: &Route) -> (Option<&str>, Option<String>, Option<&str>) {
    let rewritten = route
        .rewritten
        .as_deref()
        .map(|text| String::from_utf8_lossy(text).replace('`', ""));
    (
        route.cluster.as_deref(),
        rewritten,
        route.backend_schema.as_deref(),
    )
}

/// What was asked, and where the user's statements go that nothing places.
pub(crate) struct Question<'q> {
    pub(crate) sql: &'q str,
    pub(crate) home: HostgroupId,
    /// The session's schema may have the key of no shard.
    pub(crate) is_unnamed: bool,
    /// Fast routing places: it has no row for a schema that the topology does not name.
    pub(crate) is_routed_fast: bool,
    /// The user only reads.
    pub(crate) reads_only: bool,
}

/// What the engines are known to do differently.
fn documented(question: &Question<'_>, bundled: &Decision, proxysql: &Route) -> bool {
    let Question {
        sql,
        home,
        is_unnamed,
        is_routed_fast,
        reads_only,
    } = *question;
    let refusal = match &bundled.outcome {
        Outcome::Reject(rejection) => rejection.message.split(':').next().unwrap_or_default(),
        _ => "",
    };
    // Of a user who only reads, readers are asked for everything.
    let writer = proxysql.role == Some(Role::Writer) || proxysql.hostgroup == home || reads_only;
    // Nothing is open, so that it does nothing wherever it goes.
    let control = sql.contains("COMMIT");
    // An empty comment is no value of an exact comment.
    let empty = sql.contains("/**/");
    // It reads no rows but its own. The bundled engine knows, where a map finds its key in a column.
    let reads_none = sql.contains("WITH x AS (SELECT 1) SELECT * FROM x") || sql.contains("EXPLAIN SELECT 1");
    let rowless = reads_none && proxysql.shard.is_none();
    // Several statements are sent as one, to one writer.
    let several = refusal == "SW354";
    // A pattern rewrites inside executable comments as it does elsewhere.
    let executable = refusal == "SW358" && (sql.contains("/*!") || sql.contains("/*M!"));
    // Session setup in a schema that nothing names is session setup, whether its name would be a key or not.
    let statement = Statement::new(sql.as_bytes(), LexMode::default());
    let setup = is_unnamed && statement.is_session_setup();
    // Of a forced layout; the compiler warns.
    let unlisted = is_routed_fast
        && proxysql.hostgroup == home
        && proxysql.shard.is_none()
        && ["SW351", "SW352"].contains(&refusal);
    setup || unlisted || writer && (control || empty || several || executable || rowless)
}

/// What is wrong with a pair of answers.
pub(crate) fn difference(
    question: &Question<'_>,
    bundled: &Decision,
    proxysql: &Decision,
) -> Option<&'static str> {
    match (&bundled.outcome, &proxysql.outcome) {
        // What ProxySQL answers itself goes nowhere.
        (_, Outcome::Reject(_) | Outcome::Own { .. }) => None,
        (_, Outcome::Route(route)) if documented(question, bundled, route) => None,
        (Outcome::Reject(_), Outcome::Route(_)) => Some("ProxySQL places what the bundled engine refuses"),
        (Outcome::Route(bundled), Outcome::Route(proxysql)) => {
            if placed(bundled) != placed(proxysql) {
                Some("different places")
            } else if bundled.role == Some(Role::Writer) && proxysql.role == Some(Role::Reader) {
                Some("ProxySQL gives a reader what the bundled engine keeps on the writer")
            } else {
                None
            }
        }
        _ => Some("different kinds of answers"),
    }
}

/// Of both engines, and of the bundled one with maps in rules where it can follow that.
fn deciders() -> &'static [[Decider; 4]] {
    static DECIDERS: OnceLock<Vec<[Decider; 4]>> = OnceLock::new();
    DECIDERS.get_or_init(|| {
        let both = |case: &Case| {
            let project = loaded(&format!("{CLUSTERS}{}", case.topology));
            let [bundled, proxysql] = BOTH.map(|engine| Decider::new(&compiled(&project, engine)));
            let [flat, tree] = [RuleLayout::Flat, RuleLayout::Tree]
                .map(|layout| Decider::new(&compiled(&laid_out(&project, layout), EngineId::Bundled)));
            [bundled, proxysql, flat, tree]
        };
        CASES.iter().map(both).collect()
    })
}

/// The project with maps that are found in comments laid out like this.
fn laid_out(project: &Project, layout: RuleLayout) -> Project {
    let mut project = project.clone();
    let mut maps: Vec<ShardMap> = project.topology.shard_maps.iter().cloned().collect();
    for map in &mut maps {
        if map
            .key_from
            .iter()
            .all(|finder| matches!(finder, Finder::Comment { .. }))
        {
            map.rule_layout = layout;
        }
    }
    project.topology.shard_maps = Table::new(maps);
    project
}

proptest! {
    #![proptest_config(ProptestConfig {
        failure_persistence: None,
        ..ProptestConfig::with_cases(if cfg!(debug_assertions) { 4000 } else { 40_000 })
    })]

    #[test]
    fn maps_in_rules_place_as_a_look_up_does_or_refuse((at, user, schema, sql) in text()) {
        let [bundled, _, laid_out @ ..] = &deciders()[at];
        let schema = schema.or_else(|| bundled.configuration.default_schema(user));
        let decision = bundled.decision(user, schema, &sql);
        for decider in laid_out {
            let question = Question { sql: &sql, home: bundled.home(user), is_unnamed: schema == Some("acct_0099"), is_routed_fast: false, reads_only: bundled.reads_only(user) };
            let difference = difference(&question, &decision, &decider.decision(user, schema, &sql));
            let short = (bundled.short(user, schema, &sql), decider.short(user, schema, &sql));
            prop_assert_eq!(difference, None, "case {}, {} {:?}: {} | {}", at, user, schema, short.0, short.1);
        }
    }

    #[test]
    fn both_engines_place_a_statement_alike_or_proxysql_refuses((at, user, schema, sql) in text()) {
        let [bundled, proxysql, ..] = &deciders()[at];
        let schema = schema.or_else(|| bundled.configuration.default_schema(user));
        let decisions = (bundled.decision(user, schema, &sql), proxysql.decision(user, schema, &sql));
        let short = (bundled.short(user, schema, &sql), proxysql.short(user, schema, &sql));
        let question = Question { sql: &sql, home: bundled.home(user), is_unnamed: schema == Some("acct_0099"), is_routed_fast: false, reads_only: bundled.reads_only(user) };
        let difference = difference(&question, &decisions.0, &decisions.1);
        prop_assert_eq!(difference, None, "case {}, {} {:?}: {} | {}", at, user, schema, short.0, short.1);
    }
}
