//! Encryption: towards servers, and of clients.

use crate::words::words;

words! {
    /// Encryption towards the servers of a cluster.
    #[derive(Default)]
    pub enum ServerTls {
        /// None.
        #[default]
        Disabled = "disabled",
        /// TLS where the server offers it.
        Preferred = "preferred",
        /// TLS or no connection.
        Required = "required",
        /// TLS with a verified certificate or no connection.
        Verify = "verify",
    }

    /// What a user's client must do to log in.
    #[derive(Default)]
    pub enum ClientTls {
        /// It may use TLS.
        #[default]
        Optional = "optional",
        /// It must use TLS.
        Required = "required",
        /// It must use TLS and show a certificate.
        Certificate = "certificate",
    }
}

impl ClientTls {
    /// Whether nothing is asked for.
    #[must_use]
    pub fn is_optional(&self) -> bool {
        *self == Self::Optional
    }
}
