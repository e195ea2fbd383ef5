//! `stats_shardwright_operations`: the latest things that administrators did.

use shardwright_mysqlite::Value;

use super::rows::{Rows, int, text};
use crate::operations::{Author, Operation};
use crate::shared::Shared;
use crate::stats::WorkerFigures;

/// The account and the address are NULL for a signal, the error if the operation was done.
pub(super) const COLUMNS: &[&str] = &[
    "number INT",
    "at_s INT",
    "account VARCHAR",
    "address VARCHAR",
    "operation VARCHAR",
    "generation INT",
    "error VARCHAR",
];

pub(super) fn rows(shared: &Shared, _: &[WorkerFigures]) -> Rows {
    shared.operations.all().into_iter().map(row).collect()
}

fn row(operation: Operation) -> Vec<Value> {
    let (account, address) = match operation.by {
        Author::Account { name, address } => (text(name), text(address.to_string())),
        Author::Signal => (Value::Null, Value::Null),
    };
    vec![
        int(operation.number),
        int(operation.at_s),
        account,
        address,
        text(operation.what),
        int(operation.generation),
        operation.error.map_or(Value::Null, text),
    ]
}
