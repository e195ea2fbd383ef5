//! `lint`: what the analysis finds in the compiled rules of each engine.

mod baseline;
mod comments_only;
mod fixes;
mod rule_file;
mod settings;
mod team;

use std::collections::HashMap;
use std::sync::Arc;

use jiff::tz::TimeZone;
use shardwright_analysis::{Analysis, Beside, Finding, analysis_beside};
use shardwright_diagnostics::{Decided, Diagnostic, Problems, Severity, Sources, Undecided, render};
use shardwright_rules::{Configuration, EngineId};
use shardwright_topology::Options;

use crate::allow_comments::{AllowComments, Terms};
use crate::args::{FailOn, Format, Global, Lint};
use crate::clock;
use crate::codes;
use crate::error::CommandError;
use crate::exit::Exit;
use crate::ownership::other_users;
use crate::project::{self, Opened};
use crate::rule_set::RuleSet;
use crate::ui::{self, Ui};
use baseline::Baseline;
use fixes::Applied;
use settings::Settings;

/// The most rounds of `--fix`, so that it always ends.
const MOST_FIX_ROUNDS: usize = 32;

pub(crate) fn run(args: &Lint, global: &Global, ui: &Ui) -> Result<Exit, CommandError> {
    check_codes(args)?;
    if let Some(rules) = &args.rules {
        return rule_file::run(rules, args, global, ui);
    }
    let options = options(args, global)?;
    let mut opened = project::open_for_findings(global, options.clone(), ui)?;
    let engines: Vec<EngineId> = if args.engine.is_empty() {
        opened.engines().collect()
    } else {
        args.engine
            .iter()
            .map(|name| project::engine(name))
            .collect::<Result<_, _>>()?
    };
    let (all, built) = find(&opened, &engines, ui)?;
    let mut problems = counted_of_project(all, args, &opened);
    if args.fix {
        let mut applied = fix(&problems, args, &options, &built, &opened)?;
        // A removed rule may have hidden the next finding.
        for _ in 1..MOST_FIX_ROUNDS {
            if applied.last == 0 {
                break;
            }
            opened = project::open_for_findings(global, options.clone(), ui)?;
            let (left, built) = find(&opened, &engines, ui)?;
            problems = counted_of_project(left, args, &opened);
            applied.then(fix(&problems, args, &options, &built, &opened)?);
        }
        if applied.last > 0 {
            opened = project::open_for_findings(global, options.clone(), ui)?;
            problems = counted_of_project(find(&opened, &engines, ui)?.0, args, &opened);
        }
        applied.print(ui);
    }
    let engines: Vec<&str> = engines.iter().map(|engine| engine.name()).collect();
    conclude(problems, &opened.sources, &engines.join(", "), args, ui)
}

/// The input besides the files. `--today` moves `until` of the topology as it moves that of comments.
fn options(args: &Lint, global: &Global) -> Result<Options, CommandError> {
    let mut options = project::options(global)?;
    if let Some(today) = args.today {
        let midnight = today
            .to_zoned(TimeZone::UTC)
            .map_err(|error| CommandError::usage(format!("--today {today}: {error}")))?;
        options.now = Some(midnight.timestamp());
    }
    Ok(options)
}

/// Every code of the command line is one that a finding can have, or the beginning of one.
fn check_codes(args: &Lint) -> Result<(), CommandError> {
    if args.select.is_empty() && args.ignore.is_empty() {
        return Ok(());
    }
    let pages = codes::pages();
    let is_known = |prefix: &&String| {
        pages
            .iter()
            .any(|page| page.code.as_str().starts_with(prefix.as_str()))
    };
    match args
        .select
        .iter()
        .chain(&args.ignore)
        .find(|prefix| !is_known(prefix))
    {
        Some(unknown) => Err(CommandError::usage(format!("no code begins with {unknown}"))
            .hint("codes look like SW201; SW2 selects all codes that begin with it")),
        None => Ok(()),
    }
}

