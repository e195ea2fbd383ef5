//! Whether a rename leaves the meaning of a project as it is, in each of its environments.
//!
//! Names are found in the trees with the defaults of variables. An environment gives variables other values and lays patches over
//! objects, so that a name can be meant that no tree has. So the edited texts are read as each environment has them: they must
//! have no new error, and mean the same with the new name in place of the old one.

use std::collections::BTreeMap;

use serde_json::Value;
use shardwright_diagnostics::{Severity, Span};
use shardwright_topology::resolved::{self, Form, Part, Request};
use shardwright_topology::{ENVIRONMENT_DIRECTORY, Loaded};

use crate::lsp::analysis::Analysis;

/// A name and the one that takes its place.
#[derive(Clone, Copy)]
pub(super) struct Names<'n> {
    pub(super) old: &'n str,
    pub(super) new: &'n str,
}

/// Refuses edits after which an environment has another meaning. `edits`: spans with their new texts.
pub(super) fn check(
    analysis: &Analysis,
    names: Names<'_>,
    edits: &BTreeMap<Span, String>,
) -> Result<(), String> {
    let before = texts(analysis);
    let after = edited(analysis, before.clone(), edits);
    for environment in environments(analysis) {
        let environment = environment.as_deref();
        let [before, after] = [&before, &after].map(|texts| analysis.read_as(environment, texts));
        compare(&before, &after, names).map_err(|what| match environment {
            Some(environment) => format!("in environment {environment}, {what}"),
            None => what,
        })?;
    }
    Ok(())
}

/// The texts of all files, by their paths.
fn texts(analysis: &Analysis) -> BTreeMap<String, String> {
    let sources = &analysis.loaded.sources;
    let files = sources.files();
    files
        .map(|file| (sources.path(file).to_owned(), sources.text(file).to_owned()))
        .collect()
}

pub(super) fn edited(
    analysis: &Analysis,
    mut texts: BTreeMap<String, String>,
    edits: &BTreeMap<Span, String>,
) -> BTreeMap<String, String> {
    // From the end, so that the places of the others stay.
    for (span, new) in edits.iter().rev() {
        if let Some(text) = texts.get_mut(analysis.loaded.sources.path(span.file)) {
            text.replace_range(span.range(), new);
        }
    }
    texts
}

/// No environment, that of the session, and each that the project has a file for.
fn environments(analysis: &Analysis) -> Vec<Option<String>> {
    let loaded = &analysis.loaded;
    let of_files = loaded.sources.files().filter_map(|file| {
        let path = loaded.sources.path(file).strip_prefix(ENVIRONMENT_DIRECTORY)?;
        Some(path.strip_prefix('/')?.strip_suffix(".yaml")?.to_owned())
    });
    let listed = loaded
        .project
        .iter()
        .flat_map(|project| &project.file.environments);
    let mut names: Vec<Option<String>> = of_files
        .chain(listed.map(|entry| entry.name.to_string()))
        .map(Some)
        .chain([None, analysis.environment().map(str::to_owned)])
        .collect();
    names.sort_unstable();
    names.dedup();
    names
}

fn compare(before: &Loaded, after: &Loaded, names: Names<'_>) -> Result<(), String> {
    let errors = |loaded: &Loaded| {
        let mut counts: BTreeMap<&'static str, usize> = BTreeMap::new();
        for problem in loaded
            .problems
            .sorted()
            .into_iter()
            .filter(|problem| problem.severity == Severity::Error)
        {
            *counts.entry(problem.code.as_str()).or_default() += 1;
        }
        counts
    };
    let known = errors(before);
    let more = errors(after)
        .into_iter()
        .find(|(code, count)| known.get(code).is_none_or(|known| known < count));
    if let Some((code, _)) = more {
        let problems = after.problems.sorted();
        let problem = problems.into_iter().find(|problem| problem.code.as_str() == code);
        let problem = problem.map_or_else(String::new, |problem| {
            let place = problem
                .primary
                .as_ref()
                .map(|label| after.sources.display(label.span));
            let place = place.map_or_else(String::new, |place| format!(" at {place}"));
            format!(": {}{place}", problem.message)
        });
        return Err(format!("the renamed project has an error{problem}"));
    }
    if before.project.is_none() || after.project.is_none() {
        return Ok(());
    }
    for part in [Part::Topology, Part::Project] {
        let [before, after] = [before, after].map(|loaded| meaning(loaded, part));
        if let Some(address) = difference(&before?, &after?, names, &mut Vec::new()) {
            return Err(format!(
                "{address} would be another: its value is computed from `{}`",
                names.old
            ));
        }
    }
    Ok(())
}

/// The values of a project as they hold.
fn meaning(loaded: &Loaded, part: Part) -> Result<Value, String> {
    let request = Request {
        part,
        form: Form::Json,
        only: &[],
    };
    let mut text = Vec::new();
    resolved::write(&loaded.documents, &loaded.sources, request, &mut text)
        .map_err(|error| format!("the project cannot be shown: {error}"))?;
    let mut value: Value =
        serde_json::from_slice(&text).map_err(|error| format!("the project cannot be read back: {error}"))?;
    if let Some(all) = value.as_object_mut() {
        all.remove("origins");
    }
    Ok(value)
}

/// The address of the first value that is more than renamed.
fn difference(before: &Value, after: &Value, names: Names<'_>, path: &mut Vec<String>) -> Option<String> {
    match (before, after) {
        (Value::Object(before), Value::Object(after)) => {
            if before.len() != after.len() {
                return Some(path.join("."));
            }
            before.iter().find_map(|(key, value)| {
                let other = after.get(key).map(|other| (key, other)).or_else(|| {
                    let mut others = after.iter();
                    others.find(|(other, _)| !before.contains_key(*other) && is_renamed(key, other, names))
                });
                path.push(key.clone());
                let found = match other {
                    Some((_, other)) => difference(value, other, names, path),
                    None => Some(path.join(".")),
                };
                path.pop();
                found
            })
        }
        (Value::Array(before), Value::Array(after)) if before.len() == after.len() => before
            .iter()
            .zip(after)
            .find_map(|(before, after)| difference(before, after, names, path)),
        (Value::String(before), Value::String(after)) if is_renamed(before, after, names) => None,
        (before, after) => (before != after).then(|| path.join(".")),
    }
}

/// Whether a text is another one in which the old name gave way to the new one in some places.
fn is_renamed(before: &str, after: &str, names: Names<'_>) -> bool {
    if before == after {
        return true;
    }
    let Some(start) = before.find(names.old) else {
        return false;
    };
    if before[..start] != *after.get(..start).unwrap_or_default() || !after.is_char_boundary(start) {
        return false;
    }
    let (rest, other) = (&before[start..], &after[start..]);
    let goes_on = |length: usize, new: &str| {
        other
            .strip_prefix(new)
            .is_some_and(|other| is_renamed(&rest[length..], other, names))
    };
    let first = rest.chars().next().map_or(0, char::len_utf8);
    goes_on(names.old.len(), names.new) || goes_on(first, &rest[..first])
}
