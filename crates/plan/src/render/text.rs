//! A plan as a reviewer sees it in a terminal or a log.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use super::{Group, Line, View, cost, examples, groups, lines, no_changes, objects, safety, targets, value};
use crate::plan::short;
use crate::{Plan, RowKey, TargetPlan};

/// Widest columns of a listing; longer entries push what follows to the right.
const MAX_SUBJECT: usize = 44;
const MAX_WHAT: usize = 60;

/// The plan as text, with a line break at its end.
pub fn text(plan: &Plan, view: &View<'_>) -> String {
    let mut out = header(plan);
    out.push('\n');
    moves(&mut out, plan, view);
    if !plan.has_changes() {
        for line in no_changes(plan) {
            push_line(&mut out, &format!("  {line}"));
        }
        hazards(&mut out, plan);
        if let Some(targets) = targets(plan) {
            field(&mut out, "targets", &targets);
        }
        return out;
    }
    for line in routing(plan) {
        push_line(&mut out, &line);
    }
    let groups = groups(plan);
    for group in &groups {
        if groups.len() > 1 {
            push_line(&mut out, &format!("  on {}", names(group)));
        }
        if group.first().effects.is_empty() {
            push_line(&mut out, "  no changes");
        } else {
            target(&mut out, group.first(), view);
        }
    }
    hazards(&mut out, plan);
    if let Some(targets) = targets(plan) {
        field(&mut out, "targets", &targets);
    }
    field(&mut out, "safety", &safety(plan, view).join("; "));
    out
}

/// `plan 7f3a1c20  prod  14 targets  base 9c1e0a77  engines proxysql-2.7, bundled`
fn header(plan: &Plan) -> String {
    let mut parts = vec![format!("plan {}", plan.short_id())];
    parts.extend(plan.environment.as_deref().map(value::plain));
    parts.push(match plan.targets.as_slice() {
        [only] => value::plain(&only.name),
        several => format!("{} targets", several.len()),
    });
    let bases: BTreeSet<&str> = plan
        .targets
        .iter()
        .map(|target| short(&target.base.fingerprint))
        .collect();
    let bases: Vec<&str> = bases.into_iter().collect();
    parts.push(match bases.as_slice() {
        [] | [""] => "base empty".to_owned(),
        [base] => format!("base {base}"),
        several => format!("{} bases", several.len()),
    });
    let engines: BTreeSet<&str> = plan.targets.iter().map(|target| target.engine.name()).collect();
    let engines: Vec<&str> = engines.into_iter().collect();
    let noun = if engines.len() == 1 { "engine" } else { "engines" };
    parts.push(format!("{noun} {}", engines.join(", ")));
    parts.join("  ")
}

/// Shards that move stand before everything else: they are what takes time.
fn moves(out: &mut String, plan: &Plan, view: &View<'_>) {
    for line in super::moves(plan, view) {
        push_line(
            out,
            &format!(
                "  {} {}  moves {}  {}",
                line.sign, line.subject, line.what, line.origin
            ),
        );
    }
}

/// What routes differently stands first: `routing   2 statements go another way, for example`, and a line for each.
fn routing(plan: &Plan) -> Vec<String> {
    let Some(meaning) = &plan.meaning else {
        return Vec::new();
    };
    let summary = meaning.summary.as_ref().map(|summary| {
        let summary = value::plain(summary);
        format!("  {:<9} {summary}", "routing")
    });
    let examples = examples(meaning).into_iter();
    summary
        .into_iter()
        .chain(examples.map(|example| format!("    {example}")))
        .collect()
}

fn names(group: &Group<'_>) -> String {
    let names: Vec<String> = group.names().map(value::plain).collect();
    names.join(", ")
}

fn target(out: &mut String, target: &TargetPlan, view: &View<'_>) {
    let lines = lines(&target.effects, view);
    let subject_width = width(&lines, MAX_SUBJECT, |line| &line.subject);
    let what_width = width(&lines, MAX_WHAT, |line| &line.what);
    for line in &lines {
        let sign = match view.color {
            true => colored(line.sign),
            false => line.sign.to_string(),
        };
        let text = format!(
            "  {sign} {:subject_width$}  {:what_width$}  {}",
            line.subject, line.what, line.origin
        );
        push_line(out, &text);
    }
    if view.full {
        rows(out, target);
    }
    field(out, "objects", &objects(target));
    if let Some(cost) = cost(target) {
        field(out, "cost", &cost);
    }
}

/// Green for what comes, red for what goes, yellow for what changes.
fn colored(sign: char) -> String {
    let color = match sign {
        '+' => 32,
        '-' => 31,
        _ => 33,
    };
    format!("\u{1b}[{color}m{sign}\u{1b}[0m")
}

fn rows(out: &mut String, target: &TargetPlan) {
    for effect in &target.effects {
        for row in &effect.rows {
            let key = match &row.row {
                RowKey::Rule(id) => format!("rule {id}"),
                RowKey::FastRoute {
                    username,
                    schemaname,
                    flag_in,
                } => format!(
                    "fast route ({}, {}, {flag_in})",
                    value::plain(username),
                    value::plain(schemaname)
                ),
                RowKey::Row { table, key } => format!("{table} ({})", value::plain(&key.join(", "))),
            };
            let columns = super::changes(row.action, &row.old, &row.new).join(", ");
            let address = value::plain(&effect.address.short());
            push_line(
                out,
                &format!("    {} {key} of {address}: {columns}", row.action.sign()),
            );
        }
    }
}

fn hazards(out: &mut String, plan: &Plan) {
    for group in groups(plan) {
        let (shown, standing) = super::hazards::hazards(&group);
        for one in shown {
            let text = format!(
                "{}[{}] {}",
                one.hazard.severity,
                value::plain(&one.hazard.code),
                value::plain(&one.text)
            );
            field(out, "hazard", &text);
        }
        if let Some(standing) = standing {
            field(out, "hazards", &value::plain(&standing));
        }
    }
}

fn width(lines: &[Line], most: usize, column: impl Fn(&Line) -> &String) -> usize {
    let longest = lines.iter().map(|line| column(line).chars().count()).max();
    longest.unwrap_or(0).min(most)
}

fn field(out: &mut String, name: &str, text: &str) {
    push_line(out, &format!("  {name:<9} {text}"));
}

fn push_line(out: &mut String, line: &str) {
    writeln!(out, "{}", line.trim_end()).expect("writing to a String does not fail");
}