/// Hides the findings of the baseline, shows the rest, and returns the exit.
fn conclude(
    mut problems: Problems,
    sources: &Sources,
    engines: &str,
    args: &Lint,
    ui: &Ui,
) -> Result<Exit, CommandError> {
    if let Some(path) = &args.baseline {
        if args.update_baseline {
            let baseline = Baseline::of(&problems, sources);
            baseline.write(path)?;
            ui.status(&format!(
                "wrote {} to {}",
                ui::counted(baseline.len(), "finding"),
                path.display()
            ));
            return Ok(Exit::Done);
        }
        let (new, gone) = Baseline::read(path)?.new_ones(&problems, sources);
        if gone > 0 {
            ui.status(&format!(
                "no longer found: {} of {}; --update-baseline removes them",
                ui::counted(gone, "finding"),
                path.display()
            ));
        }
        problems = new;
    }
    report(&problems, sources, engines, ui)?;
    Ok(if fails(&problems, args.fail_on) {
        Exit::Findings
    } else {
        Exit::Done
    })
}

/// How many of the questions were decided.
fn decided(rule_set: String, analysis: &Analysis) -> Decided {
    let undecided = analysis.undecided.iter();
    Decided {
        rule_set,
        asked: analysis.asked,
        decided: analysis.decided,
        undecided: undecided
            .map(|(construct, rule_ids)| Undecided {
                construct: construct.clone(),
                rule_ids: rule_ids.clone(),
            })
            .collect(),
    }
}

type Built = Vec<(EngineId, Arc<Configuration>)>;

/// A configuration of a project, and the problems that compiling it reported.
struct Compiled {
    configuration: Arc<Configuration>,
    problems: Problems,
}

/// Everything that there is to find, and what each engine runs.
fn find(opened: &Opened, engines: &[EngineId], ui: &Ui) -> Result<(Vec<Diagnostic>, Built), CommandError> {
    let mut all = Vec::new();
    for engine in engines {
        let built = opened.build_quietly(*engine);
        if built.compiled.problems.has_errors() {
            project::report(&built.compiled.problems, &opened.sources, ui)?;
            return Err(CommandError::shown(Exit::BadDocument));
        }
        all.push(Compiled {
            configuration: built.configuration,
            problems: built.compiled.problems,
        });
    }
    let (found, decided) = find_in(opened, &all);
    decided.into_iter().for_each(|decided| ui.decided(decided));
    let configurations = all
        .into_iter()
        .map(|one| (one.configuration.engine, one.configuration));
    Ok((found, configurations.collect()))
}

/// Everything that there is to find in a project as compiled, and how much could be decided.
fn find_in(opened: &Opened, compiled: &[Compiled]) -> (Vec<Diagnostic>, Vec<Decided>) {
    let mut all: Vec<Diagnostic> = opened.problems.sorted().into_iter().cloned().collect();
    all.extend(comments_only::check(opened));
    all.extend(team::wrong_rules(opened));
    let mut found = FindingsByEngine::default();
    let mut reachability = Vec::new();
    for one in compiled {
        let engine = one.configuration.engine;
        all.extend(one.problems.sorted().into_iter().cloned());
        let beside = Beside {
            users: other_users(engine, &opened.project.file),
            ..Beside::default()
        };
        let analysis = analysis_beside(&one.configuration, &beside);
        reachability.push(decided(engine.name().to_owned(), &analysis));
        for finding in analysis.findings {
            found.add(finding, engine);
        }
    }
    for (finding, on) in found.findings {
        let everywhere = on.len() == compiled.len();
        let dead = finding.dead.clone();
        let diagnostic = located(opened, finding, (!everywhere).then_some(on.as_slice()));
        all.push(fixes::fixed(diagnostic, &dead, everywhere, opened));
    }
    all.extend(team::check(compiled.iter().map(|one| &one.configuration), opened));
    (all, reachability)
}

/// What `lint` reports of one rule set.
pub(crate) fn findings(set: &RuleSet, global: &Global, ui: &Ui) -> Result<Problems, CommandError> {
    let args = Lint {
        // Comments are judged by findings of every engine.
        engine: vec![set.configuration.engine.name().to_owned()],
        ..Lint::default()
    };
    if let Some(opened) = set.project() {
        let compiled = Compiled {
            configuration: Arc::clone(&set.configuration),
            problems: set.problems.clone(),
        };
        return Ok(counted_of_project(find_in(opened, &[compiled]).0, &args, opened));
    }
    match set.file() {
        Some(file) => {
            let project = rule_file::of_project(global, ui)?;
            Ok(rule_file::findings(file, &set.name, &args, &project).0)
        }
        None => {
            let found = shardwright_analysis::analyse(&set.configuration).into_iter();
            Ok(found.map(rule_file::unlocated).collect())
        }
    }
}

