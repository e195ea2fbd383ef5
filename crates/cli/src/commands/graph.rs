//! `graph`: the rules as a picture.

use shardwright_analysis::picture::{self, Picture};

use crate::args::{Format, Global, Graph, GraphForm};
use crate::error::CommandError;
use crate::exit::Exit;
use crate::project;
use crate::rule_set::{self, RuleSet};
use crate::ui::Ui;

pub(crate) fn run(args: &Graph, global: &Global, ui: &Ui) -> Result<Exit, CommandError> {
    let set = subject(args.rules.as_deref(), args.engine.as_deref(), global, ui)?;
    let picture = Picture::of(&set.configuration);
    match (args.emit, ui.format()) {
        (GraphForm::Json, _) | (GraphForm::Tree, Format::Json) => ui.json(&picture)?,
        (GraphForm::Tree, Format::Markdown) | (GraphForm::Mermaid, Format::Markdown) => {
            ui.data(&format!("```mermaid\n{}```\n", picture::mermaid(&picture)))?;
        }
        (GraphForm::Tree, Format::Human) => ui.data(&picture::tree(&picture))?,
        (GraphForm::Dot, _) => ui.text(&picture::dot(&picture))?,
        (GraphForm::Mermaid, _) => ui.text(&picture::mermaid(&picture))?,
    }
    Ok(Exit::Done)
}

/// The rule set that was named, or that of the project.
pub(crate) fn subject(
    rules: Option<&str>,
    engine: Option<&str>,
    global: &Global,
    ui: &Ui,
) -> Result<RuleSet, CommandError> {
    match rules {
        Some(rules) => {
            let engine = engine.map(project::engine).transpose()?;
            rule_set::open(rules, engine, global, ui)
        }
        None => rule_set::of_project(engine, global, ui),
    }
}
