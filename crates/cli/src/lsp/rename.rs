//! New names: every reference to the object is changed with its definition, or nothing is.

mod unchanged;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use lsp_types::{
    PrepareRenameResponse, RenameParams, TextDocumentPositionParams, TextEdit, Url, WorkspaceEdit,
};
use shardwright_diagnostics::{Sources, Span};
use shardwright_topology::is_name;
use shardwright_topology::symbols::{Meaning, Symbol};

use super::analysis::Analysis;
use super::navigate::{addresses_of, file_position};
use super::refusal::Refusal;
use super::workspace::Workspace;
use unchanged::Names;

/// Variables of generators have addresses of this form, which no other object has.
const GENERATOR_VARIABLE: &str = "for_each.";

/// The name that a rename would replace, or why there is none.
pub(super) fn prepare(
    workspace: &mut Workspace,
    params: TextDocumentPositionParams,
) -> Result<Option<PrepareRenameResponse>, Refusal> {
    let Some((analysis, position)) = file_position(workspace, &params) else {
        return Ok(None);
    };
    let Some(symbol) = analysis.symbols().at(position.file, position.offset) else {
        return Ok(None);
    };
    Renaming::of(&analysis, symbol).map_err(Refusal::failed)?;
    Ok(Some(PrepareRenameResponse::RangeWithPlaceholder {
        range: analysis.range(symbol.span, workspace.documents.encoding),
        placeholder: analysis.loaded.sources.slice(symbol.span).to_owned(),
    }))
}

/// The edits of a rename.
pub(super) fn rename(
    workspace: &mut Workspace,
    params: RenameParams,
) -> Result<Option<WorkspaceEdit>, Refusal> {
    let Some((analysis, position)) = file_position(workspace, &params.text_document_position) else {
        return Ok(None);
    };
    let Some(symbol) = analysis.symbols().at(position.file, position.offset) else {
        return Err(Refusal::failed("there is no name here"));
    };
    let renaming = Renaming::of(&analysis, symbol).map_err(Refusal::failed)?;
    let edits = renaming.edits(&params.new_name).map_err(Refusal::failed)?;
    // Editors take edits of one file in any order; ours have one.
    let mut changes: HashMap<Url, Vec<TextEdit>> = HashMap::new();
    for (span, new) in edits {
        let path = analysis.loaded.sources.path(span.file);
        let location = analysis.location(span, &workspace.documents);
        let location = location
            .ok_or_else(|| Refusal::failed(format!("{path} cannot be edited: its path is no URL")))?;
        let edit = TextEdit::new(location.range, new);
        changes.entry(location.uri).or_default().push(edit);
    }
    Ok(Some(WorkspaceEdit::new(changes)))
}

/// An object that may be renamed.
struct Renaming<'a> {
    analysis: &'a Analysis,
    definitions: Vec<&'a Symbol>,
    addresses: Vec<Arc<str>>,
}

impl<'a> Renaming<'a> {
    /// The object that a name means, unless a generator named it.
    fn of(analysis: &'a Analysis, symbol: &Symbol) -> Result<Self, String> {
        if let Meaning::Glob { pattern, .. } = &symbol.meaning {
            return Err(format!(
                "`{}` is a pattern of names: rename one of the objects that it matches",
                pattern.as_str()
            ));
        }
        let loaded = &analysis.loaded;
        if let Some(unread) = loaded.documents.all().find(|document| !document.complete) {
            let path = loaded.sources.path(unread.file);
            return Err(format!(
                "{path} cannot be read completely: it may use this name too"
            ));
        }
        let symbols = analysis.symbols();
        if !symbols.complete() {
            return Err("the generators of this project make more names than rename can follow".to_owned());
        }
        let definitions = symbols.definitions(symbol);
        let Some(first) = definitions.first() else {
            return Err(format!(
                "`{}` is not defined in this project",
                loaded.sources.slice(symbol.span)
            ));
        };
        if let Some(template) = definitions.iter().find(|definition| definition.is_template) {
            let (name, place) = (
                loaded.sources.slice(template.span),
                loaded.sources.display(template.span),
            );
            return Err(format!("the name is made by the generator `{name}` at {place}"));
        }
        debug_assert!(first.is_definition());
        let addresses = addresses_of(&definitions);
        Ok(Self {
            analysis,
            definitions,
            addresses,
        })
    }

    /// The spans that contain the name, with their new texts: all of them, or none if the project would mean something else.
    fn edits(&self, new: &str) -> Result<BTreeMap<Span, String>, String> {
        let sources = &self.analysis.loaded.sources;
        let spans = self.spans(new)?;
        let edits = spans.into_iter().map(|span| (span, written(new, span, sources)));
        let edits: BTreeMap<Span, String> = edits.collect();
        let old = self
            .definitions
            .first()
            .map_or("", |first| sources.slice(first.span));
        unchanged::check(self.analysis, Names { old, new }, &edits)?;
        Ok(edits)
    }

