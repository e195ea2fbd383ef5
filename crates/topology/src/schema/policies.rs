//! The shapes of read/write policies and throttles.

use serde_json::{Value, json};

use super::int;
use super::shapes::{EXPECTS, described, duration, generated, list, number, object, reference, text, word};

pub(super) fn on_unsupported() -> Value {
    word(
        "What to do for a listed engine that cannot.",
        &["error", "approximate", "skip"],
    )
}

pub(super) fn read_write_policy() -> Value {
    let matches = |description: &str| list(description, "a list of matches", reference("scope"));
    generated(
        "Which statements may leave the writer: only what is provably a read ever does.",
        &[
            (
                "applies_to",
                described("scope", "Whose statements it is about; all where not given."),
            ),
            (
                "reads",
                object(
                    "Which reads go to readers: one of `all`, `only`, `except`.",
                    &[
                        (
                            "all",
                            json!({ "description": "Every read.", "const": true, EXPECTS: "true" }),
                        ),
                        ("only", matches("Reads that any of these match.")),
                        ("except", matches("Reads that none of these match.")),
                    ],
                ),
            ),
            (
                "writer_hint",
                object(
                    "What keeps a statement on the writer.",
                    &[(
                        "comment",
                        object(
                            "A comment such as `/* primary */`.",
                            &[("name", text("The word in the comment."))],
                        ),
                    )],
                ),
            ),
            (
                "after_write",
                duration("For how long a session reads its own writes from the writer."),
            ),
            (
                "consistency",
                word("What a session may see.", &["eventual", "causal"]),
            ),
            (
                "allow_on_readers",
                list(
                    "Classes of statements that count as reads although they are not provably so; needs a reason.",
                    "a list of classes",
                    json!({ "enum": ["session_functions"] }),
                ),
            ),
            ("reason", text("Why.")),
            ("on_unsupported", on_unsupported()),
        ],
    )
}

pub(super) fn throttle() -> Value {
    let levels = [
        ("start_above", number("Starts above this value.")),
        ("stop_below", number("Stops below this value.")),
    ];
    let lag = [
        ("start_above", duration("Starts above this lag.")),
        ("stop_below", duration("Stops below this lag.")),
    ];
    let mut status = vec![("name", text("The status variable."))];
    status.extend(levels.clone());
    generated(
        "Slows statements.",
        &[
            (
                "applies_to",
                described("scope", "Whose statements it is about; all where not given."),
            ),
            (
                "signal",
                object(
                    "What starts and stops it; always on where not given.",
                    &[
                        (
                            "replication_lag",
                            object("The greatest lag of a cluster's replicas.", &lag),
                        ),
                        (
                            "threads_running",
                            object("`Threads_running` of the writer.", &levels),
                        ),
                        ("status", object("A status variable of the writer.", &status)),
                        (
                            "flow_control",
                            object("The share of time in Galera flow control, 0 to 1.", &levels),
                        ),
                    ],
                ),
            ),
            (
                "delay",
                json!({
                    "description": "How long a statement waits: a time, or a range that the signal regulates.",
                    "if": { "type": "object" },
                    "then": object("Regulated between both.", &[
                        ("from", duration("The least time.")),
                        ("to", duration("The greatest time.")),
                    ]),
                    "else": duration("Always so long."),
                }),
            ),
            (
                "max_concurrent",
                int("Most of these statements at once on one cluster.", 1, 1_000_000),
            ),
            ("hold", duration("Least time in a state before it changes.")),
            (
                "on_unknown",
                word(
                    "What happens while the signal is not known.",
                    &["hold", "release"],
                ),
            ),
            (
                "until",
                text("When it ends for good, such as `2027-01-10T06:00:00Z`; needs a `reason`."),
            ),
            ("reason", text("Why.")),
            ("on_unsupported", on_unsupported()),
        ],
    )
}
