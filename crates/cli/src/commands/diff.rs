//! `diff`: what differs between the project and its targets.

use crate::args::{Diff, Foreign, Global};
use crate::commands::plan;
use crate::error::CommandError;
use crate::exit::Exit;
use crate::live::{self, LockUse};
use crate::meaning;
use crate::project;
use crate::ui::Ui;

pub(crate) fn run(args: &Diff, global: &Global, ui: &Ui) -> Result<Exit, CommandError> {
    let opened = project::open(global, ui)?;
    project::show(&opened.problems, &opened.sources, ui);
    let mut live = live::targets(&opened, &args.selection)?;
    // Later steps are not a difference of the running configuration.
    let plan =
        meaning::plan(&opened, &mut live, ui, LockUse::Ignore, Foreign::Compare)?.with_moves(Vec::new());
    plan::present(&plan, Some(&opened), &[], ui)?;
    // Of a target that cannot be read nobody knows what differs, whatever an apply does with it.
    if !plan.unreachable.is_empty() {
        let names: Vec<&str> = plan
            .unreachable
            .iter()
            .map(|target| target.name.as_str())
            .collect();
        return Err(CommandError::failed(format!(
            "{} cannot be read, and was not compared",
            names.join(", ")
        )));
    }
    Ok(if plan.has_changes() {
        Exit::Changes
    } else {
        Exit::Done
    })
}
