//! Stable names of findings, and the pages that explain them.

use std::fmt;

use serde::Serialize;

/// The stable name of a kind of problem, such as `SW101`; people select, suppress and look up by it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(transparent)]
pub struct Code(&'static str);

impl Code {
    /// A code; `name` is `SW` and three digits.
    #[must_use]
    pub const fn new(name: &'static str) -> Self {
        Self(name)
    }

    /// The code as people write it.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        self.0
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

/// What `explain CODE` prints. Each crate that reports problems exposes `pub const CODES: &[CodeDoc]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CodeDoc {
    /// The code that is explained.
    pub code: Code,
    /// One line: what is wrong when this is reported.
    pub title: &'static str,
    /// The page in Markdown: what it means, an example, how to put it right.
    pub page: &'static str,
}

/// Defines the codes of a crate and `CODES`, the page of each: `NAME = "SW201": "title";` for every file
/// `docs/rules/SW201.md`. To be invoked in a file of `crates/NAME/src`, from where pages are found.
#[macro_export]
macro_rules! codes {
    ($($name:ident = $code:literal: $title:literal;)+) => {
        $(#[doc = $title] pub(crate) const $name: $crate::Code = $crate::Code::new($code);)+

        /// The pages of the codes that this crate reports.
        pub const CODES: &[$crate::CodeDoc] = &[$($crate::CodeDoc {
            code: $name,
            title: $title,
            page: include_str!(concat!("../../../docs/rules/", $code, ".md")),
        }),+];
    };
}
