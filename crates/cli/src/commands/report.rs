//! `report`: one HTML page about a rule set, which needs nothing else.

mod coverage;
mod hostgroups;
mod page;
mod picture;
mod rules;

use shardwright_analysis::picture::Picture;

use crate::args::{Global, Report};
use crate::commands::{graph, lint};
use crate::error::CommandError;
use crate::exit::Exit;
use crate::files::replace_file;
use crate::project;
use crate::rule_set;
use crate::ui::Ui;

pub(crate) fn run(args: &Report, global: &Global, ui: &Ui) -> Result<Exit, CommandError> {
    let set = match &args.rules {
        Some(_) => graph::subject(args.rules.as_deref(), args.engine.as_deref(), global, ui)?,
        // With its route tests, whose coverage is a part of the page.
        None => rule_set::of_opened(project::open_with_tests(global, ui)?, args.engine.as_deref(), ui)?,
    };
    let problems = lint::findings(&set, global, ui)?;
    let findings = problems.sorted();
    let picture = Picture::of(&set.configuration);
    let page = page::page(&set, &picture, &findings);
    match &args.output {
        Some(path) => {
            replace_file(path, page.as_bytes())?;
            ui.status(&format!("wrote {}", path.display()));
        }
        None => ui.text(&page)?,
    }
    Ok(Exit::Done)
}
