//! `traffic diff`: what of recorded traffic another rule set would send elsewhere.

use std::collections::BTreeSet;

use serde::Serialize;
use shardwright_compiler::catalogue;
use shardwright_rules::{PatternKind, RegexEngine};
use shardwright_simulation::traffic::{
    Assumed, Comparison, Destination, Guard, Moves, StatementGroup, Unread,
};

use crate::args::{Format, Global, Traffic, TrafficWhat};
use crate::error::CommandError;
use crate::exit::Exit;
use crate::project;
use crate::recorded;
use crate::rule_set::{self, Reference, RuleSet};
use crate::ui::Ui;

/// Lines of each sort that are shown.
const MOST_SHOWN: usize = 20;
/// The longest text of an example.
const MAX_EXAMPLE: usize = 160;

pub(crate) fn run(args: &Traffic, global: &Global, ui: &Ui) -> Result<Exit, CommandError> {
    let TrafficWhat::Diff(args) = &args.what;
    let engine = args.engine.as_deref().map(project::engine).transpose()?;
    let references = [&args.a, &args.b].map(|text| Reference::parse(text));
    let engine = engine.or(rule_set::common_engine(&[&references[0], &references[1]]));
    let left = rule_set::open(&args.a, engine, global, ui)?;
    let right = rule_set::open(&args.b, engine, global, ui)?;
    if let Some(user) = &args.user {
        known_user(user, [&left, &right])?;
    }
    let assumed = Assumed {
        user: args.user.clone().or_else(|| only_user(&left, &right)),
        schema: args.schema.clone(),
        guards: guards(),
    };
    let mut comparison = Comparison::new(left.configuration.clone(), right.configuration.clone(), assumed);
    let mut unread = Unread::default();
    let mut logs = Vec::new();
    for log in &args.log {
        let read = recorded::read(log, args.log_format, ui, |record| comparison.add(record))?;
        unread.lines += read.unread.lines;
        unread.too_long += read.unread.too_long;
        logs.push(Log {
            file: log.display().to_string(),
            format: read.format,
            records: read.records,
        });
    }
    let moves = comparison.into_moves();
    let report = TrafficReport::new(&moves, unread, logs, &left, &right);
    if ui.format() == Format::Json {
        ui.json(&report)?;
    } else {
        ui.data(&report.to_text(&left, &right, ui))?;
    }
    Ok(exit(&moves))
}

/// Nothing that is decided moves; if nothing is decided at all, that says nothing.
fn exit(moves: &Moves) -> Exit {
    if moves.moved_statements() + moves.altered.statements > 0 {
        Exit::Changes
    } else if moves.same == 0 && moves.undecided_statements() > 0 {
        Exit::Undecided
    } else {
        Exit::Done
    }
}

/// Refuses a `--user` that neither side has: every statement would be undecided.
fn known_user(user: &str, sides: [&RuleSet; 2]) -> Result<(), CommandError> {
    let has =
        |side: &&RuleSet| side.configuration.users.is_empty() || side.configuration.user(user).is_some();
    if sides.iter().any(has) {
        return Ok(());
    }
    let users = sides.iter().flat_map(|side| &side.configuration.users);
    let known: BTreeSet<&str> = users.map(|user| user.name.as_str()).collect();
    let known: Vec<&str> = known.into_iter().collect();
    Err(CommandError::usage(format!(
        "--user: neither {} nor {} has the user {user}",
        sides[0].name, sides[1].name
    ))
    .hint(format!("users: {}", known.join(", "))))
}

/// The conditions of the rules in front of all others that refuse a statement for how it is written.
fn guards() -> Vec<Guard> {
    let written = [RegexEngine::Pcre, RegexEngine::Re2]
        .into_iter()
        .flat_map(catalogue);
    written
        .filter_map(|pattern| {
            let is_negated = match pattern.kind {
                PatternKind::Complete => true,
                PatternKind::Annotations => false,
                _ => return None,
            };
            Some(Guard {
                pattern: pattern.rule.match_pattern?,
                is_negated,
            })
        })
        .collect()
}

/// The user of a log without users, if there is only one.
fn only_user(left: &RuleSet, right: &RuleSet) -> Option<String> {
    match (
        left.configuration.users.as_slice(),
        right.configuration.users.as_slice(),
    ) {
        ([a], [b]) if a.name == b.name => Some(a.name.clone()),
        ([], []) => Some(String::new()),
        _ => None,
    }
}

/// A log, with its detected format.
#[derive(Serialize)]
struct Log {
    file: String,
    format: &'static str,
    records: u64,
}

