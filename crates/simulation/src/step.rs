//! What a session sends: a statement with the command that carries it.

use shardwright_rules::{KeyValue, SentAs, Statement};
use shardwright_sql::LexMode;

use shardwright_prover::expectation::Expected;

use crate::supposed::Supposed;

/// A statement and what must become of it.
#[derive(Clone, Debug)]
pub struct Step<'t> {
    /// The user who logged in.
    pub user: &'t str,
    /// The schema that the session is put in; none for the user's, and later for the one it is in.
    pub schema: Option<&'t str>,
    /// The client's address.
    pub client: Option<&'t str>,
    /// The name of the listener that the session came in through.
    pub listener: Option<&'t str>,
    /// Milliseconds since the statement before it.
    pub after_ms: u64,
    /// How the statement is sent.
    pub command: Command<'t>,
    /// The statement; not looked at for an execution, whose statement is the one that was prepared.
    pub query: &'t [u8],
    /// What is supposed of servers when it is sent.
    pub supposed: Supposed,
    /// What must become of it; none where all that counts is that it is not refused.
    pub expect: Option<Expected<'t>>,
}

/// The command of the protocol that a step sends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Command<'t> {
    /// COM_QUERY.
    #[default]
    Query,
    /// COM_STMT_PREPARE: the session has the statement under this name.
    Prepare(&'t str),
    /// COM_STMT_EXECUTE.
    Execute {
        /// What the session prepared under this name is executed.
        name: &'t str,
        /// The values that it binds, `None` for one that is no key; none where they are not known.
        values: Option<&'t [Option<KeyValue>]>,
    },
}

impl<'t> Command<'t> {
    /// A text that is sent so.
    #[must_use]
    pub(crate) fn statement<'s>(self, text: &'s [u8]) -> Statement<'s>
    where
        't: 's,
    {
        let statement = Statement::new(text, LexMode::default()).sent_as(self.sent_as());
        match self {
            Self::Execute {
                values: Some(values), ..
            } => statement.with_bound(values),
            _ => statement,
        }
    }

    /// The command without the name.
    #[must_use]
    pub const fn sent_as(self) -> SentAs {
        match self {
            Self::Query => SentAs::Query,
            Self::Prepare(_) => SentAs::Prepare,
            Self::Execute { .. } => SentAs::Execute,
        }
    }
}
