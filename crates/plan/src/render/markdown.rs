//! A plan as a comment on a merge request.

use std::fmt;

use super::{Line, View, cost, examples, groups, lines, moves, no_changes, objects, safety, targets, value};
use crate::{Meaning, Plan, TargetPlan};

/// GitHub refuses comments over 65,536 characters. The tables take so many.
const MAX_CHARS: usize = 60_000;

/// The whole comment takes so many.
const MAX_COMMENT: usize = 65_000;

/// Listings with more lines are folded.
const MAX_OPEN: usize = 20;

/// The first line of a rendering: a bot finds the comment or the issue that it has to update by it. It stays the same for a project in
/// an environment: `<!-- shardwright:plan project=payments env=prod -->`. Projects of one repository differ in the directory, whether
/// they have names or not.
pub struct Marker<'a> {
    /// What is rendered: `plan`, `drift`.
    pub subject: &'static str,
    /// The name of the project.
    pub project: Option<&'a str>,
    /// Where the project is in its repository; `None` at the root, or where there is no repository.
    pub directory: Option<&'a str>,
    /// The environment of the project.
    pub environment: Option<&'a str>,
}

impl fmt::Display for Marker<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "<!-- shardwright:{}", self.subject)?;
        let parts = [
            ("project", self.project),
            ("directory", self.directory),
            ("env", self.environment),
        ];
        for (key, value) in parts {
            if let Some(value) = value {
                write!(f, " {key}={}", of_marker(value))?;
            }
        }
        f.write_str(" -->")
    }
}

/// A name or a path in letters that end no comment of HTML; every other byte is written as `%20`, so that two names never
/// become one.
fn of_marker(name: &str) -> String {
    let mut written = String::with_capacity(name.len());
    for byte in name.bytes() {
        if byte.is_ascii_alphanumeric() || b"_-./".contains(&byte) {
            written.push(char::from(byte));
        } else {
            written.push_str(&format!("%{byte:02X}"));
        }
    }
    written
}

fn marker(plan: &Plan, view: &View<'_>) -> String {
    let marker = Marker {
        subject: "plan",
        project: plan.targets.iter().find_map(|target| target.project.as_deref()),
        directory: view.directory,
        environment: plan.environment.as_deref(),
    };
    marker.to_string()
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
    let mut out = format!("{}\n### Plan `{}`", marker(plan, view), plan.short_id());
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
