//! The objects that a map of objects stands for, generators run: for what is done to trees of any section.

use std::borrow::Cow;
use std::ops::ControlFlow;

use crate::tree::context::Context;
use crate::tree::environment::Environment;
use crate::tree::generate::{each, for_each};
use crate::tree::view::{Field, View};

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
        let is_generator = for_each(&field.value).is_some();
        let ran = each(&field.value, outer, context, |environment, context| {
            let Some(name) = context.expand_key(field.key, environment) else {
                return ControlFlow::Break(Ok(()));
            };
            // The entry of a plain name has its patches already.
            let patch = map.patch_of(&name).filter(|_| is_generator);
            let field = match patch {
                Some(patch) if patch.removes() => return ControlFlow::Continue(()),
                Some(patch) => field.clone().patched(patch),
                None => field.clone(),
            };
            let instance = Instance {
                name,
                field,
                environment,
            };
            match one(instance, context) {
                Ok(()) => ControlFlow::Continue(()),
                error => ControlFlow::Break(error),
            }
        });
        if let Some(ControlFlow::Break(error)) = ran {
            error?;
        }
    }
    Ok(())
}
