//! `rollback`: an apply to ProxySQL taken back. And `apply --resume`: one that was cut off, finished.

use shardwright_plan::ApplyReport;
use shardwright_targets::ProxySqlTarget;
use shardwright_targets::proxysql::{JournalError, Way};

use crate::args::{Format, Global, Rollback, Selection};
use crate::commands::apply::{approve, exit, present};
use crate::error::CommandError;
use crate::exit::Exit;
use crate::live::{self, Proxy};
use crate::project::{self, Opened};
use crate::ui::Ui;

pub(crate) fn run(args: &Rollback, global: &Global, ui: &Ui) -> Result<Exit, CommandError> {
    let opened = project::open(global, ui)?;
    let run = live::journal(&opened)
        .run(&args.run)
        .map_err(|error| unknown(&error))?;
    let mut target = target(&opened, &run.record.target)?;
    if run.is_open() {
        ui.status(&format!("taking back run {}, which has not ended", args.run));
        return end(&target.finish(&args.run, Way::Back), ui);
    }
    let effects = match target.preview_of_taking_back(&args.run) {
        Ok(effects) => effects,
        Err(report) => return end(&report, ui),
    };
    if ui.format() != Format::Json {
        ui.data(&shardwright_plan::render::effects(&effects))?;
    }
    if !args.auto_approve {
        approve(ui, "Take this run back?", "this change needs approval")?;
    }
    ui.status(&format!("taking back run {} on {}", args.run, run.record.target));
    end(&target.take_back(&args.run), ui)
}

/// Finishes a run that was cut off.
pub(crate) fn resume(name: &str, global: &Global, ui: &Ui) -> Result<Exit, CommandError> {
    let opened = project::open(global, ui)?;
    let run = live::journal(&opened)
        .run(name)
        .map_err(|error| unknown(&error))?;
    let mut target = target(&opened, &run.record.target)?;
    ui.status(&format!("finishing run {name} on {}", run.record.target));
    end(&target.finish(name, Way::Forward), ui)
}

fn target(opened: &Opened, name: &str) -> Result<ProxySqlTarget, CommandError> {
    let selection = Selection {
        targets: vec![name.to_owned()],
    };
    for mut live in live::targets(opened, &selection)? {
        live.keep_runs(opened)?;
        if let Proxy::ProxySql(target) = live.proxy {
            return Ok(*target);
        }
    }
    let message = format!("target {name} is a bundled proxy: it has no runs");
    Err(CommandError::new(Exit::Refused, message)
        .hint("apply the former state of the project: git revert, then apply"))
}

fn end(report: &ApplyReport, ui: &Ui) -> Result<Exit, CommandError> {
    present(std::slice::from_ref(report), ui)?;
    Ok(exit(report.outcome.exit_code()))
}

fn unknown(error: &JournalError) -> CommandError {
    CommandError::failed(error.to_string()).hint("shardwright history lists the runs")
}