/// The findings that count, without those that comments allow, and with what is wrong with the comments.
fn counted(
    all: impl IntoIterator<Item = Diagnostic>,
    settings: &Settings<'_>,
    sources: &Sources,
    read: impl FnOnce(&Terms<'_>) -> AllowComments,
) -> Problems {
    let mut comments = read(&Terms {
        today: settings.args.today.unwrap_or_else(clock::today),
        known: &codes::pages(),
        require_reason: settings.project.require_reason,
    });
    let mut problems = Problems::new();
    for diagnostic in all {
        if let Some(diagnostic) = settings.graded(diagnostic, sources)
            && !comments.allow(&diagnostic)
        {
            problems.push(diagnostic);
        }
    }
    for diagnostic in comments.findings(sources, |code| settings.looks_for(code)) {
        problems.extend(settings.graded(diagnostic, sources));
    }
    problems
}

fn counted_of_project(all: Vec<Diagnostic>, args: &Lint, opened: &Opened) -> Problems {
    let settings = Settings {
        args,
        project: &opened.project.file.lint,
    };
    counted(all, &settings, &opened.sources, |terms| {
        AllowComments::of_project(&opened.documents, &opened.sources, terms)
    })
}

/// Applies the fixes of findings once.
fn fix(
    problems: &Problems,
    args: &Lint,
    options: &Options,
    built: &Built,
    opened: &Opened,
) -> Result<Applied, CommandError> {
    fixes::apply(problems, args.unsafe_fixes, built, options, opened)
}

/// What makes findings of several engines one: code, severity, message and address.
type Identity = (&'static str, Severity, String, Option<String>);

/// Findings, each with the engines that have it.
#[derive(Default)]
struct FindingsByEngine {
    findings: Vec<(Finding, Vec<EngineId>)>,
    positions: HashMap<Identity, usize>,
}

impl FindingsByEngine {
    fn add(&mut self, finding: Finding, engine: EngineId) {
        let address = finding.address.as_ref().map(ToString::to_string);
        let identity = (
            finding.code.as_str(),
            finding.severity,
            finding.message.clone(),
            address,
        );
        let position = *self.positions.entry(identity).or_insert(self.findings.len());
        match self.findings.get_mut(position) {
            Some((_, engines)) if engines.last() == Some(&engine) => {}
            Some((_, engines)) => engines.push(engine),
            None => self.findings.push((finding, vec![engine])),
        }
    }
}

/// A finding about rules, at the line that the rules came from; `only` are the engines that have it, if not all do.
fn located(opened: &Opened, finding: Finding, only: Option<&[EngineId]>) -> Diagnostic {
    let mut diagnostic =
        Diagnostic::new(finding.severity, finding.code, finding.message.clone()).proof(finding.proof);
    if let Some(address) = &finding.address {
        let origins = &opened.project.origins;
        if let Some(origin) = opened.find(address.as_str()) {
            diagnostic = origins.mark(origin, diagnostic.at(origins.span(origin), finding.label.clone()));
        }
        diagnostic = diagnostic.address(address.as_str());
    }
    if let Some(engines) = only {
        let names: Vec<&str> = engines.iter().map(|engine| engine.name()).collect();
        diagnostic = diagnostic.note(format!("on {}", names.join(", ")));
    }
    with_details(diagnostic, finding)
}

/// Adds the witness, notes and help of a finding.
fn with_details(mut diagnostic: Diagnostic, finding: Finding) -> Diagnostic {
    if let Some(witness) = finding.witness {
        diagnostic = diagnostic.witness(witness);
    }
    for note in finding.notes {
        diagnostic = diagnostic.note(note);
    }
    if let Some(help) = finding.help {
        diagnostic = diagnostic.help(help);
    }
    diagnostic.rule_ids(finding.rule_ids)
}

fn report(problems: &Problems, sources: &Sources, engines: &str, ui: &Ui) -> Result<(), CommandError> {
    match ui.format() {
        Format::Human => {
            let new = ui.found(problems, sources);
            ui.data(&render::text::render(&new, sources, ui.style_out()))?;
        }
        Format::Json | Format::Markdown => return project::report(problems, sources, ui),
    }
    if problems.is_empty() {
        ui.status(&format!("no findings for {engines}"));
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
