//! An apply to several targets is one thing: one entry of the history, one rollback for all of them, bundled proxies included.

use serde_json::Value;
use shardwright_testkit::StandIn;

use crate::fleets::{ENGINES, Fleet};

impl Fleet {
    /// The name of the last apply.
    pub(crate) fn last_apply(&self) -> String {
        let history = self.json(0, &["history"]);
        let last = history["runs"].as_array().unwrap().last().unwrap().clone();
        last["apply"].as_str().unwrap().to_owned()
    }

    pub(crate) fn outcomes(&self, code: i32, arguments: &[&str]) -> Vec<String> {
        let reports = self.json(code, arguments)["reports"].as_array().unwrap().clone();
        let said = |report: &Value| {
            let text = |key: &str| report[key].as_str().unwrap().to_owned();
            format!("{} {}", text("target"), text("outcome"))
        };
        let mut said: Vec<String> = reports.iter().map(said).collect();
        said.sort_unstable();
        said
    }
}

#[test]
fn one_rollback_takes_an_apply_back_on_all_of_its_targets_and_is_an_apply_itself() {
    for engine in ENGINES {
        let fleet = Fleet::start(engine, 2);
        fleet.ends(0, &["apply", "--auto-approve"]);
        fleet.topology(2, "");
        let applied = fleet.ends(0, &["apply", "--auto-approve"]);
        let name = fleet.last_apply();
        assert!(
            applied.contains(&format!("shardwright rollback {name}")),
            "{applied}"
        );
        let history = fleet.ends(0, &["history"]);
        assert!(history.contains(&format!("{name}  2 targets  dba@")), "{history}");
        assert!(
            history.contains(&format!("  {name}-2  p2  generation 2")),
            "{history}"
        );
        // Without a terminal and without a word, nothing happens.
        fleet.ends(4, &["rollback", &name]);
        assert_eq!(fleet.generations(), [Some(2); 2], "{engine}");
        let taken = fleet.outcomes(0, &["rollback", &name, "--auto-approve"]);
        assert_eq!(taken, ["p1 applied", "p2 applied"], "{engine}");
        assert_eq!(fleet.generations(), [Some(3); 2], "{engine}");
        fleet.topology(1, "");
        fleet.ends(0, &["diff"]);
        let history = fleet.ends(0, &["history"]);
        assert!(history.contains(&format!("takes back {name}-1")), "{history}");
        let again = fleet.ends(4, &["rollback", &name, "--auto-approve"]);
        assert!(again.contains("is left to take back"), "{again}");
        // The rollback is taken back like any apply.
        let rollback = fleet.last_apply();
        fleet.ends(0, &["rollback", &rollback, "--auto-approve"]);
        fleet.topology(2, "");
        fleet.ends(0, &["diff"]);
    }
}

#[test]
fn proxies_of_both_engines_go_back_together() {
    let proxysql = StandIn::start().unwrap();
    let mut fleet = Fleet::start("bundled", 1);
    fleet.environment.set("PX_ADMIN", "admin");
    let project = format!(
        "version: 1\nproject: shop\nengines: [bundled, proxysql-2.7]\ntargets:\n  p1: {{engine: bundled, admin: \"{}\", user: admin, \
         password: {{env: SHARDWRIGHT_ADMIN_PASSWORD}}}}\n  p2: {{engine: proxysql-2.7, admin: \"{}\", user: admin, password: {{env: \
         PX_ADMIN}}}}\n",
        fleet.addresses()[0],
        proxysql.admin_address()
    );
    fleet.environment.write("shardwright.yaml", project).unwrap();
    fleet.ends(0, &["apply", "--auto-approve"]);
    fleet.topology(2, "");
    fleet.ends(0, &["apply", "--auto-approve"]);
    let name = fleet.last_apply();
    let taken = fleet.outcomes(0, &["rollback", &name, "--auto-approve"]);
    assert_eq!(taken, ["p1 applied", "p2 applied"]);
    fleet.topology(1, "");
    fleet.ends(0, &["diff"]);
    // The run of one target alone.
    fleet.topology(2, "");
    fleet.ends(0, &["apply", "--auto-approve"]);
    let name = fleet.last_apply();
    let taken = fleet.outcomes(0, &["rollback", &format!("{name}-1"), "--auto-approve"]);
    assert_eq!(taken, ["p1 applied"]);
    fleet.ends(2, &["drift", "--target", "p1"]);
    fleet.ends(0, &["drift", "--target", "p2"]);
    // What is left of the apply goes back with the apply.
    let taken = fleet.outcomes(0, &["rollback", &name, "--auto-approve"]);
    assert_eq!(taken, ["p2 applied"]);
}

