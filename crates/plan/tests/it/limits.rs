//! The limits of the project file.

use insta::assert_snapshot;
use shardwright_plan::safety::{Limits, check, check_taking_back, errors};
use shardwright_plan::{
    Action, Effect, Facts, Hazard, LiveServers, Plan, RowChange, RowKey, Severity, Timestamp,
};
use shardwright_rules::*;

use crate::fixtures::*;

fn plan(change: impl FnOnce(&mut Configuration)) -> Plan {
    let mut desired = bundled();
    change(&mut desired);
    plan_for(&["local"], &running(12, &bundled()), &desired)
}

fn refusals(plan: &Plan, limits: &Limits, allowed: &[&str]) -> String {
    let allowed: Vec<String> = allowed.iter().map(|code| (*code).to_owned()).collect();
    let later: Timestamp = "2026-03-01T13:00:00Z".parse().unwrap();
    let refusals = check(plan, limits, later, &allowed);
    refusals
        .iter()
        .map(ToString::to_string)
        .collect::<Vec<_>>()
        .join("\n")
}

#[test]
fn deletes() {
    let plan = plan(|c| map_of(c).shards.clear());
    let max = |max_deletes| Limits {
        max_deletes: Some(max_deletes),
        ..Limits::default()
    };
    assert_eq!(refusals(&plan, &max(2), &[]), "");
    assert_snapshot!(refusals(&plan, &max(1), &[]), @"safety.deletes.max: 2 objects would be removed from local, the limit is 1 (shard_maps.tenants.shards.t136, shard_maps.tenants.shards.t137); allow it with --allow deletes=REASON, or raise safety.deletes.max in shardwright.yaml");
    assert_eq!(refusals(&plan, &max(1), &["deletes"]), "");
    assert_eq!(refusals(&plan, &Limits::default(), &[]), "");
}

#[test]
fn protected_objects() {
    let protect = |globs: &[&str]| Limits {
        protect: globs.iter().map(|glob| (*glob).to_owned()).collect(),
        ..Limits::default()
    };
    let drained = plan(|c| c.hostgroups[0].members[0].status = MemberStatus::Draining);
    assert_snapshot!(refusals(&drained, &protect(&["clusters.shop-14"]), &[]), @"safety.protect: 1 protected object would be different on local (clusters.shop-14.servers.s1); allow it with --allow protect=REASON, or take them off safety.protect in shardwright.yaml");
    assert_eq!(
        refusals(
            &drained,
            &protect(&["clusters.shop-1", "users.*", "shop-14"]),
            &[]
        ),
        ""
    );
    assert_eq!(
        refusals(&drained, &protect(&["clusters.shop-14"]), &["protect"]),
        ""
    );

    let new_user = |c: &mut Configuration| {
        let geo = User {
            name: "geo".into(),
            address: "users.geo".into(),
            ..c.users[0].clone()
        };
        c.users.push(geo);
    };
    assert_eq!(refusals(&plan(new_user), &protect(&["users.*"]), &[]), "");
    let other_users = plan(|c| {
        new_user(c);
        c.users[0].max_connections = 1;
    });
    assert_snapshot!(refusals(&other_users, &protect(&["users.*"]), &[]), @"safety.protect: 1 protected object would be different on local (users.app); allow it with --allow protect=REASON, or take them off safety.protect in shardwright.yaml");
}

#[test]
fn a_server_added_to_a_protected_cluster_changes_the_cluster() {
    let grown = plan(|c| c.hostgroups[1].members.push(member("shop-14", "s3", 1, 0)));
    let limits = Limits {
        protect: vec!["clusters.shop-14".into()],
        ..Limits::default()
    };
    assert_snapshot!(refusals(&grown, &limits, &[]), @"safety.protect: 1 protected object would be different on local (clusters.shop-14.servers.s3); allow it with --allow protect=REASON, or take them off safety.protect in shardwright.yaml");
}

#[test]
fn old_plans() {
    let limits = |seconds| Limits {
        plan_expiry: Some(std::time::Duration::from_secs(seconds)),
        ..Limits::default()
    };
    let plan = plan(|c| map_of(c).shards.reverse());
    assert_eq!(refusals(&plan, &limits(3600), &[]), "");
    assert_snapshot!(refusals(&plan, &limits(3599), &[]), @"safety.plan_expiry: the plan is 3600 s old, the limit is 3599 s; make a new plan, or allow it with --allow plan_expiry=REASON");
}

