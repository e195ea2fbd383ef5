//! The `shardwright` command.

mod args;
mod commands;
mod error;
mod exit;
mod project;
mod signals;
mod ui;

use std::process::ExitCode;

use clap::Parser;
use clap::error::ErrorKind;

use crate::args::Args;
use crate::exit::Exit;
use crate::ui::Ui;

fn main() -> ExitCode {
    let args = match Args::try_parse() {
        Ok(args) => args,
        Err(error) => return usage(&error),
    };
    let ui = Ui::new(args.global.format, args.global.color, args.global.quiet);
    let exit = match commands::run(&args, &ui) {
        Ok(exit) => exit,
        Err(error) => {
            if !error.message.is_empty() {
                ui.message(&format!("error: {}", error.message));
            }
            if let Some(hint) = &error.hint {
                ui.message(&format!("  = help: {hint}"));
            }
            error.exit
        }
    };
    exit.into()
}

/// Help and version are answers; everything else that the parser says is a bad command line.
fn usage(error: &clap::Error) -> ExitCode {
    let answer = matches!(
        error.kind(),
        ErrorKind::DisplayHelp
            | ErrorKind::DisplayVersion
            | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand
    );
    // A closed stream leaves nobody to tell.
    let _ = error.print();
    if answer && error.kind() != ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand {
        Exit::Done.into()
    } else {
        Exit::Usage.into()
    }
}
