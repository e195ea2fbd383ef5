//! `$( … )`: integer arithmetic, names and formats inside texts and keys. Total: no loops, bounded size and depth.

mod error;
mod eval;
mod parse;

use shardwright_vocabulary::KeyTemplate;
use std::borrow::Cow;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

pub(crate) use error::{Fault, TemplateError};
pub(crate) use eval::Lookup;

/// Longest text with a `$( … )` in it, in bytes.
pub(crate) const MAX_TEMPLATE_BYTES: usize = 16 * 1024;
/// Parentheses and signs inside each other.
const MAX_EXPRESSION_DEPTH: u32 = 32;
/// Numbers, names and parentheses in one expression.
const MAX_OPERANDS: u32 = 512;
/// Most digits that a format pads to.
const MAX_WIDTH: u8 = 64;

/// What a name in a template stands for.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Value {
    Integer(i64),
    Text(Arc<str>),
}

impl Value {
    /// What a cell of a data file stands for: an integer as it is written canonically, else text.
    pub(crate) fn of_cell(text: &str) -> Self {
        let digits = text.strip_prefix('-').unwrap_or(text);
        let canonical = text == "0" || digits.starts_with(|first: char| matches!(first, '1'..='9'));
        match text.parse() {
            Ok(value) if canonical => Self::Integer(value),
            _ => Self::Text(text.into()),
        }
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Integer(value) => value.fmt(f),
            Self::Text(text) => f.write_str(text),
        }
    }
}

/// A text with expressions in it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Template<'t> {
    parts: Vec<Part<'t>>,
}

#[derive(Clone, Debug, PartialEq)]
enum Part<'t> {
    Literal(&'t str),
    Expression {
        expression: Expression,
        format: Option<Format>,
        at: Range<usize>,
    },
}

/// Digits that a number is padded to with zeros.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Format {
    width: u8,
}

#[derive(Clone, Debug, PartialEq)]
enum Expression {
    Integer(i64),
    Name {
        name: Box<str>,
        at: Range<usize>,
    },
    Negated(Box<Expression>, Range<usize>),
    Binary {
        operator: Operator,
        left: Box<Expression>,
        right: Box<Expression>,
        at: Range<usize>,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Operator {
    Add,
    Subtract,
    Multiply,
    Divide,
    Remainder,
}

impl Template<'_> {
    /// The names that its expressions use, each with its place in the text.
    pub(crate) fn names(&self) -> Vec<(&str, Range<usize>)> {
        let mut open: Vec<&Expression> = self
            .parts
            .iter()
            .filter_map(|part| match part {
                Part::Literal(_) => None,
                Part::Expression { expression, .. } => Some(expression),
            })
            .collect();
        let mut names = Vec::new();
        while let Some(expression) = open.pop() {
            match expression {
                Expression::Integer(_) => {}
                Expression::Name { name, at } => names.push((&**name, at.clone())),
                Expression::Negated(inner, _) => open.push(inner),
                Expression::Binary { left, right, .. } => open.extend([&**left, &**right]),
            }
        }
        names
    }
}

/// Whether a text holds anything to expand; `$$(` counts, since it becomes `$(`.
pub(crate) fn is_template(text: &str) -> bool {
    text.contains("$(")
}

/// What a text may expand to, as a glob.
pub(crate) fn as_glob(text: &str) -> String {
    let mut glob = String::new();
    let mut depth = 0_usize;
    let mut rest = text.chars().peekable();
    while let Some(letter) = rest.next() {
        match letter {
            '$' if depth == 0 && rest.peek() == Some(&'(') => glob.push('*'),
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ if depth == 0 => glob.push(letter),
            _ => {}
        }
    }
    glob
}

/// Expands a text.
///
/// # Errors
/// The first thing wrong in it.
pub(crate) fn expand<'t>(text: &'t str, lookup: &impl Lookup) -> Result<Cow<'t, str>, TemplateError> {
    if is_template(text) {
        Ok(Cow::Owned(Template::parse(text)?.expand(lookup)?))
    } else {
        Ok(Cow::Borrowed(text))
    }
}

/// A text whose expressions are replaced, but for those that name `key`, which only statements know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Expanded {
    /// The text.
    pub(crate) text: String,
    /// The text as a template that expands to it.
    pub(crate) template: String,
    /// The variables of the project that were used.
    pub(crate) variables: Vec<String>,
}

/// Expands a text, but for `$(key)`.
///
/// # Errors
/// The first thing wrong in it.
pub(crate) fn expand_but_key(text: &str, lookup: &impl Lookup) -> Result<Expanded, TemplateError> {
    let template = Template::parse(text)?;
    let mut expanded = Expanded {
        text: String::new(),
        template: String::new(),
        variables: Vec::new(),
    };
    // What lies between two keys is escaped as one, since parts of it may form a `$(` together.
    let mut open = String::new();
    for part in template.parts {
        match &part {
            Part::Expression { expression, at, .. } if expression.names().contains(&"key") => {
                expanded.template.push_str(&escaped(&std::mem::take(&mut open)));
                expanded.template.push_str(&text[at.clone()]);
                expanded.text.push_str(&text[at.clone()]);
                continue;
            }
            Part::Expression { expression, .. } => {
                let names = expression.names().into_iter();
                let variables = names.filter_map(|name| name.strip_prefix("var."));
                expanded.variables.extend(variables.map(ToOwned::to_owned));
            }
            Part::Literal(_) => {}
        }
        let value = Template { parts: vec![part] }.expand(lookup)?;
        expanded.text.push_str(&value);
        open.push_str(&value);
    }
    expanded.template.push_str(&escaped(&open));
    Ok(expanded)
}

/// A text as a template that expands to it.
pub(crate) fn escaped(text: &str) -> String {
    text.replace("$(", "$$(")
}

/// A text around one `$(key)`, other names expanded.
///
/// # Errors
/// The first thing wrong in it; a text without the key or with two of them.
pub(crate) fn around_key(text: &str, lookup: &impl Lookup) -> Result<KeyTemplate, TemplateError> {
    let template = Template::parse(text)?;
    let is_key = |part: &Part<'_>| matches!(part, Part::Expression { expression: Expression::Name { name, .. }, .. } if &**name == "key");
    let whole = 0..text.len();
    let Some(position) = template.parts.iter().position(is_key) else {
        return Err(TemplateError {
            at: whole,
            fault: Fault::NoKey,
        });
    };
    let (before, rest) = template.parts.split_at(position);
    let Some((Part::Expression { format, .. }, after)) = rest.split_first() else {
        return Err(TemplateError {
            at: whole,
            fault: Fault::NoKey,
        });
    };
    if let Some(Part::Expression { at, .. }) = after.iter().find(|part| is_key(part)) {
        return Err(TemplateError {
            at: at.clone(),
            fault: Fault::SecondKey,
        });
    }
    let expand = |parts: &[Part<'_>]| {
        Template {
            parts: parts.to_vec(),
        }
        .expand(lookup)
    };
    Ok(KeyTemplate {
        prefix: expand(before)?.into(),
        width: format.map(|format| format.width),
        suffix: expand(after)?.into(),
    })
}
