//! The shapes of pooling exceptions, caches, mirrors and the firewall.

use serde_json::{Value, json};

use super::policies::on_unsupported;
use super::shapes::{
    boolean, described, duration, generated, int, map, object, text, text_or_list, texts, word,
};

fn match_() -> Value {
    described("scope", "Which statements; at least one condition.")
}

pub(super) fn pooling() -> Value {
    object(
        "How backend connections are shared between sessions.",
        [(
            "exceptions",
            map(
                "Statements whose connection is shared in another way, by name.",
                generated(
                    "Statements whose connection is shared in another way.",
                    [
                        ("match", match_()),
                        (
                            "multiplex",
                            word(
                                "`never`: the connection stays with the session. `ignore_sysvar_reads`: reading `@@name` \
                                 does not keep it. `default`: as the engine decides.",
                                &["never", "default", "ignore_sysvar_reads"],
                            ),
                        ),
                        (
                            "reason",
                            text("Why the engine's own choice is wrong here; required."),
                        ),
                        ("on_unsupported", on_unsupported()),
                    ],
                ),
            ),
        )],
    )
}

pub(super) fn caches() -> Value {
    map(
        "Statements whose results are kept for a while.",
        generated(
            "Reads whose results are kept; nothing but the time makes a result go.",
            [
                ("match", match_()),
                (
                    "ttl",
                    duration("How long a result is kept, such as 2s; at least 1ms."),
                ),
                (
                    "cache_empty_result",
                    boolean("Whether an empty result is kept; true where not given."),
                ),
                ("reason", text("Why it is so, such as the number of a change.")),
                ("on_unsupported", on_unsupported()),
            ],
        ),
    )
}

pub(super) fn mirrors() -> Value {
    let to = object(
        "Where the copy of each statement goes.",
        [
            ("cluster", text("The name of the cluster that the copy goes to.")),
            (
                "role",
                word(
                    "Which of its hostgroups; writer where not given.",
                    &["writer", "reader"],
                ),
            ),
        ],
    );
    map(
        "Statements of which a copy is sent to a second place.",
        generated(
            "A mirror. Answers of the copy are thrown away.",
            [
                ("match", match_()),
                ("to", to),
                (
                    "percent",
                    int(
                        "The share of statements that are copied, in percent; 100 where not given.",
                        1,
                        100,
                    ),
                ),
                ("reason", text("Why it is so, such as the number of a change.")),
                ("on_unsupported", on_unsupported()),
            ],
        ),
    )
}

pub(super) fn firewall() -> Value {
    let mut allow = object(
        "Statements that pass; all others are told or refused.",
        [
            (
                "file",
                text(
                    "A file below `allow/`: a digest such as 0x4D7DCFF87DD1A927 or an example statement in each line.",
                ),
            ),
            (
                "digests",
                texts(
                    "Digests of statements that pass, such as `0x4D7DCFF87DD1A927`.",
                    "a list of digests",
                ),
            ),
            (
                "statements",
                text_or_list("Example statements; every statement with the same digest text passes."),
            ),
        ],
    );
    allow["minProperties"] = json!(1);
    map(
        "Statements that users may send, by the name of the user.",
        generated(
            "What one user may send.",
            [
                (
                    "mode",
                    word(
                        "What happens to statements that are not allowed: nothing, they are logged, or they are refused.",
                        &["disabled", "detecting", "protecting"],
                    ),
                ),
                ("allow", allow),
                (
                    "schemas",
                    texts(
                        "Session schemas beside those that the topology gives to the user.",
                        "a list of schemas",
                    ),
                ),
                ("on_unsupported", on_unsupported()),
            ],
        ),
    )
}
