//! A compiled pattern and what it finds in a text.

use std::ops::Range;

use regex_automata::meta;
use regex_automata::util::syntax;

use crate::error::{ErrorKind, PatternError};
use crate::front::{self, Translation};
use crate::rewrite;

/// Whose regular expressions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Dialect {
    /// PCRE in byte mode: ProxySQL's default.
    #[default]
    Pcre,
    /// RE2: `mysql-query_processor_regex=2`.
    Re2,
    /// The bundled engine, which reads patterns as PCRE does.
    Bundled,
}

/// `re_modifiers` of a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Flags {
    /// `CASELESS`, set unless a rule says otherwise.
    pub caseless: bool,
    /// `GLOBAL`: a rewrite replaces every match. Matching is the same.
    pub global: bool,
}

impl Default for Flags {
    fn default() -> Self {
        Flags {
            caseless: true,
            global: false,
        }
    }
}

impl Flags {
    /// Reads `re_modifiers`: a comma list whose words count by case-insensitive prefix; others are ignored.
    pub fn from_modifiers(modifiers: &str) -> Self {
        let has = |flag: &str| {
            modifiers.split(',').any(|word| {
                word.get(..flag.len())
                    .is_some_and(|prefix| prefix.eq_ignore_ascii_case(flag))
            })
        };
        Flags {
            caseless: has("CASELESS"),
            global: has("GLOBAL"),
        }
    }
}

/// Group ranges of a match; group 0 is the whole. `None` for a group that took no part.
pub type Captures = Vec<Option<Range<usize>>>;

/// Steps of the backtracking matcher, after which an opaque pattern counts as not matching, as PCRE's own limit has it.
const BACKTRACK_LIMIT: usize = 200_000;
/// Bytes of one compiled regular expression.
const COMPILED_BYTES: usize = 16 << 20;

/// A pattern as one engine understands it.
#[derive(Clone, Debug)]
pub struct Pattern {
    text: String,
    dialect: Dialect,
    flags: Flags,
    translation: Translation,
    /// Finds whether there is a match; absent for an opaque pattern.
    regular: Option<meta::Regex>,
    /// Finds where it is, if `regular` cannot tell exactly.
    exact: Option<fancy_regex::Regex>,
    /// RE2 rewrites with a case-sensitive copy whatever the flags say.
    rewriting: Option<Box<Pattern>>,
}

impl Pattern {
    /// Reads `text` as an expression of `dialect`.
    ///
    /// # Errors
    /// If the engine would not compile it, or if it cannot be evaluated here.
    pub fn compile(text: &str, flags: Flags, dialect: Dialect) -> Result<Self, PatternError> {
        let mut translation = front::translate(text, flags.caseless, dialect)?;
        let case = if flags.caseless { "i" } else { "" };
        let bytes = if dialect == Dialect::Re2 { "" } else { "-u" };
        translation.regular = format!("(?{case}{bytes}:{})", translation.regular);
        let failed = |message: String| PatternError {
            kind: ErrorKind::Unsupported,
            message,
            offset: 0,
        };
        let regular = match translation.opaque {
            Some(_) => None,
            None => Some(
                meta::Builder::new()
                    .configure(Pattern::engine())
                    .syntax(Pattern::syntax())
                    .build(&translation.regular)
                    .map_err(|error| PatternError {
                        kind: if error.size_limit().is_some() {
                            ErrorKind::TooLarge
                        } else {
                            ErrorKind::Unsupported
                        },
                        message: error
                            .syntax_error()
                            .map_or_else(|| error.to_string(), ToString::to_string),
                        offset: 0,
                    })?,
            ),
        };
        let needs_exact = translation.opaque.is_some() || translation.dollar;
        let exact = needs_exact
            .then(|| {
                fancy_regex::RegexBuilder::new(&translation.exact)
                    .case_insensitive(flags.caseless)
                    .bytes_mode(fancy_regex::BytesMode::Ascii)
                    .backtrack_limit(BACKTRACK_LIMIT)
                    .delegate_size_limit(COMPILED_BYTES)
                    .build()
                    .map_err(|error| failed(error.to_string()))
            })
            .transpose()?;
        let rewriting = (dialect == Dialect::Re2 && flags.caseless)
            .then(|| {
                Pattern::compile(
                    text,
                    Flags {
                        caseless: false,
                        ..flags
                    },
                    dialect,
                )
                .map(Box::new)
            })
            .transpose()?;
        Ok(Pattern {
            text: text.to_owned(),
            dialect,
            flags,
            translation,
            regular,
            exact,
            rewriting,
        })
    }

