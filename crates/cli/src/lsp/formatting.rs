//! A text in its one form.

use lsp_types::{DocumentFormattingParams, TextEdit};
use shardwright_diagnostics::Sources;
use shardwright_documents::format;

use super::refusal::Refusal;
use super::text::Lines;
use super::workspace::Workspace;

/// The edit that formats a text; none if it is already formatted, a refusal if it cannot be formatted.
pub(super) fn format_text(
    workspace: &mut Workspace,
    params: DocumentFormattingParams,
) -> Result<Option<Vec<TextEdit>>, Refusal> {
    let url = params.text_document.uri;
    let (Some((_, path)), Some(text)) = (workspace.analysis(&url), workspace.documents.text(&url)) else {
        return Ok(None);
    };
    let (formatted, problems) = format(&mut Sources::new(), &path, text.as_bytes());
    let Some(formatted) = formatted else {
        let why = problems
            .sorted()
            .first()
            .map_or_else(String::new, |problem| problem.message.clone());
        return Err(Refusal::failed(format!("{path} is not formatted: {why}")));
    };
    // Lines that stay keep the cursors in them.
    let same = |(a, b): &(&str, &str)| a == b;
    let kept = text
        .split_inclusive('\n')
        .zip(formatted.split_inclusive('\n'))
        .take_while(same);
    let start: usize = kept.map(|(line, _)| line.len()).sum();
    let (old, new) = (&text[start..], &formatted[start..]);
    let kept = old
        .split_inclusive('\n')
        .rev()
        .zip(new.split_inclusive('\n').rev())
        .take_while(same);
    let end: usize = kept.map(|(line, _)| line.len()).sum();
    let range = start..text.len() - end;
    let new = &new[..new.len() - end];
    if range.is_empty() && new.is_empty() {
        return Ok(None);
    }
    let range = Lines::of(text).range(text, range, workspace.documents.encoding);
    Ok(Some(vec![TextEdit::new(range, new.to_owned())]))
}
