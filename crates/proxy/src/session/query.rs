//! A COM_QUERY: its frame, and the query attributes that stand before its text.

use shardwright_wire::{DecodeError, query_attributes};

use crate::channel::Frame;

/// A query as it came from the client, or as the proxy sends it in its place.
#[derive(Clone, Copy)]
pub(super) struct Query<'a> {
    pub(super) frame: &'a Frame,
    /// Bytes of attributes, behind the command byte; none with clients that do not speak of attributes.
    attributes_len: usize,
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
        Ok((Self::with_attributes(frame, attributes.len()), text))
    }

    /// A command without attributes.
    pub(super) fn plain(frame: &'a Frame) -> Self {
        Self::with_attributes(frame, 0)
    }

    /// One whose frame begins with so many bytes of attributes.
    pub(super) fn with_attributes(frame: &'a Frame, attributes_len: usize) -> Self {
        Self {
            frame,
            attributes_len,
        }
    }

    fn attributes(&self) -> &'a [u8] {
        let body = self.frame.payload().get(1..).unwrap_or_default();
        body.get(..self.attributes_len).unwrap_or_default()
    }

    /// The frame of another text with the same attributes.
    pub(super) fn frame_of(&self, text: &[u8]) -> Frame {
        frame_of(self.attributes(), text)
    }

    /// The same attributes in a frame that [`Query::frame_of`] has made.
    pub(super) fn within(&self, frame: &'a Frame) -> Self {
        Self { frame, ..*self }
    }

    /// The frame for a server that knows no attributes; `None` if there is nothing to leave out.
    pub(super) fn without_attributes(&self) -> Option<Frame> {
        let text = self.frame.payload().get(1 + self.attributes_len..)?;
        (self.attributes_len > 0).then(|| frame_of(&[], text))
    }
}

/// The frame of a text behind attributes.
pub(super) fn frame_of(attributes: &[u8], text: &[u8]) -> Frame {
    let mut frame = Frame::default();
    frame.fill(&[b"\x03", attributes, text]);
    frame
}
