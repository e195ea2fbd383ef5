//! Where a statement's text carries a key: the patterns that tell a real key comment from text that looks like one.
//!
//! Three facts hold the parts together. `accepts` matches only statements in which a key stands in a real comment
//! that begins before the first quote character. `repeats` matches statements in which the key word (or an exact
//! comment) stands twice; it is asked after `accepts`, so behind it the text holds one candidate, and the patterns of
//! a tree need only search for it. `doubtful` matches every statement that carries a key by the grammar of the
//! language and that `accepts` could not prove to; such statements are refused.
//!
//! No pattern repeats a group without a bound: PCRE 8 takes stack for every turn of such a group, and a proxy thread
//! has 1 MiB of it.

use shardwright_rules::{CommentForm, KeyKind};

use super::integer::{self, Writing};
use super::once::Once;
use super::text;

pub(crate) mod column;

/// Blanks, commas and semicolons: what separates the pairs of a comment.
const SEPARATOR: &str = r"[\t-\r ,;]";
/// What `SEPARATOR` holds, for use inside a class.
const SEPARATORS: &str = r"\t-\r ,;";
/// Blanks around the text of an exact comment.
const BLANKS: &str = r"[\t\n\f\r ]*";

/// The patterns around a key's value, for one way of writing it in a comment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct KeySite {
    /// The key word stands somewhere: without it a statement has no key.
    pub word: String,
    /// The statement carries a key in a real comment.
    pub accepts: String,
    /// The key word stands a second time.
    pub repeats: String,
    /// The statement may carry a key, and it cannot be told.
    pub doubtful: String,
    before: String,
    after: String,
    /// The key with its value, whatever it is.
    keyed: String,
    quotable: Quotable,
    /// What stands around the key when it stands once; `None` where that takes a pattern of its own.
    once: Option<Once>,
    /// How an integer value is written.
    pub writing: Writing,
}

/// Whether the value may stand in quotes, and what tells that it does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Quotable {
    /// Never.
    No,
    /// `accepts` proves that no quoted value holds a separator.
    Simple,
    /// Quoted values hold separators: the quotes count.
    Spaced,
}

impl KeySite {
    /// The site of `word` in comments of this form. `spaced`: values with separators in them are keys.
    pub(crate) fn new(word: &str, form: &CommentForm, kind: KeyKind, spaced: bool) -> Self {
        match form {
            CommentForm::Pairs => Self::pairs(word, spaced, false),
            CommentForm::Sqlcommenter => Self::pairs(word, spaced, true),
            CommentForm::Exact(template) => {
                Self::exact(&template.prefix, template.width, &template.suffix, kind)
            }
        }
    }

