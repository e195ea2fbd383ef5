//! Computing templates: checked 64-bit integers; `/` and `%` round towards minus infinity.

use std::fmt::Write as _;
use std::ops::Range;

use super::error::Fault;
use super::{Expression, Operator, Part, Template, TemplateError, Value};

/// Where names get their values from.
pub(crate) trait Lookup {
    /// The value of a name.
    fn value(&self, name: &str) -> Option<Value>;
}

impl Template<'_> {
    /// The text with every expression replaced by its value.
    pub(crate) fn expand(&self, lookup: &impl Lookup) -> Result<String, TemplateError> {
        let mut text = String::new();
        for part in &self.parts {
            match part {
                Part::Literal(literal) => text.push_str(literal),
                Part::Expression {
                    expression,
                    format,
                    at,
                } => {
                    let value = compute(expression, lookup)?;
                    let fault = |fault| TemplateError {
                        at: at.clone(),
                        fault,
                    };
                    match (format, value) {
                        (None, value) => write!(text, "{value}").expect("writing to a string cannot fail"),
                        (Some(_), Value::Text(_)) => return Err(fault(Fault::TextWithFormat)),
                        (Some(_), Value::Integer(number)) if number < 0 => {
                            return Err(fault(Fault::NegativeWithFormat));
                        }
                        (Some(format), Value::Integer(number)) => {
                            let width = usize::from(format.width);
                            write!(text, "{number:0width$}").expect("writing to a string cannot fail");
                        }
                    }
                }
            }
        }
        Ok(text)
    }
}

impl Expression {
    /// The names in it. Chains are walked, as in [`chain`].
    pub(super) fn names(&self) -> Vec<&str> {
        let mut names = Vec::new();
        let mut pending = vec![self];
        while let Some(expression) = pending.pop() {
            match expression {
                Self::Integer(_) => {}
                Self::Name { name, .. } => names.push(&**name),
                Self::Negated(inner, _) => pending.push(inner),
                Self::Binary { left, right, .. } => pending.extend([&**right, &**left]),
            }
        }
        names
    }
}

fn compute(expression: &Expression, lookup: &impl Lookup) -> Result<Value, TemplateError> {
    match expression {
        Expression::Name { name, at } => lookup.value(name).ok_or_else(|| TemplateError {
            at: at.clone(),
            fault: Fault::UnknownVariable {
                name: name.to_string(),
            },
        }),
        other => integer(other, lookup).map(Value::Integer),
    }
}

fn integer(expression: &Expression, lookup: &impl Lookup) -> Result<i64, TemplateError> {
    match expression {
        Expression::Integer(value) => Ok(*value),
        Expression::Name { name, at } => match compute(expression, lookup)? {
            Value::Integer(value) => Ok(value),
            Value::Text(_) => Err(TemplateError {
                at: at.clone(),
                fault: Fault::NotAnInteger {
                    name: name.to_string(),
                },
            }),
        },
        Expression::Negated(inner, at) => {
            let value = integer(inner, lookup)?;
            value.checked_neg().ok_or(TemplateError {
                at: at.clone(),
                fault: Fault::Overflow,
            })
        }
        Expression::Binary { .. } => chain(expression, lookup),
    }
}

/// Left-leaning chains such as `a + b + c …` are walked, not recursed into: only parentheses nest.
fn chain(expression: &Expression, lookup: &impl Lookup) -> Result<i64, TemplateError> {
    let mut pending: Vec<(Operator, &Expression, &Range<usize>)> = Vec::new();
    let mut first = expression;
    while let Expression::Binary {
        operator,
        left,
        right,
        at,
    } = first
    {
        pending.push((*operator, right, at));
        first = left;
    }
    let mut value = integer(first, lookup)?;
    while let Some((operator, right, at)) = pending.pop() {
        value = apply(operator, value, integer(right, lookup)?).map_err(|fault| TemplateError {
            at: at.clone(),
            fault,
        })?;
    }
    Ok(value)
}

