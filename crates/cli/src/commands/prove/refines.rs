//! `prove refines`: whether one rule set places no statement where another does not.

use serde::Serialize;
use shardwright_prover::Budget;
use shardwright_prover::refinement::{EngineDifference, Refinement, RefusedClass, refinement_by};
use shardwright_routing::RoutingTable;
use shardwright_rules::EngineId;

use super::witness::Witness;
use super::{besides, exit, opened, read, tables};
use crate::args::{Format, Global, Refines};
use crate::error::CommandError;
use crate::exit::Exit;
use crate::project;
use crate::rule_set::RuleSet;
use crate::ui::{Ui, counted};

pub(super) fn run(args: &Refines, global: &Global, ui: &Ui) -> Result<Exit, CommandError> {
    let sets = sides(args, global, ui)?;
    let budget = Budget::times(args.budget);
    let found = refinement_by(&sets[0].configuration, &sets[1].configuration, budget);
    let sets = [&sets[0], &sets[1]];
    let claim = Claim::new(sets, found);
    if ui.format() == Format::Json {
        ui.json(&claim)?;
    } else {
        ui.data(&claim.to_text(sets, ui))?;
    }
    Ok(exit(claim.answer))
}

/// Both rule sets. `--of` may name an engine: then it is the first rule set for that engine.
fn sides(args: &Refines, global: &Global, ui: &Ui) -> Result<[RuleSet; 2], CommandError> {
    let own = args.engine.as_deref().map(project::engine).transpose()?;
    let of_engine = EngineId::from_name(&args.of);
    let names = [
        args.a.as_str(),
        if of_engine.is_some() { &args.a } else { &args.of },
    ];
    let mut sets = opened(names, [own, of_engine.or(own)], global, ui)?;
    if sets[0].name == sets[1].name {
        for set in &mut sets {
            set.name = format!("{} on {}", set.name, set.configuration.engine);
        }
    }
    Ok(sets)
}

/// `prove refines --format json`; keys are only ever added.
#[derive(Serialize)]
struct Claim {
    answer: &'static str,
    /// Statements that A places where B does not.
    witnesses: Vec<Witness>,
    /// What A refuses and B serves.
    refused: Vec<Refused>,
    /// There may be more of these than are listed.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    more_refused: bool,
    undecided: Vec<String>,
    /// Across engines: what is proved even where the whole is not.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    proved_parts: Vec<ProvedPart>,
    /// Differences of the two engines, whatever the rules say; the answer is not about them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    engine_differences: Vec<EngineNature>,
    /// What the answer takes for granted.
    assumed: Vec<&'static str>,
    /// What the answer is not about.
    besides: Vec<String>,
}

/// Statements that A refuses for one reason and B serves.
#[derive(Serialize)]
struct Refused {
    reason: String,
    /// Where B sends them.
    served_by: Vec<String>,
    witness: Witness,
}

/// Statements that A places where B does, by proof.
#[derive(Serialize)]
struct ProvedPart {
    about: String,
    /// How many hostgroups they go to.
    hostgroups: usize,
}

/// What two engines treat differently whatever the rules say.
#[derive(Serialize)]
struct EngineNature {
    what: &'static str,
    /// A statement of this rule set that shows it; null where none was met.
    witness: Option<Witness>,
}

impl EngineNature {
    fn new(nature: &EngineDifference, sets: [&RuleSet; 2], tables: &[RoutingTable; 2]) -> Self {
        let example = nature.example.as_ref();
        Self {
            what: nature.what,
            witness: example.map(|example| Witness::new(example, sets, tables)),
        }
    }
}

impl Refused {
    fn new(class: &RefusedClass, sets: [&RuleSet; 2], tables: &[RoutingTable; 2]) -> Self {
        Self {
            reason: class.reason.clone(),
            served_by: class.served_by.clone(),
            witness: Witness::new(&class.example, sets, tables),
        }
    }
}

impl Claim {
    fn new(sets: [&RuleSet; 2], found: Refinement) -> Self {
        let (answer, differences, undecided) = read(sets, found.answer);
        let tables = tables(sets);
        Self {
            answer,
            witnesses: differences
                .iter()
                .map(|difference| Witness::new(difference, sets, &tables))
                .collect(),
            refused: found
                .stricter
                .iter()
                .map(|class| Refused::new(class, sets, &tables))
                .collect(),
            more_refused: found.is_cut,
            undecided,
            proved_parts: found
                .shown
                .into_iter()
                .map(|(about, hostgroups)| ProvedPart { about, hostgroups })
                .collect(),
            engine_differences: found
                .natures
                .iter()
                .map(|nature| EngineNature::new(nature, sets, &tables))
                .collect(),
            assumed: found.assumptions,
            besides: besides(sets),
        }
    }

    fn to_text(&self, sets: [&RuleSet; 2], ui: &Ui) -> String {
        let [a, b] = sets.map(|set| set.name.as_str());
        let mut lines = vec![match self.answer {
            "proved" => format!(
                "{}: {a} places no statement where {b} does not",
                ui.strong("proved")
            ),
            "refuted" => format!(
                "{}: {} that {a} places where {b} does not",
                ui.strong("refuted"),
                counted(self.witnesses.len(), "statement")
            ),
            _ => format!("{}: neither proved nor refuted", ui.strong("undecided")),
        }];
        for witness in &self.witnesses {
            lines.extend(witness.lines(sets, ui));
        }
        if !self.undecided.is_empty() {
            lines.push("undecided because of".to_owned());
            lines.extend(self.undecided.iter().map(|construct| format!("  {construct}")));
        }
        for part in &self.proved_parts {
            lines.push(format!(
                "proved of {}: {}",
                counted(part.hostgroups, "hostgroup"),
                part.about
            ));
        }
        if !self.refused.is_empty() {
            let classes = match self.refused.len() {
                1 => "1 class".to_owned(),
                several => format!("{several} classes"),
            };
            lines.push(format!("{a} refuses what {b} serves: {classes}"));
        }
        for class in &self.refused {
            lines.extend(class.witness.lines(sets, ui));
            if class.served_by.len() > 1 {
                lines.push(format!(
                    "    statements like it go to {} hostgroups there",
                    class.served_by.len()
                ));
            }
        }
        if self.more_refused && !self.refused.is_empty() {
            lines.push("  there may be more: not every statement was looked at".to_owned());
        }
        if !self.engine_differences.is_empty() {
            lines.push("the engines differ, whatever the rules say; the answer is not about".to_owned());
        }
        for nature in &self.engine_differences {
            lines.push(format!("  {}", nature.what));
            if let Some(witness) = &nature.witness {
                lines.extend(
                    witness
                        .lines(sets, ui)
                        .into_iter()
                        .map(|line| format!("  {line}")),
                );
            }
        }
        lines.push("assumed".to_owned());
        lines.extend(self.assumed.iter().map(|assumed| format!("  {assumed}")));
        lines.extend(
            self.besides
                .iter()
                .map(|besides| format!("not covered: {besides}")),
        );
        lines.join("\n") + "\n"
    }
}
