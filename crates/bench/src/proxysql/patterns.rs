//! What one evaluation of each kind of pattern costs a ProxySQL, by the length of the text.
//!
//! Copies of one rule stand in a list that decides nothing, and behind them one rule that answers. Of the processor time
//! of a statement, what is above the list without copies is theirs; divided by their number it is one evaluation. No server
//! is needed.

use std::net::SocketAddr;

use mysql::Conn;
use mysql::prelude::Queryable;
use serde::Serialize;
use serde_json::json;
use shardwright_compiler::{CataloguePattern, catalogue};
use shardwright_rules::{EngineRule, PatternKind, PatternPrices, RegexEngine, TextLength};
use shardwright_testkit::{ClientOptions, connect, text_rows};

use super::BenchError;
use super::process::{self, ProxySql};
use super::rule_sets::{PASSWORD, USER};
use crate::endpoint::pin_process;
use crate::{Report, Summary, Table, cpu_time_of_group};

/// Bytes of a hostile text, and of a longer one that shows how time grows.
const HOSTILE_BYTES: [usize; 2] = [500, 5_000];
/// A SELECT with a JOIN, behind the comment of its key.
const USUAL: &str = "/* tenant=17 */ SELECT o.id, o.total, c.name FROM orders o JOIN customers c ON c.id = o.customer_id WHERE o.state = 'open' AND o.total > 100 LIMIT 20";
const REPEATED: &str =
    "a.id, b.name, 'x y', 17 FROM t1 a JOIN t2 b ON a.id = b.id WHERE a.x = 5 AND b.y = 'abc' AND ";

/// What to measure.
#[derive(Clone, Debug)]
pub struct PatternPlan {
    /// The ProxySQL.
    pub program: std::path::PathBuf,
    /// How often each pattern has its turn.
    pub rounds: u32,
    /// The core for proxy and client.
    pub core: u32,
    /// The library that matches patterns.
    pub regex: RegexEngine,
}

/// What was measured.
#[derive(Clone, Debug)]
pub struct PatternFigures {
    /// All figures.
    pub report: Report,
    /// What ProxySQL says of its version.
    pub version: String,
    /// One evaluation of each kind.
    pub prices: PatternPrices,
    /// One visit to a rule of another chain.
    pub visit_ns: f64,
}

/// A text, and how it is measured.
#[derive(Clone, Debug)]
struct Subject {
    name: String,
    text: String,
    /// Copies of a rule.
    copies: u32,
    /// Statements in one turn.
    statements: u32,
}

/// One pattern on one text in one round.
#[derive(Clone, Debug, Serialize)]
struct Sample {
    pattern: String,
    text: String,
    round: u32,
    ns: f64,
}

/// A rule that is measured.
struct Candidate {
    name: String,
    kind: Option<PatternKind>,
    rule: EngineRule,
    flag_in: u32,
    hostile: Vec<[&'static str; 3]>,
}

fn candidates(regex: RegexEngine) -> Vec<Candidate> {
    let listed = catalogue(regex)
        .into_iter()
        .map(|pattern: CataloguePattern| Candidate {
            name: pattern.name.to_owned(),
            kind: Some(pattern.kind),
            rule: pattern.rule,
            flag_in: 0,
            hostile: pattern.hostile,
        });
    let by_hand = [
        (PatternKind::Letter, "FROM users\\b"),
        (PatternKind::Search, "(?:FROM|JOIN|INTO) users\\b"),
        (PatternKind::Through, "^SELECT .* FROM report_"),
    ]
    .map(|(kind, text)| Candidate {
        name: format!("by hand: {text}"),
        kind: Some(kind),
        rule: EngineRule {
            match_pattern: Some(text.to_owned()),
            ..EngineRule::default()
        },
        flag_in: 0,
        hostile: vec![["SELECT ", "FROM user ", ""]],
    });
    let visit = Candidate {
        name: "a visit".to_owned(),
        kind: None,
        rule: EngineRule::default(),
        flag_in: 1,
        hostile: Vec::new(),
    };
    listed.chain(by_hand).chain([visit]).collect()
}

fn filled(beginning: &str, piece: &str, end: &str, bytes: usize) -> String {
    let room = bytes.saturating_sub(beginning.len() + end.len());
    format!(
        "{beginning}{}{end}",
        piece.repeat(room.div_ceil(piece.len().max(1)))
    )
}

fn subjects() -> [Subject; 4] {
    TextLength::ALL.map(|length| {
        let (text, copies, statements) = match length {
            TextLength::Short => ("/*tenant=17*/SELECT 1".to_owned(), 200, 1_000),
            TextLength::Usual => (USUAL.to_owned(), 100, 600),
            TextLength::Long => (
                filled("/* tenant=17 */ SELECT ", REPEATED, "c=1", length.bytes()),
                20,
                300,
            ),
            TextLength::Huge => (
                filled("/* tenant=17 */ SELECT ", REPEATED, "c=1", length.bytes()),
                1,
                4,
            ),
        };
        Subject {
            name: format!("{} bytes", text.len()),
            text,
            copies,
            statements,
        }
    })
}

/// The running proxy as its client sees it.
struct Bench {
    admin: Conn,
    address: SocketAddr,
    group: u32,
}

impl Bench {
    fn start(proxy: &ProxySql, regex: RegexEngine) -> Result<Self, BenchError> {
        let mut bench = Self {
            admin: proxy.admin()?,
            address: proxy.address(),
            group: proxy.group(),
        };
        let library = match regex {
            RegexEngine::Pcre => 1,
            RegexEngine::Re2 => 2,
        };
        for statement in [
            "DELETE FROM mysql_users".to_owned(),
            format!(
                "INSERT INTO mysql_users (username, password, default_hostgroup) VALUES ('{USER}', '{PASSWORD}', 0)"
            ),
            "LOAD MYSQL USERS TO RUNTIME".to_owned(),
            format!("SET mysql-query_processor_regex='{library}'"),
            "LOAD MYSQL VARIABLES TO RUNTIME".to_owned(),
        ] {
            bench.admin.query_drop(statement)?;
        }
        Ok(bench)
    }

