//! Sections and their order: schema maps, placement by schema, roles, delays, raw rules.

use shardwright_compiler::{Lock, Options, compile, tree};
use shardwright_diagnostics::Severity;
use shardwright_rules::{EngineId, EngineRule};
use shardwright_topology::model::*;

use crate::support::*;

fn cases(decider: &Decider, user: &str, schema: Option<&str>, cases: &[(&str, &str)]) {
    for (statement, expected) in cases {
        let engine = decider.configuration.engine;
        let found = decider.short(user, schema, statement);
        assert_goes(&found, expected, &format!("{engine}: {statement}"));
    }
}

/// Three hosts found by one comment, schemas found by another, composed for one user.
fn world() -> Project {
    let mut build = Build::new();
    let clusters = ["europe", "asia", "africa"].map(|name| build.cluster(name, 1));
    build.user("geo", clusters[0], Some("app"));
    build.user("host", clusters[0], Some("world"));
    build.user("both", clusters[0], Some("app"));
    let names = ["Europe", "Asia", "Africa"];
    let shard = |at: usize, cluster: bool, schema: bool| {
        let name = names[at].to_string();
        (
            name.to_lowercase(),
            texts([names[at]]),
            cluster.then_some(clusters[at]),
            schema.then_some(name),
        )
    };
    build.map(
        "hosts",
        &["host", "both"],
        KeyKind::Text,
        "shard_host_HG",
        vec![comment("shard_host_HG")],
    );
    build.shards((0..3).map(|at| shard(at, true, false)).collect());
    build
        .map(
            "continents",
            &["geo"],
            KeyKind::Text,
            "continent",
            vec![comment("continent")],
        )
        .logical_schema = Some("world".into());
    let mut shards: Vec<_> = (0..3).map(|at| shard(at, true, true)).collect();
    shards.push((
        "americas".into(),
        texts(["North America", "South America"]),
        Some(clusters[2]),
        Some("Americas".into()),
    ));
    build.shards(shards);
    build
        .map(
            "schemas",
            &["both"],
            KeyKind::Text,
            "continent",
            vec![comment("continent")],
        )
        .logical_schema = Some("world".into());
    build.shards((0..3).map(|at| shard(at, false, true)).collect());
    build.finish()
}

#[test]
fn hosts_and_schemas_by_comment() {
    let decider = Decider::new(&compiled(&world(), EngineId::Proxysql27));
    cases(
        &decider,
        "host",
        None,
        &[
            ("/* shard_host_HG=Asia */ SELECT 1 FROM world.City", "asia writer"),
            ("/* shard_host_HG=asia */ SELECT 1 FROM world.City", "SW352"),
            ("SELECT 1 FROM world.City", "SW351"),
        ],
    );
    cases(
        &decider,
        "geo",
        Some("app"),
        &[
            (
                "/* continent=Asia */ SELECT c.Name FROM world.City c JOIN `world`.`Country` k ON c.x=k.y WHERE k.z='a'",
                "asia writer: /* continent=Asia */ SELECT c.Name FROM `Asia`.City c JOIN `Asia`.`Country` k ON c.x=k.y WHERE k.z='a'",
            ),
            (
                "/* continent='North America' */ SELECT 1 FROM world.City",
                "africa writer: /* continent='North America' */ SELECT 1 FROM `Americas`.City",
            ),
            ("/* continent=North America */ SELECT 1 FROM world.City", "SW352"),
            ("/* continent=Asia */ SELECT 'world.x' FROM world.City", "SW354"),
            ("/* continent=Asia */ SELECT 1 FROM City", "asia writer"),
        ],
    );
    cases(
        &decider,
        "geo",
        Some("world"),
        &[("/* continent=Asia */ SELECT 1 FROM City", "SW358")],
    );
    cases(
        &decider,
        "both",
        Some("app"),
        &[
            (
                "/* shard_host_HG=Asia, continent=Africa */ SELECT 1 FROM world.City",
                "asia writer: /* shard_host_HG=Asia, continent=Africa */ SELECT 1 FROM `Africa`.City",
            ),
            ("/* shard_host_HG=Asia */ SELECT 1 FROM world.City", "SW351"),
            ("/* continent=Africa */ SELECT 1 FROM world.City", "SW351"),
        ],
    );
}

