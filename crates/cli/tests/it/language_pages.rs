//! Every example of `docs/language` is a file that the program takes, or refuses with the code that the page says.

mod page;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use serde_json::Value;
use shardwright_testkit::CommandEnvironment;

use self::page::{Block, blocks};
use crate::support::PROGRAM;

const ENGINES: &str = "bundled, proxysql-2.7";

fn docs() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs")
}

/// The pages by name, such as `shard-maps.md`.
fn pages() -> BTreeMap<String, String> {
    let directory = docs().join("language");
    let entries = std::fs::read_dir(directory).unwrap().map(|entry| entry.unwrap());
    entries
        .map(|entry| {
            let name = entry.file_name().into_string().unwrap();
            assert!(name.ends_with(".md"), "{name} is no page");
            (name, std::fs::read_to_string(entry.path()).unwrap())
        })
        .collect()
}

/// What is wrong with the examples of a page.
fn check(page: &str) -> Vec<String> {
    let blocks = match blocks(page) {
        Ok(blocks) => blocks,
        Err(wrong) => return vec![wrong],
    };
    let mut wrong = Vec::new();
    let mut files: Vec<(&str, &str)> = Vec::new();
    let mut previous: Vec<&Block> = Vec::new();
    for block in &blocks {
        if let Some(path) = &block.file {
            files.retain(|(kept, _)| kept != path);
            files.push((path, &block.text));
        }
        if block.info == "yaml" {
            let topology = if block.with_previous { &previous[..] } else { &[] };
            let result = run(block, topology, &files);
            wrong.extend(result.err().map(|wrong| format!("line {}: {wrong}", block.line)));
            match (&block.file, block.fails.is_empty()) {
                (None, true) => previous.push(block),
                (Some(path), false) => files.retain(|(kept, _)| kept != path),
                (None, false) | (Some(_), true) => {}
            }
        } else if block.file.is_none() && (block.with_previous || !block.fails.is_empty()) {
            wrong.push(format!(
                "line {}: a block of {:?} is not run",
                block.line, block.info
            ));
        }
    }
    wrong
}

/// Runs one example in a project of its own.
fn run(block: &Block, previous: &[&Block], files: &[(&str, &str)]) -> Result<(), String> {
    let environment = CommandEnvironment::new(PROGRAM).unwrap();
    let engines = block.engines.as_deref().unwrap_or(ENGINES);
    let project = format!("version: 1\nengines: [{engines}]\n");
    environment.write("shardwright.yaml", project).unwrap();
    environment.write("topology/page.yaml", "version: 1\n").unwrap();
    for (path, text) in files {
        environment.write(path, text).unwrap();
    }
    let topology = previous
        .iter()
        .copied()
        .chain(block.file.is_none().then_some(block));
    for (number, block) in topology.enumerate() {
        environment
            .write(format!("topology/block-{}.yaml", number + 1), &block.text)
            .unwrap();
    }
    let overlay = block
        .file
        .as_deref()
        .and_then(|path| path.strip_prefix("env/")?.strip_suffix(".yaml"));
    let mut arguments = vec!["--format", "json"];
    if let Some(name) = block.environment.as_deref().or(overlay) {
        arguments.extend(["-e", name]);
    }
    let is_tests = block
        .file
        .as_deref()
        .is_some_and(|path| path.starts_with("tests/"));
    arguments.push(if is_tests {
        "test"
    } else if block.finds.is_empty() {
        "validate"
    } else {
        "lint"
    });
    let output = environment.run(arguments).unwrap();
    let expected: Vec<&String> = block.fails.iter().chain(&block.finds).collect();
    if expected.is_empty() {
        return if output.code() == Some(0) {
            Ok(())
        } else {
            Err(format!("fails\n{output}"))
        };
    }
    let answer: Value = serde_json::from_str(&output.stdout).unwrap_or_default();
    let reported: BTreeSet<&str> = answer["findings"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|finding| finding["code"].as_str())
        .collect();
    match expected.iter().find(|code| !reported.contains(code.as_str())) {
        None => Ok(()),
        Some(code) => Err(format!("{code} is not among {reported:?}\n{output}")),
    }
}

