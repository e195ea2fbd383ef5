//! Clients as threads of this process, for what sysbench cannot do.

use std::collections::BTreeMap;
use std::thread;
use std::time::{Duration, Instant};

use super::turns::Done;
use crate::BenchError;
use crate::wire_client::ClientError;

/// What one client does again and again; it has its number.
pub(crate) trait Work: FnMut() -> Result<(), ClientError> {}
impl<W: FnMut() -> Result<(), ClientError>> Work for W {}

/// So many clients, each of which works until the time is over.
pub(super) fn until<W: Work>(
    clients: u32,
    duration: Duration,
    work: impl Fn() -> W + Sync,
) -> Result<Done, BenchError> {
    let start = Instant::now();
    while_it_goes_on(clients, |_| start.elapsed() < duration, work)
}

/// So many clients, each of which works so many times.
pub(crate) fn times<W: Work>(
    clients: u32,
    times: u64,
    work: impl Fn() -> W + Sync,
) -> Result<(), BenchError> {
    while_it_goes_on(clients, |done| done < times, work).map(drop)
}

fn while_it_goes_on<W: Work>(
    clients: u32,
    goes_on: impl Fn(u64) -> bool + Sync,
    work: impl Fn() -> W + Sync,
) -> Result<Done, BenchError> {
    let start = Instant::now();
    let counted = thread::scope(|scope| {
        let client = || {
            let mut work = work();
            let mut units = 0;
            while goes_on(units) {
                work()?;
                units += 1;
            }
            Ok(units)
        };
        let running: Vec<_> = (0..clients).map(|_| scope.spawn(client)).collect();
        running
            .into_iter()
            .map(|thread| thread.join().expect("a client has nothing that panics"))
            .collect::<Result<Vec<u64>, ClientError>>()
    });
    Ok(Done {
        units: counted.map_err(failed)?.into_iter().sum(),
        seconds: start.elapsed().as_secs_f64(),
        more: BTreeMap::new(),
    })
}

/// A client that should have had an answer.
pub(super) fn failed(error: ClientError) -> BenchError {
    BenchError::Output {
        what: "a client has no answer".to_owned(),
        output: error.to_string(),
    }
}
