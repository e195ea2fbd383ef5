//! The shape of `lint` in the project file.

use serde_json::{Value, json};

use crate::fields::shapes::{EXPECTS, boolean, list, map, object, text, text_or_list, texts, word};
use crate::model::TeamItems;

pub(super) fn lint() -> Value {
    object(
        "Which findings of the linter count, and the team's own rules.",
        [
            (
                "select",
                texts(
                    "Codes that count, or beginnings of codes such as `SW2`; all where not given.",
                    "a list of codes",
                ),
            ),
            (
                "ignore",
                texts(
                    "Codes, or beginnings of codes, that do not count.",
                    "a list of codes",
                ),
            ),
            (
                "require_reason",
                boolean("Whether a suppression needs a reason; true where not given."),
            ),
            ("severity", severities()),
            (
                "paths",
                list(
                    "What differs for some files; the last that fits counts.",
                    "a list of paths",
                    path(),
                ),
            ),
            (
                "rules",
                map(
                    "Rules of the team about compiled configurations, by name.",
                    rule(),
                ),
            ),
        ],
    )
}

fn severities() -> Value {
    map(
        "How grave findings are, by code or its beginning; the longest beginning counts.",
        severity("How grave these findings are."),
    )
}

fn severity(description: &str) -> Value {
    word(description, &["error", "warning", "info"])
}

fn path() -> Value {
    object(
        "What differs for the files of a path.",
        [
            (
                "path",
                text("Paths below the project's directory; `*` stands for any characters."),
            ),
            (
                "select",
                texts(
                    "Codes that count here, in place of the project's.",
                    "a list of codes",
                ),
            ),
            (
                "ignore",
                texts(
                    "Codes that do not count here, beside the project's.",
                    "a list of codes",
                ),
            ),
            ("severity", severities()),
        ],
    )
}

fn rule() -> Value {
    let words = TeamItems::ALL.map(|(word, _)| word);
    object(
        "A rule about things of a compiled configuration.",
        [
            ("for", word("What the rule is about, one by one.", &words)),
            (
                "where",
                conditions("Which of them: all that satisfy these conditions."),
            ),
            (
                "require",
                conditions("Conditions that those must satisfy, every one."),
            ),
            ("message", text("What is said of one that does not.")),
            ("help", text("What to do about it, for people.")),
            ("severity", severity("How grave it is; a warning when absent.")),
            (
                "tests",
                list(
                    "Items with what the rule says of them.",
                    "a list of tests",
                    test(),
                ),
            ),
        ],
    )
}

fn conditions(description: &str) -> Value {
    let scalar = ["string", "integer", "boolean"];
    json!({
        "description": description,
        "type": "object",
        EXPECTS: "fields with values, lists of values, or {not: VALUE} and its kin",
        "additionalProperties": {
            "description": "A value, a list of values, or tests.",
            "if": { "type": "object" },
            "then": object(
                "Tests that must all hold of the field.",
                [
                    ("is", values("The field is one of these values.")),
                    ("not", values("The field is none of these values.")),
                    ("like", text_or_list("Globs, one of which the text must fit.")),
                    ("at_least", json!({ "description": "The least number that it may be.", "type": "integer", EXPECTS: "an integer" })),
                    ("at_most", json!({ "description": "The greatest number that it may be.", "type": "integer", EXPECTS: "an integer" })),
                    ("present", boolean("Whether the field must have a value.")),
                ],
            ),
            "else": {
                "type": ["string", "integer", "boolean", "array"],
                EXPECTS: "a value, a list of values, or {not: VALUE} and its kin",
                "items": { "type": scalar, EXPECTS: "a value" },
            },
        },
    })
}

fn values(description: &str) -> Value {
    json!({
        "description": description,
        "type": ["string", "integer", "boolean", "array"],
        EXPECTS: "a value or a list of values",
        "items": { "type": ["string", "integer", "boolean"], EXPECTS: "a value" },
    })
}

fn test() -> Value {
    object(
        "An item with what the rule says of it.",
        [
            (
                "item",
                json!({
                    "description": "Fields of the item; those that are absent have no value.",
                    "type": "object",
                    EXPECTS: "fields with values",
                    "additionalProperties": { "type": ["string", "integer", "boolean"], EXPECTS: "a value" },
                }),
            ),
            ("passes", boolean("Whether the rule says nothing of it.")),
        ],
    )
}
