//! Statements with keys of two maps, the second of which takes what the first has no key for: they are refused.

use shardwright_rules::refusal::Refusal;
use shardwright_rules::{EngineRule, MapStep};

use super::classes::Class;
use super::refusals::Refused;
use super::user_map::keyed_users;
use super::{Lowering, Target, text_rule};
use crate::draft::ChainRef;
use crate::native::Section;

impl Lowering<'_, '_> {
    /// The maps that take statements without a key of this one, in turn.
    fn followers(&self, section: &Section<Box<MapStep>>) -> Vec<usize> {
        let program = self.program;
        let mut followers = Vec::new();
        let mut step = &section.step;
        while let Some(at) = step
            .otherwise
            .as_deref()
            .and_then(|name| program.maps.iter().position(|map| map.step.map == name))
            .filter(|at| !followers.contains(at))
        {
            followers.push(at);
            step = &program.maps[at].step;
        }
        followers
    }

    /// Behind the rules that find a key of this map: a key of a later one is refused beside it.
    pub(super) fn other_maps_keys(
        &mut self,
        chain: ChainRef,
        section: &Section<Box<MapStep>>,
        class: &Class,
    ) {
        for other in self.followers(section) {
            for (name, rule) in self.rules_for_keys(section, other, class) {
                let both = self.both(section, other);
                self.refuse(chain, &name, &section.address, rule, &both);
            }
        }
    }

    /// In front of the rules that place sessions by their names, which `names` ask for: refused with a key of a later
    /// map. `rest` takes the other sessions.
    pub(super) fn other_maps_keys_beside_names(
        &mut self,
        chain: ChainRef,
        section: &Section<Box<MapStep>>,
        (class, names): (&Class, &[EngineRule]),
        rest: Target,
    ) {
        for other in self.followers(section) {
            let rules = self.rules_for_keys(section, other, class);
            if names.is_empty() || rules.is_empty() {
                continue;
            }
            let both = self.both(section, other);
            let guarded = self.draft.chain(&format!("{}.other", section.address));
            for (name, rule) in rules {
                self.go(chain, &name, &section.address, rule, Target::Jump(guarded));
            }
            for rule in names {
                let name = rule.username.as_deref().or(rule.schemaname.as_deref());
                let name = name.unwrap_or_default();
                self.refuse(guarded, name, &section.address, rule.clone(), &both);
            }
            self.go(guarded, "rest", &section.address, EngineRule::default(), rest);
        }
    }

    fn both(&self, section: &Section<Box<MapStep>>, other: usize) -> Refused {
        let what = format!(
            "the statement has keys of both {} and {}",
            section.address, self.program.maps[other].address
        );
        Refused::by(
            section,
            Refusal::ConflictingKeys,
            Refusal::ConflictingKeys.message(&what),
        )
    }

    /// Rules that match whatever may have a key of a map; what they cannot ask for is reported.
    fn rules_for_keys(
        &mut self,
        section: &Section<Box<MapStep>>,
        other: usize,
        class: &Class,
    ) -> Vec<(String, EngineRule)> {
        let program = self.program;
        let (step, address) = (&program.maps[other].step, &program.maps[other].address);
        let Some(reading) = self.plans[other].reading.clone() else {
            return Vec::new();
        };
        if reading.schema.is_some() || reading.column.is_some() {
            let what = format!("see keys of {address} that stand in no comment beside keys of this map");
            self.report.unsupported(section.origin, "otherwise", &what);
        }
        // What may be a key and cannot be told is refused too.
        let first = section.step.otherwise.as_deref() == Some(&*step.map);
        let name = if first {
            "other".to_owned()
        } else {
            format!("other.{}", step.map)
        };
        let users = reading.user.map(|template| keyed_users(step, &template, class));
        let users = users.into_iter().flatten().map(|rule| {
            let user = rule.username.as_deref().unwrap_or_default();
            (format!("{name}.{user}"), rule)
        });
        let comment = reading
            .comment
            .map(|site| (name.clone(), text_rule(site.doubtful)));
        comment.into_iter().chain(users).collect()
    }
}
