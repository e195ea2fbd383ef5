//! The patterns that tell a real key comment from text that looks like one.
//!
//! Three facts hold the parts together. `accepts` matches only statements in which a key stands in a real comment
//! that begins before the first quote character. `repeats` matches statements in which the key word with its `=` (or an exact
//! comment) stands twice; it is asked after `accepts`, so behind it the text holds one candidate, and the patterns of
//! a tree need only search for it. `doubtful` matches every statement that carries a key by the grammar of the
//! language and that `accepts` could not prove to; such statements are refused.
//!
//! No pattern repeats a group without a bound: PCRE 8 takes stack for every turn of such a group, and a proxy thread
//! has 1 MiB of it.

use shardwright_rules::{ANNOTATION_KEYS, CommentForm, KeyKind};

use super::integer::{self, Writing};
use super::search::{KeyPatterns, Quotable};
use super::single_word::{SingleWord, twice};
use super::text::{self, any_case, caseless};
use crate::statement_patterns::Wording;

/// Blanks, commas and semicolons: what separates the pairs of a comment.
const SEPARATOR: &str = r"[\t-\r ,;]";
/// What `SEPARATOR` holds, for use inside a class.
const SEPARATORS: &str = r"\t-\r ,;";
/// Blanks around the text of an exact comment.
const BLANKS: &str = r"[\t\n\f\r ]*";

impl KeyPatterns {
    /// The patterns of `word` in comments of this form. `spaced`: values with separators in them are keys.
    pub(crate) fn new(word: &str, form: &CommentForm, kind: KeyKind, spaced: bool, wording: Wording) -> Self {
        match form {
            CommentForm::Pairs => Self::pairs(word, spaced, false, wording),
            CommentForm::Sqlcommenter => Self::pairs(word, spaced, true, wording),
            CommentForm::Exact(template) => {
                Self::exact(&template.prefix, template.width, &template.suffix, kind)
            }
        }
    }

    /// `encoded`: words and values may be percent-encoded. Such a statement carries a key, and `accepts` does not prove it.
    fn pairs(word: &str, spaced: bool, encoded: bool, wording: Wording) -> Self {
        let key = caseless(word, wording);
        let Spelling {
            anywhere: spelled,
            at_word_start: bounded,
        } = if encoded {
            percent_encoded(word)
        } else {
            Spelling {
                anywhere: key.clone(),
                at_word_start: format!(r"\b{key}"),
            }
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
            alone: (!encoded && !is_annotation(word))
                .then(|| format!(r"\A/\*[\t-\r ]*{key}=[0-9A-Za-z_]+[\t-\r ]*\*/")),
            word: format!("{bounded}="),
            once: SingleWord::new(word).filter(|_| !encoded),
            accepts,
            repeats: twice(word)
                .filter(|_| wording.possessive && !encoded)
                .unwrap_or_else(|| format!("{bounded}=(?s:.*){bounded}=")),
            doubtful: any_comment(&format!("{spelled}="), &format!("{bounded}=")),
            keyed: format!(r"\b{key}={value}"),
            commented: (!encoded && !spaced).then(|| format!("{}{key}=", real_comment())),
            before: format!(r"\b{key}="),
            after: format!(r"(?:\*/|{SEPARATOR})"),
            first_decides: wording.possessive && SingleWord::new(word).is_some(),
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
            alone: None,
            word: comment.clone(),
            once: None,
            accepts: format!("{}{comment}", statement_before_comment()),
            repeats: format!("{comment}(?s:.*){comment}"),
            doubtful: comment.clone(),
            before: format!(r"/\*{BLANKS}{prefix}"),
            keyed: comment,
            commented: None,
            after: format!(r"{suffix}{BLANKS}\*/"),
            first_decides: false,
            quotable: Quotable::No,
            writing,
        }
    }
}

/// Whether the guard against annotations refuses `word=value`: ProxySQL may obey it.
fn is_annotation(word: &str) -> bool {
    let word = word.to_ascii_lowercase();
    ANNOTATION_KEYS.iter().any(|key| word.ends_with(key))
}

/// Whether a word can be searched by its word boundaries.
pub(crate) fn is_searchable(word: &str) -> bool {
    let edge = |byte: Option<u8>| byte.is_some_and(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    word.is_ascii() && edge(word.bytes().next()) && edge(word.bytes().last())
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

/// From the `/*` of a comment that no server executes to the beginning of a word in it.
fn real_comment() -> String {
    r"/\*(?:(?:[^!+M*]|M[^!*])[^*]*?)?\b".to_owned()
}

/// Patterns for the word of a comment.
#[derive(Default)]
struct Spelling {
    anywhere: String,
    at_word_start: String,
}

/// The word with any of its characters percent-encoded. At the beginning of a word, an encoded character may stand behind
/// others.
fn percent_encoded(word: &str) -> Spelling {
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
        return Spelling::default();
    };
    let bounded = format!(r"(?:\b{}|{})", plain(first), codes(first));
    Spelling {
        anywhere: spelled.concat(),
        at_word_start: bounded + &spelled[1..].concat(),
    }
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