    fn spans(&self, new: &str) -> Result<BTreeSet<Span>, String> {
        self.check_name(new)?;
        let sources = &self.analysis.loaded.sources;
        let mut spans: BTreeSet<Span> = self
            .definitions
            .iter()
            .map(|definition| definition.span)
            .collect();
        for reference in self.analysis.symbols().references(&self.addresses) {
            let place = || sources.display(reference.span);
            let written = sources.slice(reference.span);
            match &reference.meaning {
                Meaning::Glob { .. } => {}
                Meaning::Addresses(_) if reference.is_template => {
                    return Err(format!("the name is computed by `{written}` at {}", place()));
                }
                Meaning::Addresses(meant)
                    if !meant
                        .iter()
                        .all(|address| self.addresses.binary_search(address).is_ok()) =>
                {
                    return Err(format!("`{written}` at {} names other objects too", place()));
                }
                Meaning::Addresses(_) => {
                    spans.insert(reference.span);
                }
            }
        }
        self.check_patterns(new)?;
        Ok(spans)
    }

    fn check_name(&self, new: &str) -> Result<(), String> {
        let is_variable = self
            .addresses
            .iter()
            .any(|address| address.starts_with(GENERATOR_VARIABLE));
        if is_variable {
            let plain = new
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
            if !plain || !new.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_') {
                return Err(format!("`{new}` is not a variable: use letters, digits and `_`"));
            }
            return self.check_variable(new);
        }
        if !is_name(new) {
            return Err(format!(
                "`{new}` is not a name: names are made of letters, digits, `_` and `-`"
            ));
        }
        let mut taken: HashMap<&str, &Symbol> = HashMap::new();
        for symbol in self
            .analysis
            .symbols()
            .iter()
            .filter(|symbol| symbol.is_definition())
        {
            taken.extend(symbol.addresses().iter().map(|address| (&**address, symbol)));
        }
        let wanted = self
            .addresses
            .iter()
            .map(|address| (address, renamed(address, new)));
        for (_, wanted) in wanted.filter(|(address, wanted)| ***address != **wanted) {
            if let Some(there) = taken.get(&*wanted) {
                let place = self.analysis.loaded.sources.display(there.span);
                return Err(format!("{wanted} is already defined, at {place}"));
            }
        }
        Ok(())
    }

    /// Variables of generators inside each other have different names.
    fn check_variable(&self, new: &str) -> Result<(), String> {
        let sources = &self.analysis.loaded.sources;
        let mine: BTreeSet<_> = self
            .definitions
            .iter()
            .map(|definition| definition.span.file)
            .collect();
        let taken = self.analysis.symbols().iter().find(|symbol| {
            symbol.is_definition()
                && symbol
                    .addresses()
                    .iter()
                    .any(|address| address.starts_with(GENERATOR_VARIABLE))
                && mine.contains(&symbol.span.file)
                && sources.slice(symbol.span) == new
        });
        match (taken, new) {
            (_, "key" | "var" | "except") => Err(format!("`{new}` is reserved")),
            (Some(taken), _) => Err(format!(
                "`{new}` is already a variable, at {}",
                sources.display(taken.span)
            )),
            (None, _) => Ok(()),
        }
    }

    /// A pattern that matches only one of both names would mean something else than before.
    fn check_patterns(&self, new: &str) -> Result<(), String> {
        for symbol in self.analysis.symbols().iter() {
            let Meaning::Glob { section, pattern } = &symbol.meaning else {
                continue;
            };
            for address in &self.addresses {
                let Some(old) = address.strip_prefix(&**section).filter(|old| !old.contains('.')) else {
                    continue;
                };
                if pattern.matches(old) != pattern.matches(new) {
                    let place = self.analysis.loaded.sources.display(symbol.span);
                    return Err(format!(
                        "the pattern `{}` at {place} matches only one of `{old}` and `{new}`",
                        pattern.as_str()
                    ));
                }
            }
        }
        Ok(())
    }
}

/// An address with another last name.
fn renamed(address: &str, new: &str) -> String {
    match address.rsplit_once('.') {
        Some((around, _)) => format!("{around}.{new}"),
        None => new.to_owned(),
    }
}

/// The name as it is written in the file: in quotes where it would be a number or another word of YAML.
fn written(new: &str, span: Span, sources: &Sources) -> String {
    let before = sources
        .text(span.file)
        .get(..span.range().start)
        .and_then(|text| text.chars().next_back());
    let is_whole = before.is_none_or(|before| before.is_whitespace() || matches!(before, '[' | '{' | ','));
    let reads_as_text = new.starts_with(|first: char| first.is_ascii_alphabetic())
        && !matches!(
            new.to_ascii_lowercase().as_str(),
            "true" | "false" | "null" | "yes" | "no" | "on" | "off" | "y" | "n"
        );
    if is_whole && !reads_as_text {
        format!("\"{new}\"")
    } else {
        new.to_owned()
    }
}

#[cfg(test)]
mod tests;
