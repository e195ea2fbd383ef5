//! The `shardwright` command.

mod allow_comments;
mod analysed;
mod args;
mod clock;
mod codes;
mod commands;
mod commit;
mod error;
mod exit;
mod files;
mod former_rules;
mod live;
mod logging;
mod lsp;
mod meaning;
mod ownership;
mod page;
mod placement;
mod project;
mod recorded;
mod references;
mod refusals;
mod reports;
mod rule_set;
mod signals;
mod state;
mod ui;

use std::process::ExitCode;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{CommandFactory, FromArgMatches};

use crate::args::{Args, ReportFile, UncheckedWords};
use crate::error::CommandError;
use crate::exit::Exit;
use crate::ui::Ui;

/// Compiling and analysing allocate much, and a quarter of their time was glibc's: see docs/benchmarks.md.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    let words = UncheckedWords::of(std::env::args_os().skip(1));
    let command = Args::command().color(words.color_choice());
    let parsed = command.try_get_matches().and_then(|matches| {
        let name = matches.subcommand_name().unwrap_or_default().to_owned();
        Ok((Args::from_arg_matches(&matches)?, name))
    });
    let (args, name) = match parsed {
        Ok(parsed) => parsed,
        Err(error) => return usage(&with_tip(error), &words).into(),
    };
    let ui = Ui::new(&args.global);
    let exit = match commands::run(&args, &ui) {
        Ok(exit) => exit,
        Err(error) => failed(&error, &ui),
    };
    finish(&ui, &name, exit).into()
}

/// Writes what is left to write at the end of a run; its exit.
fn finish(ui: &Ui, name: &str, exit: Exit) -> Exit {
    match ui.finish(name, exit) {
        Ok(()) => exit,
        Err(error) => exit.min(failed(&error, ui)),
    }
}

/// Reports a failure; its exit.
fn failed(error: &CommandError, ui: &Ui) -> Exit {
    if !error.message.is_empty() {
        ui.message(&format!("error: {}", error.message));
        ui.failed(&error.message);
    }
    if let Some(hint) = &error.hint {
        ui.message(&format!("  = help: {hint}"));
    }
    error.exit
}

/// The error of the command line, with a tip if a report was requested as a format.
fn with_tip(mut error: clap::Error) -> clap::Error {
    let text = |kind| match error.get(kind) {
        Some(ContextValue::String(text)) => text.clone(),
        _ => String::new(),
    };
    let (argument, value) = (text(ContextKind::InvalidArg), text(ContextKind::InvalidValue));
    let path = std::path::Path::new(&argument);
    if error.kind() == ErrorKind::UnknownArgument && path.exists() {
        let directory = if path.is_dir() { argument.as_str() } else { "DIR" };
        let tip = format!("-C names the project: shardwright -C {directory} COMMAND");
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![tip.into()]));
        return error;
    }
    if argument.starts_with("--format") && format!("{value}=file").parse::<ReportFile>().is_ok() {
        let tip = format!("write `--report {value}=FILE`; `--format` is what the command prints");
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![tip.into()]));
    }
    error
}

/// Help and version are results; every other error of the parser is a bad command line, which reports and `--format json` say
/// too.
fn usage(error: &clap::Error, words: &UncheckedWords) -> Exit {
    let printed = error.print();
    match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => {
            return match printed.map_err(CommandError::output) {
                Ok(()) => Exit::Done,
                Err(error) => failed(&error, &Ui::new(&words.global())),
            };
        }
        // Nobody reads a closed standard error.
        _ => drop(printed),
    }
    let ui = Ui::new(&words.global());
    let text = error.render().to_string();
    let first = text.lines().next().unwrap_or_default();
    ui.failed(first.trim_start_matches("error: "));
    finish(&ui, &words.command(), Exit::Usage)
}
