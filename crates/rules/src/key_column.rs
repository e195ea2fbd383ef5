//! A key column as its server has it, and which key values it compares and stores as a shard map does.
//!
//! A map places by the canonical text of a key. A server compares by the type and the collation of the column: `'A '` is `'A'`
//! where texts are padded, `'01'` is 1 in a column of integers. A value is read as a key only if every row that the server
//! calls equal to it is a row of the same shard. There are two ways to know that:
//!
//! ```text
//! the map lists all of its keys         no two keys of different shards are equal in the column
//! every value has a shard (remainder,   the value is of the one form of its kind in which no two texts are equal:
//! hash, a cluster for unknown keys)     in a column without case, ASCII without capitals
//! ```

mod equality;
mod foreign;
mod judge;
mod listed;
mod trigger;

pub use equality::{Equality, Folds};
pub use foreign::{Cascades, ForeignKey, ForeignKeys, IndexedColumns, KeyPlace, PassedOn, RuleAction};
pub use judge::{KeyDoubt, judge};
pub use listed::{Distinction, KeysOfMap, QuestionOfKeys};
pub use trigger::sets_column;

/// What is known of a key column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyColumn {
    /// Its type.
    pub kind: ColumnKind,
    /// The type as the server calls it, with the collation where it has one; for messages.
    pub description: String,
    /// `SELECT *` and NATURAL JOIN do not see it.
    pub is_invisible: bool,
    /// The server computes it.
    pub is_generated: bool,
    /// The server chooses a value where 0 is stored.
    pub is_auto_increment: bool,
    /// A trigger that runs before a row is stored or changed assigns the column.
    pub is_set_by_trigger: bool,
}

/// The type of a key column, as far as comparing and storing depend on it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ColumnKind {
    /// Integers of this range.
    Integer {
        /// The least value.
        min: i128,
        /// The greatest value.
        max: i128,
    },
    /// DECIMAL.
    Decimal {
        /// Less than 0 is stored as 0.
        is_unsigned: bool,
        /// Digits before the point.
        whole: u32,
        /// Digits behind it.
        scale: u32,
    },
    /// FLOAT and DOUBLE: every integer below this is a value of its own.
    Float {
        /// Less than 0 is stored as 0.
        is_unsigned: bool,
        /// 2^24 or 2^53.
        exact: i128,
    },
    /// CHAR, VARCHAR and the TEXT types.
    Text {
        /// The character set.
        charset: String,
        /// How texts compare.
        equality: Equality,
        /// Most characters.
        chars: u64,
        /// Most bytes.
        bytes: u64,
        /// CHAR: blanks at the end are not stored.
        is_fixed: bool,
    },
    /// ENUM with these members.
    Enum {
        /// The character set.
        charset: String,
        /// How texts compare.
        equality: Equality,
        /// The texts that can be stored.
        members: Vec<String>,
    },
    /// BINARY, VARBINARY and the BLOB types.
    Bytes {
        /// Most bytes.
        bytes: u64,
        /// BINARY: shorter values are stored with NUL bytes at the end.
        is_fixed: bool,
    },
    /// UUID: compared in any case, with hyphens or without.
    Uuid,
    /// A type in which no key is read.
    Other,
}

/// What a server says of a column, from `information_schema.COLUMNS`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DescribedColumn {
    /// DATA_TYPE.
    pub data_type: String,
    /// COLUMN_TYPE.
    pub column_type: String,
    /// EXTRA.
    pub extra: String,
    /// CHARACTER_SET_NAME.
    pub charset: Option<String>,
    /// COLLATION_NAME.
    pub collation: Option<String>,
    /// CHARACTER_MAXIMUM_LENGTH.
    pub chars: Option<u64>,
    /// CHARACTER_OCTET_LENGTH.
    pub bytes: Option<u64>,
    /// NUMERIC_PRECISION.
    pub precision: Option<u32>,
    /// NUMERIC_SCALE.
    pub scale: Option<u32>,
    /// A trigger that runs before a row is stored or changed assigns it.
    pub is_set_by_trigger: bool,
}

impl DescribedColumn {
    /// What follows for keys.
    pub fn into_key_column(self) -> KeyColumn {
        let says = |word: &str| {
            let mut words = self.extra.split([' ', ',']);
            words.any(|other| other.eq_ignore_ascii_case(word))
        };
        KeyColumn {
            kind: self.kind(),
            is_invisible: says("INVISIBLE"),
            // MySQL's DEFAULT_GENERATED is a default that is an expression.
            is_generated: says("GENERATED") || says("PERSISTENT"),
            is_auto_increment: says("auto_increment"),
            is_set_by_trigger: self.is_set_by_trigger,
            description: match &self.collation {
                Some(collation) => format!("{} COLLATE {collation}", self.column_type),
                None => self.column_type.clone(),
            },
        }
    }