#[test]
fn a_target_that_has_changed_since_refuses_the_rollback_of_all_unless_told() {
    for engine in ENGINES {
        let fleet = Fleet::start(engine, 3);
        fleet.ends(0, &["apply", "--auto-approve"]);
        fleet.topology(2, "");
        fleet.ends(0, &["apply", "--auto-approve"]);
        let name = fleet.last_apply();
        fleet.topology(3, "");
        fleet.ends(0, &["apply", "--auto-approve", "--target", "p2"]);
        let said = fleet.ends(5, &["rollback", &name, "--auto-approve"]);
        assert!(
            said.contains("nothing was changed; not changed: p2; not begun: p3, p1"),
            "{said}"
        );
        assert!(said.contains("--leave-changed"), "{said}");
        assert_eq!(fleet.generations(), [Some(2), Some(3), Some(2)], "{engine}");
        let taken = fleet.outcomes(0, &["rollback", &name, "--auto-approve", "--leave-changed"]);
        assert_eq!(taken, ["p1 applied", "p3 applied"], "{engine}");
        assert_eq!(fleet.generations(), [Some(3); 3], "{engine}");
    }
}

#[test]
fn the_first_failure_stops_a_rollback_and_its_last_line_says_where() {
    let fleet = Fleet::start("proxysql-2.7", 3);
    fleet.ends(0, &["apply", "--auto-approve"]);
    fleet.topology(2, "");
    fleet.ends(0, &["apply", "--auto-approve"]);
    let name = fleet.last_apply();
    let full =
        "CREATE TRIGGER full BEFORE INSERT ON mysql_servers BEGIN SELECT RAISE(FAIL, 'disk full'); END";
    let full_too =
        "CREATE TRIGGER full_too BEFORE UPDATE ON mysql_servers BEGIN SELECT RAISE(FAIL, 'disk full'); END";
    fleet.nodes[1].stand_in().run([full, full_too]).unwrap();
    // The last one that was applied goes back first.
    let said = fleet.ends(7, &["rollback", &name, "--auto-approve"]);
    assert!(said.contains("taken back: p3"), "{said}");
    assert!(said.contains("not begun: p1"), "{said}");
    assert_eq!(fleet.generations()[0], Some(2));
    assert_eq!(fleet.generations()[2], Some(3));
}

#[test]
fn nobody_is_somebody_and_files_that_are_not_committed_are_told() {
    let mut fleet = Fleet::start("proxysql-2.7", 1);
    fleet.environment.set("USER", "");
    fleet.environment.write(".gitignore", ".shardwright/\n").unwrap();
    fleet.ends(0, &["compile", "--engine", "proxysql-2.7"]);
    for arguments in [
        &["init", "-q", "-b", "main"][..],
        &["add", "."],
        &["commit", "-q", "-m", "first"],
    ] {
        crate::rule_sets::git(&fleet.environment, arguments);
    }
    fleet.ends(0, &["apply", "--auto-approve"]);
    let by = |fleet: &Fleet| {
        let history = fleet.json(0, &["history"]);
        history["runs"].as_array().unwrap().last().unwrap().clone()
    };
    let run = by(&fleet);
    assert!(!run["by"].as_str().unwrap().starts_with("somebody@"), "{run}");
    assert_eq!(run["uncommitted"], false, "{run}");
    fleet.topology(2, "");
    fleet.ends(0, &["apply", "--auto-approve"]);
    assert_eq!(by(&fleet)["uncommitted"], true);
    let history = fleet.ends(0, &["history"]);
    assert_eq!(history.matches(" with uncommitted files").count(), 1, "{history}");
    let drift = fleet.ends(0, &["drift"]);
    assert!(drift.contains(" with uncommitted files"), "{drift}");
}

#[test]
fn only_so_many_runs_are_kept() {
    for engine in ENGINES {
        let fleet = Fleet::start(engine, 2);
        fleet.project("state: {keep: 2}\n");
        for weight in 1..=4 {
            fleet.topology(weight, "");
            fleet.ends(0, &["apply", "--auto-approve"]);
        }
        let runs = fleet.json(0, &["history"])["runs"].as_array().unwrap().len();
        assert_eq!(runs, 4, "{engine}");
        let name = fleet.last_apply();
        fleet.ends(0, &["rollback", &name, "--auto-approve"]);
    }
}
