//! Possessive quantifiers that change nothing, whatever else an expression holds.
//!
//! A run of bytes of one class has nothing to give back where what stands behind it begins with a byte that is not of the
//! class: `[^/]*+/x`. A shorter run would leave a byte of the class, with which nothing goes on. The same holds where any
//! number of bytes may stand between, those of the class among them: `[^/x]*+[^/]*x`. Whether that number is taken possessively
//! makes no difference.

use std::ops::Range;

use regex_syntax::hir::{Capture, Hir, HirKind};

use super::beginning::{Beginning, chained};
use super::symbols::Symbols;

/// What begins the names of groups around what is repeated possessively.
const NAME: &str = "possessive_";

/// An expression with named groups around what is repeated possessively in it; `None` where nothing is.
pub(crate) fn marked(expression: &str, repeated: &[Range<usize>]) -> Option<String> {
    if repeated.is_empty() {
        return None;
    }
    let mut marks: Vec<(usize, String)> = Vec::new();
    for (number, range) in repeated.iter().enumerate() {
        marks.push((range.start, format!("(?P<{NAME}{number}>")));
        marks.push((range.end, ")".to_owned()));
    }
    // Inner groups end first, and begin last.
    marks.sort_by_key(|(at, _)| *at);
    let mut text = String::with_capacity(expression.len() + 20 * marks.len());
    let mut from = 0;
    for (at, mark) in marks {
        text.push_str(&expression[from..at]);
        text.push_str(&mark);
        from = at;
    }
    text.push_str(&expression[from..]);
    Some(text)
}

/// Whether every possessive quantifier of a [`marked`] expression stands behind one class, and what follows begins with no
/// byte of the class.
pub(crate) fn gives_nothing_back(hir: &Hir) -> bool {
    gives_nothing_back_before(hir, &[])
}

/// The same for a part, with what stands behind it; of what is repeated, the next turn is not looked at.
fn gives_nothing_back_before(hir: &Hir, behind: &[&Hir]) -> bool {
    match hir.kind() {
        HirKind::Capture(capture) => !is_mark(capture) && gives_nothing_back_before(&capture.sub, behind),
        HirKind::Repetition(repetition) => gives_nothing_back_before(&repetition.sub, &[]),
        HirKind::Alternation(branches) => branches
            .iter()
            .all(|branch| gives_nothing_back_before(branch, behind)),
        HirKind::Concat(parts) => parts.iter().enumerate().all(|(at, part)| {
            let rest: Vec<&Hir> = parts[at + 1..].iter().chain(behind.iter().copied()).collect();
            match run(part) {
                Some(run) => goes_on_without(&run, &rest),
                None => gives_nothing_back_before(part, &rest),
            }
        }),
        HirKind::Empty | HirKind::Literal(_) | HirKind::Class(_) | HirKind::Look(_) => true,
    }
}

/// Whether parts that stand behind a run go on with no byte of it, but within what may be any number of them.
fn goes_on_without(run: &Symbols, parts: &[&Hir]) -> bool {
    let Some((first, rest)) = parts.split_first() else {
        return false;
    };
    match first.kind() {
        HirKind::Repetition(repetition) => {
            let is_any = repetition.min == 0
                && repetition.max.is_none()
                && class(&repetition.sub).is_some_and(|class| run.within(&class));
            (is_any || goes_on_without(run, &chained(&[&repetition.sub], rest)))
                && (repetition.min > 0 || goes_on_without(run, rest))
        }
        HirKind::Capture(capture) => goes_on_without(run, &chained(&[&capture.sub], rest)),
        HirKind::Concat(parts) => {
            let parts: Vec<&Hir> = parts.iter().collect();
            goes_on_without(run, &chained(&parts, rest))
        }
        HirKind::Alternation(branches) => branches
            .iter()
            .all(|branch| goes_on_without(run, &chained(&[branch], rest))),
        _ => Beginning::of(parts).takes_none_of(run),
    }
}

fn class(hir: &Hir) -> Option<Symbols> {
    match hir.kind() {
        HirKind::Class(class) => Symbols::of_class(class),
        HirKind::Literal(literal) => match *literal.0 {
            [byte] => Some(Symbols::of_byte(byte)),
            _ => None,
        },
        _ => None,
    }
}

fn is_mark(capture: &Capture) -> bool {
    capture.name.as_ref().is_some_and(|name| name.starts_with(NAME))
}

/// What is repeated possessively, if it is one class or byte.
fn run(hir: &Hir) -> Option<Symbols> {
    let HirKind::Capture(capture) = hir.kind() else {
        return None;
    };
    let HirKind::Repetition(repetition) = capture.sub.kind() else {
        return None;
    };
    if !is_mark(capture) {
        return None;
    }
    class(&repetition.sub)
}
