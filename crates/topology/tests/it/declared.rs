//! A field is named once, in its declaration: readers hold on to the declaration.

use std::path::Path;

/// What takes the value of a key out of a tree, with a name written beside it.
const GETTERS: [&str; 7] = [
    ".get(\"",
    ".entry(\"",
    ".field(\"",
    ".key(\"",
    "key.text == \"",
    "match &*key.text",
    "match name {",
];

/// JSON that the engine reads, not a part of the language.
const OF_ENGINE: &str = "attributes.get(\"flagOUTs\")";

/// Sources that read JSON Schemas and expressions, and the symbols, which know names by what they mean.
const NOT_READERS: [&str; 5] = ["schema", "shape.rs", "structure.rs", "symbols", "template"];

fn sources(folder: &Path, found: &mut Vec<(String, String)>) {
    for entry in std::fs::read_dir(folder).expect("the folder is there") {
        let path = entry.expect("it can be read").path();
        let name = path
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        if NOT_READERS.contains(&name.as_str()) {
            continue;
        }
        if path.is_dir() {
            sources(&path, found);
        } else {
            let text = std::fs::read_to_string(&path).expect("it is text");
            let code = text.split("#[cfg(test)]").next().unwrap_or_default();
            found.push((path.display().to_string(), code.to_owned()));
        }
    }
}

#[test]
fn no_reader_names_a_field_itself() {
    let mut files = Vec::new();
    sources(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"), &mut files);
    let mut named = Vec::new();
    for (path, code) in &files {
        for (number, line) in code.lines().enumerate() {
            if GETTERS.iter().any(|getter| line.contains(getter)) && !line.contains(OF_ENGINE) {
                named.push(format!("{path}:{}: {}", number + 1, line.trim()));
            }
        }
    }
    assert!(files.len() > 50, "{} files are looked at", files.len());
    assert!(named.is_empty(), "{}", named.join("\n"));
}
