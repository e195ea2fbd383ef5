//! Random composed topologies, loaded as a user would: a real engine serves every key and random statements as the evaluator
//! says.

use std::collections::HashMap;

use shardwright_testkit::{EngineClient, real_proxysql};

use super::loaded::Loaded;
use super::{LIBRARIES, leaves_state};
use crate::composed::dice::Dice;
use crate::composed::statements::{Clients, Said};
use crate::composed::{estate, first, wanted};

/// Topologies of a usual run.
const USUAL: u64 = 12;
/// Random statements of each.
const STATEMENTS: usize = 150;

#[test]
fn composed_topologies_are_served_as_the_evaluator_says() {
    let Some(binary) = real_proxysql("the emitted rules of random composed topologies") else {
        return;
    };
    let projects = (first()..).filter_map(|number| Some((number, estate(number)?)));
    let (mut sent, mut compared) = (0, 0);
    for (number, (text, project)) in projects.take(wanted(USUAL) as usize) {
        // Shown where the test fails.
        println!("{text}");
        let clients = Clients::of(&project);
        let dice = &mut Dice::new(number);
        let random: Vec<Said> = (0..STATEMENTS).map(|_| clients.said(dice)).collect();
        let library = LIBRARIES[number as usize % LIBRARIES.len()];
        let loaded = Loaded::start_with(&binary, &project, 1, library);
        loaded.be_patient();
        let mut connections: HashMap<(String, Option<String>), EngineClient> = HashMap::new();
        for said in clients.every_key().into_iter().chain(random) {
            let Said {
                user,
                schema,
                sql,
                is_plain,
            } = &said;
            if leaves_state(sql) {
                continue;
            }
            sent += 1;
            let asked = (user.as_str(), schema.as_deref());
            // A literal that is never closed would hold the client's next text too.
            compared += u64::from(if *is_plain {
                let client = connections
                    .entry((user.clone(), schema.clone()))
                    .or_insert_with(|| loaded.client(asked.0, asked.1));
                loaded.check(client, asked, sql)
            } else {
                loaded.check(&mut loaded.client(asked.0, asked.1), asked, sql)
            });
        }
    }
    println!("{sent} statements, {compared} routed or refused");
    assert!(compared > sent / 2, "{compared} of {sent}");
}
