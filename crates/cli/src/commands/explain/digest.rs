//! `explain digest:0x…`: the rules that are about one kind of statement.

use shardwright_compiler::tree;
use shardwright_rules::{Body, Rule};

use super::Asked;
use super::page::{Line, Page};
use crate::error::CommandError;

pub(super) fn find(asked: &Asked<'_>, hash: &str) -> Result<Page, CommandError> {
    let digits = hash
        .strip_prefix("0x")
        .or_else(|| hash.strip_prefix("0X"))
        .unwrap_or(hash);
    let digest = u64::from_str_radix(digits, 16).map_err(|_| {
        CommandError::usage(format!("{hash} is not a digest"))
            .hint("a digest is up to 16 hexadecimal digits, such as 0x4D7DCFF87DD1A927")
    })?;
    let rules: Vec<&Rule> = asked
        .built
        .configuration
        .graph
        .rules
        .iter()
        .filter(|rule| names(rule, digest))
        .collect();
    let lines = rules.iter().map(|rule| {
        let text = format!(
            "rule {}: {}",
            rule.id,
            tree::describe(&asked.built.compiled, rule)
        );
        Line::at(asked.opened, &rule.address, text)
    });
    let about = "the hash of a statement without its values, as stats_mysql_query_digest counts it";
    Ok(Page::new(format!("digest 0x{digest:016X}"), about).group_or(
        "rules for this digest only",
        lines,
        "none; rules with patterns may match it: shardwright route shows where a statement goes",
    ))
}

fn names(rule: &Rule, digest: u64) -> bool {
    match &rule.body {
        Body::Engine(engine) => engine.digest == Some(digest),
        Body::Native { scope, .. } => scope.digests.contains(&digest),
    }
}
