//! `--fix`: edits that put findings right, applied where it is proved that no statement goes elsewhere afterwards.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use shardwright_diagnostics::{
    Applicability, Code, Diagnostic, Edit, FileId, Problems, Proof, Sources, Span,
};
use shardwright_documents::{Document, Node};
use shardwright_prover::equivalence::{Equivalence, equivalence};
use shardwright_rules::{Address, Configuration, EngineId};
use shardwright_topology::{Options, read_project_with};

use crate::error::CommandError;
use crate::files::replace_file;
use crate::project::Opened;
use crate::ui::Ui;

/// Fixes that one run applies.
const MOST_FIXES: usize = 1_000;

/// What became of the fixes of a run.
#[derive(Debug, Default)]
pub(super) struct Applied {
    pub(super) fixed: usize,
    /// Those of the last round.
    pub(super) last: usize,
    /// Why others were not applied, human-readable.
    pub(super) left: Vec<String>,
    /// What changed with those that are not safe, human-readable.
    pub(super) changed: Vec<String>,
}

impl Applied {
    /// Goes on with the next round, which knows best what is left.
    pub(super) fn then(&mut self, next: Self) {
        self.fixed += next.fixed;
        self.last = next.fixed;
        self.left = next.left;
        self.changed.extend(next.changed);
    }

    /// Prints what was done.
    pub(super) fn print(&self, ui: &Ui) {
        for line in &self.changed {
            ui.message(&format!("changed: {line}"));
        }
        for line in &self.left {
            ui.status(&format!("not fixed: {line}"));
        }
        ui.status(&format!("{} fixed", self.fixed));
    }
}

/// Findings with a fix, and the columns that go, or none if rules go. Whether a fix keeps where statements go is proved
/// before it is made.
fn columns_without_effect(code: Code) -> Option<&'static [&'static str]> {
    match code.as_str() {
        "SW207" => Some(&["flagOUT"]),
        "SW612" => Some(&["cache_timeout", "reconnect", "sticky_conn"]),
        _ => None,
    }
}

/// The finding with its fix, if it has one. It is safe where the finding is one of every engine. `dead`: rules that take no
/// statement.
pub(super) fn fixed(
    diagnostic: Diagnostic,
    dead: &[Address],
    on_every_engine: bool,
    opened: &Opened,
) -> Diagnostic {
    let edits = match columns_without_effect(diagnostic.code) {
        Some(columns) => without_columns(&diagnostic, columns, opened)
            .map(|spans| spans.into_iter().map(removed).collect::<Vec<_>>()),
        None if diagnostic.proof == Some(Proof::Proved) => without_rules(dead, opened),
        None => None,
    };
    let Some(edits) = edits else {
        return diagnostic;
    };
    let applicability = if on_every_engine {
        Applicability::Safe
    } else {
        Applicability::Unsafe
    };
    diagnostic.fix(applicability, edits)
}

fn removed(span: Span) -> Edit {
    Edit {
        span,
        text: String::new(),
    }
}

/// Whether the address is that of a rule of the user's own list.
fn is_own_rule(address: &str) -> bool {
    address.starts_with("query_rules.") && address.ends_with(']')
}

fn document_of(span: Span, opened: &Opened) -> Option<&Document> {
    opened.documents.all().find(|document| document.file == span.file)
}

/// The columns of the rule that a finding is about.
fn without_columns(diagnostic: &Diagnostic, columns: &[&str], opened: &Opened) -> Option<Vec<Span>> {
    let is_own = diagnostic.address.as_deref().is_some_and(is_own_rule);
    let at = diagnostic.primary.as_ref().filter(|_| is_own)?.span;
    if diagnostic.instance.is_some() {
        return None;
    }
    entries(document_of(at, opened)?, at, columns, &opened.sources)
}

