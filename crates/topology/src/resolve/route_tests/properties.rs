//! `properties`: domains of statements with what must hold for all of them.

use serde_json::Value;

use self::property::{FOR_ALL, FOR_ALL_PAIRS};
use super::{Reader, expectation, file, test};
use crate::codes::{BAD_VALUE, MISSING_KEY, NOT_TOGETHER};
use crate::fields::{AnyField, Word, object, shapes};
use crate::model::{Property, PropertyClaim, PropertyDomain, Words};
use crate::resolve::object::Object;
use crate::resolve::values::words_of;
use crate::tree::context::Context;
use crate::tree::view::View;

object! {
    pub(crate) mod property = "What must hold for every statement of a domain.";
    FOR_EACH: Definition = test::FOR_EACH;
    ENGINES: Texts = texts(
        "engines",
        "Engines that the property is for; every listed one if not given.",
        "a list of engines",
    )
        .absent("every listed one");
    ENVIRONMENTS: Texts = test::ENVIRONMENTS;
    FOR_ALL: Part = part("for_all", &domain::FIELDS)
        .absent("required, or `for_all_pairs`");
    FOR_ALL_PAIRS: Part = part("for_all_pairs", &domain::FIELDS)
        .says("Pairs of statements; each pair is for two shards of `map`.");
    EXPECT: Custom = custom(
        "expect",
        "What must hold for each statement. For pairs, `disjoint`: statements of two shards never go to the same place.",
        claim_schema,
    )
    .needed()
    .page("As for tests, without `query`, `error`, `answer` and `rule`.");
}

object! {
    mod domain = "Which statements it is for. A key that is absent sets no limit.";
    USERS: Texts = text_or_list("users", "Names of users who send the statements.")
        .refers(refers::USERS);
    SCHEMAS: Texts = text_or_list("schemas", "Names of schemas that the sessions are in.")
        .refers(refers::SCHEMAS);
    STATEMENTS: Texts = text_or_list("statements", "Classes of statements, such as insert.");
    MAP: Text = filled("map", "The shard map that places the statements.")
        .refers(refers::SHARD_MAPS);
}

/// Statements of two shards never meet in one place.
#[derive(Clone, Copy, PartialEq)]
struct Disjoint;

impl Words for Disjoint {
    const WORDS: &'static [(&'static str, Self)] = &[("disjoint", Self)];
}

fn claim_schema(says: &str) -> Value {
    shapes::word_or(says, &Disjoint::words(), expectation::of_all())
}

impl Reader<'_> {
    /// Reads the properties of one file.
    pub(super) fn properties_of(&mut self, root: &View<'_>, context: &mut Context<'_>) {
        self.each(root, &file::PROPERTIES, context, Self::property);
    }

    fn property(&mut self, object: &Object<'_, '_>, context: &mut Context<'_>) -> Option<()> {
        let of_pairs = object.has(&FOR_ALL_PAIRS);
        if of_pairs && object.has(&FOR_ALL) {
            let message = "`for_all_pairs` does not go together with `for_all`";
            object.error(NOT_TOGETHER, message, object.key_span(&FOR_ALL_PAIRS), context);
        }
        if !of_pairs {
            object.require(&FOR_ALL, context);
        }
        object.require_all(&property::FIELDS, context);
        let field = if of_pairs { &FOR_ALL_PAIRS } else { &FOR_ALL };
        let domain = match object.part(field, context) {
            Some(part) => self.domain(&part, context),
            None => PropertyDomain::default(),
        };
        let claim = if of_pairs {
            if domain.map.is_none() {
                let message = "`for_all_pairs` needs a `map`";
                object.error(MISSING_KEY, message, object.key_span(field), context);
            }
            object.read(&property::EXPECT, &Word::<Disjoint>::ANY, context)?;
            PropertyClaim::Disjoint
        } else if object
            .field(&property::EXPECT)
            .is_some_and(|field| !field.value.is_map())
        {
            let message = "`disjoint` is for pairs: write `for_all_pairs`";
            object.error(NOT_TOGETHER, message, object.span(&property::EXPECT), context);
            return None;
        } else {
            PropertyClaim::Each(Box::new(self.expectation(object, context)?))
        };
        self.tests.properties.push(Property {
            name: object.name.clone(),
            origin: object.origin,
            engines: words_of(&object.texts(&property::ENGINES, context), object, context),
            domain,
            claim,
        });
        Some(())
    }

    fn domain(&self, object: &Object<'_, '_>, context: &mut Context<'_>) -> PropertyDomain {
        let users = object.texts(&domain::USERS, context);
        for (span, user) in &users {
            if self.topology.users.position(user).is_none() {
                let candidates = self.topology.users.names();
                self.unknown("user", user, candidates, *span, object, context);
            }
        }
        for field in [&domain::USERS, &domain::SCHEMAS, &domain::STATEMENTS] {
            let items = object
                .field(field)
                .and_then(|field| field.value.node()?.as_sequence());
            if items.is_some_and(<[_]>::is_empty) {
                let message = format!("the list `{}` is empty", field.name());
                object.error(BAD_VALUE, message, object.span(field), context);
            }
        }
        let map = object.get(&domain::MAP, context);
        if let Some(map) = &map
            && self.topology.shard_maps.get_named(map).is_none()
        {
            let candidates = self.topology.shard_maps.names();
            self.unknown(
                "shard map",
                map,
                candidates,
                object.span(&domain::MAP),
                object,
                context,
            );
        }
        PropertyDomain {
            users: users.into_iter().map(|(_, user)| user).collect(),
            schemas: object.list(&domain::SCHEMAS, context),
            statements: words_of(&object.texts(&domain::STATEMENTS, context), object, context),
            map,
        }
    }
}
