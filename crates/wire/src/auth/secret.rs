//! What a proxy shows of a password to log in to a server.

use std::fmt;

use zeroize::Zeroizing;

use super::{Method, PasswordHash, Scramble, native_answer, sha2_answer};

/// What answers for a user. Never printed.
#[derive(Clone)]
pub enum ClientSecret {
    /// The password; may be empty.
    Password(Zeroizing<Vec<u8>>),
    /// Its SHA1, which is enough for `mysql_native_password`.
    Hash(PasswordHash),
}

impl ClientSecret {
    /// A password in the clear.
    #[must_use]
    pub fn password(password: &[u8]) -> Self {
        Self::Password(Zeroizing::new(password.to_vec()))
    }

    /// The answer to a challenge; `None` where what is known does not suffice.
    pub(crate) fn answer(&self, method: Method, scramble: &Scramble) -> Option<Vec<u8>> {
        match (self, method) {
            (Self::Password(password), Method::Native) => Some(native_answer(password, scramble)),
            (Self::Password(password), Method::CachingSha2) => Some(sha2_answer(password, scramble)),
            (Self::Hash(hash), Method::Native) => Some(hash.answer(scramble).to_vec()),
            (Self::Hash(_), Method::CachingSha2) => None,
        }
    }
}

impl fmt::Debug for ClientSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ClientSecret(..)")
    }
}
