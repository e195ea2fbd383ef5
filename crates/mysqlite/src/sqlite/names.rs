//! Names and strings as SQLite writes them, and the names that it or this crate has for itself.

/// The schema of the tables about tables. No other can have the name.
pub(super) const INFORMATION_SCHEMA: &str = "information_schema";

/// A name for SQLite.
pub(super) fn quote_name(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// A string for SQLite, whose literals cannot hold NUL.
pub(super) fn quote_text(text: &str) -> String {
    if text.contains('\0') {
        let hex: String = text.bytes().map(|byte| format!("{byte:02x}")).collect();
        return format!("CAST(X'{hex}' AS TEXT)");
    }
    format!("'{}'", text.replace('\'', "''"))
}
