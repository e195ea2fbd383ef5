//! Plans as reviewers and programs see them.

use std::sync::Arc;

use insta::assert_snapshot;
use shardwright_plan::render::{View, json, markdown, text};
use shardwright_plan::safety::{Limits, check};
use shardwright_plan::{Cost, Hazard, Meaning, Plan, Severity, TargetPlan, Unreachable, Witness};
use shardwright_rules::*;

use crate::fixtures::*;

/// One tenant moves; two proxies of each engine, one of which is behind.
fn fleet() -> Plan {
    let mut bundled_desired = bundled();
    map_of(&mut bundled_desired).shards[1].cluster = Some("shop-20".into());
    let mut proxysql_desired = proxysql();
    columns_of(&mut proxysql_desired, 100_137).destination_hostgroup = Some(1002);
    let hazard = Hazard {
        code: "SW412".into(),
        severity: Severity::Warning,
        message: "rules are ignored inside a transaction".into(),
        address: Some("shard_maps.tenants".into()),
        is_live: false,
    };
    let (bundled_desired, proxysql_desired) = (Arc::new(bundled_desired), Arc::new(proxysql_desired));
    let mut part = TargetPlan::new("px-a1", &running(12, &bundled()), &bundled_desired, Vec::new());
    part.effects[0].reason = Some("OPS-4411".into());
    part.cost = Some(Cost {
        mean_before_milli: 4120,
        mean_after_milli: 4100,
        worst_before: 9,
        worst_after: 9,
    });
    let twin = TargetPlan {
        name: "px-a2".into(),
        ..part.clone()
    };
    let other = TargetPlan::new("px-b1", &running(4, &proxysql()), &proxysql_desired, vec![hazard]);
    let meaning = Meaning {
        answer: "changed".into(),
        proved: true,
        summary: Some("another way for tenant=137".into()),
        witnesses: vec![Witness {
            user: "app".into(),
            schema: None,
            statement: "/* tenant=137 */ SELECT 1".into(),
            before: "shop-14 writer".into(),
            after: "shop-20 writer".into(),
            concerns: vec![concern("users", 16, 16), concern("shards", 1, 400)],
        }],
        more_kinds: 2,
    };
    let parts = vec![
        (other, proxysql_desired),
        (part, bundled_desired.clone()),
        (twin, bundled_desired),
    ];
    let away = Unreachable {
        name: "px-b7".into(),
        reason: "connection refused".into(),
    };
    Plan::new(Some("prod".into()), noon(), SIX_HOURS, Some(meaning), parts).leaving_out(vec![away])
}

fn origin(address: &Address) -> Option<String> {
    (address.as_str() == "shard_maps.tenants.shards.t137").then(|| "topology/tenants.yaml:31".to_owned())
}

fn reviewed<'a>() -> View<'a> {
    View {
        now: noon(),
        origin: &origin,
        refusals: Some(&[]),
        directory: None,
        full: false,
        color: false,
    }
}

/// Ids and fingerprints stand for contents, which the tests of saving are about.
macro_rules! assert_rendering {
    ($text:expr, @$expected:literal) => {
        insta::with_settings!({
            filters => vec![(r"\b[0-9a-f]{64}\b", "[digest]"), (r"\b[0-9a-f]{16}\b", "[digest]"), (r"\b[0-9a-f]{8}\b", "[digest]")]
        }, { assert_snapshot!($text, @$expected) })
    };
}