    /// Puts copies of a rule in front of the one that answers.
    fn load(&mut self, candidate: Option<&Candidate>, copies: u32) -> Result<(), BenchError> {
        self.admin.query_drop("DELETE FROM mysql_query_rules")?;
        if let Some(Candidate { rule, flag_in, .. }) = candidate {
            let quoted = |text: &Option<String>| {
                text.as_ref().map_or_else(
                    || "NULL".to_owned(),
                    |text| format!("'{}'", text.replace('\'', "''")),
                )
            };
            let modifiers = if rule.re_modifiers.caseless {
                "CASELESS"
            } else {
                ""
            };
            let (text, digest) = (quoted(&rule.match_pattern), quoted(&rule.match_digest));
            for id in 1..=copies {
                self.admin.query_drop(format!(
                    "INSERT INTO mysql_query_rules (rule_id, active, flagIN, match_pattern, match_digest, re_modifiers, apply) \
                     VALUES ({id}, 1, {flag_in}, {text}, {digest}, '{modifiers}', 0)"
                ))?;
            }
        }
        for statement in [
            "INSERT INTO mysql_query_rules (rule_id, active, OK_msg, apply) VALUES (100000, 1, '', 1)",
            "LOAD MYSQL QUERY RULES TO RUNTIME",
        ] {
            self.admin.query_drop(statement)?;
        }
        let rows = text_rows(&mut self.admin, "SELECT COUNT(*) FROM runtime_mysql_query_rules")?;
        let live = rows.into_iter().flatten().flatten().next().unwrap_or_default();
        let expected = candidate.map_or(1, |_| copies + 1).to_string();
        if live == expected {
            return Ok(());
        }
        Err(BenchError::Output {
            what: "rules that were loaded are not live".to_owned(),
            output: format!("{expected} loaded, {live} live"),
        })
    }

