//! `show`: a saved plan, also when it can no longer be applied.

use std::fs::File;

use shardwright_plan::Plan;

use crate::args::{Global, Show};
use crate::commands::plan;
use crate::error::{CommandError, unreadable};
use crate::exit::Exit;
use crate::ui::Ui;

pub(crate) fn run(args: &Show, global: &Global, ui: &Ui) -> Result<Exit, CommandError> {
    let file = File::open(&args.plan).map_err(|error| unreadable(&args.plan, &error))?;
    let saved = Plan::read(file)
        .map_err(|error| CommandError::new(Exit::BadDocument, format!("{}: {error}", args.plan.display())))?;
    plan::present(&saved, None, &global.directory, &[], ui)?;
    Ok(Exit::Done)
}
