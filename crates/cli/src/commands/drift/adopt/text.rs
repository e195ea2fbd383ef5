//! Values written into YAML texts where people keep them: nothing but the value changes, or a line comes or goes.

use std::collections::BTreeMap;
use std::ops::Range;

use shardwright_diagnostics::Sources;
use shardwright_documents::{Node, read, spelled};

/// Texts of files by their paths in the project.
pub(super) type Texts = BTreeMap<String, String>;

/// A step down a tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Step {
    Key(String),
    Item(usize),
}

/// What is done at a place of a tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Edit {
    /// A field gets this value, as it stands in YAML; it is added where it is missing.
    Set(Vec<Step>, String),
    /// A field or an item goes.
    Remove(Vec<Step>),
    /// An item is added at the end of a list, which is made where it is missing.
    Append(Vec<Step>, String),
}

/// The steps of an address: `query_rules.legacy.rules[3]`.
pub(super) fn steps(address: &str) -> Vec<Step> {
    let mut steps = Vec::new();
    for part in address.split('.') {
        let (key, index) = match part.strip_suffix(']').and_then(|part| part.split_once('[')) {
            Some((key, index)) => (key, index.parse().ok()),
            None => (part, None),
        };
        steps.push(Step::Key(key.to_owned()));
        steps.extend(index.map(Step::Item));
    }
    steps
}

/// The files with an edit made. `new_file` takes what has no place yet.
///
/// # Errors
/// Why the edit cannot be made, for people.
pub(super) fn edited(texts: &Texts, edit: &Edit, new_file: &str) -> Result<Texts, String> {
    let path = match edit {
        Edit::Set(path, _) | Edit::Remove(path) | Edit::Append(path, _) => path,
    };
    let mut deepest: Option<(usize, &String)> = None;
    for (file, text) in texts.iter().filter(|(file, _)| file.starts_with("topology/")) {
        let depth = tree(file, text)?.map_or(0, |root| descend(&root, path).len() - 1);
        if deepest.is_none_or(|(most, _)| depth > most) {
            deepest = Some((depth, file));
        }
    }
    let mut texts = texts.clone();
    let is_new = |depth: usize| depth == 0 || (depth < path.len() && matches!(edit, Edit::Append(..)));
    let file = match deepest {
        Some((depth, file)) if !is_new(depth) => file.clone(),
        _ if matches!(edit, Edit::Remove(_)) => return Err("no file says it".to_owned()),
        _ => {
            texts
                .entry(new_file.to_owned())
                .or_insert_with(|| "version: 1\n".to_owned());
            new_file.to_owned()
        }
    };
    let text = texts.get_mut(&file).expect("it is one of the texts");
    let root = tree(&file, text)?.ok_or("the file is empty")?;
    let nodes = descend(&root, path);
    let depth = nodes.len() - 1;
    let (at, rest) = (nodes[depth], &path[depth..]);
    match edit {
        Edit::Set(_, value) if rest.is_empty() => {
            if at.as_mapping().is_some() || at.as_sequence().is_some() {
                return Err("it is more than one value there".to_owned());
            }
            text.replace_range(at.span.range(), value);
        }
        Edit::Set(_, value) => insert_field(text, at, rest, value)?,
        Edit::Append(_, value) if rest.is_empty() => append(text, at, value)?,
        Edit::Append(_, value) => insert_field(text, at, rest, &format!("[{value}]"))?,
        Edit::Remove(_) if rest.is_empty() => {
            let gone = removed(text, nodes[depth - 1], &path[depth - 1])?;
            text.replace_range(gone, "");
        }
        Edit::Remove(_) => return Err("no file says it".to_owned()),
    }
    Ok(texts)
}

fn tree(file: &str, text: &str) -> Result<Option<Node>, String> {
    let (document, problems) = read(&mut Sources::new(), file, text.as_bytes());
    match problems.has_errors() {
        true => Err(format!("{file} cannot be read")),
        false => Ok(document.root),
    }
}

/// The nodes along a path, as far as it is there; the first is the root.
fn descend<'a>(root: &'a Node, path: &[Step]) -> Vec<&'a Node> {
    let mut nodes = vec![root];
    for step in path {
        let node = nodes[nodes.len() - 1];
        let next = match step {
            Step::Key(key) => node.get(key),
            Step::Item(index) => node.as_sequence().and_then(|items| items.get(*index)),
        };
        match next {
            Some(next) => nodes.push(next),
            None => break,
        }
    }
    nodes
}

