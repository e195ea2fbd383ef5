//! `diff`: what differs between the project and its targets.

use crate::args::{Diff, Foreign, Global};
use crate::commands::plan;
use crate::error::CommandError;
use crate::exit::Exit;
use crate::live::{self, Away, LockUse, Making};
use crate::meaning;
use crate::project;
use crate::ui::Ui;

pub(crate) fn run(args: &Diff, global: &Global, ui: &Ui) -> Result<Exit, CommandError> {
    let opened = project::open(global, ui)?;
    project::show(&opened.problems, &opened.sources, ui);
    let mut reached = live::reachable(&opened, &args.selection)?;
    let making = Making {
        lock: LockUse::Ignore,
        foreign: Foreign::Compare,
        away: Away::Named,
    };
    // Later steps are not a difference of the running configuration.
    let plan = meaning::plan(&opened, &mut reached, ui, making)?.with_moves(Vec::new());
    plan::present(&plan, Some(&opened), &opened.directory, &[], ui)?;
    // Of a target that cannot be read nobody knows what differs, whatever an apply does with it.
    if let Some(names) = plan::not_compared(&plan) {
        let message = format!("{names} cannot be read, and was not compared");
        return Err(CommandError::failed(message));
    }
    Ok(if plan.has_changes() {
        Exit::Changes
    } else {
        Exit::Done
    })
}
