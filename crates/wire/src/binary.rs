//! The binary protocol's values: parameters of COM_STMT_EXECUTE and rows of its results.

use std::fmt;

use mysql_common::constants::ColumnType;

use crate::bytes::{DecodeError, Reader, put_lenenc_bytes};

/// A value of the binary protocol.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum BinaryValue<'a> {
    /// NULL.
    Null,
    /// A signed integer of any width.
    Int(i64),
    /// An unsigned integer of any width.
    UInt(u64),
    /// `FLOAT`.
    Float(f32),
    /// `DOUBLE`.
    Double(f64),
    /// Strings, decimals, blobs, JSON, bits: as sent.
    Bytes(&'a [u8]),
    /// A date, perhaps with a time of day.
    DateTime(DateTime),
    /// A span of time.
    Time(Span),
    /// Sent before by COM_STMT_SEND_LONG_DATA.
    LongData,
}

/// A date and a time of day.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct DateTime {
    /// Year.
    pub year: u16,
    /// Month, 1 to 12, or 0.
    pub month: u8,
    /// Day, 1 to 31, or 0.
    pub day: u8,
    /// Hour, minute and second.
    pub time: [u8; 3],
    /// Microseconds.
    pub micros: u32,
    /// Only the date was meant.
    pub is_date: bool,
}

/// A span of time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Span {
    /// It is negative.
    pub is_negative: bool,
    /// Days.
    pub days: u32,
    /// Hours, minutes and seconds.
    pub time: [u8; 3],
    /// Microseconds.
    pub micros: u32,
}

impl fmt::Display for DateTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:04}-{:02}-{:02}", self.year, self.month, self.day)?;
        if self.is_date {
            return Ok(());
        }
        let [hour, minute, second] = self.time;
        write!(f, " {hour:02}:{minute:02}:{second:02}")?;
        if self.micros == 0 {
            Ok(())
        } else {
            write!(f, ".{:06}", self.micros)
        }
    }
}

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [hour, minute, second] = self.time;
        let hours = u64::from(self.days) * 24 + u64::from(hour);
        write!(
            f,
            "{}{hours:02}:{minute:02}:{second:02}",
            if self.is_negative { "-" } else { "" }
        )?;
        if self.micros == 0 {
            Ok(())
        } else {
            write!(f, ".{:06}", self.micros)
        }
    }
}

/// Type byte and flags of a parameter, as a client binds them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ParameterType {
    /// Type.
    pub column_type: ColumnType,
    /// The integer is unsigned.
    pub is_unsigned: bool,
}

impl ParameterType {
    /// Reads a type and its flags.
    ///
    /// # Errors
    /// A type that does not exist.
    pub fn of([column_type, flags]: [u8; 2]) -> Result<Self, DecodeError> {
        let column_type = ColumnType::try_from(column_type)
            .map_err(|_| DecodeError::Malformed("a parameter type that does not exist"))?;
        Ok(Self {
            column_type,
            is_unsigned: flags & 0x80 != 0,
        })
    }

    /// The types of parameters, two bytes each, as COM_STMT_EXECUTE has them.
    ///
    /// # Errors
    /// A type that does not exist.
    pub fn list(bytes: &[u8]) -> Result<Vec<Self>, DecodeError> {
        bytes
            .chunks_exact(2)
            .map(|pair| Self::of([pair[0], pair[1]]))
            .collect()
    }
}

/// Reads the parameters of an execution.
///
/// A client may leave the types out when they are those of the execution before: `types` carries them from one
/// execution to the next and is empty at first. `is_long_data(i)` says which parameters came in pieces.
///
/// # Errors
/// [`DecodeError`], also when types are missing that were never sent.
pub fn execute_parameters<'a>(
    body: &'a [u8],
    count: u16,
    types: &mut Vec<ParameterType>,
    is_long_data: impl Fn(usize) -> bool,
) -> Result<Vec<BinaryValue<'a>>, DecodeError> {
    let count = usize::from(count);
    if count == 0 {
        return Ok(Vec::new());
    }
    let mut reader = Reader::new(body);
    let nulls = reader.take(count.div_ceil(8))?;
    if reader.u8()? == 1 {
        *types = ParameterType::list(reader.take(2 * count)?)?;
    }
    if types.len() != count {
        return Err(DecodeError::Malformed("parameters without types"));
    }
    parameter_values(nulls, types, reader.take_rest(), is_long_data)
}

/// Reads the values of parameters, behind their types.
///
/// # Errors
/// [`DecodeError`].
pub fn parameter_values<'a>(
    nulls: &[u8],
    types: &[ParameterType],
    values: &'a [u8],
    is_long_data: impl Fn(usize) -> bool,
) -> Result<Vec<BinaryValue<'a>>, DecodeError> {
    let mut reader = Reader::new(values);
    let mut values = Vec::with_capacity(types.len());
    for (at, parameter) in types.iter().enumerate() {
        let byte = nulls.get(at / 8).ok_or(DecodeError::Truncated)?;
        let is_null = byte >> (at % 8) & 1 == 1;
        values.push(match is_null {
            _ if is_long_data(at) => BinaryValue::LongData,
            true => BinaryValue::Null,
            false => value(&mut reader, *parameter)?,
        });
    }
    reader.finish()?;
    Ok(values)
}

