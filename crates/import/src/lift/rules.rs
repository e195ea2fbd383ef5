//! Query rules and fast routing.

use std::collections::BTreeSet;

use shardwright_diagnostics::{Severity, Span};
use shardwright_rules::tables::{RowSource, RuleColumn, digest_text, is_client_addr, read_digest};
use shardwright_rules::{Body, EngineRule, FastRoute, FlagOutChoice, HostgroupId, Modifiers, Rule};

use super::{Lift, filled, text};
use crate::codes::{DROPPED, MISREAD, NOT_ACTIVE};
use crate::store::Row;

/// The active rules. `without_active`: where rows stand whose INSERT does not name the column.
pub(super) fn lift(lift: &mut Lift<'_>, without_active: &BTreeSet<Span>) {
    let mut rules = Vec::new();
    let mut forgotten: Vec<(u32, Row)> = Vec::new();
    for row in lift.rows("mysql_query_rules") {
        if let Some(number) = lift.number(&row, "rule_id").filter(|number| *number < 0) {
            before_all(lift, &row, number);
            continue;
        }
        let Some(id) = lift.count(&row, "rule_id") else {
            continue;
        };
        if !lift.flag(&row, "active") {
            let inactive = rule(lift, &row, id);
            lift.beside.inactive.extend(inactive);
            if row.place.is_some_and(|place| without_active.contains(&place)) {
                forgotten.push((id, row));
            } else {
                lift.ignored(&row, format!("rule {id} is not active"));
            }
            continue;
        }
        if let Some(rule) = rule(lift, &row, id) {
            rules.push(rule);
        }
    }
    rules.sort_by_key(|rule| rule.id);
    lift.beside.inactive.sort_by_key(|rule| rule.id);
    if let Some((id, row)) = forgotten.first() {
        let who = match forgotten.len() {
            1 => format!("rule {id} is not active"),
            count => format!("{count} rules are not active, from rule {id} on"),
        };
        let all = if rules.is_empty() {
            ", and the file has no other"
        } else {
            ""
        };
        let what = format!("{who}{all}: the INSERT does not name `active`, whose default is 0");
        lift.say(Severity::Warning, NOT_ACTIVE, row, what);
    }
    lift.configuration.graph.rules = rules;
}

/// A rule with a negative number. The engine sorts by the numbers, and evaluates it before all others.
fn before_all(lift: &mut Lift<'_>, row: &Row, number: i64) {
    if lift.flag(row, "active") {
        let what = format!(
            "rule {number} is evaluated before all others, and numbers of rules begin at 1 here: give it another number"
        );
        lift.unmodelled(row, what);
    } else {
        lift.ignored(row, format!("rule {number} is not active"));
    }
}

fn rule(lift: &mut Lift<'_>, row: &Row, id: u32) -> Option<Rule> {
    if text(row, "client_addr").is_some_and(|address| !is_client_addr(&address)) {
        let what =
            format!("the engine drops rule {id}: its client_addr is no address and no prefix that ends in %");
        lift.say(Severity::Warning, DROPPED, row, what);
        return None;
    }
    let engine = EngineRule::read(&mut Cells { lift, row, id });
    Some(Rule {
        id,
        address: lift.address(format!("mysql_query_rules.{id}"), row),
        shards: Vec::new(),
        summary: None,
        flag_in: lift.count(row, "flagIN").unwrap_or(0),
        body: Body::Engine(Box::new(engine)),
    })
}

/// The cells of a row, as the engine reads them.
struct Cells<'c, 's> {
    lift: &'c mut Lift<'s>,
    row: &'c Row,
    id: u32,
}

impl RowSource for Cells<'_, '_> {
    fn text(&mut self, column: &RuleColumn) -> Option<String> {
        text(self.row, column.name())
    }

    fn number(&mut self, column: &RuleColumn) -> Option<u32> {
        self.lift.count(self.row, column.name())
    }

    fn switch(&mut self, column: &RuleColumn) -> Option<bool> {
        let number = self.lift.number(self.row, column.name());
        number.map(|number| number != 0)
    }

