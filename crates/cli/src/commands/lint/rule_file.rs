//! `lint rules.sql`: what the analysis finds in a rule set that is no project.

use shardwright_analysis::Finding;
use shardwright_diagnostics::{Diagnostic, Problems, render};
use shardwright_rules::EngineId;

use super::{fails, told};
use crate::args::Lint;
use crate::error::CommandError;
use crate::exit::Exit;
use crate::project;
use crate::rule_set::{self, RuleFile};
use crate::ui::{Format, Ui};

pub(super) fn run(path: &str, args: &Lint, ui: &Ui) -> Result<Exit, CommandError> {
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
    let mut problems = Problems::new();
    for diagnostic in file.problems.sorted() {
        keep(&mut problems, diagnostic.clone(), args);
    }
    for finding in shardwright_analysis::analyse(&file.configuration) {
        keep(&mut problems, located(&file, finding), args);
    }
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

fn keep(problems: &mut Problems, diagnostic: Diagnostic, args: &Lint) {
    let among = |codes: &[String]| {
        codes
            .iter()
            .any(|prefix| diagnostic.code.as_str().starts_with(prefix.as_str()))
    };
    if (args.select.is_empty() || among(&args.select)) && !among(&args.ignore) {
        problems.push(diagnostic);
    }
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
