//! Any bytes through the YAML reader: a tree whose places lie in the file, the same each time, and problems that can be
//! shown.

#![no_main]

use libfuzzer_sys::fuzz_target;
use shardwright_diagnostics::{Problems, Sources, Span, render};
use shardwright_documents::{Document, MAX_DEPTH, Node, Value, read, to_json};

fuzz_target!(|bytes: &[u8]| {
    let (document, problems, sources) = read_once(bytes);
    for span in document.comments.iter().map(|comment| comment.span) {
        assert!(sources.slice(span).starts_with('#'), "a comment begins with #");
    }
    if let Some(root) = &document.root {
        check(root, 0, &sources);
        let _ = to_json(root);
    }
    assert!(
        document.complete || problems.has_errors(),
        "reading stopped without a reason"
    );
    let shown = render::text::render(&problems, &sources, false);
    let _ = render::json::render(&problems, &sources);
    let (again, problems, sources) = read_once(bytes);
    assert_eq!(document, again, "two readings differ");
    assert_eq!(shown, render::text::render(&problems, &sources, false));
});

fn read_once(bytes: &[u8]) -> (Document, Problems, Sources) {
    let mut sources = Sources::new();
    let (document, problems) = read(&mut sources, "topology/fuzz.yaml", bytes);
    (document, problems, sources)
}

fn check(node: &Node, depth: usize, sources: &Sources) {
    assert!(depth <= MAX_DEPTH, "deeper than {MAX_DEPTH}");
    inside(node.span, sources);
    match &node.value {
        Value::Sequence(items) => items.iter().for_each(|item| check(item, depth + 1, sources)),
        Value::Mapping(mapping) => {
            for entry in mapping {
                inside(entry.key.span, sources);
                check(&entry.value, depth + 1, sources);
            }
        }
        _ => {}
    }
}

fn inside(span: Span, sources: &Sources) {
    assert!(
        sources.text(span.file).get(span.range()).is_some(),
        "{span:?} is not in the file"
    );
}
