//! Problems for people: code and message, the place with the offending text underlined, then note lines.

use annotate_snippets::renderer::DecorStyle;
use annotate_snippets::{
    Annotation, AnnotationKind, Group, Level, Origin, Renderer, Snippet, normalize_untrusted_str,
};

use crate::source::floor_boundary;
use crate::{Diagnostic, Label, NoteKind, Problems, Severity, Sources};

/// Labels of one file that are no further apart than this share an excerpt.
const LINES_BETWEEN_LABELS: u32 = 8;
/// Of a line, no more bytes than this before and behind a label are shown.
const CONTEXT_BYTES: usize = 100;
/// A label underlines no more bytes than this.
const LABEL_BYTES: usize = 200;

/// All kept problems in file order, a blank line between them, and a closing line where more were found than kept.
#[must_use]
pub fn render(problems: &Problems, sources: &Sources, colour: bool) -> String {
    let mut text = String::new();
    for diagnostic in problems.sorted() {
        text.push_str(&render_one(diagnostic, sources, colour));
        text.push('\n');
    }
    if problems.unkept() > 0 {
        text.push_str(&format!(
            "and {} more problems that are not shown\n",
            problems.unkept()
        ));
    }
    text
}

/// One problem, with a final line end.
#[must_use]
pub fn render_one(diagnostic: &Diagnostic, sources: &Sources, colour: bool) -> String {
    let level = match diagnostic.severity {
        Severity::Error => Level::ERROR,
        Severity::Warning => Level::WARNING,
        Severity::Info => Level::INFO,
    };
    let title = level
        .primary_title(&diagnostic.message)
        .id(diagnostic.code.as_str());
    let mut group = Group::with_title(title);
    for excerpt in excerpts(diagnostic, sources) {
        group = group.element(excerpt.origin).element(excerpt.snippet);
    }
    for (name, text) in note_lines(diagnostic) {
        group = group.element(Level::NOTE.with_name(name).message(text));
    }
    let renderer = if colour {
        Renderer::styled().hyperlink(false)
    } else {
        Renderer::plain()
    };
    let mut text = renderer.decor_style(DecorStyle::Unicode).render(&[group]);
    text.push('\n');
    text
}

/// A part of a file with its header.
struct Excerpt<'a> {
    origin: Origin<'a>,
    snippet: Snippet<'a, Annotation<'a>>,
}

/// A label, the line it starts on, and whether it is the primary one.
struct Mark<'a> {
    label: &'a Label,
    line: u32,
    primary: bool,
}

/// One excerpt per group of near labels, the one with the primary label first.
fn excerpts<'a>(diagnostic: &'a Diagnostic, sources: &'a Sources) -> Vec<Excerpt<'a>> {
    let mark = |label: &'a Label, primary| Mark {
        label,
        line: sources.position(label.span).line,
        primary,
    };
    let mut marks: Vec<Mark<'a>> = diagnostic.primary.iter().map(|label| mark(label, true)).collect();
    marks.extend(diagnostic.secondary.iter().map(|label| mark(label, false)));
    marks.sort_by_key(|mark| (mark.label.span, !mark.primary));
    let mut groups: Vec<Vec<Mark<'a>>> = Vec::new();
    for mark in marks {
        match groups.last_mut() {
            Some(group) if near(&group[group.len() - 1], &mark) => group.push(mark),
            _ => groups.push(vec![mark]),
        }
    }
    groups.sort_by_key(|group| !group.iter().any(|mark| mark.primary));
    groups.iter().map(|group| excerpt(group, sources)).collect()
}

fn near(before: &Mark<'_>, after: &Mark<'_>) -> bool {
    before.label.span.file == after.label.span.file && after.line - before.line <= LINES_BETWEEN_LABELS
}

