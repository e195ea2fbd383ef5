//! Writing a result set: count, definitions, rows, end.

use std::borrow::Cow;

use mysql_common::constants::{CapabilityFlags, StatusFlags};

use crate::bytes::Reader;
use crate::bytes::{put_lenenc_bytes, put_lenenc_int};
use crate::column::{ColumnDefinition, Dialect};
use crate::packet::{append_packet, take_packet};
use crate::response::{EofPacket, OkPacket};

/// A whole answer of text rows.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TextRows {
    /// The names of the columns as the statement calls them.
    pub columns: Vec<Vec<u8>>,
    /// The types of the columns, as the protocol numbers them.
    pub types: Vec<u8>,
    /// The rows, each with one value for each column; `None` is NULL.
    pub rows: Vec<Vec<Option<Vec<u8>>>>,
}

impl TextRows {
    /// Reads an answer on a connection with these capabilities; `None` for what is none, and for what is not there whole.
    #[must_use]
    pub fn of_answer(answer: &[u8], capabilities: CapabilityFlags) -> Option<Self> {
        let mut packets = Packets::of(answer);
        let mut read = Self::default();
        let columns = Reader::new(&packets.next()?).lenenc_int().ok()?;
        for _ in 0..columns {
            let (name, kind) = column(&packets.next()?)?;
            read.columns.push(name);
            read.types.push(kind);
        }
        if !capabilities.contains(CapabilityFlags::CLIENT_DEPRECATE_EOF) {
            packets.next()?;
        }
        loop {
            let packet = packets.next()?;
            // A row whose first value begins with this byte is longer than an end of rows can be.
            if packet.first() == Some(&END_OF_ROWS) && packet.len() < MAX_END_OF_ROWS {
                return Some(read);
            }
            let mut row = Reader::new(&packet);
            let values = (0..columns).map(|_| text_value(&mut row));
            read.rows.push(values.collect::<Option<_>>()?);
        }
    }

    /// The value of a column of a row, by the column's name in any case; `None` for NULL, and where there is no such column.
    #[must_use]
    pub fn value(&self, row: usize, column: &str) -> Option<&[u8]> {
        let mut columns = self.columns.iter();
        let at = columns.position(|name| name.eq_ignore_ascii_case(column.as_bytes()))?;
        self.rows.get(row)?.get(at)?.as_deref()
    }
}

/// In the place of a value's length.
const NULL: u8 = 0xFB;
/// The first byte of the packet behind the last row.
const END_OF_ROWS: u8 = 0xFE;
/// The packet behind the last row is shorter than this: a value that begins with the same byte has at least 16 MiB.
const MAX_END_OF_ROWS: usize = 0xFF_FFFF;

/// The next value of a row. `None`: the row is cut off.
#[expect(
    clippy::option_option,
    reason = "a value may be NULL, and a row may end too early"
)]
fn text_value(row: &mut Reader<'_>) -> Option<Option<Vec<u8>>> {
    if row.skip_if(NULL) {
        return Some(None);
    }
    Some(Some(row.lenenc_bytes().ok()?.to_vec()))
}

/// The name of a column and its type, from its definition. Behind the type, its flags, decimals and a filler end the definition;
/// before it, there may be extended metadata.
fn column(definition: &[u8]) -> Option<(Vec<u8>, u8)> {
    const BEHIND_TYPE: usize = 2 + 1 + 2;
    let mut reader = Reader::new(definition);
    // The catalog, the schema, the table, and the table as it is stored.
    for _ in 0..4 {
        reader.lenenc_bytes().ok()?;
    }
    let name = reader.lenenc_bytes().ok()?.to_vec();
    // The column's own name; then the length of what follows, its character set (2 bytes) and its length (4).
    reader.lenenc_bytes().ok()?;
    reader.take(1 + 2 + 4 + 1 + BEHIND_TYPE).ok()?;
    let type_at = definition.len().checked_sub(BEHIND_TYPE + 1)?;
    Some((name, *definition.get(type_at)?))
}

/// The packets of a whole answer.
struct Packets<'a> {
    rest: &'a [u8],
    whole: usize,
}

impl<'a> Packets<'a> {
    fn of(answer: &'a [u8]) -> Self {
        Self {
            rest: answer,
            whole: answer.len(),
        }
    }

    /// The payload of the next packet; `None` at the end, and where it is cut off.
    fn next(&mut self) -> Option<Cow<'a, [u8]>> {
        let packet = take_packet(self.rest, self.whole).ok()??;
        self.rest = &self.rest[packet.consumed..];
        Some(packet.payload)
    }
}

/// The first value of a whole answer of text rows on a connection with these capabilities; `None` for NULL, and for what
/// has no row.
#[must_use]
pub fn first_value(answer: &[u8], capabilities: CapabilityFlags) -> Option<Vec<u8>> {
    let read = TextRows::of_answer(answer, capabilities)?;
    read.rows.into_iter().next()?.into_iter().next()?
}

/// Appends the packets of one result set to a buffer that the caller sends whenever it likes.
#[derive(Debug)]
pub struct ResultSetWriter {
    seq: u8,
    dialect: Dialect,
}

impl ResultSetWriter {
    /// Begins a result set with its column definitions; `seq` is that of the first packet.
    #[must_use]
    pub fn begin(
        out: &mut Vec<u8>,
        seq: u8,
        dialect: impl Into<Dialect>,
        columns: &[ColumnDefinition],
        status: StatusFlags,
    ) -> Self {
        let dialect = dialect.into();
        let mut writer = Self { seq, dialect };
        append_packet(out, &mut writer.seq, |out| {
            put_lenenc_int(out, columns.len() as u64)
        });
        writer.definitions(out, columns, status);
        writer
    }

