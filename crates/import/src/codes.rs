//! The codes SW160 to SW166, each with its page.

use shardwright_diagnostics::{Code, CodeDoc};

macro_rules! codes {
    ($($name:ident = $code:literal: $title:literal;)*) => {
        $(pub(crate) const $name: Code = Code::new($code);)*

        /// The pages of this crate's codes.
        pub const CODES: &[CodeDoc] = &[$(CodeDoc {
            code: $name,
            title: $title,
            page: include_str!(concat!("../../../docs/rules/", $code, ".md")),
        }),*];
    };
}

codes! {
    SYNTAX = "SW160": "a rule set cannot be read";
    REFUSED = "SW161": "the engine refuses a statement or a setting";
    UNKNOWN = "SW162": "a table or key that the engine does not have";
    MISREAD = "SW163": "the engine reads a value as something else";
    IGNORED = "SW164": "a part of a rule set that says nothing about routing";
    UNMODELLED = "SW165": "a setting changes what rules mean in a way that is not analysed";
    DROPPED = "SW166": "the engine drops a row when it loads it";
}
