//! What the samples of all rule sets come to: a table, and prices.

use serde_json::{Value, json};
use shardwright_rules::{EngineId, RegexEngine};

use super::prices::{self, FitError, Fitted, Point};
use super::rounds::{Figures, Sample};
use super::rule_sets::{Layout, RuleSet};
use super::{Measured, Plan};
use crate::{Report, Table};

pub(super) fn measured(plan: &Plan, version: String, sets: &[RuleSet], samples: &[Sample]) -> Measured {
    let mut table = Table::new([
        "shards, rules",
        "rules",
        "evaluations",
        "visits",
        "statements/s",
        "CPU µs",
        "rules µs (min..max)",
        "by the prices",
    ]);
    let (mut summary, mut points) = (Vec::new(), Vec::new());
    for set in sets {
        let Some(figures) = Figures::of(samples, set) else {
            continue;
        };
        table.row(row(set, &figures));
        summary.push(json!({
            "layout": set.layout,
            "shards": set.shards,
            "rules": set.rules,
            "mean_evaluations": set.evaluations,
            "mean_visits": set.visits,
            "expected_ns": set.expected_ns,
            "figures": figures,
        }));
        if set.layout != Layout::Empty {
            points.push(Point {
                evaluations: set.evaluations,
                visits: set.visits,
                ns: figures.rules_ns.median,
                total_ns: figures.cpu_ns.median,
            });
        }
    }
    let fitted = prices::fit(&points);
    let (now, fit) = price_rows(&mut table, plan.regex, fitted);
    let report = Report {
        name: "proxysql",
        title: format!("What rules take of a statement in {version}"),
        parameters: json!({
            "version": version,
            "rounds": plan.rounds,
            "statements": plan.statements,
            "regex": plan.regex,
        }),
        tables: vec![table],
        samples: samples.iter().map(|sample| json!(sample)).collect(),
        summary: json!({"sets": summary, "profile": now, "fit": fit}),
    };
    Measured {
        report,
        version,
        prices: fitted,
    }
}

fn row(set: &RuleSet, figures: &Figures) -> [String; 8] {
    let us = |ns: f64| format!("{:.2}", ns / 1e3);
    let rules = figures.rules_ns;
    [
        format!("{}, {}", set.shards, set.layout.name()),
        set.rules.to_string(),
        format!("{:.2}", set.evaluations),
        format!("{:.1}", set.visits),
        format!("{:.0}", figures.statements_per_second.median),
        us(figures.cpu_ns.median),
        format!("{} ({}..{})", us(rules.median), us(rules.min), us(rules.max)),
        us(set.expected_ns),
    ]
}

/// Adds the prices of the profile and those that fit to the table; gives both as JSON.
fn price_rows(table: &mut Table, regex: RegexEngine, fitted: Result<Fitted, FitError>) -> (Value, Value) {
    let profile = EngineId::Proxysql27.profile().prices;
    let (evaluation, visit) = (profile.evaluation_ns(regex), profile.visit_ns);
    let ns = |what: &str, evaluation: f64, visit: f64| {
        [
            format!("{what}, ns each"),
            String::new(),
            format!("{evaluation:.1}"),
            format!("{visit:.1}"),
        ]
    };
    table.row(ns("prices of the profile", evaluation, visit));
    let fit = match fitted {
        Ok(fitted) => {
            table.row(ns("prices that fit best", fitted.evaluation_ns, fitted.visit_ns));
            table.row([format!(
                "worst error of the fit: {:.1} % of a statement",
                fitted.worst_error * 1e2
            )]);
            json!(fitted)
        }
        Err(error) => {
            table.row([format!("no prices: {error}")]);
            json!({"error": error.to_string()})
        }
    };
    (json!({"evaluation_ns": evaluation, "visit_ns": visit}), fit)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::PathBuf;

    use crate::proxysql::rule_sets;

    /// What a proxy by `evaluation_ns` and `visit_ns` would take, with 30 µs that are not of rules.
    fn synthetic(sets: &[RuleSet], evaluation_ns: f64, visit_ns: f64) -> Vec<Sample> {
        let sample = |set: &RuleSet, round: u32| {
            let rules = set.evaluations * evaluation_ns + set.visits * visit_ns;
            Sample {
                layout: set.layout,
                shards: set.shards,
                round,
                statements: 10_000,
                seconds: 0.5,
                cpu_ns: ((30_000.0 + 1_000.0 * f64::from(round) + rules) * 10_000.0) as u64,
            }
        };
        (1..=3)
            .flat_map(|round| sets.iter().map(move |set| sample(set, round)))
            .collect()
    }

    fn plan() -> Plan {
        Plan {
            program: PathBuf::new(),
            shards: vec![200, 1_000],
            rounds: 3,
            statements: 10_000,
            core: 0,
            regex: RegexEngine::Pcre,
        }
    }

    fn sets(plan: &Plan) -> Vec<RuleSet> {
        let backend = "127.0.0.1:4006".parse().unwrap();
        let of = |&shards| {
            Layout::ALL.map(|layout| rule_sets::rule_set(layout, shards, backend, plan.regex).unwrap())
        };
        plan.shards.iter().flat_map(of).collect()
    }

    #[test]
    fn the_prices_of_a_proxy_are_found_by_its_samples() {
        let plan = plan();
        let sets = sets(&plan);
        let samples = synthetic(&sets, 61.0, 3.0);
        let measured = measured(&plan, "ProxySQL version 0".to_owned(), &sets, &samples);
        let fitted = measured.prices.unwrap();
        assert!((fitted.evaluation_ns - 61.0).abs() < 0.01, "{fitted:?}");
        assert!((fitted.visit_ns - 3.0).abs() < 0.01, "{fitted:?}");
        assert_eq!(measured.report.samples.len(), 18);
        insta::assert_snapshot!(measured.report, @r#"
        proxysql: What rules take of a statement in ProxySQL version 0

        shards, rules                                 rules  evaluations  visits  statements/s  CPU µs   rules µs (min..max)  by the prices
        200, empty                                        0         0.00     0.0         20000   32.00     0.00 (0.00..0.00)           0.00
        200, flat                                       240       101.50   111.5         20000   38.53     6.53 (6.53..6.53)          10.99
        200, tree                                       330         9.26   135.5         20000   32.97     0.97 (0.97..0.97)           1.70
        1000, empty                                       0         0.00     0.0         20000   32.00     0.00 (0.00..0.00)           0.00
        1000, flat                                     1040       501.50   511.5         20000   64.13  32.13 (32.13..32.13)          53.59
        1000, tree                                     1288        12.48   577.0         20000   34.49     2.49 (2.49..2.49)           4.06
        prices of the profile, ns each                             101.9     4.6
        prices that fit best, ns each                               61.0     3.0
        worst error of the fit: 0.0 % of a statement
        "#);
    }

    #[test]
    fn samples_that_give_no_prices_are_still_reported() {
        let plan = plan();
        let sets = sets(&plan);
        let measured = measured(
            &plan,
            "ProxySQL version 0".to_owned(),
            &sets,
            &synthetic(&sets, 0.0, 0.0),
        );
        assert!(
            matches!(measured.prices, Err(FitError::NotPositive { .. })),
            "{:?}",
            measured.prices
        );
        let shown = measured.report.to_string();
        assert!(
            shown.contains("no prices: the prices that fit best are not above 0"),
            "{shown}"
        );
        assert_eq!(measured.report.summary["sets"].as_array().unwrap().len(), 6);
    }
}