    /// The text it was compiled from.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Whose expression it is.
    pub fn dialect(&self) -> Dialect {
        self.dialect
    }

    /// Its flags.
    pub fn flags(&self) -> Flags {
        self.flags
    }

    /// Number of capturing groups, the whole match not counted.
    pub fn groups(&self) -> usize {
        self.translation.groups
    }

    /// Why no automaton can stand for it, if so.
    pub fn opaque(&self) -> Option<&'static str> {
        self.translation.opaque
    }

    /// The same language as a `regex-syntax` expression that carries its own flags, for matching many patterns as one;
    /// `None` if opaque. Compile it with [`Pattern::syntax`] and [`Pattern::engine`]; it may take in a final line end that `$` only looks at.
    pub fn regular_text(&self) -> Option<&str> {
        self.translation
            .opaque
            .is_none()
            .then_some(self.translation.regular.as_str())
    }

    /// The syntax options that [`Pattern::regular_text`] is written for.
    pub fn syntax() -> syntax::Config {
        syntax::Config::new().utf8(false).nest_limit(front::MAX_DEPTH * 4)
    }

    /// The engine options to compile it with. Without prefilters: with them, the reverse suffix optimization of
    /// regex-automata 0.4.18 finds `[ab][ab].+b` in `aab\n`.
    pub fn engine() -> meta::Config {
        meta::Config::new()
            .utf8_empty(false)
            .auto_prefilter(false)
            .nfa_size_limit(Some(COMPILED_BYTES))
    }

    /// True if `text`, cut at its first NUL byte, contains a match.
    pub fn is_match(&self, text: &[u8]) -> bool {
        let text = subject(text);
        match (&self.regular, &self.exact) {
            (Some(regular), _) => regular.is_match(text),
            (None, Some(exact)) => exact.is_match(text).unwrap_or(false),
            (None, None) => false,
        }
    }

    /// The leftmost match in `text`, cut at its first NUL byte.
    pub fn captures(&self, text: &[u8]) -> Option<Captures> {
        self.captures_at(subject(text), 0)
    }

    /// What a rule's `replace_pattern` makes of `text`; `None` if the engine leaves the text as it is. Text behind the
    /// first NUL byte is lost, as it is in ProxySQL.
    pub fn rewrite(&self, text: &[u8], replacement: &[u8]) -> Option<Vec<u8>> {
        let by = self.rewriting.as_deref().unwrap_or(self);
        rewrite::rewrite(by, subject(text), replacement, self.flags.global)
    }

    /// The leftmost match that begins at `from` or later.
    pub(crate) fn captures_at(&self, text: &[u8], from: usize) -> Option<Captures> {
        if let Some(exact) = &self.exact {
            let captures = exact.captures_from_pos(text, from).ok()??;
            return Some(
                (0..captures.len())
                    .map(|i| captures.get(i).map(|group| group.range()))
                    .collect(),
            );
        }
        let regular = self.regular.as_ref()?;
        let mut captures = regular.create_captures();
        regular.captures(regex_automata::Input::new(text).range(from..), &mut captures);
        let found = captures.is_match();
        found.then(|| {
            (0..captures.group_len())
                .map(|i| captures.get_group(i).map(|span| span.range()))
                .collect()
        })
    }
}

/// ProxySQL hands the engine a NUL-terminated text.
fn subject(text: &[u8]) -> &[u8] {
    text.split(|&b| b == 0).next().unwrap_or_default()
}