#[test]
fn warnings_about_what_stays_as_it_is_are_counted() {
    let warning = |code: &str, address: &str| Hazard {
        code: code.into(),
        severity: Severity::Warning,
        message: "careful".into(),
        address: Some(address.into()),
        is_live: false,
    };
    let warned = |part: TargetPlan| {
        part.warned_of(vec![
            warning("SW610", "query_rules.legacy.rules[1]"),
            warning("SW231", "query_rules.legacy.rules[2]"),
            warning("SW610", "query_rules.legacy.rules[3]"),
            // A part of it changes; of targets; an error.
            warning("SW412", "shard_maps.tenants"),
            warning("SW833", "users.app"),
            Hazard {
                severity: Severity::Error,
                ..warning("SW244", "users.app")
            },
        ])
    };
    let plan = fleet();
    let parts = plan.targets.iter().cloned().map(|mut part| {
        part.hazards.clear();
        let desired = Arc::clone(&plan.configurations[&part.desired]);
        (if part.name == "px-b1" { part } else { warned(part) }, desired)
    });
    let mut parts: Vec<_> = parts.collect();
    // Of two targets that are alike, one has a hazard of its own.
    parts[1].0 = parts[1].0.clone().warned_of(vec![Hazard {
        severity: Severity::Error,
        ..warning("SW838", "query_rules.legacy.rules[9]")
    }]);
    let plan = Plan::new(None, noon(), SIX_HOURS, None, parts);
    let shown = |text: &str| -> Vec<String> {
        let about = |line: &&str| line.contains("careful") || line.contains("stays as it is");
        text.lines()
            .filter(about)
            .map(|line| line.trim().to_owned())
            .collect()
    };
    assert_snapshot!(shown(&text(&plan, &reviewed())).join("\n"), @"
    hazard    warning[SW412] shard_maps.tenants: careful
    hazard    warning[SW833] users.app: careful
    hazard    error[SW244] users.app: careful
    hazard    error[SW838] query_rules.legacy.rules[9]: careful (on px-a2)
    hazards   3 warnings about what stays as it is: SW231, SW610 ×2; shardwright lint has them
    ");
    assert_eq!(shown(&markdown(&plan, &reviewed())).len(), 5);
}

#[test]
fn a_fleet_as_text() {
    assert_rendering!(text(&fleet(), &reviewed()), @"
    plan [digest]  prod  3 targets  2 bases  engines bundled, proxysql-2.7
      routing   another way for tenant=137
        /* tenant=137 */ SELECT 1  of app: shop-14 writer → shop-20 writer (all 16 users, 1 of 400 shards)
        and 2 more kinds of change
      on px-a1, px-a2
      ~ tenants/t137  cluster shop-14 → shop-20 (OPS-4411)  topology/tenants.yaml:31
      objects   0 rules of 3, 1 shard of 2, 0 hostgroups, 0 servers, 0 users
      cost      regex evaluations per statement, mean 4.1 → 4.1, worst 9 → 9
      on px-b1
      ~ tenants/t137  cluster shop-14 → shop-20, 1 rule (~1)  topology/tenants.yaml:31
      objects   1 rule of 4, 0 fast routes of 1, 1 shard of 3, 0 hostgroups, 0 servers, 0 users
      hazard    warning[SW412] shard_maps.tenants: rules are ignored inside a transaction
      targets   2 identical, px-b1 by itself, px-b7 unreachable
      safety    inside limits; expires in 6 h; effects [digest]
    ");
}

#[test]
fn a_fleet_as_markdown() {
    assert_rendering!(markdown(&fleet(), &reviewed()), @r"
    <!-- shardwright:plan env=prod -->
    ### Plan `[digest]` for prod

    **routing** another way for tenant=137

    * /\* tenant=137 \*/ SELECT 1  of app: shop-14 writer → shop-20 writer (all 16 users, 1 of 400 shards)
    * and 2 more kinds of change

    **px-a1, px-a2**

    | | object | change | where |
    |---|---|---|---|
    | ~ | tenants/t137 | cluster shop-14 → shop-20 (OPS-4411) | topology/tenants.yaml:31 |

    * objects: 0 rules of 3, 1 shard of 2, 0 hostgroups, 0 servers, 0 users
    * cost: regex evaluations per statement, mean 4.1 → 4.1, worst 9 → 9

    **px-b1**

    | | object | change | where |
    |---|---|---|---|
    | ~ | tenants/t137 | cluster shop-14 → shop-20, 1 rule (\~1) | topology/tenants.yaml:31 |

    * objects: 1 rule of 4, 0 fast routes of 1, 1 shard of 3, 0 hostgroups, 0 servers, 0 users
    * **warning** `SW412` shard\_maps.tenants: rules are ignored inside a transaction

    * targets: 2 identical, px-b1 by itself, px-b7 unreachable
    * inside limits
    * expires in 6 h
    * effects [digest]
    ");
}

#[test]
fn a_fleet_as_json() {
    let mut printed: serde_json::Value = serde_json::from_str(&json(&fleet())).unwrap();
    let targets = printed["per_target"].as_array_mut().unwrap();
    let counts: Vec<_> = targets.iter_mut().map(|target| target["counts"].take()).collect();
    let shards = serde_json::json!({"added": 0, "changed": 1, "removed": 0, "total": 2});
    assert_eq!(counts[0]["shards"], shards);
    assert_rendering!(serde_json::to_string_pretty(&printed).unwrap(), @r#"
    {
      "schema_version": 1,
      "id": "[digest]",
      "created_at": "2026-03-01T12:00:00Z",
      "expires_at": "2026-03-01T18:00:00Z",
      "environment": "prod",
      "base": null,
      "targets": [
        "px-a1",
        "px-a2",
        "px-b1"
      ],
      "unreachable": [
        {
          "name": "px-b7",
          "reason": "connection refused"
        }
      ],
      "generation": null,
      "moves": [],
      "effects": [
        {
          "action": "change",
          "address": "shard_maps.tenants.shards.t137",
          "old": {
            "cluster": "shop-14"
          },
          "new": {
            "cluster": "shop-20"
          },
          "reason": "OPS-4411",
          "targets": [
            "px-a1",
            "px-a2"
          ]
        },
        {
          "action": "change",
          "address": "shard_maps.tenants.shards.t137",
          "old": {
            "cluster": "shop-14"
          },
          "new": {
            "cluster": "shop-20"
          },
          "rows": [
            {
              "action": "change",
              "row": {
                "rule": 100137
              },
              "old": {
                "destination_hostgroup": 1000
              },
              "new": {
                "destination_hostgroup": 1002
              }
            }
          ],
          "targets": [
            "px-b1"
          ]
        }
      ],
      "meaning": {
        "answer": "changed",
        "proved": true,
        "summary": "another way for tenant=137",
        "witnesses": [
          {
            "user": "app",
            "statement": "/* tenant=137 */ SELECT 1",
            "before": "shop-14 writer",
            "after": "shop-20 writer",
            "concerns": [
              {
                "things": "users",
                "concerned": 16,
                "total": 16
              },
              {
                "things": "shards",
                "concerned": 1,
                "total": 400
              }
            ]
          }
        ],
        "more_kinds": 2
      },
      "hazards": [
        {
          "code": "SW412",
          "severity": "warning",
          "message": "rules are ignored inside a transaction",
          "address": "shard_maps.tenants"
        }
      ],
      "steps": 3,
      "effect_digest": "[digest]",
      "per_target": [
        {
          "name": "px-a1",
          "engine": "bundled",
          "base": {
            "generation": 12,
            "fingerprint": "[digest]"
          },
          "desired": "[digest]",
          "counts": null,
          "cost": {
            "mean_before_milli": 4120,
            "mean_after_milli": 4100,
            "worst_before": 9,
            "worst_after": 9
          },
          "effect_digest": "[digest]"
        },
        {
          "name": "px-a2",
          "engine": "bundled",
          "base": {
            "generation": 12,
            "fingerprint": "[digest]"
          },
          "desired": "[digest]",
          "counts": null,
          "cost": {
            "mean_before_milli": 4120,
            "mean_after_milli": 4100,
            "worst_before": 9,
            "worst_after": 9
          },
          "effect_digest": "[digest]"
        },
        {
          "name": "px-b1",
          "engine": "proxysql-2.7",
          "base": {
            "generation": 4,
            "fingerprint": "[digest]"
          },
          "desired": "[digest]",
          "counts": null,
          "cost": null,
          "effect_digest": "[digest]"
        }
      ]
    }
    "#);
}

#[test]
fn no_changes() {
    let plan = plan_for(&["local"], &running(12, &bundled()), &bundled());
    assert!(!plan.has_changes());
    assert_rendering!(text(&plan, &view(false)), @"
    plan [digest]  local  base [digest]  engine bundled
      no changes: local runs this configuration as generation 12
    ");
    assert_rendering!(markdown(&plan, &view(false)), @"
    <!-- shardwright:plan -->
    ### Plan `[digest]`

    no changes: local runs this configuration as generation 12
    ");
    let printed: serde_json::Value = serde_json::from_str(&json(&plan)).unwrap();
    assert_eq!(printed["effects"], serde_json::json!([]));
    assert_eq!(printed["steps"], 0);
}

#[test]
fn a_target_that_needs_nothing_beside_one_that_does() {
    let mut desired = bundled();
    map_of(&mut desired).shards[1].cluster = Some("shop-20".into());
    let desired = Arc::new(desired);
    let part = |name, observed| {
        let part = TargetPlan::new(name, &running(7, observed), &desired, Vec::new());
        (part, desired.clone())
    };
    let parts = vec![part("behind", &bundled()), part("there", &desired)];
    let plan = Plan::new(None, noon(), SIX_HOURS, None, parts);
    assert_rendering!(text(&plan, &view(false)), @"
    plan [digest]  2 targets  2 bases  engine bundled
      on behind
      ~ tenants/t137  cluster shop-14 → shop-20
      objects   0 rules of 3, 1 shard of 2, 0 hostgroups, 0 servers, 0 users
      on there
      no changes
      targets   behind by itself, there by itself
      safety    expires in 6 h; effects [digest]
    ");
    assert_rendering!(markdown(&plan, &view(false)), @"
    <!-- shardwright:plan -->
    ### Plan `[digest]`

    **behind**

    | | object | change | where |
    |---|---|---|---|
    | ~ | tenants/t137 | cluster shop-14 → shop-20 |  |

    * objects: 0 rules of 3, 1 shard of 2, 0 hostgroups, 0 servers, 0 users

    **there**

    no changes

    * targets: behind by itself, there by itself
    * expires in 6 h
    * effects [digest]
    ");
}

#[test]
fn a_first_plan_that_breaks_a_limit_and_has_expired() {
    let plan = plan_for(&["local"], &blank(), &bundled());
    let limits = Limits {
        protect: vec!["*".into()],
        ..Limits::default()
    };
    let now = "2026-03-01T20:30:00Z".parse().unwrap();
    let gone = plan_for(
        &["local"],
        &running(3, &bundled()),
        &Configuration::empty(EngineId::Bundled),
    );
    let refusals = check(&gone, &limits, now, &[]);
    let view = View {
        now,
        refusals: Some(&refusals),
        ..reviewed()
    };
    assert_rendering!(text(&plan, &View { refusals: Some(&[]), ..reviewed() }), @"
    plan [digest]  local  base empty  engine bundled
      + clusters.shop-14             type replication, read_only_check read_only, writer_serves_reads last_resort, writer_hostgroup 1000, reader_hostgroup 1001, writers [s1], readers [s2, s1]
      + clusters.shop-14.servers.s1  roles [writer, reader], host shop-14-s1.db, port 3306, weight 1, reader_tier 1, max_connections 400, max_replication_lag_s 5, status online
      + clusters.shop-14.servers.s2  roles [reader], host shop-14-s2.db, port 3306, weight 1, max_connections 400, max_replication_lag_s 5, status online
      + clusters.shop-20             type replication, read_only_check read_only, writer_serves_reads last_resort, writer_hostgroup 1002, reader_hostgroup 1003, writers [s1], readers [s2, s1]
      + clusters.shop-20.servers.s1  roles [writer, reader], host shop-20-s1.db, port 3306, weight 1, reader_tier 1, max_connections 400, max_replication_lag_s 5, status online
      + clusters.shop-20.servers.s2  roles [reader], host shop-20-s2.db, port 3306, weight 1, max_connections 400, max_replication_lag_s 5, status online
      + users.app                    password {env: APP_PASSWORD}, default_schema app, max_connections 2000, transaction_persistent true, annotations_allowed false, cluster shop-14
      + shard_maps.tenants           key tenant, type integer, key_from [{comment: {word: tenant, form: pairs}}], conflict reject, unqualified reject, missing_key {statements: reject, session_setup: allow, begin: reject}, unknown_key reject, applies_to {users: [app]}, 1 rule (+1)
      + tenants/t136                 cluster shop-14, keys [136]
      + tenants/t137                 cluster shop-14, keys [137]                                   topology/tenants.yaml:31
      + read_write_policies.default  reads all, after_write_ms 500, session_functions_on_readers false, applies_to {users: [app]}, 1 rule (+1)
      + throttles.purge              delay_ms 5, applies_to {users: [app]}, 1 rule (+1)
      objects   3 rules of 3, 2 shards of 2, 4 hostgroups, 4 servers, 1 user
      safety    inside limits; expires in 6 h; effects [digest]
    ");
    assert_rendering!(text(&gone, &view), @"
    plan [digest]  local  base [digest]  engine bundled
      - clusters.shop-14             type replication, read_only_check read_only, writer_serves_reads last_resort, writer_hostgroup 1000, reader_hostgroup 1001, writers [s1], readers [s2, s1]
      - clusters.shop-14.servers.s1  roles [writer, reader], host shop-14-s1.db, port 3306, weight 1, reader_tier 1, max_connections 400, max_replication_lag_s 5, status online
      - clusters.shop-14.servers.s2  roles [reader], host shop-14-s2.db, port 3306, weight 1, max_connections 400, max_replication_lag_s 5, status online
      - clusters.shop-20             type replication, read_only_check read_only, writer_serves_reads last_resort, writer_hostgroup 1002, reader_hostgroup 1003, writers [s1], readers [s2, s1]
      - clusters.shop-20.servers.s1  roles [writer, reader], host shop-20-s1.db, port 3306, weight 1, reader_tier 1, max_connections 400, max_replication_lag_s 5, status online
      - clusters.shop-20.servers.s2  roles [reader], host shop-20-s2.db, port 3306, weight 1, max_connections 400, max_replication_lag_s 5, status online
      - users.app                    password {env: APP_PASSWORD}, default_schema app, max_connections 2000, transaction_persistent true, annotations_allowed false, cluster shop-14
      - shard_maps.tenants           key tenant, type integer, key_from [{comment: {word: tenant, form: pairs}}], conflict reject, unqualified reject, missing_key {statements: reject, session_setup: allow, begin: reject}, unknown_key reject, applies_to {users: [app]}, 1 rule (-1)
      - tenants/t136                 cluster shop-14, keys [136]
      - tenants/t137                 cluster shop-14, keys [137]                                   topology/tenants.yaml:31
      - read_write_policies.default  reads all, after_write_ms 500, session_functions_on_readers false, applies_to {users: [app]}, 1 rule (-1)
      - throttles.purge              delay_ms 5, applies_to {users: [app]}, 1 rule (-1)
      objects   3 rules of 3, 2 shards of 2, 4 hostgroups, 4 servers, 1 user
      safety    safety.protect: 12 protected objects would be different on local (clusters.shop-14, clusters.shop-14.servers.s1, clusters.shop-14.servers.s2, clusters.shop-20, clusters.shop-20.servers.s1, …); allow it with --allow protect=REASON, or take them off safety.protect in shardwright.yaml; expired 150 min ago; effects [digest]
    ");
}

#[test]
fn what_stands_in_files_cannot_break_out_of_a_rendering() {
    let mut desired = proxysql();
    columns_of(&mut desired, 100).error_msg = Some("</details>| x\n# <!-- \u{1b}[2J @all `".into());
    desired.users[0].default_schema = Some("a|b".into());
    let plan = plan_for(&["local"], &running(1, &proxysql()), &desired);
    assert_rendering!(markdown(&plan, &view(false)), @r#"
    <!-- shardwright:plan -->
    ### Plan `[digest]`

    **local**

    | | object | change | where |
    |---|---|---|---|
    | ~ | users.app | default\_schema app → "a\|b" |  |
    | ~ | query\_rules.legacy rule 100 | error\_msg none → "&lt;/details&gt;\| x\\n\# &lt;\!-- \\u001b\[2J \@all \`" |  |

    * objects: 1 rule of 4, 0 fast routes of 1, 0 shards of 3, 0 hostgroups, 0 servers, 1 user

    * expires in 6 h
    * effects [digest]
    "#);
    assert!(!text(&plan, &view(true)).contains('\u{1b}'));
}
