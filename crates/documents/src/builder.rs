//! From the parser's events to a tree, without recursion: open collections are frames on a stack.

use std::ops::ControlFlow;

use serde_saphyr::granit_parser::{self as granit, Event, ScalarStyle, Tag};
use shardwright_diagnostics::{Diagnostic, FileId, MAX_KEPT, Problems, Span};

use crate::anchors::{Anchors, Refused, Size};
use crate::codes::{NOT_IN_LANGUAGE, SEVERAL_DOCUMENTS, TOO_LARGE, UNKNOWN_ALIAS};
use crate::limits::{
    MAX_ALIASED_BYTES, MAX_ALIASED_NODES, MAX_DEPTH, MAX_VALUES, NOT_READ, offset, too_deep,
};
use crate::merge::unique_and_merged;
use crate::node::core_schema;
use crate::{Comment, Document, Entry, Key, Node, Placement, Style, Value};

/// A collection whose end has not come.
struct Frame {
    open: Open,
    start: u32,
    /// Where its last child ends.
    end: u32,
    flow: bool,
    anchor: usize,
    size: Size,
}

enum Open {
    Sequence(Vec<Node>),
    Mapping {
        entries: Vec<Entry>,
        key: Option<Result<Key, NotText>>,
    },
}

/// A key that is not text was reported; its value is dropped.
struct NotText;

pub(crate) struct Builder<'text> {
    document: Document,
    text: &'text str,
    problems: Problems,
    stack: Vec<Frame>,
    anchors: Anchors,
    documents: usize,
    /// Values so far; what aliases copy is bounded by `copied`.
    values: usize,
}

impl<'text> Builder<'text> {
    pub(crate) fn new(file: FileId, text: &'text str, problems: Problems) -> Self {
        Self {
            document: Document {
                file,
                root: None,
                comments: Vec::new(),
                complete: true,
            },
            text,
            problems,
            stack: Vec::new(),
            anchors: Anchors::default(),
            documents: 0,
            values: 0,
        }
    }

    /// Takes the next event; breaks where the rest is not to be read.
    pub(crate) fn event(&mut self, event: Event<'_>, span: &granit::Span) -> ControlFlow<()> {
        let at = self.span(span);
        if let Some(excess) = self.excess() {
            self.stop_at(Diagnostic::error(TOO_LARGE, excess).at(at, NOT_READ));
            return ControlFlow::Break(());
        }
        match event {
            Event::DocumentStart(..) => return self.document_start(at),
            Event::Comment(..) => self.comment(at),
            Event::Anchor(_, name) => self.anchors.name(name.into_owned()),
            Event::Scalar(text, style, anchor, tag) => {
                let tag = tag
                    .as_deref()
                    .map(|tag| (tag, span.tag_span().map_or(at, |span| self.span(&span))));
                return self.scalar(&text, style, anchor, tag, at);
            }
            Event::SequenceStart(style, anchor, tag) => {
                self.collection_tag(tag.as_deref(), "seq", span, at);
                let at = if style == granit::StructureStyle::Block {
                    self.at_dash(at)
                } else {
                    at
                };
                return self.open(Open::Sequence(Vec::new()), style, anchor, at);
            }
            Event::MappingStart(style, anchor, tag) => {
                self.collection_tag(tag.as_deref(), "map", span, at);
                return self.open(
                    Open::Mapping {
                        entries: Vec::new(),
                        key: None,
                    },
                    style,
                    anchor,
                    at,
                );
            }
            Event::SequenceEnd | Event::MappingEnd => return self.close(at.end),
            Event::Alias(anchor) => return self.alias(anchor, at),
            Event::UnresolvedAlias(name) => self.unresolved_alias(&name, at),
            // Stream and document ends, and events of later parser versions, carry no value.
            _ => {}
        }
        ControlFlow::Continue(())
    }

    /// What there is more of than one file may hold.
    fn excess(&self) -> Option<String> {
        if self.values > MAX_VALUES {
            return Some(format!("more than {MAX_VALUES} values in one file"));
        }
        (self.problems.counts().error >= MAX_KEPT)
            .then(|| format!("more than {MAX_KEPT} problems in one file"))
    }

    /// Reports why reading stops here.
    pub(crate) fn stop_at(&mut self, diagnostic: Diagnostic) {
        self.problems.push(diagnostic);
        self.document.complete = false;
    }

    /// The document, with the collections that were still open when reading stopped.
    pub(crate) fn finish(mut self) -> (Document, Problems) {
        while let Some(frame) = self.stack.last_mut() {
            // Nothing refers to it any more, so that nothing is copied and closing cannot be refused.
            frame.anchor = 0;
            let end = frame.end;
            let _ = self.close(end);
        }
        (self.document, self.problems)
    }

