//! Any bytes through the formatter: what it writes means the same, has the same comments, and stays as it is.

#![no_main]

use libfuzzer_sys::fuzz_target;
use shardwright_diagnostics::Sources;
use shardwright_documents::{format, read, to_json};

fuzz_target!(|bytes: &[u8]| {
    let (formatted, told) = formatted(bytes);
    let Some(formatted) = formatted else {
        assert!(told, "left alone without a reason");
        return;
    };
    assert_eq!(
        meaning(bytes),
        meaning(formatted.as_bytes()),
        "formatting changed what the file says"
    );
    let (again, _) = self::formatted(formatted.as_bytes());
    assert_eq!(
        again.as_deref(),
        Some(&*formatted),
        "what is formatted does not stay as it is"
    );
});

/// The file in its one form, and whether there are problems.
fn formatted(bytes: &[u8]) -> (Option<String>, bool) {
    let (formatted, problems) = format(&mut Sources::new(), "topology/fuzz.yaml", bytes);
    (formatted, !problems.is_empty())
}

/// The values and the comments.
fn meaning(bytes: &[u8]) -> (Option<String>, Vec<String>) {
    let mut sources = Sources::new();
    let (document, _) = read(&mut sources, "topology/fuzz.yaml", bytes);
    let comments = document.comments.iter();
    let comments = comments.map(|comment| sources.slice(comment.span).trim_end().to_owned());
    let values = document.root.as_ref().map(|root| to_json(root).to_string());
    (values, comments.collect())
}
