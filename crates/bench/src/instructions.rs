//! How many instructions of its own the proxy takes for a statement or a connection, counted by callgrind.
//!
//! A proxy with one worker runs under callgrind twice, for few and for many statements of one connection, or for few and for many
//! connections. The difference has nothing of start, configuration and login. A count is the same on a quiet machine and on a busy one, but for what depends on
//! when bytes arrive: a few instructions of a thousand.

mod callgrind;

use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use shardwright_testkit::{MariaDb, Options};

use crate::BenchError;
use crate::bundled::{Bundled, Setup, filled};
use crate::report::{Report, Table};
use crate::sysbench::{Load, Scripts, Sysbench};
use callgrind::{PerStatement, Profile};

/// Statements or connections of the short run.
const FEW: u32 = 1_000;
/// Those of the long run.
const MANY: u32 = 11_000;
/// Rows of a large result, 200 bytes each.
const ROWS: u32 = 1_000;
/// What the names of functions of this project hold.
const OURS: &str = "shardwright";
/// Functions that are listed.
const LISTED: usize = 15;

/// What to count.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The `shardwright` program, with symbols.
    pub shardwright: PathBuf,
    /// Only loads whose name holds this.
    pub only: String,
    /// Where the files of callgrind are kept.
    pub keep: Option<PathBuf>,
}

/// Counts, for point selects as texts and prepared, for connections with one each, and for large results.
///
/// # Errors
/// A program does not start, or callgrind's output is not understood.
pub fn run(plan: &Plan, progress: impl Fn(&str)) -> Result<Report, BenchError> {
    let server = MariaDb::start(Options::default())?;
    let client = filled(&server, 1, "0".to_owned())?;
    let (mut tables, mut samples, mut summary) = (Vec::new(), Vec::new(), Vec::new());
    let scripts = Scripts::new()?;
    let loads = [
        ("text", Load::text()),
        ("prepared", Load::prepared()),
        ("connect", scripts.connects()),
        ("result", scripts.results(ROWS)),
    ];
    for (name, load) in loads.into_iter().filter(|(name, _)| name.contains(&plan.only)) {
        let mut profile = |statements| -> Result<Profile, BenchError> {
            progress(&format!("instructions: {name}, {statements} times"));
            let profile = counted(plan, &server, &client, (name, &load), statements)?;
            samples.push(json!({"load": name, "times": statements, "instructions": profile.total}));
            Ok(profile)
        };
        let (few, many) = (profile(FEW)?, profile(MANY)?);
        let each = PerStatement::between(&few, &many, MANY - FEW);
        progress(&format!("  {}", in_short(&each)));
        tables.push(table(name, &each));
        summary.push(json!({
            "load": name, "instructions": each.total.round(), "allocations": each.allocations,
            "code_lines": each.code_lines, "code_pages": each.code_pages,
            "by_inclusive": listed(&each.by_inclusive(LISTED, OURS)), "by_own": listed(&each.by_own(LISTED)),
        }));
    }
    Ok(Report {
        name: "instructions",
        title: format!(
            "the proxy's own instructions for a point select, for a connection with one, and for a result of {ROWS} rows, by \
             callgrind: the difference between {FEW} and {MANY}"
        ),
        parameters: json!({"few": FEW, "many": MANY, "workers": 1}),
        tables,
        samples,
        summary: json!(summary),
    })
}

/// A whole life of a proxy with so many statements.
fn counted(
    plan: &Plan,
    server: &MariaDb,
    client: &Sysbench,
    (name, load): (&str, &Load),
    statements: u32,
) -> Result<Profile, BenchError> {
    let directory = tempfile::tempdir().map_err(BenchError::io("a directory for callgrind"))?;
    let file = directory.path().join("callgrind.out");
    let setup = Setup {
        workers: Some(1),
        wrapper: callgrind(&file),
        ..Setup::default()
    };
    let bundled = Bundled::start(&plan.shardwright, server, &setup)?;
    client.run_events(bundled.endpoint().address, statements, load)?;
    bundled.stop()?;
    let text = std::fs::read_to_string(&file).map_err(BenchError::io(file.display().to_string()))?;
    if let Some(keep) = &plan.keep {
        let kept = keep.join(format!("callgrind.{name}.{statements}"));
        std::fs::write(&kept, &text).map_err(BenchError::io(kept.display().to_string()))?;
    }
    Profile::parse(&text).ok_or_else(|| BenchError::Output {
        what: "callgrind: not what its format says".to_owned(),
        output: text.lines().take(20).collect::<Vec<_>>().join("\n"),
    })
}

/// Words before the program (Debian: valgrind).
fn callgrind(file: &Path) -> Vec<String> {
    vec![
        "valgrind".to_owned(),
        "--tool=callgrind".to_owned(),
        "--dump-instr=yes".to_owned(),
        "--dump-line=no".to_owned(),
        format!("--callgrind-out-file={}", file.display()),
    ]
}

fn in_short(each: &PerStatement) -> String {
    format!(
        "{:.0} instructions, {:.2} allocations, code in {} cache lines on {} pages",
        each.total, each.allocations, each.code_lines, each.code_pages
    )
}

fn table(name: &str, each: &PerStatement) -> Table {
    let head = format!("{name}: {}", in_short(each));
    let mut table = Table::new([head.as_str(), "inclusive", "own"]);
    for (title, functions) in [
        (
            "of this project, with all that they call",
            each.by_inclusive(LISTED, OURS),
        ),
        ("all, by themselves", each.by_own(LISTED)),
    ] {
        table.row([title.to_owned()]);
        for (function, costs) in functions {
            table.row([
                format!("  {}", shortened(function)),
                format!("{:.0}", costs.inclusive),
                format!("{:.0}", costs.own),
            ]);
        }
    }
    table
}

/// A name that fits on a line: its beginning and its end.
fn shortened(name: &str) -> String {
    const HALF: usize = 48;
    let letters: Vec<char> = name.chars().collect();
    if letters.len() <= 2 * HALF + 1 {
        return name.to_owned();
    }
    let start: String = letters[..HALF].iter().collect();
    let end: String = letters[letters.len() - HALF..].iter().collect();
    format!("{start}…{end}")
}

fn listed(functions: &[(&str, callgrind::Costs)]) -> Vec<Value> {
    functions
        .iter()
        .map(|(function, costs)| {
            json!({"function": function, "inclusive": costs.inclusive.round(), "own": costs.own.round()})
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_names_keep_their_beginning_and_their_end() {
        assert_eq!(shortened("tokio::runtime::park"), "tokio::runtime::park");
        let long = format!("core::{}::poll", "x".repeat(200));
        let short = shortened(&long);
        assert!(
            short.starts_with("core::x") && short.ends_with("x::poll"),
            "{short}"
        );
        assert_eq!(short.chars().count(), 97);
    }
}
