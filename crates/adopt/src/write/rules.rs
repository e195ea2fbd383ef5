//! `query_rules`: rows in the engine's own columns, with clusters in the place of numbers.

use shardwright_rules::tables::{RULE_COLUMNS, Value, digest_text};
use shardwright_rules::{FastRoute, FlagOutChoice, HostgroupId, Refuser, RefusingHostgroup, Words};

use super::destination;
use crate::draft::{Draft, RuleDraft};
use crate::yaml::{Field, Yaml};

/// What the blocks of imported rules are called: in front of everything else, behind a route, and behind everything.
const FIRST: &str = "imported";
const BEHIND_ROUTE: &str = "imported_behind_";
const LAST: &str = "imported_last";

pub(super) fn sections(draft: &Draft) -> Vec<Field> {
    let behind = draft.behind.unwrap_or(u32::MAX);
    let at = draft.rules.partition_point(|rule| rule.id < behind);
    let (others, last) = draft.rules.split_at(at);
    let first_route = draft.among.keys().next().copied().unwrap_or(u32::MAX);
    let (first, among) = others.split_at(others.partition_point(|rule| rule.id < first_route));
    let mut blocks = Vec::new();
    if !first.is_empty() || !draft.routes.is_empty() || !draft.refusing.is_empty() {
        let rules = first.iter().map(|rule| self::rule(draft, rule, true));
        let mut block = vec![Field::new("rules", Yaml::List(rules.collect()))];
        if !draft.routes.is_empty() {
            let routes = draft.routes.iter().map(|route| self::route(draft, route));
            block.push(Field::new("fast_routing", Yaml::List(routes.collect())));
        }
        if !draft.refusing.is_empty() {
            let refusing = draft.refusing.iter().map(refusing);
            block.push(Field::new("refusing", Yaml::List(refusing.collect())));
        }
        blocks.push(Field::new(FIRST, Yaml::Block(block)));
    }
    let route_before = |rule: &RuleDraft| draft.among.range(..rule.id).next_back().map(|(_, name)| name);
    for rules in among.chunk_by(|a, b| route_before(a) == route_before(b)) {
        let name = route_before(&rules[0]).expect("the first route stands in front of them");
        let at = Yaml::map([("after", Some(Yaml::text(format!("routes.{name}"))))]);
        let mut block = unnumbered(draft, at, rules);
        if draft.behind_effects {
            block.insert(1, Field::new("behind_effects", Yaml::word("true")));
        }
        blocks.push(Field::new(format!("{BEHIND_ROUTE}{name}"), Yaml::Block(block)));
    }
    if !last.is_empty() {
        let block = unnumbered(draft, Yaml::word("after_all"), last);
        blocks.push(Field::new(LAST, Yaml::Block(block)));
    }
    vec![Field::new("query_rules", Yaml::Block(blocks))]
}

/// A block behind something that is compiled. Its rules get new numbers: theirs are below those in front of them.
fn unnumbered(draft: &Draft, at: Yaml, rules: &[RuleDraft]) -> Vec<Field> {
    let rules = rules.iter().map(|rule| self::rule(draft, rule, false));
    vec![
        Field::new("at", at),
        Field::new("rules", Yaml::List(rules.collect())),
    ]
}

fn rule(draft: &Draft, rule: &RuleDraft, is_numbered: bool) -> Yaml {
    let mut fields = Vec::new();
    if is_numbered {
        let id = Yaml::number(rule.id);
        fields.push(Field::commented("rule_id", id, rule.comment.clone()));
    }
    if !rule.is_active {
        fields.push(Field::new("active", Yaml::number(0)));
    }
    let mut flag = (rule.flag_in != 0).then(|| Field::new("flagIN", Yaml::number(rule.flag_in)));
    for column in RULE_COLUMNS {
        if column.name() == "client_addr" {
            fields.extend(flag.take());
        }
        let Some(value) = column.get_given(&rule.row) else {
            continue;
        };
        match (column.name(), value) {
            ("destination_hostgroup", Value::Number(id)) => {
                fields.extend(destination(draft, HostgroupId(id)));
            }
            (name, value) => fields.push(Field::new(name, cell(&value))),
        }
    }
    Yaml::Map(fields)
}

fn cell(value: &Value<'_>) -> Yaml {
    match value {
        Value::Switch(on) => Yaml::number(i64::from(*on)),
        Value::Number(number) => Yaml::number(*number),
        Value::Text(text) => Yaml::text(text),
        Value::Digest(digest) => Yaml::text(digest_text(*digest)),
        Value::Modifiers(modifiers) => Yaml::text(modifiers.word()),
        Value::FlagOuts(choices) => Yaml::text(attributes(choices)),
    }
}

fn attributes(choices: &[FlagOutChoice]) -> String {
    let choice = |choice: &FlagOutChoice| format!("{{\"id\": {}, \"weight\": {}}}", choice.id, choice.weight);
    let choices: Vec<String> = choices.iter().map(choice).collect();
    format!("{{\"flagOUTs\": [{}]}}", choices.join(", "))
}

fn refusing(hostgroup: &RefusingHostgroup) -> Yaml {
    Yaml::map([
        ("hostgroup", Some(Yaml::number(hostgroup.id.0))),
        ("reason", Some(Yaml::text(&hostgroup.reason))),
        (
            "by",
            (hostgroup.refuser == Refuser::Service).then(|| Yaml::word("service")),
        ),
        ("host", Some(Yaml::text(&hostgroup.host))),
        ("port", Some(Yaml::number(hostgroup.port))),
    ])
}

fn route(draft: &Draft, route: &FastRoute) -> Yaml {
    let mut fields = Vec::new();
    if !route.username.is_empty() {
        fields.push(Field::new("username", Yaml::text(&route.username)));
    }
    fields.push(Field::new("schemaname", Yaml::text(&route.schemaname)));
    if route.flag_in != 0 {
        fields.push(Field::new("flagIN", Yaml::number(route.flag_in)));
    }
    fields.extend(destination(draft, route.hostgroup));
    Yaml::Map(fields)
}
