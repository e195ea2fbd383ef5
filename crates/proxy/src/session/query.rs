//! A COM_QUERY: its frame, and the query attributes that stand before its text.

use shardwright_wire::{DecodeError, query_attributes};

use crate::channel::Frame;

/// A query as it came from the client, or as the proxy sends it in its place.
#[derive(Clone, Copy)]
pub(super) struct Query<'a> {
    pub(super) frame: &'a Frame,
    /// What stands before the text; nothing with clients that do not speak of attributes.
    pub(super) attributes: &'a [u8],
}

impl<'a> Query<'a> {
    /// Splits what follows the command byte of a frame.
    ///
    /// # Errors
    /// [`DecodeError`] for attributes that cannot be read.
    pub(super) fn split(
        frame: &'a Frame,
        body: &'a [u8],
        has_attributes: bool,
    ) -> Result<(Self, &'a [u8]), DecodeError> {
        let (attributes, text) = match has_attributes {
            true => query_attributes::split_query(body)?,
            false => body.split_at(0),
        };
        Ok((Self { frame, attributes }, text))
    }

    /// The frame of another text with the same attributes.
    pub(super) fn frame_of(self, text: &[u8]) -> Frame {
        frame_of(self.attributes, text)
    }

    /// The frame for a server that knows no attributes; `None` if there is nothing to leave out.
    pub(super) fn without_attributes(self) -> Option<Frame> {
        let text = self.frame.payload().get(1 + self.attributes.len()..)?;
        (!self.attributes.is_empty()).then(|| frame_of(&[], text))
    }
}

/// The frame of a text behind attributes.
pub(super) fn frame_of(attributes: &[u8], text: &[u8]) -> Frame {
    let mut frame = Frame::default();
    frame.fill(&[b"\x03", attributes, text].concat());
    frame
}
