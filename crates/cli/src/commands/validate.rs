//! `validate`: syntax, schema and references, for every listed engine.

use shardwright_diagnostics::Problems;

use crate::args::Global;
use crate::error::CommandError;
use crate::exit::Exit;
use crate::project::{self, Opened};
use crate::ui::{Format, Ui};

pub(crate) fn run(global: &Global, ui: &Ui) -> Result<Exit, CommandError> {
    let opened = project::open_with_tests(global, ui)?;
    let mut problems = Problems::new();
    for engine in opened.engines() {
        problems.append(opened.build_quietly(engine).compiled.problems);
    }
    let failed = problems.has_errors();
    problems.append(opened.problems.clone());
    report(&opened, &problems, ui)?;
    Ok(if failed { Exit::BadDocument } else { Exit::Done })
}

fn report(opened: &Opened, problems: &Problems, ui: &Ui) -> Result<(), CommandError> {
    project::report(problems, &opened.sources, ui)?;
    if problems.has_errors() || ui.format() != Format::Human {
        return Ok(());
    }
    let topology = &opened.project.topology;
    let counts = [
        (topology.clusters.len(), "cluster", "clusters"),
        (topology.users.len(), "user", "users"),
        (
            topology.shard_maps.iter().map(|map| map.shards.len()).sum(),
            "shard",
            "shards",
        ),
        (topology.shard_maps.len(), "shard map", "shard maps"),
    ];
    let listed: Vec<String> = counts
        .iter()
        .map(|(n, one, many)| format!("{n} {}", if *n == 1 { one } else { many }))
        .collect();
    let engines: Vec<&str> = opened.engines().map(|engine| engine.name()).collect();
    ui.status(&format!(
        "valid for {}: {}",
        engines.join(", "),
        listed.join(", ")
    ));
    Ok(())
}
