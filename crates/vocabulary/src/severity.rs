//! How bad a problem is.

use crate::words::words;

words! {
    /// How bad a problem is; the worst first.
    pub enum Severity {
        /// Nothing is compiled or applied while it stands.
        Error = "error",
        /// Probably not what was meant.
        Warning = "warning",
        /// Worth knowing.
        Info = "info",
    }
}
