//! Repository checks, generated files and benchmarks.

mod bench;
mod circles;
mod edges;
mod generate;
mod pages;
mod release;
mod sources;

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Runs from anywhere in the repository as `cargo xtask`.
#[derive(Parser)]
#[command(about, disable_help_subcommand = true)]
struct Arguments {
    #[command(subcommand)]
    task: Task,
}

#[derive(Subcommand)]
enum Task {
    /// Who depends on whom, circles of modules, file lengths, module docs, lints, files that pages name.
    Check,
    /// Modules of a crate that use each other, and the files that do.
    Circles,
    /// Write the published schemas and the tables of `docs/language`.
    Generate,
    /// Build the program as it is released: with the profile of its work. Prints where it is.
    Release,
    /// Make that profile anew: build a program that counts, put load on it, and keep the counts.
    Profile,
    /// Measure: `cargo xtask bench --help` lists what.
    #[command(disable_help_flag = true)]
    Bench {
        /// Passed on to the bench program.
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<String>,
    },
}

fn main() -> ExitCode {
    let done = match Arguments::parse().task {
        Task::Check => check(&root()),
        Task::Circles => show_circles(&root()),
        Task::Generate => generate::run(&root()),
        Task::Release => release::build(&root()).map(|folder| made(&folder.join("shardwright"))),
        Task::Profile => release::train(&root()).map(|profile| made(&profile)),
        Task::Bench { arguments } => bench::run(&root(), &arguments),
    };
    done.unwrap_or_else(|error| {
        report(io::stderr(), &format!("xtask: {error}"));
        ExitCode::FAILURE
    })
}

fn check(root: &Path) -> io::Result<ExitCode> {
    let mut problems = edges::problems(&edges::workspace(root)?);
    problems.extend(sources::problems(root)?);
    problems.extend(circles::problems(root)?);
    problems.extend(pages::problems(root)?);
    for problem in &problems {
        report(io::stderr(), problem);
    }
    report(io::stdout(), &format!("xtask check: {} problems", problems.len()));
    Ok(if problems.is_empty() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

fn made(path: &Path) -> ExitCode {
    report(io::stdout(), &path.display().to_string());
    ExitCode::SUCCESS
}

fn show_circles(root: &Path) -> io::Result<ExitCode> {
    let circles = circles::circles(root)?;
    for circle in &circles {
        report(
            io::stdout(),
            &format!("{}: {}", circle.within, circle.rooms.join(" ")),
        );
        for edge in &circle.edges {
            report(io::stdout(), &format!("    {edge}"));
        }
    }
    report(io::stdout(), &format!("{} circles", circles.len()));
    Ok(ExitCode::SUCCESS)
}

fn report(mut to: impl Write, line: &str) {
    // Nobody is left to tell when the terminal is gone.
    let _written = writeln!(to, "{line}");
}

/// The repository this program was built in.
fn root() -> PathBuf {
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR"));
    manifest
        .parent()
        .expect("xtask is a folder of the repository")
        .to_owned()
}
