//! The codes SW201 to SW223 and SW701, SW702, each with its page.

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
    UNREACHABLE = "SW201": "a rule can never match";
    DEAD_CHAIN = "SW202": "no jump enters a chain";
    DANGLING_JUMP = "SW203": "a jump leads to no rule";
    FALL_THROUGH = "SW204": "a statement leaves a chain without being placed";
    TAKES_EVERYTHING = "SW205": "a rule without a condition takes what later rules are for";
    UNKNOWN_USER = "SW206": "a rule is for a user who cannot log in";
    JUMP_WITHOUT_EFFECT = "SW207": "a rule that applies also jumps";
    OVERWRITTEN = "SW208": "a later rule always overwrites a placement";
    UNDECIDED = "SW209": "it is not decided whether rules can match";
    CYCLE = "SW210": "jumps lead in a circle";
    SELF_LOOP = "SW211": "a rule jumps to its own chain and matches again";
    TOO_FEW_ITERATIONS = "SW212": "a rule needs more restarts than there are";
    BACKWARD_JUMP = "SW213": "a jump leads only to earlier rules";
    BROKEN_PATTERN = "SW220": "a pattern does not compile";
    FAST_ROUTING_SKIPPED = "SW221": "the last rule switches fast routing off";
    NOT_IN_RE2 = "SW222": "a pattern is PCRE, and the engine reads RE2";
    ANSWER_BEATS_REFUSAL = "SW223": "an answer wins over a refusal";
    NO_SERVERS = "SW701": "statements are sent to a hostgroup without servers";
    NO_CAPACITY = "SW702": "the servers of a hostgroup take no statements";
}
