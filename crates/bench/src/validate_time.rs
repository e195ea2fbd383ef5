//! How long `shardwright validate` takes from process start to exit: shards that a generator makes, and written out.

use std::fmt::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use serde_json::json;
use tempfile::TempDir;

use crate::resident::children_peak_kib;
use crate::shards::{Keys, PROJECT, one_cluster_files, project_files, write_project};
use crate::{BenchError, Report, Summary, Table};

/// How the shards of a project are written.
#[derive(Clone, Copy, Debug)]
enum Form {
    /// One generator makes clusters, another shards.
    Generated,
    /// Each cluster and each shard has a line of its own.
    Written,
    /// One shard for each single key, all on one cluster.
    OneCluster,
    /// As [`Form::OneCluster`], each shard with a range of a hundred keys.
    Ranges,
}

impl Form {
    fn name(self) -> &'static str {
        match self {
            Self::Generated => "generated",
            Self::Written => "written out",
            Self::OneCluster => "generated, one cluster",
            Self::Ranges => "generated, ranges, one cluster",
        }
    }
}

/// Sizes from small to large: the peak of children only grows.
const PROJECTS: [(Form, u32, usize); 8] = [
    (Form::Generated, 200, 15),
    (Form::Written, 200, 15),
    (Form::Generated, 10_000, 9),
    (Form::Written, 10_000, 9),
    (Form::Generated, 100_000, 3),
    (Form::Written, 200_000, 1),
    (Form::OneCluster, 1_000_000, 1),
    (Form::Ranges, 1_000_000, 1),
];

/// Measures `program`; projects of more than `most` shards are left out.
///
/// # Errors
/// The program cannot be run, or fails.
pub fn run(program: &Path, most: u32, mut progress: impl FnMut(&str)) -> Result<Report, BenchError> {
    let mut table = Table::new(["shards", "median ms", "min ms", "max ms", "peak MiB so far"]);
    let (mut samples, mut summary) = (Vec::new(), Vec::new());
    for (form, shards, repeats) in PROJECTS.into_iter().filter(|(_, shards, _)| *shards <= most) {
        let what = format!("{shards} {}", form.name());
        progress(&format!("validate: {what}"));
        let directory = project(form, shards)?;
        let mut times = Vec::new();
        for _ in 0..repeats {
            times.push(whole_process(
                program,
                &["validate", "--quiet"],
                directory.path(),
            )?);
        }
        let peak_kib = children_peak_kib();
        let middle = Summary::of(times.iter().copied()).expect("there are repeats");
        table.row([
            what,
            format!("{:.1}", middle.median),
            format!("{:.1}", middle.min),
            format!("{:.1}", middle.max),
            format!("{:.0}", peak_kib as f64 / 1024.0),
        ]);
        samples.push(json!({"form": form.name(), "shards": shards, "ms": times, "peak_kib": peak_kib}));
        summary.push(json!({"form": form.name(), "shards": shards, "ms": middle}));
    }
    Ok(Report {
        name: "validate",
        title: "`shardwright validate` for both engines, whole process".to_owned(),
        parameters: json!({"most_shards": most}),
        tables: vec![table],
        samples,
        summary: json!(summary),
    })
}

fn project(form: Form, shards: u32) -> Result<TempDir, BenchError> {
    match form {
        Form::Generated => write_project(&project_files(shards)),
        Form::Written => write_project(&[
            ("shardwright.yaml", PROJECT.to_owned()),
            ("topology/clusters.yaml", written_clusters(shards)),
            ("topology/tenants.yaml", written_shards(shards)),
        ]),
        Form::OneCluster => write_project(&one_cluster_files(shards, Keys::Single)),
        Form::Ranges => write_project(&one_cluster_files(shards, Keys::Ranges)),
    }
}

fn written_clusters(shards: u32) -> String {
    let mut text = "version: 1\nclusters:\n".to_owned();
    for n in 1..=shards {
        writeln!(
            text,
            "  shard-{n}: {{type: single, servers: {{db: {{host: s{n}.db}}}}}}"
        )
        .expect("writing to a string cannot fail");
    }
    text
}

fn written_shards(shards: u32) -> String {
    let mut text =
        "version: 1\nusers:\n  app: {password: {env: APP_PASSWORD}, cluster: shard-1, schema: app}\n\
        shard_maps:\n  tenants:\n    applies_to: {users: [app]}\n    key: {name: tenant, type: integer}\n    \
        key_from: [comment: {}]\n    shards:\n"
            .to_owned();
    for n in 1..=shards {
        writeln!(text, "      t{n}: {{keys: [{n}], cluster: shard-{n}}}")
            .expect("writing to a string cannot fail");
    }
    text
}

/// Milliseconds of a command that must succeed, from start to end.
pub(crate) fn whole_process(program: &Path, arguments: &[&str], directory: &Path) -> Result<f64, BenchError> {
    let start = Instant::now();
    let output = Command::new(program)
        .args(arguments)
        .current_dir(directory)
        .stdin(Stdio::null())
        .output()
        .map_err(BenchError::io(program.display().to_string()))?;
    let ms = start.elapsed().as_secs_f64() * 1e3;
    if output.status.success() {
        return Ok(ms);
    }
    Err(BenchError::Output {
        what: format!(
            "{} {} ended with {}",
            program.display(),
            arguments.join(" "),
            output.status
        ),
        output: String::from_utf8_lossy(&output.stderr).into_owned(),
    })
}