fn accounts(layout: RuleLayout) -> Project {
    let mut build = Build::new();
    let clusters: Vec<ClusterId> = (0..4)
        .map(|at| build.cluster(&format!("shard-{at}"), 2))
        .collect();
    build.user("acct", clusters[0], None);
    build.user("other", clusters[1], None);
    build
        .map(
            "accounts",
            &["acct"],
            KeyKind::Integer,
            "account",
            vec![schema("acct_", Some(4))],
        )
        .rule_layout = layout;
    let shards = (0..64).map(|at| {
        (
            format!("a{at:04}"),
            integers([at]),
            Some(clusters[at as usize % 4]),
            None,
        )
    });
    build.shards(shards.collect());
    build.finish()
}

#[test]
fn schema_maps_become_fast_routing() {
    let project = accounts(RuleLayout::FastRouting);
    let compiled = compiled(&project, EngineId::Proxysql27);
    assert_eq!(compiled.configuration.graph.fast_routing.len(), 64);
    assert_eq!(compiled.stats.shard_maps["accounts"].layout, "fast_routing");
    let decider = Decider::new(&compiled);
    for at in 0..64 {
        let (schema, expected) = (format!("acct_{at:04}"), format!("shard-{} writer", at % 4));
        assert_eq!(decider.short("acct", Some(&schema), "SELECT 1 FROM t"), expected);
        assert_eq!(
            decider.short("other", Some(&schema), "SELECT 1 FROM t"),
            "shard-1 writer"
        );
    }
    cases(
        &decider,
        "acct",
        Some("information_schema"),
        &[("SELECT 1 FROM t", "SW351"), ("SET NAMES utf8", "shard-0 writer")],
    );
    let warnings = problems(&compiled, Severity::Warning);
    assert!(
        warnings.iter().any(|warning| warning.contains("is not refused")),
        "{warnings:?}"
    );
}

/// Where other schemas go, so that fast routing is as right as rules are.
const OTHERS: &str = "unknown_key: {cluster: home}\n    missing_key: {statements: {cluster: home}}\n    ";

/// A map of so many schemas on ProxySQL: its layout, what `explain` says, and the warnings about it.
fn schemas(count: u32, layout: &str, lines: &str) -> (&'static str, String, Vec<String>) {
    let project = loaded(&format!(
        "version: 1\nclusters:\n  home: {{type: single, servers: {{a: {{host: home.db}}}}}}\n\
         users:\n  app: {{password: {{env: P}}, cluster: home}}\n\
         shard_maps:\n  accounts:\n    key: {{name: account, type: integer}}\n    \
         key_from: [schema: \"acct_$(key:04)\"]\n    rule_layout: {layout}\n    {lines}\
         shards:\n      a$(n): {{for_each: {{n: 1..{count}}}, keys: [$(n)], cluster: home}}\n"
    ));
    let compiled = compiled(&project, EngineId::Proxysql27);
    let explained = compiled
        .explain("shard_maps.accounts")
        .expect("the map has rules or rows");
    let told: Vec<String> = explained
        .candidates
        .iter()
        .map(|candidate| format!("{} {:.0} ns", candidate.name, candidate.mean_cost_ns))
        .chain(explained.reason)
        .collect();
    let warnings = problems(&compiled, Severity::Warning);
    let costly = warnings.into_iter().filter(|told| told.starts_with("SW331"));
    (
        compiled.stats.shard_maps["accounts"].layout,
        told.join("\n"),
        costly.collect(),
    )
}

