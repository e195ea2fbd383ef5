//! What a reviewer of a plan for ProxySQL sees, and what is applied after that: what routes differently, the effects that
//! were approved, rows that others have staged, and targets that are away.

use shardwright_testkit::ReservedPort;

use crate::fleets::{ENGINES, Fleet};
use crate::proxysql_targets::Rig;
use crate::rule_sets::git;

#[test]
fn what_routes_differently_stands_first() {
    let Some(rig) = Rig::start("the meaning of plans for a real ProxySQL") else {
        return;
    };
    // Nothing runs yet, so everything would be another way.
    assert!(!rig.ends(0, &["plan"]).contains("routing"));
    rig.ends(0, &["apply", "--auto-approve"]);
    rig.topology("three", 1);
    let plan = rig.ends(0, &["plan"]);
    let lines: Vec<&str> = plan.lines().collect();
    assert_eq!(
        lines[1].trim_end(),
        "  routing   statements go another way, for example:",
        "{plan}"
    );
    assert!(
        lines[2].contains("=2 */ SELECT")
            && lines[2].ends_with(
                " of app in app: two writer (hostgroup 1020) → three writer (hostgroup 1010) (1 of 3 shards)"
            ),
        "{plan}"
    );
    let json = rig.json(&["plan"]);
    assert_eq!(json["meaning"]["answer"], "changed", "{json}");
    assert_eq!(json["meaning"]["witnesses"][0]["user"], "app", "{json}");
    // The weight of a server changes what no rule decides.
    rig.topology("two", 2);
    let json = rig.json(&["plan"]);
    assert_eq!(json["meaning"]["answer"], "changed", "{json}");
    assert_eq!(json["meaning"]["proved"], false, "{json}");
    let plan = rig.ends(0, &["plan"]);
    assert!(
        plan.contains(
            "  routing   no rule sends a statement elsewhere (proved); what else changes: which server answers (1 server); who may log in, how, and how often (1 user)\n"
        ),
        "{plan}"
    );
}

#[test]
fn what_is_known_of_one_target_is_not_said_of_a_new_one() {
    for engine in ENGINES {
        let fleet = Fleet::start(engine, 2);
        fleet.ends(0, &["apply", "--auto-approve", "--target", "p1"]);
        fleet.topology(2, "");
        // The second one runs nothing yet, so that everything there is new.
        let plan = fleet.ends(0, &["plan"]);
        assert!(
            plan.contains(
                "routing   on p1: no rule sends a statement elsewhere (proved); what else changes: "
            ),
            "{engine}: {plan}"
        );
    }
}

#[test]
fn only_the_effects_that_were_reviewed_are_applied() {
    let Some(rig) = Rig::start("expected effects on a real ProxySQL") else {
        return;
    };
    rig.ends(0, &["apply", "--auto-approve"]);
    rig.topology("three", 1);
    let digest = rig.json(&["plan"])["effect_digest"].as_str().unwrap().to_owned();
    let shown = rig.ends(0, &["plan"]);
    assert!(shown.contains(&format!("effects {}", &digest[..16])), "{shown}");
    rig.topology("three", 2);
    let refused = rig.run(&["apply", "--expect-effects", &digest]);
    assert_eq!(refused.code(), Some(5), "{refused:?}");
    assert!(refused.stderr.contains("nothing was changed"), "{refused:?}");
    rig.ends(2, &["diff"]);
    rig.topology("three", 1);
    // The digest is the approval. Its first digits are enough.
    rig.ends(0, &["apply", "--expect-effects", &digest[..16]]);
    rig.ends(0, &["diff"]);
    rig.ends(64, &["apply", "--expect-effects", "3f0c"]);
}

