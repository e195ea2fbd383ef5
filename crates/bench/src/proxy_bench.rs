//! `bench proxy`: the servers, the proxies and the plan of a pinned serial measurement.

use std::process::Command;
use std::time::Duration;

use clap::Args;
use serde_json::json;
use shardwright_bench::{BenchError, Endpoint, Report, pinned_serial};
use shardwright_testkit::{MariaDb, Options};

use crate::bundled::{Bundled, PASSWORD, SCHEMA, USER};

#[derive(Args)]
pub(crate) struct Arguments {
    /// A proxy to measure: a command for /bin/sh that starts it in the foreground and prints a line with listen=ADDR.
    /// {server}, {user}, {password} and {schema} are replaced. Repeatable.
    #[arg(long = "start", value_name = "NAME=COMMAND", value_parser = name_and_value)]
    start: Vec<(String, String)>,
    /// How many rounds.
    #[arg(long, default_value_t = Self::default().rounds)]
    rounds: u32,
    /// Seconds per target and round.
    #[arg(long, default_value_t = Self::default().seconds)]
    seconds: u64,
    /// The core for server, proxy and client.
    #[arg(long, default_value_t = Self::default().core)]
    core: u32,
}

impl Default for Arguments {
    fn default() -> Self {
        Self {
            start: Vec::new(),
            rounds: 5,
            seconds: 4,
            core: 0,
        }
    }
}

fn name_and_value(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once('=').ok_or("expected NAME=COMMAND")?;
    Ok((name.to_owned(), value.to_owned()))
}

pub(crate) fn run(arguments: &Arguments, progress: impl FnMut(&str)) -> Result<Report, BenchError> {
    let cores = arguments.core.to_string();
    let wrapper = ["taskset", "-c", &cores].map(str::to_owned).to_vec();
    let server = MariaDb::start(Options {
        wrapper,
        ..Options::default()
    })?;
    let client = crate::bundled::filled(&server, 1, cores)?;

    let direct = Endpoint::running("direct", server.address(), server.process_id());
    let mut raw = Command::new(crate::beside("passthrough")?);
    let floor = Endpoint::start("raw TCP", raw.arg("--server").arg(server.address().to_string()))?;
    let bundled = Bundled::start(&server, None, &[])?;
    let mut proxies = vec![bundled.endpoint()];
    for (name, command) in &arguments.start {
        let command = command
            .replace("{server}", &server.address().to_string())
            .replace("{user}", USER)
            .replace("{password}", PASSWORD)
            .replace("{schema}", SCHEMA);
        proxies.push(Endpoint::start(
            name,
            Command::new("/bin/sh").args(["-c", &command]),
        )?);
    }
    let version = server
        .run("SELECT VERSION()")?
        .concat()
        .into_iter()
        .flatten()
        .next();
    let plan = pinned_serial::Plan {
        direct: &direct,
        floor: &floor,
        proxies: &proxies,
        client: &client,
        rounds: arguments.rounds,
        duration: Duration::from_secs(arguments.seconds),
        about: json!({"server": version, "client": "sysbench oltp_point_select", "started": arguments.start}),
    };
    pinned_serial::run(&plan, progress)
}
