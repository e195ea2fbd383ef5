//! The line of a plan about what it leaves as it is: rows and columns that no project can say, and rows that the monitor makes.

use std::collections::BTreeMap;

use shardwright_plan::{Hazard, Severity};
use shardwright_rules::left_columns;
use shardwright_rules::tables::{FAST_ROUTING, QUERY_RULES, SERVERS, USERS};

use super::alike::{alike, is_default, is_unsaid};
use super::hazards::{codes, hazard};
use super::live::Live;
use super::row::{RowName, TableName};
use super::wanted::Wanted;

/// Names that are shown of rows that stay.
const FEW: usize = 3;

/// What stays as it is because no project can say it, or the monitor makes it (`monitored`), in one line; `None`: there is
/// nothing.
pub(super) fn left_alone(live: &Live, wanted: &Wanted, monitored: &[RowName]) -> Option<Hazard> {
    let beyond = live.beyond();
    let mut rows: BTreeMap<TableName, Vec<String>> = BTreeMap::new();
    let mut columns: BTreeMap<(TableName, &str), Vec<String>> = BTreeMap::new();
    for (name, found) in live.rows().filter(|(_, found)| found.is_ours) {
        let Some(wish) = wanted.rows.get(name) else {
            if beyond.row(name, &found.row) {
                rows.entry(name.table).or_default().push(short(name));
            }
            continue;
        };
        let table = name.table.definition();
        let left = left_columns(table);
        for column in table.columns {
            let is_left = left.contains(&column.name) && !is_default(column, &found.row);
            let is_unsaid = || {
                let (live, wanted) = (&found.row, &wish.row);
                is_unsaid(table, column, live, wanted) && !alike(table, column, live, wanted)
            };
            if is_left || is_unsaid() {
                columns
                    .entry((name.table, column.name))
                    .or_default()
                    .push(short(name));
            }
        }
    }
    if rows.is_empty() && columns.is_empty() && monitored.is_empty() {
        return None;
    }
    let of_rows = rows
        .into_iter()
        .map(|(table, names)| format!("{} ({})", counted(table, names.len()), few(&names)));
    let of_columns = columns.into_iter().map(|((table, column), names)| {
        format!("{column} of {} ({})", counted(table, names.len()), few(&names))
    });
    let of_monitor = (!monitored.is_empty()).then(|| {
        let names: Vec<String> = monitored.iter().map(short).collect();
        let servers = counted(TableName::of(&SERVERS), names.len());
        format!("{servers} that the monitor adds or moves ({})", few(&names))
    });
    let said: Vec<String> = of_rows.chain(of_columns).chain(of_monitor).collect();
    let message = format!("left as they are: {}", said.join(", "));
    Some(hazard(codes::LEFT_ALONE, Severity::Info, None, message))
}

/// `2 users`
fn counted(table: TableName, count: usize) -> String {
    let definition = table.definition();
    let nouns = if *definition == SERVERS {
        ["server", "servers"]
    } else if *definition == USERS {
        ["user", "users"]
    } else if *definition == QUERY_RULES {
        ["query rule", "query rules"]
    } else if *definition == FAST_ROUTING {
        ["row of fast routing", "rows of fast routing"]
    } else if count == 1 {
        return format!("1 row of {table}");
    } else {
        return format!("{count} rows of {table}");
    };
    format!("{count} {}", nouns[usize::from(count != 1)])
}

/// A row of a table that is known.
fn short(name: &RowName) -> String {
    let part = |at: usize| name.key.get(at).map(ToString::to_string).unwrap_or_default();
    if name.is_in(&SERVERS) {
        let address = match part(2).as_str() {
            "0" => part(1),
            port => format!("{}:{port}", part(1)),
        };
        return format!("{address} in hostgroup {}", part(0));
    }
    if name.is_in(&USERS) {
        return part(0);
    }
    let parts: Vec<String> = name.key.iter().map(ToString::to_string).collect();
    parts.join("/")
}

fn few(names: &[String]) -> String {
    let mut shown = names.iter().take(FEW).cloned().collect::<Vec<_>>().join(", ");
    if names.len() > FEW {
        shown.push_str(&format!(" and {} more", names.len() - FEW));
    }
    shown
}
