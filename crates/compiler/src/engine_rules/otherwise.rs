//! Statements with keys of two maps, the second of which takes what the first has no key for: they are refused.

use shardwright_rules::refusal::Refusal;
use shardwright_rules::{EngineRule, MapStep};

use super::Lowering;
use super::chains::Target;
use super::keyed_users::rules_for_keyed_users;
use super::maps::{Class, MapUse};
use super::refusals::Refused;
use crate::draft::{ChainRef, text_rule};
use crate::program::Section;

/// A rule and what it is called in its chain.
struct NamedRule {
    name: String,
    rule: EngineRule,
}

fn keys_of_both(section: &Section<Box<MapStep>>, other: &Section<Box<MapStep>>) -> Refused {
    let what = format!(
        "the statement has keys of both {} and {}",
        section.address, other.address
    );
    Refused::by(
        section,
        Refusal::ConflictingKeys,
        Refusal::ConflictingKeys.message(&what),
    )
}

impl Lowering<'_, '_> {
    /// Behind the rules that find a key of this map: a key of a later one is refused beside it.
    pub(super) fn refuse_keys_of_later_maps(&mut self, chain: ChainRef, of: MapUse<'_>) {
        let section = of.section;
        for other in self.input.followers(section) {
            for NamedRule { name, rule } in self.rules_for_keys(section, other, of.class) {
                let both = keys_of_both(section, self.input.map(other));
                self.chains.refuse(chain, &name, &section.address, rule, &both);
            }
        }
    }

    /// In front of the rules that place sessions by their names, which `names` ask for: refused with a key of a later
    /// map. `rest` takes the other sessions.
    pub(super) fn refuse_sessions_with_keys_of_later_maps(
        &mut self,
        chain: ChainRef,
        of: MapUse<'_>,
        names: &[EngineRule],
        rest: Target,
    ) {
        let section = of.section;
        for other in self.input.followers(section) {
            let rules = self.rules_for_keys(section, other, of.class);
            if names.is_empty() || rules.is_empty() {
                continue;
            }
            let both = keys_of_both(section, self.input.map(other));
            let guarded = self.chains.draft.chain(&format!("{}.other", section.address));
            for NamedRule { name, rule } in rules {
                self.chains
                    .go(chain, &name, &section.address, rule, Target::Jump(guarded));
            }
            for rule in names {
                let name = rule.username.as_deref().or(rule.schemaname.as_deref());
                let name = name.unwrap_or_default();
                self.chains
                    .refuse(guarded, name, &section.address, rule.clone(), &both);
            }
            self.chains
                .go(guarded, "rest", &section.address, EngineRule::default(), rest);
        }
    }

    /// Rules that match whatever may have a key of a map; what they cannot ask for is reported.
    fn rules_for_keys(
        &mut self,
        section: &Section<Box<MapStep>>,
        other: usize,
        class: &Class,
    ) -> Vec<NamedRule> {
        let program = self.input.program;
        let (step, address) = (&program.maps[other].step, &program.maps[other].address);
        let Some(reading) = &self.input.plan(other).reading else {
            return Vec::new();
        };
        if reading.schema.is_some() || reading.column.is_some() {
            let what = format!("see keys of {address} that stand in no comment beside keys of this map");
            self.report.unsupported(section.origin, "otherwise", &what);
        }
        // What may be a key is refused too where no pattern can prove it.
        let first = section.step.otherwise.as_deref() == Some(&*step.map);
        let name = if first {
            "other".to_owned()
        } else {
            format!("other.{}", step.map)
        };
        let users = reading.user.as_ref();
        let users = users.map(|template| rules_for_keyed_users(step, template, class));
        let users = users.into_iter().flatten().map(|rule| {
            let user = rule.username.as_deref().unwrap_or_default();
            NamedRule {
                name: format!("{name}.{user}"),
                rule,
            }
        });
        let comment = reading.comment.as_ref().map(|key| NamedRule {
            name: name.clone(),
            rule: text_rule(key.doubtful.clone()),
        });
        comment.into_iter().chain(users).collect()
    }
}
