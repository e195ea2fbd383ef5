//! The sink that turns rows into packets, in text or in binary.

use shardwright_wire::binary::{BinaryCell, put_row};
use shardwright_wire::{
    CapabilityFlags, ColumnDefinition, ColumnType, MysqlError, OkPacket, ResultSetWriter, StatusFlags,
    append_packet, errors,
};

use crate::answer::{Answer, Cell, RowSink};
use crate::transport::{Transport, TransportError};

/// How rows are laid out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Layout {
    Text,
    Binary,
}

/// Writes the answer to one statement.
pub(crate) struct Responder<'t> {
    transport: &'t mut Transport,
    capabilities: CapabilityFlags,
    status: StatusFlags,
    layout: Layout,
    types: Vec<ColumnType>,
    rows: Option<ResultSetWriter>,
    failure: Option<TransportError>,
    scratch: Vec<String>,
}

impl<'t> Responder<'t> {
    pub(crate) fn new(
        transport: &'t mut Transport,
        capabilities: CapabilityFlags,
        status: StatusFlags,
        layout: Layout,
    ) -> Self {
        Self {
            transport,
            capabilities,
            status,
            layout,
            types: Vec::new(),
            rows: None,
            failure: None,
            scratch: Vec::new(),
        }
    }

    /// Queues the end of the answer. `status` is that after the statement.
    pub(crate) fn finish(
        mut self,
        answer: Result<Answer, MysqlError>,
        status: StatusFlags,
    ) -> Result<(), TransportError> {
        if let Some(failure) = self.failure {
            return Err(failure);
        }
        let out = &mut self.transport.outbound;
        self.transport.seq = match (answer, self.rows.take()) {
            (Ok(Answer::Rows { warnings }), Some(rows)) => rows.end(out, status, warnings),
            (Ok(Answer::Ok(_)), Some(rows)) => rows.end(out, status, 0),
            (Err(error), Some(rows)) => rows.fail(out, &error),
            (Ok(Answer::Rows { .. }), None) => {
                self.transport
                    .queue_error(&errors::UNKNOWN.with("a result without columns"));
                self.transport.seq
            }
            (Ok(Answer::Ok(done)), None) => {
                let ok = OkPacket {
                    affected_rows: done.affected_rows,
                    last_insert_id: done.last_insert_id,
                    status,
                    warnings: done.warnings,
                    info: done.info.as_bytes(),
                    session_state: &[],
                };
                append_packet(out, &mut self.transport.seq, |out| {
                    ok.encode(out, self.capabilities)
                });
                self.transport.seq
            }
            (Err(error), None) => {
                self.transport.queue_error(&error);
                self.transport.seq
            }
        };
        Ok(())
    }

    fn pass(&mut self, result: Result<(), TransportError>) -> Result<(), MysqlError> {
        result.map_err(|failure| {
            self.failure = Some(failure);
            errors::NET_ERROR_ON_WRITE.with("Got an error writing communication packets")
        })
    }
}

impl RowSink for Responder<'_> {
    fn columns(&mut self, columns: &[ColumnDefinition]) -> Result<(), MysqlError> {
        self.types = columns.iter().map(|column| column.column_type).collect();
        let out = &mut self.transport.outbound;
        self.rows = Some(ResultSetWriter::begin(
            out,
            self.transport.seq,
            self.capabilities,
            columns,
            self.status,
        ));
        Ok(())
    }

    fn row(&mut self, cells: &[Cell<'_>]) -> Result<(), MysqlError> {
        if cells.len() != self.types.len() {
            return Err(errors::UNKNOWN.with("a row of another width than its columns"));
        }
        let Some(rows) = &mut self.rows else {
            return Err(errors::UNKNOWN.with("rows before their columns"));
        };
        self.scratch.clear();
        self.scratch.extend(cells.iter().map(number_text));
        let texts = cells
            .iter()
            .zip(&self.scratch)
            .map(|(cell, number)| text(cell, number));
        let out = &mut self.transport.outbound;
        match self.layout {
            Layout::Text => rows.text_row(out, texts),
            Layout::Binary => {
                let cells: Vec<BinaryCell<'_>> = cells
                    .iter()
                    .zip(texts)
                    .zip(&self.types)
                    .map(|((cell, text), kind)| binary(cell, text, *kind))
                    .collect();
                rows.row(out, |out| put_row(out, &cells));
            }
        }
        let flushed = self.transport.flush_if_full();
        self.pass(flushed)
    }
}

/// The text of a number, or nothing for other cells.
fn number_text(cell: &Cell<'_>) -> String {
    match *cell {
        Cell::Int(value) => value.to_string(),
        Cell::Real(value) => real_text(value),
        _ => String::new(),
    }
}

/// A double as MySQL writes it: no trailing `.0`, an exponent from 1e15 on.
pub(crate) fn real_text(value: f64) -> String {
    let size = value.abs();
    if value != 0.0 && !(1e-15..1e15).contains(&size) {
        format!("{value:e}")
    } else {
        value.to_string()
    }
}

fn text<'a>(cell: &Cell<'a>, number: &'a str) -> Option<&'a [u8]> {
    match *cell {
        Cell::Null => None,
        Cell::Int(_) | Cell::Real(_) => Some(number.as_bytes()),
        Cell::Text(bytes) | Cell::Bytes(bytes) => Some(bytes),
    }
}

/// SQLite's values have types of their own, whatever the column says; a value that does not fit its column's type
/// becomes the nearest that does.
fn binary<'a>(cell: &Cell<'_>, text: Option<&'a [u8]>, kind: ColumnType) -> BinaryCell<'a> {
    let Some(text) = text else { return BinaryCell::Null };
    let parsed = || {
        std::str::from_utf8(text)
            .ok()
            .and_then(|text| text.trim().parse::<f64>().ok())
            .unwrap_or(0.0)
    };
    match (kind, cell) {
        (ColumnType::MYSQL_TYPE_LONGLONG, Cell::Int(value)) => BinaryCell::LongLong(*value),
        (ColumnType::MYSQL_TYPE_LONGLONG, _) => BinaryCell::LongLong(parsed() as i64),
        (ColumnType::MYSQL_TYPE_DOUBLE, Cell::Real(value)) => BinaryCell::Double(*value),
        (ColumnType::MYSQL_TYPE_DOUBLE, _) => BinaryCell::Double(parsed()),
        _ => BinaryCell::Bytes(text),
    }
}