    fn span(&self, span: &granit::Span) -> Span {
        let range = span.byte_range().unwrap_or(self.text.len()..self.text.len());
        let clamp = |at: usize| offset(at.min(self.text.len()));
        Span::new(self.document.file, clamp(range.start), clamp(range.end))
    }

    fn document_start(&mut self, at: Span) -> ControlFlow<()> {
        self.documents += 1;
        if self.documents < 2 {
            return ControlFlow::Continue(());
        }
        let diagnostic = Diagnostic::error(SEVERAL_DOCUMENTS, "a file holds one YAML document")
            .at(at, "a second document starts here and is not read")
            .help("put it in a file of its own");
        self.stop_at(diagnostic);
        ControlFlow::Break(())
    }

    fn comment(&mut self, span: Span) {
        let line = self.text[..span.start as usize]
            .rsplit('\n')
            .next()
            .unwrap_or_default();
        let own_line = line.bytes().all(|byte| matches!(byte, b' ' | b'\t' | b'\r'));
        let placement = if own_line {
            Placement::OwnLine
        } else {
            Placement::Trailing
        };
        self.document.comments.push(Comment { span, placement });
    }

    fn scalar(
        &mut self,
        text: &str,
        style: ScalarStyle,
        anchor: usize,
        tag: Option<(&Tag, Span)>,
        mut span: Span,
    ) -> ControlFlow<()> {
        let style = match style {
            ScalarStyle::Plain => Style::Plain,
            ScalarStyle::SingleQuoted => Style::SingleQuoted,
            ScalarStyle::DoubleQuoted => Style::DoubleQuoted,
            ScalarStyle::Literal => Style::Literal,
            ScalarStyle::Folded => Style::Folded,
        };
        if matches!(style, Style::Literal | Style::Folded) {
            // The parser's span of a block scalar runs up to the next token.
            let written = self.text[span.range()].trim_end().len();
            span = span.within(0, written);
        }
        if anchor == 0
            && tag.is_none()
            && let Some(Frame {
                open: Open::Mapping { key: key @ None, .. },
                size,
                ..
            }) = self.stack.last_mut()
        {
            *key = Some(Ok(Key {
                text: text.into(),
                span,
                style,
            }));
            size.add(Size::of_text(text));
            return ControlFlow::Continue(());
        }
        let value = match tag {
            Some((tag, at)) => self.tagged(text, style, tag, at),
            None if style == Style::Plain => core_schema::resolve(text),
            None => Value::Text {
                text: text.into(),
                style,
            },
        };
        self.finished(Node { value, span }, span, Size::of_text(text), anchor)
    }

    /// A scalar with a tag: the tags of the core schema decide its type, others are not in the language.
    fn tagged(&mut self, text: &str, style: Style, tag: &Tag, at: Span) -> Value {
        let resolved = core_schema::resolve(text);
        let fits = match tag.core_suffix() {
            Some("str") => {
                return Value::Text {
                    text: text.into(),
                    style,
                };
            }
            Some("int") => matches!(resolved, Value::Integer { .. }),
            Some("float") => matches!(resolved, Value::Float { .. } | Value::Integer { .. }),
            Some("bool") => matches!(resolved, Value::Bool { .. }),
            Some("null") => matches!(resolved, Value::Null { .. }),
            _ if tag.original() == "!" => {
                return Value::Text {
                    text: text.into(),
                    style,
                };
            }
            _ => false,
        };
        if fits {
            return resolved;
        }
        self.unknown_tag(tag, at);
        if style == Style::Plain {
            resolved
        } else {
            Value::Text {
                text: text.into(),
                style,
            }
        }
    }

    fn collection_tag(&mut self, tag: Option<&Tag>, expected: &str, span: &granit::Span, at: Span) {
        if let Some(tag) = tag
            && tag.core_suffix() != Some(expected)
            && tag.original() != "!"
        {
            let at = span.tag_span().map_or(at, |span| self.span(&span));
            self.unknown_tag(tag, at);
        }
    }

    fn unknown_tag(&mut self, tag: &Tag, at: Span) {
        let message = format!("tag `{}` does not fit this value", tag.original());
        let help = "remove the tag; to make any word text, put it in quotes";
        self.problems
            .push(Diagnostic::error(NOT_IN_LANGUAGE, message).at(at, "").help(help));
    }

    fn open(
        &mut self,
        open: Open,
        style: granit::StructureStyle,
        anchor: usize,
        at: Span,
    ) -> ControlFlow<()> {
        if self.stack.len() >= MAX_DEPTH {
            self.stop_at(too_deep(at));
            return ControlFlow::Break(());
        }
        let flow = style == granit::StructureStyle::Flow;
        let size = Size::of_text("");
        self.stack.push(Frame {
            open,
            start: at.start,
            end: at.end,
            flow,
            anchor,
            size,
        });
        ControlFlow::Continue(())
    }

