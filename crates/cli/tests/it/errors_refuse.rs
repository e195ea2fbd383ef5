//! An error of a plan ends `plan` and `apply`, whatever their flags say, until a reason is given for that error.

use crate::fleets::{ENGINES, Fleet};

/// A rule that sends writes to readers: SW401, an error on every engine.
const WRITES_TO_READERS: &str = "query_rules:\n  own:\n    rules:\n      - {match_digest: \"^UPDATE\", cluster: a, role: reader, apply: 1}\n";

/// The same, and a rule that sends locking reads there.
const LOCKS_TO_READERS: &str = "query_rules:\n  own:\n    rules:\n      - {match_digest: \"^UPDATE\", cluster: a, role: reader, apply: 1}\n      \
     - {match_digest: \"FOR UPDATE\", cluster: a, role: reader, apply: 1}\n";

#[test]
fn an_error_ends_plan_and_apply_with_every_flag() {
    for engine in ENGINES {
        let fleet = Fleet::start(engine, 1);
        fleet.ends(0, &["apply", "--auto-approve"]);
        let generations = fleet.generations();
        fleet.topology(2, WRITES_TO_READERS);
        for plan in [
            &["plan"][..],
            &["plan", "--detailed-exitcode"],
            &["plan", "-o", "bad.plan"],
            &["plan", "-o", "bad.plan", "--detailed-exitcode"],
            &["plan", "--staged", "adopt"],
            &["plan", "--allow", "SW403=another"],
            &["plan", "--allow", "deletes=another"],
            &["plan", "--format", "markdown"],
        ] {
            let shown = fleet.ends(4, plan);
            assert!(shown.contains("SW401"), "{plan:?}: {shown}");
        }
        let json = fleet.json(4, &["plan"]);
        let digest = json["effect_digest"].as_str().unwrap().to_owned();
        for apply in [
            &["apply", "--auto-approve"][..],
            &["apply", "bad.plan"],
            &["apply", "bad.plan", "--auto-approve"],
            &["apply", "--expect-effects", &digest],
            &["apply", "--auto-approve", "--staged", "discard"],
            &["apply", "--auto-approve", "--take-over"],
            &["apply", "--auto-approve", "--drain", "1"],
            &["apply", "--auto-approve", "--format", "json"],
            &["apply", "--auto-approve", "--allow", "SW403=another"],
            &["apply", "--auto-approve", "--allow", "protect=another"],
        ] {
            let said = fleet.ends(4, apply);
            assert!(
                said.contains("refused; nothing was changed") && said.contains("--allow SW401=REASON"),
                "{apply:?}: {said}"
            );
        }
        assert_eq!(fleet.generations(), generations, "{engine}");
        fleet.ends(2, &["plan", "--detailed-exitcode", "--allow", "SW401=a test"]);
        fleet.ends(0, &["apply", "bad.plan", "--allow", "SW401=a test"]);
        // What is live already is not brought by the next plan: it is shown, and refuses nothing.
        fleet.topology(3, WRITES_TO_READERS);
        let shown = fleet.ends(2, &["plan", "--detailed-exitcode"]);
        assert!(
            shown.contains("error[SW401]") && shown.contains("(live already)"),
            "{shown}"
        );
        let json = fleet.json(0, &["plan"]);
        let hazards = json["hazards"].as_array().unwrap();
        assert!(
            hazards
                .iter()
                .any(|hazard| hazard["code"] == "SW401" && hazard["is_live"] == true),
            "{json}"
        );
        fleet.ends(0, &["apply", "--auto-approve"]);
        // One of another rule is.
        fleet.topology(3, LOCKS_TO_READERS);
        fleet.ends(4, &["plan"]);
        fleet.ends(4, &["apply", "--auto-approve"]);
        // What mends it goes through, and after that it is refused again.
        fleet.topology(3, "");
        fleet.ends(0, &["apply", "--auto-approve"]);
        fleet.topology(3, WRITES_TO_READERS);
        fleet.ends(4, &["apply", "--auto-approve"]);
    }
}

