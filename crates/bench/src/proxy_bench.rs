//! `bench proxy`: the servers, the proxies and the plan of a pinned serial measurement.

use std::process::Command;
use std::time::Duration;

use clap::Args;
use serde_json::json;
use shardwright_bench::{BenchError, Endpoint, PointSelect, Report, pinned_serial};
use shardwright_testkit::{CommandEnvironment, MariaDb, Options, ProxyOptions, ProxyProcess};

const USER: &str = "bench";
const PASSWORD: &str = "bench";
const SCHEMA: &str = "sbtest";

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
    server.run(format!("CREATE DATABASE {SCHEMA}"))?;
    server.create_user(USER, PASSWORD, Some(&format!("ALL ON {SCHEMA}.*")))?;
    let client = PointSelect {
        user: USER.to_owned(),
        password: PASSWORD.to_owned(),
        schema: SCHEMA.to_owned(),
        threads: 1,
        cores,
    };
    client.prepare(server.address())?;

    let direct = Endpoint::running("direct", server.address(), server.process_id());
    let mut raw = Command::new(crate::beside("passthrough")?);
    let floor = Endpoint::start("raw TCP", raw.arg("--server").arg(server.address().to_string()))?;
    let (bundled, _environment) = bundled(&server)?;
    let mut proxies = vec![Endpoint::running(
        "shardwright",
        bundled.listen(),
        bundled.process_id(),
    )];
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

/// The bundled proxy in front of the server, with its configuration applied.
fn bundled(server: &MariaDb) -> Result<(ProxyProcess, CommandEnvironment), BenchError> {
    let failed = || BenchError::io("the bundled proxy");
    let mut environment = CommandEnvironment::new(crate::beside("shardwright")?).map_err(failed())?;
    environment.set("BENCH_PASSWORD", PASSWORD);
    let proxy = ProxyProcess::start(&environment, ProxyOptions::new(environment.outside("data")))
        .map_err(|error| failed()(std::io::Error::other(error)))?;
    let project = format!(
        "version: 1\nengines: [bundled]\ntargets:\n  local: {{engine: bundled, admin: \"{}\", user: admin, \
         password: {{env: SHARDWRIGHT_ADMIN_PASSWORD}}}}\n",
        proxy.admin()
    );
    let topology = format!(
        "version: 1\nclusters:\n  bench: {{type: single, servers: {{s: {{host: 127.0.0.1, port: {}}}}}}}\nusers:\n  \
         {USER}: {{password: {{env: BENCH_PASSWORD}}, cluster: bench, schema: {SCHEMA}}}\n",
        server.port()
    );
    environment.write("shardwright.yaml", project).map_err(failed())?;
    environment
        .write("topology/bench.yaml", topology)
        .map_err(failed())?;
    let applied = environment.run(["apply", "--auto-approve"]).map_err(failed())?;
    if applied.code() != Some(0) {
        return Err(BenchError::Output {
            what: "shardwright apply".to_owned(),
            output: applied.stderr,
        });
    }
    Ok((proxy, environment))
}