/// `traffic diff --format json`; keys are only ever added.
#[derive(Serialize)]
struct TrafficReport {
    logs: Vec<Log>,
    statements: u64,
    same: u64,
    altered: Option<Part>,
    moved: Vec<Move>,
    undecided: Vec<Reason>,
    unread_lines: u64,
    too_long: u64,
}

#[derive(Serialize)]
struct Part {
    statements: u64,
    user: String,
    example: String,
}

#[derive(Serialize)]
struct Move {
    from: String,
    to: String,
    #[serde(flatten)]
    part: Part,
}

#[derive(Serialize)]
struct Reason {
    why: String,
    #[serde(flatten)]
    part: Part,
}

impl Part {
    fn of(group: &StatementGroup) -> Self {
        Self {
            statements: group.statements,
            user: group.user.clone(),
            example: String::from_utf8_lossy(&group.example).into_owned(),
        }
    }

    fn line(&self, of: u64, what: &str, ui: &Ui) -> [String; 2] {
        let text: String = self
            .example
            .chars()
            .take(MAX_EXAMPLE)
            .map(|c| if c.is_control() { ' ' } else { c })
            .collect();
        [
            format!(
                "  {:>8} {:>14}  {what}",
                percent(self.statements, of),
                self.statements
            ),
            ui.faint(&format!("{:27}e.g. user={}  {text}", "", self.user)),
        ]
    }
}

impl TrafficReport {
    fn new(moves: &Moves, unread: Unread, logs: Vec<Log>, left: &RuleSet, right: &RuleSet) -> Self {
        let name = |destination: &Destination, set: &RuleSet| destination.name(&set.configuration);
        let mut moved: Vec<Move> = moves
            .moved
            .iter()
            .map(|((from, to), group)| Move {
                from: name(from, left),
                to: name(to, right),
                part: Part::of(group),
            })
            .collect();
        moved.sort_by_key(|one| std::cmp::Reverse(one.part.statements));
        let mut undecided: Vec<Reason> = moves
            .undecided
            .iter()
            .map(|(why, group)| Reason {
                why: why.clone(),
                part: Part::of(group),
            })
            .collect();
        undecided.sort_by_key(|one| std::cmp::Reverse(one.part.statements));
        Self {
            logs,
            statements: moves.statements,
            same: moves.same,
            altered: (moves.altered.statements > 0).then(|| Part::of(&moves.altered)),
            moved,
            undecided,
            unread_lines: unread.lines,
            too_long: unread.too_long,
        }
    }

    fn to_text(&self, left: &RuleSet, right: &RuleSet, ui: &Ui) -> String {
        let all = self.statements;
        let moved: u64 = self.moved.iter().map(|one| one.part.statements).sum();
        let undecided: u64 = self.undecided.iter().map(|one| one.part.statements).sum();
        let mut lines = vec![format!(
            "{} {all} statements, {} → {}: {} go the same way, {} move, {} undecided",
            ui.strong("traffic"),
            left.name,
            right.name,
            percent(self.same, all),
            percent(moved, all),
            percent(undecided, all)
        )];
        section(&mut lines, "moves", self.moved.len(), ui);
        for one in self.moved.iter().take(MOST_SHOWN) {
            lines.extend(one.part.line(all, &format!("{} → {}", one.from, one.to), ui));
        }
        if let Some(part) = &self.altered {
            section(&mut lines, "same destination, sent differently", 1, ui);
            lines.extend(part.line(all, "another text, schema or effect", ui));
        }
        section(&mut lines, "undecided", self.undecided.len(), ui);
        for one in self.undecided.iter().take(MOST_SHOWN) {
            lines.extend(one.part.line(all, &one.why, ui));
        }
        if self.unread_lines + self.too_long > 0 {
            lines.push(format!(
                "not read: {} lines that do not fit the format, {} statements that are too long",
                self.unread_lines, self.too_long
            ));
        }
        lines.join("\n") + "\n"
    }
}

fn section(lines: &mut Vec<String>, name: &str, count: usize, ui: &Ui) {
    if count > MOST_SHOWN {
        lines.push(ui.strong(&format!("{name} (the first {MOST_SHOWN} of {count})")));
    } else if count > 0 {
        lines.push(ui.strong(name));
    }
}

/// `0.41 %`
fn percent(part: u64, of: u64) -> String {
    if of == 0 {
        return "0 %".to_owned();
    }
    let share = part as f64 * 100.0 / of as f64;
    match share {
        share if share == 0.0 || share == 100.0 => format!("{share:.0} %"),
        share if share < 1.0 => format!("{share:.2} %"),
        share => format!("{share:.1} %"),
    }
}
