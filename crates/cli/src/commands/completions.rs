//! `completions`: what a shell offers behind the word `shardwright`, from the definition of the command line.

use clap::CommandFactory;

use crate::args::{Args, Completions};
use crate::error::CommandError;
use crate::exit::Exit;
use crate::ui::Ui;

pub(crate) fn run(args: &Completions, ui: &Ui) -> Result<Exit, CommandError> {
    let mut command = Args::command();
    let name = command.get_name().to_owned();
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut command, name, &mut script);
    ui.text(&String::from_utf8_lossy(&script))?;
    Ok(Exit::Done)
}
