//! ProxySQL places a statement where the map says, or refuses it: maps that compose or follow each other, names beside
//! comments, keys that are written differently.

use shardwright_rules::EngineId;

use crate::support::*;

const SERVERS: &str = r#"
version: 1
clusters:
  c$(n): {for_each: {n: 0..9}, type: single, servers: {db: {host: "c$(n).db"}}}
users:
  app: {password: {env: P}, cluster: c0, schema: app}
  u_$(n:02): {for_each: {n: 1..3}, password: {env: P}, cluster: c0}
  at_one: {password: {env: P}, cluster: c0, schema: s_01}
  at_none: {password: {env: P}, cluster: c0, schema: s_99}
shard_maps:
"#;

/// A user, the session's schema, a statement, and what every engine says, or `BUNDLED | PROXYSQL`.
type Asked<'a> = (&'a str, Option<&'a str>, &'a str, &'a str);

/// Decides on every engine. Names are compared without backquotes.
fn check(maps: &str, asked: &[Asked<'_>]) {
    let project = loaded(&format!("{SERVERS}{maps}"));
    for engine in EngineId::ALL {
        let decider = Decider::new(&compiled(&project, engine));
        for (user, schema, statement, expected) in asked {
            let expected = match expected.split_once(" | ") {
                Some((bundled, _)) if engine == EngineId::Bundled => bundled,
                Some((_, proxysql)) => proxysql,
                None => expected,
            };
            let answer = decider.short(user, *schema, statement).replace('`', "");
            assert_goes(
                &answer,
                expected,
                &format!("{engine}: {user} {schema:?}: {statement}"),
            );
        }
    }
}

const TENANTS_BY_SCHEMA: &str = r#"
  tenants:
    logical_schema: shop
    key: {name: tenant, type: integer}
    key_from: [comment: {}]
    shards: {t$(n): {for_each: {n: 1..9}, keys: [$(n)], schema: shop_$(n)}}
"#;

#[test]
fn a_cluster_for_missing_keys_leaves_the_schema_to_the_next_map() {
    let regions = r#"
  regions:
    key: {name: region, type: text}
    key_from: [comment: {}]
    missing_key: {statements: {cluster: c4}}
    shards: {e: {keys: [eu], cluster: c1}}
"#;
    check(
        &format!("{regions}{TENANTS_BY_SCHEMA}"),
        &[
            (
                "app",
                None,
                "/* tenant=7 */ DELETE FROM shop.orders",
                "c4 writer: /* tenant=7 */ DELETE FROM shop_7.orders",
            ),
            (
                "app",
                None,
                "/* region=eu, tenant=7 */ DELETE FROM shop.orders",
                "c1 writer: /* region=eu, tenant=7 */ DELETE FROM shop_7.orders",
            ),
            ("app", None, "DELETE FROM shop.orders", "SW351"),
            ("app", None, "/* tenant=99 */ DELETE FROM shop.orders", "SW352"),
            ("app", None, "SET a=1", "c0 writer"),
        ],
    );
}

#[test]
fn a_cluster_for_unknown_keys_leaves_the_schema_to_the_next_map() {
    let regions = r#"
  regions:
    key: {name: region, type: text}
    key_from: [comment: {}]
    unknown_key: {cluster: c4}
    shards: {e: {keys: [eu], cluster: c1}}
"#;
    let rewritten = "c4 writer: /* region=xx, tenant=7 */ DELETE FROM shop_7.orders";
    check(
        &format!("{regions}{TENANTS_BY_SCHEMA}"),
        &[
            (
                "app",
                None,
                "/* region=xx, tenant=7 */ DELETE FROM shop.orders",
                rewritten,
            ),
            ("app", None, "/* region=xx */ DELETE FROM shop.orders", "SW351"),
        ],
    );
    // The other way round: the cluster of an unknown tenant is not the last word.
    let tenants = TENANTS_BY_SCHEMA.replace("    shards:", "    unknown_key: {cluster: c4}\n    shards:");
    check(
        &format!(
            "{tenants}{}",
            regions.replace("    unknown_key: {cluster: c4}\n", "")
        ),
        &[
            (
                "app",
                None,
                "/* region=eu, tenant=99 */ DELETE FROM shop.orders",
                "c1 writer",
            ),
            ("app", None, "/* tenant=99 */ DELETE FROM shop.orders", "SW351"),
        ],
    );
}

#[test]
fn a_map_between_two_that_follow_each_other_is_asked() {
    let regions = r#"
  regions:
    key: {name: region, type: text}
    key_from: [comment: {}]
    otherwise: shard_maps.zones
    shards: {e: {keys: [eu], cluster: c1}}
"#;
    let zones = r#"
  zones:
    key: {name: zone, type: integer}
    key_from: [comment: {}]
    shards: {z: {keys: [1], cluster: c2}}
"#;
    check(
        &format!("{regions}{TENANTS_BY_SCHEMA}{zones}"),
        &[
            (
                "app",
                None,
                "/* zone=1, tenant=7 */ DELETE FROM shop.orders",
                "c2 writer: /* zone=1, tenant=7 */ DELETE FROM shop_7.orders",
            ),
            ("app", None, "/* zone=1 */ DELETE FROM shop.orders", "SW351"),
            ("app", None, "/* tenant=7 */ DELETE FROM shop.orders", "SW351"),
        ],
    );
}

#[test]
fn a_session_in_the_schema_of_a_shard_takes_no_other_key() {
    let maps = r#"
  tenants:
    key: {name: tenant, type: integer}
    key_from: [{schema: "s_$(key:02)"}, {comment: {}}]
    shards: {t$(n): {for_each: {n: 1..3}, keys: [$(n)], cluster: c$(n)}}
"#;
    let two = "/* tenant=2 */ DELETE FROM t";
    check(
        maps,
        &[
            ("at_one", Some("s_01"), two, "SW353 | SW355"),
            ("at_one", Some("s_03"), two, "SW353 | SW355"),
            ("at_one", Some("s_02"), two, "c2 writer"),
            ("at_none", Some("s_99"), two, "SW353 | SW355"),
            ("app", Some("app"), two, "c2 writer"),
            ("at_one", Some("s_01"), "DELETE FROM t", "c1 writer"),
        ],
    );
}

#[test]
fn percent_encoded_keys_are_refused() {
    let texts = r#"
  tenants:
    key: {name: tenant, type: text}
    key_from: [{comment: {format: sqlcommenter}}]
    unknown_key: {cluster: c5}
    missing_key: {statements: allow}
    shards: {a: {keys: ["a%20b"], cluster: c1}, b: {keys: ["a b"], cluster: c2}, c: {keys: [eu], cluster: c3}}
"#;
    check(
        texts,
        &[
            (
                "app",
                None,
                "/*tenant='a%20b'*/ DELETE FROM t",
                "c2 writer | SW351",
            ),
            ("app", None, "/*tenant='a b'*/ DELETE FROM t", "c2 writer"),
            (
                "app",
                None,
                "/*tenant='e%75'*/ DELETE FROM t",
                "c3 writer | SW351",
            ),
            ("app", None, "/*tenant=e%75*/ DELETE FROM t", "c3 writer | SW351"),
            ("app", None, "/*tenant='eu'*/ SELECT '100%' FROM t", "c3 writer"),
            (
                "app",
                None,
                "/*route='%2Fx',tenant='eu'*/ DELETE FROM t",
                "c3 writer",
            ),
            ("app", None, "/*route='%2Fx'*/ DELETE FROM t", "c0 writer"),
            (
                "app",
                None,
                "/*t%65nant='eu'*/ DELETE FROM t",
                "c3 writer | SW351",
            ),
            (
                "app",
                None,
                "/*%54enan%74='eu'*/ DELETE FROM t",
                "c3 writer | SW351",
            ),
            ("app", None, "/*tenant='eu',t%65nant='x'*/ DELETE FROM t", "SW353"),
        ],
    );
}

const REGIONS: &str = r#"
  regions:
    key: {name: region, type: text}
    key_from: [comment: {}]
    otherwise: shard_maps.zones
    shards: {x: {keys: [eu], cluster: c1}, y: {keys: [us], cluster: c6}}
  zones:
    key: {name: zone, type: integer}
    key_from: [comment: {}]
    missing_key: {statements: {cluster: c9}}
    shards: {z: {keys: [1], cluster: c7}}
"#;

#[test]
fn a_user_with_a_key_and_a_comment_of_a_later_map() {
    let users = r#"
  tenants:
    key: {name: tenant, type: integer}
    key_from: [user: "u_$(key:02)"]
    otherwise: shard_maps.regions
    shards: {a: {keys: [1], cluster: c1}, b: {keys: [2], cluster: c2}}
"#;
    let asked = [
        ("u_02", None, "DELETE FROM t", "c2 writer"),
        ("u_02", None, "/* region=us */ DELETE FROM t", "SW353"),
        ("u_02", None, "/* zone=1 */ DELETE FROM t", "SW353"),
        ("u_02", None, "/* region=zz */ DELETE FROM t", "SW352 | SW353"),
        ("u_02", None, "SELECT 'x' FROM t /* region=us */", "SW353"),
        ("app", None, "/* region=us */ DELETE FROM t", "c6 writer"),
        ("app", None, "/* zone=1 */ DELETE FROM t", "c7 writer"),
        ("app", None, "DELETE FROM t", "c9 writer"),
    ];
    check(&format!("{users}{REGIONS}"), &asked);
    let both = users.replace(
        "[user: \"u_$(key:02)\"]",
        "[{user: \"u_$(key:02)\"}, {comment: {}}]",
    );
    check(&format!("{both}{REGIONS}"), &asked);
    check(
        &format!("{both}{REGIONS}"),
        &[
            ("u_02", None, "/* tenant=2 */ DELETE FROM t", "c2 writer"),
            ("u_02", None, "/* tenant=2, region=us */ DELETE FROM t", "SW353"),
        ],
    );
}

#[test]
fn a_schema_with_a_key_and_a_comment_of_a_later_map() {
    let schemas = r#"
  tenants:
    key: {name: tenant, type: integer}
    key_from: [schema: "s_$(key:02)"]
    otherwise: shard_maps.regions
    shards: {a: {keys: [1], cluster: c1}, b: {keys: [2], cluster: c2}}
"#;
    check(
        &format!("{schemas}{REGIONS}"),
        &[
            ("app", Some("s_02"), "DELETE FROM t", "c2 writer"),
            ("app", Some("s_02"), "/* region=us */ DELETE FROM t", "SW353"),
            ("app", Some("s_02"), "/* zone=1 */ DELETE FROM t", "SW353"),
            ("app", Some("s_50"), "/* region=us */ DELETE FROM t", "SW352"),
            ("at_none", Some("s_99"), "/* region=us */ DELETE FROM t", "SW352"),
            ("app", Some("app"), "/* region=us */ DELETE FROM t", "c6 writer"),
            ("app", Some("app"), "DELETE FROM t", "c9 writer"),
        ],
    );
}

#[test]
fn comments_of_three_maps_that_follow_each_other() {
    let tenants = r#"
  tenants:
    key: {name: tenant, type: integer}
    key_from: [comment: {}]
    otherwise: shard_maps.regions
    shards: {a: {keys: [1], cluster: c1}, b: {keys: [2], cluster: c2}}
"#;
    check(
        &format!("{tenants}{REGIONS}"),
        &[
            ("app", None, "/* tenant=2 */ DELETE FROM t", "c2 writer"),
            ("app", None, "/* tenant=2, region=us */ DELETE FROM t", "SW353"),
            ("app", None, "/* tenant=2, zone=1 */ DELETE FROM t", "SW353"),
            (
                "app",
                None,
                "/* tenant=2 */ SELECT 'x' FROM t /* region=us */",
                "SW353",
            ),
            ("app", None, "/* zone=1 */ DELETE FROM t", "c7 writer"),
        ],
    );
}

/// A map by schemas, or by schemas and comments, with lines of its own.
fn by_schema(finders: &str, lines: &str) -> String {
    format!(
        "  tenants:\n    key: {{name: tenant, type: integer}}\n    key_from: [{finders}]\n{lines}    \
         shards: {{t$(n): {{for_each: {{n: 1..3}}, keys: [$(n)], cluster: c$(n)}}}}\n"
    )
}

#[test]
fn a_schema_of_no_shard_is_an_unknown_key() {
    for finders in [
        "{schema: \"s_$(key:02)\"}",
        "{schema: \"s_$(key:02)\"}, {comment: {}}",
    ] {
        let elsewhere = "    unknown_key: {cluster: c5}\n    missing_key: {statements: allow}\n    \
                         applies_to: {except_schemas: [reports]}\n";
        check(
            &by_schema(finders, elsewhere),
            &[
                ("app", Some("s_02"), "DELETE FROM t", "c2 writer"),
                ("app", Some("s_50"), "DELETE FROM t", "c5 writer | SW352"),
                ("at_none", Some("s_99"), "DELETE FROM t", "c5 writer"),
                ("app", Some("app"), "DELETE FROM t", "c0 writer"),
                ("app", Some("reports"), "DELETE FROM t", "c0 writer"),
                ("app", Some("others"), "DELETE FROM t", "c0 writer | SW352"),
                ("app", Some("others"), "USE app", "c0 writer"),
            ],
        );
        let missing = "    missing_key: {statements: {cluster: c4}}\n";
        check(
            &by_schema(finders, missing),
            &[
                ("app", Some("s_50"), "DELETE FROM t", "SW352"),
                ("at_none", Some("s_99"), "DELETE FROM t", "SW352"),
                ("app", Some("app"), "DELETE FROM t", "c4 writer"),
            ],
        );
    }
}

#[test]
fn the_chosen_layout_of_many_schemas_refuses_what_the_map_refuses() {
    let shards = "shards: {t$(n): {for_each: {n: 1..40}, keys: [$(n)], cluster: c1}}";
    let many = |lines: &str| {
        format!(
            "  tenants:\n    key: {{name: tenant, type: integer}}\n    key_from: [schema: \"s_$(key:02)\"]\n{lines}    {shards}\n"
        )
    };
    check(
        &many(""),
        &[
            ("app", Some("s_40"), "DELETE FROM t", "c1 writer"),
            ("app", Some("s_41"), "DELETE FROM t", "SW352 | SW351"),
            ("app", Some("x"), "DELETE FROM t", "SW351"),
        ],
    );
    let layout = |lines: &str| {
        let project = loaded(&format!("{SERVERS}{}", many(lines)));
        compiled(&project, EngineId::Proxysql27).stats.shard_maps["tenants"].layout
    };
    assert_eq!(layout(""), "flat");
    assert_eq!(layout("    missing_key: {statements: allow}\n"), "flat");
    assert_eq!(layout("    rule_layout: fast_routing\n"), "fast_routing");
    let same = "    unknown_key: {cluster: c5}\n    missing_key: {statements: {cluster: c5}}\n";
    assert_eq!(layout(same), "fast_routing");
}

#[test]
fn a_comment_of_another_form_has_no_key() {
    let maps = r#"
  tenants:
    key: {name: tenant, type: integer}
    key_from: [{comment: {exact: "$(key:03)"}}]
    unknown_key: {cluster: c5}
    shards: {a: {keys: [1], cluster: c1}}
"#;
    check(
        maps,
        &[
            ("app", None, "/*001*/ DELETE FROM t", "c1 writer"),
            ("app", None, "/*1*/ DELETE FROM t", "SW351"),
            ("app", None, "/*0001*/ DELETE FROM t", "SW351"),
            ("app", None, "/*-01*/ DELETE FROM t", "SW351"),
            ("app", None, "/*1000*/ DELETE FROM t", "c5 writer"),
            ("app", None, "/*9223372036854775807*/ DELETE FROM t", "c5 writer"),
            ("app", None, "/*9223372036854775808*/ DELETE FROM t", "SW351"),
        ],
    );
    check(
        &maps.replace("$(key:03)", "t$(key)"),
        &[
            ("app", None, "/*t1*/ DELETE FROM t", "c1 writer"),
            ("app", None, "/*t-1*/ DELETE FROM t", "c5 writer"),
            ("app", None, "/*t01*/ DELETE FROM t", "SW351"),
            ("app", None, "/*t-0*/ DELETE FROM t", "SW351"),
            ("app", None, "/*t+1*/ DELETE FROM t", "SW351"),
        ],
    );
}

#[test]
fn the_logical_schema_in_another_case_is_refused() {
    let maps = TENANTS_BY_SCHEMA.replace("shop\n", "w\n");
    check(
        &maps,
        &[
            ("app", None, "/* tenant=1 */ DELETE FROM W.t", "SW358 | SW354"),
            (
                "app",
                None,
                "/* tenant=1 */ DELETE FROM w.t",
                "c0 writer: /* tenant=1 */ DELETE FROM shop_1.t",
            ),
        ],
    );
}

#[test]
fn the_longest_name_of_a_logical_schema_has_a_pattern() {
    let name = "ab_".repeat(21) + "z";
    let other = name.replace('z', "Z");
    check(
        &TENANTS_BY_SCHEMA.replace("logical_schema: shop\n", &format!("logical_schema: {name}\n")),
        &[
            (
                "app",
                None,
                &format!("/* tenant=1 */ DELETE FROM {other}.t"),
                "SW358 | SW354",
            ),
            (
                "app",
                None,
                &format!("/* tenant=1 */ DELETE FROM {name}.t"),
                "c0 writer: /* tenant=1 */ DELETE FROM shop_1.t",
            ),
        ],
    );
}

#[test]
fn calls_without_a_table_are_session_setup_or_refused() {
    let maps = r#"
  tenants:
    key: {name: tenant, type: integer}
    key_from: [comment: {}]
    missing_key: {statements: {cluster: c4}}
    shards: {a: {keys: [1], cluster: c1}}
"#;
    check(
        maps,
        &[
            ("app", None, "SELECT 1", "c0 writer"),
            ("app", None, "SELECT VERSION()", "c0 writer"),
            ("app", None, "SELECT GET_LOCK('a',1)", "c0 writer | SW351"),
            ("app", None, "SELECT LOAD_FILE('a')", "c0 writer | SW351"),
            ("app", None, "(SELECT 1)", "c0 writer | SW351"),
            ("app", None, "SELECT stored(1)", "c4 writer | SW351"),
            ("app", None, "SELECT stored(a) FROM t", "c4 writer"),
            ("app", None, "(SELECT a FROM t)", "c4 writer"),
            ("app", None, "DELETE FROM t", "c4 writer"),
        ],
    );
}