    fn digest(&mut self, _: &RuleColumn) -> Option<u64> {
        rule_digest(self.lift, self.row, self.id)
    }

    fn modifiers(&mut self, _: &RuleColumn) -> Option<Modifiers> {
        Some(modifiers(self.lift, self.row, self.id))
    }

    fn flag_outs(&mut self, _: &RuleColumn) -> Vec<FlagOutChoice> {
        choices(self.lift, self.row, self.id)
    }
}

/// A digest that the engine cannot read is no condition: the rule is for more statements than it says.
fn rule_digest(lift: &mut Lift<'_>, row: &Row, id: u32) -> Option<u64> {
    let written = filled(row, "digest")?;
    let (number, whole) = read_digest(&written);
    if matches!(number, 0 | u64::MAX) {
        let what =
            format!("the engine drops the condition of rule {id} on digests: it reads none in `{written}`");
        lift.say(Severity::Warning, MISREAD, row, what);
        return None;
    }
    if !whole {
        let what = format!(
            "the engine reads the digest of rule {id} as {}",
            digest_text(number)
        );
        lift.say(Severity::Warning, MISREAD, row, what);
    }
    Some(number)
}

fn modifiers(lift: &mut Lift<'_>, row: &Row, id: u32) -> Modifiers {
    let written = text(row, "re_modifiers").unwrap_or_default();
    for word in Modifiers::ignored(&written) {
        let what = format!("the engine ignores a part of the re_modifiers of rule {id}: `{word}`");
        lift.say(Severity::Warning, MISREAD, row, what);
    }
    Modifiers::read(&written)
}

/// Weighted flags of `attributes`; entries that are not two whole numbers are passed over by the engine.
fn choices(lift: &mut Lift<'_>, row: &Row, id: u32) -> Vec<FlagOutChoice> {
    let Some(attributes) = filled(row, "attributes") else {
        return Vec::new();
    };
    let parsed: serde_json::Value = serde_json::from_str(&attributes).unwrap_or_default();
    let known = |key: &String| key == "flagOUTs";
    if parsed.as_object().is_none_or(|object| !object.keys().all(known)) {
        let what = format!("the engine reads nothing but flagOUTs in the attributes of rule {id}");
        lift.say(Severity::Info, MISREAD, row, what);
    }
    let Some(entries) = parsed.get("flagOUTs").and_then(serde_json::Value::as_array) else {
        return Vec::new();
    };
    let mut choices = Vec::new();
    for entry in entries {
        let number = |key: &str| {
            entry
                .get(key)?
                .as_u64()
                .and_then(|number| u32::try_from(number).ok())
        };
        match (number("id"), number("weight")) {
            (Some(id), Some(weight)) => choices.push(FlagOutChoice { id, weight }),
            _ => {
                let what = format!("the engine ignores an entry of the flagOUTs of rule {id}");
                lift.say(Severity::Warning, MISREAD, row, what);
            }
        }
    }
    choices
}

/// Rows of `mysql_query_rules_fast_routing`.
pub(super) fn fast_routing(lift: &mut Lift<'_>) {
    let mut routes = Vec::new();
    for row in lift.rows("mysql_query_rules_fast_routing") {
        let (username, schemaname) = (text(&row, "username"), text(&row, "schemaname"));
        let (username, schemaname) = (username.unwrap_or_default(), schemaname.unwrap_or_default());
        let (flag_in, hostgroup) = (
            lift.count(&row, "flagIN"),
            lift.count(&row, "destination_hostgroup"),
        );
        let (Some(flag_in), Some(hostgroup)) = (flag_in, hostgroup) else {
            continue;
        };
        let path = format!("mysql_query_rules_fast_routing.{username}.{schemaname}.{flag_in}");
        routes.push(FastRoute {
            address: lift.address(path, &row),
            username,
            schemaname,
            flag_in,
            hostgroup: HostgroupId(hostgroup),
        });
    }
    routes.sort();
    lift.configuration.graph.fast_routing = routes;
}