    /// The parser starts a list in the column of its key behind the first dash; here it starts at the dash.
    fn at_dash(&self, at: Span) -> Span {
        let before = self.text[..at.start as usize].trim_end_matches(' ');
        match before.strip_suffix('-') {
            Some(line) if line.is_empty() || line.ends_with(['\n', ' ', '\r']) => {
                let in_mapping = matches!(
                    self.stack.last(),
                    Some(Frame {
                        open: Open::Mapping { .. },
                        ..
                    })
                );
                if in_mapping {
                    Span::new(at.file, offset(line.len()), at.end)
                } else {
                    at
                }
            }
            _ => at,
        }
    }

    fn close(&mut self, end: u32) -> ControlFlow<()> {
        let Some(frame) = self.stack.pop() else {
            return ControlFlow::Continue(());
        };
        let end = if frame.flow { end } else { frame.end };
        let span = Span::new(self.document.file, frame.start, end);
        let value = match frame.open {
            Open::Sequence(items) => Value::Sequence(items),
            Open::Mapping { entries, .. } => Value::Mapping(unique_and_merged(entries, &mut self.problems)),
        };
        self.finished(Node { value, span }, span, frame.size, frame.anchor)
    }

    fn alias(&mut self, anchor: usize, at: Span) -> ControlFlow<()> {
        match self.anchors.copy(anchor, MAX_DEPTH - self.stack.len()) {
            Ok((node, size)) => self.attach(node, at, size),
            Err(Refused::Unfinished) => {
                let diagnostic =
                    Diagnostic::error(UNKNOWN_ALIAS, "an alias cannot stand inside its own anchor");
                self.problems.push(diagnostic.at(at, ""));
                self.place_null(at);
            }
            Err(Refused::TooDeep) => {
                self.stop_at(too_deep(at));
                return ControlFlow::Break(());
            }
            Err(Refused::PastBudget) => return self.refuse_copies(at),
        }
        ControlFlow::Continue(())
    }

    fn unresolved_alias(&mut self, name: &str, at: Span) {
        // The name is not told: a secret that starts with `*` and has no quotes is read as an alias.
        let message = "no anchor of this name stands before this alias";
        let diagnostic = Diagnostic::error(UNKNOWN_ALIAS, message).at(at, "");
        self.problems.push(match self.anchors.near(name) {
            Some(near) => diagnostic.did_you_mean(Some(&format!("*{near}"))),
            None => diagnostic.help("text that starts with `*` must be in quotes"),
        });
        self.place_null(at);
    }

    fn place_null(&mut self, at: Span) {
        let value = Value::Null { raw: "".into() };
        self.attach(Node { value, span: at }, at, Size::of_text(""));
    }

    fn refuse_copies(&mut self, at: Span) -> ControlFlow<()> {
        let message = format!(
            "anchors and aliases expand to more than {MAX_ALIASED_NODES} values or {MAX_ALIASED_BYTES} bytes of text"
        );
        let diagnostic = Diagnostic::error(TOO_LARGE, message)
            .at(at, NOT_READ)
            .help("to write many similar objects once, use a generator (`for_each`)");
        self.stop_at(diagnostic);
        ControlFlow::Break(())
    }

    /// Puts a finished value in its place, and keeps a copy where it has an anchor.
    fn finished(&mut self, node: Node, at: Span, size: Size, anchor: usize) -> ControlFlow<()> {
        if anchor != 0 && self.anchors.keep(anchor, &node, size).is_err() {
            return self.refuse_copies(at);
        }
        self.attach(node, at, size);
        ControlFlow::Continue(())
    }

    /// `at` is where the value stands, which for an alias is not where it was written.
    fn attach(&mut self, node: Node, at: Span, size: Size) {
        self.values += 1;
        let Some(frame) = self.stack.last_mut() else {
            self.document.root = Some(node);
            return;
        };
        frame.end = frame.end.max(at.end);
        frame.size.add(size);
        match &mut frame.open {
            Open::Sequence(items) => items.push(node),
            Open::Mapping { entries, key } => match key.take() {
                Some(Ok(key)) => entries.push(Entry { key, value: node }),
                Some(Err(NotText)) => {}
                None => {
                    let style = match &node.value {
                        Value::Text { style, .. } => *style,
                        _ => Style::Plain,
                    };
                    *key = Some(match node.raw() {
                        Some(raw) => Ok(Key {
                            text: raw.into(),
                            span: at,
                            style,
                        }),
                        None => {
                            let message = format!("a key must be text, not {}", node.value.type_name());
                            self.problems
                                .push(Diagnostic::error(NOT_IN_LANGUAGE, message).at(at, ""));
                            Err(NotText)
                        }
                    });
                }
            },
        }
    }
}
