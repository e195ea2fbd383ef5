//! Positions in a text as editors count them: lines from 0, and characters in the units that were agreed on.

use lsp_types::{Position, PositionEncodingKind, Range};

/// The unit of `Position::character`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Encoding {
    /// Bytes.
    Utf8,
    /// What every client can.
    #[default]
    Utf16,
}

impl Encoding {
    /// The first that both sides know; bytes, if the client offers them, since nothing is converted then.
    pub(super) fn agree(offered: Option<&[PositionEncodingKind]>) -> Self {
        if offered.is_some_and(|offered| offered.contains(&PositionEncodingKind::UTF8)) {
            Self::Utf8
        } else {
            Self::Utf16
        }
    }

    pub(super) const fn kind(self) -> PositionEncodingKind {
        match self {
            Self::Utf8 => PositionEncodingKind::UTF8,
            Self::Utf16 => PositionEncodingKind::UTF16,
        }
    }

    fn units(self, text: &str) -> usize {
        match self {
            Self::Utf8 => text.len(),
            Self::Utf16 => text.chars().map(char::len_utf16).sum(),
        }
    }

    /// The byte that is so many units after the start; the end of the text where it is shorter, and the start
    /// of the character where the position is inside of one.
    fn byte(self, text: &str, units: usize) -> usize {
        let mut seen = 0;
        for (at, letter) in text.char_indices() {
            seen += match self {
                Self::Utf8 => letter.len_utf8(),
                Self::Utf16 => letter.len_utf16(),
            };
            if seen > units {
                return at;
            }
        }
        text.len()
    }
}

/// Where the lines of a text start. Lines end with a line feed, a carriage return, or both.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Lines {
    starts: Vec<usize>,
}

impl Lines {
    pub(super) fn of(text: &str) -> Self {
        let bytes = text.as_bytes();
        let ends = bytes.iter().enumerate().filter(|(at, byte)| match byte {
            b'\n' => true,
            b'\r' => bytes.get(at + 1) != Some(&b'\n'),
            _ => false,
        });
        Self {
            starts: std::iter::once(0).chain(ends.map(|(at, _)| at + 1)).collect(),
        }
    }

    /// The position of a byte.
    pub(super) fn position(&self, text: &str, offset: usize, encoding: Encoding) -> Position {
        let mut offset = offset.min(text.len());
        while !text.is_char_boundary(offset) {
            offset -= 1;
        }
        let line = self.starts.partition_point(|start| *start <= offset) - 1;
        let before = &text[self.starts[line]..offset];
        Position::new(number(line), number(encoding.units(before)))
    }

    /// The byte at a position; positions past the end of a line or of the text count as that end.
    pub(super) fn offset(&self, text: &str, position: Position, encoding: Encoding) -> usize {
        let line = position.line as usize;
        let Some(start) = self.starts.get(line) else {
            return text.len();
        };
        let end = self.starts.get(line + 1).copied().unwrap_or(text.len());
        let line = text[*start..end].trim_end_matches(['\r', '\n']);
        start + encoding.byte(line, position.character as usize)
    }

    pub(super) fn range(&self, text: &str, bytes: std::ops::Range<usize>, encoding: Encoding) -> Range {
        Range::new(
            self.position(text, bytes.start, encoding),
            self.position(text, bytes.end, encoding),
        )
    }
}

fn number(at: usize) -> u32 {
    u32::try_from(at).unwrap_or(u32::MAX)
}

/// Replaces a range of a text; the whole text without one.
pub(super) fn change(text: &mut String, range: Option<Range>, new: &str, encoding: Encoding) {
    let Some(range) = range else {
        new.clone_into(text);
        return;
    };
    let lines = Lines::of(text);
    let start = lines.offset(text, range.start, encoding);
    let end = lines.offset(text, range.end, encoding).max(start);
    text.replace_range(start..end, new);
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const SAMPLE: &str = "aü𝄞b\r\ncd\n\rx";

    #[test]
    fn places_are_counted_in_the_agreed_units() {
        let lines = Lines::of(SAMPLE);
        for (offset, utf8, utf16) in [
            (0, (0, 0), (0, 0)),
            (3, (0, 3), (0, 2)),
            (7, (0, 7), (0, 4)),
            (8, (0, 8), (0, 5)),
            (10, (1, 0), (1, 0)),
            (13, (2, 0), (2, 0)),
            (14, (3, 0), (3, 0)),
            (99, (3, 1), (3, 1)),
        ] {
            let at = |(line, character)| Position::new(line, character);
            assert_eq!(
                lines.position(SAMPLE, offset, Encoding::Utf8),
                at(utf8),
                "{offset}"
            );
            assert_eq!(
                lines.position(SAMPLE, offset, Encoding::Utf16),
                at(utf16),
                "{offset}"
            );
        }
        // Inside of a character, behind a line, behind the text.
        assert_eq!(lines.offset(SAMPLE, Position::new(0, 3), Encoding::Utf16), 3);
        assert_eq!(lines.offset(SAMPLE, Position::new(0, 99), Encoding::Utf16), 8);
        assert_eq!(
            lines.offset(SAMPLE, Position::new(9, 0), Encoding::Utf16),
            SAMPLE.len()
        );
    }

    #[test]
    fn changes_replace_what_they_name() {
        let mut text = SAMPLE.to_owned();
        let range = Range::new(Position::new(0, 2), Position::new(1, 1));
        change(&mut text, Some(range), "-", Encoding::Utf16);
        assert_eq!(text, "aü-d\n\rx");
        let backwards = Range::new(Position::new(0, 2), Position::new(0, 1));
        change(&mut text, Some(backwards), "+", Encoding::Utf16);
        assert_eq!(text, "aü+-d\n\rx");
        change(&mut text, None, "new", Encoding::Utf16);
        assert_eq!(text, "new");
    }

    proptest! {
        #[test]
        fn a_place_leads_back_to_its_byte(text in "[a\n\rü𝄞]{0,30}", at in 0usize..60) {
            let lines = Lines::of(&text);
            for encoding in [Encoding::Utf8, Encoding::Utf16] {
                let back = lines.offset(&text, lines.position(&text, at, encoding), encoding);
                let mut start = at.min(text.len());
                while !text.is_char_boundary(start) {
                    start -= 1;
                }
                // The two bytes of a line end are one position.
                let inside = text[..start].ends_with('\r') && text[start..].starts_with('\n');
                prop_assert_eq!(back, start - usize::from(inside));
            }
        }

        #[test]
        fn no_change_panics(mut text in "[a\n\rü𝄞]{0,20}", a in 0u32..5, b in 0u32..9, c in 0u32..5, d in 0u32..9) {
            let range = Range::new(Position::new(a, b), Position::new(c, d));
            for encoding in [Encoding::Utf8, Encoding::Utf16] {
                change(&mut text, Some(range), "𝄞\r", encoding);
            }
        }
    }
}
