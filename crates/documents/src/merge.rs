//! From the entries of a mapping as written to those that hold: each key once, merge keys expanded.

use shardwright_diagnostics::{Diagnostic, MAX_KEPT, Problems};

use crate::codes::{DUPLICATE_KEY, NOT_IN_LANGUAGE};
use crate::{Entry, Mapping, Node, Style, Value};

const MERGE: &str = "<<";

/// The mapping, with the first of equal keys; later ones are problems.
pub(crate) fn unique_and_merged(entries: Vec<Entry>, problems: &mut Problems) -> Mapping {
    let (mapping, duplicates) = Mapping::new(entries);
    for (first, duplicate) in duplicates.into_iter().take(MAX_KEPT) {
        let first = &mapping.entries()[first].key;
        problems.push(
            Diagnostic::error(DUPLICATE_KEY, format!("key `{}` is given twice", first.text))
                .at(duplicate.key.span, "given again here")
                .also(first.span, "first given here"),
        );
    }
    match mapping.entry(MERGE) {
        Some(merge) if merge.key.style == Style::Plain => merged(mapping, problems),
        _ => mapping,
    }
}

/// Expands the merge key (yaml.org/type/merge): the mapping's own keys stand before merged ones, and earlier
/// sources before later ones.
fn merged(mapping: Mapping, problems: &mut Problems) -> Mapping {
    let (merges, mut entries): (Vec<_>, Vec<_>) = mapping
        .into_entries()
        .into_iter()
        .partition(|entry| &*entry.key.text == MERGE);
    for merge in merges {
        let span = merge.value.span;
        let sources = match merge.value.value {
            Value::Sequence(items) => items,
            value => vec![Node { value, span }],
        };
        for source in sources {
            match source.value {
                Value::Mapping(source) => entries.extend(source.into_entries()),
                other => problems.push(
                    Diagnostic::error(
                        NOT_IN_LANGUAGE,
                        format!("`<<` merges mappings, not {}", other.type_name()),
                    )
                    .at(source.span, "")
                    .also(merge.key.span, "merged here"),
                ),
            }
        }
    }
    entries.into_iter().collect()
}
