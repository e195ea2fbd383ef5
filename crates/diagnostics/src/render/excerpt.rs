//! The parts of files around the labels of a problem, cut so that no file is too long or too wide to show.

use std::ops::Range;

use annotate_snippets::{Annotation, AnnotationKind, Origin, Snippet, normalize_untrusted_str};

use crate::boundary::floor_boundary;
use crate::{Diagnostic, Label, Sources};

/// Labels of one file that are no further apart than this share an excerpt.
const LINES_BETWEEN_LABELS: u32 = 8;
/// Of a line, no more bytes than this before and behind its labels are shown.
const CONTEXT_BYTES: usize = 100;
/// A label underlines no more bytes than this.
const LABEL_BYTES: usize = 200;
/// Of a line, no more bytes than this are shown.
const LINE_BYTES: usize = LABEL_BYTES + 3 * CONTEXT_BYTES;
/// No more labels than this are shown.
const LABELS: usize = 20;
const CUT: &str = "…";

/// A part of a file with its header.
pub(super) struct Excerpt<'a> {
    /// The place, where the snippet cannot tell it because its first columns were cut off.
    pub(super) origin: Option<Origin<'a>>,
    pub(super) snippet: Snippet<'a, Annotation<'a>>,
}

/// A label, the line it starts on, and whether it is the primary one.
struct Mark<'a> {
    label: &'a Label,
    line: u32,
    primary: bool,
}

impl Mark<'_> {
    /// The bytes to underline: the label as far as its first line goes.
    fn range(&self, text: &str, line: &Range<usize>) -> Range<usize> {
        let span = self.label.span.range();
        let start = floor_boundary(text, span.start).clamp(line.start, line.end);
        let end = floor_boundary(text, span.end.min(line.end).min(start + LABEL_BYTES));
        start..end.max(start)
    }
}

/// One excerpt per group of near labels, the one with the primary label first.
pub(super) fn excerpts<'a>(diagnostic: &'a Diagnostic, sources: &'a Sources) -> Vec<Excerpt<'a>> {
    let mark = |label: &'a Label, primary| Mark {
        label,
        line: sources.position(label.span).line,
        primary,
    };
    let mut marks: Vec<Mark<'a>> = diagnostic.primary.iter().map(|label| mark(label, true)).collect();
    marks.extend(
        diagnostic
            .secondary
            .iter()
            .take(LABELS)
            .map(|label| mark(label, false)),
    );
    marks.sort_by_key(|mark| (mark.label.span, !mark.primary));
    let near = |before: &Mark<'_>, after: &Mark<'_>| {
        before.label.span.file == after.label.span.file && after.line - before.line <= LINES_BETWEEN_LABELS
    };
    let mut groups: Vec<&[Mark<'a>]> = marks.chunk_by(near).collect();
    groups.sort_by_key(|group| !group.iter().any(|mark| mark.primary));
    groups.into_iter().map(|group| excerpt(group, sources)).collect()
}

/// Copies the lines of the group, each cut to what surrounds its labels.
fn excerpt<'a>(marks: &[Mark<'a>], sources: &'a Sources) -> Excerpt<'a> {
    let place = marks.iter().find(|mark| mark.primary).unwrap_or(&marks[0]);
    let (first, last) = (marks[0].line, marks[marks.len() - 1].line);
    let file = place.label.span.file;
    let text = sources.text(file);
    let mut shown = String::new();
    let mut annotations = Vec::new();
    let mut cut_in_front = false;
    for number in first..=last {
        let line = sources.line_range(file, number);
        let on_line = || marks.iter().filter(|mark| mark.line == number);
        let window = window(
            text,
            &line,
            on_line().map(|mark| (mark.range(text, &line), mark.primary)),
        );
        if window.start > line.start {
            cut_in_front = true;
            shown.push_str(CUT);
        }
        for mark in on_line() {
            let kind = if mark.primary {
                AnnotationKind::Primary
            } else {
                AnnotationKind::Context
            };
            let place = |at: usize| shown.len() + at.clamp(window.start, window.end) - window.start;
            let range = mark.range(text, &line);
            let label = (!mark.label.text.is_empty()).then(|| normalize_untrusted_str(&mark.label.text));
            annotations.push(kind.span(place(range.start)..place(range.end)).label(label));
        }
        shown.push_str(&sources.shown(file, window.clone()));
        shown.push_str(if window.end < line.end { CUT } else { "" });
        shown.push('\n');
    }
    let snippet = Snippet::source(shown)
        .line_start(first as usize)
        .annotations(annotations);
    let path = normalize_untrusted_str(sources.path(file));
    if !cut_in_front {
        return Excerpt {
            origin: None,
            snippet: snippet.path(path),
        };
    }
    let position = sources.position(place.label.span);
    let origin = Origin::path(path)
        .line(position.line as usize)
        .char_column(position.column as usize);
    Excerpt {
        origin: Some(origin),
        snippet,
    }
}

/// The part of a line to show: around all its labels where they fit, else around the primary or the first one.
fn window(
    text: &str,
    line: &Range<usize>,
    labels: impl Iterator<Item = (Range<usize>, bool)>,
) -> Range<usize> {
    let labels: Vec<_> = labels.collect();
    let start = labels
        .iter()
        .map(|(range, _)| range.start)
        .min()
        .unwrap_or(line.start);
    let end = labels
        .iter()
        .map(|(range, _)| range.end)
        .max()
        .unwrap_or(line.start);
    let main = labels.iter().find(|(_, primary)| *primary).or(labels.first());
    let wanted = match main {
        Some((main, _)) if end - start > LINE_BYTES - 2 * CONTEXT_BYTES => main.clone(),
        _ => start..end,
    };
    let from = floor_boundary(text, wanted.start.saturating_sub(CONTEXT_BYTES));
    // A line is not cut in front to save a few columns only.
    let from = if from < line.start + CONTEXT_BYTES {
        line.start
    } else {
        from
    };
    let to = floor_boundary(text, (wanted.end + CONTEXT_BYTES).min(line.end));
    from..to.max(from)
}
