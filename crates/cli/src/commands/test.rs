//! `test`: route tests and properties, without a server, for every listed engine.

mod cases;
mod coverage;
mod mutants;
mod properties;
mod report;

use std::sync::Arc;

use serde::Serialize;
use shardwright_diagnostics::{Case, CaseOutcome, Problems, render};
use shardwright_routing::RoutingTable;
use shardwright_rules::{Configuration, EngineId};
use shardwright_simulation::route_tests::coverage::Coverage;
use shardwright_simulation::route_tests::{Failure, Runner};
use shardwright_topology::model::{EngineName, OriginId, Property, RouteTest};

use crate::args::{Format, Global, Test};
use crate::error::CommandError;
use crate::exit::Exit;
use crate::project::{self, Opened};
use crate::ui::{Ui, counted};

use coverage::CoverageCount;
use mutants::{MutantCount, Suite};
use properties::PropertyCount;

pub(crate) fn run(args: &Test, global: &Global, ui: &Ui) -> Result<Exit, CommandError> {
    let opened = project::open_with_tests(global, ui)?;
    let engines: Vec<EngineId> = match args.engine.as_slice() {
        [] => opened.engines().collect(),
        named => named
            .iter()
            .map(|name| project::engine(name))
            .collect::<Result<_, _>>()?,
    };
    let chosen = Chosen::of(args, &opened);
    if let (Some(name), true) = (&args.name, chosen.is_empty()) {
        return Err(
            CommandError::usage(format!("no test and no property has `{name}` in its name"))
                .hint("names come from tests/**/*.yaml and are case-sensitive"),
        );
    }
    let mut problems = opened.problems.clone();
    let mut counts = Vec::new();
    for engine in engines {
        counts.push(run_on(engine, &chosen, &opened, args, &mut problems, ui)?);
    }
    let failed = counts
        .iter()
        .any(|count| !count.holds() || count.is_under(args.fail_under));
    show(&counts, &problems, &opened, ui)?;
    Ok(if failed { Exit::Findings } else { Exit::Done })
}

/// The tests and properties whose names match.
struct Chosen<'p> {
    tests: Vec<&'p RouteTest>,
    properties: Vec<&'p Property>,
}

impl<'p> Chosen<'p> {
    fn is_empty(&self) -> bool {
        self.tests.is_empty() && self.properties.is_empty()
    }

    fn of(args: &Test, opened: &'p Opened) -> Self {
        let wanted = |name: &str| args.name.as_ref().is_none_or(|part| name.contains(part.as_str()));
        let project = &opened.project;
        Self {
            tests: project
                .route_tests
                .iter()
                .filter(|test| wanted(&test.name))
                .collect(),
            properties: project
                .properties
                .iter()
                .filter(|property| wanted(&property.name))
                .collect(),
        }
    }
}

/// How the tests of one engine went. A test with `for_each` is one case for each instance.
#[derive(Serialize)]
struct Count {
    engine: &'static str,
    cases: usize,
    statements: usize,
    /// Cases in which something does not hold.
    failed: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    properties: Option<PropertyCount>,
    #[serde(skip_serializing_if = "Option::is_none")]
    coverage: Option<CoverageCount>,
    #[serde(skip_serializing_if = "Option::is_none")]
    mutants: Option<MutantCount>,
}

impl Count {
    fn of(engine: EngineId) -> Self {
        Self {
            engine: engine.name(),
            cases: 0,
            statements: 0,
            failed: 0,
            properties: None,
            coverage: None,
            mutants: None,
        }
    }

    fn add(&mut self, test: &RouteTest, failures: &[Failure]) {
        self.cases += 1;
        self.statements += test.steps.len();
        self.failed += usize::from(!failures.is_empty());
    }

    /// Whether nothing failed and nothing was refuted.
    fn holds(&self) -> bool {
        self.failed == 0 && self.properties.is_none_or(|count| count.refuted == 0)
    }

    /// Whether less is covered or noticed than was asked for.
    fn is_under(&self, wanted: Option<f64>) -> bool {
        let Some(wanted) = wanted else {
            return false;
        };
        self.coverage
            .as_ref()
            .is_some_and(|count| count.all.percent < wanted)
            || self.mutants.is_some_and(|count| count.is_under(wanted))
    }
}

fn run_on(
    engine: EngineId,
    chosen: &Chosen<'_>,
    opened: &Opened,
    args: &Test,
    problems: &mut Problems,
    ui: &Ui,
) -> Result<Count, CommandError> {
    let built = opened.build_quietly(engine);
    if built.compiled.problems.has_errors() {
        project::report(&built.compiled.problems, &opened.sources, ui)?;
        return Err(CommandError::shown(Exit::BadDocument));
    }
    let configuration = built.configuration;
    let keys = properties::keys(opened, engine, &configuration);
    let runner = Runner::new(RoutingTable::new(configuration.clone()), &configuration, &keys);
    let mut coverage = args.coverage.then(|| Coverage::of(&configuration, keys.clone()));
    let mut count = Count::of(engine);
    let tests = chosen.tests.iter().filter(|test| is_for(&test.engines, engine));
    let mut run = Vec::new();
    for test in tests {
        let case = cases::case(test);
        let failures = match &mut coverage {
            Some(coverage) => runner.run_seen(&case, |session, statement, decision| {
                coverage.see(session, statement, decision);
            }),
            None => runner.run(&case),
        };
        count.add(test, &failures);
        ui.tested(|| tested(&test.name, test.origin, failures.is_empty(), engine, opened));
        problems.extend(
            failures
                .iter()
                .map(|failure| report::diagnostic(failure, test, &configuration, opened)),
        );
        if args.mutants {
            run.push(case);
        }
    }
    let asked = chosen.properties.iter().copied();
    let asked: Vec<&Property> = asked
        .filter(|property| is_for(&property.engines, engine))
        .collect();
    if !asked.is_empty() {
        let answered = properties::run(
            &asked,
            engine,
            &configuration,
            &keys,
            opened,
            problems,
            |property, holds| {
                ui.tested(|| tested(&property.name, property.origin, holds, engine, opened));
            },
        );
        count.properties = Some(answered);
    }
    count.coverage =
        coverage.map(|coverage| coverage::report(&coverage, engine, args.fail_under, opened, problems));
    if args.mutants && count.holds() {
        let suite = Suite {
            engine,
            configuration: &configuration,
            keys: &keys,
            cases: run,
            properties: asked,
        };
        count.mutants = Some(mutants::run(
            &suite,
            args.most,
            args.fail_under,
            opened,
            problems,
            ui,
        ));
    } else if args.mutants {
        ui.status(&format!(
            "{engine}: no mutants are tried, because some tests fail"
        ));
    }
    Ok(count)
}

