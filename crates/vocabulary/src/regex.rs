//! Libraries of regular expressions.

use crate::words::words;

words! {
    /// The library that an engine matches patterns with.
    pub enum RegexEngine {
        /// PCRE, byte mode.
        Pcre = "pcre",
        /// RE2.
        Re2 = "re2",
    }
}
