//! The team's own rules (`lint.rules`): SW820 if an item breaks a rule, SW821 if a test of a rule fails.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Map, Value, json};
use shardwright_diagnostics::{Diagnostic, Proof};
use shardwright_rules::tables::{self, Cell, RULE_COLUMNS};
use shardwright_rules::{Body, Configuration, EngineId, HostgroupId, MemberStatus, Role, Rule};
use shardwright_topology::model::{FieldCondition, FieldTest, TeamItems, TeamRule, TeamTest, TeamValue};

use crate::codes::{TEAM_RULE_BROKEN, TEAM_TEST_WRONG};
use crate::project::Opened;

/// An item of a configuration: its fields, and the object that it belongs to.
struct Subject {
    fields: Map<String, Value>,
    /// How a message calls it.
    named: String,
    address: Option<String>,
    rule_id: Option<u32>,
}

/// What the tests of the rules show to be wrong with them.
pub(super) fn wrong_rules(opened: &Opened) -> Vec<Diagnostic> {
    let rules = &opened.project.file.lint.rules;
    rules
        .iter()
        .flat_map(|rule| {
            rule.tests
                .iter()
                .filter_map(move |test| wrong(rule, test, opened))
        })
        .collect()
}

fn wrong(rule: &TeamRule, test: &TeamTest, opened: &Opened) -> Option<Diagnostic> {
    let fields: Map<String, Value> = test
        .item
        .iter()
        .map(|(field, value)| (field.to_string(), as_json(value)))
        .collect();
    let passes = !holds_all(&rule.wanted, &fields) || holds_all(&rule.required, &fields);
    if passes == test.passes {
        return None;
    }
    let said = |passes| if passes { "passes" } else { "does not pass" };
    let message = format!(
        "test {} of lint rule {} does not hold: the item {}, the test says that it {}",
        test.index + 1,
        rule.name,
        said(passes),
        said(test.passes)
    );
    let origins = &opened.project.origins;
    let span = origins.field(rule.origin, &format!("tests[{}]", test.index));
    Some(
        Diagnostic::error(TEAM_TEST_WRONG, message)
            .at(span, "this test")
            .address(origins.address(rule.origin)),
    )
}

/// What does not satisfy a rule; the engines that have it are named.
pub(super) fn check<'c>(
    configurations: impl ExactSizeIterator<Item = &'c Arc<Configuration>>,
    opened: &Opened,
) -> Vec<Diagnostic> {
    let all = configurations.len();
    let mut found: BTreeMap<(usize, String), (Diagnostic, Vec<EngineId>)> = BTreeMap::new();
    for configuration in configurations {
        let engine = &configuration.engine;
        for (position, rule) in opened.project.file.lint.rules.iter().enumerate() {
            for item in items(rule.items, configuration) {
                if !holds_all(&rule.wanted, &item.fields) || holds_all(&rule.required, &item.fields) {
                    continue;
                }
                let (_, engines) = found
                    .entry((position, item.named.clone()))
                    .or_insert_with(|| (broken(rule, &item, opened), Vec::new()));
                engines.push(*engine);
            }
        }
    }
    found
        .into_values()
        .map(|(diagnostic, engines)| {
            if engines.len() == all {
                return diagnostic;
            }
            let names: Vec<&str> = engines.iter().map(|engine| engine.name()).collect();
            diagnostic.note(format!("on {}", names.join(", ")))
        })
        .collect()
}

fn broken(rule: &TeamRule, item: &Subject, opened: &Opened) -> Diagnostic {
    let message = format!("{}: {}", item.named, rule.message);
    let origins = &opened.project.origins;
    let mut diagnostic = Diagnostic::new(rule.severity, TEAM_RULE_BROKEN, message).proof(Proof::Proved);
    let rule_at = origins.span(rule.origin);
    match item.address.as_deref().and_then(|address| opened.find(address)) {
        Some(origin) => {
            diagnostic = origins
                .mark(origin, diagnostic.at(origins.span(origin), ""))
                .also(rule_at, "by this rule");
        }
        None => diagnostic = diagnostic.at(rule_at, "by this rule"),
    }
    if let Some(address) = &item.address {
        diagnostic = diagnostic.address(address.clone());
    }
    let unmet = rule
        .required
        .iter()
        .filter(|condition| !holds(condition, &item.fields));
    for condition in unmet {
        let value = item
            .fields
            .get(&*condition.field)
            .filter(|value| !value.is_null());
        let value = value.map_or_else(|| "none".to_owned(), Value::to_string);
        diagnostic = diagnostic.note(format!("{} is {value}", condition.field));
    }
    if let Some(help) = &rule.help {
        diagnostic = diagnostic.help(&**help);
    }
    diagnostic.rule_ids(item.rule_id)
}

fn as_json(value: &TeamValue) -> Value {
    match value {
        TeamValue::Bool(value) => json!(value),
        TeamValue::Integer(value) => json!(value),
        TeamValue::Text(text) => json!(&**text),
    }
}

fn holds_all(conditions: &[FieldCondition], fields: &Map<String, Value>) -> bool {
    conditions.iter().all(|condition| holds(condition, fields))
}

fn holds(condition: &FieldCondition, fields: &Map<String, Value>) -> bool {
    let value = fields.get(&*condition.field).filter(|value| !value.is_null());
    let is_among =
        |wanted: &[TeamValue]| value.is_some_and(|value| wanted.iter().any(|one| as_json(one) == *value));
    condition.tests.iter().all(|test| match test {
        FieldTest::OneOf(wanted) => is_among(wanted),
        FieldTest::NoneOf(unwanted) => !is_among(unwanted),
        FieldTest::Like(globs) => {
            let text = value.and_then(Value::as_str);
            text.is_some_and(|text| globs.iter().any(|glob| glob.matches(text)))
        }
        FieldTest::AtLeast(least) => value.and_then(Value::as_i64).is_some_and(|value| value >= *least),
        FieldTest::AtMost(most) => value.and_then(Value::as_i64).is_some_and(|value| value <= *most),
        FieldTest::Present(wanted) => value.is_some() == *wanted,
    })
}

