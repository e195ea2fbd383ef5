//! How long `shardwright compile` takes from process start to the written output, by number of shards.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use serde_json::json;
use shardwright_rules::EngineId;

use crate::shards::{children_peak_kib, project_files, write_project};
use crate::{BenchError, Report, Summary, Table};

const SHARDS: [u32; 3] = [200, 1_000, 10_000];
const REPEATS: usize = 7;

/// Measures `program` compiling for each engine, each time without a lock file; engines take turns.
///
/// # Errors
/// The program cannot be run, or fails.
pub fn run(program: &Path, mut progress: impl FnMut(&str)) -> Result<Report, BenchError> {
    let mut table = Table::new(["engine, shards", "median ms", "min ms", "max ms", "peak MiB"]);
    let (mut samples, mut summary) = (Vec::new(), Vec::new());
    for shards in SHARDS {
        progress(&format!("compile: {shards} shards"));
        let directory = write_project(&project_files(shards))?;
        let mut figures: Vec<(EngineId, Vec<f64>, u64)> = EngineId::ALL
            .into_iter()
            .map(|engine| (engine, Vec::new(), 0))
            .collect();
        for _ in 0..REPEATS {
            for (engine, times, peak_kib) in &mut figures {
                let (ms, kib) = compile(program, directory.path(), *engine)?;
                times.push(ms);
                *peak_kib = kib.max(*peak_kib);
            }
        }
        for (engine, times, peak_kib) in figures {
            let middle = Summary::of(times.iter().copied()).expect("there are repeats");
            let mib = peak_kib as f64 / 1024.0;
            table.row([
                format!("{engine}, {shards}"),
                format!("{:.1}", middle.median),
                format!("{:.1}", middle.min),
                format!("{:.1}", middle.max),
                format!("{mib:.1}"),
            ]);
            samples.push(json!({"engine": engine, "shards": shards, "ms": times, "peak_kib": peak_kib}));
            summary.push(json!({"engine": engine, "shards": shards, "ms": middle, "peak_mib": mib}));
        }
    }
    Ok(Report {
        name: "compile",
        title: "`shardwright compile --emit json`, whole process, no lock file before".to_owned(),
        parameters: json!({"repeats": REPEATS}),
        table,
        samples,
        summary: json!(summary),
    })
}

/// Milliseconds from start to end, and the largest resident set in KiB.
fn compile(program: &Path, directory: &Path, engine: EngineId) -> Result<(f64, u64), BenchError> {
    match std::fs::remove_file(directory.join("shardwright.lock")) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            return Err(BenchError::io("removing a lock file")(error));
        }
        Ok(()) | Err(_) => {}
    }
    let before = children_peak_kib();
    let start = Instant::now();
    let output = Command::new(program)
        .args([
            "compile",
            "--quiet",
            "--emit",
            "json",
            "-o",
            "compiled.json",
            "--engine",
            engine.name(),
        ])
        .current_dir(directory)
        .stdin(Stdio::null())
        .output()
        .map_err(BenchError::io(program.display().to_string()))?;
    let ms = start.elapsed().as_secs_f64() * 1e3;
    if !output.status.success() {
        return Err(BenchError::Output {
            what: format!("{} compile ended with {}", program.display(), output.status),
            output: String::from_utf8_lossy(&output.stderr).into_owned(),
        });
    }
    Ok((ms, children_peak_kib().max(before)))
}
