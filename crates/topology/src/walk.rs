//! The objects that a map of objects stands for, generators run: for what is done to trees of any section.

use std::borrow::Cow;

use crate::context::Context;
use crate::environment::Environment;
use crate::generate::{Combinations, for_each};
use crate::view::{Field, View};

/// One object of a map of objects, in one generator instance.
pub(crate) struct Instance<'a, 'e> {
    pub(crate) name: Cow<'a, str>,
    /// The key that it was written under, and its value, patches of this instance applied.
    pub(crate) field: Field<'a>,
    pub(crate) environment: &'e Environment,
}

/// Calls `one` for every object of `map`, in the order of definition. Problems go to the context, which has them
/// already where the map was resolved.
///
/// # Errors
/// The first of `one`.
pub(crate) fn instances<'a, E>(
    map: &View<'a>,
    outer: &Environment,
    context: &mut Context<'_>,
    mut one: impl FnMut(Instance<'a, '_>, &mut Context<'_>) -> Result<(), E>,
) -> Result<(), E> {
    for field in map.fields() {
        let Some(for_each) = for_each(&field.value) else {
            if let Some(name) = context.expand_key(field.key, outer) {
                let instance = Instance {
                    name,
                    field,
                    environment: outer,
                };
                one(instance, context)?;
            }
            continue;
        };
        let Some(mut combinations) = Combinations::read(&for_each, outer, context) else {
            continue;
        };
        while let Some(environment) = combinations.next(outer) {
            let Some(name) = context.expand_key(field.key, &environment) else {
                break;
            };
            let field = match map.patch_of(&name) {
                Some(patch) => field.clone().patched(patch),
                None => field.clone(),
            };
            let instance = Instance {
                name,
                field,
                environment: &environment,
            };
            one(instance, context)?;
        }
    }
    Ok(())
}