    fn kind(&self) -> ColumnKind {
        let data_type = self.data_type.to_ascii_lowercase();
        let bits = match data_type.as_str() {
            "tinyint" => Some(8),
            "smallint" => Some(16),
            "mediumint" => Some(24),
            "int" | "integer" => Some(32),
            "bigint" => Some(64),
            _ => None,
        };
        let column_type = self.column_type.to_ascii_lowercase();
        let is_unsigned = column_type.contains("unsigned") || column_type.contains("zerofill");
        if let Some(bits) = bits {
            let half = 1_i128 << (bits - 1);
            let (min, max) = if is_unsigned {
                (0, 2 * half - 1)
            } else {
                (-half, half - 1)
            };
            return ColumnKind::Integer { min, max };
        }
        match data_type.as_str() {
            "decimal" | "numeric" => match (self.precision, self.scale) {
                (Some(precision), Some(scale)) => ColumnKind::Decimal {
                    is_unsigned,
                    whole: precision.saturating_sub(scale),
                    scale,
                },
                _ => ColumnKind::Other,
            },
            "float" => ColumnKind::Float {
                is_unsigned,
                exact: 1 << 24,
            },
            "double" => ColumnKind::Float {
                is_unsigned,
                exact: 1 << 53,
            },
            "char" | "varchar" | "tinytext" | "text" | "mediumtext" | "longtext" => {
                self.text(data_type == "char")
            }
            "enum" => self.members(),
            "binary" | "varbinary" | "tinyblob" | "blob" | "mediumblob" | "longblob" => ColumnKind::Bytes {
                bytes: self.bytes.unwrap_or(0),
                is_fixed: data_type == "binary",
            },
            "uuid" => ColumnKind::Uuid,
            _ => ColumnKind::Other,
        }
    }

    fn equality(&self) -> Option<Equality> {
        Some(Equality::of(self.charset.as_deref()?, self.collation.as_deref()?))
    }

    fn text(&self, is_fixed: bool) -> ColumnKind {
        match (self.equality(), &self.charset) {
            (Some(equality), Some(charset)) => ColumnKind::Text {
                charset: charset.to_ascii_lowercase(),
                equality,
                chars: self.chars.unwrap_or(0),
                bytes: self.bytes.unwrap_or(0),
                is_fixed,
            },
            _ => ColumnKind::Other,
        }
    }

    /// `enum('eu','us')`: a quote in a member is doubled. A member with a backslash may be escaped by the server or not.
    fn members(&self) -> ColumnKind {
        let list = self.column_type.split_once('(').map_or("", |(_, list)| list);
        let inside = list.trim_end().strip_suffix(')').unwrap_or(list);
        let members = inside
            .strip_prefix('\'')
            .and_then(|inside| inside.strip_suffix('\''))
            .map(|inside| {
                inside
                    .split("','")
                    .map(|member| member.replace("''", "'"))
                    .collect()
            });
        match (self.equality(), members, &self.charset) {
            (Some(equality), Some(members), Some(charset)) => ColumnKind::Enum {
                charset: charset.to_ascii_lowercase(),
                equality,
                members,
            },
            _ => ColumnKind::Other,
        }
    }
}

/// How the values of a key column compare with those of another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Comparison {
    /// As numbers.
    Numbers,
    /// As texts, of which the map lists all that there are, and the column tells them apart.
    ListedTexts,
    /// As texts, which may be any.
    AnyTexts {
        /// Blanks at the end do not count.
        is_padded: bool,
        /// What else does not count.
        folds: Folds,
    },
}

impl KeyColumn {
    /// How it compares with the key column of another table of the same map. Servers compare two that differ as one of them does,
    /// or as numbers.
    pub fn comparison(&self, keys: &KeysOfMap) -> Comparison {
        let any = |is_padded, folds| Comparison::AnyTexts { is_padded, folds };
        match &self.kind {
            ColumnKind::Integer { .. } | ColumnKind::Decimal { .. } | ColumnKind::Float { .. } => {
                Comparison::Numbers
            }
            _ if !keys.is_open => Comparison::ListedTexts,
            ColumnKind::Text { equality, .. } | ColumnKind::Enum { equality, .. } => {
                any(equality.is_padded, equality.folds)
            }
            ColumnKind::Bytes { .. } => any(false, Folds::Nothing),
            ColumnKind::Uuid | ColumnKind::Other => any(false, Folds::Unknown),
        }
    }
}
