//! What a packet of a response is.

/// What the packet that is being read is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Class {
    Row,
    Definition,
    Text,
    Ok,
    Eof,
    Error,
    Prepared,
    Infile,
    Count,
}

impl Class {
    pub(super) const fn is_captured(self) -> bool {
        !matches!(self, Self::Row | Self::Definition | Self::Text)
    }
}
