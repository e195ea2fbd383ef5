//! `lock show` and `lock break`: who keeps others from applying.

use serde_json::json;
use shardwright_targets::proxysql::Holder;

use crate::args::{self, Format, Global, LockWhat};
use crate::commands::apply::approve;
use crate::error::CommandError;
use crate::exit::Exit;
use crate::project;
use crate::state;
use crate::ui::Ui;

pub(crate) fn run(args: &args::Lock, global: &Global, ui: &Ui) -> Result<Exit, CommandError> {
    let opened = project::open(global, ui)?;
    let journal = state::journal(&opened)?;
    let failed = |error: shardwright_targets::proxysql::JournalError| CommandError::failed(error.to_string());
    let holder = journal.holder().map_err(failed)?;
    match (&args.what, holder) {
        (LockWhat::Show(_), holder) => show(holder.as_ref(), ui),
        (LockWhat::Break(_), None) => {
            ui.status("nobody holds the lock; nothing was changed");
            broken(None, ui)
        }
        (LockWhat::Break(args), Some(holder)) => {
            if !args.auto_approve {
                ui.status(&format!("the lock is held by {holder}"));
                approve(
                    ui,
                    "Break this lock?",
                    "an apply that goes on would be stopped half-way",
                )?;
            }
            match journal.break_lock(&holder).map_err(failed)? {
                true => {
                    ui.status(&format!("the lock of {} is broken", holder.owner.by));
                    broken(Some(&holder), ui)
                }
                false => Err(CommandError::new(
                    Exit::Stale,
                    format!(
                        "{} does not hold the lock any more; nothing was changed",
                        holder.owner.by
                    ),
                )),
            }
        }
    }
}

/// The result of `lock break` for programs: the lock that was broken, or null.
fn broken(holder: Option<&Holder>, ui: &Ui) -> Result<Exit, CommandError> {
    if ui.format() == Format::Json {
        ui.json(&json!({ "broken": holder.map(document) }))?;
    }
    Ok(Exit::Done)
}

fn document(holder: &Holder) -> serde_json::Value {
    json!({
        "by": holder.owner.by,
        "at": holder.owner.at,
        "expires_in_s": holder.expires_in.map(|left| left.as_secs()),
    })
}

fn show(holder: Option<&Holder>, ui: &Ui) -> Result<Exit, CommandError> {
    if ui.format() == Format::Json {
        ui.json(&json!({ "lock": holder.map(document) }))?;
        return Ok(Exit::Done);
    }
    match holder {
        Some(holder) => ui.data(&format!("held by {holder}\n"))?,
        None => ui.data("nobody holds the lock\n")?,
    }
    Ok(Exit::Done)
}
