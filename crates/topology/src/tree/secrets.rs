//! Passwords that are written in the clear are not shown by the problems around them.

use shardwright_diagnostics::{Sources, Span};
use shardwright_documents::{Document, Node, Value};

/// Whether a value under this key is a secret if it is no reference: a `password`, what a reference to one has as
/// `previous`, and variables, of the project or of an engine, that are named for one.
pub(crate) fn is_secret(key: &str) -> bool {
    let holds = |word: &str| {
        let mut parts = key.as_bytes().windows(word.len());
        parts.any(|part| part.eq_ignore_ascii_case(word.as_bytes()))
    };
    key.eq_ignore_ascii_case("previous")
        || ["password", "passwd", "secret", "credential", "token"]
            .into_iter()
            .any(holds)
}

/// Conceals every literal secret.
pub(crate) fn conceal<'a>(documents: impl Iterator<Item = &'a Document>, sources: &mut Sources) {
    let mut secrets = Vec::new();
    for root in documents.filter_map(|document| document.root.as_ref()) {
        find(root, &mut secrets);
    }
    for span in secrets {
        sources.conceal(span);
    }
}

/// Trees are not deeper than readers of documents allow.
fn find(node: &Node, secrets: &mut Vec<Span>) {
    match &node.value {
        Value::Mapping(mapping) => {
            for entry in mapping {
                let literal = entry.value.raw().is_some() && !entry.value.is_null();
                if literal && is_secret(&entry.key.text) {
                    secrets.push(entry.value.span);
                } else if holds_reference(&entry.key.text) {
                    in_place_of_a_reference(&entry.value, secrets);
                } else {
                    find(&entry.value, secrets);
                }
            }
        }
        Value::Sequence(items) => items.iter().for_each(|item| find(item, secrets)),
        _ => {}
    }
}

/// Whether a reference to a secret stands under this key, or is set at this address.
fn holds_reference(key: &str) -> bool {
    matches!(key.rsplit('.').next(), Some("password" | "previous"))
}

/// Whatever stands in the place of a reference is a secret, but for what names one.
fn in_place_of_a_reference(node: &Node, secrets: &mut Vec<Span>) {
    let Some(mapping) = node.as_mapping() else {
        if !node.is_null() {
            secrets.push(node.span);
        }
        return;
    };
    for entry in mapping {
        if !matches!(&*entry.key.text, "env" | "file" | "command") {
            in_place_of_a_reference(&entry.value, secrets);
        }
    }
}
