//! Whose regular expressions, with which flags, and what a match is.

use std::ops::Range;

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
