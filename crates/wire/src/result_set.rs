//! Writing a result set: count, definitions, rows, end.

use mysql_common::constants::{CapabilityFlags, StatusFlags};

use crate::bytes::Reader;
use crate::bytes::{put_lenenc_bytes, put_lenenc_int};
use crate::column::ColumnDefinition;
use crate::packet::{append_packet, take_packet};
use crate::response::{EofPacket, OkPacket};

/// The first value of a whole answer of text rows on a connection with these capabilities; `None` for NULL, and for what
/// has no row.
#[must_use]
pub fn first_value(answer: &[u8], capabilities: CapabilityFlags) -> Option<Vec<u8>> {
    let mut rest = answer;
    let mut next = || {
        let packet = take_packet(rest, answer.len()).ok()??;
        rest = &rest[packet.consumed..];
        Some(packet.payload)
    };
    let columns = Reader::new(&next()?).lenenc_int().ok()?;
    for _ in 0..columns {
        next()?;
    }
    if !capabilities.contains(CapabilityFlags::CLIENT_DEPRECATE_EOF) {
        next()?;
    }
    let row = next()?;
    let value = Reader::new(&row).lenenc_bytes().ok()?;
    Some(value.to_vec())
}

/// Appends the packets of one result set to a buffer that the caller sends whenever it likes.
#[derive(Debug)]
pub struct ResultSetWriter {
    seq: u8,
    capabilities: CapabilityFlags,
}

impl ResultSetWriter {
    /// Begins a result set with its column definitions; `seq` is that of the first packet.
    #[must_use]
    pub fn begin(
        out: &mut Vec<u8>,
        seq: u8,
        capabilities: CapabilityFlags,
        columns: &[ColumnDefinition],
        status: StatusFlags,
    ) -> Self {
        let mut writer = Self { seq, capabilities };
        append_packet(out, &mut writer.seq, |out| {
            put_lenenc_int(out, columns.len() as u64)
        });
        writer.definitions(out, columns, status);
        writer
    }

    /// Appends column definitions and the EOF that old clients want after them.
    fn definitions(&mut self, out: &mut Vec<u8>, columns: &[ColumnDefinition], status: StatusFlags) {
        for column in columns {
            append_packet(out, &mut self.seq, |out| column.encode(out));
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
        capabilities: CapabilityFlags,
        blocks: &[&[ColumnDefinition]],
        status: StatusFlags,
    ) -> u8 {
        let mut writer = Self { seq, capabilities };
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
        let capabilities = self.capabilities;
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
        self.capabilities.contains(CapabilityFlags::CLIENT_DEPRECATE_EOF)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mysql_common::constants::ColumnType;

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
