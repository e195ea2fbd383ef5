//! `properties`: domains of statements with what must hold for all of them.

use super::{Reader, engines};
use crate::codes::{BAD_VALUE, MISSING_KEY, NOT_TOGETHER};
use crate::context::Context;
use crate::model::{Property, PropertyClaim, PropertyDomain};
use crate::resolve::object::Object;
use crate::view::View;

impl Reader<'_> {
    /// Reads the properties of one file.
    pub(super) fn properties_of(&mut self, root: &View<'_>, context: &mut Context<'_>) {
        self.each(root, "properties", context, Self::property);
    }

    fn property(&mut self, object: &Object<'_, '_>, context: &mut Context<'_>) -> Option<()> {
        let of_pairs = object.has("for_all_pairs");
        if of_pairs && object.has("for_all") {
            let message = "`for_all_pairs` does not go together with `for_all`";
            object.error(NOT_TOGETHER, message, object.key_span("for_all_pairs"), context);
        }
        if !of_pairs {
            object.require("for_all", context);
        }
        object.require("expect", context);
        let field = if of_pairs { "for_all_pairs" } else { "for_all" };
        let domain = match object.part(field, context) {
            Some(part) => self.domain(&part, context),
            None => PropertyDomain::default(),
        };
        let claim = if of_pairs {
            if domain.map.is_none() {
                let message = "pairs of what? `for_all_pairs` needs a `map`";
                object.error(MISSING_KEY, message, object.key_span(field), context);
            }
            object.word("expect", &[("disjoint", ())], context)?;
            PropertyClaim::Disjoint
        } else if object
            .view
            .get("expect")
            .is_some_and(|field| !field.value.is_map())
        {
            let message = "`disjoint` is expected of pairs: write `for_all_pairs`";
            object.error(NOT_TOGETHER, message, object.span("expect"), context);
            return None;
        } else {
            PropertyClaim::Each(Box::new(self.expectation(object, context)?))
        };
        self.properties.push(Property {
            name: object.name.clone(),
            origin: object.origin,
            engines: engines(object, context),
            domain,
            claim,
        });
        Some(())
    }

    fn domain(&self, object: &Object<'_, '_>, context: &mut Context<'_>) -> PropertyDomain {
        let users = object.texts("users", context);
        for (span, user) in &users {
            if self.topology.users.place(user).is_none() {
                let known = self.topology.users.names();
                self.unknown("user", user, known, *span, object, context);
            }
        }
        for field in ["users", "schemas", "statements"] {
            let items = object
                .view
                .get(field)
                .and_then(|field| field.value.node()?.as_sequence());
            if items.is_some_and(<[_]>::is_empty) {
                let message = format!("the list `{field}` is empty");
                object.error(BAD_VALUE, message, object.span(field), context);
            }
        }
        let map = object.filled_text("map", context);
        if let Some(map) = &map
            && self.topology.shard_maps.get_named(map).is_none()
        {
            let known = self.topology.shard_maps.names();
            self.unknown("shard map", map, known, object.span("map"), object, context);
        }
        PropertyDomain {
            users: users.into_iter().map(|(_, user)| user).collect(),
            schemas: object
                .texts("schemas", context)
                .into_iter()
                .map(|(_, schema)| schema)
                .collect(),
            statements: {
                let words = object.texts("statements", context);
                object.words_of(&words, context)
            },
            map,
        }
    }
}