fn apply(operator: Operator, left: i64, right: i64) -> Result<i64, Fault> {
    let result = match operator {
        Operator::Add => left.checked_add(right),
        Operator::Subtract => left.checked_sub(right),
        Operator::Multiply => left.checked_mul(right),
        Operator::Divide | Operator::Remainder if right == 0 => return Err(Fault::DivisionByZero),
        Operator::Divide => left.checked_div(right).map(|quotient| {
            if left % right != 0 && (left < 0) != (right < 0) {
                quotient - 1
            } else {
                quotient
            }
        }),
        Operator::Remainder => left.checked_rem(right).map(|remainder| {
            if remainder != 0 && (remainder < 0) != (right < 0) {
                remainder + right
            } else {
                remainder
            }
        }),
    };
    result.ok_or(Fault::Overflow)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::{around_key, expand, expand_but_key};
    use super::*;

    struct Names;

    impl Lookup for Names {
        fn value(&self, name: &str) -> Option<Value> {
            match name {
                "n" => Some(Value::Integer(17)),
                "m" => Some(Value::Integer(-7)),
                "c" | "var.region" => Some(Value::Text("Asia".into())),
                _ => None,
            }
        }
    }

    #[test]
    fn templates_expand() {
        for (text, expected) in [
            ("plain", "plain"),
            ("t$(n:03)", "t017"),
            ("$(n)", "17"),
            ("s$( n % 10 + 1 :02 ).$(var.region)", "s08.Asia"),
            ("$$(n) $(n)", "$(n) 17"),
            ("$(m / 2) $(m % 2) $(-m)", "-4 1 7"),
            ("$(2 + 3 * 4) $((2 + 3) * 4) $(10 - 3 - 2)", "14 20 5"),
            ("$5 (n)", "$5 (n)"),
            ("ü$(c)ü", "üAsiaü"),
        ] {
            assert_eq!(expand(text, &Names).as_deref(), Ok(expected), "{text}");
        }
    }

    #[test]
    fn faults_say_where() {
        for (text, at, message) in [
            ("a$(n", 1..3, "`$(` without its `)`"),
            (
                "$(n:x)",
                4..5,
                "expected a format such as `:03`: a number of digits up to 64",
            ),
            (
                "$(n:0)",
                4..5,
                "expected a format such as `:03`: a number of digits up to 64",
            ),
            ("$(nn + 1)", 2..4, "unknown variable `nn`"),
            ("$(c + 1)", 2..3, "`c` is text, and arithmetic needs an integer"),
            ("$(c:03)", 0..7, "text cannot be padded with zeros"),
            ("$(m:03)", 0..7, "a negative number cannot be padded with zeros"),
            ("$(n / (n - 17))", 4..5, "division by zero"),
            (
                "$(9223372036854775807 + n)",
                22..23,
                "the result does not fit 64 bits",
            ),
            ("$()", 2..3, "expected a number, a name or `(`"),
            (
                "$(n n)",
                4..5,
                "expected an operator (`+ - * / %`), a format such as `:03`, or `)`",
            ),
        ] {
            let error = expand(text, &Names).expect_err(text);
            assert_eq!(
                (error.at, error.fault.to_string().as_str()),
                (at, message),
                "{text}"
            );
        }
    }

    #[test]
    fn a_key_is_taken_out_of_its_surroundings() {
        let around = |text| -> Result<(String, Option<u8>, String), String> {
            let template = around_key(text, &Names).map_err(|error| error.fault.to_string())?;
            Ok((
                template.prefix.to_string(),
                template.width,
                template.suffix.to_string(),
            ))
        };
        assert_eq!(
            around("t_$(key:03)_$(n)"),
            Ok(("t_".into(), Some(3), "_17".into()))
        );
        assert_eq!(around("$(key)"), Ok((String::new(), None, String::new())));
        assert_eq!(around("tenant"), Err("expected one `$(key)`".into()));
        assert_eq!(
            around("$(key)$(key)"),
            Err("a second `$(key)`: a text holds the key once".into())
        );
    }

    #[test]
    fn all_but_the_key_is_expanded() {
        for (text, expected, template) in [
            ("t_$(key:03)_$(n)", "t_$(key:03)_17", "t_$(key:03)_17"),
            ("$$(n) $(n)", "$(n) 17", "$$(n) 17"),
            ("$(var.region).db", "Asia.db", "Asia.db"),
        ] {
            let expanded = expand_but_key(text, &Names).expect(text);
            assert_eq!(
                (&*expanded.text, &*expanded.template),
                (expected, template),
                "{text}"
            );
        }
    }

    proptest! {
        #[test]
        fn what_was_expanded_expands_to_itself(text in "[$()a-n0-9+*/% :.-]{0,60}") {
            if let Ok(expanded) = expand_but_key(&text, &Names)
                && expand(&text, &Names).is_ok()
            {
                let again = expand(&expanded.template, &Names);
                prop_assert_eq!(again.as_deref(), Ok(&*expanded.text));
            }
        }

        #[test]
        fn no_text_panics(text in "[$()a-n0-9+*/% :.-]{0,60}|\\PC{0,40}") {
            let _ = expand(&text, &Names);
            let _ = around_key(&text, &Names);
        }

        #[test]
        fn division_rounds_down(a in any::<i64>(), b in any::<i64>()) {
            if let (Ok(quotient), Ok(remainder)) = (apply(Operator::Divide, a, b), apply(Operator::Remainder, a, b)) {
                prop_assert_eq!(i128::from(quotient) * i128::from(b) + i128::from(remainder), i128::from(a));
                prop_assert!(remainder == 0 || (remainder < 0) == (b < 0));
            }
        }
    }

    #[test]
    fn deep_and_long_expressions_are_refused_or_computed() {
        let deep = format!("$({}1{})", "(".repeat(10_000), ")".repeat(10_000));
        assert!(expand(&deep, &Names).is_err());
        let long = |terms: usize| format!("$(1{})", "+1".repeat(terms));
        assert_eq!(expand(&long(500), &Names).as_deref(), Ok("501"));
        assert!(expand(&long(5_000), &Names).is_err());
    }
}
