//! Drift for people, for comments and for programs.

use std::collections::BTreeMap;

use shardwright_plan::Effect;
use shardwright_plan::render::{Line, Marker, inline, line_of, listing};
use shardwright_rules::EngineId;
use shardwright_targets::proxysql::{
    Cause, Drift, DriftReport, Drifted, LeftOut, Mover, ReadTarget, Side, TargetReport, UnreadTarget,
};

use super::fleet::{Fleet, Seen};
use crate::args::Format;
use crate::commit;
use crate::error::CommandError;
use crate::project::Opened;
use crate::ui::{Ui, counted, printable};

/// How much of a commit is shown.
const SHORT_COMMIT: usize = 8;

pub(super) fn print(seen: &[Seen], fleet: &Fleet, ui: &Ui) -> Result<(), CommandError> {
    match ui.format() {
        Format::Human => ui.data(&text(seen, &fleet.opened, ui)),
        Format::Markdown => ui.data(&markdown(seen, &fleet.opened)),
        Format::Json => ui.json(&value(seen, &fleet.opened)),
    }
}

/// Differences with one side, one cause and one layer, and their lines.
struct Group<'a> {
    side: Side,
    is_staged: bool,
    cause: Option<&'a Cause>,
    lines: Vec<Line>,
}

fn groups<'a>(drift: &'a Drift, opened: &Opened) -> Vec<Group<'a>> {
    let mut sorted: BTreeMap<(Side, bool, Option<&Cause>), Vec<Effect>> = BTreeMap::new();
    for one in &drift.differences {
        let key = (one.side, one.staged, one.cause.as_ref());
        sorted.entry(key).or_default().push(one.effect.clone());
    }
    let groups = sorted
        .into_iter()
        .map(|((side, is_staged, cause), effects)| Group {
            side,
            is_staged,
            cause,
            lines: listing(&effects, &|address| opened.placed_at(address)),
        });
    groups.collect()
}

impl Group<'_> {
    /// `live-ahead, in memory only: by hand`
    fn title(&self) -> String {
        let direction = match self.side {
            Side::LiveAhead => "",
            Side::RepoAhead => " (the files changed since the last apply)",
            Side::Both => " (live → files)",
            Side::Unknown => " (live → files; what the last apply left is not known)",
        };
        let staged = if self.is_staged { ", in memory only" } else { "" };
        let cause = self.cause.map_or(String::new(), |cause| format!(": {cause}"));
        printable(&format!("{}{staged}{direction}{cause}", self.side.words())).into_owned()
    }
}

/// `ProxySQL 2.7.1  shop generation 3, run 20261125-… by dba@host at 2026-11-25T15:30:12Z, commit 4be1c90a`
fn about(drift: &Drift, engine: EngineId) -> String {
    let engine = match engine {
        EngineId::Bundled => "bundled".to_owned(),
        _ => format!("ProxySQL {}", drift.version),
    };
    let project = drift
        .project
        .as_deref()
        .map_or(String::new(), |project| format!("{project} "));
    let mut about = format!("{engine}  {project}generation {}", drift.generation);
    if let Some(run) = &drift.run {
        about.push_str(&format!(", run {run}"));
    }
    if let Some(by) = &drift.applied.by {
        about.push_str(&format!(" by {by}"));
    }
    if let Some(at) = &drift.applied.at {
        about.push_str(&format!(" at {at}"));
    }
    if let Some(commit) = &drift.applied.commit {
        about.push_str(&format!(
            ", commit {}{}",
            commit.get(..SHORT_COMMIT).unwrap_or(commit),
            if drift.applied.is_uncommitted {
                " with uncommitted files"
            } else {
                ""
            }
        ));
    }
    printable(&about).into_owned()
}

/// `2 placements of servers are the monitor's, 1 a scheduler's`
fn left_out(left_out: &[LeftOut]) -> Option<String> {
    let of = |mover| left_out.iter().filter(|one| one.by == mover).count();
    let said = [
        (of(Mover::Monitor), "that the monitor decides"),
        (
            of(Mover::External),
            "that something else decides (roles_by: external)",
        ),
    ];
    let said: Vec<String> = said
        .into_iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, who)| format!("{} {who}", counted(count, "placement")))
        .collect();
    (!said.is_empty()).then(|| format!("left out: {}", said.join(", ")))
}

/// What is to be said of a target besides its differences, a line each.
fn besides(drift: &Drift) -> Vec<String> {
    let staged = drift.staged.iter().map(|staged| format!("not loaded: {staged}"));
    let beside = drift
        .beside
        .iter()
        .map(|beside| format!("beside the project: {beside}"));
    let not_compared = drift
        .not_compared
        .iter()
        .map(|what| format!("not compared: {what}"));
    drift
        .older
        .iter()
        .cloned()
        .chain(staged)
        .chain(beside)
        .chain(drift.unfinished.clone())
        .chain(left_out(&drift.left_out))
        .chain(not_compared)
        .collect()
}

/// What no look compares, and what this one could not.
fn not_looked_at(drift: &Drift) -> String {
    let mut said = String::new();
    if !drift.not_compared.is_empty() {
        said.push_str(" in what was compared");
    }
    if !drift.not_looked_at.is_empty() {
        said.push_str(&format!("; not looked at: {}", drift.not_looked_at.join(", ")));
    }
    said
}

