//! `prove`: claims about rule sets, with three answers: proved, refuted with a statement, undecided.

mod refines;
mod witness;

use std::collections::BTreeSet;

use serde::Serialize;
use shardwright_prover::Budget;
use shardwright_prover::equivalence::{Difference, Equivalence, Means, Tried, equivalence_by};
use shardwright_routing::RoutingTable;
use shardwright_rules::{Body, EngineId};

use crate::args::{Equivalent, Format, Global, Prove, ProveWhat};
use crate::error::CommandError;
use crate::exit::Exit;
use crate::project;
use crate::recorded;
use crate::rule_set::{self, Reference, RuleSet};
use crate::ui::Ui;
use witness::Witness;

/// Different statements of logs that are tried.
const MOST_RECORDED: usize = 200_000;

pub(crate) fn run(args: &Prove, global: &Global, ui: &Ui) -> Result<Exit, CommandError> {
    match &args.what {
        ProveWhat::Equivalent(args) => equivalent(args, global, ui),
        ProveWhat::Refines(args) => refines::run(args, global, ui),
    }
}

fn equivalent(args: &Equivalent, global: &Global, ui: &Ui) -> Result<Exit, CommandError> {
    let [left, right] = sides(args, global, ui)?;
    let means = Means {
        budget: Budget::times(args.budget),
        statements: recorded_statements(args, ui)?,
    };
    let (answer, _) = equivalence_by(&left.configuration, &right.configuration, &means);
    let claim = Claim::new(&left, &right, answer);
    if ui.format() == Format::Json {
        ui.json(&claim)?;
    } else {
        ui.data(&claim.to_text(&left, &right, ui))?;
    }
    Ok(exit(claim.answer))
}

fn exit(answer: &str) -> Exit {
    match answer {
        "proved" => Exit::Done,
        "refuted" => Exit::Findings,
        _ => Exit::Undecided,
    }
}

/// The statements of the logs, each once.
fn recorded_statements(args: &Equivalent, ui: &Ui) -> Result<Vec<Tried>, CommandError> {
    let mut statements = BTreeSet::new();
    for log in &args.log {
        recorded::read(log, args.log_format, ui, |record| {
            if statements.len() < MOST_RECORDED {
                statements.insert(Tried {
                    user: record.user.map(str::to_owned),
                    schema: record.schema.name().map(str::to_owned),
                    text: record.text.to_vec(),
                });
            }
        })?;
    }
    Ok(statements.into_iter().collect())
}

/// Both rule sets, each for its engine.
fn sides(args: &Equivalent, global: &Global, ui: &Ui) -> Result<[RuleSet; 2], CommandError> {
    let engines: Vec<EngineId> = args
        .engine
        .iter()
        .map(|name| project::engine(name))
        .collect::<Result<_, _>>()?;
    let (first, second) = match engines.as_slice() {
        [] => (None, None),
        [one] => (Some(*one), Some(*one)),
        [first, second] => (Some(*first), Some(*second)),
        _ => return Err(CommandError::usage("--engine can be given at most twice")),
    };
    let other = match &args.b {
        Some(other) => other,
        None if engines.len() == 2 => &args.a,
        None => {
            return Err(CommandError::usage("a second rule set is missing")
                .hint("name a second rule set, or two engines with --engine"));
        }
    };
    opened([&args.a, other], [first, second], global, ui)
}

/// Two rule sets by name. Where no engine is asked for, it is that of a file among them.
fn opened(
    names: [&str; 2],
    engines: [Option<EngineId>; 2],
    global: &Global,
    ui: &Ui,
) -> Result<[RuleSet; 2], CommandError> {
    let references = names.map(Reference::parse);
    let common = rule_set::common_engine(&[&references[0], &references[1]]);
    let mut left = rule_set::open(names[0], engines[0].or(common), global, ui)?;
    let mut right = rule_set::open(names[1], engines[1].or(common), global, ui)?;
    left.stand_beside_users_of(&right.configuration);
    right.stand_beside_users_of(&left.configuration);
    Ok([left, right])
}

