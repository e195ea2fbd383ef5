//! An apply to several targets: what is known before stops all of them, the first failure stops what has not begun, and exit code
//! and last line say what they run.

use std::time::Duration;

use shardwright_testkit::{Fault, Faulty, ReservedPort, eventually};

use crate::fleets::{ENGINES, Fleet};

const PATIENCE: Duration = Duration::from_secs(60);

/// Lets no statement write a query rule that has a pattern, as leases have none.
const FULL_DISK: &str = "CREATE TRIGGER full BEFORE INSERT ON mysql_query_rules WHEN NEW.match_digest IS NOT NULL \
     BEGIN SELECT RAISE(FAIL, 'disk full'); END";

/// A rule that is new.
const RULE: &str =
    "query_rules:\n  own:\n    rules:\n      - {match_digest: \"^SHOW TABLES\", cluster: a, apply: 1}\n";

#[test]
fn what_the_last_target_would_refuse_changes_none() {
    let fleet = Fleet::start("proxysql-2.7", 3);
    fleet.ends(0, &["apply", "--auto-approve"]);
    fleet.topology(2, "");
    fleet.ends(0, &["plan", "-o", "a.plan"]);
    // Rows are staged after the plan was made.
    let stage = ["INSERT INTO mysql_servers (hostgroup_id, hostname) VALUES (77, 'theirs')"];
    fleet.nodes[2].stand_in().run(stage).unwrap();
    let said = fleet.ends(5, &["apply", "a.plan"]);
    assert!(
        said.contains("nothing was changed; not changed: p3; not begun: p1, p2"),
        "{said}"
    );
    assert!(said.contains("p1: not begun: p3 cannot be applied to"), "{said}");
    assert_eq!(fleet.generations(), [Some(1); 3]);
    let json = fleet.json(5, &["apply", "a.plan"]);
    let outcomes: Vec<&str> = json["reports"]
        .as_array()
        .unwrap()
        .iter()
        .map(|report| report["outcome"].as_str().unwrap())
        .collect();
    assert_eq!(outcomes, ["not_begun", "not_begun", "stale"]);
}

#[test]
fn a_saved_plan_of_a_target_that_has_moved_changes_none() {
    for engine in ENGINES {
        let fleet = Fleet::start(engine, 3);
        fleet.ends(0, &["apply", "--auto-approve"]);
        fleet.topology(2, "");
        fleet.ends(0, &["plan", "-o", "a.plan"]);
        fleet.topology(3, "");
        fleet.ends(0, &["apply", "--auto-approve", "--target", "p2"]);
        fleet.topology(2, "");
        let said = fleet.ends(5, &["apply", "a.plan"]);
        assert!(
            said.contains("nothing was changed; not changed: p2; not begun: p1, p3"),
            "{said}"
        );
        assert_eq!(fleet.generations(), [Some(1), Some(2), Some(1)], "{engine}");
    }
}

#[test]
fn the_first_failure_stops_what_has_not_begun() {
    let fleet = Fleet::start("proxysql-2.7", 3);
    fleet.ends(0, &["apply", "--auto-approve"]);
    fleet.topology(1, RULE);
    // The first fails, and is back: nothing differs from before.
    fleet.nodes[0].stand_in().run([FULL_DISK]).unwrap();
    let said = fleet.ends(6, &["apply", "--auto-approve"]);
    assert!(
        said.contains("every target that was changed is back; set back: p1; not begun: p2, p3"),
        "{said}"
    );
    assert_eq!(fleet.generations(), [Some(1); 3]);
    fleet.nodes[0].stand_in().run(["DROP TRIGGER full"]).unwrap();
    // The second fails after the first was applied: the state is mixed, although it is back.
    fleet.nodes[1].stand_in().run([FULL_DISK]).unwrap();
    let said = fleet.ends(7, &["apply", "--auto-approve"]);
    assert!(
        said.contains("the state is mixed; running the plan: p1; set back: p2; not begun: p3"),
        "{said}"
    );
    assert_eq!(fleet.generations(), [Some(2), Some(1), Some(1)]);
    fleet.nodes[1].stand_in().run(["DROP TRIGGER full"]).unwrap();
    fleet.ends(0, &["apply", "--auto-approve"]);
    fleet.ends(0, &["diff"]);
}

