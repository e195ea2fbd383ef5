//! The shapes of listeners, the monitor, engine variables and moves.

use serde_json::{Value, json};

use super::shapes::{EXPECTS, described, duration, generated, int, map, object, text, texts, word, word_or};

pub(super) fn engine_settings() -> Value {
    let variables = json!({
        "description": "Variables of the engine by name, such as `mysql-threads: 8`.",
        "type": "object",
        EXPECTS: "a mapping of variables",
        "additionalProperties": {
            "description": "Its value.",
            "type": ["string", "integer", "boolean"],
            EXPECTS: "text, an integer, true or false",
        },
    });
    let mut proxysql = variables.clone();
    proxysql["properties"] = json!({ "refuser": refuser() });
    json!({
        "description": "Variables of the engines themselves, by the name of the engine.",
        "type": "object",
        EXPECTS: "a mapping of engines",
        "properties": { "proxysql": proxysql, "bundled": variables.clone() },
        "additionalProperties": variables,
    })
}

fn refuser() -> Value {
    word_or(
        "Who refuses executions of prepared statements, because ProxySQL 2.7 ends when a rule answers one with an error: \
         its own admin port (`admin`), which does not tell the client why, or `shardwright refuse`, which does.",
        &["admin"],
        [
            ("host", text("Where ProxySQL reaches `shardwright refuse`.")),
            (
                "port",
                int(
                    "The TCP port of the first reason; each further reason has the next.",
                    1,
                    65_535,
                ),
            ),
        ],
    )
}

pub(super) fn monitor() -> Value {
    object(
        "The account with which engines watch servers. It needs no more than to log in, and to read replication status.",
        [
            ("user", text("Its name on the servers.")),
            ("password", described("secret", "Its password.")),
        ],
    )
}

pub(super) fn listeners() -> Value {
    map(
        "Ports that clients connect to, by the name that a `match` uses.",
        generated(
            "A port that clients connect to.",
            [
                (
                    "port",
                    int("TCP port; each listener has one of its own.", 1, 65_535),
                ),
                (
                    "address",
                    text("The address to bind; 0.0.0.0, which is all of IPv4, where not given."),
                ),
            ],
        ),
    )
}

pub(super) fn moves() -> Value {
    map(
        "Shards that move from one cluster to another, by MAP/SHARD.",
        object(
            "A shard that moves.",
            [
                ("from", text("The cluster that holds it now.")),
                ("to", text("The cluster that will hold it.")),
                (
                    "max_fence",
                    duration(
                        "How long writes of its keys may be fenced before the move is given up; 10s where not given.",
                    ),
                ),
                (
                    "open_transactions",
                    object(
                        "What becomes of transactions that are open when the fence goes up.",
                        [
                            (
                                "wait",
                                duration(
                                    "How long they may go on; 5s where not given. Less than `max_fence`.",
                                ),
                            ),
                            (
                                "then",
                                word(
                                    "What happens to those that are still open: the move is given up (`abort`; where not \
                                     given), or they are ended (`kill`).",
                                    &["kill", "abort"],
                                ),
                            ),
                        ],
                    ),
                ),
                (
                    "ready",
                    object(
                        "What says that the copy is complete.",
                        [
                            (
                                "command",
                                texts(
                                    "A program with its arguments, which exits with 0 when it is; no shell is involved.",
                                    "a list of texts",
                                ),
                            ),
                            ("timeout", duration("How long it may take; 60s where not given.")),
                        ],
                    ),
                ),
                ("reason", text("Why, such as a change number.")),
            ],
        ),
    )
}
