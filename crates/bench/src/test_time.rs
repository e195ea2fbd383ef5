//! How long `shardwright test` takes from process start to exit, for route tests that a generator makes.

use std::path::Path;

use serde_json::json;

use crate::shards::write_project;
use crate::validate_time::whole_process;
use crate::{BenchError, Report, Summary, Table};

/// Cases, engines, and runs.
const RUNS: [(u32, &str, usize); 4] = [
    (1_000, "bundled", 15),
    (1_000, "proxysql-2.7", 15),
    (100_000, "bundled", 7),
    (100_000, "proxysql-2.7", 7),
];
const SHARDS: u32 = 200;

/// Measures `program`.
///
/// # Errors
/// The program cannot be run, or a test fails.
pub fn run(program: &Path, mut progress: impl FnMut(&str)) -> Result<Report, BenchError> {
    let mut table = Table::new(["cases", "engine", "median ms", "min ms", "max ms"]);
    let (mut samples, mut summary) = (Vec::new(), Vec::new());
    for (cases, engine, repeats) in RUNS {
        progress(&format!("test: {cases} cases on {engine}"));
        let directory = write_project(&[
            ("shardwright.yaml", format!("version: 1\nengines: [{engine}]\n")),
            ("topology/t.yaml", topology()),
            ("tests/routes.yaml", tests(cases)),
        ])?;
        let mut times = Vec::new();
        for _ in 0..repeats {
            times.push(whole_process(program, &["test", "--quiet"], directory.path())?);
        }
        let middle = Summary::of(times.iter().copied()).expect("there are repeats");
        table.row([
            cases.to_string(),
            engine.to_owned(),
            format!("{:.1}", middle.median),
            format!("{:.1}", middle.min),
            format!("{:.1}", middle.max),
        ]);
        samples.push(json!({"cases": cases, "engine": engine, "ms": times}));
        summary.push(json!({"cases": cases, "engine": engine, "ms": middle}));
    }
    Ok(Report {
        name: "test",
        title: format!("`shardwright test` of {SHARDS} shards, one case for each key, whole process"),
        parameters: json!({"shards": SHARDS}),
        tables: vec![table],
        samples,
        summary: json!(summary),
    })
}

fn topology() -> String {
    format!(
        "version: 1\nclusters:\n  shard-$(n): {{for_each: {{n: 1..{SHARDS}}}, type: single, servers: {{db: {{host: \"s$(n).db\"}}}}}}\n\
         users:\n  app: {{password: {{env: APP_PASSWORD}}, cluster: shard-1, schema: app}}\n\
         shard_maps:\n  tenants:\n    applies_to: {{users: [app]}}\n    key: {{name: tenant, type: integer}}\n    \
         key_from: [comment: {{}}]\n    \
         shards:\n      t$(n): {{for_each: {{n: 1..{SHARDS}}}, keys: [$(n)], cluster: \"shard-$(n)\"}}\n"
    )
}

fn tests(cases: u32) -> String {
    let shard = format!("$((n - 1) % {SHARDS} + 1)");
    format!(
        "version: 1\nsession: {{user: app}}\nroute_tests:\n  every key reaches its shard:\n    for_each: {{n: 1..{cases}}}\n    \
         query: \"/* tenant={shard} */ UPDATE orders SET state=1 WHERE id=$(n)\"\n    \
         expect: {{shard: \"tenants/t{shard}\", cluster: \"shard-{shard}\", role: writer}}\n"
    )
}
