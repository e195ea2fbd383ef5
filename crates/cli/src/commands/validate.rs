//! `validate`: syntax, schema and references, for every listed engine.

use shardwright_diagnostics::Problems;
use shardwright_topology::resolved;

use crate::args::{Format, Global, Resolved, Validate};
use crate::error::{self, CommandError};
use crate::exit::Exit;
use crate::project::{self, Opened};
use crate::ui::{Ui, counted};

pub(crate) fn run(args: &Validate, global: &Global, ui: &Ui) -> Result<Exit, CommandError> {
    if let (None, Some(named)) = (args.show, args.addresses.first()) {
        return Err(unshown(named));
    }
    let opened = project::open_with_tests(global, ui)?;
    let mut problems = Problems::new();
    for found in opened.problems_of_engines() {
        problems.append(found);
    }
    let failed = problems.has_errors();
    problems.append(opened.problems.clone());
    let problems = opened.without_allowed(&problems);
    match args.show {
        Some(what) => show(&opened, what, &args.addresses, &problems, ui)?,
        None => report(&opened, &problems, ui)?,
    }
    // The process ends here: dropping a million objects one by one would take most of the remaining time.
    std::mem::forget(opened);
    Ok(if failed { Exit::BadDocument } else { Exit::Done })
}

/// A name without `--show`: a file, a directory, or an address to print.
fn unshown(named: &str) -> CommandError {
    match std::path::Path::new(named).exists() {
        true => error::takes_no_file(named, "validate"),
        false => CommandError::usage(format!("the address {named} needs --show"))
            .hint("shardwright validate --show resolved ADDRESS prints it; -C DIR names the project"),
    }
}

/// The resolved values are the result; problems go to standard error.
fn show(
    opened: &Opened,
    what: Resolved,
    addresses: &[String],
    problems: &Problems,
    ui: &Ui,
) -> Result<(), CommandError> {
    project::show(problems, &opened.sources, ui);
    let part = match what {
        Resolved::Resolved => resolved::Part::Topology,
        Resolved::Project => resolved::Part::Project,
    };
    let form = match ui.format() {
        Format::Json => resolved::Form::Json,
        Format::Human | Format::Markdown => resolved::Form::Yaml,
    };
    let request = resolved::Request {
        part,
        form,
        only: addresses,
    };
    let missed = ui.stream(|out| resolved::write(&opened.documents, &opened.sources, request, out))?;
    if missed.is_empty() {
        return Ok(());
    }
    Err(
        CommandError::usage(format!("there is no value at {}", missed.join(", ")))
            .hint("addresses look like clusters.pay or users.app.password"),
    )
}

fn report(opened: &Opened, problems: &Problems, ui: &Ui) -> Result<(), CommandError> {
    project::report(problems, &opened.sources, ui)?;
    if problems.has_errors() || ui.format() != Format::Human {
        return Ok(());
    }
    let topology = &opened.project.topology;
    let shards = topology.shard_maps.iter().map(|map| map.shards.len()).sum();
    let listed = [
        counted(topology.clusters.len(), "cluster"),
        counted(topology.users.len(), "user"),
        counted(shards, "shard"),
        counted(topology.shard_maps.len(), "shard map"),
    ];
    let engines: Vec<&str> = opened.engines().map(|engine| engine.name()).collect();
    ui.status(&format!(
        "valid for {}: {}",
        engines.join(", "),
        listed.join(", ")
    ));
    Ok(())
}