/// Copies the lines of the group, each cut to what surrounds its labels, so that a file of one endless line
/// costs no more than any other.
fn excerpt<'a>(marks: &[Mark<'a>], sources: &'a Sources) -> Excerpt<'a> {
    let file = marks[0].label.span.file;
    let text = sources.text(file);
    let (first, last) = (marks[0].line, marks[marks.len() - 1].line);
    let mut shown = String::new();
    let mut annotations = Vec::new();
    for line in first..=last {
        let range = sources.line_range(file, line);
        let on_line: Vec<(&Mark<'a>, usize, usize)> = marks
            .iter()
            .filter(|mark| mark.line == line)
            .map(|mark| {
                let start =
                    floor_boundary(text, mark.label.span.start as usize).clamp(range.start, range.end);
                let end = (mark.label.span.end as usize)
                    .min(range.end)
                    .min(start + LABEL_BYTES);
                (mark, start, floor_boundary(text, end).max(start))
            })
            .collect();
        let from = on_line
            .iter()
            .map(|(_, start, _)| *start)
            .min()
            .unwrap_or(range.start);
        let from = floor_boundary(text, from.saturating_sub(CONTEXT_BYTES)).max(range.start);
        let from = if from - range.start <= CONTEXT_BYTES {
            range.start
        } else {
            from
        };
        let to = on_line
            .iter()
            .map(|(_, _, end)| *end)
            .max()
            .unwrap_or(range.start)
            + CONTEXT_BYTES;
        let to = floor_boundary(
            text,
            to.min(range.end).min(from + 3 * CONTEXT_BYTES + LABEL_BYTES),
        )
        .max(from);
        for (mark, start, end) in on_line {
            let kind = if mark.primary {
                AnnotationKind::Primary
            } else {
                AnnotationKind::Context
            };
            let place = |at: usize| shown.len() + at.min(to) - from;
            let label = (!mark.label.text.is_empty()).then(|| normalize_untrusted_str(&mark.label.text));
            annotations.push(kind.span(place(start)..place(end)).label(label));
        }
        shown.push_str(&text[from..to]);
        shown.push('\n');
    }
    let place = marks.iter().find(|mark| mark.primary).unwrap_or(&marks[0]);
    let position = sources.position(place.label.span);
    let origin = Origin::path(normalize_untrusted_str(sources.path(file)))
        .line(position.line as usize)
        .char_column(position.column as usize);
    let snippet = Snippet::source(shown)
        .line_start(first as usize)
        .path(None::<&str>)
        .annotations(annotations);
    Excerpt { origin, snippet }
}

/// The note lines, their texts aligned behind the longest kind.
fn note_lines(diagnostic: &Diagnostic) -> Vec<(&'static str, String)> {
    let mut lines: Vec<(&'static str, String)> = diagnostic
        .notes
        .iter()
        .map(|note| (note.kind.name(), note.text.clone()))
        .collect();
    if let Some(instance) = &diagnostic.instance {
        let text = match diagnostic.more_instances {
            0 => format!("in instance {instance}"),
            more => format!("in instance {instance} and {more} more"),
        };
        lines.push((NoteKind::Note.name(), text));
    }
    lines.push((
        NoteKind::More.name(),
        format!("shardwright explain {}", diagnostic.code),
    ));
    let width = lines.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
    lines
        .into_iter()
        .map(|(name, text)| {
            (
                name,
                format!(
                    "{:pad$}{}",
                    "",
                    normalize_untrusted_str(&text),
                    pad = width - name.len()
                ),
            )
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Code, Span};

    const CODE: Code = Code::new("SW999");

    fn shown(path: &str, text: &str, build: impl FnOnce(crate::FileId) -> Diagnostic) -> String {
        let mut sources = Sources::new();
        let file = sources.add(path, text);
        render_one(&build(file), &sources, false)
    }

    #[test]
    fn the_offending_text_is_underlined_and_notes_are_aligned() {
        let text = "a: 1\nb: {all: true}\nc: 2\n";
        insta::assert_snapshot!(shown("topology/split.yaml", text, |file| {
            Diagnostic::error(CODE, "rule never matches: earlier rules take all of it")
                .at(Span::new(file, 8, 19), "")
                .also(Span::new(file, 0, 1), "the earlier one")
                .with_note(NoteKind::Example, "user=app SELECT 1")
                .with_note(NoteKind::GoesTo, "shop-14 readers")
                .instance("tenants/t137")
        }), @"");
    }

    #[test]
    fn labels_of_other_files_and_far_lines_have_their_own_excerpt() {
        let mut sources = Sources::new();
        let one = sources.add("one.yaml", format!("a: 1\n{}b: 2\n", "# x\n".repeat(50)));
        let two = sources.add("two.yaml", "a: 3\n");
        let diagnostic = Diagnostic::warning(CODE, "`a` is defined twice")
            .at(Span::new(two, 0, 1), "again here")
            .also(Span::new(one, 0, 1), "first here")
            .also(Span::new(one, 205, 206), "and this");
        insta::assert_snapshot!(render_one(&diagnostic, &sources, false), @"");
    }

    #[test]
    fn an_endless_line_and_a_whole_block_are_cut() {
        let text = format!("k: [{}]\nx:\n  y: 1\n", "ä, ".repeat(100_000));
        let end = u32::try_from(text.len()).expect("small");
        insta::assert_snapshot!(shown("big.yaml", &text, |file| {
            Diagnostic::info(CODE, "long").at(Span::new(file, 200_000, 200_002), "here").also(Span::new(file, end - 10, end), "block")
        }), @"");
    }

    #[test]
    fn control_characters_of_the_input_do_not_reach_the_terminal() {
        let text = shown("a\u{1b}[31m.yaml", "k: \u{1b}[31mred\n", |file| {
            Diagnostic::error(CODE, "bad \u{1b}[1m")
                .at(Span::new(file, 0, 1), "\u{1b}[2m")
                .help("\u{1b}[3m")
        });
        assert!(!text.contains('\u{1b}'), "{text}");
    }
}
