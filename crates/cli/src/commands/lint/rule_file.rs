//! `lint rules.sql`: the findings of a rule set that is not a project.

use shardwright_analysis::Finding;
use shardwright_diagnostics::{Decided, Diagnostic, Problems, Proof};
use shardwright_rules::{EngineId, RuleGraph};
use shardwright_topology::model::LintSettings;
use shardwright_topology::{PROJECT_FILE, read_project};

use super::settings::Settings;
use super::{conclude, counted, decided, with_details};
use crate::allow_comments::AllowComments;
use crate::args::{Global, Lint};
use crate::error::CommandError;
use crate::exit::Exit;
use crate::project;
use crate::rule_set::{self, RuleFile};
use crate::ui::Ui;

pub(super) fn run(path: &str, args: &Lint, global: &Global, ui: &Ui) -> Result<Exit, CommandError> {
    let engine = match args.engine.as_slice() {
        [] => EngineId::Proxysql27,
        [engine] => project::engine(engine)?,
        _ => return Err(CommandError::usage("lint of a file takes one --engine")),
    };
    let file = rule_set::rule_file(path, engine)?;
    if file.layout.parts.is_empty() && !file.problems.has_errors() {
        return Err(rule_set::holds_nothing(path));
    }
    // What can be read is analysed; the rest is reported at its line.
    if file.problems.has_errors() && file.configuration.graph == RuleGraph::default() {
        project::report(&file.problems, &file.sources, ui)?;
        return Err(CommandError::shown(Exit::BadDocument));
    }
    let (problems, decided) = findings(&file, path, args, &of_project(global, ui)?);
    ui.decided(decided);
    if file.problems.has_errors() {
        ui.status(&format!(
            "{path} cannot be read completely; only the rest is analysed"
        ));
    }
    conclude(problems, &file.sources, engine.name(), args, ui)
}

/// What `lint` reports of a file, and how much could be decided.
pub(super) fn findings(
    file: &RuleFile,
    name: &str,
    args: &Lint,
    project: &LintSettings,
) -> (Problems, Decided) {
    let settings = Settings { args, project };
    let read = file.problems.sorted().into_iter().cloned();
    let analysis = shardwright_analysis::analysis_beside(&file.configuration, &file.beside);
    let decided = decided(name.to_owned(), &analysis);
    let found = analysis.findings.into_iter();
    let all = read.chain(found.map(|finding| located(file, finding)));
    let problems = counted(all, &settings, &file.sources, |terms| {
        AllowComments::of_rule_file(&file.layout, &file.sources, terms)
    });
    (problems, decided)
}

/// The `lint:` settings of the project of the file, if it can be read.
pub(super) fn of_project(global: &Global, ui: &Ui) -> Result<LintSettings, CommandError> {
    if !global.directory.join(PROJECT_FILE).exists() {
        return Ok(LintSettings::default());
    }
    let loaded = read_project(&global.directory, &project::options(global)?);
    Ok(match loaded.project {
        Some(project) => project.file.lint,
        None => {
            ui.status(
                "the project's `lint:` settings are not used: the project has errors (shardwright validate)",
            );
            LintSettings::default()
        }
    })
}

/// A finding at the row that it is about.
fn located(file: &RuleFile, finding: Finding) -> Diagnostic {
    let span = finding
        .address
        .as_ref()
        .and_then(|address| file.origins.get(address.as_str()));
    let (span, label) = (span.copied(), finding.label.clone());
    let diagnostic = as_far_as_is_known(file, unlocated(finding));
    match span {
        Some(span) => diagnostic.at(span, label),
        None => diagnostic,
    }
}

/// What is not read of a file may decide with the rules: nothing is proved then.
fn as_far_as_is_known(file: &RuleFile, diagnostic: Diagnostic) -> Diagnostic {
    match file.unmodelled.first() {
        Some(doubt) if diagnostic.proof == Some(Proof::Proved) => diagnostic
            .proof(Proof::Possible)
            .note(format!("as far as is known: {doubt}")),
        _ => diagnostic,
    }
}

/// A finding about rules that are written nowhere.
pub(super) fn unlocated(finding: Finding) -> Diagnostic {
    let mut diagnostic =
        Diagnostic::new(finding.severity, finding.code, finding.message.clone()).proof(finding.proof);
    if let Some(address) = &finding.address {
        diagnostic = diagnostic.address(address.as_str());
    }
    with_details(diagnostic, finding)
}
