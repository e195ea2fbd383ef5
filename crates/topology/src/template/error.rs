//! What can be wrong with a `$( … )`.

use std::ops::Range;

use shardwright_diagnostics::Code;

use crate::codes::{BAD_ARITHMETIC, BAD_TEMPLATE, UNKNOWN_VARIABLE};

/// A problem of a template and the bytes of its text that it is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TemplateError {
    pub(crate) at: Range<usize>,
    pub(crate) fault: Fault,
}

/// What is wrong.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Fault {
    #[error("`$(` without its `)`")]
    Unclosed,
    #[error("expected a number, a name or `(`")]
    OperandExpected,
    #[error("expected an operator (`+ - * / %`), a format such as `:03`, or `)`")]
    OperatorExpected,
    #[error("expected a format such as `:03`: a number of digits up to 64")]
    BadFormat,
    #[error("the expression is nested too deep")]
    TooDeep,
    #[error(
        "a text with `$( … )` may not be longer than {} bytes",
        super::MAX_TEMPLATE_BYTES
    )]
    TooLong,
    #[error("expected one `$(key)`")]
    NoKey,
    #[error("a second `$(key)`: a text holds the key once")]
    SecondKey,
    #[error("unknown variable `{name}`")]
    UnknownVariable { name: String },
    #[error("`{name}` is text, and arithmetic needs an integer")]
    NotAnInteger { name: String },
    #[error("text cannot be padded with zeros")]
    TextWithFormat,
    #[error("a negative number cannot be padded with zeros")]
    NegativeWithFormat,
    #[error("division by zero")]
    DivisionByZero,
    #[error("the result does not fit 64 bits")]
    Overflow,
}

impl Fault {
    pub(crate) const fn code(&self) -> Code {
        match self {
            Self::UnknownVariable { .. } => UNKNOWN_VARIABLE,
            Self::NotAnInteger { .. }
            | Self::TextWithFormat
            | Self::NegativeWithFormat
            | Self::DivisionByZero
            | Self::Overflow => BAD_ARITHMETIC,
            _ => BAD_TEMPLATE,
        }
    }
}
