//! `plan`: what an apply would change.

use std::path::Path;

use shardwright_plan::render::{self, View};
use shardwright_plan::{Plan, safety};

use crate::args::{self, Format, Global};
use crate::clock;
use crate::commit;
use crate::error::CommandError;
use crate::exit::Exit;
use crate::files::replace_file;
use crate::live::{self, Away, LockUse, Making};
use crate::meaning;
use crate::project::{self, Opened};
use crate::refusals::{Subject, allowances, refused};
use crate::ui::Ui;

pub(crate) fn run(args: &args::Plan, global: &Global, ui: &Ui) -> Result<Exit, CommandError> {
    let allowed = allowances(&args.allow, Subject::Plan)?;
    let opened = project::open(global, ui)?;
    project::show(&opened.problems, &opened.sources, ui);
    let mut reached = live::reachable(&opened, &args.selection)?;
    let making = Making {
        lock: match args.locked {
            true => LockUse::Check,
            false => LockUse::Write,
        },
        foreign: args.ownership.foreign(),
        away: Away::Named,
    };
    for live in &mut reached.targets {
        live.take_staged(args.staged.way());
    }
    let plan = meaning::plan(&opened, &mut reached, ui, making)?;
    present(&plan, Some(&opened), &opened.directory, &allowed, ui)?;
    if let Some(names) = not_compared(&plan).filter(|_| !live::skips_unreachable(&opened)) {
        let message = format!("{names} cannot be read: this is the plan of the others, and it is not saved");
        return Err(CommandError::failed(message).hint(
            "--target plans some targets; safety.unreachable: skip in shardwright.yaml leaves out those that cannot be reached",
        ));
    }
    if let Some(path) = &args.output {
        replace_file(path, plan.to_json().as_bytes())?;
        ui.status(&format!(
            "saved {}; apply it with: shardwright apply {}",
            path.display(),
            path.display()
        ));
    }
    refuse_errors(&plan, &allowed)?;
    Ok(if args.detailed_exitcode && plan.has_changes() {
        Exit::Changes
    } else {
        Exit::Done
    })
}

/// The targets that could not be read, by name.
pub(crate) fn not_compared(plan: &Plan) -> Option<String> {
    let names: Vec<&str> = plan
        .unreachable
        .iter()
        .map(|target| target.name.as_str())
        .collect();
    (!names.is_empty()).then(|| names.join(", "))
}

/// Errors that nobody has lifted end the command, once the plan is shown and saved: what they are stands in it.
fn refuse_errors(plan: &Plan, allowed: &[String]) -> Result<(), CommandError> {
    let refusals = safety::errors(plan, allowed);
    let Some(exit) = refused(&refusals) else {
        return Ok(());
    };
    let codes: Vec<&str> = refusals.iter().map(|refusal| refusal.code.as_str()).collect();
    let message = format!("an apply of this plan is refused: {}", codes.join(", "));
    Err(CommandError::new(exit, message).hint(format!("shardwright explain {} says more", codes[0])))
}

/// Writes a plan in the format that was asked for; with the project, objects carry their file and line, and the limits that are
/// broken and not lifted by one of the codes `allowed` are told. `directory` is the project's.
pub(crate) fn present(
    plan: &Plan,
    opened: Option<&Opened>,
    directory: &Path,
    allowed: &[String],
    ui: &Ui,
) -> Result<(), CommandError> {
    let now = clock::now();
    let limits = opened.map(live::limits);
    let refusals = limits.map(|limits| safety::check(plan, &limits, now, allowed));
    let directory = match ui.format() {
        Format::Markdown => commit::place(directory),
        Format::Human | Format::Json => None,
    };
    let view = View {
        directory: directory.as_deref(),
        now,
        origin: &|address| opened.and_then(|opened| opened.placed_at(address)),
        refusals: refusals.as_deref(),
        full: false,
        color: ui.color_out(),
    };
    ui.data(&match ui.format() {
        Format::Human => render::text(plan, &view),
        Format::Json => render::json(plan),
        Format::Markdown => render::markdown(plan, &view),
    })
}
