//! One client: it commits one number after the other, and connects again after each connection that was lost.

use std::time::{Duration, Instant};

use mysql::prelude::Queryable;
use mysql::{Conn, Opts};

use crate::answers::{self, Answer};

use crate::pace::Pace;
use crate::shared::Shared;

/// After an error, so that a server that refuses at once is not asked without end.
const PAUSE: Duration = Duration::from_millis(10);

pub(crate) fn work(shared: &Shared, target: Opts, client: u64) {
    let load = &shared.load;
    let clients = u64::from(load.clients.get());
    let mut pace = Pace::new(load.rate.map(|rate| rate / clients as f64), Instant::now());
    let mut connection: Option<Conn> = None;
    let mut number = client;
    while !shared.is_over() {
        let Some(open) = &mut connection else {
            match Conn::new(target.clone()) {
                Ok(opened) => connection = Some(opened),
                Err(error) => {
                    shared.not_sent(answers::not_connected(&error));
                    shared.pause(PAUSE);
                }
            }
            continue;
        };
        shared.pause(pace.pause(Instant::now()));
        if shared.is_over() {
            break;
        }
        let sent = Instant::now();
        match commit(open, shared, number) {
            Ok(()) => shared.answered(number, sent, Answer::Acknowledged),
            Err(failed) => {
                shared.answered(number, sent, failed.answer);
                if failed.ends_connection {
                    connection = None;
                }
                shared.pause(PAUSE);
            }
        }
        number += clients;
    }
}

/// A commit that was not acknowledged.
struct Failed {
    answer: Answer,
    ends_connection: bool,
}

impl Failed {
    fn at_commit(error: &mysql::Error) -> Self {
        Self {
            answer: answers::answer(error),
            ends_connection: answers::ends_connection(error),
        }
    }

    /// Inside of a transaction: nothing is committed, whatever the error says. A connection is not used again, because
    /// the transaction may still be open.
    fn before_commit(error: &mysql::Error) -> Self {
        let (Answer::Refused(code, message) | Answer::Unknown(code, message)) = answers::answer(error) else {
            unreachable!("an error acknowledges nothing");
        };
        Self {
            answer: Answer::Refused(code, message),
            ends_connection: true,
        }
    }
}

fn commit(connection: &mut Conn, shared: &Shared, number: u64) -> Result<(), Failed> {
    let load = &shared.load;
    let (table, run) = (&load.table, load.run);
    let insert = format!("INSERT INTO {table} (c, run, number) VALUES (NOW(6), {run}, {number})");
    let rows = load.rows(number);
    if rows == 1 {
        return connection
            .query_drop(&insert)
            .map_err(|error| Failed::at_commit(&error));
    }
    let within = |connection: &mut Conn, sql: &str| {
        connection
            .query_drop(sql)
            .map_err(|error| Failed::before_commit(&error))
    };
    within(connection, "BEGIN")?;
    for _ in 0..rows {
        within(connection, &insert)?;
    }
    connection
        .query_drop("COMMIT")
        .map_err(|error| Failed::at_commit(&error))
}
