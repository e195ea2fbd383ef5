//! A plan as a comment on a merge request.

use super::{Line, View, cost, examples, groups, lines, moves, no_changes, objects, safety, targets, value};
use crate::{Meaning, Plan, TargetPlan};

/// GitHub refuses comments over 65,536 characters. The tables take so many.
const MAX_CHARS: usize = 60_000;

/// The whole comment takes so many.
const MAX_COMMENT: usize = 65_000;

/// Listings with more lines are folded.
const MAX_OPEN: usize = 20;

/// The first line of every rendering: a bot finds the comment that it has to update by it. It stays the same for all plans of a
/// project in an environment: `<!-- shardwright:plan project=payments env=prod -->`, where there are both.
pub fn marker(plan: &Plan) -> String {
    let project = plan.targets.iter().find_map(|target| target.project.as_deref());
    let parts = [("project", project), ("env", plan.environment.as_deref())];
    let parts = parts.iter().filter_map(|(key, value)| {
        let name: String = (*value)?.chars().filter(|c| is_of_name(*c)).collect();
        Some(format!(" {key}={name}"))
    });
    format!("<!-- shardwright:plan{} -->", parts.collect::<String>())
}

/// Names of projects and environments are made of these, which end no comment of HTML.
fn is_of_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_' || c == '-'
}

/// The plan as Markdown; longer listings than a comment can hold are cut, and say so.
pub fn markdown(plan: &Plan, view: &View<'_>) -> String {
    bounded(unbounded(plan, view))
}

/// A text that a comment can hold. What is cut is counted in lines.
fn bounded(text: String) -> String {
    if text.chars().count() <= MAX_COMMENT {
        return text;
    }
    let mut shown = String::new();
    let (mut left, mut lines) = (MAX_COMMENT - 200, text.lines());
    for line in lines.by_ref() {
        let length = line.chars().count() + 1;
        if length > left {
            break;
        }
        left -= length;
        shown.push_str(line);
        shown.push('\n');
    }
    let is_open = shown.matches("<details>").count() > shown.matches("</details>").count();
    if is_open {
        shown.push_str("\n</details>\n");
    }
    shown.push_str(&format!(
        "\n{} more lines; see the plan file\n",
        lines.count() + 1
    ));
    shown
}

fn unbounded(plan: &Plan, view: &View<'_>) -> String {
    let mut out = format!("{}\n### Plan `{}`", marker(plan), plan.short_id());
    if let Some(environment) = &plan.environment {
        out.push_str(&format!(" for {}", inline(environment)));
    }
    out.push_str("\n\n");
    for line in moves(plan, view) {
        let parts = [&line.what, &line.origin].map(|part| inline(part));
        let examples = format!("* **{}** moves {}", inline(&line.subject), parts.join(" "));
        out.push_str(examples.trim_end());
        out.push('\n');
    }
    if !plan.moves.is_empty() {
        out.push('\n');
    }
    if !plan.has_changes() {
        for line in no_changes(plan) {
            out.push_str(&format!("{}\n", inline(&line)));
        }
        return out;
    }
    if let Some(meaning) = &plan.meaning {
        routing(&mut out, meaning);
    }
    for group in groups(plan) {
        let names: Vec<String> = group.names().map(inline).collect();
        out.push_str(&format!("**{}**\n\n", names.join(", ")));
        if group.first().effects.is_empty() {
            out.push_str("no changes\n\n");
            continue;
        }
        listing(&mut out, group.first(), view);
        out.push_str(&format!("* objects: {}\n", objects(group.first())));
        if let Some(cost) = cost(group.first()) {
            out.push_str(&format!("* cost: {cost}\n"));
        }
        let (shown, standing) = super::hazards::hazards(&group);
        for one in shown {
            out.push_str(&format!(
                "* **{}** `{}` {}\n",
                one.hazard.severity,
                code(&one.hazard.code),
                inline(&one.text)
            ));
        }
        if let Some(standing) = standing {
            out.push_str(&format!("* {}\n", inline(&standing)));
        }
        out.push('\n');
    }
    if let Some(targets) = targets(plan) {
        out.push_str(&format!("* targets: {}\n", inline(&targets)));
    }
    for part in safety(plan, view) {
        out.push_str(&format!("* {}\n", inline(&part)));
    }
    out
}

/// What routes differently, before everything else.
fn routing(out: &mut String, meaning: &Meaning) {
    if let Some(summary) = &meaning.summary {
        out.push_str(&format!("**routing** {}\n\n", inline(summary)));
    }
    let examples = examples(meaning);
    for example in &examples {
        out.push_str(&format!("* {}\n", inline(example)));
    }
    if !examples.is_empty() {
        out.push('\n');
    }
}

fn listing(out: &mut String, target: &TargetPlan, view: &View<'_>) {
    let lines = lines(&target.effects, view);
    let folded = lines.len() > MAX_OPEN;
    if folded {
        out.push_str(&format!(
            "<details><summary>{} objects</summary>\n\n",
            target.effects.len()
        ));
    }
    out.push_str("| | object | change | where |\n|---|---|---|---|\n");
    let mut left = MAX_CHARS.saturating_sub(out.chars().count());
    for (shown, line) in lines.iter().enumerate() {
        let row = table_row(line);
        let length = row.chars().count();
        if length > left {
            out.push_str(&format!(
                "\n{} more lines; see the plan file\n",
                lines.len() - shown
            ));
            break;
        }
        left -= length;
        out.push_str(&row);
    }
    out.push('\n');
    if folded {
        out.push_str("</details>\n\n");
    }
}

fn table_row(line: &Line) -> String {
    let subject = inline(&line.subject);
    format!(
        "| {} | {subject} | {} | {} |\n",
        line.sign,
        inline(&line.what),
        inline(&line.origin)
    )
}

/// Text that Markdown and HTML leave as it is, also in a table.
pub fn inline(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for c in value::plain(text).chars() {
        match c {
            '<' => shown.push_str("&lt;"),
            '>' => shown.push_str("&gt;"),
            '&' => shown.push_str("&amp;"),
            '\\' | '`' | '*' | '_' | '[' | ']' | '|' | '#' | '~' | '!' | '@' => {
                shown.push('\\');
                shown.push(c);
            }
            c => shown.push(c),
        }
    }
    shown
}

fn code(text: &str) -> String {
    value::plain(text).replace('`', "'")
}