#[test]
fn taking_back_does_not_give_writes_to_servers_that_have_not_followed() {
    let row = |action, hostgroup: &str, host: &str| RowChange {
        action,
        row: RowKey::Row {
            table: "mysql_servers".into(),
            key: vec![hostgroup.into(), host.into(), "3306".into()],
        },
        old: Facts::new(),
        new: Facts::new(),
    };
    let effect = |address: &str, rows: Vec<RowChange>| Effect {
        action: Action::Change,
        address: address.into(),
        old: Facts::new(),
        new: Facts::new(),
        reason: None,
        rows,
    };
    let to = |hostgroup: u32| Facts::from_iter([("destination_hostgroup".to_owned(), hostgroup.into())]);
    let rule = RowChange {
        action: Action::Change,
        row: RowKey::Rule(100),
        old: to(20),
        new: to(10),
    };
    let slower = RowChange {
        action: Action::Change,
        row: RowKey::Rule(101),
        old: Facts::new(),
        new: Facts::from_iter([("delay".to_owned(), 5.into())]),
    };
    let reads = RowChange {
        action: Action::Change,
        row: RowKey::Rule(102),
        old: to(10),
        new: to(11),
    };
    let effects = [
        effect("shard_maps.m.shards.t1", vec![rule]),
        effect("shard_maps.m.shards.t2", vec![slower]),
        // The readers of a cluster follow its writer.
        effect("read_write_policies.p", vec![reads]),
        effect(
            "clusters.a.servers.s1",
            vec![
                row(Action::Remove, "10", "new.db"),
                row(Action::Add, "10", "old.db"),
            ],
        ),
        // One server more than before.
        effect("clusters.b.servers.s2", vec![row(Action::Add, "20", "more.db")]),
    ];
    let live = LiveServers {
        servers: servers(&[(10, "new.db"), (11, "reader.db"), (20, "other.db")]),
        clusters: vec![vec![10, 11]],
        ..LiveServers::default()
    };
    let none = Limits::default();
    let check = |limits: &Limits, allowed: &[String]| {
        check_taking_back("px1", &effects, Some(&live), limits, allowed)
    };
    let refusals = check(&none, &[]);
    let subjects: Vec<&str> = refusals[0].subjects.iter().map(Address::as_str).collect();
    assert_eq!(refusals.len(), 1);
    assert_eq!(subjects, ["shard_maps.m.shards.t1", "clusters.a.servers.s1"]);
    assert!(check(&none, &["stale_copy".to_owned()]).is_empty());
    let protected = Limits {
        protect: vec!["clusters.a".into()],
        ..none
    };
    let codes: Vec<String> = check(&protected, &[])
        .into_iter()
        .map(|refusal| refusal.code)
        .collect();
    assert_eq!(codes, ["protect", "stale_copy"]);
}

fn hazard(code: &str, severity: Severity, address: &str) -> Hazard {
    Hazard {
        code: code.into(),
        severity,
        message: "is wrong".into(),
        address: Some(address.into()),
        is_live: false,
    }
}

/// A change of two targets, with these hazards on the first and on the second.
fn with_hazards(first: Vec<Hazard>, second: Vec<Hazard>) -> Plan {
    let mut plan = plan_for(&["p1", "p2"], &running(12, &bundled()), &{
        let mut desired = bundled();
        map_of(&mut desired).shards.clear();
        desired
    });
    plan.targets[0].hazards = first;
    plan.targets[1].hazards = second;
    plan
}

