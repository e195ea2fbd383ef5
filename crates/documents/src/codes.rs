//! The codes SW100 to SW109: what can be wrong with a file before anything it says matters.

use shardwright_diagnostics::{Code, CodeDoc};

pub(crate) const UNREADABLE: Code = Code::new("SW100");
pub(crate) const MALFORMED: Code = Code::new("SW101");
pub(crate) const DUPLICATE_KEY: Code = Code::new("SW102");
pub(crate) const NOT_UTF8: Code = Code::new("SW103");
pub(crate) const TOO_LARGE: Code = Code::new("SW104");
pub(crate) const SEVERAL_DOCUMENTS: Code = Code::new("SW105");
pub(crate) const NOT_IN_LANGUAGE: Code = Code::new("SW106");
pub(crate) const UNKNOWN_ALIAS: Code = Code::new("SW107");
pub(crate) const NOT_FORMATTED: Code = Code::new("SW108");

macro_rules! page {
    ($code:ident, $title:literal, $file:literal) => {
        CodeDoc {
            code: $code,
            title: $title,
            page: include_str!(concat!("../../../docs/rules/", $file, ".md")),
        }
    };
}

/// The problems that this crate reports.
pub const CODES: &[CodeDoc] = &[
    page!(UNREADABLE, "a file cannot be read", "SW100"),
    page!(MALFORMED, "a file is not well-formed YAML", "SW101"),
    page!(DUPLICATE_KEY, "a key is given twice in one mapping", "SW102"),
    page!(NOT_UTF8, "a file is not UTF-8 text", "SW103"),
    page!(
        TOO_LARGE,
        "a file is too large, too deep, or expands to too much",
        "SW104"
    ),
    page!(
        SEVERAL_DOCUMENTS,
        "a file holds more than one YAML document",
        "SW105"
    ),
    page!(
        NOT_IN_LANGUAGE,
        "a YAML feature that the language does not have",
        "SW106"
    ),
    page!(UNKNOWN_ALIAS, "an alias without its anchor", "SW107"),
    page!(NOT_FORMATTED, "a file cannot be formatted", "SW108"),
];
