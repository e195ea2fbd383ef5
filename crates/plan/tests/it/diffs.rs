//! What a change to a configuration is called.

use insta::{assert_json_snapshot, assert_snapshot};
use shardwright_plan::diff;
use shardwright_rules::*;

use crate::fixtures::*;

/// What changing the bundled fixture is called.
fn bundled_change(change: impl FnOnce(&mut Configuration)) -> String {
    let mut desired = bundled();
    change(&mut desired);
    listing(&bundled(), &desired, false)
}

/// What changing the ProxySQL fixture is called, with rows.
fn proxysql_change(change: impl FnOnce(&mut Configuration)) -> String {
    let mut desired = proxysql();
    change(&mut desired);
    listing(&proxysql(), &desired, true)
}

#[test]
fn nothing() {
    assert!(diff(&bundled(), &bundled()).is_empty());
    assert!(diff(&proxysql(), &proxysql()).is_empty());
}

#[test]
fn a_shard_moves() {
    let moved = bundled_change(|c| map_of(c).shards[1].cluster = Some("shop-20".into()));
    assert_snapshot!(moved, @"
    ~ tenants/t137  cluster shop-14 → shop-20
    objects   0 rules of 3, 1 shard of 2, 0 hostgroups, 0 servers, 0 users
    ");
}

#[test]
fn shards_come_and_go() {
    let changed = bundled_change(|c| {
        let shards = &mut map_of(c).shards;
        shards.remove(0);
        shards.push(Shard {
            ranges: vec![(200, 299)],
            ..shard(1000, "shop-20")
        });
    });
    assert_snapshot!(changed, @"
    - tenants/t136   cluster shop-14, keys [136]
    + tenants/t1000  cluster shop-20, keys [1000], ranges [[200, 299]]
    objects   0 rules of 3, 2 shards of 3, 0 hostgroups, 0 servers, 0 users
    ");
}

#[test]
fn only_the_written_order_of_shards_changes() {
    let changed = bundled_change(|c| map_of(c).shards.reverse());
    insta::with_settings!({filters => vec![(r"[0-9a-f]{8}…", "[digest]…")]}, { assert_snapshot!(changed, @"
    ~ configuration  fingerprint [digest]… → [digest]… (every object is the same; their arrangement differs)
    objects   0 rules of 3, 0 shards of 2, 0 hostgroups, 0 servers, 0 users
    ") });
}

#[test]
fn values_of_a_map_a_policy_a_throttle() {
    let changed = bundled_change(|c| {
        map_of(c).unknown = UnknownKey::Cluster("shop-20".into());
        map_of(c).logical_schema = Some("shop".into());
        let Body::Native {
            step: NativeStep::Role(role),
            ..
        } = &mut c.graph.rules[1].body
        else {
            panic!()
        };
        role.reads = ReadSelection::Only(vec![Scope {
            match_digest: vec!["^SELECT .* FROM (products|reviews)".into()],
            ..Scope::default()
        }]);
        let Body::Native { step, scope } = &mut c.graph.rules[2].body else {
            panic!()
        };
        *step = NativeStep::Delay(DelayStep { delay_ms: 50 });
        scope.statements = vec![StatementKind::Delete];
    });
    assert_snapshot!(changed, @r#"
    ~ shard_maps.tenants           unknown_key reject → {cluster: shop-20}, logical_schema none → shop
    ~ read_write_policies.default  reads all → {only: [{match_digest: ["^SELECT .* FROM (products|reviews)"]}]}
    ~ throttles.purge              delay_ms 5 → 50, applies_to {users: [app]} → {statements: [delete], users: [app]}
    objects   0 rules of 3, 0 shards of 2, 0 hostgroups, 0 servers, 0 users
    "#);
}

#[test]
fn a_rule_moves_to_another_id() {
    assert_snapshot!(bundled_change(|c| c.graph.rules[2].id = 100_003), @"
    ~ throttles.purge  2 rules (+1 -1)
    objects   2 rules of 4, 0 shards of 2, 0 hostgroups, 0 servers, 0 users
    ");
}

#[test]
fn servers() {
    let changed = bundled_change(|c| {
        c.hostgroups[1].members[0].weight = 100;
        c.hostgroups[0].members[0].status = MemberStatus::Draining;
        c.hostgroups[1].members.push(member("shop-14", "s3", 1, 0));
        c.hostgroups[3].members.remove(0);
    });
    assert_snapshot!(changed, @"
    ~ clusters.shop-14.servers.s1  writer_status online → draining
    ~ clusters.shop-14.servers.s2  weight 1 → 100
    + clusters.shop-14.servers.s3  roles [reader], host shop-14-s3.db, port 3306, weight 1, max_connections 400, max_replication_lag_s 5, status online
    - clusters.shop-20.servers.s2  roles [reader], host shop-20-s2.db, port 3306, weight 1, max_connections 400, max_replication_lag_s 5, status online
    objects   0 rules of 3, 0 shards of 2, 0 hostgroups, 4 servers, 0 users
    ");
}

#[test]
fn another_server_is_preferred_as_writer() {
    let mut old = bundled();
    old.hostgroups[0].members.push(member("shop-14", "s2", 1, 0));
    let mut new = old.clone();
    new.hostgroups[0].members.reverse();
    assert_snapshot!(listing(&old, &new, false), @"
    ~ clusters.shop-14  writers [s1, s2] → [s2, s1]
    objects   0 rules of 3, 0 shards of 2, 0 hostgroups, 0 servers, 0 users
    ");
}

#[test]
fn users_and_settings() {
    let changed = bundled_change(|c| {
        c.users[0].default_hostgroup = HostgroupId(1002);
        c.users[0].password = Some(SecretReference::Command(vec!["vault".into(), "read".into()]));
        c.users[0].default_schema = None;
        c.users.push(User {
            name: "geo".into(),
            address: "users.geo".into(),
            password: None,
            ..c.users[0].clone()
        });
        c.settings.query_processor_iterations = 3;
    });
    assert_snapshot!(changed, @"
    ~ engine_settings  query_processor_iterations 0 → 3
    ~ users.app        password {env: APP_PASSWORD} → {command: [vault, read]}, cluster shop-14 → shop-20, default_schema app → none
    + users.geo        max_connections 2000, transaction_persistent true, annotations_allowed false, password none, cluster shop-20
    objects   0 rules of 3, 0 shards of 2, 0 hostgroups, 0 servers, 2 users
    ");
}

#[test]
fn a_cluster_goes() {
    let changed = bundled_change(|c| {
        c.clusters.pop();
        c.hostgroups.truncate(2);
    });
    assert_snapshot!(changed, @"
    - clusters.shop-20             type replication, read_only_check read_only, writer_serves_reads last_resort, writer_hostgroup 1002, reader_hostgroup 1003, writers [s1], readers [s2, s1]
    - clusters.shop-20.servers.s1  roles [writer, reader], host shop-20-s1.db, port 3306, weight 1, reader_tier 1, max_connections 400, max_replication_lag_s 5, status online
    - clusters.shop-20.servers.s2  roles [reader], host shop-20-s2.db, port 3306, weight 1, max_connections 400, max_replication_lag_s 5, status online
    objects   0 rules of 3, 0 shards of 2, 2 hostgroups, 2 servers, 0 users
    ");
}

#[test]
fn rows_of_a_shard() {
    let moved = proxysql_change(|c| {
        columns_of(c, 100_137).destination_hostgroup = Some(1002);
        c.graph.fast_routing[0].hostgroup = HostgroupId(1000);
    });
    assert_snapshot!(moved, @"
    ~ accounts/a0001  cluster shop-20 → shop-14, 1 fast route (~1)
    ~ tenants/t137    cluster shop-14 → shop-20, 1 rule (~1)
      ~ fast route (app, acct_0001, 0) of accounts/a0001: destination_hostgroup 1002 → 1000
      ~ rule 100137 of tenants/t137: destination_hostgroup 1000 → 1002
    objects   1 rule of 4, 1 fast route of 1, 2 shards of 3, 0 hostgroups, 0 servers, 0 users
    ");
}

#[test]
fn raw_rules_are_shown_by_their_columns() {
    let changed = proxysql_change(|c| {
        columns_of(c, 100).match_digest = Some("^SELECT .* FROM (report|audit)_".into());
        let refuse = EngineRule {
            error_msg: Some("no \u{1b}[31mDROP".into()),
            apply: true,
            ..EngineRule::default()
        };
        c.graph
            .rules
            .insert(1, engine_rule(101, "query_rules.legacy.rules[1]", 0, refuse));
    });
    assert_snapshot!(changed, @r#"
    ~ query_rules.legacy rule 100  match_digest "^SELECT .* FROM report_" → "^SELECT .* FROM (report|audit)_"
    + query_rules.legacy rule 101  error_msg "no \u001b[31mDROP", apply true
      ~ rule 100 of query_rules.legacy.rules[0]: match_digest "^SELECT .* FROM report_" → "^SELECT .* FROM (report|audit)_"
      + rule 101 of query_rules.legacy.rules[1]: error_msg "no \u001b[31mDROP", apply true, flag_in 0
    objects   2 rules of 5, 0 fast routes of 1, 0 shards of 3, 0 hostgroups, 0 servers, 0 users
    "#);
}

#[test]
fn destinations_outside_every_cluster() {
    let changed = proxysql_change(|c| columns_of(c, 100).destination_hostgroup = Some(7));
    assert_snapshot!(changed, @"
    ~ query_rules.legacy rule 100  hostgroup none → 7, cluster shop-14 → none, role reader → none
      ~ rule 100 of query_rules.legacy.rules[0]: destination_hostgroup 1001 → 7
    objects   1 rule of 4, 0 fast routes of 1, 0 shards of 3, 0 hostgroups, 0 servers, 0 users
    ");
}

#[test]
fn the_shape_of_an_effect() {
    let mut desired = proxysql();
    columns_of(&mut desired, 100_137).destination_hostgroup = Some(1002);
    assert_json_snapshot!(diff(&proxysql(), &desired), @r#"
    [
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
        ]
      }
    ]
    "#);
}

#[test]
fn the_first_configuration_of_many_alike() {
    let mut desired = bundled();
    map_of(&mut desired).shards = (1..=200).map(|key| shard(key, "shop-14")).collect();
    assert_snapshot!(listing(&Configuration::empty(EngineId::Bundled), &desired, false), @"
    + clusters.shop-14             type replication, read_only_check read_only, writer_serves_reads last_resort, writer_hostgroup 1000, reader_hostgroup 1001, writers [s1], readers [s2, s1]
    + clusters.shop-14.servers.s1  roles [writer, reader], host shop-14-s1.db, port 3306, weight 1, reader_tier 1, max_connections 400, max_replication_lag_s 5, status online
    + clusters.shop-14.servers.s2  roles [reader], host shop-14-s2.db, port 3306, weight 1, max_connections 400, max_replication_lag_s 5, status online
    + clusters.shop-20             type replication, read_only_check read_only, writer_serves_reads last_resort, writer_hostgroup 1002, reader_hostgroup 1003, writers [s1], readers [s2, s1]
    + clusters.shop-20.servers.s1  roles [writer, reader], host shop-20-s1.db, port 3306, weight 1, reader_tier 1, max_connections 400, max_replication_lag_s 5, status online
    + clusters.shop-20.servers.s2  roles [reader], host shop-20-s2.db, port 3306, weight 1, max_connections 400, max_replication_lag_s 5, status online
    + users.app                    password {env: APP_PASSWORD}, default_schema app, max_connections 2000, transaction_persistent true, annotations_allowed false, cluster shop-14
    + shard_maps.tenants           key tenant, type integer, key_from [{comment: {word: tenant, form: pairs}}], conflict reject, unqualified reject, missing_key {statements: reject, session_setup: allow, begin: reject}, unknown_key reject, applies_to {users: [app]}, 1 rule (+1)
    + 200 shards                   tenants/t1 … tenants/t200
    + read_write_policies.default  reads all, after_write_ms 500, session_functions_on_readers false, applies_to {users: [app]}, 1 rule (+1)
    + throttles.purge              delay_ms 5, applies_to {users: [app]}, 1 rule (+1)
    objects   3 rules of 3, 200 shards of 200, 4 hostgroups, 4 servers, 1 user
    ");
}

#[test]
fn what_users_may_send() {
    let own = |mode, digests: &[u64]| Firewall {
        user: "app".into(),
        address: "firewall.app".into(),
        mode,
        schemas: vec!["app".into()],
        flags: vec![0],
        digests: digests.into(),
    };
    let observed = Configuration {
        firewall: vec![own(FirewallMode::Detecting, &[1])],
        ..Configuration::empty(EngineId::Proxysql27)
    };
    let mut desired = observed.clone();
    desired.firewall = vec![own(FirewallMode::Protecting, &[1, 0xFF])];
    let shown: Vec<String> = diff(&observed, &desired)
        .iter()
        .map(|effect| {
            format!(
                "{} {} {:?} {:?}",
                effect.action.sign(),
                effect.address,
                effect.old,
                effect.new
            )
        })
        .collect();
    assert_snapshot!(shown.join("\n"), @r#"~ firewall.app {"firewall": String("detecting"), "allow": Array [String("0x0000000000000001")]} {"firewall": String("protecting"), "allow": Array [String("0x0000000000000001"), String("0x00000000000000FF")]}"#);
}

#[test]
fn what_is_refused_by_hostgroup() {
    let changed = proxysql_change(|c| {
        c.refusing = vec![RefusingHostgroup {
            id: HostgroupId(2000),
            address: "shard_maps.tenants".into(),
            reason: "SW351: no shard key".into(),
            refuser: Refuser::Service,
            host: "127.0.0.1".into(),
            port: 6100,
        }];
        columns_of(c, 100_137).destination_hostgroup = Some(2000);
    });
    assert_snapshot!(changed, @r#"
    ~ shard_maps.tenants  refusing_hostgroups none → {2000: {reason: "SW351: no shard key", refuser: service, host: 127.0.0.1, port: …
    ~ tenants/t137        cluster shop-14 → none, 1 rule (~1)
      ~ rule 100137 of tenants/t137: destination_hostgroup 1000 → 2000
    objects   1 rule of 4, 0 fast routes of 1, 1 shard of 3, 0 hostgroups, 0 servers, 0 users
    "#);
}
