//! SW310: a shard map whose key is only in comments, which some clients remove.

use shardwright_diagnostics::Diagnostic;
use shardwright_topology::model::{Finder, ShardMap};

use crate::codes::ONLY_COMMENTS;
use crate::project::Opened;

/// A note for each map that is found only by comments.
pub(super) fn check(opened: &Opened) -> impl Iterator<Item = Diagnostic> {
    let maps = opened.project.topology.shard_maps.iter();
    maps.filter(|map| only_comments(map)).map(|map| {
        let origins = &opened.project.origins;
        Diagnostic::info(
            ONLY_COMMENTS,
            format!(
                "{} is found only in comments, which some clients remove",
                map.key.name
            ),
        )
        .at(origins.field(map.origin, "key_from"), "no other finder")
        .address(origins.address(map.origin))
        .help("start the mysql and mariadb clients with --comments, or add a schema or column finder")
    })
}

fn only_comments(map: &ShardMap) -> bool {
    map.key_from
        .iter()
        .all(|finder| matches!(finder, Finder::Comment { .. }))
}
