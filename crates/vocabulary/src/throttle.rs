//! Throttles.

use crate::words::words;

words! {
    /// What a throttle does while its signal is not known.
    #[derive(Default)]
    pub enum OnUnknown {
        /// It stays as it is.
        #[default]
        Hold = "hold",
        /// Statements pass.
        Release = "release",
    }
}
