//! The shapes of read/write policies and throttles.

use serde_json::{Value, json};

use super::int;
use super::shapes::{EXPECTS, described, duration, generated, list, number, object, reference, text, word};

pub(super) fn on_unsupported() -> Value {
    word(
        "What to do for a listed engine that cannot do this: an error, the nearest thing it can, or nothing.",
        &["error", "approximate", "skip"],
    )
}

pub(super) fn read_write_policy() -> Value {
    let matches = |description: &str| list(description, "a list of matches", reference("scope"));
    generated(
        "Which statements may leave the writer: only what is provably a read ever does.",
        [
            (
                "applies_to",
                described("scope", "Whose statements it is about; all where not given."),
            ),
            (
                "reads",
                object(
                    "Which reads go to readers: one of `all`, `only`, `except`.",
                    [
                        (
                            "all",
                            json!({ "description": "Every statement that is provably a read.", "const": true, EXPECTS: "true" }),
                        ),
                        ("only", matches("Reads that any of these match.")),
                        ("except", matches("Reads that none of these match.")),
                    ],
                ),
            ),
            (
                "writer_hint",
                object(
                    "What a client writes to keep a statement on the writer.",
                    [(
                        "comment",
                        object(
                            "A comment such as `/* primary */`.",
                            [("name", text("The word in the comment; a bare word means word=1."))],
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
                word(
                    "What a session may see: `causal` reads its own writes on readers too (bundled).",
                    &["eventual", "causal"],
                ),
            ),
            (
                "allow_on_readers",
                list(
                    "Classes of statements that count as reads although they are not provably so; needs a reason.",
                    "a list of classes",
                    json!({ "enum": ["session_functions"] }),
                ),
            ),
            ("reason", text("Why it is so, such as the number of a change.")),
            ("on_unsupported", on_unsupported()),
        ],
    )
}

pub(super) fn throttle() -> Value {
    let levels = [
        ("start_above", number("It starts when the value is above this.")),
        (
            "stop_below",
            number("It stops when the value is below this; lower than `start_above`."),
        ),
    ];
    let lag = [
        ("start_above", duration("It starts when the lag is above this.")),
        (
            "stop_below",
            duration("It stops when the lag is below this; lower than `start_above`."),
        ),
    ];
    let mut status = vec![(
        "name",
        text("The name of the status variable, such as `Innodb_row_lock_current_waits`."),
    )];
    status.extend(levels.clone());
    generated(
        "Slows statements.",
        [
            (
                "applies_to",
                described("scope", "Whose statements it is about; all where not given."),
            ),
            (
                "signal",
                object(
                    "What starts and stops it; always on where not given.",
                    [
                        (
                            "replication_lag",
                            object("The greatest lag of a cluster's replicas.", lag),
                        ),
                        (
                            "threads_running",
                            object(
                                "The status variable `Threads_running` of the writer.",
                                levels.clone(),
                            ),
                        ),
                        ("status", object("A status variable of the writer.", status)),
                        (
                            "flow_control",
                            object("The share of time in Galera flow control, 0 to 1.", levels),
                        ),
                    ],
                ),
            ),
            (
                "delay",
                json!({
                    "description": "How long a statement waits: a time, or a range that the signal regulates.",
                    "if": { "type": "object" },
                    "then": object("Regulated between both.", [
                        ("from", duration("The delay when the signal starts.")),
                        ("to", duration("The greatest delay, which the signal may rise to.")),
                    ]),
                    "else": duration("How long each statement waits."),
                }),
            ),
            (
                "max_concurrent",
                int("Most of these statements at once on one cluster.", 1, 1_000_000),
            ),
            ("hold", duration("How long it stays started or stopped at least.")),
            (
                "on_unknown",
                word(
                    "What happens while the signal is not known: it stays as it is, or statements pass.",
                    &["hold", "release"],
                ),
            ),
            (
                "until",
                text("When it ends for good, such as `2027-01-10T06:00:00Z`; needs a `reason`."),
            ),
            ("reason", text("Why it is so, such as the number of a change.")),
            ("on_unsupported", on_unsupported()),
        ],
    )
}