#[test]
fn errors_refuse_until_a_reason_is_given_for_them() {
    let wrong = |address| hazard("SW401", Severity::Error, address);
    let plan = with_hazards(vec![wrong("users.a")], vec![wrong("users.a")]);
    let none = Limits::default();
    assert_snapshot!(refusals(&plan, &none, &[]), @"SW401: users.a: is wrong; mend it, or allow it with --allow SW401=REASON");
    assert_eq!(refusals(&plan, &none, &["SW401"]), "");
    assert_ne!(refusals(&plan, &none, &["SW402", "deletes", "protect"]), "");
    let several = with_hazards(
        Vec::new(),
        vec![
            wrong("users.a"),
            hazard("SW836", Severity::Error, "clusters.b"),
            wrong("users.c"),
        ],
    );
    assert_snapshot!(refusals(&several, &none, &[]), @r"
    SW401: 2 errors, the first: users.a: is wrong (on p2); mend it, or allow it with --allow SW401=REASON
    SW836: clusters.b: is wrong (on p2); mend it, or allow it with --allow SW836=REASON
    ");
    let warnings = with_hazards(vec![hazard("SW401", Severity::Warning, "users.a")], Vec::new());
    assert_eq!(refusals(&warnings, &none, &[]), "");
}

#[test]
fn no_reason_lifts_what_a_target_cannot_do() {
    for code in ["SW245", "SW830", "SW832", "SW833", "SW834", "SW837"] {
        let plan = with_hazards(vec![hazard(code, Severity::Error, "users.a")], Vec::new());
        assert_ne!(refusals(&plan, &Limits::default(), &[code]), "", "{code}");
        let of_the_moment = ["SW830", "SW837"].contains(&code);
        let exits: Vec<u8> = errors(&plan, &[])
            .iter()
            .map(|refusal| refusal.outcome.exit_code())
            .collect();
        assert_eq!(exits, [if of_the_moment { 5 } else { 4 }], "{code}");
    }
}

#[test]
fn errors_that_a_target_has_already_do_not_refuse() {
    let mut old = hazard("SW401", Severity::Error, "users.a");
    old.is_live = true;
    assert_eq!(
        refusals(&with_hazards(vec![old], Vec::new()), &Limits::default(), &[]),
        ""
    );
    // Nor does one where nothing changes.
    let mut unchanged = plan_for(&["p1"], &running(12, &bundled()), &bundled());
    unchanged.targets[0].hazards = vec![hazard("SW401", Severity::Error, "users.a")];
    assert_eq!(refusals(&unchanged, &Limits::default(), &[]), "");
}
fn servers(hosts: &[(u64, &str)]) -> Vec<(u64, String)> {
    let with_port = |(hostgroup, host): &(u64, &str)| (*hostgroup, format!("{host}:3306"));
    hosts.iter().map(with_port).collect()
}

/// One row of an object that a run has changed, taken back, and whether that hands its statements to a stale copy.
#[test]
fn rows_that_send_statements_back_to_other_servers_are_stale_copies() {
    let live = LiveServers {
        servers: servers(&[
            (10, "one.db"),
            (11, "one-reader.db"),
            (20, "two.db"),
            (21, "two.db"),
            (30, "one.db"),
        ]),
        clusters: vec![vec![10, 11]],
        default_hostgroups: [("app".to_owned(), 10), ("batch".to_owned(), 20)].into(),
    };
    let fast = |user: &str| RowKey::FastRoute {
        username: user.into(),
        schemaname: "t17".into(),
        flag_in: 0,
    };
    let user = || RowKey::Row {
        table: "mysql_users".into(),
        key: vec!["app".into(), "1".into()],
    };
    let to = |hostgroup: u64| ("destination_hostgroup", hostgroup);
    let default = |hostgroup: u64| ("default_hostgroup", hostgroup);
    let raw = "query_rules.legacy.rules[0]";
    let routes = "query_rules.legacy.fast_routing[7]";
    let shard = "shard_maps.tenants.shards.t17";
    for (address, row, old, new, expected) in [
        (routes, fast("app"), Some(to(20)), Some(to(10)), true),
        (routes, fast("app"), Some(to(11)), Some(to(10)), false),
        (routes, fast("app"), Some(to(20)), Some(to(21)), false),
        // A server in two hostgroups has the data of both.
        (routes, fast("app"), Some(to(30)), Some(to(10)), false),
        // Without its row, a schema goes where its user goes.
        (routes, fast("app"), Some(to(20)), None, true),
        (routes, fast("app"), Some(to(10)), None, false),
        (routes, fast("batch"), None, Some(to(20)), false),
        (routes, fast("batch"), None, Some(to(10)), true),
        (raw, RowKey::Rule(50), Some(to(20)), Some(to(10)), true),
        (raw, RowKey::Rule(50), Some(to(20)), None, true),
        // A hostgroup without servers has taken no writes.
        (raw, RowKey::Rule(50), Some(to(99)), Some(to(10)), false),
        (shard, RowKey::Rule(100_017), Some(to(20)), Some(to(11)), true),
        (shard, RowKey::Rule(100_017), Some(to(20)), None, false),
        ("users.app", user(), Some(default(20)), Some(default(10)), true),
        ("users.app", user(), Some(default(11)), Some(default(10)), false),
    ] {
        let facts = |side: Option<(&str, u64)>| {
            Facts::from_iter(side.map(|(column, hostgroup)| (column.to_owned(), hostgroup.into())))
        };
        let action = match (old, new) {
            (None, _) => Action::Add,
            (_, None) => Action::Remove,
            _ => Action::Change,
        };
        let described = format!("{address} {row:?}: {old:?} to {new:?}");
        let effect = Effect {
            action,
            address: address.into(),
            old: Facts::new(),
            new: Facts::new(),
            reason: None,
            rows: vec![RowChange {
                action,
                row,
                old: facts(old),
                new: facts(new),
            }],
        };
        let refusals = check_taking_back("px1", &[effect], Some(&live), &Limits::default(), &[]);
        let codes: Vec<&str> = refusals.iter().map(|refusal| refusal.code.as_str()).collect();
        assert_eq!(codes == ["stale_copy"], expected, "{described}");
    }
}
