//! The parts of `docs/clients.md` that are made from what was seen.

use std::collections::BTreeMap;
use std::fmt::Write;

use crate::exceptions::Exceptions;
use crate::observed::{Features, Observed, PREPARED};
use crate::programs::Program;

type All<'a> = [(&'a Program, Observed)];

/// The page with one of its made parts replaced.
pub(crate) fn refreshed(page: &str, part: &str, made: &str) -> String {
    let (begin, end) = (format!("<!-- {part} -->\n"), format!("<!-- end of {part} -->\n"));
    let (before, rest) = page
        .split_once(&begin)
        .expect("the page marks where its made part begins");
    let (_, after) = rest
        .split_once(&end)
        .expect("the page marks where its made part ends");
    format!("{before}{begin}{made}{end}{after}")
}

/// The clients, and how they differ.
pub(crate) fn summary(exceptions: &Exceptions, all: &All<'_>) -> String {
    clients(all, |_| "long mode") + &differences(exceptions, all)
}

/// The clients, what each has, and how they differ.
pub(crate) fn whole(features: &Features, exceptions: &Exceptions, all: &All<'_>) -> String {
    let made = [
        clients(all, |program| if program.fast { "always" } else { "long mode" }),
        matrix(
            "Calls",
            "call",
            features
                .calls
                .iter()
                .map(|(name, what)| (name.clone(), format!("{name}: {what}"))),
            exceptions,
            all,
        ),
        matrix("Statements", "statements", statements(features), exceptions, all),
        differences(exceptions, all),
    ];
    made.concat()
}

fn statements(features: &Features) -> impl Iterator<Item = (String, String)> + '_ {
    let both = |name: &String| [name.clone(), format!("{name}{PREPARED}")];
    features
        .statements
        .iter()
        .flat_map(both)
        .map(|name| (name.clone(), name))
}

/// One line for each client; `when` it runs.
fn clients(all: &All<'_>, when: impl Fn(&Program) -> &'static str) -> String {
    let mut out = String::from(
        "\n| column | client | run | features | the same | different |\n|---|---|---|---|---|---|\n",
    );
    for (program, observed) in all {
        let (features, different) = (observed.features.len(), observed.differences().count());
        let (short, client, same) = (program.short, &observed.client, features - different);
        let when = when(program);
        writeln!(
            out,
            "| {short} | {client} | {when} | {features} | {same} | {different} |"
        )
        .unwrap();
    }
    out
}

/// A line for each feature that some client has, a column for each client.
fn matrix(
    title: &str,
    what: &str,
    rows: impl Iterator<Item = (String, String)>,
    exceptions: &Exceptions,
    all: &All<'_>,
) -> String {
    let names: Vec<&str> = all.iter().map(|(program, _)| program.short).collect();
    let mut out = format!(
        "\n### {title}\n\n| {what} | {} |\n|---|{}\n",
        names.join(" | "),
        "---|".repeat(all.len())
    );
    for (name, meaning) in rows {
        let cell = |(program, observed): &(&Program, Observed)| match observed.feature(&name) {
            None => String::new(),
            Some(feature) if feature.proxied.is_none() => "=".to_owned(),
            Some(_) => exceptions
                .number(program.name, &name)
                .map_or("?".to_owned(), |number| format!("≠ {number}")),
        };
        let cells: Vec<String> = all.iter().map(cell).collect();
        if cells.iter().any(|cell| !cell.is_empty()) {
            writeln!(out, "| {meaning} | {} |", cells.join(" | ")).unwrap();
        }
    }
    out
}

/// The reasons, by number, with the features they are about.
fn differences(exceptions: &Exceptions, all: &All<'_>) -> String {
    let mut out = String::from("\n### Differences\n\n| | features | clients | reason |\n|---|---|---|---|\n");
    for (index, exception) in exceptions.0.iter().enumerate() {
        let mut found: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for (program, observed) in all {
            for feature in observed.differences() {
                if exceptions.number(program.name, &feature.name) == Some(index + 1) {
                    let clients = found
                        .entry(feature.name.strip_suffix(PREPARED).unwrap_or(&feature.name))
                        .or_default();
                    if clients.last() != Some(&program.short) {
                        clients.push(program.short);
                    }
                }
            }
        }
        let features: Vec<&str> = found.keys().copied().collect();
        let mut clients: Vec<&str> = found.into_values().flatten().collect();
        clients.sort_unstable();
        clients.dedup();
        let (features, clients) = (features.join("; "), clients.join(", "));
        writeln!(
            out,
            "| {} | {features} | {clients} | {} |",
            index + 1,
            exception.reason.replace('\n', " ")
        )
        .unwrap();
    }
    out
}
