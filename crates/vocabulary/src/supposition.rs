//! What is supposed of a server, in `route --if` and in the `if` of route tests.

use crate::duration::{duration_ms, parse_unsigned};

/// What is supposed of a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Supposition {
    /// It does not answer.
    Down,
    /// It cannot write.
    ReadOnly,
    /// It can write, and replicates from nowhere.
    Promoted,
    /// It is so far behind, ms.
    Lags(u64),
    /// It does not say how far it is behind.
    LagUnknown,
    /// So many transactions wait to be applied.
    Queue(u64),
    /// It is not in the majority of its group.
    Minority,
}

impl Supposition {
    /// Every form, as it is written.
    pub const FORMS: &'static str = "down, read-only, promoted, minority, lag:20s, lag:unknown, queue:500";

    /// What a text such as `down` or `lag:20s` means.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        Some(match text.split_once(':').unwrap_or((text, "")) {
            ("down", "") => Self::Down,
            ("read-only", "") => Self::ReadOnly,
            ("promoted", "") => Self::Promoted,
            ("minority", "") => Self::Minority,
            ("lag", "unknown") => Self::LagUnknown,
            ("lag", lag) => Self::Lags(duration_ms(lag)?),
            ("queue", queue) => Self::Queue(parse_unsigned(queue)?),
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_form_is_read() {
        let read: Vec<_> = Supposition::FORMS.split(", ").map(Supposition::parse).collect();
        let expected = [
            Supposition::Down,
            Supposition::ReadOnly,
            Supposition::Promoted,
            Supposition::Minority,
            Supposition::Lags(20_000),
            Supposition::LagUnknown,
            Supposition::Queue(500),
        ];
        assert_eq!(read, expected.map(Some));
        for text in ["", "up", "down:1", "lag", "lag:20", "queue:-1", "queue:"] {
            assert_eq!(Supposition::parse(text), None, "{text}");
        }
    }
}