    /// Appends column definitions and the EOF that old clients want after them.
    fn definitions(&mut self, out: &mut Vec<u8>, columns: &[ColumnDefinition], status: StatusFlags) {
        for column in columns {
            append_packet(out, &mut self.seq, |out| column.encode_in(out, self.dialect));
        }
        if !self.deprecates_eof() {
            append_packet(out, &mut self.seq, |out| {
                EofPacket { warnings: 0, status }.encode(out)
            });
        }
    }

    /// Appends the blocks of definitions that follow a [`crate::PrepareOk`]; gives the next sequence number.
    #[must_use]
    pub fn prepared(
        out: &mut Vec<u8>,
        seq: u8,
        dialect: impl Into<Dialect>,
        blocks: &[&[ColumnDefinition]],
        status: StatusFlags,
    ) -> u8 {
        let dialect = dialect.into();
        let mut writer = Self { seq, dialect };
        for block in blocks.iter().filter(|block| !block.is_empty()) {
            writer.definitions(out, block, status);
        }
        writer.seq
    }

    /// Appends a row of text values; `None` is NULL.
    pub fn text_row<'v>(&mut self, out: &mut Vec<u8>, values: impl IntoIterator<Item = Option<&'v [u8]>>) {
        append_packet(out, &mut self.seq, |out| {
            for value in values {
                match value {
                    Some(bytes) => put_lenenc_bytes(out, bytes),
                    None => out.push(0xFB),
                }
            }
        });
    }

    /// Appends a row whose payload the caller writes.
    pub fn row(&mut self, out: &mut Vec<u8>, build: impl FnOnce(&mut Vec<u8>)) {
        append_packet(out, &mut self.seq, build);
    }

    /// Ends the rows. `status` tells whether another result follows. Gives the next sequence number.
    pub fn end(mut self, out: &mut Vec<u8>, status: StatusFlags, warnings: u16) -> u8 {
        let capabilities = self.dialect.capabilities;
        let deprecates_eof = self.deprecates_eof();
        append_packet(out, &mut self.seq, |out| {
            if deprecates_eof {
                OkPacket {
                    status,
                    warnings,
                    ..OkPacket::default()
                }
                .encode_end_of_rows(out, capabilities);
            } else {
                EofPacket { warnings, status }.encode(out);
            }
        });
        self.seq
    }

    /// Ends the rows with an error. Gives the next sequence number.
    pub fn fail(mut self, out: &mut Vec<u8>, error: &crate::MysqlError) -> u8 {
        append_packet(out, &mut self.seq, |out| error.encode(out));
        self.seq
    }

    fn deprecates_eof(&self) -> bool {
        let capabilities = self.dialect.capabilities;
        capabilities.contains(CapabilityFlags::CLIENT_DEPRECATE_EOF)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mysql_common::constants::ColumnType;

    #[test]
    fn rows_are_read_by_the_names_of_columns() {
        let columns =
            ["Name", "Lag"].map(|name| ColumnDefinition::new(name, ColumnType::MYSQL_TYPE_VAR_STRING));
        // A value of this length begins with the byte of an end of rows, behind its own length.
        let long = vec![0xFE; 300];
        for capabilities in [CapabilityFlags::empty(), CapabilityFlags::CLIENT_DEPRECATE_EOF] {
            let mut answer = Vec::new();
            let mut writer =
                ResultSetWriter::begin(&mut answer, 1, capabilities, &columns, StatusFlags::empty());
            writer.text_row(&mut answer, [Some(&b"a"[..]), None]);
            writer.text_row(&mut answer, [Some(&long[..]), Some(b"7")]);
            writer.end(&mut answer, StatusFlags::empty(), 0);
            let rows = TextRows::of_answer(&answer, capabilities).unwrap();
            assert_eq!(rows.rows.len(), 2);
            assert_eq!(rows.value(0, "name"), Some(&b"a"[..]));
            assert_eq!(rows.value(0, "lag"), None);
            assert_eq!(rows.value(1, "NAME"), Some(&long[..]));
            assert_eq!(rows.value(1, "Lag"), Some(&b"7"[..]));
            assert_eq!(rows.value(1, "other"), None);
            for end in 0..answer.len() {
                assert_eq!(TextRows::of_answer(&answer[..end], capabilities), None, "{end}");
            }
        }
    }

    #[test]
    fn the_first_value_is_read() {
        let columns = [ColumnDefinition::new("a", ColumnType::MYSQL_TYPE_LONGLONG)];
        for (rows, expected) in [
            (vec![Some(&b"17"[..])], Some(b"17".to_vec())),
            (vec![Some(&b""[..]), Some(b"2")], Some(Vec::new())),
            (vec![None], None),
            (vec![], None),
        ] {
            for capabilities in [CapabilityFlags::empty(), CapabilityFlags::CLIENT_DEPRECATE_EOF] {
                let mut answer = Vec::new();
                let mut writer =
                    ResultSetWriter::begin(&mut answer, 1, capabilities, &columns, StatusFlags::empty());
                for row in &rows {
                    writer.text_row(&mut answer, [*row]);
                }
                writer.end(&mut answer, StatusFlags::empty(), 0);
                assert_eq!(first_value(&answer, capabilities), expected);
                for end in 0..answer.len() {
                    let cut = first_value(&answer[..end], capabilities);
                    assert!(cut.is_none() || cut == expected, "{end}");
                }
            }
        }
    }
}
