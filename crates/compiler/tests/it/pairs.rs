//! Every pair of features that the language has: refused at its line, or both work, on each engine.
//!
//! The evaluator decides here; `real_engine::pairs` sends the same statements to a real ProxySQL.

pub(crate) mod features;

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use shardwright_compiler::{Compiled, Lock, Options, compile};
use shardwright_diagnostics::{Problems, Severity};
use shardwright_rules::{EngineId, Evaluator, Outcome, Role, SessionView, Statement};
use shardwright_sql::LexMode;

use self::features::{FEATURES, Feature, Probe, Shows, topology};
use crate::support::*;

const ENGINES: [EngineId; 2] = [EngineId::Proxysql27, EngineId::Bundled];
const PAGE: &str = "../../docs/feature-pairs.md";
const BEGIN: &str = "<!-- pairs -->\n";
const END: &str = "<!-- end -->\n";

/// What becomes of a feature alone, or of two together.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Result {
    /// Both do what they say.
    Works,
    /// Errors with these codes.
    Refused(BTreeSet<String>),
}

/// Compiles features for an engine; `Err`: the codes of its errors.
pub(crate) fn compiled(
    features: &[&Feature],
    engine: EngineId,
) -> std::result::Result<Compiled, BTreeSet<String>> {
    let read = read(&topology(features), None);
    let Some(project) = read.project else {
        return Err(errors(&read.problems));
    };
    let compiled = compile(&project, engine, &Lock::default(), &Options::default());
    let errors = errors(&compiled.problems);
    if errors.is_empty() {
        Ok(compiled)
    } else {
        Err(errors)
    }
}

/// The codes of the errors among problems.
fn errors(problems: &Problems) -> BTreeSet<String> {
    let problems = problems.sorted().into_iter();
    let errors = problems.filter(|problem| problem.severity == Severity::Error);
    errors.map(|problem| problem.code.to_string()).collect()
}

/// Whether the decision on a probe shows its feature.
fn shows(compiled: &Compiled, probe: &Probe) -> std::result::Result<(), String> {
    let configuration = &compiled.configuration;
    let session = SessionView {
        user: probe.user,
        schema: Some(probe.schema),
        client_addr: Some("10.0.0.7"),
        ..SessionView::default()
    };
    let decision = Evaluator::new(configuration.clone()).decide(
        &session,
        &Statement::new(probe.sql.as_bytes(), LexMode::default()),
    );
    let is_shown = match (&decision.outcome, probe.shows) {
        (Outcome::Reject(_), Shows::Refused) => true,
        (Outcome::Route(route), shows) => match shows {
            Shows::Cluster(cluster) => route.cluster.as_deref() == Some(cluster),
            Shows::Readers(cluster) => {
                route.cluster.as_deref() == Some(cluster) && route.role == Some(Role::Reader)
            }
            Shows::Refused => configuration.refusing(route.hostgroup).is_some(),
            Shows::DelayMs(ms) => route.effects.certain_delay_ms() == Some(ms),
            Shows::CacheMs(ms) => route.effects.cache_ttl_ms == Some(ms),
            Shows::TimeoutMs(ms) => {
                let user = configuration
                    .user(probe.user)
                    .and_then(|user| user.statement_timeout_ms);
                route.effects.timeout_ms.or(user) == Some(ms)
            }
            Shows::Mirrored => route.effects.mirror_hostgroup.is_some(),
            Shows::NotMultiplexed => route.effects.multiplex == Some(0),
        },
        _ => false,
    };
    match is_shown {
        true => Ok(()),
        false => Err(format!(
            "{} of {} in {}: {:?}, which does not show {:?}",
            probe.sql, probe.user, probe.schema, decision.outcome, probe.shows
        )),
    }
}

fn result(features: &[&Feature], engine: EngineId) -> Result {
    match compiled(features, engine) {
        Err(codes) => Result::Refused(codes),
        Ok(compiled) => {
            for feature in features {
                if let Err(why) = shows(&compiled, &feature.probe) {
                    let names: Vec<&str> = features.iter().map(|one| one.name).collect();
                    panic!("{engine}: {}: {why}\n{}", names.join(" and "), topology(features));
                }
            }
            Result::Works
        }
    }
}

/// Every feature, and every pair.
pub(crate) fn every_pair() -> impl Iterator<Item = Vec<&'static Feature>> {
    let alone = FEATURES.iter().map(|feature| vec![feature]);
    let pairs = FEATURES.iter().enumerate().flat_map(|(at, one)| {
        let others = FEATURES[at + 1..].iter();
        others.map(move |other| vec![one, other])
    });
    alone.chain(pairs)
}

#[test]
fn every_pair_works_or_is_refused_at_its_line() {
    let mut made = String::new();
    for engine in ENGINES {
        let mut refused = Vec::new();
        let mut works = 0;
        for pair in every_pair() {
            match result(&pair, engine) {
                Result::Works => works += 1,
                Result::Refused(codes) => refused.push((pair, codes)),
            }
        }
        let total = works + refused.len();
        writeln!(made, "\n## {engine}\n\n{works} of {total} work.\n").unwrap();
        if refused.is_empty() {
            continue;
        }
        made.push_str("| feature | with | refused with |\n|---|---|---|\n");
        let alone: BTreeSet<&str> = refused
            .iter()
            .filter(|(pair, _)| pair.len() == 1)
            .map(|(pair, _)| pair[0].name)
            .collect();
        for (pair, codes) in &refused {
            // Whatever is refused alone is refused with everything.
            if pair.len() > 1 && pair.iter().any(|feature| alone.contains(feature.name)) {
                continue;
            }
            let codes: Vec<String> = codes
                .iter()
                .map(|code| format!("[{code}](rules/{code}.md)"))
                .collect();
            let other = pair.get(1).map_or("anything", |feature| feature.name);
            writeln!(made, "| {} | {other} | {} |", pair[0].name, codes.join(", ")).unwrap();
        }
    }
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(PAGE);
    let page = fs::read_to_string(&path).unwrap();
    let (before, rest) = page.split_once(BEGIN).expect("the page has this part");
    let (_, after) = rest.split_once(END).expect("the part has an end");
    let renewed = format!("{before}{BEGIN}{made}\n{END}{after}");
    if std::env::var("INSTA_UPDATE").is_ok_and(|value| value == "always") {
        fs::write(&path, &renewed).unwrap();
    }
    assert!(
        fs::read_to_string(&path).unwrap() == renewed,
        "docs/feature-pairs.md is stale; INSTA_UPDATE=always writes it"
    );
}
