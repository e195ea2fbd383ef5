//! The object that the comment of a row names.

use shardwright_plan::ObjectKind;
use shardwright_rules::Address;

use super::row::Row;

/// The object that a row names in its comment, as the rows that we write do.
pub(super) fn named_by(row: &Row) -> Option<Address> {
    object_in_comment(row.text("comment"))
}

/// The object that a comment of a row names; `None` for a comment that this program has not written.
pub fn object_in_comment(comment: &str) -> Option<Address> {
    let path = comment.split_once(": ").map_or(comment, |(path, _)| path);
    let address = Address::from(path);
    // A row that no object has is named by its table; no comment of ours says that.
    let is_path = path.contains('.') && !path.contains(char::is_whitespace) && !path.starts_with("mysql_");
    (is_path && ObjectKind::of(&address) != ObjectKind::Other).then_some(address)
}
