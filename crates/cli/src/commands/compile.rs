//! `compile`: rules and hostgroups, as SQL, JSON or a tree, and figures about them. The lock is about every engine of the project.

use std::path::Path;
use std::sync::Arc;

use shardwright_compiler::{MapStats, Options, Stats, Traffic, tree};
use shardwright_targets::emit::{self, EmitError};

use crate::args::{Compile, Emit, Format, Global};
use crate::error::{CommandError, unreadable};
use crate::exit::Exit;
use crate::files::replace_file;
use crate::ownership::ownership;
use crate::project::{self, Built, Opened};
use crate::ui::{Ui, counted};

pub(crate) fn run(args: &Compile, global: &Global, ui: &Ui) -> Result<Exit, CommandError> {
    check_outputs(args, ui)?;
    let opened = project::open(global, ui)?;
    project::show(&opened.problems, &opened.sources, ui);
    let options = Options {
        traffic: args.traffic.as_deref().map(traffic).transpose()?.map(Arc::new),
        reshape: args.reshape,
        ..Options::default()
    };
    let built = opened.build_with(opened.engine(args.engine.as_deref())?, &options, ui)?;
    let lock = if args.engine.is_some() {
        built.compiled.lock.clone()
    } else {
        opened.lock_of_all(&built, &options, ui)?
    };
    let text = match args.emit {
        Some(emit) => Some(emitted(&opened, &built, emit)?),
        None => None,
    };
    if args.check {
        opened.keep_lock(&lock, true)?;
        check_output(args, text.as_deref())?;
        ui.status("up to date");
        return Ok(Exit::Done);
    }
    opened.keep_lock(&lock, args.locked)?;
    let is_result_left = match (text, &args.output) {
        (Some(text), Some(path)) => {
            replace_file(path, text.as_bytes())?;
            true
        }
        (Some(text), None) if args.emit == Some(Emit::Json) => ui.data(&text).map(|()| false)?,
        (Some(text), None) => ui.text(&text).map(|()| false)?,
        (None, _) => {
            if !args.stats {
                ui.status(&summary(&built.compiled.stats));
            }
            true
        }
    };
    if args.stats || (is_result_left && ui.format() == Format::Json) {
        stats(&built.compiled.stats, ui)?;
    }
    Ok(Exit::Done)
}

/// Refuses outputs that do not go together, before anything is written.
fn check_outputs(args: &Compile, ui: &Ui) -> Result<(), CommandError> {
    if args.output.is_some() && args.emit.is_none() {
        return Err(CommandError::usage("-o needs --emit").hint("write --emit sql, cnf, json or tree"));
    }
    let two_results = args.stats && args.emit.is_some() && args.output.is_none();
    if two_results && ui.format() == Format::Json {
        return Err(CommandError::usage(
            "--emit and --stats are two results, and --format json prints one document",
        )
        .hint("write one of them to a file: --emit sql -o FILE"));
    }
    Ok(())
}

/// Reads a file of `--traffic`; every line that cannot be read is reported.
fn traffic(path: &Path) -> Result<Traffic, CommandError> {
    let text = std::fs::read_to_string(path).map_err(|error| unreadable(path, &error))?;
    Traffic::parse(&text).map_err(|errors| {
        let lines: Vec<String> = errors
            .iter()
            .map(|error| format!("{}:{}: {error}", path.display(), error.line))
            .collect();
        CommandError::new(Exit::BadDocument, lines.join("\n"))
            .hint("--traffic accepts key,count lines, hit counters, and exports of stats_mysql_query_digest")
    })
}

fn emitted(opened: &Opened, built: &Built, emit: Emit) -> Result<String, CommandError> {
    let ours = || ownership(&opened.project.file, &built.compiled.lock);
    Ok(match emit {
        Emit::Sql => emit::sql_within(&built.configuration, &ours()?).map_err(not_emitted)?,
        Emit::Cnf => emit::cnf_within(&built.configuration, &ours()?).map_err(not_emitted)?,
        Emit::Json => emit::json(&built.configuration),
        Emit::Tree => tree::render(&built.compiled),
    })
}

fn not_emitted(error: EmitError) -> CommandError {
    let is_step = matches!(error, EmitError::NativeStep { .. });
    let failure = CommandError::new(Exit::BadDocument, error.to_string());
    if is_step {
        failure.hint("use --engine proxysql-2.7: steps of the bundled engine cannot be written as rows")
    } else {
        failure
    }
}

/// The file of `-o` holds what would be written.
fn check_output(args: &Compile, text: Option<&str>) -> Result<(), CommandError> {
    let (Some(path), Some(text)) = (&args.output, text) else {
        return Ok(());
    };
    let is_current = match std::fs::read(path) {
        Ok(found) => found == text.as_bytes(),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => false,
        Err(error) => return Err(unreadable(path, &error)),
    };
    if is_current {
        return Ok(());
    }
    let message = format!("{} is not up to date", path.display());
    Err(CommandError::new(Exit::Changes, message).hint("run the same command without --check"))
}

fn summary(stats: &Stats) -> String {
    format!(
        "compiled for {}: {} in {}, {}, {}",
        stats.engine,
        counted(stats.rules, "rule"),
        counted(stats.chains, "chain"),
        counted(stats.hostgroups, "hostgroup"),
        counted(stats.servers, "server")
    )
}

fn stats(stats: &Stats, ui: &Ui) -> Result<(), CommandError> {
    if ui.format() == Format::Json {
        return ui.json(stats);
    }
    let mut lines = vec![summary(stats)];
    if !stats.shard_maps.is_empty() {
        lines.push(format!(
            "{:<20}{:<14}{:>8}{:>8}{:>7}{:>12}{:>8}{:>12}{:>10}",
            "shard map", "layout", "keys", "rules", "depth", "mean evals", "worst", "mean visits", "cost ns"
        ));
    }
    for (name, map) in &stats.shard_maps {
        lines.push(figures(name, map));
        if let Some(exact) = map.exact_keys {
            lines.push(format!("  counted for {exact} keys, estimated for the others"));
        }
        if let Some(uniform) = map.uniform {
            lines.push(format!(
                "{:<57}{:>12.2}{:>20.2}{:>10.0}",
                "  all keys equally often",
                uniform.mean_evaluations,
                uniform.mean_visits,
                uniform.mean_cost_ns
            ));
        }
    }
    if !stats.shard_maps.is_empty() {
        let bytes = stats.text_bytes;
        lines.push(format!(
            "mean over keys, from the first rule to the decision; costs are for texts of {bytes} bytes"
        ));
    }
    ui.data(&(lines.join("\n") + "\n"))
}

fn figures(name: &str, map: &MapStats) -> String {
    format!(
        "{name:<20}{:<14}{:>8}{:>8}{:>7}{:>12.2}{:>8}{:>12.2}{:>10.0}",
        map.layout,
        map.keys,
        map.rules,
        map.depth,
        map.mean_evaluations,
        map.worst_evaluations,
        map.mean_visits,
        map.mean_cost_ns
    )
}
