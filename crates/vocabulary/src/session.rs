//! How sessions of clients end.

use crate::words::words;

words! {
    /// What becomes of a statement that a server works at when its client has gone.
    #[derive(Default)]
    pub enum OnClientGone {
        /// The server finishes it.
        Finish = "finish",
        /// It is killed.
        Kill = "kill",
        /// Reads are killed, everything else finishes.
        #[default]
        KillReads = "kill_reads",
    }
}
