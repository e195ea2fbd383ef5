//! Statements that a connection has prepared.

use std::collections::BTreeMap;

use shardwright_wire::binary::{BinaryValue, ParameterType, execute_parameters};
use shardwright_wire::{DecodeError, MysqlError, errors};

use crate::answer::Value;

/// Statements that one connection may have prepared at a time.
const MAX_STATEMENTS: usize = 16_382;

/// Bytes of long data that one statement may hold.
const MAX_LONG_DATA: usize = 64 * 1024 * 1024;

#[derive(Debug, Default)]
pub(crate) struct Statements {
    last_id: u32,
    by_id: BTreeMap<u32, Statement>,
}

#[derive(Debug, Default)]
struct Statement {
    sql: Vec<u8>,
    parameters: u16,
    types: Vec<ParameterType>,
    long_data: BTreeMap<u16, Vec<u8>>,
    /// What was wrong with long data; told at the next execution, because its packets are not answered.
    failure: Option<MysqlError>,
}

/// A statement with the values of its parameters.
pub(crate) struct Execution {
    pub(crate) sql: Vec<u8>,
    pub(crate) values: Vec<Value>,
}

impl Statements {
    pub(crate) fn add(&mut self, sql: &[u8], parameters: u16) -> Result<u32, MysqlError> {
        if self.by_id.len() >= MAX_STATEMENTS {
            let message = "Can't create more than max_prepared_stmt_count statements";
            return Err(errors::MAX_PREPARED_STMT_COUNT_REACHED.with(message));
        }
        self.last_id += 1;
        let statement = Statement {
            sql: sql.to_vec(),
            parameters,
            ..Statement::default()
        };
        self.by_id.insert(self.last_id, statement);
        Ok(self.last_id)
    }

    pub(crate) fn remove(&mut self, id: u32) {
        self.by_id.remove(&id);
    }

    pub(crate) fn clear(&mut self) {
        self.by_id.clear();
    }

    pub(crate) fn reset(&mut self, id: u32) -> Result<(), MysqlError> {
        let statement = self.get(id, "mysqld_stmt_reset")?;
        statement.long_data.clear();
        statement.failure = None;
        Ok(())
    }

    pub(crate) fn send_long_data(&mut self, id: u32, parameter: u16, data: &[u8]) {
        let Some(statement) = self.by_id.get_mut(&id) else {
            return;
        };
        let held: usize = statement.long_data.values().map(Vec::len).sum();
        if parameter >= statement.parameters {
            statement.failure = Some(errors::MALFORMED_PACKET.with("Malformed communication packet."));
        } else if held + data.len() > MAX_LONG_DATA {
            statement.failure = Some(errors::NET_PACKET_TOO_LARGE.with("too much long data"));
        } else {
            statement
                .long_data
                .entry(parameter)
                .or_default()
                .extend_from_slice(data);
        }
    }

    /// What an execution runs. Long data is used up.
    pub(crate) fn bind(&mut self, id: u32, body: &[u8]) -> Result<Execution, MysqlError> {
        let statement = self.get(id, "mysqld_stmt_execute")?;
        let mut long_data = std::mem::take(&mut statement.long_data);
        if let Some(failure) = statement.failure.take() {
            return Err(failure);
        }
        let is_long = |at: usize| u16::try_from(at).is_ok_and(|at| long_data.contains_key(&at));
        let decoded = execute_parameters(body, statement.parameters, &mut statement.types, is_long)
            .map_err(malformed)?;
        let values = decoded
            .into_iter()
            .zip(0_u16..)
            .map(|(value, at)| owned(value, || long_data.remove(&at).unwrap_or_default()))
            .collect();
        Ok(Execution {
            sql: statement.sql.clone(),
            values,
        })
    }

    fn get(&mut self, id: u32, operation: &str) -> Result<&mut Statement, MysqlError> {
        self.by_id.get_mut(&id).ok_or_else(|| {
            errors::UNKNOWN_STMT_HANDLER.with(format_args!(
                "Unknown prepared statement handler ({id}) given to {operation}"
            ))
        })
    }
}

fn malformed(_: DecodeError) -> MysqlError {
    errors::MALFORMED_PACKET.with("Malformed communication packet.")
}

fn owned(value: BinaryValue<'_>, long_data: impl FnOnce() -> Vec<u8>) -> Value {
    match value {
        BinaryValue::Null => Value::Null,
        BinaryValue::Int(value) => Value::Int(value),
        // SQLite's integers are signed; what does not fit keeps its digits.
        BinaryValue::UInt(value) => {
            i64::try_from(value).map_or_else(|_| Value::Text(value.to_string()), Value::Int)
        }
        BinaryValue::Float(value) => Value::Real(f64::from(value)),
        BinaryValue::Double(value) => Value::Real(value),
        BinaryValue::DateTime(value) => Value::Text(value.to_string()),
        BinaryValue::Time(value) => Value::Text(value.to_string()),
        BinaryValue::Bytes(bytes) => text_or_bytes(bytes.to_vec()),
        BinaryValue::LongData => text_or_bytes(long_data()),
    }
}

/// Drivers send text and blobs under the same types; what is UTF-8 is text.
fn text_or_bytes(bytes: Vec<u8>) -> Value {
    String::from_utf8(bytes).map_or_else(|error| Value::Bytes(error.into_bytes()), Value::Text)
}
