//! Where clients connect.

/// An address that clients connect to, as rules compare it.
#[derive(Debug)]
pub(crate) struct ListenAddress {
    pub(crate) host: String,
    pub(crate) port: u16,
}
