//! The figures of each map are what the evaluator counts for the statements that they are about.

use shardwright_compiler::{Compiled, MapStats};
use shardwright_rules::{Finder, KeyKind, KeyValue, MapStep};

use super::statements::Clients;
use super::{USUAL, estate, first, wanted};
use crate::support::*;

#[test]
fn figures_are_what_the_evaluator_counts() {
    let (mut served, mut maps, mut wrong) = (0, 0, Vec::new());
    let wanted = wanted(USUAL);
    for number in first().. {
        if served == wanted {
            break;
        }
        let Some((text, project)) = estate(number) else {
            continue;
        };
        served += 1;
        let clients = Clients::of(&project);
        for engine in BOTH {
            let compiled = compiled(&project, engine);
            let decider = Decider::new(&compiled);
            for step in clients.maps() {
                maps += 1;
                let difference = difference(&compiled, &decider, step);
                wrong.extend(difference.map(|difference| format!("{difference}\n{text}")));
            }
        }
    }
    println!("{maps} maps of {served} topologies, {} wrong", wrong.len());
    assert!(maps >= 2 * served && served == wanted, "{maps} maps of {served}");
    assert_eq!(wrong.first(), None, "{} of {maps} maps", wrong.len());
}

/// How the figures of a map differ from what is counted.
fn difference(compiled: &Compiled, decider: &Decider, step: &MapStep) -> Option<String> {
    let stats = &compiled.stats.shard_maps[&step.map];
    let (mut keys, mut evaluations, mut visits, mut worst) = (0.0, 0.0, 0.0, 0);
    let served = step.shards.iter().filter(|shard| shard.refuse.is_none());
    for key in served.flat_map(|shard| {
        let ranges = shard.ranges.iter().map(|range| KeyValue::Integer(range.0));
        shard.keys.iter().cloned().chain(ranges)
    }) {
        let Some((user, schema, sql)) = statement(step, &key, stats) else {
            continue;
        };
        if compiled.configuration.user(&user).is_none() {
            continue;
        }
        let decision = decider.decision(&user, schema.as_deref(), &sql);
        keys += 1.0;
        evaluations += f64::from(decision.evaluations);
        visits += f64::from(decision.visits);
        worst = worst.max(decision.evaluations);
    }
    let mean = |sum: f64| if keys > 0.0 { sum / keys } else { 0.0 };
    let is_near = |found: f64, sum: f64| (found - mean(sum)).abs() < 1e-6;
    let is_right = is_near(stats.mean_evaluations, evaluations)
        && is_near(stats.mean_visits, visits)
        && stats.worst_evaluations == worst;
    (!is_right).then(|| {
        format!(
            "{} on {}: {stats:?}, counted {} evaluations, at most {worst}, and {} visits",
            step.map,
            compiled.configuration.engine,
            mean(evaluations),
            mean(visits)
        )
    })
}

/// User, schema and text; `None` where the place cannot hold the key.
fn statement(step: &MapStep, key: &KeyValue, stats: &MapStats) -> Option<(String, Option<String>, String)> {
    let find = |wanted: fn(&&Finder) -> bool| step.finders.iter().find(wanted);
    let finder = find(|finder| matches!(finder, Finder::Comment { .. }))
        .or_else(|| find(|finder| matches!(finder, Finder::Column { .. })))
        .or_else(|| find(|finder| matches!(finder, Finder::Schema { .. })))
        .or_else(|| find(|finder| matches!(finder, Finder::User { .. })))?;
    let (user, plain) = (stats.user.clone(), "SELECT 1 FROM t".to_owned());
    Some(match finder {
        Finder::Comment { word, form } => (user, None, format!("{} {plain}", form.comment(word, key)?)),
        Finder::Column { column, .. } => {
            let quote = if step.kind == KeyKind::Text { "'" } else { "" };
            let schema = step
                .logical_schema
                .as_deref()
                .expect("maps with columns have one");
            let sql = format!("SELECT 1 FROM {schema}.t WHERE {column} = {quote}{key}{quote}");
            (user, None, sql)
        }
        Finder::Schema { template } => (user, Some(template.render(key)?), plain),
        Finder::User { template } => (template.render(key)?, None, plain),
        Finder::Table { .. } => unreachable!("no topology of these has keys in tables"),
    })
}
