//! The RSA exchange of `caching_sha2_password`: the password, hidden by the challenge, encrypted with the server's key.
//!
//! RSA hides the password from those who listen, not from one who answers in the server's place with a key of their own.

use aws_lc_rs::encoding::AsDer;
use aws_lc_rs::rsa::{
    KeySize, OAEP_SHA1_MGF1SHA1, OaepPrivateDecryptingKey, OaepPublicEncryptingKey, PrivateDecryptingKey,
    PublicEncryptingKey,
};
use thiserror::Error;
use zeroize::Zeroizing;

use super::Scramble;
use crate::bytes::DecodeError;

/// The system could not make a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("no RSA key could be made")]
pub struct NoKey;

/// A server's key for passwords.
#[derive(Debug)]
pub struct RsaKey {
    private: OaepPrivateDecryptingKey,
    public_pem: String,
}

impl RsaKey {
    /// A fresh key of 2048 bits, as MySQL makes them. This takes a good part of a second.
    ///
    /// # Errors
    /// [`NoKey`].
    pub fn generate() -> Result<Self, NoKey> {
        let key = PrivateDecryptingKey::generate(KeySize::Rsa2048).map_err(|_| NoKey)?;
        let der = key.public_key().as_der().map_err(|_| NoKey)?;
        let public_pem = pem::encode_config(
            &pem::Pem::new("PUBLIC KEY", der.as_ref()),
            pem::EncodeConfig::new().set_line_ending(pem::LineEnding::LF),
        );
        Ok(Self {
            private: OaepPrivateDecryptingKey::new(key).map_err(|_| NoKey)?,
            public_pem,
        })
    }

    /// The payload that answers a client's question for the public key.
    #[must_use]
    pub fn public_key_payload(&self) -> Vec<u8> {
        [&[super::caching_sha2::MORE_DATA], self.public_pem.as_bytes()].concat()
    }

    /// The password that a client has encrypted, without the NUL at its end; `None` for anything else.
    pub(crate) fn decrypt(&self, ciphertext: &[u8], scramble: &Scramble) -> Option<Zeroizing<Vec<u8>>> {
        let mut buffer = Zeroizing::new(vec![0; self.private.min_output_size()]);
        let hidden = self
            .private
            .decrypt(&OAEP_SHA1_MGF1SHA1, ciphertext, &mut buffer, None)
            .ok()?;
        let mut password = Zeroizing::new(hidden.to_vec());
        hide(&mut password, scramble);
        (password.pop()? == 0).then_some(password)
    }
}

/// Encrypts a password for the server that sent this key.
pub(crate) fn encrypt(key: &[u8], password: &[u8], scramble: &Scramble) -> Result<Vec<u8>, DecodeError> {
    const NO_KEY: DecodeError = DecodeError::Malformed("the server's public key is no RSA key in PEM");
    let key = pem::parse(key).map_err(|_| NO_KEY)?;
    let key = PublicEncryptingKey::from_der(key.contents()).map_err(|_| NO_KEY)?;
    let key = OaepPublicEncryptingKey::new(key).map_err(|_| NO_KEY)?;
    let mut hidden = Zeroizing::new(Vec::with_capacity(password.len() + 1));
    hidden.extend_from_slice(password);
    hidden.push(0);
    hide(&mut hidden, scramble);
    let mut ciphertext = vec![0; key.ciphertext_size()];
    match key.encrypt(&OAEP_SHA1_MGF1SHA1, &hidden, &mut ciphertext, None) {
        Ok(encrypted) => Ok(encrypted.to_vec()),
        Err(_) => Err(DecodeError::Unsupported(
            "the password is longer than the server's public key can encrypt",
        )),
    }
}

fn hide(bytes: &mut [u8], scramble: &Scramble) {
    for (byte, mask) in bytes.iter_mut().zip(scramble.0.iter().cycle()) {
        *byte ^= mask;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SCRAMBLE: Scramble = Scramble(*b"0123456789abcdefghij");

    #[test]
    fn what_is_encrypted_comes_out_and_nothing_else() {
        let key = RsaKey::generate().unwrap();
        let payload = key.public_key_payload();
        let (first, pem) = payload.split_first().unwrap();
        assert_eq!(*first, 1);
        for password in ["", "secret", &"long ".repeat(42)] {
            let encrypted = encrypt(pem, password.as_bytes(), &SCRAMBLE).unwrap();
            let decrypted = key.decrypt(&encrypted, &SCRAMBLE).unwrap();
            assert_eq!(*decrypted, password.as_bytes());
            let elsewhere = key.decrypt(&encrypted, &Scramble([7; 20]));
            assert!(elsewhere.is_none_or(|other| *other != *decrypted));
            let mut damaged = encrypted.clone();
            damaged[100] ^= 1;
            assert!(key.decrypt(&damaged, &SCRAMBLE).is_none());
            assert!(key.decrypt(&encrypted[1..], &SCRAMBLE).is_none());
        }
        assert!(encrypt(pem, &[b'x'; 300], &SCRAMBLE).is_err());
        assert!(encrypt(b"no key", b"x", &SCRAMBLE).is_err());
        let other = "-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n";
        assert!(encrypt(other.as_bytes(), b"x", &SCRAMBLE).is_err());
    }
}
