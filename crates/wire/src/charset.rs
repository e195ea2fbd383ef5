//! Character sets as far as a proxy needs them: names of collation ids, and which sets can be lexed byte by byte.

use mysql_common::collations::{Collation, CollationId};

/// The collation that a server announces and a backend login asks for: `utf8mb4_general_ci`, known to every server.
pub const UTF8MB4_GENERAL_CI: u8 = 45;

/// The pseudo collation of binary data in column definitions.
pub const BINARY: u16 = 63;

/// Client character sets in which the second byte of a character can be a backslash, a quote or another ASCII byte
/// that a byte-wise lexer would take for SQL. Source: MySQL Reference Manual 12.10, "Supported Character Sets and
/// Collations", and the byte ranges of `strings/ctype-*.c`.
const TRAIL_BYTE_CAN_BE_ASCII: [&str; 5] = ["big5", "gbk", "sjis", "cp932", "gb18030"];

/// Sets that MySQL itself refuses as `character_set_client` (MySQL Reference Manual 12.4, "Connection Character Sets
/// and Collations"): ASCII is not one byte there.
const NEVER_A_CLIENT_SET: [&str; 4] = ["ucs2", "utf16", "utf16le", "utf32"];

/// The set of names of files, in which `@0041` is `A`: MariaDB refuses it as those above, and MySQL does not know it.
const OF_FILES: &str = "filename";

/// Sets in which bytes of ASCII are other characters: `{` is `ä` in swe7.
const OTHER_THAN_ASCII: [&str; 1] = ["swe7"];

/// The character set of a collation id, or `None` for an id that is not known.
///
/// Ids above 255 do not fit in a handshake; MariaDB's `uca1400` ids (2048 and up) name their set by range.
#[must_use]
pub fn charset_of_collation(id: u16) -> Option<String> {
    // MariaDB mysys/charset-def.c and include/m_ctype.h: uca1400 ids are 2048 + set × 256 + collation.
    let by_range = match id {
        2048..=2303 => Some("utf8mb3"),
        2304..=2559 => Some("utf8mb4"),
        2560..=2815 => Some("ucs2"),
        2816..=3071 => Some("utf16"),
        3072..=3327 => Some("utf32"),
        _ => None,
    };
    if let Some(name) = by_range {
        return Some(name.to_owned());
    }
    match CollationId::from(id) {
        CollationId::UNKNOWN_COLLATION_ID => None,
        known => Some(Collation::resolve(known).charset().to_owned()),
    }
}

/// The name of a collation id, or `None` for an id that is not known.
#[must_use]
pub fn collation_name(id: u16) -> Option<String> {
    match CollationId::from(id) {
        CollationId::UNKNOWN_COLLATION_ID => None,
        known => Some(Collation::resolve(known).collation().to_owned()),
    }
}

/// Statements of a client with this character set (any case) can be lexed byte by byte.
///
/// The name is one of `SET NAMES` or `character_set_client`; an unknown name is the server's to judge and counts as
/// lexable.
#[must_use]
pub fn is_lexable(charset: &str) -> bool {
    !TRAIL_BYTE_CAN_BE_ASCII
        .iter()
        .chain(&OTHER_THAN_ASCII)
        .any(|name| name.eq_ignore_ascii_case(charset))
        && !is_never_of_clients(charset)
}

/// No server takes it (any case) for the character set of a client.
#[must_use]
pub fn is_never_of_clients(charset: &str) -> bool {
    let mut sets = NEVER_A_CLIENT_SET.iter().chain([&OF_FILES]);
    sets.any(|name| name.eq_ignore_ascii_case(charset))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn collations_name_their_character_set() {
        for (id, name) in [
            (8, "latin1"),
            (33, "utf8mb3"),
            (45, "utf8mb4"),
            (63, "binary"),
            (28, "gbk"),
            (1, "big5"),
            (255, "utf8mb4"),
            (2304, "utf8mb4"),
        ] {
            assert_eq!(charset_of_collation(id).as_deref(), Some(name), "collation {id}");
        }
        assert_eq!(collation_name(45).as_deref(), Some("utf8mb4_general_ci"));
        assert_eq!(collation_name(0), None);
        assert_eq!(charset_of_collation(0), None);
        assert_eq!(charset_of_collation(65_000), None);
    }

    #[test]
    fn every_set_whose_trail_bytes_can_be_ascii_is_refused() {
        for name in [
            "big5", "GBK", "sjis", "cp932", "gb18030", "utf16", "ucs2", "utf32", "utf16le", "swe7",
            "filename",
        ] {
            assert!(!is_lexable(name), "{name}");
        }
        assert!(is_never_of_clients("UTF16") && !is_never_of_clients("gbk"));
        for name in [
            "utf8mb4", "utf8", "latin1", "binary", "ascii", "ujis", "euckr", "gb2312", "eucjpms",
        ] {
            assert!(is_lexable(name), "{name}");
        }
    }
}