/// The results of the tests for an engine.
pub(crate) struct Covering<'c> {
    pub(crate) coverage: Coverage<'c>,
    pub(crate) cases: usize,
    /// Cases in which something does not hold.
    pub(crate) failed: usize,
}

/// Runs the tests for the engine of a configuration; none if the project has none.
pub(crate) fn covering<'c>(configuration: &'c Arc<Configuration>, opened: &Opened) -> Option<Covering<'c>> {
    let tests = opened.project.route_tests.iter();
    let tests: Vec<&RouteTest> = tests
        .filter(|test| is_for(&test.engines, configuration.engine))
        .collect();
    if tests.is_empty() {
        return None;
    }
    let keys = properties::keys(opened, configuration.engine, configuration);
    let runner = Runner::new(RoutingTable::new(configuration.clone()), configuration, &keys);
    let mut coverage = Coverage::of(configuration, keys.clone());
    let mut failed = 0;
    for test in &tests {
        let failures = runner.run_seen(&cases::case(test), |session, statement, decision| {
            coverage.see(session, statement, decision);
        });
        failed += usize::from(!failures.is_empty());
    }
    Some(Covering {
        coverage,
        cases: tests.len(),
        failed,
    })
}

/// A test or a property, for reports.
fn tested(name: &str, origin: OriginId, holds: bool, engine: EngineId, opened: &Opened) -> Case {
    let origins = &opened.project.origins;
    let instance = origins.instance(origin).map(|instance| format!(", {instance}"));
    Case {
        suite: opened.sources.path(origins.span(origin).file).to_owned(),
        name: format!("{} ({}{})", name, engine.name(), instance.unwrap_or_default()),
        outcome: if holds {
            CaseOutcome::Passed
        } else {
            CaseOutcome::Failed
        },
    }
}

fn is_for(engines: &[EngineName], engine: EngineId) -> bool {
    engines.is_empty() || engines.iter().any(|named| named.as_str() == engine.name())
}

fn show(counts: &[Count], problems: &Problems, opened: &Opened, ui: &Ui) -> Result<(), CommandError> {
    if ui.format() == Format::Json {
        let engines = serde_json::json!({ "engines": counts });
        return ui.found_with(problems, &opened.sources, engines);
    }
    ui.found(problems, &opened.sources);
    if ui.format() == Format::Markdown {
        return ui.markdown(problems, &opened.sources);
    }
    ui.data(&render::text::render(problems, &opened.sources, ui.style_out()))?;
    let project = &opened.project;
    if project.route_tests.is_empty() && project.properties.is_empty() && project.tests_elsewhere == 0 {
        ui.status("the project has no route tests: there is no file tests/*.yaml with `route_tests`");
        return Ok(());
    }
    for count in counts {
        print_count(count, ui);
    }
    if let Some(elsewhere) = of_other_environments(opened) {
        ui.status(&elsewhere);
    }
    Ok(())
}

/// What is said of tests that did not run because they are for other environments.
fn of_other_environments(opened: &Opened) -> Option<String> {
    let (tests, are) = match opened.project.tests_elsewhere {
        0 => return None,
        1 => ("1 test".to_owned(), "is"),
        many => (format!("{many} tests"), "are"),
    };
    Some(match &opened.environment {
        Some(_) => format!("{tests} {are} for other environments"),
        None => format!("{tests} {are} for environments: choose one with -e"),
    })
}

/// Prints the results of one engine.
fn print_count(count: &Count, ui: &Ui) {
    let engine = count.engine;
    let ended = if count.failed == 0 {
        "all as expected".to_owned()
    } else {
        format!("{} failed", count.failed)
    };
    ui.status(&format!(
        "{engine}: {} with {}, {ended}",
        counted(count.cases, "case"),
        counted(count.statements, "statement")
    ));
    if let Some(answers) = count.properties {
        let PropertyCount {
            proved,
            refuted,
            undecided,
        } = answers;
        ui.status(&format!(
            "{engine}: properties: {proved} proved, {refuted} refuted, {undecided} undecided"
        ));
    }
    if let Some(coverage) = &count.coverage {
        ui.status(&format!("{engine}: covered: {}", coverage.summary()));
    }
    if let Some(mutants) = &count.mutants {
        ui.status(&format!("{engine}: {}", mutants.summary()));
    }
}
