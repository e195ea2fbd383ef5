//! Witnesses that read like statements, where that works.

use memchr::memmem;

use super::Target;
use crate::example::{Example, ORDINARY};
use crate::question::Question;

/// The example with blanks between words, in an ordinary statement.
pub(super) fn readable(target: &Target<'_>, question: &Question, example: Example) -> Example {
    plainer(target, spaced(target, question, example))
}

/// The same with a blank between words that different patterns ask for, where that works.
fn spaced(target: &Target<'_>, question: &Question, mut example: Example) -> Example {
    let is_word = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_alphanumeric);
    for &lit in question.digest.iter().chain(&question.text) {
        // Where the pattern's own words stand in the text.
        let Some(own) = target.languages.sample(lit).filter(|own| !own.is_empty()) else {
            continue;
        };
        let Some(first) = memmem::find(&example.text, &own) else {
            continue;
        };
        for at in [first + own.len(), first] {
            let text = &example.text;
            if at == 0 || !is_word(text.get(at - 1)) || !is_word(text.get(at)) {
                continue;
            }
            let spaced = Example {
                text: [&text[..at], b" ", &text[at..]].concat(),
                ..example.clone()
            };
            if (target.reaches)(&spaced) {
                example = spaced;
            }
        }
    }
    example
}

/// The same in an ordinary statement, where that works.
fn plainer(target: &Target<'_>, example: Example) -> Example {
    let text = &example.text;
    if ORDINARY.iter().any(|usual| usual.as_bytes() == text) {
        return example;
    }
    if text.is_empty() {
        let mut usual = ORDINARY.iter().map(|text| Example {
            text: text.as_bytes().to_vec(),
            ..example.clone()
        });
        return usual.find(|usual| (target.reaches)(usual)).unwrap_or(example);
    }
    let ordinary = [
        [b"/* ", text.as_slice(), b" */ SELECT a FROM t WHERE id=1"].concat(),
        [text.as_slice(), b" SELECT a FROM t WHERE id=1"].concat(),
        [b"SELECT a FROM ", text.as_slice(), b" WHERE id=1"].concat(),
        [text.as_slice(), b" a FROM t WHERE id=1"].concat(),
    ];
    let comment = text.starts_with(b"/*");
    let verb = text
        .split(|&byte| byte == b' ')
        .next()
        .unwrap_or_default()
        .eq_ignore_ascii_case(b"SELECT");
    let fitting = ordinary.into_iter().enumerate().filter(|(at, _)| match at {
        0 | 2 => !comment && !verb,
        1 => comment,
        _ => verb,
    });
    for (_, text) in fitting {
        let plainer = Example {
            text,
            ..example.clone()
        };
        if (target.reaches)(&plainer) {
            return plainer;
        }
    }
    example
}
