//! `lint`: what the analysis finds in the compiled rules of each engine.

pub(crate) mod comments_only;
mod rule_file;

use std::collections::HashMap;

use shardwright_analysis::{Analysis, Finding};
use shardwright_diagnostics::{Diagnostic, Problems, Severity, render};
use shardwright_rules::EngineId;

use crate::args::{FailOn, Global, Lint};
use crate::error::CommandError;
use crate::exit::Exit;
use crate::project::{self, Opened};
use crate::ui::{Format, Ui};

pub(crate) fn run(args: &Lint, global: &Global, ui: &Ui) -> Result<Exit, CommandError> {
    if let Some(rules) = &args.rules {
        return rule_file::run(rules, args, ui);
    }
    let opened = project::open_for_findings(global, ui)?;
    let engines: Vec<EngineId> = if args.engine.is_empty() {
        opened.engines().collect()
    } else {
        args.engine
            .iter()
            .map(|name| project::engine(name))
            .collect::<Result<_, _>>()?
    };
    let mut problems = Problems::new();
    let mut found = Found::default();
    for diagnostic in opened.problems.sorted() {
        keep(&mut problems, diagnostic.clone(), args, &opened);
    }
    for diagnostic in comments_only::check(&opened) {
        keep(&mut problems, diagnostic, args, &opened);
    }
    for engine in &engines {
        let built = opened.build_quietly(*engine);
        if built.compiled.problems.has_errors() {
            project::report(&built.compiled.problems, &opened.sources, ui)?;
            return Err(CommandError::shown(Exit::BadDocument));
        }
        for diagnostic in built.compiled.problems.sorted() {
            keep(&mut problems, diagnostic.clone(), args, &opened);
        }
        let analysis = shardwright_analysis::analysis(&built.configuration);
        ui.status(&share(*engine, &analysis));
        for finding in analysis.findings {
            found.add(finding, *engine);
        }
    }
    for (finding, on) in found.findings {
        let only = (on.len() < engines.len()).then_some(on.as_slice());
        keep(&mut problems, located(&opened, finding, only), args, &opened);
    }
    report(&opened, &problems, &engines, ui)?;
    Ok(if fails(&problems, args.fail_on) {
        Exit::Findings
    } else {
        Exit::Done
    })
}

/// How much of what was asked could be decided.
fn share(engine: EngineId, analysis: &Analysis) -> String {
    let percent = 100.0 * analysis.decided as f64 / analysis.asked.max(1) as f64;
    let (decided, asked) = (analysis.decided, analysis.asked);
    if asked == 0 {
        return format!("{engine}: no rules");
    }
    format!(
        "{engine}: decided for {decided} of {asked} rules ({percent:.1} %) whether a statement can match them"
    )
}

fn keep(problems: &mut Problems, diagnostic: Diagnostic, args: &Lint, opened: &Opened) {
    let settings = &opened.project.file.lint;
    let code = diagnostic.code.as_str();
    let among = |given: &[String], configured: &[std::sync::Arc<str>]| {
        let listed: Vec<&str> = if given.is_empty() {
            configured.iter().map(|prefix| &**prefix).collect()
        } else {
            given.iter().map(String::as_str).collect()
        };
        (
            listed.is_empty(),
            listed.iter().any(|prefix| code.starts_with(prefix)),
        )
    };
    let (selects_all, selected) = among(&args.select, &settings.select);
    let (_, ignored) = among(&args.ignore, &settings.ignore);
    if (selects_all || selected) && !ignored {
        problems.push(diagnostic);
    }
}

/// What makes findings of several engines one: code, severity, message and address.
type Identity = (&'static str, Severity, String, Option<String>);

/// Findings, each with the engines that have it.
#[derive(Default)]
struct Found {
    findings: Vec<(Finding, Vec<EngineId>)>,
    places: HashMap<Identity, usize>,
}

impl Found {
    fn add(&mut self, finding: Finding, engine: EngineId) {
        let address = finding.address.as_ref().map(ToString::to_string);
        let identity = (
            finding.code.as_str(),
            finding.severity,
            finding.message.clone(),
            address,
        );
        let place = *self.places.entry(identity).or_insert(self.findings.len());
        match self.findings.get_mut(place) {
            Some((_, engines)) if engines.last() == Some(&engine) => {}
            Some((_, engines)) => engines.push(engine),
            None => self.findings.push((finding, vec![engine])),
        }
    }
}

/// A finding about rules, at the line that the rules came from; `only` are the engines that have it, if not all do.
fn located(opened: &Opened, finding: Finding, only: Option<&[EngineId]>) -> Diagnostic {
    let mut diagnostic =
        Diagnostic::new(finding.severity, finding.code, finding.message).proof(finding.proof);
    if let Some(address) = &finding.address {
        let origins = &opened.project.origins;
        if let Some(origin) = opened.find(address.as_str()) {
            diagnostic = origins.mark(origin, diagnostic.at(origins.span(origin), finding.label));
        }
        diagnostic = diagnostic.address(address.as_str());
    }
    if let Some(engines) = only {
        let names: Vec<&str> = engines.iter().map(|engine| engine.name()).collect();
        diagnostic = diagnostic.note(format!("on {}", names.join(", ")));
    }
    for note in finding.notes {
        diagnostic = diagnostic.note(note);
    }
    if let Some(help) = finding.help {
        diagnostic = diagnostic.help(help);
    }
    if let Some(witness) = finding.witness {
        diagnostic = diagnostic.witness(witness);
    }
    diagnostic.rule_ids(finding.rule_ids)
}

fn report(opened: &Opened, problems: &Problems, engines: &[EngineId], ui: &Ui) -> Result<(), CommandError> {
    match ui.format() {
        Format::Human => {
            let new = ui.found(problems, &opened.sources);
            ui.data(&render::text::render(&new, &opened.sources, ui.color_out()))?;
        }
        Format::Json | Format::Markdown => return project::report(problems, &opened.sources, ui),
    }
    if problems.is_empty() {
        let engines: Vec<&str> = engines.iter().map(|engine| engine.name()).collect();
        ui.status(&format!("no findings for {}", engines.join(", ")));
    } else {
        ui.status(&problems.counts().summary());
    }
    Ok(())
}

fn fails(problems: &Problems, fail_on: FailOn) -> bool {
    problems.sorted().iter().any(|diagnostic| match fail_on {
        FailOn::Error => diagnostic.severity == Severity::Error,
        FailOn::Warning => diagnostic.severity != Severity::Info,
        FailOn::Info => true,
    })
}
