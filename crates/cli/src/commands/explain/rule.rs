//! `explain rule:N`: what it tests and does, and how statements get to it.

use shardwright_compiler::tree;
use shardwright_diagnostics::did_you_mean;
use shardwright_rules::{Address, Body, Rule};

use super::Asked;
use super::page::{Line, Page};
use crate::error::CommandError;
use crate::former_rules;

/// Numbers of an object's rules that are shown.
const MOST_RULES: usize = 8;

pub(super) fn find(asked: &Asked<'_>, number: &str) -> Result<Page, CommandError> {
    let rules = &asked.built.configuration.graph.rules;
    let wanted: Option<u32> = number.parse().ok();
    let Some(rule) = rules.iter().find(|rule| Some(rule.id) == wanted) else {
        let former = wanted.and_then(|number| former(asked, number));
        return former.ok_or_else(|| unknown(number, rules));
    };
    let compiled = &asked.built.compiled;
    let chain: Vec<&Rule> = rules
        .iter()
        .filter(|other| other.flag_in == rule.flag_in)
        .collect();
    let place = chain
        .iter()
        .position(|other| other.id == rule.id)
        .unwrap_or_default()
        + 1;
    let about = format!(
        "number {place} of {} in {}",
        chain.len(),
        chain_name(asked, rule.flag_in)
    );
    let into = rules
        .iter()
        .filter(|other| leads_to(other).contains(&rule.flag_in))
        .map(|other| {
            let text = format!("rule {}: {}", other.id, tree::describe(compiled, other));
            Line::at(asked.opened, &other.address, text)
        });
    let into = into.take_while(|_| rule.flag_in != 0);
    let on = leads_to(rule).into_iter().map(|flag| {
        let count = rules.iter().filter(|other| other.flag_in == flag).count();
        Line::text(format!("{}: {count} rules", chain_name(asked, flag)))
    });
    Ok(Page::new(format!("rule {}", rule.id), about)
        .at(asked.opened, &rule.address)
        .group("what it decides", rule.summary.iter().cloned().map(Line::text))
        .group("what it does", [Line::text(tree::describe(compiled, rule))])
        .group("statements come from", into)
        .group("then evaluated in", on))
}

/// A rule that was there when the project was imported, and is an object now.
fn former(asked: &Asked<'_>, number: u32) -> Option<Page> {
    let objects = former_rules::objects(&asked.built.compiled.lock, number);
    if objects.is_empty() {
        return None;
    }
    let compiled = &asked.built.compiled;
    let rules = |address: &Address| match compiled.explain(address.as_str()) {
        Some(found) if !found.rules.is_empty() => {
            let ids = found
                .rules
                .iter()
                .map(|rule| rule.id.to_string())
                .take(MOST_RULES);
            format!("{address}: rules {}", ids.collect::<Vec<_>>().join(", "))
        }
        Some(_) => address.to_string(),
        None => format!("{address}, which the project does not have any more"),
    };
    let lines = objects.into_iter().map(|address| {
        let address = Address::new(address);
        Line::at(asked.opened, &address, rules(&address))
    });
    let about = "the number that it had where the project was imported from";
    Some(Page::new(format!("rule {number}"), about).group("what it became", lines))
}

fn chain_name(asked: &Asked<'_>, flag: u32) -> String {
    match asked.built.compiled.chains.get(&flag) {
        Some(name) => format!("chain {flag} ({name})"),
        None => format!("chain {flag}"),
    }
}

/// The chains that a rule jumps to.
fn leads_to(rule: &Rule) -> Vec<u32> {
    match &rule.body {
        Body::Engine(row) => row.jumps().collect(),
        Body::Native { .. } => Vec::new(),
    }
}

fn unknown(number: &str, rules: &[Rule]) -> CommandError {
    let known: Vec<String> = rules.iter().map(|rule| rule.id.to_string()).collect();
    let error = CommandError::usage(format!("there is no rule {number}"));
    match (
        did_you_mean(number, known.iter().map(String::as_str)),
        known.as_slice(),
    ) {
        (Some(near), _) => error.hint(format!("did you mean {near}?")),
        (None, [first, .., last]) => error.hint(format!(
            "rules {first} to {last}; shardwright compile --emit tree shows them all"
        )),
        (None, [only]) => error.hint(format!("the only rule is {only}")),
        (None, []) => error.hint("the configuration has no rules"),
    }
}
