//! What `shardwright compile` takes from process start to the written output, by number of shards, and how that grows.

use std::path::Path;

use serde_json::json;
use shardwright_rules::EngineId;
use tempfile::TempDir;

use crate::once::{Once, measured};
use crate::shards::{ENGINES, Keys, one_cluster_files, project_files, write_project};
use crate::statistics::growth;
use crate::{BenchError, Report, Summary, Table};

/// Where the shards of a project lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    /// A single key and a cluster for each.
    OwnClusters,
    /// All on one cluster.
    OneCluster(Keys),
}

impl Form {
    const ALL: [Self; 3] = [
        Self::OwnClusters,
        Self::OneCluster(Keys::Single),
        Self::OneCluster(Keys::Ranges),
    ];

    fn name(self) -> &'static str {
        match self {
            Self::OwnClusters => "a cluster each",
            Self::OneCluster(Keys::Single) => "one cluster",
            Self::OneCluster(Keys::Ranges) => "ranges, one cluster",
        }
    }

    /// A topology has two million objects at most, and shards with clusters of their own are more than two each.
    fn most(self) -> u32 {
        match self {
            Self::OwnClusters => 100_000,
            Self::OneCluster(_) => u32::MAX,
        }
    }

    fn project(self, shards: u32) -> Result<TempDir, BenchError> {
        match self {
            Self::OwnClusters => write_project(&project_files(shards)),
            Self::OneCluster(keys) => write_project(&one_cluster_files(shards, keys)),
        }
    }
}

/// Sizes, how often each is run, and the bound in milliseconds.
const SIZES: [(u32, usize, f64); 5] = [
    (200, 15, 20.0),
    (1_000, 9, 60.0),
    (10_000, 5, 300.0),
    (100_000, 3, 3_000.0),
    (1_000_000, 1, 40_000.0),
];
/// Sizes from which growth is fitted.
const FITTED_FROM: u32 = 1_000;
/// The bound on memory, in MiB.
const MOST_MIB: f64 = 4_096.0;

/// Measures `program` compiling for each engine up to `most` shards, each time without a lock file; engines take turns.
///
/// # Errors
/// The program cannot be run, or fails.
pub fn run(program: &Path, most: u32, mut progress: impl FnMut(&str)) -> Result<Report, BenchError> {
    let mut table = Table::new([
        "engine, shards",
        "processor ms",
        "min",
        "max",
        "bound",
        "from start to end ms",
        "peak MiB",
    ]);
    let (mut samples, mut summary, mut grown) = (Vec::new(), Vec::new(), Vec::new());
    for form in Form::ALL {
        let mut points: Vec<Point> = Vec::new();
        for (shards, repeats, bound) in SIZES
            .into_iter()
            .filter(|(shards, ..)| *shards <= most.min(form.most()))
        {
            progress(&format!("compile: {shards} shards, {}", form.name()));
            let directory = form.project(shards)?;
            for (engine, runs) in runs(program, &directory, repeats)? {
                let of =
                    |part: fn(&Once) -> f64| Summary::of(runs.iter().map(part)).expect("there are repeats");
                let (cpu, wall) = (of(|run| run.cpu_ms), of(|run| run.ms));
                let mib = of(|run| run.peak_kib as f64 / 1024.0).max;
                let exceeded = cpu.median > bound || mib > MOST_MIB;
                table.row([
                    format!("{engine}, {shards}, {}", form.name()),
                    format!("{:.1}", cpu.median),
                    format!("{:.1}", cpu.min),
                    format!("{:.1}", cpu.max),
                    format!("{bound:.0}{}", if exceeded { " exceeded" } else { "" }),
                    format!("{:.1}", wall.median),
                    format!("{mib:.0}"),
                ]);
                let form = form.name();
                samples.push(json!({"engine": engine, "shards": shards, "form": form, "runs": runs}));
                summary.push(json!({
                    "engine": engine, "shards": shards, "form": form,
                    "cpu_ms": cpu, "ms": wall, "peak_mib": mib, "bound_ms": bound,
                }));
                points.push(Point {
                    engine,
                    shards: f64::from(shards),
                    cpu_ms: cpu.median,
                    mib,
                });
            }
        }
        let engines = ENGINES.into_iter();
        grown.extend(engines.filter_map(|engine| Growth::of(engine, form, &points)));
    }
    for growth in &grown {
        table.row(growth.row());
        summary.push(growth.json());
    }
    Ok(Report {
        name: "compile",
        title: "`shardwright compile --emit json`, whole process, no lock file before".to_owned(),
        parameters: json!({"most_shards": most, "most_mib": MOST_MIB}),
        tables: vec![table],
        samples,
        summary: json!(summary),
    })
}

/// What one size took.
struct Point {
    engine: EngineId,
    shards: f64,
    cpu_ms: f64,
    mib: f64,
}

/// How processor time and memory grow with the number of shards, as exponents of it.
struct Growth {
    engine: EngineId,
    form: Form,
    time: f64,
    memory: f64,
    /// The exponent of n log n over the same sizes.
    allowed: f64,
    sizes: (f64, f64),
}

impl Growth {
    /// `None` with fewer than two sizes.
    fn of(engine: EngineId, form: Form, points: &[Point]) -> Option<Self> {
        let fitted: Vec<&Point> = points
            .iter()
            .filter(|point| point.engine == engine && point.shards >= f64::from(FITTED_FROM))
            .collect();
        let of = |part: fn(&Point) -> f64| growth(fitted.iter().map(|point| (point.shards, part(point))));
        Some(Self {
            engine,
            form,
            time: of(|point| point.cpu_ms)?,
            memory: of(|point| point.mib)?,
            allowed: of(|point| point.shards * point.shards.ln())?,
            sizes: (fitted.first()?.shards, fitted.last()?.shards),
        })
    }

    fn row(&self) -> [String; 7] {
        let exceeded = if self.time <= self.allowed && self.memory <= self.allowed {
            ""
        } else {
            " exceeded"
        };
        [
            format!(
                "{}, growth from {} to {}, {}",
                self.engine,
                self.sizes.0,
                self.sizes.1,
                self.form.name()
            ),
            format!("n^{:.2}", self.time),
            String::new(),
            String::new(),
            format!("n^{:.2}{exceeded}", self.allowed),
            String::new(),
            format!("n^{:.2}", self.memory),
        ]
    }

    fn json(&self) -> serde_json::Value {
        json!({
            "engine": self.engine, "form": self.form.name(), "from": self.sizes.0, "to": self.sizes.1,
            "time_exponent": self.time, "memory_exponent": self.memory, "n_log_n_exponent": self.allowed,
        })
    }
}

/// The runs of each engine, which take turns.
fn runs(
    program: &Path,
    directory: &TempDir,
    repeats: usize,
) -> Result<Vec<(EngineId, Vec<Once>)>, BenchError> {
    let mut runs: Vec<(EngineId, Vec<Once>)> =
        ENGINES.into_iter().map(|engine| (engine, Vec::new())).collect();
    for _ in 0..repeats {
        for (engine, runs) in &mut runs {
            runs.push(compile(program, directory.path(), *engine)?);
        }
    }
    Ok(runs)
}

fn compile(program: &Path, directory: &Path, engine: EngineId) -> Result<Once, BenchError> {
    match std::fs::remove_file(directory.join("shardwright.lock")) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            return Err(BenchError::io("removing a lock file")(error));
        }
        Ok(()) | Err(_) => {}
    }
    let arguments = [
        "compile",
        "--quiet",
        "--emit",
        "json",
        "-o",
        "compiled.json",
        "--engine",
        engine.name(),
    ];
    measured(program, &arguments, directory)
}
