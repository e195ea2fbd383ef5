//! Patches of items of lists: each is found by a key of it, and the whole list is set with the item as it shall be.
//!
//! Example: over `rules: [{rule_id: 1, apply: 1}, {rule_id: 2}]`, `rules[rule_id=2].apply: 0` sets the list of the first item as it is,
//! and of the second one with `apply: 0`.

use std::convert::Infallible;

use shardwright_diagnostics::Diagnostic;
use shardwright_documents::{Entry, Mapping, Node, Value};

use crate::codes::{PATCH_MISSES, PATCHES_COLLIDE};
use crate::reporter::Reporter;
use crate::tree::context::Context;
use crate::tree::environment::Environment;
use crate::tree::objects::instances;
use crate::tree::patch::Patch;
use crate::tree::steps::selector;
use crate::tree::view::View;

/// Puts whole lists in the place of the items that `patch` sets, as they stand in `base`. An item that is not there, or that two
/// addresses set, is reported, and nothing of its list is set.
pub(crate) fn settle_items(
    patch: &mut Patch,
    base: Option<&View<'_>>,
    scratch: &mut Context<'_>,
    report: &mut Reporter,
) {
    below(patch, base, &Environment::default(), scratch, report);
}

fn below(
    patch: &mut Patch,
    base: Option<&View<'_>>,
    environment: &Environment,
    scratch: &mut Context<'_>,
    report: &mut Reporter,
) {
    if patch.is_empty() {
        return;
    }
    if patch.selects_items() {
        let items = base.and_then(View::node).and_then(Node::as_sequence);
        let settled = match items {
            Some(items) => list(items, patch),
            None => Err(misses(patch, "there is no list")),
        };
        let list = settled.map_err(|problem| report.push(*problem)).ok();
        let span = patch.key().span;
        patch.settle(list.map(|items| Node {
            value: Value::Sequence(items),
            span,
        }));
        return;
    }
    if patch.holds_objects() {
        let Some(base) = base else { return };
        let Ok(()) = instances(base, environment, scratch, |instance, scratch| {
            if let Some(child) = patch.child_mut(&instance.name) {
                below(
                    child,
                    Some(&instance.field.value),
                    instance.environment,
                    scratch,
                    report,
                );
            }
            Ok::<(), Infallible>(())
        });
        return;
    }
    for child in patch.children_mut() {
        let field = base.and_then(|base| base.get(&child.key().text));
        let value = field.map(|field| field.value);
        below(child, value.as_ref(), environment, scratch, report);
    }
}

/// The items with what is set in some of them.
fn list(items: &[Node], patch: &Patch) -> Result<Vec<Node>, Box<Diagnostic>> {
    let mut items: Vec<Option<Node>> = items.iter().cloned().map(Some).collect();
    let mut set: Vec<(usize, &Patch)> = Vec::new();
    for child in patch.children() {
        let Some((key, value)) = selector(&child.key().text) else {
            return Err(misses(child, "a list has no such key"));
        };
        let is_it = |item: &Node| item.get(key).is_some_and(|found| is_text(found, value));
        let mut found = (0..items.len()).filter(|at| items[*at].as_ref().is_some_and(is_it));
        let (at, more) = (found.next(), found.next());
        drop(found);
        let at = match (at, more) {
            (Some(at), None) => at,
            (Some(_), Some(_)) => return Err(misses(child, &format!("several items have `{key}: {value}`"))),
            (None, _) => return Err(misses(child, &format!("no item has `{key}: {value}`"))),
        };
        if let Some((_, first)) = set.iter().find(|(known, _)| *known == at) {
            let message = format!("`{}` and `{}` set one item", first.key().text, child.key().text);
            return Err(Box::new(
                Diagnostic::error(PATCHES_COLLIDE, message)
                    .at(child.key().span, "set here")
                    .also(first.key().span, "and here"),
            ));
        }
        set.push((at, child));
    }
    for (at, child) in set {
        items[at] = match (child.removes(), items[at].take()) {
            (true, _) | (false, None) => None,
            (false, Some(item)) => Some(node(item, child)?),
        };
    }
    Ok(items.into_iter().flatten().collect())
}

/// A value with what is set in it.
fn node(old: Node, patch: &Patch) -> Result<Node, Box<Diagnostic>> {
    if let Some(value) = patch.value() {
        return Ok(value.clone());
    }
    if patch.selects_items() {
        let Value::Sequence(items) = &old.value else {
            return Err(misses(patch, "there is no list"));
        };
        return Ok(Node {
            value: Value::Sequence(list(items, patch)?),
            span: old.span,
        });
    }
    let span = old.span;
    let mut entries = match old.value {
        Value::Mapping(mapping) => mapping.into_entries(),
        _ => Vec::new(),
    };
    for child in patch.children() {
        let name = &child.key().text;
        let at = entries.iter().position(|entry| entry.key.text == *name);
        match (child.removes(), at) {
            (true, Some(at)) => {
                entries.remove(at);
            }
            (true, None) => return Err(misses(child, &format!("the item has no `{name}`"))),
            (false, Some(at)) => {
                let value = node(entries[at].value.clone(), child)?;
                entries[at].value = value;
                entries[at].key.span = child.key().span;
            }
            (false, None) => entries.push(Entry {
                key: child.key().clone(),
                value: child.to_node(),
            }),
        }
    }
    Ok(Node {
        value: Value::Mapping(entries.into_iter().collect::<Mapping>()),
        span,
    })
}

/// Whether a scalar is this text, as it was written.
fn is_text(node: &Node, text: &str) -> bool {
    node.as_text().or_else(|| node.raw()) == Some(text)
}

fn misses(patch: &Patch, why: &str) -> Box<Diagnostic> {
    let message = format!("the patch hits nothing: {why}");
    let diagnostic = Diagnostic::error(PATCH_MISSES, message)
        .at(patch.key().span, "")
        .help("write a key of the item with a value that only this item has; to add an item, set the whole list");
    Box::new(diagnostic)
}