#[test]
fn a_secret_that_one_proxy_lacks_changes_none() {
    let fleet = Fleet::with_variables("bundled", 3, |number| match number {
        2 => Vec::new(),
        _ => vec![("OTHER_PASSWORD".to_owned(), "of-another-user".to_owned())],
    });
    fleet.ends(0, &["apply", "--auto-approve"]);
    fleet.topology(1, "  other: {password: {env: OTHER_PASSWORD}, cluster: a}\n");
    let said = fleet.ends(1, &["apply", "--auto-approve"]);
    assert!(
        said.contains("nothing was changed; not changed: p2; not begun: p1, p3"),
        "{said}"
    );
    assert!(
        said.contains("users.other") && said.contains("OTHER_PASSWORD"),
        "{said}"
    );
    assert_eq!(fleet.generations(), [Some(1); 3]);
}

/// A proxy that is stopped takes connections, and never answers.
#[test]
fn a_hung_target_costs_its_deadline_and_is_named() {
    let fleet = Fleet::start("bundled", 2);
    fleet.ends(0, &["apply", "--auto-approve"]);
    fleet.topology(2, "");
    fleet.ends(0, &["plan", "-o", "a.plan"]);
    let hung = fleet.nodes[1].process();
    hung.signal(nix::sys::signal::Signal::SIGSTOP).unwrap();
    for command in [&["plan"][..], &["apply", "a.plan"], &["status"]] {
        let said = fleet.ends(1, command);
        assert!(
            said.contains("p2") && said.contains("it does not answer within 10 s"),
            "{command:?}: {said}"
        );
        assert!(
            !said.contains("os error") && !said.contains("Error {"),
            "{command:?}: {said}"
        );
    }
    hung.signal(nix::sys::signal::Signal::SIGCONT).unwrap();
    assert_eq!(fleet.generations(), [Some(1); 2]);
}

/// What was not read is named, and nothing is claimed of it.
#[test]
fn targets_that_cannot_be_read_are_not_without_drift() {
    for engine in ENGINES {
        let fleet = Fleet::start(engine, 2);
        fleet.ends(0, &["apply", "--auto-approve"]);
        let nobody = ReservedPort::new().unwrap();
        let live = fleet.addresses()[0];
        let skip = "safety: {unreachable: skip}\n";
        for policy in ["", skip] {
            fleet.project_at(&[live, nobody.address()], policy);
            for command in [
                &["drift"][..],
                &["status"],
                &["status", "--detailed-exitcode"],
                &["diff"],
                &["drift", "--format", "json"],
                &["drift", "--format", "markdown"],
                &["status", "--format", "json"],
                &["diff", "--format", "json"],
            ] {
                let said = fleet.ends(1, command);
                assert!(said.contains("p2"), "{command:?}: {said}");
            }
            let drift = fleet.ends(1, &["drift"]);
            assert!(
                drift.contains("no drift on 1 of 2 targets; p2 cannot be read"),
                "{drift}"
            );
        }
        let diff = fleet.ends(1, &["diff"]);
        assert!(diff.contains("p2 cannot be read, and was not compared"), "{diff}");
        // Drift of another target does not hide it.
        fleet.topology(2, "");
        fleet.ends(1, &["drift"]);
        fleet.ends(1, &["diff"]);
        fleet.ends(2, &["drift", "--target", "p1"]);
        // Nor does it help that none can be read.
        fleet.project_at(&[nobody.address(), nobody.address()], skip);
        for command in ["drift", "diff", "status"] {
            let said = fleet.ends(1, &[command]);
            assert!(
                !said.contains("no drift") && !said.contains("no changes"),
                "{said}"
            );
        }
        assert!(
            fleet
                .ends(1, &["drift"])
                .contains("nothing was compared; p1, p2 cannot be read")
        );
    }
}

