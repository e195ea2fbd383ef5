//! The codes SW201 to SW703 that are found in configurations, each with its page.

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
    JUMP_TO_ITSELF = "SW214": "a jump to its own chain without restarts";
    DIGESTS_OFF = "SW224": "conditions on digests while digests are off";
    DIGEST_OPTIONS = "SW225": "hashes of digests that the engine makes otherwise";
    LITERAL_IN_DIGEST = "SW226": "a digest is searched for what it does not show";
    DIGEST_OF_ORIGINAL = "SW227": "a digest is searched for rewritten text";
    ANNOTATIONS_OVERRIDE = "SW228": "a comment leads around rules that keep users apart";
    ESCAPED_BY_FORM = "SW229": "a statement written a little otherwise escapes a pattern";
    QUANTIFIER_MEANT_LITERALLY = "SW230": "an unescaped question mark in a digest pattern";
    TWO_NEGATED = "SW231": "two patterns negated at once";
    NO_WAY_BACK = "SW232": "a session that never leaves a flag";
    WEIGHTS_IGNORED = "SW233": "weights that are never drawn";
    ADDRESS_AS_TEXT = "SW234": "a client address that is compared as text";
    NO_LISTENER = "SW235": "a rule for a listener that does not exist";
    REFUSAL_STICKS = "SW236": "a refusal that a later rule does not lift";
    EMPTY_REFUSAL = "SW237": "a refusal without a message";
    FAST_ROUTING_REPLACES = "SW238": "fast routing replaces what a rule decided";
    ROWS_NEVER_ASKED = "SW239": "rows of fast routing at a flag where no statement ends";
    BACKTRACKS = "SW240": "a pattern that backtracks";
    SESSION_SCHEMA_ONLY = "SW241": "a rule goes by the session's schema only";
    SPECIAL_STATEMENT = "SW242": "a rule for what the engine handles itself";
    KEY_IN_LITERAL = "SW311": "a key that a literal can give";
    KEY_NOT_PREPARED = "SW312": "a key that prepared statements do not show";
    TWO_KEYS = "SW313": "a statement with the keys of two shards";
    OPEN_KEY = "SW330": "a key whose end is open";
    WRITE_ON_READER = "SW401": "a write or a locking read reaches a reader";
    SPLIT_TRANSACTION = "SW402": "a transaction is split over hostgroups";
    EMPTY_READERS = "SW403": "a reader hostgroup that can become empty";
    LAG_NEVER_SEEN = "SW405": "a lag limit that stopped replication does not reach";
    VARIABLES_APART = "SW406": "reads leave the hostgroup of the session's variables";
    NOBODY_SERVES = "SW407": "a rule sends to servers that do not serve";
    SHARED_HOSTGROUP = "SW408": "one hostgroup of two clusters";
    SLAVE_STATUS = "SW409": "the lag check is one that new servers do not know";
    CAPTURE_AS_IDENTIFIER = "SW501": "a capture becomes the name of a schema or table";
    LITERAL_REWRITTEN = "SW502": "a rewrite changes string literals";
    PREDICATE_LOST = "SW503": "a rewrite drops what it matched";
    NOT_IDEMPOTENT = "SW504": "a rewrite that rewrites its own result";
    PREPARED_ELSEWHERE = "SW505": "a prepared statement is executed elsewhere";
    REWRITE_WITHOUT_EFFECT = "SW506": "a replacement that the engine cannot write";
    REPLACE_NEGATED = "SW507": "a rewrite of what a negated pattern matches";
    REWRITE_IN_CASE = "SW508": "RE2 rewrites with regard to case";
    DELAY_HOLDS_LOCKS = "SW603": "a delay inside transactions";
    MULTIPLEX_LEAK = "SW604": "a multiplexing exception that leaks session state";
    MULTIPLEX_ONE = "SW605": "multiplexing that a rule cannot bring back";
    NOT_FOR_PREPARED = "SW606": "effects that prepared statements do not get";
    RETRIED_WRITE = "SW607": "a write that may run twice";
    TIMEOUT_ZERO = "SW608": "a timeout of 0";
    CACHE_UNSAFE = "SW609": "an answer from the cache where it must be asked for";
    MIRRORED_WRITE = "SW610": "a mirrored write";
    MIRROR_OVERRIDDEN = "SW611": "fast routing takes the place of a mirror";
    INERT_COLUMN = "SW612": "a column that the engine never reads";
    NO_GTID = "SW613": "waiting for a GTID that no server reports";
    MANY_EVALUATIONS = "SW703": "a statement asks very many patterns";
    NO_SERVERS = "SW701": "statements are sent to a hostgroup without servers";
    NO_CAPACITY = "SW702": "the servers of a hostgroup take no statements";
}
