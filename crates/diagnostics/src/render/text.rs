//! Human-readable problems: code and message, the place with the offending text underlined, then note lines.

use annotate_snippets::renderer::DecorStyle;
use annotate_snippets::{Group, Level, Renderer, normalize_untrusted_str};

use super::excerpt::excerpts;
use super::quotes::without_hidden;
use crate::{Diagnostic, NoteKind, Problems, Proof, Severity, Sources};

/// Before the ground that a claim stands on, where no example shows it.
const CLAIM: &str = "claim";

/// What the terminal can show.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Style {
    /// Colours.
    pub colour: bool,
    /// Frames are drawn with ASCII only, for terminals that call themselves dumb.
    pub has_plain_frames: bool,
}

impl From<bool> for Style {
    /// The usual frames, with or without colour.
    fn from(colour: bool) -> Self {
        Self {
            colour,
            has_plain_frames: false,
        }
    }
}

/// All kept problems in file order, a blank line between them, and a closing line where more were found than kept.
#[must_use]
pub fn render(problems: &Problems, sources: &Sources, style: impl Into<Style>) -> String {
    let style = style.into();
    let mut text = String::new();
    for diagnostic in problems.sorted() {
        text.push_str(&render_one(diagnostic, sources, style));
        text.push('\n');
    }
    if problems.unkept() > 0 {
        let noun = if problems.unkept() == 1 {
            "problem"
        } else {
            "problems"
        };
        text.push_str(&format!("and {} more {noun}, not shown\n", problems.unkept()));
    }
    text
}

/// One problem, with a final line end.
#[must_use]
pub fn render_one(diagnostic: &Diagnostic, sources: &Sources, style: impl Into<Style>) -> String {
    let style = style.into();
    let diagnostic = &*without_hidden(diagnostic, sources);
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
        group = group.elements(excerpt.origin).element(excerpt.snippet);
    }
    for (name, text) in note_lines(diagnostic) {
        group = group.element(Level::NOTE.with_name(name).message(text));
    }
    let renderer = if style.colour {
        Renderer::styled().hyperlink(false)
    } else {
        Renderer::plain()
    };
    let decor = if style.has_plain_frames {
        DecorStyle::Ascii
    } else {
        DecorStyle::Unicode
    };
    let mut text = renderer.decor_style(decor).render(&[group]);
    text.push('\n');
    text
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
    match diagnostic.proof {
        Some(Proof::Proved) => lines.push((CLAIM, "proved".to_owned())),
        Some(Proof::Possible) => lines.push((CLAIM, "possible: neither proved nor ruled out".to_owned())),
        Some(Proof::Witnessed) | None => {}
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
    use proptest::prelude::*;

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
        }), @r#"
        error[SW999]: rule never matches: earlier rules take all of it
          ╭▸ topology/split.yaml:2:4
          │
        1 │ a: 1
          │ ─ the earlier one
        2 │ b: {all: true}
          │    ━━━━━━━━━━━
          │
          ├ example: user=app SELECT 1
          ├ goes to: shop-14 readers
          ├ note:    in instance tenants/t137
          ╰ more:    shardwright explain SW999
        "#);
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
        insta::assert_snapshot!(render_one(&diagnostic, &sources, false), @r#"
        warning[SW999]: `a` is defined twice
           ╭▸ two.yaml:1:1
           │
         1 │ a: 3
           │ ━ again here
           │
           ⸬  one.yaml:1:1
           │
         1 │ a: 1
           │ ─ first here
           │
           ⸬  one.yaml:52:1
           │
        52 │ b: 2
           │ ─ and this
           │
           ╰ more: shardwright explain SW999
        "#);
    }

    #[test]
    fn an_endless_line_and_a_whole_block_are_cut() {
        let text = format!("k: [{}]\nx:\n  y: 1\n", "ä, ".repeat(100_000));
        let end = u32::try_from(text.len()).expect("small");
        insta::assert_snapshot!(shown("big.yaml", &text, |file| {
            Diagnostic::info(CODE, "long").at(Span::new(file, 200_000, 200_002), "here").also(Span::new(file, end - 10, end), "block")
        }), @r#"
        info[SW999]: long
          ╭▸ big.yaml:1:150002
          │
          ⸬  
        1 │ …ä, ä, ä, ä, ä, ä, ä, ä, ä, ä, ä, ä, ä, ä, ä, ä, ä, ä, ä, ä, ä, ä, ä, ä, ä, ä, ä, ä, ä, ä, ä, ä, ä, ä, ä, ä, ä, ä, ä, ä, ä, ä, ä, ä, ä,…
          │                                                                             ━ here
        2 │ x:
          │ ── block
          │
          ╰ more: shardwright explain SW999
        "#);
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

    proptest! {
        #[test]
        fn any_span_of_any_text_is_shown(
            text in "([aü☃\u{301}\t\r\n\0 \u{1b}]|\\PC){0,60}",
            spans in proptest::collection::vec((0u32..120, 0u32..120), 1..5),
            colour: bool,
        ) {
            let mut sources = Sources::new();
            let file = sources.add("f", text);
            let mut diagnostic = Diagnostic::error(CODE, "message");
            for (start, end) in spans {
                let span = Span::new(file, start, end);
                diagnostic = diagnostic.at(span, "here").also(span, "");
            }
            let shown = render_one(&diagnostic, &sources, colour);
            prop_assert!(shown.contains("message"));
            let _ = crate::render::json::render(&[diagnostic].into_iter().collect(), &sources);
        }
    }
}
