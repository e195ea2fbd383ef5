//! What bytes beyond ASCII mean in the statements of a session.

use shardwright_sql::set::charset_is_ascii_safe;

/// How far the text of a statement is UTF-8 to its server: of the two character sets that it is read in and converted to
/// (`character_set_client`, `character_set_connection`), the one that has less. ASCII means the same in all character sets of
/// clients that are let in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Encoding {
    /// ASCII in literals becomes other bytes, or is lost: `'A'` is `'\0A'` to a column of bytes after a conversion to ucs2.
    Other,
    /// Other bytes are of another character set, or are lost.
    Ascii,
    /// UTF-8 of at most three bytes for a character.
    Utf8mb3,
    /// UTF-8.
    #[default]
    Utf8mb4,
}

impl Encoding {
    /// That of a character set.
    pub fn of_charset(name: &str) -> Self {
        match name.to_ascii_lowercase().as_str() {
            "utf8mb4" => Self::Utf8mb4,
            // MariaDB can take it for utf8mb4, which has all that utf8mb3 has.
            "utf8" | "utf8mb3" => Self::Utf8mb3,
            name if charset_is_ascii_safe(name.as_bytes()) => Self::Ascii,
            _ => Self::Other,
        }
    }

    /// Whether the bytes of a literal or a parameter that are this text as UTF-8 are this text to the server.
    pub fn reads(self, text: &str) -> bool {
        match self {
            Self::Utf8mb4 => true,
            Self::Utf8mb3 => text.is_ascii() || text.chars().all(|c| u32::from(c) <= 0xFFFF),
            Self::Ascii => text.is_ascii(),
            Self::Other => false,
        }
    }

    /// The same of a name, which no server converts to `character_set_connection`.
    pub fn reads_name(self, name: &str) -> bool {
        self.max(Self::Ascii).reads(name)
    }
}
