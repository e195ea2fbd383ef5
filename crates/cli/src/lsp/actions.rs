//! What an editor can do about a problem: take the name that was probably meant, or apply the fix of a finding.

use std::collections::HashMap;

use lsp_types::{
    CodeAction, CodeActionKind, CodeActionOrCommand, CodeActionParams, NumberOrString, TextEdit,
    WorkspaceEdit,
};
use shardwright_diagnostics::{Diagnostic, Edit, Sources, Span};

use super::analysis::Analysis;
use super::workspace::Workspace;

/// The actions for the problems that touch a range of a text.
pub(super) fn actions(
    workspace: &mut Workspace,
    params: CodeActionParams,
) -> Option<Vec<CodeActionOrCommand>> {
    let (analysis, path) = workspace.analysis(&params.text_document.uri)?;
    let file = analysis.file(&path)?;
    let encoding = workspace.documents.encoding;
    let start = analysis.offset(file, params.range.start, encoding);
    let end = analysis.offset(file, params.range.end, encoding);
    let problems = analysis.problems();
    let touched = problems.sorted().into_iter().filter(|problem| {
        let span = problem.primary.as_ref().map(|label| label.span);
        span.is_some_and(|span| span.file == file && span.start <= end && start <= span.end)
    });
    let sources = &analysis.loaded.sources;
    let mut actions = Vec::new();
    for problem in touched {
        let shown = params
            .context
            .diagnostics
            .iter()
            .filter(|shown| shown.code == Some(NumberOrString::String(problem.code.to_string())));
        if let Some((title, edits)) = meant(problem, sources).or_else(|| fix(problem)) {
            actions.push(CodeActionOrCommand::CodeAction(CodeAction {
                title,
                kind: Some(CodeActionKind::QUICKFIX),
                diagnostics: Some(shown.cloned().collect()),
                edit: Some(edit(&edits, &analysis, workspace)?),
                is_preferred: Some(true),
                ..CodeAction::default()
            }));
        }
    }
    Some(actions)
}

/// Replaces the name by the one that was meant.
fn meant(problem: &Diagnostic, sources: &Sources) -> Option<(String, Vec<Edit>)> {
    let meant = problem.meant.as_ref()?;
    let span = name(problem.primary.as_ref()?.span, sources)?;
    let edit = Edit {
        span,
        text: meant.clone(),
    };
    Some((format!("Change to `{meant}`"), vec![edit]))
}

/// The name in a span: without the quotes or the `$(…)` around it. None if there is more than a name.
fn name(span: Span, sources: &Sources) -> Option<Span> {
    let text = sources.slice(span);
    let inner = match text.strip_prefix("$(").and_then(|rest| rest.strip_suffix(')')) {
        Some(inner) => inner,
        None => text.trim_matches(['"', '\'']),
    };
    let is_name = |letter: char| letter.is_alphanumeric() || matches!(letter, '_' | '-' | '.' | '/');
    if inner.is_empty() || !inner.chars().all(is_name) {
        return None;
    }
    let start = span.start + u32::try_from(text.find(inner)?).ok()?;
    Some(Span::new(
        span.file,
        start,
        start + u32::try_from(inner.len()).ok()?,
    ))
}

fn fix(problem: &Diagnostic) -> Option<(String, Vec<Edit>)> {
    let fix = problem.fix.as_ref()?;
    Some((format!("Fix {}", problem.code), fix.edits.clone()))
}

fn edit(edits: &[Edit], analysis: &Analysis, workspace: &Workspace) -> Option<WorkspaceEdit> {
    let mut changes: HashMap<_, Vec<TextEdit>> = HashMap::new();
    for edit in edits {
        let location = analysis.location(edit.span, &workspace.documents)?;
        changes
            .entry(location.uri)
            .or_default()
            .push(TextEdit::new(location.range, edit.text.clone()));
    }
    Some(WorkspaceEdit::new(changes))
}