fn items(kind: TeamItems, configuration: &Configuration) -> Vec<Subject> {
    match kind {
        TeamItems::Rules => {
            let rules = configuration.graph.rules.iter();
            rules.map(|rule| of_rule(rule, configuration)).collect()
        }
        TeamItems::Hostgroups => hostgroups(configuration),
        TeamItems::Servers => servers(configuration),
        TeamItems::Users => users(configuration),
        TeamItems::Clusters => clusters(configuration),
    }
}

fn item(fields: Value, named: String, address: Option<String>) -> Subject {
    let Value::Object(fields) = fields else {
        unreachable!("items are written as objects");
    };
    Subject {
        fields,
        named,
        address,
        rule_id: None,
    }
}

fn of_rule(rule: &Rule, configuration: &Configuration) -> Subject {
    let place = |hostgroup: Option<u32>| {
        let cluster = hostgroup.and_then(|id| configuration.cluster_of(HostgroupId(id)))?;
        let role = if Some(cluster.writer.0) == hostgroup {
            Role::Writer
        } else {
            Role::Reader
        };
        Some((cluster.name.to_string(), role.to_string()))
    };
    let mut fields = json!({"rule_id": rule.id, "address": rule.address.as_str(), "flagIN": rule.flag_in});
    match &rule.body {
        Body::Engine(row) => {
            let (cluster, role) = place(row.destination_hostgroup).unzip();
            fields["cluster"] = json!(cluster);
            fields["role"] = json!(role);
            for column in RULE_COLUMNS {
                fields[column.name()] = column.get(row).map_or(Value::Null, cell);
            }
        }
        Body::Native { step, .. } => fields["step"] = json!(step.name()),
    }
    let address = rule.address.to_string();
    Subject {
        rule_id: Some(rule.id),
        ..item(fields, format!("rule {}", rule.id), Some(address))
    }
}

/// A value of a column, as rules of the team write it.
fn cell(value: tables::Value<'_>) -> Value {
    match value {
        tables::Value::Switch(value) => json!(value),
        value => match Cell::from(value) {
            Cell::Integer(number) => json!(number),
            Cell::Text(text) => json!(text),
        },
    }
}

fn hostgroups(configuration: &Configuration) -> Vec<Subject> {
    let groups = configuration.hostgroups.iter();
    groups
        .map(|group| {
            let online: Vec<_> = group
                .members
                .iter()
                .filter(|member| member.status == MemberStatus::Online)
                .collect();
            let fields = json!({
                "id": group.id.0, "address": group.cluster.as_str(), "cluster": last(group.cluster.as_str()),
                "role": group.role.to_string(), "servers": online.len(),
                "weight": online.iter().map(|member| u64::from(member.weight)).sum::<u64>(),
                "max_connections": online.iter().map(|member| u64::from(member.max_connections)).sum::<u64>(),
            });
            item(
                fields,
                format!("hostgroup {}", group.id),
                Some(group.cluster.to_string()),
            )
        })
        .collect()
}

fn servers(configuration: &Configuration) -> Vec<Subject> {
    let groups = configuration.hostgroups.iter();
    groups
        .flat_map(|group| group.members.iter().map(move |member| (group, member)))
        .map(|(group, member)| {
            let mut fields = serde_json::to_value(member).unwrap_or_else(|_| json!({}));
            fields["server"] = json!(last(member.server.as_str()));
            fields["cluster"] = json!(last(group.cluster.as_str()));
            fields["hostgroup"] = json!(group.id.0);
            fields["role"] = json!(group.role.to_string());
            let named = format!(
                "server {} in hostgroup {}",
                last(member.server.as_str()),
                group.id
            );
            item(fields, named, Some(member.server.to_string()))
        })
        .collect()
}

fn users(configuration: &Configuration) -> Vec<Subject> {
    let users = configuration.users.iter();
    users
        .map(|user| {
            let cluster = configuration.cluster_of(user.default_hostgroup).map(|cluster| cluster.name.to_string());
            let fields = json!({
                "name": user.name, "address": user.address.as_str(), "cluster": cluster,
                "default_schema": user.default_schema, "max_connections": user.max_connections,
                "transaction_persistent": user.transaction_persistent, "annotations_allowed": user.annotations_allowed,
                "password": user.password.is_some(),
            });
            item(fields, format!("user {}", user.name), Some(user.address.to_string()))
        })
        .collect()
}

fn clusters(configuration: &Configuration) -> Vec<Subject> {
    let clusters = configuration.clusters.iter();
    clusters
        .map(|cluster| {
            let groups = configuration.hostgroups.iter().filter(|group| cluster.owns(group.id));
            let servers: std::collections::BTreeSet<&str> =
                groups.flat_map(|group| &group.members).map(|member| member.server.as_str()).collect();
            let kind = serde_json::to_value(&cluster.kind).ok().and_then(|kind| kind.get("type").cloned());
            let fields = json!({
                "name": &*cluster.name, "address": cluster.address.as_str(), "type": kind, "writer": cluster.writer.0,
                "reader": cluster.reader.map(|id| id.0), "servers": servers.len(),
            });
            item(fields, format!("cluster {}", cluster.name), Some(cluster.address.to_string()))
        })
        .collect()
}

/// The name at the end of an address.
fn last(address: &str) -> &str {
    address.rsplit_once('.').map_or(address, |(_, name)| name)
}
