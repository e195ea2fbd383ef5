//! `prove`: claims about rule sets, with three answers: proved, refuted with a statement, undecided.

use std::collections::BTreeSet;

use serde::Serialize;
use shardwright_prover::equivalence::{
    ComparedSession, Difference, Equivalence, Means, Tried, equivalence_by,
};
use shardwright_prover::{Budget, USUAL_CLIENT, USUAL_LISTENER};
use shardwright_routing::RoutingTable;
use shardwright_rules::{Body, EngineId, Statement};
use shardwright_simulation::visits;
use shardwright_sql::LexMode;

use crate::args::{Equivalent, Format, Global, Prove, ProveWhat};
use crate::commands::route::answer::Answer;
use crate::error::CommandError;
use crate::exit::Exit;
use crate::project;
use crate::recorded;
use crate::rule_set::{self, Reference, RuleSet};
use crate::ui::{Ui, printable};

/// Different statements of logs that are tried.
const MOST_RECORDED: usize = 200_000;

pub(crate) fn run(args: &Prove, global: &Global, ui: &Ui) -> Result<Exit, CommandError> {
    let ProveWhat::Equivalent(args) = &args.what;
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
    Ok(match claim.answer {
        "proved" => Exit::Done,
        "refuted" => Exit::Findings,
        _ => Exit::Undecided,
    })
}

/// The statements of the logs, each once.
fn recorded_statements(args: &Equivalent, ui: &Ui) -> Result<Vec<Tried>, CommandError> {
    let mut statements = BTreeSet::new();
    for log in &args.log {
        recorded::read(log, args.log_format, ui, |record| {
            if statements.len() < MOST_RECORDED {
                statements.insert(Tried {
                    user: record.user.map(str::to_owned),
                    schema: record.schema.map(str::to_owned),
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
    let references = [&args.a, other].map(|text| Reference::parse(text));
    let common = rule_set::common_engine(&[&references[0], &references[1]]);
    Ok([
        rule_set::open(&args.a, first.or(common), global, ui)?,
        rule_set::open(other, second.or(common), global, ui)?,
    ])
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

/// A statement that goes different ways.
#[derive(Serialize)]
struct Witness {
    user: String,
    schema: String,
    /// The schemas of a session that names none, where they differ.
    #[serde(skip_serializing_if = "Option::is_none")]
    default_schemas: Option<[Option<String>; 2]>,
    query: String,
    client: String,
    listener: ListenedAt,
    flag: u32,
    transaction_hostgroup: Option<u32>,
    a: Option<Answer>,
    b: Option<Answer>,
}

/// Where a client connects to.
#[derive(Serialize)]
struct ListenedAt {
    address: String,
    port: u16,
}

impl Claim {
    fn new(left: &RuleSet, right: &RuleSet, answer: Equivalence) -> Self {
        let (mut word, differences, mut undecided) = match answer {
            Equivalence::Proved => ("proved", Vec::new(), Vec::new()),
            Equivalence::Refuted {
                differences,
                undecided,
            } => ("refuted", differences, undecided),
            Equivalence::Undecided { constructs } => ("undecided", Vec::new(), constructs),
        };
        // What the model leaves out could make either answer wrong.
        for set in [left, right] {
            for construct in &set.unmodelled {
                word = "undecided";
                undecided.push(format!("{}: {construct}", set.name));
            }
        }
        undecided.dedup();
        let table = RoutingTable::new(left.configuration.clone());
        let tables = {
            let changed = table.changed(right.configuration.clone());
            [table, changed]
        };
        let witnesses = differences
            .iter()
            .map(|difference| Witness::new(difference, [left, right], &tables))
            .collect();
        Self {
            answer: word,
            witnesses,
            undecided,
            besides: [left, right]
                .into_iter()
                .find_map(not_covered)
                .into_iter()
                .collect(),
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
        let width = left.name.chars().count().max(right.name.chars().count());
        for witness in &self.witnesses {
            lines.push(format!("  {}", witness.heading()));
            for (side, (set, answer)) in [(left, &witness.a), (right, &witness.b)].into_iter().enumerate() {
                let name = ui.faint(&format!("{:width$}", set.name));
                match answer {
                    Some(answer) => lines.push(format!(
                        "    {name}  {}{}{}{}",
                        answer.destination(),
                        witness.schema_on(side),
                        witness.effects_of(answer),
                        answer.decided_by()
                    )),
                    None => lines.push(format!("    {name}  no such user")),
                }
            }
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

impl Witness {
    fn new(difference: &Difference, sets: [&RuleSet; 2], tables: &[RoutingTable; 2]) -> Self {
        let session: &ComparedSession = &difference.session;
        let statement = Statement::new(&difference.statement, LexMode::default());
        let answer = |side: usize, there: bool| {
            there.then(|| {
                let decision = tables[side].explain(&session.view(side), &statement);
                let visited = visits(&tables[side], &session.view(side), &statement, &decision);
                Answer::new(sets[side], &difference.statement, &decision, &visited)
            })
        };
        Self {
            user: session.user.clone(),
            schema: match &session.schemas {
                [one, other] if one == other => one.clone().unwrap_or_default(),
                _ => String::new(),
            },
            default_schemas: (session.schemas[0] != session.schemas[1]).then(|| session.schemas.clone()),
            query: String::from_utf8_lossy(&difference.statement).into_owned(),
            client: session.client_addr.clone(),
            listener: ListenedAt {
                address: session.listener.0.clone(),
                port: session.listener.1,
            },
            flag: session.flag,
            transaction_hostgroup: session.transaction,
            a: answer(0, difference.left.is_some()),
            b: answer(1, difference.right.is_some()),
        }
    }

    /// ` in schema shop`, where the session finds another one on each side.
    fn schema_on(&self, side: usize) -> String {
        match &self.default_schemas {
            None => String::new(),
            Some(schemas) => match &schemas[side] {
                Some(schema) => format!(" in schema {schema}"),
                None => " in no schema".to_owned(),
            },
        }
    }

    /// `, delayed 700 ms`, if the destinations are the same.
    fn effects_of(&self, answer: &Answer) -> String {
        match (&self.a, &self.b) {
            (Some(a), Some(b))
                if a.destination() == b.destination() && a.query == b.query && a.effects() != b.effects() =>
            {
                match answer.effects() {
                    none if none.is_empty() => ", without effects".to_owned(),
                    some => some.iter().map(|(what, how)| format!(", {what} {how}")).collect(),
                }
            }
            _ => String::new(),
        }
    }

    /// `user=app schema=shop  SELECT 1`
    fn heading(&self) -> String {
        let schema = match self.schema.as_str() {
            "" => String::new(),
            schema => format!(" schema={schema}"),
        };
        let client = match self.client.as_str() {
            USUAL_CLIENT => String::new(),
            client => format!(" client={client}"),
        };
        let listener = match (self.listener.address.as_str(), self.listener.port) {
            USUAL_LISTENER => String::new(),
            (address, port) => format!(" listener={address}:{port}"),
        };
        let flag = match self.flag {
            0 => String::new(),
            flag => format!(" chain={flag}"),
        };
        let transaction = match self.transaction_hostgroup {
            Some(hostgroup) => format!(" transaction={hostgroup}"),
            None => String::new(),
        };
        format!(
            "user={}{schema}{client}{listener}{flag}{transaction}  {}",
            self.user,
            printable(&self.query)
        )
    }
}