    /// Processor time of the proxy for one statement.
    fn statement_ns(&self, subject: &Subject) -> Result<f64, BenchError> {
        let user = ClientOptions {
            user: USER,
            password: PASSWORD,
            schema: None,
        };
        let mut connection = connect(self.address, user)?;
        // The proxy copies new rules into its thread at the first statement.
        connection.query_drop(&subject.text)?;
        let cpu = || cpu_time_of_group(self.group).map_err(BenchError::io("processor time of the proxy"));
        let before = cpu()?;
        for _ in 0..subject.statements {
            connection.query_drop(&subject.text)?;
        }
        let spent = cpu()?.saturating_sub(before);
        Ok(spent.as_nanos() as f64 / f64::from(subject.statements))
    }
}

/// Starts the proxy and measures every pattern on every text. This process stays pinned to the core.
///
/// # Errors
/// The proxy does not start, or a statement fails.
pub fn run(plan: &PatternPlan, mut progress: impl FnMut(&str)) -> Result<PatternFigures, BenchError> {
    let version = process::version(&plan.program)?;
    let core = plan.core.to_string();
    let proxy = ProxySql::start(&plan.program, &core)?;
    pin_process(std::process::id(), &core, "pinning the client")?;
    let mut bench = Bench::start(&proxy, plan.regex)?;
    let candidates = candidates(plan.regex);
    let mut samples = Vec::new();
    for round in 1..=plan.rounds {
        for subject in subjects() {
            bench.load(None, 0)?;
            let empty = bench.statement_ns(&subject)?;
            for candidate in &candidates {
                progress(&format!(
                    "patterns: round {round} of {}, {}, {}",
                    plan.rounds, subject.name, candidate.name
                ));
                bench.load(Some(candidate), subject.copies)?;
                let ns = (bench.statement_ns(&subject)? - empty) / f64::from(subject.copies);
                samples.push(Sample {
                    pattern: candidate.name.clone(),
                    text: subject.name.clone(),
                    round,
                    ns,
                });
            }
        }
        for candidate in &candidates {
            hostile(&mut bench, candidate, round, &mut samples)?;
        }
    }
    Ok(figures(plan, version, &candidates, &samples))
}

/// Measures a pattern on all texts that are bad for it.
fn hostile(
    bench: &mut Bench,
    candidate: &Candidate,
    round: u32,
    samples: &mut Vec<Sample>,
) -> Result<(), BenchError> {
    for bytes in HOSTILE_BYTES {
        for [beginning, piece, end] in &candidate.hostile {
            let subject = Subject {
                name: format!("hostile {bytes} {beginning}{piece}{end}"),
                text: filled(beginning, piece, end, bytes),
                copies: 10,
                statements: 20,
            };
            bench.load(None, 0)?;
            let empty = bench.statement_ns(&subject)?;
            bench.load(Some(candidate), subject.copies)?;
            let ns = (bench.statement_ns(&subject)? - empty) / f64::from(subject.copies);
            samples.push(Sample {
                pattern: candidate.name.clone(),
                text: subject.name,
                round,
                ns,
            });
        }
    }
    Ok(())
}

fn figures(
    plan: &PatternPlan,
    version: String,
    candidates: &[Candidate],
    samples: &[Sample],
) -> PatternFigures {
    let median = |candidate: &Candidate, text: &str| {
        let of = samples
            .iter()
            .filter(|sample| sample.pattern == candidate.name && sample.text == text);
        // What is below the noise of the machine counts as nothing.
        Summary::of(of.map(|sample| sample.ns)).map_or(0.0, |summary| summary.median.max(0.0))
    };
    let texts = subjects().map(|subject| subject.name);
    let headings = ["pattern, ns".to_owned(), "kind".to_owned()];
    let hostile = HOSTILE_BYTES.map(|bytes| format!("hostile {bytes}"));
    let all: Vec<&str> = headings
        .iter()
        .chain(&texts)
        .chain(&hostile)
        .map(String::as_str)
        .collect();
    let mut table = Table::new(all);
    let mut prices = PatternPrices::alike(0.0);
    let mut summary = Vec::new();
    let mut visit_ns = 0.0;
    for candidate in candidates {
        let by_length = texts.each_ref().map(|text| median(candidate, text));
        let worst = HOSTILE_BYTES.map(|bytes| {
            let text =
                |[beginning, piece, end]: &[&str; 3]| format!("hostile {bytes} {beginning}{piece}{end}");
            let times = candidate
                .hostile
                .iter()
                .map(|pieces| median(candidate, &text(pieces)));
            times.fold(0.0, f64::max)
        });
        match candidate.kind {
            // A kind costs what the dearest of its patterns costs.
            Some(kind) => {
                let of_kind = &mut prices.0[kind as usize];
                for (price, ns) in of_kind.iter_mut().zip(by_length) {
                    *price = price.max(ns);
                }
            }
            None => visit_ns = by_length[0],
        }
        let shown = by_length.iter().chain(&worst).map(|ns| format!("{ns:.0}"));
        let kind = candidate.kind.map_or("", PatternKind::name).to_owned();
        table.row([candidate.name.clone(), kind].into_iter().chain(shown));
        summary.push(json!({
            "pattern": candidate.name,
            "kind": candidate.kind,
            "ns": by_length,
            "hostile_ns": worst,
        }));
    }
    let name = match plan.regex {
        RegexEngine::Pcre => "patterns",
        RegexEngine::Re2 => "patterns-re2",
    };
    let report = Report {
        name,
        title: format!("One evaluation of each kind of pattern in {version}, ns"),
        parameters: json!({"version": version, "rounds": plan.rounds, "regex": plan.regex}),
        tables: vec![table],
        samples: samples.iter().map(|sample| json!(sample)).collect(),
        summary: json!(summary),
    };
    PatternFigures {
        report,
        version,
        prices,
        visit_ns,
    }
}