/// A password that is not at hand hides no other target, and is no reason to apply to some.
#[test]
fn a_target_whose_password_is_missing_is_named_beside_the_others() {
    for engine in ENGINES {
        let fleet = Fleet::start(engine, 3);
        fleet.ends(0, &["apply", "--auto-approve"]);
        fleet.topology(2, "");
        fleet.ends(0, &["plan", "-o", "whole.plan"]);
        fleet.lacks_password(2, "");
        let diff = fleet.ends(1, &["diff"]);
        assert!(
            diff.contains("target p2") && diff.contains("NO_SUCH_PASSWORD"),
            "{diff}"
        );
        assert!(diff.contains("p2 cannot be read, and was not compared"), "{diff}");
        assert!(diff.contains("clusters.a.servers.w"), "{diff}");
        let plan = fleet.ends(1, &["plan", "-o", "some.plan"]);
        assert!(plan.contains("clusters.a.servers.w"), "{plan}");
        assert!(
            plan.contains("p2 cannot be read: this is the plan of the others, and it is not saved"),
            "{plan}"
        );
        assert!(!fleet.environment.project().join("some.plan").exists());
        assert_eq!(fleet.json(1, &["plan"])["unreachable"][0]["name"], "p2");
        for apply in [&["apply", "--auto-approve"][..], &["apply", "whole.plan"]] {
            let said = fleet.ends(1, apply);
            assert!(said.contains("p2") && said.contains("NO_SUCH_PASSWORD"), "{said}");
        }
        // The project may say that it is left out.
        fleet.lacks_password(2, "safety: {unreachable: skip}\n");
        fleet.ends(1, &["diff"]);
        fleet.ends(0, &["plan", "-o", "some.plan"]);
        let said = fleet.ends(0, &["apply", "whole.plan"]);
        assert!(said.contains("p2") && said.contains("it is left out"), "{said}");
        fleet.ends(5, &["apply", "some.plan"]);
        fleet.project("");
        assert_eq!(fleet.generations(), [Some(2), Some(1), Some(2)], "{engine}");
    }
}

#[test]
fn a_resumed_apply_says_what_every_target_of_it_runs() {
    let fleet = Fleet::start("proxysql-2.7", 3);
    fleet.ends(0, &["apply", "--auto-approve"]);
    fleet.topology(2, "");
    let addresses = fleet.addresses();
    let through = |network: &Faulty| fleet.project_at(&[addresses[0], network.address, addresses[2]], "");
    let network = Faulty::start(addresses[1], 0, None, false);
    through(&network);
    fleet.ends(0, &["apply", "--auto-approve"]);
    let load = network
        .statements()
        .iter()
        .rposition(|statement| statement.starts_with("LOAD MYSQL SERVERS"));
    fleet.project("");
    for command in ["--resume", "rollback"] {
        fleet.topology(1, "");
        fleet.ends(0, &["apply", "--auto-approve"]);
        fleet.topology(2, "");
        let network = Faulty::start(addresses[1], load.unwrap(), Some(Fault::HangsBefore), false);
        through(&network);
        let running = fleet.environment.start(["apply", "--auto-approve"]).unwrap();
        eventually(PATIENCE, || network.has_failed());
        drop(running);
        network.mend();
        let name = fleet.last_apply();
        let blocked = fleet.ends(5, &["apply", "--auto-approve"]);
        assert!(blocked.contains(&name), "{blocked}");
        match command {
            "--resume" => {
                let said = fleet.ends(7, &["apply", "--resume", &name]);
                assert!(
                    said.contains("the state is mixed; running the plan: p1, p2; not begun: p3"),
                    "{said}"
                );
                let again = fleet.ends(7, &["apply", "--resume", &name]);
                assert!(again.contains(&format!("run {name}-2 was applied")), "{again}");
                fleet.ends(0, &["apply", "--auto-approve"]);
            }
            _ => {
                let taken = fleet.outcomes(0, &["rollback", &name, "--auto-approve"]);
                assert_eq!(taken, ["p1 applied", "p2 applied"]);
                fleet.topology(1, "");
            }
        }
        fleet.project("");
        fleet.ends(0, &["diff"]);
        fleet.ends(0, &["status", "--detailed-exitcode"]);
    }
}
