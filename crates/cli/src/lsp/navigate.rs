//! From a name to where it is defined, and to where it is meant.

use lsp_types::{
    GotoDefinitionParams, GotoDefinitionResponse, Location, ReferenceParams, TextDocumentPositionParams,
};
use shardwright_diagnostics::FileId;
use shardwright_topology::symbols::Symbol;
use std::rc::Rc;
use std::sync::Arc;

use super::analysis::Analysis;
use super::workspace::Workspace;

/// The most locations that are listed for one name.
const MAX_LOCATIONS: usize = 10_000;

/// Where the objects that a name means are defined; for instances of a generator, its template.
pub(super) fn definition(
    workspace: &mut Workspace,
    params: GotoDefinitionParams,
) -> Option<GotoDefinitionResponse> {
    let (analysis, position) = file_position(workspace, &params.text_document_position_params)?;
    let symbols = analysis.symbols();
    let symbol = symbols.at(position.file, position.offset)?;
    let found = locations(symbols.definitions(symbol), &analysis, workspace);
    (!found.is_empty()).then_some(GotoDefinitionResponse::Array(found))
}

/// Where the objects that a name means are used.
pub(super) fn references(workspace: &mut Workspace, params: ReferenceParams) -> Option<Vec<Location>> {
    let (analysis, position) = file_position(workspace, &params.text_document_position)?;
    let symbols = analysis.symbols();
    let symbol = symbols.at(position.file, position.offset)?;
    let definitions = symbols.definitions(symbol);
    let mut addresses = symbol.addresses().to_vec();
    if addresses.is_empty() {
        addresses = addresses_of(&definitions);
    }
    let mut found = symbols.references(&addresses);
    if params.context.include_declaration {
        found.extend(definitions);
    }
    found.sort_by_key(|symbol| symbol.span);
    Some(locations(found, &analysis, workspace))
}

/// The addresses that some definitions make, each once.
pub(super) fn addresses_of(definitions: &[&Symbol]) -> Vec<Arc<str>> {
    let mut addresses: Vec<Arc<str>> = definitions
        .iter()
        .flat_map(|definition| definition.addresses())
        .cloned()
        .collect();
    addresses.sort_unstable();
    addresses.dedup();
    addresses
}

fn locations(symbols: Vec<&Symbol>, analysis: &Analysis, workspace: &mut Workspace) -> Vec<Location> {
    let count = symbols.len();
    if count > MAX_LOCATIONS {
        let notice = format!("only the first {MAX_LOCATIONS} of {count} places are listed");
        workspace.notices.push(notice);
    }
    if !analysis.symbols().complete() {
        let notice = "the generators of this project make more names than are followed: places are missing";
        workspace.notices.push(notice.to_owned());
    }
    symbols
        .into_iter()
        .take(MAX_LOCATIONS)
        .filter_map(|symbol| analysis.location(symbol.span, &workspace.documents))
        .collect()
}

/// A byte of a file of a project.
#[derive(Clone, Copy)]
pub(super) struct FilePosition {
    pub(super) file: FileId,
    pub(super) offset: u32,
}

/// The project of a position, with its file and byte.
pub(super) fn file_position(
    workspace: &mut Workspace,
    params: &TextDocumentPositionParams,
) -> Option<(Rc<Analysis>, FilePosition)> {
    let (analysis, path) = workspace.analysis(&params.text_document.uri)?;
    let file = analysis.file(&path)?;
    let offset = analysis.offset(file, params.position, workspace.documents.encoding);
    Some((analysis, FilePosition { file, offset }))
}
