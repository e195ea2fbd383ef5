//! Texts of users, cut where a message or a cell has room for no more.

use std::borrow::Cow;

/// The first `most` characters of a text, and `…` where it goes on.
pub fn shortened(text: &str, most: usize) -> Cow<'_, str> {
    match text.char_indices().nth(most) {
        Some((end, _)) => Cow::Owned(format!("{}…", &text[..end])),
        None => Cow::Borrowed(text),
    }
}

#[cfg(test)]
mod tests {
    use super::shortened;

    #[test]
    fn characters_are_counted() {
        for (text, most, shown) in [("äöü", 3, "äöü"), ("äöü", 2, "äö…"), ("", 0, ""), ("a", 0, "…")]
        {
            assert_eq!(shortened(text, most), shown);
        }
    }
}
