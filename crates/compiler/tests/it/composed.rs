//! Random composed topologies: ProxySQL's rules mean what the topology means, and figures are what the evaluator counts.
//!
//! The bundled engine looks keys up and decides with the lexer: its decision is the meaning. ProxySQL's rules must place
//! a statement where it does, or refuse; plain statements they must place.

pub(crate) mod dice;
mod figures;
pub(crate) mod statements;
pub(crate) mod topologies;

use shardwright_compiler::{Lock, Options, compile};
use shardwright_diagnostics::Severity;
use shardwright_rules::{Decision, EngineId, Outcome, Route};
use shardwright_topology::model::{Project, RuleLayout, ShardMap, Table};

use self::dice::Dice;
use self::statements::{Clients, Said};
use self::topologies::topology;
use crate::engines::{Question, difference};
use crate::support::*;

/// Topologies of a usual run.
const USUAL: u64 = 30;
/// Random statements of each.
const STATEMENTS: usize = 60;

/// The variable that asks for more: statements, as in `real_engine`.
const CONFORMANCE: &str = "SHARDWRIGHT_CONFORMANCE";

/// How many topologies are asked for: one for each thousand statements of a long run.
pub(crate) fn wanted(usual: u64) -> u64 {
    let asked = std::env::var(CONFORMANCE).ok();
    asked.map_or(usual, |text| {
        text.parse::<u64>().expect("a number").div_ceil(1_000).max(usual)
    })
}

/// The number of the first topology.
pub(crate) fn first() -> u64 {
    let asked = std::env::var("CONFORMANCE_SEED").ok();
    asked.map_or(0, |text| text.parse().expect("CONFORMANCE_SEED is a number"))
}

/// The topology of a number and its text, if it is one that both engines run: not all that can be combined is.
pub(crate) fn estate(number: u64) -> Option<(String, Project)> {
    let text = topology(number);
    let project = read(&text, None).project?;
    let is_served = |engine| {
        let compiled = compile(&project, engine, &Lock::default(), &Options::default());
        problems(&compiled, Severity::Error).is_empty()
    };
    BOTH.into_iter()
        .all(is_served)
        .then_some((format!("topology {number}\n{text}"), project))
}

/// The project with every layout left to the engine: the bundled one looks keys up.
fn looked_up(project: &Project) -> Project {
    let mut project = project.clone();
    let mut maps: Vec<ShardMap> = project.topology.shard_maps.iter().cloned().collect();
    for map in &mut maps {
        map.rule_layout = RuleLayout::Auto;
    }
    project.topology.shard_maps = Table::new(maps);
    project
}

#[test]
fn rules_place_as_the_topology_means_or_refuse() {
    let (mut numbers, mut served, mut placed) = (first().., 0, 0);
    let wanted = wanted(USUAL);
    let mut tried = 0;
    while served < wanted {
        let number = numbers.next().expect("numbers do not end");
        tried += 1;
        assert!(tried < 40 + 6 * wanted, "{served} of {tried} are topologies");
        let Some((text, project)) = estate(number) else {
            continue;
        };
        // Shown where the test fails.
        println!("{text}");
        served += 1;
        let meaning = Decider::new(&compiled(&looked_up(&project), EngineId::Bundled));
        let rules = Decider::new(&compiled(&project, EngineId::Proxysql27));
        let clients = Clients::of(&project);
        let dice = &mut Dice::new(number);
        let random = (0..STATEMENTS).map(|_| clients.said(dice));
        for said in clients.every_key().into_iter().chain(random) {
            placed += u64::from(is_placed_alike(&meaning, &rules, &clients, &said));
        }
    }
    println!("{served} topologies of {tried} combinations, {placed} statements placed alike");
    assert!(placed > served * 30, "{placed} of {served} topologies");
}

/// Compares; whether both place the statement.
fn is_placed_alike(meaning: &Decider, rules: &Decider, clients: &Clients, said: &Said) -> bool {
    let Said {
        user,
        schema,
        sql,
        is_plain,
    } = said;
    let schema = schema.as_deref();
    let of_meaning = meaning.decision(user, schema, sql);
    let of_rules = rules.decision(user, schema, sql);
    let what = || {
        let short = (meaning.short(user, schema, sql), rules.short(user, schema, sql));
        format!(
            "{user} in {schema:?}: {sql:?}: {} by the topology, {} by rules",
            short.0, short.1
        )
    };
    let question = Question {
        sql,
        is_unnamed: schema.is_some_and(|schema| !clients.names(user, schema))
            || clients.is_unknown(user, schema),
        home: rules.home(user),
        is_routed_fast: !rules.configuration.graph.fast_routing.is_empty(),
        reads_only: meaning.reads_only(user),
    };
    if question.reads_only {
        for (decider, decision) in [(meaning, &of_meaning), (rules, &of_rules)] {
            assert!(!reaches_a_writer(decider, decision), "{}", what());
        }
        let writes = ["UPDATE", "INSERT", "DELETE", "REPLACE"];
        let is_write = *is_plain && writes.iter().any(|verb| sql.contains(verb));
        let is_refused = matches!(of_rules.outcome, Outcome::Reject(_));
        assert!(!is_write || is_refused, "{}", what());
    }
    let difference = difference(&question, &of_meaning, &of_rules);
    assert_eq!(difference, None, "{}", what());
    match routes(&of_meaning, &of_rules) {
        (Some(meant), Some(placed)) => {
            if *is_plain {
                assert_eq!(meant.role, placed.role, "{}", what());
                assert_eq!(meant.effects.delay_ms, placed.effects.delay_ms, "{}", what());
            }
            true
        }
        (Some(_), None) => {
            assert!(!is_plain, "{}", what());
            false
        }
        _ => false,
    }
}

/// Whether a statement is sent to a writer whose cluster has readers.
fn reaches_a_writer(decider: &Decider, decision: &Decision) -> bool {
    let Outcome::Route(route) = &decision.outcome else {
        return false;
    };
    let cluster = decider.configuration.cluster_of(route.hostgroup);
    cluster.is_some_and(|cluster| cluster.reader.is_some() && cluster.writer == route.hostgroup)
}

fn routes<'d>(meaning: &'d Decision, rules: &'d Decision) -> (Option<&'d Route>, Option<&'d Route>) {
    let of = |decision: &'d Decision| match &decision.outcome {
        Outcome::Route(route) => Some(route),
        _ => None,
    };
    (of(meaning), of(rules))
}