#[test]
fn schema_maps_take_the_layout_that_costs_least() {
    let (layout, told, costly) = schemas(6, "auto", OTHERS);
    assert_eq!((layout, costly.len()), ("flat", 0));
    insta::assert_snapshot!(told, @r"
    flat 16 ns
    fast_routing 45 ns
    flat costs least on proxysql-2.7: 16 ns; the next one (fast_routing) costs 45 ns
    ");
    let (layout, told, costly) = schemas(300, "auto", OTHERS);
    assert_eq!((layout, costly.len()), ("fast_routing", 0));
    insta::assert_snapshot!(told, @r"
    fast_routing 45 ns
    flat 692 ns
    proxysql-2.7 looks the session's schema up in a table, after all rules: one look-up for any number, where a rule for each schema costs 692 ns
    ");
    let (layout, told, costly) = schemas(300, "flat", OTHERS);
    assert_eq!(layout, "flat");
    insta::assert_snapshot!(told, @r"
    flat 692 ns
    fast_routing 45 ns
    rule_layout forces flat; fast_routing would cost 45 ns
    ");
    insta::assert_snapshot!(costly.join("\n"), @"SW331: on proxysql-2.7, `rule_layout: flat` costs 648 ns more for a statement of 150 bytes than fast_routing");
    let (layout, _, costly) = schemas(2, "fast_routing", OTHERS);
    assert_eq!((layout, costly.len()), ("fast_routing", 1));
    let (layout, told, costly) = schemas(300, "auto", "");
    assert_eq!((layout, costly.len()), ("flat", 0));
    assert_eq!(told, "flat 692 ns\nflat is the only layout");
}

#[test]
fn flat_schema_maps_refuse_what_they_do_not_hold() {
    let decider = Decider::new(&compiled(&accounts(RuleLayout::Flat), EngineId::Proxysql27));
    cases(
        &decider,
        "acct",
        Some("acct_0007"),
        &[("SELECT 1 FROM t", "shard-3 writer")],
    );
    for schema in ["acct_0064", "acct_7", "acct_00007", "app"] {
        cases(&decider, "acct", Some(schema), &[("SELECT 1 FROM t", "SW351")]);
    }
}

#[test]
fn reads_go_to_readers_when_they_provably_are() {
    let mut build = tenants(1..=12, 3);
    build
        .policy("default", &["shard-*"], ReadSelection::All)
        .writer_hint = Some(CommentHint {
        word: "primary".into(),
    });
    let project = build.finish();
    for engine in BOTH {
        let compiled = compiled(&project, engine);
        let decider = Decider::new(&compiled);
        for key in 1..=12 {
            let (reader, writer) = (format!("shard-{key:03} reader"), format!("shard-{key:03} writer"));
            let keyed = |rest: &str| format!("/* tenant={key} */ {rest}");
            for (statement, expected) in [
                (keyed("SELECT a FROM t WHERE b='x@y; FOR'"), &reader),
                (
                    keyed("(SELECT a FROM t)"),
                    if engine.is_proxysql() { &writer } else { &reader },
                ),
                (keyed("SELECT a FROM t FOR UPDATE"), &writer),
                (keyed("SELECT a FROM t FOR /* x */ UPDATE"), &writer),
                (keyed("SELECT a FROM t LOCK IN SHARE MODE"), &writer),
                (keyed("SELECT GET_LOCK('a', 1) FROM t"), &writer),
                (keyed("SELECT LAST_INSERT_ID() FROM t"), &writer),
                (keyed("SELECT @a FROM t"), &writer),
                (keyed("SELECT a INTO OUTFILE 'x' FROM t"), &writer),
                (keyed("UPDATE t SET a=1"), &writer),
                (keyed("/* primary */ SELECT a FROM t"), &writer),
            ] {
                assert_eq!(
                    decider.short("app", None, &statement),
                    *expected,
                    "{engine}: {statement}"
                );
            }
        }
        if engine == EngineId::Proxysql27 {
            let mean = (1..=12).map(|key| {
                decider
                    .decision("app", None, &format!("/* tenant={key} */ SELECT 1 FROM t"))
                    .evaluations
            });
            assert_eq!(
                compiled.stats.shard_maps["tenants"].mean_evaluations,
                f64::from(mean.sum::<u32>()) / 12.0
            );
        }
    }
}

#[test]
fn only_listed_reads_and_users_without_a_map() {
    let mut build = Build::new();
    let cluster = build.cluster("shop", 3);
    build.user("app", cluster, None);
    let only = Scope {
        match_digest: vec!["FROM products".into()],
        ..Scope::default()
    };
    build.policy("default", &[], ReadSelection::Only(vec![only]));
    let project = build.finish();
    for engine in BOTH {
        let decider = Decider::new(&compiled(&project, engine));
        cases(
            &decider,
            "app",
            None,
            &[
                ("SELECT 1 FROM products", "shop reader"),
                ("SELECT 1 FROM products FOR UPDATE", "shop writer"),
                ("SELECT 1 FROM orders", "shop writer"),
                ("DELETE FROM products", "shop writer"),
            ],
        );
    }
}

#[test]
fn raw_rules_stand_before_and_after() {
    let mut build = tenants(1..=3, 1);
    let cluster = ClusterId(0);
    let raw = build.raw();
    let applied = |pattern: &str| EngineRule {
        match_digest: Some(pattern.into()),
        apply: true,
        ..EngineRule::default()
    };
    let first = RawRule {
        rule_id: Some(100),
        cluster: Some(cluster),
        columns: applied("^SELECT . FROM report"),
        ..raw.clone()
    };
    let second = RawRule {
        columns: EngineRule {
            error_msg: Some("RAW: no".into()),
            ..applied("^DROP ")
        },
        ..raw.clone()
    };
    build.block("legacy", BlockPlace::BeforeAll, vec![first, second]);
    let last = RawRule {
        cluster: Some(ClusterId(2)),
        columns: applied("^SET "),
        ..raw.clone()
    };
    build.block("last", BlockPlace::AfterAll, vec![last]);
    let project = build.finish();
    for engine in BOTH {
        let compiled = compiled(&project, engine);
        assert!(
            compiled
                .configuration
                .graph
                .rules
                .iter()
                .any(|rule| rule.id == 100)
        );
        assert!(
            compiled
                .configuration
                .graph
                .rules
                .windows(2)
                .all(|pair| pair[0].id < pair[1].id)
        );
        cases(
            &Decider::new(&compiled),
            "app",
            None,
            &[
                ("SELECT 1 FROM report", "home writer"),
                ("/* tenant=1 */ DROP TABLE t", "RAW"),
                ("/* tenant=1 */ SET a=1", "shard-001 writer"),
                ("SET a=1", "shard-002 writer"),
                ("SHOW TABLES", "home writer"),
            ],
        );
    }
}

#[test]
fn what_an_engine_cannot_do_is_told() {
    let mut build = tenants(1..=3, 2);
    let column = Finder::Column {
        column: "tenant".into(),
        in_shards: InShards::Present,
    };
    build
        .map("columns", &["nobody"], KeyKind::Integer, "tenant", vec![column])
        .missing_key
        .begin = MissingBegin::FirstStatement;
    build.shards(vec![("a".into(), integers([1]), Some(ClusterId(0)), None)]);
    let policy = build.policy("default", &["shard-*"], ReadSelection::All);
    policy.after_write_ms = 500;
    policy.consistency = Consistency::Causal;
    let raw = build.raw();
    build.block(
        "legacy",
        BlockPlace::BeforeAll,
        vec![RawRule {
            cluster: Some(ClusterId(0)),
            ..raw
        }],
    );
    let project = build.finish();
    let report = BOTH.map(|engine| {
        let compiled = compile(&project, engine, &Lock::default(), &Options::default());
        format!(
            "{engine}\n  {}",
            problems(&compiled, Severity::Error).join("\n  ")
        )
    });
    insta::assert_snapshot!(report.join("\n"), @r"
    bundled
      SW325: this rule places statements and neither applies nor jumps, so the sections that follow place them again; add `apply: 1` or a `flagOUT`
    proxysql-2.7
      SW325: this rule places statements and neither applies nor jumps, so the sections that follow place them again; add `apply: 1` or a `flagOUT`
      SW320: proxysql-2.7 cannot open a transaction where its first statement with a key goes; the bundled engine can
      SW320: proxysql-2.7 cannot find a key in predicates on `tenant` of ``: its patterns spell ASCII letters, digits and _; the bundled engine can
      SW320: proxysql-2.7 cannot keep a session's reads on the writer after a write; bundled can; `on_unsupported: approximate` or `skip` accepts that a session that has just written may read an older state from a reader
      SW320: proxysql-2.7 cannot have readers wait for what the session has written; bundled can; `on_unsupported: approximate` or `skip` accepts that a session may read less from a reader than it has written
    ");
}

#[test]
fn a_small_graph() {
    let compiled = compiled(&tenants([1, 2, 3, 7, 17, 170], 1).finish(), EngineId::Proxysql27);
    insta::assert_snapshot!(tree::render(&compiled));
}

/// What the bundled engine says of the layout of map `two`, with what stands before and behind it.
fn not_followed(before: &str, two: &str, behind: &str) -> String {
    let topology = format!(
        "version: 1\nclusters: {{c: {{type: replication, servers: {{a: {{host: h}}, b: {{host: i}}}}}}}}\nusers: {{app: {{password: {{env: P}}, \
         cluster: c}}}}\nshard_maps:\n  {before}\n  two: {{rule_layout: flat, {two}}}\n{behind}\n"
    );
    let project = loaded(&topology);
    let compiled = compile(&project, EngineId::Bundled, &Lock::default(), &Options::default());
    assert_eq!(problems(&compiled, Severity::Error), Vec::<String>::new());
    assert_eq!(compiled.stats.shard_maps["two"].layout, "dispatch");
    let told = problems(&compiled, Severity::Info);
    let told = told.into_iter().filter(|told| told.contains("rule_layout"));
    told.collect::<Vec<_>>().join("\n")
}

/// A map in rules that leaves what it does not place to `two`.
const ONE: &str = "one: {key: {name: one, type: integer}, key_from: [comment: {}], rule_layout: flat, \
                   shards: {a: {keys: [1], cluster: c}}, otherwise: shard_maps.two}";

#[test]
fn a_layout_that_the_bundled_engine_does_not_follow_is_told_with_the_reason() {
    let map =
        "key: {name: two, type: integer}, key_from: [comment: {}], shards: {a: {keys: [1], cluster: c}}";
    let by_name = map.replace("comment: {}", "schema: s$(key)");
    let rewriting = map.replace("cluster: c}", "cluster: c, schema: s1}") + ", logical_schema: s";
    let remainders = map
        .replace("integer", "integer, modulo: 2")
        .replace("keys: [1]", "remainders: [0..1]");
    let elsewhere = format!("{map}, missing_key: {{statements: {{cluster: c}}}}");
    let behind = "query_rules: {late: {at: {after: shard_maps.two}, rules: [{match_digest: x, error_msg: no, apply: 1}]}}";
    let cases = [
        ("", &*by_name, ""),
        ("", &rewriting, ""),
        ("", &remainders, ""),
        ("", map, behind),
        (ONE, map, ""),
        ("", &elsewhere, "read_write_policies: {p: {reads: {all: true}}}"),
    ];
    let told = cases.map(|(before, map, behind)| not_followed(before, map, behind));
    insta::assert_snapshot!(told.join("\n"), @r"
    SW322: on bundled, `rule_layout` is ignored, and dispatch looks the keys up: rules find a key as dispatch does in comments only
    SW322: on bundled, `rule_layout` is ignored, and dispatch looks the keys up: rules do not see which schemas a statement names
    SW322: on bundled, `rule_layout` is ignored, and dispatch looks the keys up: rules cannot place by the remainder of a key
    SW322: on bundled, `rule_layout` is ignored, and dispatch looks the keys up: raw rules after it would be needed twice, but each has only one id
    SW322: on bundled, `rule_layout` is ignored, and dispatch looks the keys up: `otherwise` joins it with shard_maps.two, and rules do not compare what two maps find
    SW322: on bundled, `rule_layout` is ignored, and dispatch looks the keys up: `otherwise` joins it with shard_maps.one, and rules do not compare what two maps find
    SW322: on bundled, `rule_layout` is ignored, and dispatch looks the keys up: read_write_policies.p sends reads of c to readers, and rules cannot keep statements on its writer
    ");
}