#[test]
fn rows_that_others_have_staged_are_shown_and_published_or_taken_back() {
    let Some(rig) = Rig::start("staged rows in plans for a real ProxySQL") else {
        return;
    };
    let manage = "manage: {query_rules: 100000-199999, users: [app], clusters: all}\n";
    let file = rig.environment.read("shardwright.yaml").unwrap();
    rig.environment.write("shardwright.yaml", file + manage).unwrap();
    rig.ends(0, &["apply", "--auto-approve"]);
    let live = || {
        let rows = rig
            .proxysql
            .run(["SELECT rule_id FROM runtime_mysql_query_rules WHERE rule_id BETWEEN 1 AND 1000"])
            .unwrap();
        rows.len()
    };
    let staged =
        "INSERT INTO mysql_query_rules (rule_id, active, match_digest, apply) VALUES (500, 1, '^CALL', 0)";
    rig.proxysql.run([staged]).unwrap();
    rig.topology("three", 1);
    let refused = rig.run(&["apply", "--auto-approve"]);
    assert_eq!(refused.code(), Some(5), "{refused:?}");
    let shown = rig.ends(0, &["plan", "--staged", "discard", "-o", "change.plan"]);
    assert!(
        shown.contains("is set back to what is live") && shown.contains("mysql_query_rules (500)"),
        "{shown}"
    );
    rig.ends(0, &["apply", "change.plan"]);
    assert_eq!(live(), 0);
    rig.ends(0, &["status", "--detailed-exitcode"]);

    rig.proxysql.run([staged]).unwrap();
    rig.topology("two", 1);
    let applied = rig.ends(0, &["apply", "--auto-approve", "--staged", "adopt"]);
    assert!(
        applied.contains("publishes what somebody else has staged"),
        "{applied}"
    );
    assert_eq!(live(), 1);
    rig.ends(0, &["diff"]);
    rig.ends(0, &["status", "--detailed-exitcode"]);
    // What was published with it is taken back with it.
    let history = rig.json(&["history"]);
    let run = history["runs"].as_array().unwrap().last().unwrap()["run"].clone();
    let allowed = "stale_copy=nothing was written";
    rig.ends(
        0,
        &[
            "rollback",
            run.as_str().unwrap(),
            "--auto-approve",
            "--allow",
            allowed,
        ],
    );
    assert_eq!(live(), 0);
    rig.topology("three", 1);
    rig.ends(0, &["diff"]);
}

#[test]
fn what_staged_rows_route_is_told_with_the_plan_that_publishes_them() {
    let Some(rig) = Rig::start("the meaning of staged rows on a real ProxySQL") else {
        return;
    };
    let manage = "manage: {query_rules: 100000-199999, users: [app], clusters: all}\n";
    let file = rig.environment.read("shardwright.yaml").unwrap();
    rig.environment.write("shardwright.yaml", file + manage).unwrap();
    rig.ends(0, &["apply", "--auto-approve"]);
    let staged = "INSERT INTO mysql_query_rules (rule_id, active, match_digest, destination_hostgroup, apply) \
                  VALUES (500, 1, '^CALL', 1020, 1)";
    rig.proxysql.run([staged]).unwrap();
    rig.topology("two", 2);
    let adopting = rig.ends(0, &["plan", "--staged", "adopt"]);
    assert!(
        adopting.contains("statements go another way") && adopting.contains("two writer (hostgroup 1020)"),
        "{adopting}"
    );
    let discarding = rig.ends(0, &["plan", "--staged", "discard"]);
    assert!(
        discarding.contains("no rule sends a statement elsewhere (proved)"),
        "{discarding}"
    );
}

#[test]
fn a_target_that_is_away_fails_everything_or_is_left_out_and_named() {
    let Some(rig) = Rig::start("a target that cannot be reached beside a real ProxySQL") else {
        return;
    };
    let away = ReservedPort::new().unwrap();
    let project = |unreachable: &str| {
        let text = format!(
            "version: 1\nproject: shop\nengines: [proxysql-2.7]\nsafety: {{unreachable: {unreachable}}}\ntargets:\n  \
             px1: {{engine: proxysql-2.7, admin: \"{}\", user: admin, password: {{env: PX_ADMIN}}}}\n  \
             px2: {{engine: proxysql-2.7, admin: \"{}\", user: admin, password: {{env: PX_ADMIN}}}}\n",
            rig.proxysql.admin_address(),
            away.address()
        );
        rig.environment.write("shardwright.yaml", text).unwrap();
    };
    project("fail");
    let failed = rig.run(&["apply", "--auto-approve"]);
    assert_eq!(failed.code(), Some(1), "{failed:?}");
    assert!(failed.stderr.contains("px2"), "{failed:?}");
    assert_eq!(rig.json(&["history"])["runs"], serde_json::json!([]));
    rig.ends(1, &["drift"]);
    project("skip");
    let plan = rig.run(&["plan"]);
    assert_eq!(plan.code(), Some(0), "{plan:?}");
    assert!(plan.stdout.contains("  targets   px2 unreachable\n"), "{plan:?}");
    assert!(plan.stderr.contains("safety.unreachable: skip"), "{plan:?}");
    assert_eq!(rig.json(&["plan"])["unreachable"][0]["name"], "px2");
    rig.ends(0, &["apply", "--auto-approve"]);
    let drift = rig.ends(1, &["drift"]);
    assert!(
        drift.ends_with("no drift on 1 of 2 targets; px2 cannot be read\n"),
        "{drift}"
    );
    rig.ends(1, &["status"]);
    rig.ends(1, &["diff"]);
}

