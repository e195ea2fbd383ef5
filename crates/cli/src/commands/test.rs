//! `test`: route tests and properties, without a server, for every listed engine.

mod cases;
mod properties;
mod report;

use serde::Serialize;
use shardwright_analysis::route_tests::Runner;
use shardwright_diagnostics::{Case, CaseOutcome, Problems, render};
use shardwright_routing::RoutingTable;
use shardwright_rules::EngineId;
use shardwright_topology::model::{EngineName, OriginId, Property, RouteTest};

use crate::args::{Global, Test};
use crate::error::CommandError;
use crate::exit::Exit;
use crate::project::{self, Opened};
use crate::ui::{Format, Ui, counted};

use properties::PropertyCount;

pub(crate) use properties::PAGES as PROPERTY_PAGES;
pub(crate) use report::PAGE;

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
    let mut problems = opened.problems.clone();
    let mut counts = Vec::new();
    for engine in engines {
        counts.push(run_on(engine, &chosen, &opened, &mut problems, ui)?);
    }
    let failed = counts
        .iter()
        .any(|count| count.failed > 0 || count.properties.is_some_and(|count| count.refuted > 0));
    show(&counts, &problems, &opened, ui)?;
    Ok(if failed { Exit::Findings } else { Exit::Done })
}

/// The tests and properties whose names were asked for.
struct Chosen<'p> {
    tests: Vec<&'p RouteTest>,
    properties: Vec<&'p Property>,
}

impl<'p> Chosen<'p> {
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
}

fn run_on(
    engine: EngineId,
    chosen: &Chosen<'_>,
    opened: &Opened,
    problems: &mut Problems,
    ui: &Ui,
) -> Result<Count, CommandError> {
    let built = opened.build_quietly(engine);
    if built.compiled.problems.has_errors() {
        project::report(&built.compiled.problems, &opened.sources, ui)?;
        return Err(CommandError::shown(Exit::BadDocument));
    }
    let configuration = built.configuration;
    let runner = Runner::new(RoutingTable::new(configuration.clone()), &configuration);
    let mut count = Count {
        engine: engine.name(),
        cases: 0,
        statements: 0,
        failed: 0,
        properties: None,
    };
    for test in chosen.tests.iter().filter(|test| is_for(&test.engines, engine)) {
        let failures = runner.run(&cases::case(test));
        count.cases += 1;
        count.statements += test.steps.len();
        count.failed += usize::from(!failures.is_empty());
        if failures.is_empty() {
            ui.passed(|| passed(&test.name, test.origin, engine, opened));
        }
        problems.extend(
            failures
                .iter()
                .map(|failure| report::diagnostic(failure, test, engine, opened)),
        );
    }
    let asked: Vec<&Property> = chosen
        .properties
        .iter()
        .copied()
        .filter(|property| is_for(&property.engines, engine))
        .collect();
    if !asked.is_empty() {
        let held =
            |property: &Property| ui.passed(|| passed(&property.name, property.origin, engine, opened));
        count.properties = Some(properties::run(
            &asked,
            engine,
            &configuration,
            opened,
            problems,
            held,
        ));
    }
    Ok(count)
}

/// A test that holds, for reports; one that does not is a finding.
fn passed(name: &str, origin: OriginId, engine: EngineId, opened: &Opened) -> Case {
    let origins = &opened.project.origins;
    let instance = origins.instance(origin).map(|instance| format!(", {instance}"));
    Case {
        suite: opened.sources.path(origins.span(origin).file).to_owned(),
        name: format!("{} ({}{})", name, engine.name(), instance.unwrap_or_default()),
        outcome: CaseOutcome::Passed,
    }
}

fn is_for(engines: &[EngineName], engine: EngineId) -> bool {
    engines.is_empty() || engines.iter().any(|named| named.as_str() == engine.name())
}

fn show(counts: &[Count], problems: &Problems, opened: &Opened, ui: &Ui) -> Result<(), CommandError> {
    ui.found(problems, &opened.sources);
    if ui.format() == Format::Json {
        let rendered = render::json::render(problems, &opened.sources);
        let mut answer: serde_json::Value = serde_json::from_str(&rendered)
            .map_err(|error| CommandError::internal(format!("cannot read back the findings: {error}")))?;
        answer["engines"] = serde_json::json!(counts);
        return ui.json(&answer);
    }
    if ui.format() == Format::Markdown {
        return ui.markdown(problems, &opened.sources);
    }
    ui.data(&render::text::render(problems, &opened.sources, ui.color_out()))?;
    if opened.project.route_tests.is_empty() && opened.project.properties.is_empty() {
        ui.status("the project has no route tests: there is no file tests/*.yaml with `route_tests`");
        return Ok(());
    }
    for count in counts {
        let Count {
            engine,
            cases,
            statements,
            failed,
            properties,
        } = count;
        let ended = if *failed == 0 {
            "all as expected".to_owned()
        } else {
            format!("{failed} failed")
        };
        ui.status(&format!(
            "{engine}: {} with {}, {ended}",
            counted(*cases, "case"),
            counted(*statements, "statement")
        ));
        if let Some(PropertyCount {
            proved,
            refuted,
            undecided,
        }) = properties
        {
            ui.status(&format!(
                "{engine}: properties: {proved} proved, {refuted} refuted, {undecided} undecided"
            ));
        }
    }
    Ok(())
}
