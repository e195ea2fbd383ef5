//! Rules that only mark statements: delays as throttles, shared connections as pooling exceptions, cached results, copies.

use std::collections::{BTreeMap, BTreeSet};

use shardwright_rules::{HostgroupId, Role, Words};

use super::matches::{conditions, name, only_does};
use super::{Edit, Group, Lift, Part};
use crate::draft::{Draft, ObjectDraft, RuleDraft};
use crate::names::Names;
use crate::write::duration;
use crate::yaml::{Field, Yaml};

const REASON: &str = "imported";

/// What an object is called in the language, and its fields besides those that select statements.
struct Effect {
    section: &'static [&'static str],
    /// `applies_to` or `match`.
    selects: &'static str,
    fields: Vec<Field>,
}

/// One group for each section: of several delays of one statement the longest counts, so that all of them may be equal where
/// one of them is not.
pub(super) fn groups(draft: &Draft) -> Vec<Group> {
    let mut names = Names::default();
    let mut sections: BTreeMap<&'static [&'static str], BTreeMap<u32, ObjectDraft>> = BTreeMap::new();
    for rule in draft.entry_rules() {
        let Some(effect) = effect(draft, rule) else {
            continue;
        };
        let Some(selected) = conditions(draft, &rule.row).filter(|fields| !fields.is_empty()) else {
            continue;
        };
        let mut fields = vec![Field::new(effect.selects, Yaml::Map(selected))];
        fields.extend(effect.fields);
        let object = ObjectDraft {
            section: effect.section,
            field: Field::new(name(rule, &mut names), Yaml::Map(fields)),
        };
        sections
            .entry(effect.section)
            .or_default()
            .insert(rule.id, object);
    }
    sections
        .into_iter()
        .map(|(section, objects)| group(section, objects))
        .collect()
}

fn group(section: &'static [&'static str], objects: BTreeMap<u32, ObjectDraft>) -> Group {
    let addresses: BTreeMap<u32, String> = objects
        .iter()
        .map(|(id, object)| (*id, object.address()))
        .collect();
    Group {
        address: section.join("."),
        rules: objects.keys().map(|id| vec![*id]).collect(),
        part: Part::Any,
        lifts: Some(Box::new(move |_, rules| {
            let lift = |rule: &&RuleDraft| Lift {
                address: addresses[&rule.id].clone(),
                rules: BTreeSet::from([rule.id]),
            };
            rules.iter().map(lift).collect()
        })),
        edits: Box::new(move |_, rules| {
            let object = |rule: &&RuleDraft| objects[&rule.id].clone();
            let objects = rules.iter().map(object).map(Edit::Object);
            objects.chain([Edit::BehindEffects]).collect()
        }),
    }
}

fn effect(draft: &Draft, rule: &RuleDraft) -> Option<Effect> {
    let row = &rule.row;
    if let Some(delay) = row.delay_ms.filter(|_| only_does(row, &["delay"])) {
        return Some(Effect {
            section: &["throttles"],
            selects: "applies_to",
            fields: vec![
                Field::new("delay", Yaml::word(duration(delay.into()))),
                Field::new("reason", Yaml::text(REASON)),
            ],
        });
    }
    if let Some(multiplex) = row.multiplex.filter(|_| only_does(row, &["multiplex"])) {
        let word = match multiplex {
            0 => "never",
            1 => "default",
            _ => "ignore_sysvar_reads",
        };
        return Some(Effect {
            section: &["pooling", "exceptions"],
            selects: "match",
            fields: vec![
                Field::new("multiplex", Yaml::word(word)),
                Field::new("reason", Yaml::text(REASON)),
            ],
        });
    }
    if let Some(ttl) = row
        .cache_ttl_ms
        .filter(|_| only_does(row, &["cache_ttl", "cache_empty_result"]))
    {
        let mut fields = vec![Field::new("ttl", Yaml::word(duration(ttl.into())))];
        if row.cache_empty_result == Some(false) {
            fields.push(Field::new("cache_empty_result", Yaml::word("false")));
        }
        return Some(Effect {
            section: &["caches"],
            selects: "match",
            fields,
        });
    }
    if let Some(id) = row
        .mirror_hostgroup
        .filter(|_| only_does(row, &["mirror_hostgroup"]))
    {
        let (cluster, role) = draft.place(HostgroupId(id))?;
        let to = Yaml::map([
            ("cluster", Some(Yaml::text(&cluster.name))),
            ("role", (role == Role::Reader).then(|| Yaml::word(role.word()))),
        ]);
        return Some(Effect {
            section: &["mirrors"],
            selects: "match",
            fields: vec![Field::new("to", to)],
        });
    }
    None
}
