//! Users whose names are no names of the language.

use shardwright_testkit::real_proxysql;

use crate::import::running;

#[test]
fn a_user_of_any_name_is_held_and_goes_where_it_went() {
    let Some(binary) = real_proxysql("a user of a running ProxySQL that no project can have") else {
        return;
    };
    let odd = "INSERT INTO mysql_users (username, password, default_hostgroup) VALUES ('svc.app', 'x', 30);\n\
               INSERT INTO mysql_query_rules (rule_id, active, username, match_digest, destination_hostgroup, apply) \
               VALUES (7, 1, 'svc.app', '^SELECT', 30, 1);\n";
    let (proxysql, environment, source) = running(&binary, odd);
    let init = ["init", "--from", &source, "--password-env", "PX_ADMIN", "shop"];
    let made = environment.run(init).unwrap();
    assert_eq!(made.code(), Some(0), "{made}");
    let proof = environment
        .run(["-C", "shop", "prove", "equivalent", "shop", "live"])
        .unwrap();
    assert!(proof.stdout.starts_with("proved"), "{proof}");
    // The rule for that user is not dead, and stays.
    let lint = environment.run(["-C", "shop", "lint", "--fix"]).unwrap();
    assert!(!lint.stderr.contains("SW206"), "{lint}");
    let users = std::fs::read_to_string(environment.project().join("shop/topology/users.yaml")).unwrap();
    assert!(users.contains("svc-app: {login: svc.app,"), "{users}");
    let plan = environment.run(["-C", "shop", "plan"]).unwrap().success();
    assert!(
        plan.stdout
            .contains("no rule sends a statement elsewhere (proved)"),
        "{}",
        plan.stdout
    );
    let apply = [
        "-C",
        "shop",
        "apply",
        "--auto-approve",
        "--allow",
        "deletes=lifted",
    ];
    let applied = environment.run(apply).unwrap();
    assert_eq!(applied.code(), Some(0), "{}{}", applied.stdout, applied.stderr);
    let rows = proxysql
        .run(["SELECT default_hostgroup FROM runtime_mysql_users WHERE username='svc.app' AND frontend=1"])
        .unwrap();
    assert_eq!(rows[0][0].as_deref(), Some("30"), "{rows:?}");
    // Rules that were lifted are gone all the same.
    let rows = proxysql
        .run(["SELECT rule_id FROM runtime_mysql_query_rules"])
        .unwrap();
    let ids: Vec<i64> = rows
        .iter()
        .flatten()
        .map(|id| id.as_deref().unwrap().parse().unwrap())
        .collect();
    let diff = environment.run(["-C", "shop", "diff"]).unwrap();
    assert_eq!(diff.code(), Some(0), "{}{}", diff.stdout, diff.stderr);
    let kept =
        std::fs::read_to_string(environment.project().join("shop/topology/rules.yaml")).unwrap_or_default();
    for id in ids.into_iter().filter(|id| (1..100_000).contains(id)) {
        assert!(kept.contains(&format!("rule_id: {id},")), "{id}: {kept}");
    }
}
