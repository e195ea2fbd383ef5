//! Hover: what is shown for the key or name under the pointer.

use lsp_types::{Hover, HoverContents, HoverParams, MarkupContent, MarkupKind};
use shardwright_diagnostics::Span;

use super::navigate::{FilePosition, file_position};
use super::node_at::{At, find};
use super::object;
use super::schema::{Says, Schema, Step};
use super::workspace::Workspace;

/// The objects of a name, and what the schema says about the key or value.
pub(super) fn hover(workspace: &mut Workspace, params: HoverParams) -> Option<Hover> {
    let (analysis, FilePosition { file, offset }) =
        file_position(workspace, &params.text_document_position_params)?;
    let root = analysis.document(file)?.root.as_ref()?;
    let (path, at) = find(root, offset);
    let schema = Schema::of(analysis.loaded.sources.path(file));
    let mut span = match at {
        At::Key(entry) => entry.key.span,
        At::Value(node) => node.span,
    };
    let mut parts: Vec<String> = Vec::new();
    if let Some(symbol) = analysis.symbols().at(file, offset) {
        parts.extend(object::describe(&analysis, symbol));
        if !parts.is_empty() {
            span = symbol.span;
        }
    }
    let scalar = match at {
        At::Key(_) => true,
        At::Value(node) => node.raw().is_some(),
    };
    if parts.is_empty() && scalar {
        parts.extend(field(&schema, &path));
    }
    let value = parts.join("\n\n");
    (!value.is_empty()).then(|| Hover {
        contents: HoverContents::Markup(MarkupContent {
            kind: MarkupKind::Markdown,
            value,
        }),
        range: Some(analysis.range(
            Span::new(file, span.start, span.end),
            workspace.documents.encoding,
        )),
    })
}

/// A field with its name.
fn field(schema: &Schema, path: &[Step<'_>]) -> Option<String> {
    let says = schema.at(path);
    let name = path.iter().rev().find_map(|step| match step {
        Step::Key(key) => Some(*key),
        Step::Item => None,
    })?;
    Some(format!("**{name}**: {}", description(&says)?))
}

/// What the schema says about a position, as Markdown.
pub(super) fn description(says: &Says<'_>) -> Option<String> {
    let mut text = says.description()?.to_owned();
    let words = says.words();
    let code = |value: &serde_json::Value| match value.as_str() {
        Some(text) => format!("`{text}`"),
        None => format!("`{value}`"),
    };
    if !words.is_empty() {
        let words: Vec<String> = words.into_iter().map(code).collect();
        text += &format!("\n\nOne of {}.", words.join(", "));
    } else if let Some(expects) = says.expects() {
        text += &format!("\n\nTakes {expects}.");
    }
    let examples: Vec<String> = says.examples().take(3).map(code).collect();
    if !examples.is_empty() {
        text += &format!("\n\nFor example {}.", examples.join(", "));
    }
    Some(text)
}
