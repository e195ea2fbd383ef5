//! The codes SW160 to SW168, each with its page.

use shardwright_diagnostics::Code;

/// The analysis finds it in topologies and has its page; who reads the engine's own tables knows its credentials.
pub(crate) const RESERVED_USER: Code = Code::new("SW245");

shardwright_diagnostics::codes! {
    SYNTAX = "SW160": "a rule set cannot be read";
    REFUSED = "SW161": "the engine refuses a statement or a setting";
    UNKNOWN = "SW162": "a table or key that the engine does not have";
    MISREAD = "SW163": "the engine reads a value as something else";
    IGNORED = "SW164": "a part of a rule set that says nothing about routing";
    UNMODELLED = "SW165": "a setting changes what rules mean in a way that is not analysed";
    DROPPED = "SW166": "the engine drops a row when it loads it";
    NOT_ACTIVE = "SW167": "rules are not active because the column was left out";
    NEVER_LOADED = "SW168": "a script writes rows that it never loads";
}
