//! A server, a ProxySQL before it, a client of that, and a project for it.

use std::process::{Command, Stdio};
use std::time::Instant;

use serde_json::Value;
use shardwright_testkit::{MariaDb, Options, ProxySql, ProxySqlOptions};
use tempfile::TempDir;

use super::Plan;
use super::client::{Client, Felt};
use crate::BenchError;
use crate::shards::write_project;

/// How many clusters the shards are spread over; all of them are the one server.
const CLUSTERS: u32 = 10;

pub(super) struct Rig {
    pub(super) client: Client,
    plan: Plan,
    project: TempDir,
    proxysql: ProxySql,
    server: MariaDb,
}

impl Rig {
    /// Starts it with one shard, which is live; the files have all of them.
    pub(super) fn start(plan: &Plan) -> Result<Self, BenchError> {
        let server = MariaDb::start(Options::default())?;
        server.create_user("app", "app", Some("ALL PRIVILEGES ON *.*"))?;
        for statement in [
            "CREATE DATABASE app",
            "CREATE TABLE app.t (id INT PRIMARY KEY, v INT)",
            "INSERT INTO app.t VALUES (1, 1)",
        ] {
            server.run(statement)?;
        }
        let proxysql = ProxySql::start(&plan.proxysql, &ProxySqlOptions::default());
        let proxysql = proxysql.map_err(|error| BenchError::Output {
            what: "starting ProxySQL".to_owned(),
            output: error.to_string(),
        })?;
        let project = format!(
            "version: 1\nproject: bench\nengines: [proxysql-2.7]\n\
             ids: {{hostgroups: 1000-1999999, rules: 2000000-19999999, flags: 20000000-29999999}}\n\
             targets:\n  px: {{engine: proxysql-2.7, admin: \"{}\", user: admin, password: {{env: PX_ADMIN}}}}\n",
            proxysql.admin_address()
        );
        let project = write_project(&[
            ("shardwright.yaml", project),
            ("topology/tenants.yaml", topology(&server, 1, false)),
        ])?;
        run(plan, &project, &["apply", "--quiet", "--auto-approve"])?;
        let client = Client::start(proxysql.address(), plan.shards)?;
        let rig = Self {
            client,
            plan: plan.clone(),
            project,
            proxysql,
            server,
        };
        rig.write(plan.shards, false)?;
        Ok(rig)
    }

    /// Writes the topology.
    pub(super) fn write(&self, shards: u32, one_has_moved: bool) -> Result<(), BenchError> {
        let path = self.project.path().join("topology/tenants.yaml");
        let text = topology(&self.server, shards, one_has_moved);
        std::fs::write(path, text).map_err(BenchError::io("writing a topology"))
    }

    /// Runs a command: milliseconds, and what the client felt.
    pub(super) fn measured(&self, arguments: &[&str]) -> Result<(f64, Felt), BenchError> {
        self.client.forget();
        let ms = run(&self.plan, &self.project, arguments)?;
        Ok((ms, self.client.felt()?))
    }

    /// Runs a command while the client sends nothing: milliseconds.
    pub(super) fn measured_alone(&self, arguments: &[&str]) -> Result<f64, BenchError> {
        self.client.paused(|| run(&self.plan, &self.project, arguments))
    }

    /// Whether a saved plan has found the statements of the shard that has moved: a plan that does not say what routes
    /// differently would be quick.
    pub(super) fn expect_witness(&self, saved: &str, shards: u32) -> Result<(), BenchError> {
        let path = self.project.path().join(saved);
        let text = std::fs::read_to_string(path).map_err(BenchError::io("reading a plan"))?;
        let is_told = serde_json::from_str::<Value>(&text).is_ok_and(|plan| {
            let key = format!("tenant={} ", shards / 2 + 1);
            let of_shard = |witness: &Value| {
                let statement = witness["statement"].as_str().unwrap_or_default();
                format!("{} ", statement.to_lowercase().replace("*/", " ")).contains(&key)
            };
            let witnesses = plan["meaning"]["witnesses"].as_array();
            plan["meaning"]["answer"] == "changed" && witnesses.is_some_and(|all| all.iter().any(of_shard))
        });
        match is_told {
            true => Ok(()),
            false => Err(BenchError::Output {
                what: "the plan of a shard that moves does not say that its statements go another way"
                    .to_owned(),
                output: text.chars().take(2_000).collect(),
            }),
        }
    }

    /// How many rules are live.
    pub(super) fn rules(&self) -> Result<usize, BenchError> {
        let failed = |error: String| BenchError::Output {
            what: "counting rules".to_owned(),
            output: error,
        };
        let rows = self
            .proxysql
            .run(["SELECT COUNT(*) FROM runtime_mysql_query_rules"]);
        let rows = rows.map_err(|error| failed(error.to_string()))?;
        let count = rows.into_iter().flatten().flatten().next().unwrap_or_default();
        count.parse().map_err(|_| failed(count.clone()))
    }

    pub(super) fn end(self) -> Result<(), BenchError> {
        self.client.end()
    }
}

/// A project whose shards take turns on the clusters; with `one_has_moved`, the one in the middle is on another.
fn topology(server: &MariaDb, shards: u32, one_has_moved: bool) -> String {
    let address = server.address();
    let middle = shards / 2 + 1;
    let moved = u32::from(one_has_moved);
    let shard = |name: &str, from: u32, to: u32, by: u32| match from > to {
        true => String::new(),
        false => format!(
            "      {name}$(n): {{for_each: {{n: {from}..{to}}}, keys: [$(n)], cluster: \"c$((n + {by}) % {CLUSTERS})\"}}\n"
        ),
    };
    format!(
        "version: 1\nclusters:\n  c$(n): {{for_each: {{n: 0..{}}}, type: single, servers: {{db: {{host: \"{}\", port: {}}}}}}}\n\
         users:\n  app: {{password: {{env: APP_PASSWORD}}, cluster: c0, schema: app}}\n\
         shard_maps:\n  tenants:\n    applies_to: {{users: [app]}}\n    key: {{name: tenant, type: integer}}\n    \
         key_from: [comment: {{}}]\n    unknown_key: {{cluster: c0}}\n    shards:\n{}{}{}",
        CLUSTERS - 1,
        address.ip(),
        address.port(),
        shard("a", 1, middle - 1, 0),
        shard("m", middle, middle, moved),
        shard("z", middle + 1, shards, 0),
    )
}

/// Runs the program to its end, which must be a good one: milliseconds.
fn run(plan: &Plan, project: &TempDir, arguments: &[&str]) -> Result<f64, BenchError> {
    let what = format!("shardwright {}", arguments.join(" "));
    let mut command = Command::new(&plan.program);
    command
        .args(arguments)
        .current_dir(project.path())
        .env_clear()
        .env("PX_ADMIN", "admin")
        .env("APP_PASSWORD", "app")
        .stdin(Stdio::null());
    let begun = Instant::now();
    let output = command.output().map_err(BenchError::io(&*what))?;
    let ms = begun.elapsed().as_secs_f64() * 1e3;
    if output.status.success() {
        return Ok(ms);
    }
    Err(BenchError::Output {
        what: format!("{what} ended with {}", output.status),
        output: String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned(),
    })
}
