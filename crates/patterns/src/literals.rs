//! What a pattern shows without an automaton: a text that it matches, texts that every match holds, groups that match
//! anything, shapes that backtrack.

use regex_syntax::ast::parse::ParserBuilder;
use regex_syntax::ast::{Ast, RepetitionKind, RepetitionRange};
use regex_syntax::hir::{Class, Hir, HirKind};

use crate::front::MAX_DEPTH;

/// Longest sample, bytes.
const MOST_SAMPLE: usize = 4096;
/// Needles of one pattern that are kept.
const MOST_NEEDLES: usize = 16;
/// Longest needle, bytes: longer ones tell no more.
const MOST_NEEDLE: usize = 64;

/// A short text that matches, assertions left out of account.
pub(crate) fn sample(hir: &Hir) -> Option<Vec<u8>> {
    let mut out = Vec::new();
    write_sample(hir, &mut out)?;
    Some(out)
}

fn write_sample(hir: &Hir, out: &mut Vec<u8>) -> Option<()> {
    if out.len() > MOST_SAMPLE {
        return None;
    }
    match hir.kind() {
        HirKind::Empty | HirKind::Look(_) => Some(()),
        HirKind::Literal(literal) => {
            out.extend_from_slice(&literal.0);
            Some(())
        }
        HirKind::Class(class) => {
            let ranges: Vec<(u32, u32)> = match class {
                Class::Bytes(class) => class
                    .ranges()
                    .iter()
                    .map(|range| (range.start().into(), range.end().into()))
                    .collect(),
                Class::Unicode(class) => class
                    .ranges()
                    .iter()
                    .map(|range| (range.start().into(), range.end().into()))
                    .collect(),
            };
            let byte = readable().chain(1..0x80).find(|&byte| {
                ranges
                    .iter()
                    .any(|&(first, last)| (first..=last).contains(&byte.into()))
            })?;
            out.push(byte);
            Some(())
        }
        HirKind::Repetition(repetition) => {
            for _ in 0..repetition.min {
                write_sample(&repetition.sub, out)?;
            }
            Some(())
        }
        HirKind::Capture(capture) => write_sample(&capture.sub, out),
        HirKind::Concat(subs) => subs.iter().try_for_each(|sub| write_sample(sub, out)),
        HirKind::Alternation(subs) => {
            let shortest = subs.iter().min_by_key(|sub| sub.properties().minimum_len())?;
            write_sample(shortest, out)
        }
    }
}

/// Bytes that read well in a statement, best first.
pub(crate) fn readable() -> impl Iterator<Item = u8> {
    (b'A'..=b'Z')
        .chain(b'a'..=b'z')
        .chain(b'0'..=b'9')
        .chain(b' '..=b'~')
        .chain([b'\n', b'\t'])
}

/// The runs of bytes, in lower case, that every match holds, each in a row.
pub(crate) fn needles(hir: &Hir) -> Vec<Vec<u8>> {
    let mut runs = Runs::default();
    runs.walk(hir);
    runs.end();
    runs.found
}

#[derive(Default)]
struct Runs {
    current: Vec<u8>,
    found: Vec<Vec<u8>>,
}

impl Runs {
    fn end(&mut self) {
        let run = std::mem::take(&mut self.current);
        if !run.is_empty() && self.found.len() < MOST_NEEDLES {
            self.found.push(run);
        }
    }

    fn push(&mut self, byte: u8) {
        if self.current.len() >= MOST_NEEDLE {
            self.end();
        }
        self.current.push(byte.to_ascii_lowercase());
    }

    fn walk(&mut self, hir: &Hir) {
        match hir.kind() {
            // An assertion takes no bytes: what stands on both sides is one run.
            HirKind::Empty | HirKind::Look(_) => {}
            HirKind::Literal(literal) => literal.0.iter().for_each(|&byte| self.push(byte)),
            HirKind::Class(class) => match one_letter(class) {
                Some(byte) => self.push(byte),
                None => self.end(),
            },
            HirKind::Capture(capture) => self.walk(&capture.sub),
            HirKind::Concat(subs) => subs.iter().for_each(|sub| self.walk(sub)),
            HirKind::Repetition(repetition) => {
                self.end();
                if repetition.min > 0 {
                    self.walk(&repetition.sub);
                    self.end();
                }
            }
            HirKind::Alternation(_) => self.end(),
        }
    }
}

/// The byte of a class that holds one byte, or both cases of one letter.
fn one_letter(class: &Class) -> Option<u8> {
    let mut bytes = Vec::new();
    let mut add = |first: u32, last: u32| {
        let few = last - first < 2 && last < 0x80;
        bytes.extend((first..=last).take(2).filter_map(|byte| u8::try_from(byte).ok()));
        few
    };
    let few = match class {
        Class::Bytes(class) => class
            .ranges()
            .iter()
            .take(3)
            .all(|range| add(range.start().into(), range.end().into())),
        Class::Unicode(class) => class
            .ranges()
            .iter()
            .take(3)
            .all(|range| add(range.start().into(), range.end().into())),
    };
    match *bytes.as_slice() {
        [byte] if few => Some(byte),
        [upper, lower] if few && lower != upper && upper.to_ascii_lowercase() == lower => Some(lower),
        _ => None,
    }
}

/// Numbers of the capturing groups that can match text of any length.
pub(crate) fn open_groups(hir: &Hir) -> Vec<usize> {
    let mut groups = Vec::new();
    add_open_groups(hir, &mut groups);
    groups
}

fn add_open_groups(hir: &Hir, groups: &mut Vec<usize>) {
    match hir.kind() {
        HirKind::Capture(capture) => {
            if capture.sub.properties().maximum_len().is_none() {
                groups.push(capture.index as usize);
            }
            add_open_groups(&capture.sub, groups);
        }
        HirKind::Repetition(repetition) => add_open_groups(&repetition.sub, groups),
        HirKind::Concat(subs) | HirKind::Alternation(subs) => {
            subs.iter().for_each(|sub| add_open_groups(sub, groups));
        }
        HirKind::Empty | HirKind::Literal(_) | HirKind::Class(_) | HirKind::Look(_) => {}
    }
}

/// What makes a backtracking engine try very many ways, if the pattern has such a shape.
pub(crate) fn backtracking(regular: &str) -> Option<&'static str> {
    let ast = ParserBuilder::new()
        .nest_limit(MAX_DEPTH * 4)
        .build()
        .parse(regular)
        .ok()?;
    shape(&ast)
}

fn shape(ast: &Ast) -> Option<&'static str> {
    match ast {
        Ast::Repetition(repetition) => {
            let unbounded = match &repetition.op.kind {
                RepetitionKind::ZeroOrMore | RepetitionKind::OneOrMore => true,
                RepetitionKind::Range(range) => matches!(range, RepetitionRange::AtLeast(_)),
                RepetitionKind::ZeroOrOne => false,
            };
            let inner = inside(&repetition.ast);
            match inner {
                Ast::Alternation(_) if unbounded => Some("a repeated alternative"),
                Ast::Repetition(inner)
                    if unbounded && !matches!(inner.op.kind, RepetitionKind::ZeroOrOne) =>
                {
                    Some("a repeated repetition")
                }
                _ => shape(inner),
            }
        }
        Ast::Group(group) => shape(&group.ast),
        Ast::Alternation(alternation) => alternation.asts.iter().find_map(shape),
        Ast::Concat(concat) => concat.asts.iter().find_map(shape),
        _ => None,
    }
}

fn inside(ast: &Ast) -> &Ast {
    match ast {
        Ast::Group(group) => inside(&group.ast),
        other => other,
    }
}
