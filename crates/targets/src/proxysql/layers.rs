//! Two layers of a module compared by ProxySQL itself: only rows that one of them does not hold exactly so are read.
//!
//! `EXCEPT` compares values with their types. Columns have the same affinity in every layer, so a number and a text that
//! looks like it are as different there as `quote` writes them. All tables of a module are asked for in one statement: a
//! statement that names a runtime table has it written anew first, with every row, and two statements could see two states.

use std::collections::BTreeMap;

use mysql::Value as Wire;
use shardwright_rules::tables::{
    GALERA_HOSTGROUPS, GLOBAL_VARIABLES, GROUP_REPLICATION_HOSTGROUPS, QUERY_RULES, REPLICATION_HOSTGROUPS,
    Table, USERS,
};

use super::module::Module;
use super::row::{Row, RowName, TableName};
use super::session::{AdminSession, Layer, SessionError, literals, read};
use crate::admin::quoted;

/// The tables that join hostgroups. Which of their rows are loaded depends on the others, so all of them are read.
pub(super) const JOINS: [&Table; 3] = [
    &REPLICATION_HOSTGROUPS,
    &GALERA_HOSTGROUPS,
    &GROUP_REPLICATION_HOSTGROUPS,
];

pub(super) type Rows = BTreeMap<RowName, Row>;

/// The rows of a table that memory holds and a layer does not hold exactly so, and the other way round.
#[derive(Debug)]
pub(super) struct Unlike {
    pub(super) table: TableName,
    pub(super) memory: Rows,
    pub(super) other: Rows,
}

/// What is not exactly the same in memory and in another layer of a module, table by table.
pub(super) fn unlike(
    session: &mut AdminSession,
    module: Module,
    other: Layer,
) -> Result<Vec<Unlike>, SessionError> {
    let mut tables = module.tables();
    if module.variables().is_some() {
        tables.push(TableName::of(&GLOBAL_VARIABLES));
    }
    let mut found: Vec<Unlike> = tables
        .iter()
        .map(|table| Unlike {
            table: *table,
            memory: Rows::new(),
            other: Rows::new(),
        })
        .collect();
    for values in session.values(&question(&tables, module, other))? {
        let [Wire::Bytes(table), Wire::Bytes(side), values @ ..] = values.as_slice() else {
            continue;
        };
        let number = std::str::from_utf8(table)
            .ok()
            .and_then(|text| text.parse::<usize>().ok());
        let unlike = number.and_then(|number| found.get_mut(number));
        let unlike = unlike.expect("the question numbers the tables as they are listed");
        let row = read(unlike.table, values)?;
        let name = RowName::of(unlike.table, &row.facts);
        match side.as_slice() {
            b"0" => unlike.memory.insert(name, row),
            _ => unlike.other.insert(name, row),
        };
    }
    Ok(found)
}

/// The statement that asks for it. Its rows have the number of a table, 0 for memory or 1 for the other layer, the columns of
/// the table, and NULL up to the width of the widest.
fn question(tables: &[TableName], module: Module, other: Layer) -> String {
    let width = |table: &TableName| table.definition().columns.len();
    let widest = tables.iter().map(width).max().unwrap_or_default();
    let mut parts = Vec::new();
    for (number, table) in tables.iter().enumerate() {
        let columns = table.definition().columns.iter().map(|column| column.name);
        let columns = columns.collect::<Vec<_>>().join(", ");
        let of = |layer: Layer| {
            format!(
                "SELECT {columns} FROM {}{}",
                layer.of(*table),
                only(*table, module, layer, other)
            )
        };
        let padding = ", NULL".repeat(widest - width(table));
        for (side, held, less) in [(0, Layer::Memory, other), (1, other, Layer::Memory)] {
            let rows = match JOINS.contains(&table.definition()) {
                true => of(held),
                false => format!("{} EXCEPT {}", of(held), of(less)),
            };
            parts.push(format!(
                "SELECT {number}, {side}, {}{padding} FROM ({rows})",
                literals(*table)
            ));
        }
    }
    parts.join(" UNION ALL ")
}

/// The rows of a table that are compared: variables of the module; what is live, of rows that are switched on.
fn only(table: TableName, module: Module, layer: Layer, other: Layer) -> String {
    let definition = table.definition();
    if let (true, Some(prefix)) = (*definition == GLOBAL_VARIABLES, module.variables()) {
        let start = prefix.len();
        return format!(" WHERE substr(variable_name, 1, {start}) = {}", quoted(prefix));
    }
    let has_switch = [&QUERY_RULES, &USERS].contains(&definition);
    match has_switch && layer == Layer::Memory && other == Layer::Runtime {
        true => " WHERE active = 1".to_owned(),
        false => String::new(),
    }
}
