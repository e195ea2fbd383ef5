//! What is read of a text that is met again.

use shardwright_sql::skeleton::Lead;
use shardwright_sql::skim::Comments;
use shardwright_sql::{Digest, LexMode, Shape, Skim};

/// What is read of a text once where it is executed many times. It is true of the same text in the same [`LexMode`] only.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KnownText {
    pub(crate) skim: Skim,
    pub(crate) shape: Shape,
    pub(crate) digest_hash: u64,
}

impl KnownText {
    /// Reads a text.
    pub fn of(text: &[u8], mode: LexMode) -> Self {
        let skim = Skim::of(text, mode);
        Self {
            skim,
            shape: Shape::of_class(text, mode, skim.class),
            digest_hash: Digest::of(text).hash,
        }
    }

    /// The same where this stands before the text.
    pub(crate) fn behind(mut self, lead: Lead) -> Self {
        if let Some(comment) = lead.comment {
            self.skim.comments = Comments::Lone(comment);
        }
        self
    }
}
