//! The shape of the project file.

use serde_json::{Value, json};

use super::shapes::{
    EXPECTS, boolean, count, described, duration, int, list, map, object, text, texts, word,
};
use super::version;

const ENGINES: [&str; 2] = ["bundled", "proxysql-2.7"];

pub(super) fn project() -> Value {
    object(
        "The project file of shardwright: engines, targets, ids, ownership.",
        &[
            ("version", version()),
            (
                "engines",
                list(
                    "Engines that must be served rightly.",
                    "a list of engines",
                    engine(),
                ),
            ),
            ("ids", ids()),
            ("manage", manage()),
            (
                "unmanaged",
                word(
                    "What becomes of rows that are not ours.",
                    &["keep", "report", "delete"],
                ),
            ),
            (
                "targets",
                map("Proxies that configurations are applied to.", target()),
            ),
            (
                "waves",
                list(
                    "The order in which targets are changed.",
                    "a list of waves",
                    wave(),
                ),
            ),
            (
                "gates",
                map(
                    "Measures that may not exceed a limit between waves.",
                    json!({
                        "description": "The limit: a number, or a percentage such as 0.2%.",
                        "type": ["number", "string"],
                        EXPECTS: "a number, or a percentage such as 0.2%",
                    }),
                ),
            ),
            ("state", state()),
            ("safety", safety()),
            ("lint", lint()),
            ("environments", texts("Names of environments.", "a list of names")),
        ],
    )
}

fn ids() -> Value {
    object(
        "Numbers that may be used, such as 1000-2999.",
        &[
            ("hostgroups", id_range("Hostgroups.")),
            ("rules", id_range("Query rules.")),
            ("flags", id_range("Flags.")),
        ],
    )
}

fn manage() -> Value {
    object(
        "What of a live system is ours; everything where not given.",
        &[
            ("query_rules", id_range("Numbers of query rules.")),
            ("users", all_or_names("Names of users; globs are allowed.")),
            ("clusters", all_or_names("Names of clusters; globs are allowed.")),
        ],
    )
}

fn lint() -> Value {
    object(
        "Which findings count.",
        &[
            (
                "select",
                texts("Codes, or beginnings of codes.", "a list of codes"),
            ),
            (
                "ignore",
                texts(
                    "Codes, or beginnings of codes, that do not count.",
                    "a list of codes",
                ),
            ),
            ("require_reason", boolean("Whether a suppression needs a reason.")),
        ],
    )
}

fn engine() -> Value {
    json!({
        "description": "An engine, or an engine with settings.",
        "if": { "type": "object" },
        "then": object("An engine with settings.", &[
            ("engine", word("The engine.", &ENGINES)),
            ("regex", word("The dialect of its regular expressions.", &["pcre", "re2"])),
            ("iterations", int("Its query_processor_iterations.", 0, 1_000_000)),
        ]),
        "else": { "enum": ENGINES },
    })
}

fn target() -> Value {
    object(
        "A proxy.",
        &[
            ("engine", word("What it runs.", &ENGINES)),
            ("admin", text("host:port of its admin interface.")),
            ("user", text("The admin account.")),
            ("password", described("secret", "Its password.")),
            ("labels", labels("What waves select by.")),
        ],
    )
}

fn wave() -> Value {
    object(
        "Targets that are changed together.",
        &[
            ("name", text("Its name.")),
            ("select", labels("Labels that targets must have.")),
            ("max", count("Most targets of the wave.")),
            ("parallel", count("Most targets at once.")),
            ("bake", duration("Time to watch before the next wave.")),
        ],
    )
}

fn state() -> Value {
    object(
        "Where the state of runs is kept.",
        &[
            ("dir", text("A directory, relative to the project.")),
            ("mysql", text("A database.")),
            ("etcd", text("A cluster of etcd.")),
        ],
    )
}

fn safety() -> Value {
    object(
        "Limits of an apply.",
        &[
            (
                "deletes",
                object(
                    "Deletions.",
                    &[("max", count("Most objects that one apply deletes."))],
                ),
            ),
            (
                "traffic_moved",
                json!({
                    "description": "Largest share of traffic that one apply moves, such as 2%.",
                    "type": "string",
                    "pattern": r"^[0-9]+(\.[0-9]+)?%$",
                    EXPECTS: "a percentage such as 2%",
                }),
            ),
            (
                "protect",
                texts(
                    "Addresses that need approval; globs are allowed.",
                    "a list of addresses",
                ),
            ),
            ("plan_expiry", duration("How long a plan may be applied.")),
            (
                "unreachable",
                word("What happens when a target cannot be reached.", &["fail", "skip"]),
            ),
        ],
    )
}

fn id_range(description: &str) -> Value {
    json!({
        "description": description,
        "type": "string",
        "pattern": "^[0-9]+-[0-9]+$",
        EXPECTS: "a range such as 1000-2999",
    })
}

fn all_or_names(description: &str) -> Value {
    json!({
        "description": description,
        "if": { "type": "array" },
        "then": { "items": { "type": "string", EXPECTS: "a name" } },
        "else": { "enum": ["all"] },
    })
}

fn labels(description: &str) -> Value {
    map(
        description,
        json!({
            "description": "Its value.",
            "type": ["string", "integer"],
            EXPECTS: "text or an integer",
        }),
    )
}