#[test]
fn a_number_on_a_dashboard_leads_to_its_line_and_its_commit() {
    let Some(rig) = Rig::start("explaining rows of a real ProxySQL") else {
        return;
    };
    rig.environment.write(".gitignore", ".shardwright/\n").unwrap();
    rig.ends(0, &["compile", "--engine", "proxysql-2.7"]);
    git(&rig.environment, &["init", "-q", "-b", "main"]);
    git(&rig.environment, &["add", "."]);
    git(&rig.environment, &["commit", "-q", "-m", "first"]);
    rig.ends(0, &["apply", "--auto-approve"]);
    let id = |shard: &str| {
        let query = format!(
            "SELECT rule_id FROM mysql_query_rules WHERE comment LIKE 'shard_maps.tenants.shards.{shard}%' \
             ORDER BY destination_hostgroup IS NULL LIMIT 1"
        );
        rig.proxysql.run([query]).unwrap()[0][0].clone().unwrap()
    };
    let rule = format!("rule:{}", id("t2"));
    let page = rig.ends(0, &["explain", &rule, "--target", "px1"]);
    assert!(page.contains("topology/shop.yaml:15"), "{page}");
    assert!(page.contains("on px1, as the files say: "), "{page}");
    assert!(
        page.contains(" of dba@") && page.contains(", commit ") && page.contains("generation 1 of shop"),
        "{page}"
    );
    assert!(!page.contains("as it was applied"), "{page}");
    // The shard is gone from the files, and its rule still runs.
    let text = rig.environment.read("topology/shop.yaml").unwrap();
    let without: String = text
        .lines()
        .filter(|line| !line.contains("t2:"))
        .map(|line| format!("{line}\n"))
        .collect();
    rig.environment.write("topology/shop.yaml", without).unwrap();
    let page = rig.ends(0, &["explain", &rule, "--target", "px1"]);
    assert!(page.contains("on px1, another than the files say"), "{page}");
    assert!(
        page.contains("tenants/t2: topology/shop.yaml:15 in commit "),
        "{page}"
    );
    rig.environment.write("topology/shop.yaml", text).unwrap();
    let page = rig.ends(0, &["explain", "server:two.db:3306", "--target", "px1"]);
    assert!(
        page.contains("mysql_servers (1020, two.db, 3306) on px1, as the files say"),
        "{page}"
    );
    let page = rig.ends(0, &["explain", "hostgroup:1020", "--target", "px1"]);
    assert!(page.contains("mysql_servers (1020, two.db, 3306)"), "{page}");
    rig.ends(64, &["explain", "SW201", "--target", "px1"]);
    rig.ends(64, &["explain", "rule:7", "--target", "px1"]);
}

#[test]
fn a_plan_names_rows_of_others_and_lines_of_the_environment() {
    let Some(rig) = Rig::start("rows of others and environments in plans for a real ProxySQL") else {
        return;
    };
    let file = rig.environment.read("shardwright.yaml").unwrap();
    let more = "manage: {query_rules: 100000-199999, users: [app], clusters: all}\nunmanaged: report\nenvironments: [prod]\n";
    rig.environment.write("shardwright.yaml", file + more).unwrap();
    let patch = "version: 1\npatch:\n  clusters.two.servers.s1.weight: 7\n";
    rig.environment.write("env/prod.yaml", patch).unwrap();
    rig.proxysql
        .run([
            "INSERT INTO mysql_query_rules (rule_id, active, match_digest, apply) VALUES (5, 1, '^CALL', 0)",
            "LOAD MYSQL QUERY RULES TO RUNTIME",
        ])
        .unwrap();
    rig.ends(0, &["apply", "--auto-approve"]);
    let plan = rig.ends(0, &["-e", "prod", "plan"]);
    assert!(plan.contains("weight 1 → 7"), "{plan}");
    assert!(plan.contains("topology/shop.yaml:4, env/prod.yaml:3"), "{plan}");
    assert!(
        plan.contains("info[SW841] rows of others stay: 1 of mysql_query_rules; among them mysql_query_rules (5) before rules"),
        "{plan}"
    );
}
