//! `test`: route tests, without a server, for every listed engine.

mod cases;
mod report;

use serde::Serialize;
use shardwright_analysis::route_tests::Runner;
use shardwright_diagnostics::{Case, CaseOutcome, Problems, render};
use shardwright_routing::RoutingTable;
use shardwright_rules::EngineId;
use shardwright_topology::model::RouteTest;

use crate::args::{Global, Test};
use crate::error::CommandError;
use crate::exit::Exit;
use crate::project::{self, Opened};
use crate::ui::{Format, Ui};

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
    let tests: Vec<&RouteTest> = opened
        .project
        .route_tests
        .iter()
        .filter(|test| {
            args.name
                .as_ref()
                .is_none_or(|part| test.name.contains(part.as_str()))
        })
        .collect();
    let mut problems = opened.problems.clone();
    let mut counts = Vec::new();
    for engine in engines {
        counts.push(run_on(engine, &tests, &opened, &mut problems, ui)?);
    }
    let failed = counts.iter().any(|count| count.failed > 0);
    show(&counts, &problems, &opened, ui)?;
    Ok(if failed { Exit::Findings } else { Exit::Done })
}

/// How the tests of one engine went. A test with `for_each` is one case for each instance.
#[derive(Serialize)]
struct Count {
    engine: &'static str,
    cases: usize,
    statements: usize,
    /// Cases in which something does not hold.
    failed: usize,
}

fn run_on(
    engine: EngineId,
    tests: &[&RouteTest],
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
    };
    for test in tests.iter().filter(|test| is_for(test, engine)) {
        let failures = runner.run(&cases::case(test));
        count.cases += 1;
        count.statements += test.steps.len();
        count.failed += usize::from(!failures.is_empty());
        if failures.is_empty() {
            ui.passed(|| passed(test, engine, opened));
        }
        problems.extend(
            failures
                .iter()
                .map(|failure| report::diagnostic(failure, test, engine, opened)),
        );
    }
    Ok(count)
}

/// A test that holds, for reports; one that does not is a finding.
fn passed(test: &RouteTest, engine: EngineId, opened: &Opened) -> Case {
    let origins = &opened.project.origins;
    let instance = origins
        .instance(test.origin)
        .map(|instance| format!(", {instance}"));
    Case {
        suite: opened.sources.path(origins.span(test.origin).file).to_owned(),
        name: format!(
            "{} ({}{})",
            test.name,
            engine.name(),
            instance.unwrap_or_default()
        ),
        outcome: CaseOutcome::Passed,
    }
}

fn is_for(test: &RouteTest, engine: EngineId) -> bool {
    test.engines.is_empty() || test.engines.iter().any(|named| named.as_str() == engine.name())
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
    if opened.project.route_tests.is_empty() {
        ui.status("the project has no route tests: there is no file tests/*.yaml with `route_tests`");
        return Ok(());
    }
    for count in counts {
        let Count {
            engine,
            cases,
            statements,
            failed,
        } = count;
        let ended = if *failed == 0 {
            "all as expected".to_owned()
        } else {
            format!("{failed} failed")
        };
        let plural = |n: usize, word: &str| format!("{n} {word}{}", if n == 1 { "" } else { "s" });
        ui.status(&format!(
            "{engine}: {} with {}, {ended}",
            plural(*cases, "case"),
            plural(*statements, "statement")
        ));
    }
    Ok(())
}