/// The word of an answer, its statements, and what is undecided. What is not modelled could make any answer wrong.
fn read(sets: [&RuleSet; 2], answer: Equivalence) -> (&'static str, Vec<Difference>, Vec<String>) {
    let (mut word, differences, mut undecided) = match answer {
        Equivalence::Proved => ("proved", Vec::new(), Vec::new()),
        Equivalence::Refuted {
            differences,
            undecided,
        } => ("refuted", differences, undecided),
        Equivalence::Undecided { constructs } => ("undecided", Vec::new(), constructs),
    };
    for set in sets {
        for construct in &set.unmodelled {
            word = "undecided";
            undecided.push(format!("{}: {construct}", set.name));
        }
    }
    undecided.dedup();
    (word, differences, undecided)
}

/// The routing tables of both sides; what they share is compiled once.
fn tables([left, right]: [&RuleSet; 2]) -> [RoutingTable; 2] {
    let table = RoutingTable::new(left.configuration.clone());
    let changed = table.changed(right.configuration.clone());
    [table, changed]
}

/// `prove --format json`; keys are only ever added.
#[derive(Serialize)]
struct Claim {
    answer: &'static str,
    witnesses: Vec<Witness>,
    undecided: Vec<String>,
    /// What the answer is not about.
    besides: Vec<String>,
}

impl Claim {
    fn new(left: &RuleSet, right: &RuleSet, answer: Equivalence) -> Self {
        let (word, differences, undecided) = read([left, right], answer);
        let tables = tables([left, right]);
        let witnesses = differences
            .iter()
            .map(|difference| Witness::new(difference, [left, right], &tables))
            .collect();
        Self {
            answer: word,
            witnesses,
            undecided,
            besides: besides([left, right]),
        }
    }

    fn to_text(&self, left: &RuleSet, right: &RuleSet, ui: &Ui) -> String {
        let mut lines = vec![match self.answer {
            "proved" => format!(
                "{}: every statement of every session goes the same way",
                ui.strong("proved")
            ),
            "refuted" => format!(
                "{}: {} of the statements that go different ways",
                ui.strong("refuted"),
                self.witnesses.len()
            ),
            _ => format!("{}: neither proved nor refuted", ui.strong("undecided")),
        }];
        for witness in &self.witnesses {
            lines.extend(witness.lines([left, right], ui));
        }
        if !self.undecided.is_empty() {
            lines.push("undecided because of".to_owned());
            lines.extend(self.undecided.iter().map(|construct| format!("  {construct}")));
        }
        lines.extend(
            self.besides
                .iter()
                .map(|besides| format!("not covered: {besides}")),
        );
        lines.join("\n") + "\n"
    }
}

/// What an answer is not about.
fn besides(sets: [&RuleSet; 2]) -> Vec<String> {
    let of_others = sets.into_iter().filter(|set| !set.users_of_others.is_empty());
    let of_others = of_others.map(|set| {
        format!(
            "whether {} stay as they are: {} leaves these users to others",
            set.users_of_others.join(", "),
            set.name
        )
    });
    sets.into_iter()
        .find_map(not_covered)
        .into_iter()
        .chain(of_others)
        .collect()
}

/// Executions are routed like their text, except where a rule rewrites it.
fn not_covered(set: &RuleSet) -> Option<String> {
    let engine = &set.configuration.engine.profile().prepared;
    if !engine.at_execute.rewrite {
        return None;
    }
    let mut rules = set.configuration.graph.rules.iter();
    let rewriting =
        rules.find(|rule| matches!(&rule.body, Body::Engine(row) if row.replace_pattern.is_some()))?;
    Some(format!(
        "executions of prepared statements: {} does not rewrite them, and rule {} of {} rewrites",
        set.configuration.engine, rewriting.id, set.name
    ))
}
