//! The shapes of clusters, servers, users and secrets.

use serde_json::{Value, json};

use super::id;
use super::shapes::{
    EXPECTS, count, described, duration, generated, map, mapping, object, reference, text, texts, word,
};

pub(super) fn cluster() -> Value {
    generated(
        "Servers that hold the same data.",
        [
            (
                "type",
                word(
                    "How its servers relate: one server, a writer with replicas, or a group that certifies writes.",
                    &["single", "replication", "galera", "group_replication"],
                ),
            ),
            (
                "read_only_check",
                word(
                    "Replication: which flag of a server makes it a replica.",
                    &["read_only", "super_read_only", "innodb_read_only"],
                ),
            ),
            (
                "servers",
                map(
                    "Its servers by name; each has an address to patch, protect and drain.",
                    reference("server"),
                ),
            ),
            (
                "hostgroups",
                object(
                    "Hostgroup numbers that must be kept.",
                    [
                        (
                            "writer",
                            id("The number of the hostgroup that holds the writers."),
                        ),
                        (
                            "reader",
                            id("The number of the hostgroup that holds the readers."),
                        ),
                        (
                            "backup_writer",
                            id(
                                "The number of the hostgroup of servers that could write (galera, group_replication).",
                            ),
                        ),
                        (
                            "offline",
                            id(
                                "The number of the hostgroup of servers that are out (galera, group_replication).",
                            ),
                        ),
                    ],
                ),
            ),
            (
                "writers",
                super::int(
                    "How many servers write at once (galera, group_replication); 1 where not given.",
                    1,
                    4_294_967_295,
                ),
            ),
            (
                "writer_preference",
                texts(
                    "Servers, the most wanted writer first; those not named follow in the order in which they are \
                     written. Separate from `read_weight`.",
                    "a list of servers",
                ),
            ),
            (
                "writer_serves_reads",
                word(
                    "Whether the writer answers reads: `never`, `last_resort` (when no reader is left; where not given) \
                     or `always` (with its `read_weight`).",
                    &["never", "last_resort", "always"],
                ),
            ),
            (
                "failback",
                word(
                    "Whether a more wanted writer that came back takes over: `manual` (only when asked; where not given) \
                     or `automatic`.",
                    &["manual", "automatic"],
                ),
            ),
            (
                "max_transactions_behind",
                count(
                    "How many transactions a server may be behind before it is taken out (galera, group_replication); \
                     100 for galera and no limit for group_replication where not given.",
                ),
            ),
            (
                "roles_by",
                word(
                    "Who moves servers between roles: the engine's monitor (`engine`; where not given) or something \
                     outside, such as a scheduler (`external`).",
                    &["engine", "external"],
                ),
            ),
            (
                "tls",
                word(
                    "Encryption towards its servers: `disabled` (where not given), `preferred` (where the server offers \
                     it), `required`, or `verify` (with a certificate that is checked).",
                    &["disabled", "preferred", "required", "verify"],
                ),
            ),
        ],
    )
}

pub(super) fn server() -> Value {
    generated(
        "A database server.",
        [
            ("host", text("The host name or the address of the server.")),
            ("port", super::int("TCP port; 3306 where not given.", 1, 65_535)),
            (
                "weight",
                weight("Share of writes among several writers; 1 where not given. Only their ratio counts."),
            ),
            (
                "read_weight",
                weight(
                    "Share of reads among readers; `weight` where not given. Only their ratio counts: 1 and 100 are \
                     one read in 101 and a hundred in 101. Who writes is up to `writer_preference`.",
                ),
            ),
            (
                "max_connections",
                count("Most connections that one proxy opens to it, per hostgroup; 1000 where not given."),
            ),
            (
                "server_max_connections",
                count(
                    "The server's own `max_connections`. Where it is given, what all proxies together may open to it is \
                     compared with it.",
                ),
            ),
            (
                "max_replication_lag",
                duration(
                    "A replica further behind than this takes no reads, such as `5s`. Type replication only; no limit \
                     where not given.",
                ),
            ),
            (
                "state",
                word(
                    "Whether it takes traffic: `online` (where not given), `draining` (what runs may end, nothing new \
                     starts), `offline` (nothing).",
                    &["online", "draining", "offline"],
                ),
            ),
            (
                "until",
                text(
                    "Until when the state is meant, such as `2027-01-10T06:00:00Z` (RFC 3339); past it, a finding.",
                ),
            ),
            (
                "reason",
                text("Why it is in that state, such as a change number."),
            ),
        ],
    )
}

fn weight(description: &str) -> Value {
    super::int(description, 0, 10_000_000)
}

pub(super) fn user() -> Value {
    generated(
        "An account that clients log in with.",
        [
            ("password", described("secret", "Its password.")),
            ("cluster", text("Where statements go that nothing else places.")),
            (
                "role",
                word(
                    "Which servers of that cluster: its writer (where not given), or its readers, for accounts that \
                     only read.",
                    &["writer", "reader"],
                ),
            ),
            ("schema", text("The schema of sessions that name none.")),
            (
                "max_connections",
                count("Most sessions of one proxy; 10000 where not given."),
            ),
            (
                "transaction_persistent",
                super::shapes::boolean(
                    "Whether statements of a transaction stay where it began; true where not given.",
                ),
            ),
            (
                "annotations",
                word(
                    "Whether engine annotations in comments, such as `/* hostgroup=5 */`, are obeyed; `deny` where not \
                     given.",
                    &["deny", "allow"],
                ),
            ),
        ],
    )
}

/// A reference to a secret, or the secret itself, which is a finding.
pub(super) fn secret() -> Value {
    let mut fields = vec![
        ("env", text("The environment variable that holds it.")),
        (
            "file",
            text("The file whose first line holds it, relative to the project."),
        ),
        (
            "command",
            texts(
                "The program that prints it, with its arguments; no shell is involved.",
                "a list of texts",
            ),
        ),
    ];
    let previous = reference_or_literal("The old secret that stays valid.", fields.clone());
    fields.push(("previous", previous));
    let description = "A reference to a secret: `{env: NAME}`, `{file: PATH}` or `{command: [PROGRAM, …]}`.";
    reference_or_literal(description, fields)
}

fn reference_or_literal(description: &str, fields: Vec<(&'static str, Value)>) -> Value {
    mapping([
        ("description", description.into()),
        ("if", json!({ "type": "object" })),
        ("then", object("A reference to a secret.", fields)),
        (
            "else",
            json!({ "type": "string", EXPECTS: "a reference such as {env: APP_PASSWORD}" }),
        ),
    ])
}
