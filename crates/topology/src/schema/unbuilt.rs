//! The shapes of sections that are read but not supported yet.

use serde_json::{Value, json};

use super::shapes::{EXPECTS, described, duration, generated, int, map, object, text, texts, word};

pub(super) fn engine_settings() -> Value {
    map(
        "Variables of engines.",
        json!({
            "description": "Variables of one engine.",
            "type": "object",
            EXPECTS: "a mapping of variables",
            "additionalProperties": {
                "description": "Its value.",
                "type": ["string", "integer", "number", "boolean"],
                EXPECTS: "a value",
            },
        }),
    )
}

pub(super) fn monitor() -> Value {
    object(
        "The account that watches servers.",
        &[
            ("user", text("Its name.")),
            ("password", described("secret", "Its password.")),
        ],
    )
}

pub(super) fn listeners() -> Value {
    map(
        "Ports that clients connect to.",
        generated(
            "A port.",
            &[
                ("port", int("The port.", 1, 65_535)),
                ("address", text("The address.")),
            ],
        ),
    )
}

pub(super) fn moves() -> Value {
    map(
        "Shards that move.",
        object(
            "A move.",
            &[
                ("from", text("The cluster that holds it.")),
                ("to", text("The cluster that will.")),
                ("max_fence", duration("How long writes may be fenced.")),
                (
                    "open_transactions",
                    object(
                        "What becomes of them.",
                        &[
                            ("wait", duration("How long they may go on.")),
                            ("then", word("What happens then.", &["kill", "abort"])),
                        ],
                    ),
                ),
                (
                    "ready",
                    object(
                        "What says that the copy is complete.",
                        &[
                            (
                                "command",
                                texts("A program with its arguments.", "a list of texts"),
                            ),
                            ("timeout", duration("How long it may take.")),
                        ],
                    ),
                ),
                ("reason", text("Why.")),
            ],
        ),
    )
}