#[test]
fn every_example_is_taken_or_refused_as_the_page_says() {
    let mut wrong = Vec::new();
    for (name, page) in pages() {
        wrong.extend(
            check(&page)
                .into_iter()
                .map(|wrong| format!("docs/language/{name}: {wrong}")),
        );
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_page_is_linked_from_the_index() {
    let index = std::fs::read_to_string(docs().join("language.md")).unwrap();
    for name in pages().keys() {
        assert!(
            index.contains(&format!("](language/{name})")),
            "{name} is not in docs/language.md"
        );
    }
}

#[test]
fn a_page_with_a_wrong_example_is_found_out() {
    let cluster = "```yaml\nversion: 1\nclusters: {c: {type: single, servers: {s: {host: h}}}}\n```\n";
    let user = "```yaml\nversion: 1\nusers: {u: {password: {env: U}, cluster: c}}\n```\n";
    for (page, wrong) in [
        (cluster.to_owned(), None),
        (user.to_owned(), Some("line 1: fails")),
        (format!("<!-- fails: SW125 -->\n{user}"), None),
        (
            format!("<!-- fails: SW101 -->\n{user}"),
            Some("SW101 is not among {\"SW125\"}"),
        ),
        (format!("{cluster}\n<!-- with: previous -->\n{user}"), None),
        (format!("{cluster}\n{user}"), Some("line 6: fails")),
        (
            format!("<!-- file: shardwright.yaml -->\n```yaml\nversion: 1\n```\n{cluster}"),
            Some("line 2: fails"),
        ),
        (
            format!("<!-- engines: oracle -->\n{cluster}"),
            Some("line 2: fails"),
        ),
        (
            format!("<!-- with: nothing -->\n{cluster}"),
            Some("nobody knows the directive `with: nothing`"),
        ),
        (
            format!("<!-- fails: SW125 -->\n\n{user}"),
            Some("line 1: no fence follows"),
        ),
        (
            "```yaml\nversion: 1\n".to_owned(),
            Some("line 1: the fence is not closed"),
        ),
        (
            "  ```yaml\n  version: 1\n  ```\n".to_owned(),
            Some("line 1: a fence is ```"),
        ),
        (
            "<!-- fails: SW125 -->\n```text\n```\n".to_owned(),
            Some("is not run"),
        ),
    ] {
        let found = check(&page).join("\n");
        assert_eq!(!found.is_empty(), wrong.is_some(), "{page}\n{found}");
        assert!(found.contains(wrong.unwrap_or_default()), "{page}\n{found}");
    }
}

/// Definitions that sections share, and the pages that are about them.
const SHARED: [(&str, &str); 3] = [
    ("scope", "match.md"),
    ("secret", "secrets.md"),
    ("for_each", "generators.md"),
];

#[test]
fn every_section_has_a_page_that_names_each_of_its_fields() {
    let pages = pages();
    let mut wrong = Vec::new();
    let mut check = |name: &str, part: &Value, schema: &Value| match pages.get(name) {
        None => wrong.push(format!("there is no docs/language/{name}")),
        Some(page) => {
            let mut fields = BTreeSet::new();
            collect_fields(part, schema, &mut fields);
            let missing = fields.into_iter().filter(|field| !names(page, field));
            wrong.extend(missing.map(|field| format!("docs/language/{name} does not name {field}")));
        }
    };
    let topology = published("topology.v1.json");
    for (section, part) in topology["properties"].as_object().unwrap() {
        if section != "version" {
            check(&format!("{}.md", section.replace('_', "-")), part, &topology);
        }
    }
    for (definition, page) in SHARED {
        check(page, &topology["$defs"][definition], &topology);
    }
    for (file, page) in [
        ("project.v1.json", "project-file.md"),
        ("tests.v1.json", "route-tests.md"),
    ] {
        let schema = published(file);
        check(page, &schema, &schema);
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_link_of_the_language_leads_to_a_file() {
    let index = std::fs::read_to_string(docs().join("language.md")).unwrap();
    let mut files = vec![("language.md".to_owned(), docs(), index)];
    files.extend(
        pages()
            .into_iter()
            .map(|(name, page)| (name, docs().join("language"), page)),
    );
    let mut wrong = Vec::new();
    for (name, directory, text) in files {
        for link in text.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            let path = link.split('#').next().unwrap_or_default();
            if !path.is_empty() && !path.contains("://") && !directory.join(path).exists() {
                wrong.push(format!("{name}: {link}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

fn published(file: &str) -> Value {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../schemas")
        .join(file);
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

/// The names of all properties of a part of a schema, through references that are not shared.
fn collect_fields(part: &Value, schema: &Value, fields: &mut BTreeSet<String>) {
    match part {
        Value::Object(entries) => {
            for (key, value) in entries {
                match (key.as_str(), value.as_str()) {
                    ("properties", _) => {
                        for (field, value) in value.as_object().unwrap() {
                            // Generators and exclusions are the same wherever they stand.
                            let is_shared = field == "for_each" || field.starts_with("except_");
                            fields.extend((!is_shared).then(|| field.clone()));
                            collect_fields(value, schema, fields);
                        }
                    }
                    ("$ref", Some(target)) => {
                        let definition = target.rsplit('/').next().unwrap_or_default();
                        if SHARED.iter().all(|(shared, _)| *shared != definition) {
                            collect_fields(schema.pointer(&target[1..]).unwrap(), schema, fields);
                        }
                    }
                    ("$defs", _) => {}
                    _ => collect_fields(value, schema, fields),
                }
            }
        }
        Value::Array(items) => items.iter().for_each(|item| collect_fields(item, schema, fields)),
        _ => {}
    }
}

/// Whether a page speaks of a field: its name stands there as a word.
fn names(page: &str, field: &str) -> bool {
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    page.match_indices(field)
        .any(|(at, _)| !page[..at].ends_with(is_word) && !page[at + field.len()..].starts_with(is_word))
}
