//! What may be typed next: keys and words by the schema, names by the project.

use lsp_types::{
    CompletionItem, CompletionItemKind, CompletionList, CompletionParams, CompletionResponse,
    CompletionTextEdit, Documentation, MarkupContent, MarkupKind, Range, TextEdit,
};
use serde_json::Value;
use shardwright_documents::Node;
use shardwright_topology::symbols::Refers;

use super::analysis::Analysis;
use super::cursor::{Cursor, Step, Typing};
use super::hover::description;
use super::schema::{self, Says, Schema};
use super::text::Lines;
use super::workspace::Workspace;

/// Names that are offered at once; more letters bring others.
const MAX_NAMES: usize = 200;

/// What may be written at the cursor.
pub(super) fn complete(workspace: &mut Workspace, params: CompletionParams) -> Option<CompletionResponse> {
    let place = params.text_document_position;
    let (analysis, path) = workspace.analysis(&place.text_document.uri)?;
    let text = workspace.documents.text(&place.text_document.uri)?;
    let lines = Lines::of(text);
    let offset = lines.offset(text, place.position, workspace.documents.encoding);
    let cursor = Cursor::at(text, offset)?;
    let mut offer = Offer {
        analysis: &analysis,
        range: lines.range(text, cursor.word.clone(), workspace.documents.encoding),
        typed: text
            .get(cursor.word.start..offset)
            .unwrap_or_default()
            .to_ascii_lowercase(),
        items: Vec::new(),
        is_incomplete: false,
    };
    let schema = Schema::of(&path);
    let path = steps(&cursor.path);
    match &cursor.typing {
        Typing::Template => offer.variables(),
        Typing::Key { present, has_colon } => {
            let says = schema.at(&path);
            if says.keys().next().is_some() {
                offer.keys(&says, &schema, &path, present, *has_colon);
            } else if !offer.names_as_keys(&says, &cursor.path, *has_colon) {
                offer.values(&schema, &path, &cursor);
            }
        }
        Typing::Value { .. } => offer.values(&schema, &path, &cursor),
    }
    let Offer {
        items, is_incomplete, ..
    } = offer;
    Some(CompletionResponse::List(CompletionList { is_incomplete, items }))
}

fn steps(path: &[Step]) -> Vec<schema::Step<'_>> {
    path.iter()
        .map(|step| match step {
            Step::Key(key) => schema::Step::Key(key),
            Step::Item => schema::Step::Item,
        })
        .collect()
}

/// What is offered so far.
struct Offer<'a> {
    analysis: &'a Analysis,
    range: Range,
    typed: String,
    items: Vec<CompletionItem>,
    is_incomplete: bool,
}

