//! The table of rules, which the page searches.

use std::collections::BTreeMap;

use shardwright_diagnostics::{Diagnostic, shortened};
use shardwright_rules::{Body, EngineRule, NamePattern, NativeStep, Rule};

use crate::page::{escaped, put, severity};
use crate::rule_set::RuleSet;

/// Rules that are shown: a browser searches them at once, and nobody reads more.
const MAX_RULES: usize = 5_000;
/// The longest text of a cell.
const MAX_CELL: usize = 240;

pub(super) fn table(set: &RuleSet, findings: &[&Diagnostic]) -> String {
    let rules = &set.configuration.graph.rules;
    let mut of_rule: BTreeMap<u32, Vec<&Diagnostic>> = BTreeMap::new();
    for finding in findings {
        for id in &finding.rule_ids {
            of_rule.entry(*id).or_default().push(finding);
        }
    }
    let mut out = String::from(
        "<div class=\"bar\"><input id=\"search\" type=\"search\" placeholder=\"Search rules: a table, a user, a hostgroup…\" \
         aria-label=\"Search rules\"><span id=\"count\" class=\"quiet\"></span></div>\n\
         <div class=\"wide\"><table id=\"rule-table\" class=\"sortable\"><thead><tr><th class=\"n\">rule</th><th class=\"n\">chain</th><th>matches</th>\
         <th>does</th><th>from</th><th>findings</th></tr></thead><tbody>\n",
    );
    for rule in rules.iter().take(MAX_RULES) {
        let summary = RuleSummary::of(rule);
        let badges: Vec<String> = of_rule
            .get(&rule.id)
            .into_iter()
            .flatten()
            .map(|finding| {
                let level = severity(finding.severity);
                format!(
                    "<span class=\"badge {level}\" title=\"{}\">{}</span>",
                    escaped(&finding.message),
                    finding.code
                )
            })
            .collect();
        put(
            &mut out,
            &format!(
                "<tr><td class=\"n\">{}</td><td class=\"n\">{}</td><td><code>{}</code></td><td>{}</td><td class=\"quiet\">{}</td><td>{}</td></tr>\n",
                rule.id,
                rule.flag_in,
                escaped(&shortened(&summary.matches, MAX_CELL)),
                escaped(&shortened(&summary.effects, MAX_CELL)),
                escaped(&set.named(&rule.address)),
                badges.join(" ")
            ),
        );
    }
    out.push_str("</tbody></table></div>\n");
    if rules.len() > MAX_RULES {
        put(
            &mut out,
            &format!(
                "<p class=\"quiet\">and {} more rules</p>\n",
                rules.len() - MAX_RULES
            ),
        );
    }
    out
}

/// What a rule matches, and what it does.
struct RuleSummary {
    matches: String,
    effects: String,
}

impl RuleSummary {
    fn of(rule: &Rule) -> Self {
        match &rule.body {
            Body::Engine(row) => Self {
                matches: conditions(row),
                effects: effects(row),
            },
            Body::Native { scope, step } => {
                let users = match scope.users.is_any() {
                    true => "every user".to_owned(),
                    false => {
                        let names: Vec<&str> = scope.users.any_of.iter().map(NamePattern::as_str).collect();
                        format!("users {}", names.join(", "))
                    }
                };
                let effects = match step {
                    NativeStep::Map(map) => format!(
                        "finds {} and selects one of {} shards of {}",
                        map.key,
                        map.shards.len(),
                        map.map
                    ),
                    NativeStep::Role(_) => "sends provable reads to readers".to_owned(),
                    NativeStep::Delay(delay) => format!("delays by {} ms", delay.delay_ms),
                    NativeStep::Throttle(throttle) => throttle.to_string(),
                    NativeStep::NoMultiplex => "keeps the connection for the session".to_owned(),
                    NativeStep::StopIfPlaced => "ends the evaluation of statements with a shard".to_owned(),
                };
                Self {
                    matches: users,
                    effects,
                }
            }
        }
    }
}

fn conditions(row: &EngineRule) -> String {
    let not = if row.negate_match_pattern { "not " } else { "" };
    let texts = [
        ("user ", &row.username),
        ("schema ", &row.schemaname),
        ("client ", &row.client_addr),
        ("listener ", &row.proxy_addr),
    ];
    let mut parts: Vec<String> = texts
        .into_iter()
        .filter_map(|(name, value)| {
            Some(format!(
                "{name}{}",
                value.as_deref().filter(|value| !value.is_empty())?
            ))
        })
        .collect();
    parts.extend(row.proxy_port.map(|port| format!("port {port}")));
    parts.extend(row.digest.map(|digest| format!("digest 0x{digest:016X}")));
    parts.extend(
        row.match_digest
            .as_ref()
            .map(|pattern| format!("digest {not}~ {pattern}")),
    );
    parts.extend(
        row.match_pattern
            .as_ref()
            .map(|pattern| format!("text {not}~ {pattern}")),
    );
    match parts.is_empty() {
        true => "everything".to_owned(),
        false => parts.join(" · "),
    }
}

fn effects(row: &EngineRule) -> String {
    let mut parts = Vec::new();
    parts.extend(row.destination_hostgroup.map(|id| format!("hostgroup {id}")));
    parts.extend(row.flag_out.map(|flag| format!("→ chain {flag}")));
    parts.extend(
        row.flag_outs
            .iter()
            .map(|choice| format!("→ chain {} ({})", choice.id, choice.weight)),
    );
    parts.extend(
        row.replace_pattern
            .as_ref()
            .map(|text| format!("rewrites to {text}")),
    );
    parts.extend(row.error_msg.as_ref().map(|text| format!("refuses: {text}")));
    parts.extend(row.ok_msg.as_ref().map(|text| format!("answers OK: {text}")));
    parts.extend(row.delay_ms.map(|ms| format!("delays by {ms} ms")));
    parts.extend(row.timeout_ms.map(|ms| format!("stops after {ms} ms")));
    parts.extend(row.cache_ttl_ms.map(|ms| format!("caches for {ms} ms")));
    parts.extend(
        row.mirror_hostgroup
            .map(|id| format!("mirrors to hostgroup {id}")),
    );
    parts.extend(
        row.next_query_flag_in
            .map(|flag| format!("next statements in chain {flag}")),
    );
    parts.extend(row.multiplex.map(|value| format!("multiplex {value}")));
    if row.apply {
        parts.push("ends".to_owned());
    }
    match parts.is_empty() {
        true => "nothing".to_owned(),
        false => parts.join(" · "),
    }
}
