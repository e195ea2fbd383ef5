//! `explain`: what a code, name or number means, and where it comes from.

mod address;
mod digest;
mod error;
mod hostgroup;
mod live;
mod page;
mod rule;
mod server;
mod user;

use shardwright_diagnostics::did_you_mean;
use shardwright_rules::EngineId;

use crate::args::{Explain, Format, Global};
use crate::codes;
use crate::error::CommandError;
use crate::exit::Exit;
use crate::project::{self, Built, Opened};
use crate::ui::Ui;

/// The word before the colon.
const KINDS: [&str; 5] = ["hostgroup", "rule", "server", "digest", "error"];

pub(crate) fn run(args: &Explain, global: &Global, ui: &Ui) -> Result<Exit, CommandError> {
    let is_live = |kind: &str| ["hostgroup", "rule", "server"].contains(&kind);
    let kind = args.what.split_once(':').map(|(kind, _)| kind);
    if args.target.is_some() && !kind.is_some_and(is_live) {
        return Err(
            CommandError::usage(format!("--target cannot tell anything about {}", args.what))
                .hint("it is for hostgroup:, rule: and server:"),
        );
    }
    if is_code(&args.what) {
        return code(&args.what, ui);
    }
    match args.what.split_once(':') {
        Some(("error", number)) => error::run(number, ui),
        Some(("hostgroup", number)) => ask(args, global, ui, |project| hostgroup::find(project, number)),
        Some(("rule", number)) => ask(args, global, ui, |project| rule::find(project, number)),
        Some(("server", name)) => ask(args, global, ui, |project| server::find(project, name)),
        Some(("digest", hash)) => ask(args, global, ui, |project| digest::find(project, hash)),
        Some((kind, _)) if kind.bytes().all(|byte| byte.is_ascii_alphabetic()) => Err(unknown_kind(kind)),
        _ => address::run(args, global, ui),
    }
}

fn unknown_kind(kind: &str) -> CommandError {
    let error = CommandError::usage(format!("cannot explain {kind}:"));
    match did_you_mean(kind, KINDS) {
        Some(near) => error.hint(format!("did you mean {near}:?")),
        None => error.hint(format!(
            "kinds: {}",
            KINDS.map(|kind| format!("{kind}:")).join(", ")
        )),
    }
}

pub(super) fn is_code(what: &str) -> bool {
    let digits = what.strip_prefix("SW").or_else(|| what.strip_prefix("sw"));
    digits.is_some_and(|digits| digits.len() == 3 && digits.bytes().all(|byte| byte.is_ascii_digit()))
}

fn code(what: &str, ui: &Ui) -> Result<Exit, CommandError> {
    let pages = codes::pages();
    let wanted = what.to_ascii_uppercase();
    let Some(page) = pages.iter().find(|page| page.code.as_str() == wanted) else {
        let near = did_you_mean(&wanted, pages.iter().map(|page| page.code.as_str()));
        let error = CommandError::usage(format!("there is no code {what}"));
        return Err(match near {
            Some(near) => error.hint(format!("did you mean {near}?")),
            None => error,
        });
    };
    if ui.format() == Format::Json {
        ui.json(&serde_json::json!({"code": page.code.as_str(), "title": page.title, "page": page.page}))?;
    } else {
        ui.data(&format!(
            "{}: {}\n\n{}",
            ui.strong(page.code.as_str()),
            page.title,
            page.page
        ))?;
    }
    Ok(Exit::Done)
}

/// A project compiled for one engine, to be asked.
struct Asked<'a> {
    opened: &'a Opened,
    built: &'a Built,
}

/// Asks the configuration of each engine in turn; those of `--engine`, or every one that the project lists. The last
/// answer that nothing is found counts where none finds anything.
fn ask(
    args: &Explain,
    global: &Global,
    ui: &Ui,
    find: impl Fn(&Asked<'_>) -> Result<page::Page, CommandError>,
) -> Result<Exit, CommandError> {
    let opened = project::open(global, ui)?;
    let mut running = args
        .target
        .as_deref()
        .map(|target| live::read(&opened, target))
        .transpose()?;
    let engines: Vec<EngineId> = match (&args.engine, &running) {
        (Some(name), _) => vec![project::engine(name)?],
        (None, Some(running)) => vec![running.engine()],
        (None, None) => opened.engines().collect(),
    };
    let mut missing = None;
    for engine in engines {
        let built = opened.build_to_ask(engine, ui)?;
        let asked = Asked {
            opened: &opened,
            built: &built,
        };
        let found = match &mut running {
            Some(running) => running.page(&args.what, find(&asked), &asked, global),
            None => find(&asked),
        };
        match found {
            Ok(page) => return page.on(engine).show(ui),
            Err(error) => missing = Some(error),
        }
    }
    Err(missing.unwrap_or_else(|| CommandError::new(Exit::BadProject, "shardwright.yaml lists no engine")))
}