#[test]
fn what_cannot_be_allowed_is_a_bad_command_line() {
    let fleet = Fleet::start("proxysql-2.7", 1);
    for (arguments, said) in [
        (&["apply", "--allow", "SW999=x"][..], "nothing of this name"),
        (&["plan", "--allow", "anything=x"], "nothing of this name"),
        (&["apply", "--allow", "SW112=x"], "nothing of this name"),
        (&["apply", "--allow", "stale_copy=x"], "nothing of this name"),
        (&["apply", "--allow", "SW830=x"], "no reason lifts this error"),
        (&["plan", "--allow", "SW245=x"], "no reason lifts this error"),
        (&["apply", "--allow", "SW401"], "has no reason"),
        (&["rollback", "RUN", "--allow", "SW401=x"], "nothing of this name"),
        (
            &["rollback", "RUN", "--allow", "plan_expiry=x"],
            "nothing of this name",
        ),
    ] {
        let output = fleet.ends(64, arguments);
        assert!(output.contains(said), "{arguments:?}: {output}");
    }
}

#[test]
fn errors_that_targets_report_end_a_plan() {
    let fleet = Fleet::start("proxysql-2.7", 2);
    fleet.ends(0, &["apply", "--auto-approve"]);
    fleet.topology(2, "");
    // Somebody has staged a server on one of both: nobody has ended that, and it is no matter of reasons.
    let stage = ["INSERT INTO mysql_servers (hostgroup_id, hostname) VALUES (77, 'theirs')"];
    fleet.nodes[1].stand_in().run(stage).unwrap();
    for plan in [
        &["plan"][..],
        &["plan", "--detailed-exitcode"],
        &["plan", "-o", "a.plan"],
    ] {
        let said = fleet.ends(5, plan);
        assert!(said.contains("SW830") && said.contains("(on p2)"), "{said}");
    }
    fleet.ends(5, &["apply", "--auto-approve"]);
    fleet.ends(5, &["apply", "a.plan"]);
    assert_eq!(fleet.generations(), [Some(1), Some(1)]);
    fleet.ends(0, &["apply", "--auto-approve", "--staged", "discard"]);
    assert_eq!(fleet.generations(), [Some(2), Some(2)]);
    // An administrator's name cannot be allowed.
    fleet.topology(2, "  admin: {password: {env: APP_PASSWORD}, cluster: a}\n");
    let said = fleet.ends(4, &["plan"]);
    assert!(said.contains("SW245"), "{said}");
    fleet.ends(4, &["apply", "--auto-approve"]);
    assert_eq!(fleet.generations(), [Some(2), Some(2)]);
}

/// A project that is adopted from a flawed estate changes it without a reason for every flaw.
#[test]
fn a_flawed_estate_is_adopted() {
    let fleet = Fleet::start("proxysql-2.7", 1);
    fleet.topology(1, WRITES_TO_READERS);
    fleet.ends(
        0,
        &[
            "apply",
            "--auto-approve",
            "--allow",
            "SW401=the estate was like this",
        ],
    );
    // Nobody has named its rows after objects.
    let forget = [
        "UPDATE mysql_query_rules SET comment = 'ticket 7'",
        "UPDATE mysql_users SET comment = ''",
        "UPDATE mysql_servers SET comment = ''",
        "LOAD MYSQL QUERY RULES TO RUNTIME",
        "LOAD MYSQL USERS TO RUNTIME",
        "LOAD MYSQL SERVERS TO RUNTIME",
        "SAVE MYSQL QUERY RULES TO DISK",
        "SAVE MYSQL USERS TO DISK",
        "SAVE MYSQL SERVERS TO DISK",
    ];
    fleet.nodes[0].stand_in().run(forget).unwrap();
    fleet.topology(2, WRITES_TO_READERS);
    let shown = fleet.ends(0, &["plan"]);
    assert!(shown.contains("(live already)"), "{shown}");
    fleet.ends(0, &["apply", "--auto-approve"]);
}
