//! `lint rules.sql`: what the analysis finds in a rule set that is no project.

use shardwright_analysis::Finding;
use shardwright_diagnostics::{Diagnostic, Problems, render};
use shardwright_rules::EngineId;
use shardwright_topology::model::LintSettings;
use shardwright_topology::{PROJECT_FILE, read_project};

use super::settings::Settings;
use super::{decided, fails, told};
use crate::args::{Global, Lint};
use crate::error::CommandError;
use crate::exit::Exit;
use crate::project;
use crate::rule_set::{self, RuleFile};
use crate::ui::{Format, Ui};

pub(super) fn run(path: &str, args: &Lint, global: &Global, ui: &Ui) -> Result<Exit, CommandError> {
    let engine = match args.engine.as_slice() {
        [] => EngineId::Proxysql27,
        [engine] => project::engine(engine)?,
        _ => return Err(CommandError::usage("a file is analysed for one engine")),
    };
    let file = rule_set::rule_file(path, engine)?;
    if file.problems.has_errors() {
        project::report(&file.problems, &file.sources, ui)?;
        return Err(CommandError::shown(Exit::BadDocument));
    }
    let project = of_project(global, ui)?;
    let settings = Settings {
        args,
        project: &project,
    };
    let read = file.problems.sorted().into_iter().cloned();
    let analysis = shardwright_analysis::analysis(&file.configuration);
    ui.decided(decided(path.to_owned(), &analysis));
    let found = analysis.findings.into_iter();
    let all = read.chain(found.map(|finding| located(&file, finding)));
    let mut problems = Problems::new();
    problems.extend(all.filter_map(|diagnostic| settings.graded(diagnostic, &file.sources)));
    match ui.format() {
        Format::Human => {
            let new = ui.found(&problems, &file.sources);
            ui.data(&render::text::render(&new, &file.sources, ui.color_out()))?;
            ui.status(&match problems.is_empty() {
                true => format!("no findings for {engine}"),
                false => problems.counts().summary(),
            });
        }
        Format::Json | Format::Markdown => project::report(&problems, &file.sources, ui)?,
    }
    Ok(match fails(&problems, args.fail_on) {
        true => Exit::Findings,
        false => Exit::Done,
    })
}

/// The `lint:` of the project around the file, where there is one that can be read.
fn of_project(global: &Global, ui: &Ui) -> Result<LintSettings, CommandError> {
    if !global.directory.join(PROJECT_FILE).exists() {
        return Ok(LintSettings::default());
    }
    let loaded = read_project(&global.directory, &project::options(global)?);
    Ok(match loaded.project {
        Some(project) => project.file.lint,
        None => {
            ui.status("`lint:` of the project is not used: the project has errors (shardwright validate)");
            LintSettings::default()
        }
    })
}

/// A finding at the row that it is about.
fn located(file: &RuleFile, finding: Finding) -> Diagnostic {
    let mut diagnostic =
        Diagnostic::new(finding.severity, finding.code, finding.message.clone()).proof(finding.proof);
    if let Some(address) = &finding.address {
        if let Some(span) = file.origins.get(address.as_str()) {
            diagnostic = diagnostic.at(*span, finding.label.clone());
        }
        diagnostic = diagnostic.address(address.as_str());
    }
    told(diagnostic, finding)
}