/// The lines of rules, but for those that a generator makes. A list of which no rule stays becomes `[]`.
fn without_rules(dead: &[Address], opened: &Opened) -> Option<Vec<Edit>> {
    let origins = &opened.project.origins;
    // By list: where it stands, and the rules of it that go.
    let mut lists: BTreeMap<(FileId, u32), (&Node, Vec<Span>)> = BTreeMap::new();
    for address in dead.iter().filter(|address| is_own_rule(address.as_str())) {
        let origin = opened.find(address.as_str())?;
        if origins.instance(origin).is_some() {
            continue;
        }
        let at = origins.span(origin);
        let Some((list, item)) = innermost_item(document_of(at, opened)?, at) else {
            continue;
        };
        let (_, going) = lists
            .entry((at.file, list.span.start))
            .or_insert((list, Vec::new()));
        if !going.contains(&item.span) {
            going.push(item.span);
        }
    }
    let edits: Vec<Edit> = lists
        .into_values()
        .flat_map(|(list, going)| match list.as_sequence() {
            Some(items) if items.len() == going.len() => emptied(list, &opened.sources).into_iter().collect(),
            _ => going
                .into_iter()
                .filter_map(|item| item_lines(item, &opened.sources).map(removed))
                .collect::<Vec<_>>(),
        })
        .collect();
    (!edits.is_empty()).then_some(edits)
}

/// A list without its items, on the line of its key; none where a comment would go with them.
fn emptied(list: &Node, sources: &Sources) -> Option<Edit> {
    let text = sources.text(list.span.file);
    let last = list.as_sequence()?.last()?.span.range().end;
    let range = list.span.range();
    // In a list on lines of its own, blanks and comments may follow the last item.
    let end = if text[range.start..].starts_with('[') {
        range.end
    } else {
        last
    };
    let start = text[..range.start].trim_end().len();
    let gone = text.get(start..end)?;
    let offset = |at: usize| u32::try_from(at).unwrap_or(u32::MAX);
    (text[..start].ends_with(':') && !gone.contains('#')).then(|| Edit {
        span: Span::new(list.span.file, offset(start), offset(end)),
        text: " []".to_owned(),
    })
}

/// Entries of the innermost item of a list that contains a span, each with what separates it from its neighbour; none
/// where a comment would go with them, or nothing would be left.
fn entries(document: &Document, at: Span, keys: &[&str], sources: &Sources) -> Option<Vec<Span>> {
    let (_, item) = innermost_item(document, at)?;
    let all: Vec<_> = item.as_mapping()?.into_iter().collect();
    let goes: Vec<usize> = (0..all.len())
        .filter(|&index| keys.contains(&&*all[index].key.text))
        .collect();
    if goes.is_empty() || goes.len() == all.len() {
        return None;
    }
    let text = sources.text(at.file);
    let spans: Vec<Span> = goes
        .iter()
        .map(|&index| match all.get(index + 1) {
            Some(next) => Span::new(at.file, all[index].key.span.start, next.key.span.start),
            None => Span::new(at.file, all[index - 1].value.span.end, all[index].value.span.end),
        })
        .collect();
    let plain = |span: &Span| text.get(span.range()).is_some_and(|gone| !gone.contains('#'));
    spans.iter().all(plain).then_some(spans)
}

/// The innermost list with an item that contains a span, and that item.
fn innermost_item(document: &Document, at: Span) -> Option<(&Node, &Node)> {
    let inside = |inner: &&Node| inner.span.start <= at.start && at.start <= inner.span.end;
    let mut item = None;
    let mut node = document.root.as_ref();
    while let Some(inner) = node {
        node = match inner.as_mapping() {
            Some(mapping) => mapping.into_iter().map(|entry| &entry.value).find(inside),
            None => {
                let items = inner.as_sequence().unwrap_or_default();
                let found = items.iter().find(inside);
                item = found.map(|found| (inner, found)).or(item);
                found
            }
        };
    }
    item
}

/// The lines of an item of a list, if nothing else is on them.
fn item_lines(item: Span, sources: &Sources) -> Option<Span> {
    let text = sources.text(item.file);
    let range = item.range();
    let start = text[..range.start].rfind('\n').map_or(0, |end| end + 1);
    let end = text[range.end..]
        .find('\n')
        .map_or(text.len(), |end| range.end + end + 1);
    let alone = text[start..range.start].trim() == "-" && text[range.end..end].trim().is_empty();
    let offset = |at: usize| u32::try_from(at).unwrap_or(u32::MAX);
    alone.then(|| Span::new(item.file, offset(start), offset(end)))
}

