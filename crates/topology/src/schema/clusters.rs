//! The shapes of clusters, servers, users and secrets.

use serde_json::{Value, json};

use super::id;
use super::shapes::{
    EXPECTS, count, described, duration, generated, map, object, reference, text, texts, word,
};

pub(super) fn cluster() -> Value {
    generated(
        "Servers that hold the same data.",
        &[
            (
                "type",
                word(
                    "How its servers relate.",
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
            ("servers", map("Its servers.", reference("server"))),
            (
                "hostgroups",
                object(
                    "Hostgroup numbers that must be kept.",
                    &[
                        ("writer", id("The hostgroup of writers.")),
                        ("reader", id("The hostgroup of readers.")),
                        ("backup_writer", id("The hostgroup of servers that could write.")),
                        ("offline", id("The hostgroup of servers that are out.")),
                    ],
                ),
            ),
            (
                "writers",
                count("How many servers write at once (galera, group_replication)."),
            ),
            (
                "writer_preference",
                texts("Servers, the most wanted writer first.", "a list of servers"),
            ),
            (
                "writer_serves_reads",
                word("What readers fall back to.", &["never", "last_resort", "always"]),
            ),
            (
                "failback",
                word(
                    "Whether a better writer that came back takes over.",
                    &["manual", "automatic"],
                ),
            ),
            (
                "max_transactions_behind",
                count("How far behind a server may be (galera, group_replication)."),
            ),
            (
                "roles_by",
                word("Who moves servers between roles.", &["engine", "external"]),
            ),
            (
                "tls",
                word(
                    "Encryption towards its servers.",
                    &["disabled", "preferred", "required", "verify"],
                ),
            ),
        ],
    )
}

pub(super) fn server() -> Value {
    generated(
        "A database server.",
        &[
            ("host", text("Host name or address.")),
            ("port", super::int("TCP port; 3306 where not given.", 1, 65_535)),
            (
                "weight",
                count("Share of connections among writers; 1 where not given."),
            ),
            (
                "read_weight",
                count("Share of reads among readers; `weight` where not given."),
            ),
            ("max_connections", count("Most connections of one proxy.")),
            (
                "max_replication_lag",
                duration("Replicas further behind take no reads."),
            ),
            (
                "state",
                word("Whether it takes traffic.", &["online", "draining", "offline"]),
            ),
            ("until", text("Until when the state is meant (RFC 3339).")),
            ("reason", text("Why it is in that state.")),
        ],
    )
}

pub(super) fn user() -> Value {
    generated(
        "An account that clients log in with.",
        &[
            ("password", described("secret", "Its password.")),
            ("cluster", text("Where statements go that nothing else places.")),
            ("schema", text("The schema of sessions that name none.")),
            ("max_connections", count("Most sessions of one proxy.")),
            (
                "transaction_persistent",
                super::shapes::boolean(
                    "Whether statements of a transaction stay where it began; true where not given.",
                ),
            ),
            (
                "annotations",
                word(
                    "Whether engine annotations in comments are obeyed.",
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
    let previous = reference_or_literal("The old secret that stays valid.", &fields);
    fields.push(("previous", previous));
    let description = "A reference to a secret: `{env: NAME}`, `{file: PATH}` or `{command: [PROGRAM, …]}`.";
    reference_or_literal(description, &fields)
}

fn reference_or_literal(description: &str, fields: &[(&str, Value)]) -> Value {
    json!({
        "description": description,
        "if": { "type": "object" },
        "then": object("A reference to a secret.", fields),
        "else": { "type": "string", EXPECTS: "a reference such as {env: APP_PASSWORD}" },
    })
}
