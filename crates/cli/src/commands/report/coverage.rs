//! What the route tests of the project cover, and what they do not.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use shardwright_rules::Configuration;
use shardwright_simulation::route_tests::coverage::Part;

use crate::commands::test::{self, Covering};
use crate::page::{escaped, put};
use crate::rule_set::RuleSet;
use crate::ui::counted;

/// Objects that are listed with what of them is not covered; the rest are counted.
const MAX_OBJECTS: usize = 200;
/// Shards or rules that one line names.
const MAX_NAMED: usize = 12;

/// The body of the section; none if the rule set is not a project, or has no tests for its engine.
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
    let mut missing: BTreeMap<&str, Missing<'_>> = BTreeMap::new();
    for item in coverage.uncovered() {
        let (object, shard) = item.address.as_str().split_once(".shards.").unzip();
        let missing = missing
            .entry(object.unwrap_or(item.address.as_str()))
            .or_default();
        // Rules of a shard are named by their shard, which is what a reader knows.
        match (&item.part, shard) {
            (Part::Shard, shard) => missing.shards.extend(shard),
            (_, Some(shard)) => missing.parts_of.extend([shard]),
            (Part::Rule(0), None) => missing.others.push("a row of fast routing".to_owned()),
            (Part::Rule(id), None) => missing.rules.push(id.to_string()),
            (Part::Branch(branch), None) => missing.others.push((*branch).to_owned()),
        }
    }
    out.push_str(&table(set, &missing));
    Some(out)
}

/// What no test reaches of one object.
#[derive(Default)]
struct Missing<'c> {
    shards: BTreeSet<&'c str>,
    /// Shards of which some rule is not reached.
    parts_of: BTreeSet<&'c str>,
    rules: Vec<String>,
    others: Vec<String>,
}

impl Missing<'_> {
    /// `3 shards: t001, t002, t003; parts of shard t004; rule 104`
    fn in_words(&self) -> String {
        let shards: Vec<&str> = self.shards.iter().copied().collect();
        let rules: Vec<&str> = self.rules.iter().map(String::as_str).collect();
        let parts_of: Vec<&str> = self.parts_of.difference(&self.shards).copied().collect();
        let lists = [
            ("", "shard", shards),
            ("parts of ", "shard", parts_of),
            ("", "rule", rules),
        ];
        let listed = lists
            .iter()
            .filter_map(|(what, noun, names)| match names.as_slice() {
                [] => None,
                [one] => Some(format!("{what}{noun} {one}")),
                names => {
                    let shown = names[..names.len().min(MAX_NAMED)].join(", ");
                    let more = match names.len().saturating_sub(MAX_NAMED) {
                        0 => String::new(),
                        more => format!(" and {more} more"),
                    };
                    Some(format!("{what}{}: {shown}{more}", counted(names.len(), noun)))
                }
            });
        listed
            .chain(self.others.iter().cloned())
            .collect::<Vec<_>>()
            .join("; ")
    }
}

fn table(set: &RuleSet, missing: &BTreeMap<&str, Missing<'_>>) -> String {
    if missing.is_empty() {
        return "<p class=\"empty\">The tests reach everything.</p>\n".to_owned();
    }
    let mut out = String::from(
        "<div class=\"wide\"><table class=\"sortable\"><thead><tr><th>not reached by a test</th><th>of</th></tr></thead><tbody>\n",
    );
    for (address, parts) in missing.iter().take(MAX_OBJECTS) {
        put(
            &mut out,
            &format!(
                "<tr><td>{}</td><td class=\"quiet\">{}</td></tr>\n",
                escaped(&parts.in_words()),
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