/// Adds a field to a map; of a path that is missing as a whole, the maps around it too.
fn insert_field(text: &mut String, map: &Node, rest: &[Step], value: &str) -> Result<(), String> {
    let mut keys = Vec::new();
    for step in rest {
        match step {
            Step::Key(key) => keys.push(spelled(key)),
            Step::Item(_) => return Err("there is no such item".to_owned()),
        }
    }
    let entries = map.as_mapping().ok_or("it is no map there")?.entries();
    if text[map.span.range()].starts_with('{') {
        let mut field = value.to_owned();
        for (at, key) in keys.iter().enumerate().rev() {
            field = format!("{key}: {field}");
            if at > 0 {
                field = format!("{{{field}}}");
            }
        }
        match entries.last() {
            None => text.replace_range(map.span.range(), &format!("{{{field}}}")),
            Some(last) => text.insert_str(last.value.span.range().end, &format!(", {field}")),
        }
        return Ok(());
    }
    let last = entries.last().ok_or("it is empty there")?;
    let indent = indent_of(text, entries[0].key.span.range().start)?;
    // A section of its own has an empty line before it.
    let mut lines = if indent.is_empty() {
        "\n".to_owned()
    } else {
        String::new()
    };
    for (depth, key) in keys.iter().enumerate() {
        let value = if depth + 1 == keys.len() {
            format!(" {value}")
        } else {
            String::new()
        };
        let deeper = " ".repeat(2 * depth);
        lines.push_str(&format!("\n{indent}{deeper}{key}:{value}"));
    }
    let end = line_end(text, last.value.span.range().end);
    text.insert_str(end, &lines);
    Ok(())
}

fn append(text: &mut String, list: &Node, value: &str) -> Result<(), String> {
    let items = list.as_sequence().ok_or("it is no list there")?;
    let is_flow = text[list.span.range()].starts_with('[');
    match items.last() {
        None if is_flow => text.replace_range(list.span.range(), &format!("[{value}]")),
        None => return Err("it is empty there".to_owned()),
        Some(last) if is_flow => text.insert_str(last.span.range().end, &format!(", {value}")),
        Some(last) => {
            let start = items[0].span.range().start;
            let line = text[..start].rfind('\n').map_or(0, |end| end + 1);
            let lead = &text[line..start];
            let dash = lead.find('-').ok_or("its items do not begin lines")?;
            let lead = lead[..dash].to_owned();
            let end = line_end(text, last.span.range().end);
            text.insert_str(end, &format!("\n{lead}- {value}"));
        }
    }
    Ok(())
}

/// The bytes that go with a field or an item.
fn removed(text: &str, parent: &Node, step: &Step) -> Result<Range<usize>, String> {
    let spans: Vec<Range<usize>> = match (parent.as_mapping(), parent.as_sequence()) {
        (Some(map), _) => map
            .iter()
            .map(|entry| entry.key.span.range().start..entry.value.span.range().end)
            .collect(),
        (_, Some(items)) => items.iter().map(|item| item.span.range()).collect(),
        _ => return Err("no file says it".to_owned()),
    };
    let at = match step {
        Step::Item(index) => Some(*index),
        Step::Key(key) => parent
            .as_mapping()
            .and_then(|map| map.keys().position(|known| known == key)),
    };
    let at = at.filter(|at| *at < spans.len()).ok_or("no file says it")?;
    if spans.len() == 1 {
        return Err("it is the only one there".to_owned());
    }
    let is_flow = text[parent.span.range()].starts_with(['{', '[']);
    let range = match (is_flow, spans.get(at + 1)) {
        (true, Some(next)) => spans[at].start..next.start,
        (true, None) => spans[at - 1].end..spans[at].end,
        (false, _) => {
            let start = text[..spans[at].start].rfind('\n').map_or(0, |end| end + 1);
            let end = line_end(text, spans[at].end);
            let before = text[start..spans[at].start].trim();
            if !matches!(before, "" | "-") {
                return Err("something else is on its line".to_owned());
            }
            start..(end + 1).min(text.len())
        }
    };
    match text[range.clone()].contains('#') {
        true => Err("a comment would go with it".to_owned()),
        false => Ok(range),
    }
}

/// What stands before a key on its line, where that is only blanks.
fn indent_of(text: &str, at: usize) -> Result<String, String> {
    let line = text[..at].rfind('\n').map_or(0, |end| end + 1);
    let lead = &text[line..at];
    match lead.chars().all(|c| c == ' ' || c == '-') {
        true => Ok(" ".repeat(lead.len())),
        false => Err("its fields do not begin lines".to_owned()),
    }
}

