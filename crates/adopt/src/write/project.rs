//! `shardwright.yaml`.

use std::fmt::Write as _;
use std::ops::RangeInclusive;

use shardwright_rules::{EngineSettings, Words};

use super::users::secret;
use crate::draft::{Draft, TargetDraft};
use crate::yaml::{Field, Yaml, fields_of};

/// How many numbers of rules a project gets, and where they begin where nothing is in the way.
const RULES: RangeInclusive<u32> = 100_000..=199_999;
/// Ranges begin at a multiple of this.
const STEP: u32 = 100_000;
/// The largest number of the engine.
const LARGEST: u32 = 2_147_483_647;

pub(super) fn text(draft: &Draft) -> String {
    let project = draft.project.as_ref().map(|name| ("project", Yaml::text(name)));
    let mut sections: Vec<(&str, Yaml)> = project.into_iter().collect();
    sections.push(("engines", Yaml::List(vec![engine(draft)])));
    if let Some(rules) = rule_ids(draft) {
        let range = format!("{}-{}", rules.start(), rules.end());
        sections.push(("ids", Yaml::map([("rules", Some(Yaml::word(range)))])));
    }
    let mut out = "version: 1\n".to_owned();
    for (key, value) in sections {
        let line = value.flow().expect("what has no block stands on one line");
        writeln!(out, "{key}: {line}").expect("writing to a string cannot fail");
    }
    if let Some(target) = &draft.target {
        let document = Yaml::document(&[targets(target)]);
        out.push_str(
            document
                .trim_start_matches("version: 1\n")
                .trim_start_matches('\n'),
        );
    }
    out
}

fn engine(draft: &Draft) -> Yaml {
    let name = draft.engine.to_string();
    let usual: EngineSettings = draft.engine.profile().default_settings();
    let regex = draft.settings.regex;
    let regex = (regex != usual.regex).then(|| Yaml::word(regex.word()));
    let iterations = draft.settings.query_processor_iterations;
    let iterations = (iterations != usual.query_processor_iterations).then(|| Yaml::number(iterations));
    if regex.is_none() && iterations.is_none() {
        return Yaml::word(name);
    }
    Yaml::map([
        ("engine", Some(Yaml::word(name))),
        ("regex", regex),
        ("iterations", iterations),
    ])
}

/// Rules that are compiled stand behind those that are imported: so do their numbers.
fn rule_ids(draft: &Draft) -> Option<RangeInclusive<u32>> {
    let last = draft.rules.iter().map(|rule| rule.id).max()?;
    if last < *RULES.start() {
        return None;
    }
    let start = (last / STEP + 1).checked_mul(STEP)?;
    let end = start.checked_add(STEP - 1)?;
    (end <= LARGEST).then_some(start..=end)
}

fn targets(target: &TargetDraft) -> Field {
    let value = Yaml::Map(fields_of([
        ("engine", Some(Yaml::word("proxysql-2.7"))),
        ("admin", Some(Yaml::text(&target.admin))),
        ("user", Some(Yaml::text(&target.user))),
        ("password", Some(secret(Some(&target.password)))),
    ]));
    Field::new("targets", Yaml::Block(vec![Field::new(&target.name, value)]))
}
