//! What stands in the file, unresolved: anchors, aliases, tags and brackets as they were written.

use std::ops::Range;

use serde_saphyr::granit_parser::{Event, Parser, ScalarStyle, StructureStyle};

use crate::read::parser_options;

/// A value as it was written.
#[derive(Debug)]
pub(super) struct Written {
    /// `&anchor !tag`, or empty.
    pub(super) properties: String,
    /// In the text; of block collections only the start is exact.
    pub(super) span: Range<usize>,
    pub(super) form: Form,
}

#[derive(Debug)]
pub(super) enum Form {
    /// No text at all.
    Empty,
    /// Plain or quoted text, or an alias, exactly its span.
    Flat,
    /// A block scalar; what it means.
    Block(String),
    Sequence {
        flow: bool,
        items: Vec<Written>,
    },
    Mapping {
        flow: bool,
        entries: Vec<(Written, Written)>,
    },
}

struct Frame {
    properties: String,
    start: usize,
    flow: bool,
    mapping: bool,
    children: Vec<Written>,
}

/// Whether the event before opened a collection, whose anchor would come next.
#[derive(PartialEq)]
enum Last {
    Opened,
    Placed,
}

/// The root of a text that was read without errors; none where it has directives. The inner option is none for an empty
/// file.
pub(super) fn parse(text: &str) -> Option<Option<Written>> {
    let mut stack: Vec<Frame> = Vec::new();
    let mut root = None;
    let mut last = Last::Placed;
    for event in Parser::new_from_str_with_options(text, parser_options()) {
        let (event, span) = event.ok()?;
        let range = span.byte_range()?;
        let tag = || {
            span.tag_span()
                .and_then(|tag| tag.byte_range())
                .map(|tag| text[tag].to_owned())
        };
        match event {
            Event::DocumentStart(_, Some(_)) => return None,
            Event::Anchor(_, name) => {
                let properties = match last {
                    Last::Opened => stack.last_mut().map(|frame| &mut frame.properties),
                    Last::Placed => last_placed(&mut stack, &mut root).map(|node| &mut node.properties),
                }?;
                *properties = format!("&{name} {properties}").trim_end().to_owned();
            }
            Event::Scalar(value, style, _, _) => {
                let form = match style {
                    ScalarStyle::Literal | ScalarStyle::Folded => Form::Block(value.into_owned()),
                    _ if range.is_empty() => Form::Empty,
                    _ => Form::Flat,
                };
                attach(&mut stack, &mut root, written(tag(), range, form));
                last = Last::Placed;
            }
            Event::Alias(_) => {
                attach(&mut stack, &mut root, written(None, range, Form::Flat));
                last = Last::Placed;
            }
            Event::SequenceStart(style, ..) | Event::MappingStart(style, ..) => {
                stack.push(Frame {
                    properties: tag().unwrap_or_default(),
                    start: range.start,
                    flow: style == StructureStyle::Flow,
                    mapping: matches!(event, Event::MappingStart(..)),
                    children: Vec::new(),
                });
                last = Last::Opened;
            }
            Event::SequenceEnd | Event::MappingEnd => {
                let node = close(stack.pop()?, &range);
                attach(&mut stack, &mut root, node);
                last = Last::Placed;
            }
            _ => {}
        }
    }
    Some(root)
}

fn written(tag: Option<String>, span: Range<usize>, form: Form) -> Written {
    Written {
        properties: tag.unwrap_or_default(),
        span,
        form,
    }
}

fn last_placed<'a>(stack: &'a mut [Frame], root: &'a mut Option<Written>) -> Option<&'a mut Written> {
    match stack.last_mut() {
        Some(frame) => frame.children.last_mut(),
        None => root.as_mut(),
    }
}

fn attach(stack: &mut [Frame], root: &mut Option<Written>, node: Written) {
    match stack.last_mut() {
        Some(frame) => frame.children.push(node),
        None => *root = Some(node),
    }
}

fn close(frame: Frame, end: &Range<usize>) -> Written {
    let flow = frame.flow;
    let form = if frame.mapping {
        let mut entries = Vec::with_capacity(frame.children.len() / 2);
        let mut children = frame.children.into_iter();
        while let (Some(key), Some(value)) = (children.next(), children.next()) {
            entries.push((key, value));
        }
        Form::Mapping { flow, entries }
    } else {
        Form::Sequence {
            flow,
            items: frame.children,
        }
    };
    Written {
        properties: frame.properties,
        span: frame.start..end.end.max(frame.start),
        form,
    }
}

impl Written {
    /// A collection in brackets, with or without properties.
    pub(super) fn is_flow(&self) -> bool {
        matches!(
            self.form,
            Form::Sequence { flow: true, .. } | Form::Mapping { flow: true, .. }
        )
    }

    /// Whether it was written over several lines.
    pub(super) fn has_lines(&self, text: &str) -> bool {
        text[self.span.clone()].contains('\n')
    }
}