/// The end of the line that a place is on, without the line break.
fn line_end(text: &str, at: usize) -> usize {
    text[at..].find('\n').map_or(text.len(), |end| at + end)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "version: 1
clusters:
  one: {type: single, servers: {s1: {host: one.db}}}   # the old one
  two:
    type: single
    servers:
      s1: {host: two.db, weight: 2}  # since May

      s2:
        host: three.db
users: {}
query_rules:
  legacy:
    rules:
      - {rule_id: 1, match_digest: \"^A\"}
      - rule_id: 2
        match_digest: \"^B\"   # why
  flow: {rules: [{rule_id: 3}, {rule_id: 4}]}
";

    fn done(edit: &Edit) -> Result<String, String> {
        let texts = Texts::from([("topology/a.yaml".to_owned(), TEXT.to_owned())]);
        let after = edited(&texts, edit, "topology/adopted.yaml")?;
        let mut out = String::new();
        for (file, text) in &after {
            let before = texts.get(file).map_or("", String::as_str);
            let diff = similar::TextDiff::from_lines(before, text);
            let changed = diff
                .iter_all_changes()
                .filter(|change| change.tag() != similar::ChangeTag::Equal);
            for change in changed {
                out.push_str(&format!("{}{}", change.tag(), change.value()));
            }
        }
        Ok(out)
    }

    #[test]
    fn only_what_is_meant_changes() {
        let set = |address: &str, value: &str| done(&Edit::Set(steps(address), value.to_owned()));
        let remove = |address: &str| done(&Edit::Remove(steps(address)));
        let append = |address: &str, value: &str| done(&Edit::Append(steps(address), value.to_owned()));
        let shown = [
            set("clusters.two.servers.s1.weight", "5"),
            set("clusters.one.servers.s1.weight", "5"),
            set("clusters.two.servers.s2.weight", "5"),
            set("clusters.two.servers.s3", "{host: new.db}"),
            set("users.app", "{cluster: one}"),
            set("engine_settings.proxysql.mysql-threads", "3"),
            set("query_rules.legacy.rules[1].match_digest", "\"^C\""),
            set("query_rules.legacy.rules[1].apply", "1"),
            remove("clusters.two.servers.s2"),
            remove("query_rules.flow.rules[1]"),
            append("query_rules.legacy.rules", "{rule_id: 9}"),
            append("query_rules.flow.rules", "{rule_id: 9}"),
            append("query_rules.adopted.rules", "{rule_id: 9}"),
        ];
        let shown: Vec<String> = shown.into_iter().map(|done| done.unwrap()).collect();
        insta::assert_snapshot!(shown.join("\n"), @r#"
        -      s1: {host: two.db, weight: 2}  # since May
        +      s1: {host: two.db, weight: 5}  # since May

        -  one: {type: single, servers: {s1: {host: one.db}}}   # the old one
        +  one: {type: single, servers: {s1: {host: one.db, weight: 5}}}   # the old one

        +        weight: 5

        +      s3: {host: new.db}

        -users: {}
        +users: {app: {cluster: one}}

        +version: 1
        +
        +engine_settings:
        +  proxysql:
        +    mysql-threads: 3

        -        match_digest: "^B"   # why
        +        match_digest: "^C"   # why

        +        apply: 1

        -      s2:
        -        host: three.db

        -  flow: {rules: [{rule_id: 3}, {rule_id: 4}]}
        +  flow: {rules: [{rule_id: 3}]}

        +      - {rule_id: 9}

        -  flow: {rules: [{rule_id: 3}, {rule_id: 4}]}
        +  flow: {rules: [{rule_id: 3}, {rule_id: 4}, {rule_id: 9}]}

        +version: 1
        +
        +query_rules:
        +  adopted:
        +    rules: [{rule_id: 9}]
        "#);
        for (edit, reason) in [
            (remove("clusters.one.servers.s1"), "it is the only one there"),
            (remove("clusters.two.servers.s1"), "a comment would go with it"),
            (
                remove("query_rules.legacy.rules[1]"),
                "a comment would go with it",
            ),
            (remove("users.nobody"), "no file says it"),
            (
                set("clusters.two.servers", "1"),
                "it is more than one value there",
            ),
        ] {
            assert_eq!(edit.unwrap_err(), reason);
        }
    }
}
