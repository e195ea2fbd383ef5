//! Fields whose effect is not in what is compiled, each with the place where it is.

const NOTE: &str = "a note for people: plans, hazards and `validate --show` print it";
const COSTS: &str = "it decides how rules are laid out, and small maps have one layout";

/// Why a change of a field of the topology may change nothing that is compiled.
pub(super) fn reason_of_topology(path: &str, change: &str) -> Option<&'static str> {
    let reason = match path {
        "clusters.*.type" if change.ends_with("from \"single\" to \"hostgroup\"") => {
            "one server alone is the same in both types"
        }
        "variables.*.description" => "a note for people who write environments",
        path if path.ends_with(".reason") => NOTE,
        "shard_maps.*.rule_layout" | "shard_maps.*.count_hits_by" => COSTS,
        path if path.ends_with(".on_unsupported") => {
            "it speaks where an engine cannot do the rest of the object"
        }
        "$secret.previous"
        | "$secret.previous.env"
        | "$secret.previous.file"
        | "$secret.previous.command[]" => {
            "the bundled proxy accepts it beside the new password; ProxySQL has one password for a user"
        }
        "$server.weight" => {
            "a share among writers: one writer has none, and ProxySQL ranks a group by one weight (SW322)"
        }
        "shard_maps.*.conflict" => {
            "one finder agrees with itself, and one of several forms of a comment is left on ProxySQL"
        }
        path if path.starts_with("shard_maps.*.missing_key.") && change.contains("/regions/") => {
            "with `otherwise`, statements without a key are the other map's"
        }
        path if path.starts_with("shard_maps.*.tables.") => {
            "ProxySQL cannot ask what is a view; any entry says that this is known, and ends the finding (SW322)"
        }
        "throttles.*.hold" | "throttles.*.on_unknown" => {
            "parts of a signal, whose loss is reported at the signal (SW321)"
        }
        "engine_settings.proxysql.*" => "variables of one engine are none of another",
        path if path.starts_with("moves.") => {
            "plans list moves, and nothing else has them: a warning at each (SW341)"
        }
        "$server.server_max_connections" => "it is compared with the connections of all proxies (SW704)",
        _ => "",
    };
    (!reason.is_empty()).then_some(reason)
}

/// The parts of the project file that are not compiled, and who reads them.
const OF_PROJECT: [(&str, &str); 11] = [
    ("$secret", "targets and the state find their passwords by it"),
    ("$for_each", "it makes the targets"),
    ("project", "the mark of an apply, and the base of a plan"),
    (
        "manage",
        "the rows that plans and scripts write: crates/cli/src/ownership.rs",
    ),
    (
        "unmanaged",
        "what becomes of rows of others: crates/cli/src/ownership.rs",
    ),
    (
        "targets",
        "who is asked, and by which account: crates/cli/src/targets",
    ),
    ("state", "where runs are kept"),
    ("safety", "the limits of plans: crates/plan/src/safety.rs"),
    ("switchover", "the command of that name"),
    ("lint", "the command of that name, and the rules of the project"),
    ("environments", "the names that -e takes"),
];

pub(super) fn reason_of_project(path: &str) -> Option<&'static str> {
    if path == "engines[]" {
        return Some("the short form of `engines[].engine`");
    }
    let first = path.split(['.', '[']).next()?;
    let found = OF_PROJECT.iter().find(|(part, _)| *part == first);
    found.map(|(_, reason)| *reason)
}