fn text(seen: &[Seen], opened: &Opened, ui: &Ui) -> String {
    let mut out = String::new();
    let mut push = |line: String| {
        out.push_str(line.trim_end());
        out.push('\n');
    };
    for one in seen {
        let drift = match &one.drift {
            Ok(drift) => drift,
            Err(error) => {
                push(format!(
                    "{}  cannot be read: {}",
                    ui.strong(&one.target),
                    printable(&error.reason)
                ));
                continue;
            }
        };
        let none = match drift.is_any() {
            true => String::new(),
            false => format!("  no drift{}", not_looked_at(drift)),
        };
        push(format!(
            "{}  {}{none}",
            ui.strong(&one.target),
            about(drift, one.engine)
        ));
        for group in groups(drift, opened) {
            push(format!("  {}", group.title()));
            for line in &group.lines {
                push(format!(
                    "    {} {}  {}  {}",
                    line.sign,
                    line.subject,
                    line.what,
                    ui.faint(&line.origin)
                ));
            }
        }
        for line in besides(drift) {
            push(format!("  {}", printable(&line)));
        }
    }
    push(summary(seen));
    out
}

/// `3 differences on 1 of 3 targets; px-b7 cannot be read`. That there is no drift is only said of targets that were read.
fn summary(seen: &[Seen]) -> String {
    let differences: usize = seen
        .iter()
        .filter_map(|one| one.drift.as_ref().ok())
        .map(Drift::count)
        .sum();
    let drifted = seen.iter().filter(|one| one.is_any()).count();
    let unread: Vec<&str> = seen
        .iter()
        .filter(|one| one.drift.is_err())
        .map(|one| one.target.as_str())
        .collect();
    let read = seen.len() - unread.len();
    let mut said = match drifted {
        0 if read == 0 && !seen.is_empty() => "nothing was compared".to_owned(),
        0 if !unread.is_empty() => format!("no drift on {read} of {}", counted(seen.len(), "target")),
        0 => "no drift".to_owned(),
        _ if differences == 0 => format!("drift on {drifted} of {}", counted(seen.len(), "target")),
        _ => format!(
            "{} on {drifted} of {}",
            counted(differences, "difference"),
            counted(seen.len(), "target")
        ),
    };
    if !unread.is_empty() {
        said.push_str(&format!("; {} cannot be read", unread.join(", ")));
    }
    said
}

/// Drift that was seen is drift, whatever could not be read besides. That there is none is known if every target was read.
fn title(seen: &[Seen]) -> &'static str {
    if seen.iter().any(Seen::is_any) {
        "Drift"
    } else if seen.iter().any(|one| one.drift.is_err()) {
        "Drift is not known"
    } else {
        "No drift"
    }
}

/// The first line is the marker of an issue, the second says whether there is drift: `ci/drift` and `ci/issue` read them.
fn markdown(seen: &[Seen], opened: &Opened) -> String {
    let marker = Marker {
        subject: "drift",
        project: opened.project.file.project.as_deref(),
        directory: commit::place(&opened.directory).as_deref(),
        environment: opened.environment.as_deref(),
    }
    .to_string();
    let mut out = format!("{marker}\n### {}\n\n", title(seen));
    for one in seen {
        let about = match &one.drift {
            Ok(drift) => about(drift, one.engine),
            Err(error) => format!("cannot be read: {}", error.reason),
        };
        out.push_str(&format!("**{}** {}\n\n", inline(&one.target), inline(&about)));
        let Ok(drift) = &one.drift else { continue };
        if !drift.differences.is_empty() {
            out.push_str("| | object | difference | where | side |\n|---|---|---|---|---|\n");
        }
        for group in groups(drift, opened) {
            let title = inline(&group.title());
            for line in &group.lines {
                let cells = [&line.subject, &line.what, &line.origin].map(|cell| inline(cell));
                out.push_str(&format!("| {} | {} | {title} |\n", line.sign, cells.join(" | ")));
            }
        }
        let besides = besides(drift);
        if !drift.differences.is_empty() {
            out.push('\n');
        }
        for line in &besides {
            out.push_str(&format!("* {}\n", inline(line)));
        }
        if !besides.is_empty() {
            out.push('\n');
        }
    }
    out.push_str(&format!("{}\n", inline(&summary(seen))));
    out
}

/// In the shape of `schemas/drift.v1.json`.
fn value(seen: &[Seen], opened: &Opened) -> DriftReport {
    let targets = seen.iter().map(|one| match &one.drift {
        Err(error) => TargetReport::Unread(UnreadTarget {
            target: one.target.clone(),
            engine: one.engine.name().to_owned(),
            drift: None,
            unreachable: error.reason.clone(),
        }),
        Ok(drift) => {
            let read = ReadTarget::of(drift, one.engine.name(), |difference| said(difference, opened));
            TargetReport::Read(Box::new(read))
        }
    });
    DriftReport::of(targets.collect())
}

/// A difference in words, and its place in the files.
fn said(difference: &Drifted, opened: &Opened) -> (String, Option<String>) {
    let line = line_of(&difference.effect, &|address| opened.placed_at(address));
    (line.what, Some(line.origin).filter(|origin| !origin.is_empty()))
}