    /// `encoded`: words and values may be percent-encoded. Such a statement carries a key, and `accepts` does not prove it.
    fn pairs(word: &str, spaced: bool, encoded: bool) -> Self {
        let key = any_case(word);
        let (spelled, bounded) = if encoded {
            percent_encoded(word)
        } else {
            (key.clone(), format!(r"\b{key}"))
        };
        let percent = if encoded { "%" } else { "" };
        let quoted = if spaced {
            format!(r#"[^'"*{percent}\\]"#)
        } else {
            format!(r#"[^'"*{percent}\\{SEPARATORS}]"#)
        };
        let value = format!(r#"(?:[^'"*{percent}{SEPARATORS}]+|'{quoted}*'|"{quoted}*")"#);
        let accepts = format!(
            r"{}{}{key}={value}(?:\*/|{SEPARATOR}(?s:.*?)\*/)",
            statement_before_comment(),
            pairs_before()
        );
        Self {
            word: format!("{bounded}="),
            once: Once::new(word).filter(|_| !encoded),
            accepts,
            repeats: format!(r"{bounded}\b(?s:.*){bounded}\b"),
            doubtful: any_comment(&format!("{spelled}="), &format!("{bounded}=")),
            keyed: format!(r"\b{key}={value}"),
            before: format!(r"\b{key}="),
            after: format!(r"(?:\*/|{SEPARATOR})"),
            quotable: if spaced {
                Quotable::Spaced
            } else {
                Quotable::Simple
            },
            writing: Writing::Free,
        }
    }

    fn exact(prefix: &str, width: Option<u8>, suffix: &str, kind: KeyKind) -> Self {
        let (prefix, suffix) = (text::escaped(prefix), text::escaped(suffix));
        let writing = width.map_or(Writing::Plain, Writing::Padded);
        let value = match kind {
            // A comment of another form is no key.
            KeyKind::Integer => integer::pattern(&[(i64::MIN, i64::MAX)], writing),
            KeyKind::Text => r"(?:[^*!+M\s]|M[^*!])[^*]*?".to_owned(),
        };
        let comment = format!(r"/\*{BLANKS}{prefix}{value}{suffix}{BLANKS}\*/");
        Self {
            word: comment.clone(),
            once: None,
            accepts: format!("{}{comment}", statement_before_comment()),
            repeats: format!("{comment}(?s:.*){comment}"),
            doubtful: comment.clone(),
            before: format!(r"/\*{BLANKS}{prefix}"),
            keyed: comment,
            after: format!(r"{suffix}{BLANKS}\*/"),
            quotable: Quotable::No,
            writing,
        }
    }

    /// A pattern for a place behind the key and a quote that follows it; for statements that `accepts` matches.
    pub(crate) fn behind_quote(&self) -> String {
        format!(r#"{}(?s:.*)['"](?s:.*)"#, self.keyed)
    }

    /// The pattern for a statement whose key is one of the numbers that `value` matches whole.
    pub(crate) fn number(&self, value: &str) -> String {
        let quote = if self.quotable == Quotable::No {
            ""
        } else {
            r#"['"]?"#
        };
        format!("{}{quote}{value}{quote}{}", self.before, self.after)
    }

    /// The pattern for a statement whose key is one of these texts.
    pub(crate) fn texts(&self, values: &[&str]) -> String {
        let any = text::exactly(values);
        let value = match self.quotable {
            Quotable::No => any,
            Quotable::Simple => format!(r#"['"]?{any}['"]?"#),
            Quotable::Spaced => {
                let bare: Vec<&str> = values.iter().copied().filter(|value| !is_spaced(value)).collect();
                if bare.is_empty() {
                    format!(r#"['"]{any}['"]"#)
                } else {
                    format!(r#"(?:{}|['"]{any}['"])"#, text::exactly(&bare))
                }
            }
        };
        format!("{}{value}{}", self.before, self.after)
    }

    /// The pattern for a statement whose key belongs to a run of values.
    pub(crate) fn run(&self, run: &text::Run<'_>) -> Sought {
        let quote = if self.quotable == Quotable::No {
            ""
        } else {
            r#"['"]?"#
        };
        Sought {
            open: run
                .beginning
                .as_ref()
                .map(|beginning| format!("{}{quote}{beginning}", self.before)),
            closed: (!run.whole.is_empty()).then(|| self.texts(&run.whole)),
        }
    }

    /// Whether [`KeySite::once`] can ask that the key word stands once.
    pub(crate) fn can_stand_once(&self) -> bool {
        self.once.is_some()
    }

    /// The pattern for what is sought where the key word stands once; the search alone where that cannot be told.
    pub(crate) fn once(&self, sought: Sought) -> String {
        match &self.once {
            None => sought.pattern(),
            Some(once) => {
                let open = sought.open.map(|open| once.open(&open));
                let closed = sought.closed.map(|closed| once.closed(&closed));
                Sought { open, closed }.pattern()
            }
        }
    }

    /// Whether a text value can be told apart in this site.
    pub(crate) fn can_hold(&self, value: &str) -> bool {
        !value.is_empty()
            && !value
                .chars()
                .any(|character| matches!(character, '\'' | '"' | '*' | '\\' | '`') || character.is_control())
            && value.trim() == value
    }
}

/// What a rule searches behind the key word.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Sought {
    /// Beginnings of values.
    pub open: Option<String>,
    /// Whole values, with what ends them.
    pub closed: Option<String>,
}

impl Sought {
    /// A search for whole values.
    pub(crate) fn whole(pattern: String) -> Self {
        Self {
            open: None,
            closed: Some(pattern),
        }
    }

    /// A search for either.
    pub(crate) fn or(self, other: Self) -> Self {
        let either = |a: Option<String>, b: Option<String>| match (a, b) {
            (Some(a), Some(b)) => Some(format!("{a}|{b}")),
            (a, b) => a.or(b),
        };
        Self {
            open: either(self.open, other.open),
            closed: either(self.closed, other.closed),
        }
    }

    /// As one pattern.
    pub(crate) fn pattern(self) -> String {
        match (self.open, self.closed) {
            (Some(open), Some(closed)) => format!("{open}|{closed}"),
            (open, closed) => open.or(closed).unwrap_or_default(),
        }
    }
}

/// Whether a text value holds what separates pairs, so that it can only stand in quotes.
pub(crate) fn is_spaced(value: &str) -> bool {
    value.contains(|character: char| matches!(character, '\t'..='\r' | ' ' | ',' | ';'))
}

/// Whether a word can be searched by its word boundaries.
pub(crate) fn is_searchable(word: &str) -> bool {
    let edge = |byte: Option<u8>| byte.is_some_and(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    word.is_ascii() && edge(word.bytes().next()) && edge(word.bytes().last())
}

/// `tenant` as `[Tt][Ee]…`: ASCII letters of both cases, and no letter that only Unicode folds to them.
pub(crate) fn any_case(word: &str) -> String {
    let mut pattern = String::with_capacity(word.len() * 4);
    for character in word.chars() {
        if character.is_ascii_alphabetic() {
            pattern.push('[');
            pattern.push(character.to_ascii_uppercase());
            pattern.push(character.to_ascii_lowercase());
            pattern.push(']');
        } else {
            pattern.push_str(&text::escaped(character.encode_utf8(&mut [0; 4])));
        }
    }
    pattern
}

/// From the start of the statement to the `/` of a comment at the top level, without a quote character: at most 16
/// comments and runs of `/`, `-` or `#` stand before it.
fn statement_before_comment() -> String {
    const PLAIN: &str = r#"[^'"`/#-]*"#;
    let between = [
        // A slash before an ordinary character, a dash before one, a dash before a blank where `--` is no comment.
        r#"[/-]*/[^*/#'"`-]"#,
        r#"[/-]*-[^/#'"`\x00-\x20-]"#,
        r"(?:[/-]*/)?-[\x00-\x20]",
        // Line comments.
        r#"[/-]*#[^\n'"`]*\n"#,
        r#"[/-]*--(?:[\x00-\x09\x0b-\x20][^\n'"`]*)?\n"#,
        // Comments and hints; executable ones only where nothing in them can hide a comment.
        r#"[/-]*/\*(?:(?:[^*!M'"`]|M[^*!'"`])[^*'"`]*)?(?:\*+[^*/'"`][^*'"`]*){0,4}\*+/"#,
        r#"[/-]*/\*M?![^*'"`#/-]*\*/"#,
    ]
    .join("|");
    format!(r"\A{PLAIN}(?:(?:{between}){PLAIN}){{0,16}}?[/-]*")
}

/// From the `/*` of a comment to a pair in it: nothing, a separator, or up to 8 pairs among other text.
fn pairs_before() -> String {
    let value = format!(r#"(?:[^=*'"\\{SEPARATORS}][^=*{SEPARATORS}]*|'[^'*\\]*'|"[^"*\\]*")?"#);
    let pair = format!("[^=*]*={value}{SEPARATOR}");
    // An M opens MariaDB's executable comments only before `!`.
    let first = "(?:[^!+M=*]|M[^!=*])";
    format!(r"/\*(?:{SEPARATOR}|{first}(?:{pair}){{0,8}}[^=*]*{SEPARATOR}|{first}(?:{pair}){{1,8}})?")
}

/// The word with any of its characters percent-encoded; and the same at the beginning of a word, where an encoded
/// character may stand behind others.
fn percent_encoded(word: &str) -> (String, String) {
    let hex_digit = |digit: u8| any_case(&format!("{digit:x}"));
    let code = |byte: u8| format!("%{}{}", hex_digit(byte >> 4), hex_digit(byte & 15));
    let codes = |byte: u8| {
        let (lower, upper) = (byte.to_ascii_lowercase(), byte.to_ascii_uppercase());
        if lower == upper {
            code(byte)
        } else {
            format!("{}|{}", code(upper), code(lower))
        }
    };
    let plain = |byte: u8| any_case(&char::from(byte).to_string());
    let spelled: Vec<String> = word
        .bytes()
        .map(|byte| format!("(?:{}|{})", plain(byte), codes(byte)))
        .collect();
    let Some(first) = word.bytes().next() else {
        return (String::new(), String::new());
    };
    let bounded = format!(r"(?:\b{}|{})", plain(first), codes(first));
    (spelled.concat(), bounded + &spelled[1..].concat())
}

/// `key` as a word in what looks like a comment, also behind quote characters, where it can be a literal; or anywhere
/// behind the start of a comment that has more than 16 runs of stars.
fn any_comment(key: &str, bounded: &str) -> String {
    const STARS: &str = r"(?:\*+[^*/][^*]*)";
    let first = r"(?:[^!+M*]|M[^!*]|M?\*+[^*/])";
    let inside = format!(r"[^*]*(?:{STARS}{{0,16}}{bounded}|{STARS}{{16}}\*+[^*/](?s:.*){bounded})");
    format!(r"/\*(?:{key}|{first}{inside})")
}

#[cfg(test)]
mod tests;