/// Applies the fixes of findings to the files; those that are not safe only where `unsafe_too`.
pub(super) fn apply(
    problems: &Problems,
    unsafe_too: bool,
    before: &[(EngineId, Arc<Configuration>)],
    options: &Options,
    opened: &Opened,
) -> Result<Applied, CommandError> {
    let mut applied = Applied::default();
    let mut taken: Vec<Edit> = Vec::new();
    let findings = problems.sorted();
    let fixes = findings
        .iter()
        .filter_map(|finding| Some((finding, finding.fix.as_ref()?)));
    for (finding, fix) in fixes.take(MOST_FIXES) {
        if overlap(&taken, &fix.edits) {
            applied
                .left
                .push(format!("{}: another fix changes the same lines", finding.message));
            continue;
        }
        let edits = [taken.clone(), fix.edits.clone()].concat();
        let texts = edited(&edits, &opened.sources);
        match difference(before, &texts, options, opened) {
            Ok(None) => {}
            Ok(Some(shown)) if unsafe_too => applied.changed.push(format!("{}: {shown}", finding.message)),
            Ok(Some(shown)) => {
                applied.left.push(format!("{}: {shown}", finding.message));
                continue;
            }
            Err(why) => {
                applied.left.push(format!("{}: {why}", finding.message));
                continue;
            }
        }
        taken = edits;
        applied.fixed += 1;
    }
    applied.last = applied.fixed;
    for (path, text) in edited(&taken, &opened.sources) {
        replace_file(&opened.directory.join(path), text.as_bytes())?;
    }
    Ok(applied)
}

fn overlap(taken: &[Edit], edits: &[Edit]) -> bool {
    taken.iter().any(|one| {
        edits.iter().any(|other| {
            one.span.file == other.span.file
                && one.span.start < other.span.end
                && other.span.start < one.span.end
        })
    })
}

/// The texts of files with edits made, by path.
fn edited(edits: &[Edit], sources: &Sources) -> BTreeMap<String, String> {
    let mut of_files: BTreeMap<String, Vec<(Range<usize>, &str)>> = BTreeMap::new();
    let mut texts = BTreeMap::new();
    for edit in edits {
        let path = sources.path(edit.span.file).to_owned();
        texts
            .entry(path.clone())
            .or_insert_with(|| sources.text(edit.span.file).to_owned());
        of_files
            .entry(path)
            .or_default()
            .push((edit.span.range(), &edit.text));
    }
    for (path, mut edits) in of_files {
        edits.sort_by_key(|(range, _)| std::cmp::Reverse(range.start));
        if let Some(text) = texts.get_mut(&path) {
            for (range, new) in edits {
                text.replace_range(range, new);
            }
        }
    }
    texts
}

/// What the edited files route differently, or that this is undecided; none if routing is proved to be the same.
fn difference(
    before: &[(EngineId, Arc<Configuration>)],
    texts: &BTreeMap<String, String>,
    options: &Options,
    opened: &Opened,
) -> Result<Option<String>, String> {
    let loaded = read_project_with(&opened.directory, options, texts);
    let Some(project) = loaded.project else {
        return Err("the project cannot be read after the fix".to_owned());
    };
    for (engine, usual) in before {
        let after = opened.build_of(&project, *engine);
        if after.problems.has_errors() {
            return Err(format!(
                "the project cannot be compiled for {engine} after the fix"
            ));
        }
        if **usual == *after.configuration {
            continue;
        }
        match equivalence(usual, &after.configuration) {
            Equivalence::Proved => {}
            Equivalence::Refuted { differences, .. } => {
                let shown = differences.first().map_or_else(String::new, |difference| {
                    let statement = String::from_utf8_lossy(&difference.statement);
                    format!(", such as `{statement}` of user {}", difference.session.user)
                });
                return Ok(Some(format!("the fix changes routing on {engine}{shown}")));
            }
            Equivalence::Undecided { .. } => {
                return Ok(Some(format!(
                    "there is no proof that the fix keeps routing on {engine}"
                )));
            }
        }
    }
    Ok(None)
}
