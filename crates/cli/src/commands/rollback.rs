//! `rollback`: an apply to ProxySQL taken back.

use shardwright_plan::{ApplyReport, safety};
use shardwright_targets::proxysql::Way;

use crate::args::{Format, Global, Rollback};
use crate::commands::apply::{approve, present};
use crate::error::CommandError;
use crate::exit::Exit;
use crate::live;
use crate::project;
use crate::refusals::{Subject, allowances, exit, refuse};
use crate::ui::Ui;

pub(crate) fn run(args: &Rollback, global: &Global, ui: &Ui) -> Result<Exit, CommandError> {
    let allowed = allowances(&args.allow, Subject::TakingBack)?;
    let opened = project::open(global, ui)?;
    let (run, mut target) = live::run(&opened, &args.run)?;
    if run.is_open() {
        ui.status(&format!("taking back run {}, which has not ended", args.run));
        return end(&target.finish(&args.run, Way::Back), ui);
    }
    let (effects, servers) = match target.preview_of_taking_back(&args.run) {
        Ok(preview) => preview,
        Err(report) => return end(&report, ui),
    };
    let target_name = &run.record.target;
    let limits = live::limits(&opened);
    let refusals = safety::check_taking_back(target_name, &effects, &servers, &limits, &allowed);
    if ui.format() != Format::Json {
        ui.data(&shardwright_plan::render::effects(&effects))?;
    }
    refuse(&refusals)?;
    if !args.auto_approve {
        approve(ui, "Take this run back?", "this change needs approval")?;
    }
    ui.status(&format!("taking back run {} on {}", args.run, run.record.target));
    end(&target.take_back(&args.run), ui)
}

fn end(report: &ApplyReport, ui: &Ui) -> Result<Exit, CommandError> {
    present(std::slice::from_ref(report), ui)?;
    Ok(exit(report.exit_code()))
}
