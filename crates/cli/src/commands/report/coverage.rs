//! What the route tests of the project come to, and what no test comes to.

use std::collections::BTreeMap;
use std::sync::Arc;

use shardwright_rules::Configuration;
use shardwright_simulation::route_tests::coverage::Part;

use crate::commands::test::{self, Covering};
use crate::page::{escaped, put};
use crate::rule_set::RuleSet;
use crate::ui::counted;

/// Objects that are listed with what of them is not covered; the rest are counted.
const MAX_OBJECTS: usize = 200;
/// Rules that one line names.
const MAX_RULES: usize = 12;

/// The body of the section; none where the rule set is no project, or has no tests for its engine.
pub(super) fn body(set: &RuleSet) -> Option<String> {
    let configuration: &Arc<Configuration> = &set.configuration;
    let Covering {
        coverage,
        cases,
        failed,
    } = test::covering(configuration, set.project()?)?;
    let mut out = String::from("<div class=\"tiles\">");
    for (name, share) in coverage.shares() {
        let percent = share.percent();
        let tone = if share.covered == share.total {
            "good"
        } else {
            "fair"
        };
        put(
            &mut out,
            &format!(
                "<div class=\"tile {tone}\"><b>{:.1} %</b><span>{name}: {} of {}</span>\
                 <div class=\"share\"><span style=\"width:{percent:.1}%\"></span></div></div>",
                (percent * 10.0).floor() / 10.0,
                share.covered,
                share.total
            ),
        );
    }
    let ended = match failed {
        0 => "all as expected".to_owned(),
        failed => format!("{failed} failed"),
    };
    put(
        &mut out,
        &format!(
            "</div>\n<p class=\"quiet\">{}, {ended}</p>\n",
            counted(cases, "case")
        ),
    );
    let mut missing: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for item in coverage.uncovered() {
        missing
            .entry(item.address.as_str())
            .or_default()
            .push(match &item.part {
                Part::Rule(0) => "row of fast routing".to_owned(),
                Part::Rule(id) => format!("rule {id}"),
                Part::Shard => "shard".to_owned(),
                Part::Branch(branch) => (*branch).to_owned(),
            });
    }
    out.push_str(&table(set, &missing));
    Some(out)
}

fn table(set: &RuleSet, missing: &BTreeMap<&str, Vec<String>>) -> String {
    if missing.is_empty() {
        return "<p class=\"empty\">The tests come to everything.</p>\n".to_owned();
    }
    let mut out = String::from(
        "<div class=\"wide\"><table class=\"sortable\"><thead><tr><th>no test comes to</th><th>of</th></tr></thead><tbody>\n",
    );
    for (address, parts) in missing.iter().take(MAX_OBJECTS) {
        let mut named = parts[..parts.len().min(MAX_RULES)].join(", ");
        if parts.len() > MAX_RULES {
            named += &format!(" and {} more", parts.len() - MAX_RULES);
        }
        put(
            &mut out,
            &format!(
                "<tr><td>{}</td><td class=\"quiet\">{}</td></tr>\n",
                escaped(&named),
                escaped(&set.named(&(*address).into()))
            ),
        );
    }
    out.push_str("</tbody></table></div>\n");
    if missing.len() > MAX_OBJECTS {
        put(
            &mut out,
            &format!(
                "<p class=\"quiet\">and {} more</p>\n",
                missing.len() - MAX_OBJECTS
            ),
        );
    }
    out
}
