//! Passwords are found when they are needed, compared in the form that ProxySQL has, and told to nobody.

use std::fs;
use std::path::Path;

use shardwright_plan::{Outcome, apply};
use shardwright_rules::{Configuration, SecretReference};
use shardwright_testkit::configuration;

use super::rig::{Rig, effects, plan};

const CANARY: &str = "canary-of-the-day";
/// `mysql_native_password` of the canary.
const STORED: &str = "SELECT password FROM mysql_users WHERE username = 'app'";

fn with_password(file: &str) -> Configuration {
    let mut configuration = configuration("users: [app]");
    configuration.users[0].password = Some(SecretReference::File(file.to_owned()));
    configuration
}

/// Every file below a directory that holds a text.
fn holding(directory: &Path, text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(holding(&path, text));
        } else if String::from_utf8_lossy(&fs::read(&path).unwrap()).contains(text) {
            found.push(path.file_name().unwrap().to_string_lossy().into_owned());
        }
    }
    found
}

#[test]
fn a_password_is_stored_as_a_hash_and_told_nowhere() {
    let Some(rig) = Rig::start("passwords of a real ProxySQL") else {
        return;
    };
    let secrets = tempfile::tempdir().unwrap();
    let file = secrets.path().join("app");
    fs::write(&file, CANARY).unwrap();
    let desired = with_password(file.to_str().unwrap());
    let mut target = rig.target();
    let planned = plan(&mut target, &desired, Some("shop"));
    let report = apply(&planned, &mut target);
    assert_eq!(report.outcome, Outcome::Applied, "{report:#?}");
    let stored = rig.lines(STORED).remove(0);
    assert!(stored.starts_with('*') && stored.len() == 41, "{stored}");
    for text in [
        planned.to_json(),
        effects(&planned),
        format!("{report:?} {target:?}"),
    ] {
        assert!(!text.contains(CANARY) && !text.contains(&stored), "{text}");
    }
    assert_eq!(holding(rig.state.path(), CANARY), [""; 0]);
    // The record of the run has what is needed to take it back, for its owner's eyes.
    assert_eq!(holding(rig.state.path(), &stored), ["run.json"]);
    // In clear text it is the same password.
    rig.run(&[
        "UPDATE mysql_users SET password = 'canary-of-the-day' WHERE username = 'app'",
        "LOAD MYSQL USERS TO RUNTIME",
    ]);
    assert!(!plan(&mut target, &desired, Some("shop")).has_changes());
    // Another one is a change that is told by where it is found.
    fs::write(&file, "another-canary").unwrap();
    let mut target = rig.target();
    let planned = plan(&mut target, &desired, Some("shop"));
    let told = effects(&planned).replace(file.to_str().unwrap(), "FILE");
    insta::assert_snapshot!(told);
    assert_eq!(apply(&planned, &mut target).outcome, Outcome::Applied);
    assert_ne!(rig.lines(STORED).remove(0), stored);
}

#[test]
fn a_password_that_cannot_be_found_is_not_compared_and_adds_nobody() {
    let Some(rig) = Rig::start("passwords that a real ProxySQL does not get") else {
        return;
    };
    let nowhere = with_password("/nonexistent/password");
    let mut target = rig.target();
    let planned = plan(&mut target, &nowhere, Some("shop"));
    let report = apply(&planned, &mut target);
    assert_eq!(report.outcome, Outcome::Refused, "{report:#?}");
    assert_eq!(rig.lines("SELECT username FROM mysql_users"), [""; 0]);
    rig.applied(&configuration("users: [app]"));
    rig.run(&[
        "UPDATE mysql_users SET password = 'kept'",
        "LOAD MYSQL USERS TO RUNTIME",
    ]);
    let planned = plan(&mut rig.target(), &nowhere, Some("shop"));
    assert!(!planned.has_changes(), "{}", effects(&planned));
    assert_eq!(planned.targets[0].hazards[0].code, "SW833");
}
