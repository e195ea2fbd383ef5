//! The firewall's lists: which digests pass, in which schemas, and at which flags evaluation can end.

use std::collections::{BTreeMap, BTreeSet};

use shardwright_rules::{Body, EngineRule, Finder, Firewall, FirewallMode, Rule, RuleGraph, User};

use crate::diagnostics::{Diagnostics, LAYOUT};
use crate::program::firewall::UserFirewall;
use crate::program::{Program, Section};

/// The most rows of one user.
const MOST_ROWS: usize = 1_000_000;
/// Where a session is that names no schema.
const NO_SCHEMA: &str = "information_schema";

/// A list for every user: with one list, the engine refuses all users who have none.
pub(crate) fn rows(program: &Program, graph: &RuleGraph, report: &mut Diagnostics<'_>) -> Vec<Firewall> {
    if program.firewall.is_empty() {
        return Vec::new();
    }
    let mut rows = Vec::with_capacity(program.users.len());
    for user in &program.users {
        let own = program.firewall.iter().find(|own| own.user == user.name);
        rows.push(match own {
            Some(own) if own.mode != FirewallMode::Disabled => limited(own, user, program, graph, report),
            _ => Firewall {
                user: user.name.clone(),
                address: own.map_or_else(|| user.address.clone(), |own| own.address.clone()),
                mode: FirewallMode::Disabled,
                schemas: Vec::new(),
                flags: Vec::new(),
                digests: Vec::new(),
            },
        });
    }
    rows
}

fn limited(
    own: &UserFirewall,
    user: &User,
    program: &Program,
    graph: &RuleGraph,
    report: &mut Diagnostics<'_>,
) -> Firewall {
    let mut schemas = own.schemas.clone();
    if own.own_schemas {
        let default = user.default_schema.as_deref().unwrap_or(NO_SCHEMA);
        schemas.insert(default.to_owned());
        let maps = program.maps.iter();
        for map in maps.filter(|map| map.scope.users.contains(&user.name)) {
            schemas.extend(map_schemas(map));
        }
    }
    let mut flags = endings(graph, &user.name);
    if !own.raw_chains {
        let written = written_flags(program);
        flags.retain(|flag| !written.contains(flag));
    }
    let needed = schemas.len() * flags.len() * own.digests.len();
    if needed > MOST_ROWS {
        let message = format!(
            "{} needs a row for each statement, session schema and flag: {} x {} x {} is more than {MOST_ROWS}",
            report.engine,
            own.digests.len(),
            schemas.len(),
            flags.len()
        );
        report.error(LAYOUT, own.origin, "allow", message);
    }
    let what = "the firewall sees every statement, also COMMIT, SET and what drivers send; a session in a schema that \
                neither the topology nor `schemas` names is refused";
    report.difference(own.origin, "mode", what);
    Firewall {
        user: user.name.clone(),
        address: own.address.clone(),
        mode: own.mode,
        schemas: schemas.into_iter().collect(),
        flags: flags.into_iter().collect(),
        digests: own.digests.iter().copied().collect(),
    }
}

/// Flags that raw rules name, without that of the first chain.
fn written_flags(program: &Program) -> BTreeSet<u32> {
    let rows = program.blocks.iter().flat_map(|block| &block.rules);
    let flags = rows.flat_map(|row| {
        let rule = &row.rule;
        let set = rule.flags_set().chain(rule.next_query_flag_in);
        set.chain(rule.mirror_flag_out).chain([row.flag_in])
    });
    flags.filter(|flag| *flag != 0).collect()
}

/// The session schemas that a map is about.
fn map_schemas(map: &Section<Box<shardwright_rules::MapStep>>) -> BTreeSet<String> {
    let step = &map.step;
    let mut schemas: BTreeSet<String> = step.logical_schema.iter().cloned().collect();
    for finder in &step.finders {
        let Finder::Schema { template } = finder else {
            continue;
        };
        for shard in &step.shards {
            let ranges = shard.ranges.iter().flat_map(|&(low, high)| low..=high);
            let keys = shard
                .keys
                .iter()
                .cloned()
                .chain(ranges.map(shardwright_rules::KeyValue::Integer));
            let room = (MOST_ROWS + 1).saturating_sub(schemas.len());
            schemas.extend(keys.take(room).filter_map(|key| template.render(&key)));
        }
    }
    schemas.extend(
        step.shards
            .iter()
            .filter_map(|shard| shard.schema.as_deref().map(str::to_owned)),
    );
    schemas
}

/// Flags at which the evaluation of a user's statements can end with a destination.
fn endings(graph: &RuleGraph, user: &str) -> BTreeSet<u32> {
    let mut chains: BTreeMap<u32, Vec<&EngineRule>> = BTreeMap::from([(0, Vec::new())]);
    for rule in &graph.rules {
        if let Some(row) = of_user(rule, user) {
            chains.entry(rule.flag_in).or_default().push(row);
        }
    }
    let mut ends = BTreeSet::new();
    let mut seen = BTreeSet::from([0]);
    let mut waiting = vec![0];
    while let Some(flag) = waiting.pop() {
        let mut falls_through = true;
        for row in chains.get(&flag).into_iter().flatten() {
            let answered = row.error_msg.is_some() || row.ok_msg.is_some();
            if row.apply && !answered {
                match row.flags_set().next() {
                    Some(_) => ends.extend(row.flags_set()),
                    None => {
                        ends.insert(flag);
                    }
                }
            }
            for next in row.jumps().chain(row.next_query_flag_in) {
                if seen.insert(next) {
                    waiting.push(next);
                }
            }
            if row.is_unconditional_for(user) && row.ends() {
                falls_through = false;
                break;
            }
        }
        if falls_through {
            ends.insert(flag);
        }
    }
    ends
}

fn of_user<'r>(rule: &'r Rule, user: &str) -> Option<&'r EngineRule> {
    match &rule.body {
        Body::Engine(row) => row
            .username
            .as_deref()
            .is_none_or(|name| name == user)
            .then_some(&**row),
        Body::Native { .. } => None,
    }
}
