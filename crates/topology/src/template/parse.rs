//! Reading templates: `$(` expression [`:` digits] `)`, and `$$(` for a literal `$(`.

use std::ops::Range;

use super::error::Fault;
use super::{
    Expression, Format, MAX_EXPRESSION_DEPTH, MAX_OPERANDS, MAX_TEMPLATE_BYTES, MAX_WIDTH, Operator, Part,
    Template, TemplateError,
};

impl<'t> Template<'t> {
    /// Reads a text.
    pub(crate) fn parse(text: &'t str) -> Result<Self, TemplateError> {
        if text.len() > MAX_TEMPLATE_BYTES {
            return Err(TemplateError {
                at: 0..text.len(),
                fault: Fault::TooLong,
            });
        }
        let mut parts = Vec::new();
        let mut at = 0;
        while let Some(found) = text[at..].find("$(") {
            let open = at + found;
            if text[at..open].ends_with('$') {
                parts.push(Part::Literal(&text[at..open - 1]));
                parts.push(Part::Literal("$("));
                at = open + 2;
                continue;
            }
            if open > at {
                parts.push(Part::Literal(&text[at..open]));
            }
            let (part, end) = expression_part(text, open)?;
            parts.push(part);
            at = end;
        }
        if at < text.len() {
            parts.push(Part::Literal(&text[at..]));
        }
        Ok(Self { parts })
    }
}

fn expression_part(text: &str, open: usize) -> Result<(Part<'_>, usize), TemplateError> {
    let mut reader = Reader {
        text,
        at: open + 2,
        open,
        depth: 0,
        operands: 0,
    };
    let expression = reader.sum()?;
    reader.skip_space();
    let format = if reader.take(b':') {
        Some(reader.format()?)
    } else {
        None
    };
    reader.skip_space();
    if !reader.take(b')') {
        let fault = if format.is_some() {
            Fault::BadFormat
        } else {
            Fault::OperatorExpected
        };
        return Err(reader.fault(fault));
    }
    Ok((
        Part::Expression {
            expression,
            format,
            at: open..reader.at,
        },
        reader.at,
    ))
}

struct Reader<'t> {
    text: &'t str,
    at: usize,
    /// Where the `$(` stands.
    open: usize,
    depth: u32,
    operands: u32,
}

impl Reader<'_> {
    fn sum(&mut self) -> Result<Expression, TemplateError> {
        let mut left = self.product()?;
        while let Some((operator, at)) = self.operator(&[(b'+', Operator::Add), (b'-', Operator::Subtract)]) {
            left = binary(operator, left, self.product()?, at);
        }
        Ok(left)
    }

    fn product(&mut self) -> Result<Expression, TemplateError> {
        let operators = [
            (b'*', Operator::Multiply),
            (b'/', Operator::Divide),
            (b'%', Operator::Remainder),
        ];
        let mut left = self.operand()?;
        while let Some((operator, at)) = self.operator(&operators) {
            left = binary(operator, left, self.operand()?, at);
        }
        Ok(left)
    }

    fn operand(&mut self) -> Result<Expression, TemplateError> {
        self.depth += 1;
        self.operands += 1;
        if self.depth > MAX_EXPRESSION_DEPTH || self.operands > MAX_OPERANDS {
            return Err(self.fault(Fault::TooDeep));
        }
        self.skip_space();
        let start = self.at;
        let expression = match self.peek() {
            Some(b'(') => {
                self.at += 1;
                let inner = self.sum()?;
                self.skip_space();
                if !self.take(b')') {
                    return Err(self.fault(Fault::OperatorExpected));
                }
                inner
            }
            Some(b'-') => {
                self.at += 1;
                let inner = self.operand()?;
                Expression::Negated(Box::new(inner), start..self.at)
            }
            Some(b'0'..=b'9') => {
                let value = self.while_matching(|byte| byte.is_ascii_digit()).parse();
                let at = start..self.at;
                Expression::Integer(value.map_err(|_| TemplateError {
                    at,
                    fault: Fault::Overflow,
                })?)
            }
            Some(b'A'..=b'Z' | b'a'..=b'z' | b'_') => {
                let name =
                    self.while_matching(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.'));
                Expression::Name {
                    name: name.into(),
                    at: start..self.at,
                }
            }
            _ => return Err(self.fault(Fault::OperandExpected)),
        };
        self.depth -= 1;
        Ok(expression)
    }

    fn operator(&mut self, operators: &[(u8, Operator)]) -> Option<(Operator, Range<usize>)> {
        self.skip_space();
        let next = self.peek()?;
        let (_, operator) = operators.iter().find(|(byte, _)| *byte == next)?;
        self.at += 1;
        Some((*operator, self.at - 1..self.at))
    }

    fn format(&mut self) -> Result<Format, TemplateError> {
        let start = self.at;
        let digits = self.while_matching(|byte| byte.is_ascii_digit());
        match digits.parse::<u8>() {
            Ok(width) if (1..=MAX_WIDTH).contains(&width) && digits.len() <= 3 => Ok(Format { width }),
            _ => {
                self.at = start;
                Err(self.fault(Fault::BadFormat))
            }
        }
    }

    fn while_matching(&mut self, wanted: impl Fn(u8) -> bool) -> &str {
        let start = self.at;
        while self.peek().is_some_and(&wanted) {
            self.at += 1;
        }
        &self.text[start..self.at]
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn take(&mut self, byte: u8) -> bool {
        let taken = self.peek() == Some(byte);
        self.at += usize::from(taken);
        taken
    }

    fn skip_space(&mut self) {
        self.while_matching(|byte| matches!(byte, b' ' | b'\t' | b'\n'));
    }

    /// The fault at the next character; at the end of the text, the opening that was not closed.
    fn fault(&self, fault: Fault) -> TemplateError {
        match self.text[self.at..].chars().next() {
            Some(next) => TemplateError {
                at: self.at..self.at + next.len_utf8(),
                fault,
            },
            None => TemplateError {
                at: self.open..self.open + 2,
                fault: Fault::Unclosed,
            },
        }
    }
}

fn binary(operator: Operator, left: Expression, right: Expression, at: Range<usize>) -> Expression {
    Expression::Binary {
        operator,
        left: Box::new(left),
        right: Box::new(right),
        at,
    }
}
