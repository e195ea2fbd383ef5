//! The examples of a plan: one statement for each kind of change, as people write it, with what it concerns.

use crate::fleets::{ENGINES, Fleet};

/// 200 tenants on two clusters, of which the first `moved` are on the second one; with more sections.
fn tenants(fleet: &Fleet, moved: u32, users: &str, more: &str) {
    let shard = |n: u32| {
        let cluster = if n <= moved { "two" } else { "one" };
        format!("      t{n}: {{keys: [{n}], cluster: {cluster}}}\n")
    };
    let shards: String = (1..=200).map(shard).collect();
    let text = format!(
        "version: 1
clusters:
  one: {{type: replication, servers: {{a: {{host: one.db}}, b: {{host: two.db}}}}}}
  two: {{type: replication, servers: {{a: {{host: three.db}}, b: {{host: four.db}}}}}}
  app: {{type: replication, servers: {{a: {{host: five.db}}, b: {{host: six.db}}}}}}
users:
  front: {{password: {{env: APP_PASSWORD}}, cluster: one, schema: shop}}
  app: {{password: {{env: APP_PASSWORD}}, cluster: app, schema: app}}
{users}shard_maps:
  tenants:
    applies_to: {{users: [front]}}
    key: {{name: tenant, type: integer, domain: 1..200}}
    key_from: [comment: {{}}]
    shards:
{shards}{more}"
    );
    fleet.environment.write("topology/shop.yaml", text).unwrap();
}

const POLICY: &str = "read_write_policies:
  reads: {applies_to: {users: [app, batch]}, reads: {all: true}}
";
const THROTTLE: &str = "throttles:
  purge: {applies_to: {match_digest: '^DELETE FROM audit'}, delay: 50ms, reason: slow disks}
";

#[test]
fn a_plan_shows_each_kind_of_change_once() {
    for engine in ENGINES {
        let fleet = Fleet::start(engine, 1);
        let batch = "  batch: {password: {env: APP_PASSWORD}, cluster: app, schema: app}\n";
        tenants(&fleet, 20, batch, "");
        fleet.ends(0, &["apply", "--auto-approve"]);
        let report = "  batch: {password: {env: APP_PASSWORD}, cluster: app, schema: app}\n  \
                      report: {password: {env: APP_PASSWORD}, cluster: app, schema: app}\n";
        tenants(&fleet, 100, report, &format!("{POLICY}{THROTTLE}"));
        let plan = fleet.ends(0, &["plan"]);
        let routing = plan.lines().skip_while(|line| !line.starts_with("  routing"));
        let routing = routing.skip(1).take_while(|line| line.starts_with("    "));
        let examples: Vec<&str> = routing.map(str::trim).collect();
        insta::with_settings!({filters => vec![(r"hostgroup \d+", "hostgroup #")]}, {
            insta::assert_snapshot!(format!("kinds_on_{engine}"), examples.join("\n"));
        });
    }
}

/// Rules in the engine's columns, in a block that has a name.
fn legacy(limit: &str, cluster: &str, more: &str) -> String {
    format!(
        "query_rules:
  legacy:
    rules:
      - {{rule_id: 10, match_digest: '{limit}', cluster: {cluster}, apply: 1}}
      - {{rule_id: 11, username: app, match_digest: '^SELECT .* FROM stock', cluster: a, timeout: 500, apply: 1}}
{more}"
    )
}

#[test]
fn a_changed_rule_shows_its_old_and_new_row() {
    for engine in ENGINES {
        let fleet = Fleet::start(engine, 1);
        fleet.topology(1, &legacy("^SELECT .* FROM audit", "a", ""));
        fleet.ends(0, &["apply", "--auto-approve"]);
        let more = "      - {rule_id: 12, match_digest: '^SELECT .* FROM facts', cluster: a, apply: 1}\n";
        let rules = legacy("^SELECT .* FROM audit_", "a", more).replace(", timeout: 500", "");
        fleet.topology(1, &rules);
        let plan = fleet.ends(0, &["plan"]);
        let line = |start: &str| {
            plan.lines()
                .find(|line| line.starts_with(start))
                .unwrap_or_default()
        };
        assert!(
            line("  ~ query_rules.legacy rule 10 ")
                .contains(r#" match_digest "^SELECT .* FROM audit" → "^SELECT .* FROM audit_" "#),
            "{engine}: {plan}"
        );
        assert!(
            line("  ~ query_rules.legacy rule 11 ").contains(" 500 → none "),
            "{engine}: {plan}"
        );
        assert!(
            line("  + query_rules.legacy rule 12 ").contains(r#" match_digest "^SELECT .* FROM facts""#),
            "{engine}: {plan}"
        );
    }
}
