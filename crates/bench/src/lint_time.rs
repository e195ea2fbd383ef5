//! How long the analysis takes: rules compiled from shards, lists as people write them, and `shardwright lint` of both.

mod lists;

use std::path::Path;
use std::time::Instant;

use serde_json::{Value, json};
use shardwright_analysis::analyse;
use shardwright_rules::{Configuration, EngineId};

use crate::cpu_time::own_cpu_time;
use crate::once::{Once, measured};
use crate::resident::{forget_own_peak, own_peak_kib};
use crate::shards::{compiled, project_files, write_project};
use crate::{BenchError, Report, Summary, Table};
use lists::{dump, shadowing, sharding};

const REPEATS: usize = 3;
/// Shards whose compiled trees have about 1,000, 10,000 and 100,000 rules.
const TREES: [u32; 3] = [850, 8_500, 100_000];
const LISTS: [usize; 3] = [1_000, 5_000, 10_000];
/// Shards of a project, and rules of a dump, that the whole program analyses.
const MOST: u32 = 100_000;

/// Rows of the table, samples and summary.
struct Figures {
    table: Table,
    samples: Vec<Value>,
    summary: Vec<Value>,
}

impl Figures {
    fn add(&mut self, what: &str, rules: usize, runs: &[Once], found: &str) {
        let middle =
            |figure: fn(&Once) -> f64| Summary::of(runs.iter().map(figure)).expect("there are repeats");
        let (wall, own) = (middle(|run| run.ms), middle(|run| run.cpu_ms));
        let mib = runs.iter().map(|run| run.peak_kib).max().unwrap_or_default() as f64 / 1024.0;
        self.table.row([
            what.to_owned(),
            rules.to_string(),
            format!("{:.0}", wall.median),
            format!("{:.0}", own.median),
            format!("{mib:.0}"),
            found.to_owned(),
        ]);
        self.samples
            .push(json!({"what": what, "rules": rules, "runs": runs}));
        self.summary.push(json!({
            "what": what, "rules": rules, "ms": wall, "processor_ms": own, "peak_mib": mib, "found": found,
        }));
    }

    fn add_analysis(&mut self, what: &str, configuration: &Configuration) -> Result<(), BenchError> {
        let mut runs = Vec::new();
        let mut found = String::new();
        for _ in 0..REPEATS {
            forget_own_peak().map_err(BenchError::io("measuring memory"))?;
            let (start, before) = (Instant::now(), own_cpu_time());
            found = findings(configuration);
            runs.push(Once {
                ms: start.elapsed().as_secs_f64() * 1e3,
                cpu_ms: (own_cpu_time() - before).as_secs_f64() * 1e3,
                peak_kib: own_peak_kib(),
            });
        }
        self.add(what, configuration.graph.rules.len(), &runs, &found);
        Ok(())
    }
}

/// Measures inside this process, and `shardwright`, the program, on what is largest.
///
/// # Errors
/// When the program cannot be run or fails, or memory cannot be measured.
pub fn run(shardwright: &Path, mut progress: impl FnMut(&str)) -> Result<Report, BenchError> {
    let headings = ["what", "rules", "median ms", "processor ms", "peak MiB", "found"];
    let mut figures = Figures {
        table: Table::new(headings),
        samples: Vec::new(),
        summary: Vec::new(),
    };
    // The whole program first: children begin with this process's memory.
    for (what, files) in [
        (format!("`lint`, {MOST} shards"), project_files(MOST).to_vec()),
        (
            format!("`lint`, shard list of {MOST} rules"),
            vec![("rules.sql", dump(&sharding(MOST as usize)))],
        ),
    ] {
        progress(&format!("lint: {what}"));
        let directory = write_project(&files)?;
        let arguments: &[&str] = match files[0].0 {
            "rules.sql" => &["lint", "--fail-on", "error", "rules.sql"],
            _ => &["lint", "--engine", "proxysql-2.7"],
        };
        let runs = (0..REPEATS).map(|_| measured(shardwright, arguments, directory.path()));
        let runs = runs.collect::<Result<Vec<_>, _>>()?;
        figures.add(&what, MOST as usize, &runs, "");
    }
    for (name, list) in [
        ("shadowing list", shadowing as fn(usize) -> Configuration),
        ("shard list", sharding),
    ] {
        for rules in LISTS {
            let what = format!("{name}, written by hand");
            progress(&format!("lint: {what}, {rules} rules"));
            figures.add_analysis(&what, &list(rules))?;
        }
    }
    for shards in TREES {
        let what = format!("compiled tree, {shards} shards");
        progress(&format!("lint: {what}"));
        figures.add_analysis(&what, &compiled(shards, EngineId::Proxysql27).configuration)?;
    }
    Ok(Report {
        name: "lint",
        title: "The analysis of one configuration inside one process, and `shardwright lint`".to_owned(),
        parameters: json!({"repeats": REPEATS}),
        tables: vec![figures.table],
        samples: figures.samples,
        summary: Value::Array(figures.summary),
    })
}

fn findings(configuration: &Configuration) -> String {
    let found = analyse(configuration);
    let of = |code: &str| {
        found
            .iter()
            .filter(|finding| finding.code.as_str() == code)
            .count()
    };
    format!("{} findings, {} of them SW201", found.len(), of("SW201"))
}
