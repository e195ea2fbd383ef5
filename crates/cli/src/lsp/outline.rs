//! The sections and objects of a file, for the editor's outline.

use lsp_types::{DocumentSymbol, DocumentSymbolParams, DocumentSymbolResponse, SymbolKind};
use shardwright_diagnostics::Span;
use shardwright_documents::{Entry, Node};

use super::analysis::Analysis;
use super::text::Encoding;
use super::workspace::Workspace;

/// Sections, objects, parts of objects, and what is in them.
const DEPTH: usize = 4;
/// Entries of one file.
const MAX_ENTRIES: usize = 20_000;

/// The outline of a file.
pub(super) fn outline(
    workspace: &mut Workspace,
    params: DocumentSymbolParams,
) -> Option<DocumentSymbolResponse> {
    let (analysis, path) = workspace.analysis(&params.text_document.uri)?;
    let root = analysis.document(analysis.file(&path)?)?.root.as_ref()?;
    let mut outline = Outline {
        analysis: &analysis,
        encoding: workspace.documents.encoding,
        left: MAX_ENTRIES,
    };
    Some(DocumentSymbolResponse::Nested(outline.entries(root, DEPTH)))
}

struct Outline<'a> {
    analysis: &'a Analysis,
    encoding: Encoding,
    left: usize,
}

impl Outline<'_> {
    fn entries(&mut self, node: &Node, depth: usize) -> Vec<DocumentSymbol> {
        let entries = node.as_mapping().map_or(&[][..], |mapping| mapping.entries());
        // An object's fields are no part of an outline, except those that hold further objects.
        let shown = |entry: &&Entry| {
            depth > DEPTH - 2 || (entry.value.as_mapping().is_some() && &*entry.key.text != "for_each")
        };
        let mut symbols = Vec::new();
        for entry in entries.iter().filter(shown) {
            let Some(left) = self.left.checked_sub(1) else {
                break;
            };
            self.left = left;
            symbols.push(self.symbol(entry, depth));
        }
        symbols
    }

    #[allow(deprecated, reason = "the protocol's type has the field")]
    fn symbol(&mut self, entry: &Entry, depth: usize) -> DocumentSymbol {
        let (key, value) = (entry.key.span, entry.value.span);
        // A value behind an alias is elsewhere.
        let whole = if value.file == key.file && value.start >= key.start {
            Span::new(key.file, key.start, value.end.max(key.end))
        } else {
            key
        };
        let children = if depth > 1 {
            self.entries(&entry.value, depth - 1)
        } else {
            Vec::new()
        };
        DocumentSymbol {
            name: if entry.key.text.is_empty() {
                "\"\"".to_owned()
            } else {
                entry.key.text.to_string()
            },
            detail: None,
            kind: if depth == DEPTH {
                SymbolKind::NAMESPACE
            } else {
                SymbolKind::OBJECT
            },
            tags: None,
            deprecated: None,
            range: self.analysis.range(whole, self.encoding),
            selection_range: self.analysis.range(key, self.encoding),
            children: (!children.is_empty()).then_some(children),
        }
    }
}
