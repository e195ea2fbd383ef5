//! Authentication: challenges, the packet that changes the method, and a module for each method.

pub(crate) mod caching_sha2;
mod native;
pub(crate) mod rsa;
mod secret;
mod sha256_crypt;
mod verifier;

use mysql_common::packets::AuthSwitchRequest;
use mysql_common::proto::MySerialize;

pub use self::caching_sha2::{FAST_ACCEPTED, FULL_WANTED, sha2_answer};
pub use self::native::{NativeVerifier, PasswordHash, native_answer};
pub use self::rsa::{NoKey, RsaKey};
pub use self::secret::ClientSecret;
pub use self::verifier::{Proof, Proven, Verifier};
use crate::bytes::DecodeError;

/// A method that is spoken on both sides.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Method {
    /// `mysql_native_password`: what every client and server of the last twenty years speaks, but MySQL 9.
    Native,
    /// `caching_sha2_password`: the default of MySQL 8 and 9.
    CachingSha2,
}

impl Method {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Native, Self::CachingSha2];

    /// As the protocol names it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Native => "mysql_native_password",
            Self::CachingSha2 => "caching_sha2_password",
        }
    }

    /// The method of this name.
    #[must_use]
    pub fn named(name: &[u8]) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|method| method.name().as_bytes() == name)
    }
}

/// Bytes of a challenge and of a SHA1.
pub const SCRAMBLE_LEN: usize = 20;

/// A challenge: 20 bytes that a client must combine with its password.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Scramble(pub [u8; SCRAMBLE_LEN]);

impl Scramble {
    /// A fresh challenge from the operating system's generator.
    ///
    /// Bytes are 1 to 127 and never `$`: a NUL ends the challenge for old clients, and servers avoid `$` as well
    /// (MySQL `generate_user_salt`).
    ///
    /// # Errors
    /// The operating system has no random bytes to give.
    pub fn generate() -> Result<Self, getrandom::Error> {
        let mut bytes = [0; SCRAMBLE_LEN];
        getrandom::fill(&mut bytes)?;
        Ok(Self(bytes.map(|byte| match byte & 0x7F {
            0 | b'$' => (byte & 0x7F) + 1,
            usable => usable,
        })))
    }

    /// Reads a challenge of a handshake or of an auth switch: 20 bytes, then perhaps a NUL.
    pub(crate) fn from_wire(data: &[u8]) -> Result<Self, DecodeError> {
        match data.split_first_chunk::<SCRAMBLE_LEN>() {
            Some((bytes, [] | [0])) => Ok(Self(*bytes)),
            _ => Err(DecodeError::Malformed("the challenge is not 20 bytes")),
        }
    }
}

/// The payload that asks a client for another method, with this challenge.
#[must_use]
pub fn switch_to(method: Method, scramble: &Scramble) -> Vec<u8> {
    let data = [scramble.0.as_slice(), &[0]].concat();
    let mut out = Vec::new();
    AuthSwitchRequest::new(method.name().as_bytes(), data).serialize(&mut out);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scramble_survives_clients_that_stop_at_nul() {
        for _ in 0..200 {
            let Scramble(bytes) = Scramble::generate().unwrap();
            assert!(
                bytes
                    .iter()
                    .all(|&byte| (1..=127).contains(&byte) && byte != b'$')
            );
        }
    }
}
