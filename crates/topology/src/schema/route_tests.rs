//! The shape of route tests.

use serde_json::{Value, json};

use super::version;
use crate::fields::shapes::{
    EXPECTS, duration, int, list, map, object, reference, text, text_or_list, texts, word, word_or,
};

pub(super) fn route_tests() -> Value {
    object(
        "Route tests of a shardwright project: where statements must go, checked without a server.",
        [
            ("version", version()),
            ("session", reference("session")),
            ("route_tests", map("Tests by name; a name is a sentence.", test())),
            (
                "properties",
                map(
                    "What must hold for all statements of a domain, by name; a name is a sentence.",
                    property(),
                ),
            ),
        ],
    )
}

/// The parts that several places share.
pub(super) fn definitions() -> [(&'static str, Value); 2] {
    [("session", session()), ("expect", expect())]
}

fn test() -> Value {
    object(
        "One statement with what must become of it, or a script of one session.",
        [
            ("for_each", reference("for_each")),
            ("session", reference("session")),
            (
                "engines",
                texts(
                    "Engines that the test is for; every one that the project lists when absent.",
                    "a list of engines",
                ),
            ),
            ("query", text("The statement that the session sends.")),
            ("expect", reference("expect")),
            (
                "script",
                list(
                    "Statements that one session sends, in this order.",
                    "a list of statements",
                    step(),
                ),
            ),
        ],
    )
}

fn property() -> Value {
    let expect = word_or(
        "What must hold of each statement; of pairs, `disjoint`: those of two shards never meet in one place.",
        &["disjoint"],
        expectations_of_all(),
    );
    object(
        "What must hold for every statement of a domain.",
        [
            ("for_each", reference("for_each")),
            (
                "engines",
                texts(
                    "Engines that the property is for; every one that the project lists when absent.",
                    "a list of engines",
                ),
            ),
            (
                "for_all",
                domain("Which statements it is about; every one that is absent is no limit."),
            ),
            (
                "for_all_pairs",
                domain("Statements of which pairs; the pairs are those of the shards of `map`."),
            ),
            ("expect", expect),
        ],
    )
}

fn domain(description: &str) -> Value {
    object(
        description,
        [
            ("users", text_or_list("Names of users who send the statements.")),
            (
                "schemas",
                text_or_list("Names of schemas that the sessions are in."),
            ),
            (
                "statements",
                text_or_list("Kinds of statements that it is about, such as insert."),
            ),
            ("map", text("The shard map that places the statements.")),
        ],
    )
}

/// What can be expected of all statements: not their texts.
fn expectations_of_all() -> Vec<(&'static str, Value)> {
    let of_one = ["query", "error", "answer", "rule"];
    let fields = expectations().into_iter();
    fields.filter(|(field, _)| !of_one.contains(field)).collect()
}

fn step() -> Value {
    object(
        "A statement of a script.",
        [
            ("query", text("The statement that the session sends.")),
            (
                "prepare",
                text(
                    "The name that the statement is prepared under (COM_STMT_PREPARE); absent where it is sent as text.",
                ),
            ),
            (
                "execute",
                text(
                    "In place of a statement: the name of one that a step before prepared (COM_STMT_EXECUTE).",
                ),
            ),
            (
                "values",
                list(
                    "The values of an execution's parameters. No engine routes by them; they are counted.",
                    "a list of values",
                    json!({
                        "type": ["string", "integer", "number", "boolean", "null"],
                        EXPECTS: "text, a number, true, false or null",
                    }),
                ),
            ),
            ("expect", reference("expect")),
            ("session", reference("session")),
            (
                "after",
                duration("Time since the statement before it; 0ms when absent."),
            ),
        ],
    )
}

fn session() -> Value {
    object(
        "Who sends the statement, and from where. What is absent is taken from the test around it, then from the file.",
        [
            (
                "user",
                text("The user who logged in; may be absent where there is one user."),
            ),
            ("schema", text("The session's schema; the user's when absent.")),
            ("client", text("The client's address, such as 10.0.0.7.")),
            (
                "listener",
                text("The listener that the session came in through, by name."),
            ),
        ],
    )
}

fn expect() -> Value {
    object(
        "What must become of the statement; everything that is written must hold.",
        expectations(),
    )
}

fn expectations() -> Vec<(&'static str, Value)> {
    vec![
        (
            "outcome",
            word("What happens to the statement.", &["route", "reject", "answer"]),
        ),
        ("cluster", text("The cluster that it is sent to.")),
        (
            "role",
            word(
                "The role of the servers that it is sent to.",
                &["writer", "reader"],
            ),
        ),
        (
            "shard",
            text_or_list(
                "The shard that places it, such as tenants/t017; where maps compose, all of a list.",
            ),
        ),
        (
            "hostgroup",
            int(
                "The number of the hostgroup that it is sent to.",
                0,
                2_147_483_647,
            ),
        ),
        ("query", text("The text that is sent.")),
        (
            "backend_schema",
            text("The schema that the server's session is in."),
        ),
        ("error", text("A part of the refusal's text, such as SW351.")),
        ("answer", text("The text that the proxy answers with.")),
        ("delay", duration("How long the statement is held back.")),
        (
            "rule",
            text(
                "The address of an object, one of whose rules matches: query_rules.legacy, shard_maps.tenants.",
            ),
        ),
        ("cache_ttl", duration("How long its answer is kept.")),
        ("mirror", text("The cluster that a copy is sent to.")),
        ("multiplex", multiplex()),
    ]
}

fn multiplex() -> Value {
    json!({
        "description": "Whether it may share a server connection, by a rule's say: 0 never, 1 always, 2 in spite of its variables.",
        "enum": [0, 1, 2],
        EXPECTS: "0, 1 or 2",
    })
}