/// Reads a value that is neither NULL nor sent in pieces.
pub(crate) fn value<'a>(
    reader: &mut Reader<'a>,
    parameter: ParameterType,
) -> Result<BinaryValue<'a>, DecodeError> {
    use ColumnType as T;
    let signed = |value: i64, mask: u64| {
        if parameter.is_unsigned {
            BinaryValue::UInt(value as u64 & mask)
        } else {
            BinaryValue::Int(value)
        }
    };
    Ok(match parameter.column_type {
        T::MYSQL_TYPE_NULL => BinaryValue::Null,
        T::MYSQL_TYPE_TINY => signed(i64::from(reader.u8()? as i8), 0xFF),
        T::MYSQL_TYPE_SHORT | T::MYSQL_TYPE_YEAR => signed(i64::from(reader.u16()? as i16), 0xFFFF),
        T::MYSQL_TYPE_LONG | T::MYSQL_TYPE_INT24 => signed(i64::from(reader.u32()? as i32), 0xFFFF_FFFF),
        T::MYSQL_TYPE_LONGLONG => signed(reader.u64()? as i64, u64::MAX),
        T::MYSQL_TYPE_FLOAT => BinaryValue::Float(f32::from_bits(reader.u32()?)),
        T::MYSQL_TYPE_DOUBLE => BinaryValue::Double(f64::from_bits(reader.u64()?)),
        T::MYSQL_TYPE_DATE | T::MYSQL_TYPE_DATETIME | T::MYSQL_TYPE_TIMESTAMP => {
            let is_date = parameter.column_type == T::MYSQL_TYPE_DATE;
            BinaryValue::DateTime(date_time(reader, is_date)?)
        }
        T::MYSQL_TYPE_TIME => BinaryValue::Time(span(reader)?),
        _ => BinaryValue::Bytes(reader.lenenc_bytes()?),
    })
}

fn date_time(reader: &mut Reader<'_>, is_date: bool) -> Result<DateTime, DecodeError> {
    let len = reader.u8()?;
    if !matches!(len, 0 | 4 | 7 | 11) {
        return Err(DecodeError::Malformed("a date of an odd length"));
    }
    let mut value = DateTime {
        is_date,
        ..DateTime::default()
    };
    if len >= 4 {
        value.year = reader.u16()?;
        value.month = reader.u8()?;
        value.day = reader.u8()?;
    }
    if len >= 7 {
        value.time = reader.array()?;
    }
    if len == 11 {
        value.micros = reader.u32()?;
    }
    Ok(value)
}

fn span(reader: &mut Reader<'_>) -> Result<Span, DecodeError> {
    let len = reader.u8()?;
    if !matches!(len, 0 | 8 | 12) {
        return Err(DecodeError::Malformed("a time of an odd length"));
    }
    let mut value = Span::default();
    if len >= 8 {
        value.is_negative = reader.u8()? != 0;
        value.days = reader.u32()?;
        value.time = reader.array()?;
    }
    if len == 12 {
        value.micros = reader.u32()?;
    }
    Ok(value)
}

/// A value of a binary row, laid out for the type of its column.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum BinaryCell<'a> {
    /// NULL.
    Null,
    /// For an unsigned `MYSQL_TYPE_LONG`.
    Long(u32),
    /// For `MYSQL_TYPE_LONGLONG`.
    LongLong(i64),
    /// For `MYSQL_TYPE_DOUBLE`.
    Double(f64),
    /// For strings and blobs.
    Bytes(&'a [u8]),
}

/// Appends the payload of a binary row: header, NULL bitmap (with two leading bits unused), values.
pub fn put_row(out: &mut Vec<u8>, cells: &[BinaryCell<'_>]) {
    out.push(0);
    let bitmap_at = out.len();
    out.resize(bitmap_at + (cells.len() + 2).div_ceil(8), 0);
    for (at, cell) in cells.iter().enumerate() {
        match cell {
            BinaryCell::Null => out[bitmap_at + (at + 2) / 8] |= 1 << ((at + 2) % 8),
            BinaryCell::Long(value) => out.extend_from_slice(&value.to_le_bytes()),
            BinaryCell::LongLong(value) => out.extend_from_slice(&value.to_le_bytes()),
            BinaryCell::Double(value) => out.extend_from_slice(&value.to_le_bytes()),
            BinaryCell::Bytes(bytes) => put_lenenc_bytes(out, bytes),
        }
    }
}
