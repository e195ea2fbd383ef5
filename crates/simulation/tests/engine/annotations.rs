//! Which comments are obeyed.

use std::collections::BTreeMap;

use shardwright_sql::annotation::first_comment;

use crate::compare::{Said, Session, configuration, differences, rig};
use crate::random::Dice;

const PIECES: [&str; 36] = [
    "/*",
    "*/",
    "/*!",
    "/*+",
    "/",
    "*",
    "!",
    "hostgroup=2",
    "hostgroup=",
    "hostgroup=3abc",
    "HostGroup = 4",
    ";",
    "=",
    "=5",
    " ",
    "\n",
    "\t",
    "\u{b}",
    "\0",
    "'",
    "\"",
    "`",
    "\\",
    "-- ",
    "--",
    "-",
    "#",
    "a",
    "1",
    "1e-",
    "0x1F",
    "?",
    "x'",
    ", ",
    "50000 ",
    "hostgroup=4294967298",
];

#[test]
fn comments_are_obeyed_as_the_engine_obeys_them() {
    let Some(mut rig) = rig("annotations against the engine", 1) else {
        return;
    };
    let statements = ["INSERT INTO mysql_users (username, default_hostgroup) VALUES ('app', 0)".to_owned()];
    rig.load(&statements).unwrap();
    let configuration = configuration(&rig, &statements);
    let mut dice = Dice::new(7);
    let (mut hits, mut failures, mut obeyed) = (BTreeMap::new(), Vec::new(), 0);
    for _ in 0..60 {
        let said: Vec<Said> = (0..50)
            .map(|_| {
                loop {
                    let mut pieces =
                        |most: usize| -> String { (0..dice.below(most)).map(|_| dice.of(&PIECES)).collect() };
                    let sql = format!("SELECT 1 {}/*{}*/{}", pieces(4), pieces(8), pieces(4));
                    let comment = first_comment(sql.as_bytes());
                    // What stands behind an open comment is the engine's memory.
                    if !comment.as_ref().is_some_and(|comment| comment.is_open) {
                        obeyed += usize::from(comment.is_some());
                        break Said::Query(sql);
                    }
                }
            })
            .collect();
        let session = Session::of("app", Some("shop"), 0, said);
        failures.extend(differences(&rig, &configuration, &session, &mut hits));
    }
    assert_eq!(rig.proxysql_mut().ended().unwrap(), None);
    assert!(
        failures.is_empty(),
        "{} of 60 sessions:\n{}",
        failures.len(),
        failures.join("\n\n")
    );
    assert!(obeyed > 300, "{obeyed} comments");
}
