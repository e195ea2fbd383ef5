//! The shape of the project file.

use serde_json::{Value, json};

use super::version;
use crate::fields::shapes::{EXPECTS, count, described, duration, int, list, map, object, text, texts, word};

const ENGINES: [&str; 3] = ["bundled", "proxysql-2.7", "proxysql-3.0"];

pub(super) fn project() -> Value {
    object(
        "The project file of shardwright: engines, targets, ids, ownership.",
        [
            ("version", version()),
            (
                "project",
                text(
                    "The name of the project. A target remembers it, and another project's plan is refused.",
                ),
            ),
            (
                "engines",
                list(
                    "Engines that must be served rightly; every problem names those that cannot.",
                    "a list of engines",
                    engine(),
                ),
            ),
            ("ids", ids()),
            ("manage", manage()),
            (
                "unmanaged",
                word(
                    "What becomes of rows of a live system that are not ours.",
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
            ("lint", super::lint::lint()),
            (
                "environments",
                texts(
                    "Names of environments, each with its overlay `env/NAME.yaml`.",
                    "a list of names",
                ),
            ),
        ],
    )
}

fn ids() -> Value {
    object(
        "Numbers that may be used, such as 1000-2999.",
        [
            (
                "hostgroups",
                id_range("Numbers that hostgroups may have, both ends included."),
            ),
            (
                "rules",
                id_range("Numbers that query rules may have, both ends included."),
            ),
            (
                "flags",
                id_range("Numbers that flags may have, both ends included."),
            ),
        ],
    )
}

fn manage() -> Value {
    object(
        "What of a live system is ours; everything where not given. A part that is left out is what the project itself writes.",
        [
            (
                "query_rules",
                id_range("Numbers of the query rules that are ours, both ends included."),
            ),
            (
                "users",
                all_or_names("Names of users that are ours, globs allowed; or `all`."),
            ),
            (
                "clusters",
                all_or_names("Names of clusters that are ours, globs allowed; or `all`."),
            ),
        ],
    )
}

fn engine() -> Value {
    json!({
        "description": "An engine, or an engine with settings.",
        "if": { "type": "object" },
        "then": object("An engine with settings.", [
            ("engine", word("The name of the engine, with its version.", &ENGINES)),
            ("regex", word("The dialect of its regular expressions, as its variables set it.", &["pcre", "re2"])),
            ("iterations", int("Its variable `mysql-query_processor_iterations`; 0 is no limit.", 0, 1_000_000)),
        ]),
        "else": { "enum": ENGINES },
    })
}

fn target() -> Value {
    object(
        "A proxy.",
        [
            (
                "engine",
                word("The engine that it runs; one of `engines`.", &ENGINES),
            ),
            (
                "admin",
                text("The `host:port` of its admin interface, such as `127.0.0.1:6032`."),
            ),
            ("user", text("The name of the admin account.")),
            ("password", described("secret", "Its password.")),
            (
                "labels",
                labels("Labels by which waves select it, such as `{zone: a}`."),
            ),
        ],
    )
}

fn wave() -> Value {
    object(
        "Targets that are changed together.",
        [
            ("name", text("The name of the wave.")),
            (
                "select",
                labels("Labels that targets of the wave must have; all that are left where not given."),
            ),
            (
                "max",
                count("The most targets of the wave; no limit where not given."),
            ),
            ("parallel", count("The most targets that are changed at once.")),
            (
                "bake",
                duration("How long the wave is watched before the next one begins."),
            ),
        ],
    )
}

fn state() -> Value {
    object(
        "Where the state of runs is kept.",
        [
            ("dir", text("A directory for the state, relative to the project.")),
            ("mysql", text("A MySQL database for the state, by its address.")),
            ("etcd", text("A cluster of etcd for the state, by its address.")),
        ],
    )
}

fn safety() -> Value {
    object(
        "What an apply may not exceed without approval.",
        [
            (
                "deletes",
                object(
                    "How much an apply may delete.",
                    [("max", count("The most objects that one apply may delete."))],
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
            ("plan_expiry", duration("How long a saved plan may be applied.")),
            (
                "unreachable",
                word(
                    "What happens when a target cannot be reached: the apply fails, or leaves it out.",
                    &["fail", "skip"],
                ),
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
