//! Column definitions of protocol 4.1.
//!
//! mysql_common's `Column` writes the length where the collation belongs; a test shows when that ends.

use mysql_common::constants::{CapabilityFlags, ColumnFlags, ColumnType, MariadbCapabilities};

use crate::bytes::put_lenenc_bytes;
use crate::charset;

/// What a result set or a statement says about one column. Names are in the connection's character set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ColumnDefinition {
    /// Schema, or empty.
    pub schema: Vec<u8>,
    /// Table as the statement calls it.
    pub table: Vec<u8>,
    /// Table as it is stored.
    pub org_table: Vec<u8>,
    /// Column as the statement calls it.
    pub name: Vec<u8>,
    /// Column as it is stored.
    pub org_name: Vec<u8>,
    /// Collation id; 63 is binary.
    pub collation: u16,
    /// Largest length of a value in bytes.
    pub length: u32,
    /// Type.
    pub column_type: ColumnType,
    /// Flags.
    pub flags: ColumnFlags,
    /// Digits after the point; 31 is "as many as there are".
    pub decimals: u8,
}

/// What lays out results on a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Dialect {
    /// What the connection speaks.
    pub capabilities: CapabilityFlags,
    /// The same of MariaDB's further capabilities.
    pub mariadb_capabilities: MariadbCapabilities,
}

impl From<CapabilityFlags> for Dialect {
    fn from(capabilities: CapabilityFlags) -> Self {
        Self {
            capabilities,
            mariadb_capabilities: MariadbCapabilities::empty(),
        }
    }
}

impl ColumnDefinition {
    /// A column of this name and type, with the collation, length and flags that servers give the type.
    #[must_use]
    pub fn new(name: impl Into<Vec<u8>>, column_type: ColumnType) -> Self {
        let (collation, length, flags, decimals) = match column_type {
            ColumnType::MYSQL_TYPE_LONGLONG | ColumnType::MYSQL_TYPE_LONG => {
                (charset::BINARY, 20, ColumnFlags::BINARY_FLAG, 0)
            }
            ColumnType::MYSQL_TYPE_DOUBLE | ColumnType::MYSQL_TYPE_FLOAT => {
                (charset::BINARY, 23, ColumnFlags::BINARY_FLAG, 31)
            }
            ColumnType::MYSQL_TYPE_BLOB => (
                charset::BINARY,
                u32::MAX,
                ColumnFlags::BINARY_FLAG | ColumnFlags::BLOB_FLAG,
                0,
            ),
            ColumnType::MYSQL_TYPE_NULL => (charset::BINARY, 0, ColumnFlags::BINARY_FLAG, 0),
            _ => (
                u16::from(charset::UTF8MB4_GENERAL_CI),
                65_535 * 4,
                ColumnFlags::empty(),
                31,
            ),
        };
        Self {
            schema: Vec::new(),
            table: Vec::new(),
            org_table: Vec::new(),
            name: name.into(),
            org_name: Vec::new(),
            collation,
            length,
            column_type,
            flags,
            decimals,
        }
    }

    /// Appends the payload, for connections without MariaDB's further capabilities.
    pub fn encode(&self, out: &mut Vec<u8>) {
        self.encode_in(out, CapabilityFlags::empty().into());
    }

    /// Appends the payload. Of extended metadata, which would name the format of a type, it has none.
    pub(crate) fn encode_in(&self, out: &mut Vec<u8>, dialect: Dialect) {
        put_lenenc_bytes(out, b"def");
        for name in [
            &self.schema,
            &self.table,
            &self.org_table,
            &self.name,
            &self.org_name,
        ] {
            put_lenenc_bytes(out, name);
        }
        let extended = MariadbCapabilities::MARIADB_CLIENT_EXTENDED_METADATA;
        if dialect.mariadb_capabilities.contains(extended) {
            put_lenenc_bytes(out, b"");
        }
        out.push(12);
        out.extend_from_slice(&self.collation.to_le_bytes());
        out.extend_from_slice(&self.length.to_le_bytes());
        out.push(self.column_type as u8);
        out.extend_from_slice(&self.flags.bits().to_le_bytes());
        out.extend_from_slice(&[self.decimals, 0, 0]);
    }
}