impl Offer<'_> {
    fn push(
        &mut self,
        label: &str,
        insert: String,
        kind: CompletionItemKind,
        detail: Option<String>,
        says: Option<String>,
    ) {
        self.items.push(CompletionItem {
            label: label.to_owned(),
            kind: Some(kind),
            detail,
            documentation: says.map(|value| {
                Documentation::MarkupContent(MarkupContent {
                    kind: MarkupKind::Markdown,
                    value,
                })
            }),
            sort_text: Some(format!("{:05}", self.items.len())),
            text_edit: Some(CompletionTextEdit::Edit(TextEdit::new(self.range, insert))),
            ..CompletionItem::default()
        });
    }

    /// Keys that are not there yet.
    fn keys(
        &mut self,
        says: &Says<'_>,
        schema: &Schema,
        path: &[schema::Step<'_>],
        present: &[String],
        has_colon: bool,
    ) {
        for (key, _) in says.keys() {
            if present.iter().any(|present| present == key) || self.items.iter().any(|item| item.label == key)
            {
                continue;
            }
            let mut inner = path.to_vec();
            inner.push(schema::Step::Key(key));
            let says = schema.at(&inner);
            let colon = if has_colon { "" } else { ": " };
            let detail = says.expects().map(ToOwned::to_owned);
            self.push(
                key,
                format!("{key}{colon}"),
                CompletionItemKind::PROPERTY,
                detail,
                description(&says),
            );
        }
    }

    /// Words, names of objects, and the keys of a mapping that is meant here.
    fn values(&mut self, schema: &Schema, path: &[schema::Step<'_>], cursor: &Cursor) {
        let says = schema.at(path);
        let is_quoted = matches!(cursor.typing, Typing::Value { is_quoted: true });
        self.names(schema, path);
        let has_names = !self.items.is_empty();
        let mut words: Vec<String> = says.words().into_iter().map(plain).collect();
        if says.takes("boolean") {
            words.extend(["true".to_owned(), "false".to_owned()]);
        }
        for word in words {
            let insert = if word.is_empty() && !is_quoted {
                "\"\"".to_owned()
            } else {
                word.clone()
            };
            self.push(&word, insert, CompletionItemKind::ENUM_MEMBER, None, None);
        }
        // Examples of names would be names of nothing.
        let shown = says.examples().filter(|_| !has_names);
        for value in [says.default()].into_iter().flatten().chain(shown) {
            let word = plain(value);
            if !value.is_object() && !value.is_array() && self.items.iter().all(|item| item.label != word) {
                self.push(&word, word.clone(), CompletionItemKind::VALUE, None, None);
            }
        }
        if !is_quoted {
            for (key, schema) in says.keys() {
                let says = schema
                    .get("description")
                    .and_then(Value::as_str)
                    .map(ToOwned::to_owned);
                let insert = format!("{{{key}: }}");
                self.push(
                    key,
                    insert,
                    CompletionItemKind::STRUCT,
                    Some(format!("{{{key}: …}}")),
                    says,
                );
            }
        }
    }

    /// Names that a field refers to.
    fn names(&mut self, schema: &Schema, path: &[schema::Step<'_>]) {
        let is_item = path.last() == Some(&schema::Step::Item);
        let field = if is_item { &path[..path.len() - 1] } else { path };
        let says = schema.at(field);
        // A list of one name, where only a list may be written.
        let in_list = says.takes("array") && !says.takes("string") && !is_item;
        let written = |name: &str| match in_list {
            true => format!("[{name}]"),
            false => name.to_owned(),
        };
        match says.refers() {
            Some(Refers::Object(section)) => self.offer_names(section, written),
            Some(Refers::Part(part)) => self.parts(field, part, written),
            Some(Refers::Shard) => self.shards(str::to_owned),
            Some(Refers::Address(sections)) => {
                for section in sections.split(' ').filter(|section| !section.is_empty()) {
                    self.offer_names(section, |name| written(&format!("{section}{name}")));
                }
            }
            Some(Refers::Schema) => self.schemas(in_list),
            Some(Refers::Nothing) | None => {}
        }
    }

    /// Names of a part of the object that contains a field.
    fn parts(&mut self, path: &[schema::Step<'_>], part: &str, insert: impl Fn(&str) -> String) {
        if let [schema::Step::Key(section), schema::Step::Key(object), _] = path
            && let Some(prefix) = self.inside(&format!("{section}."), object, part)
        {
            self.offer_names(&prefix, insert);
        }
    }

    /// Shards as `MAP/SHARD`.
    fn shards(&mut self, insert: impl Fn(&str) -> String) {
        let maps: Vec<String> = self
            .analysis
            .symbols()
            .names("shard_maps.")
            .map(ToOwned::to_owned)
            .collect();
        for map in maps {
            self.offer_names(&format!("shard_maps.{map}.shards."), |name| {
                insert(&format!("{map}/{name}"))
            });
        }
    }

    /// Keys that are names of objects defined elsewhere.
    fn names_as_keys(&mut self, says: &Says<'_>, path: &[Step], has_colon: bool) -> bool {
        let colon = if has_colon { "" } else { ": " };
        let insert = |name: &str| format!("{name}{colon}");
        match says.keys_refer() {
            Some(Refers::Object(section)) => self.offer_names(section, insert),
            Some(Refers::Part(part)) => self.parts(&steps(path), part, insert),
            Some(Refers::Shard) => self.shards(insert),
            _ => return false,
        }
        true
    }

    /// The prefix of addresses inside an object by the text of its key; of the first instance for a template.
    fn inside(&self, section: &str, key: &str, part: &str) -> Option<String> {
        let sources = &self.analysis.loaded.sources;
        self.analysis.symbols().iter().find_map(|symbol| {
            let address = symbol.addresses().first()?;
            let is_it = symbol.is_definition()
                && sources.slice(symbol.span) == key
                && address
                    .strip_prefix(section)
                    .is_some_and(|name| !name.contains('.'));
            is_it.then(|| format!("{address}.{part}."))
        })
    }

    /// Names with what has been typed in them; those that begin with it first.
    fn offer_names(&mut self, prefix: &str, insert: impl Fn(&str) -> String) {
        let names: Vec<&str> = self.analysis.symbols().names(prefix).collect();
        let begins = |name: &&&str| name.to_ascii_lowercase().starts_with(&self.typed);
        let holds = |name: &&&str| !begins(name) && insert(name).to_ascii_lowercase().contains(&self.typed);
        let chosen: Vec<&str> = names
            .iter()
            .filter(begins)
            .chain(names.iter().filter(holds))
            .take(MAX_NAMES + 1)
            .copied()
            .collect();
        self.is_incomplete |= chosen.len() > MAX_NAMES;
        for name in chosen.iter().take(MAX_NAMES) {
            if self.items.iter().all(|item| item.label != *name) {
                self.push(
                    name,
                    insert(name),
                    CompletionItemKind::REFERENCE,
                    Some(format!("{prefix}{name}")),
                    None,
                );
            }
        }
    }

    /// Schemas that some object names.
    fn schemas(&mut self, in_list: bool) {
        let mut found = Vec::new();
        for root in self
            .analysis
            .loaded
            .documents
            .all()
            .filter_map(|document| document.root.as_ref())
        {
            schemas_of(root, &mut found);
        }
        found.sort_unstable();
        found.dedup();
        self.is_incomplete |= found.len() > MAX_NAMES;
        for schema in found.into_iter().take(MAX_NAMES) {
            let insert = if in_list {
                format!("[{schema}]")
            } else {
                schema.clone()
            };
            self.push(&schema, insert, CompletionItemKind::REFERENCE, None, None);
        }
    }

    /// The project's variables, inside `$( … )`.
    fn variables(&mut self) {
        self.offer_names("variables.", |name| format!("var.{name}"));
    }
}

fn schemas_of(node: &Node, found: &mut Vec<String>) {
    for entry in node.as_mapping().into_iter().flatten() {
        let text = entry.value.as_text().filter(|text| !text.contains("$("));
        match (&*entry.key.text, text) {
            ("schema" | "logical_schema", Some(text)) => found.push(text.to_owned()),
            _ => schemas_of(&entry.value, found),
        }
    }
}

/// A value as it is written in YAML.
fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}
