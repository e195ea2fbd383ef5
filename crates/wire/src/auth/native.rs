//! `mysql_native_password`: answers and their verification.
//!
//! The answer is `SHA1(password) XOR SHA1(challenge ‖ SHA1(SHA1(password)))`
//! (MySQL internals, "Native Authentication").

use std::fmt;

use sha1::{Digest, Sha1};
use subtle::ConstantTimeEq;

use super::{SCRAMBLE_LEN, Scramble};
use crate::bytes::DecodeError;

/// `SHA1(password)`: enough to answer a challenge in a user's name. Never printed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct PasswordHash([u8; SCRAMBLE_LEN]);

impl PasswordHash {
    /// The hash of `password`; `None` for an empty one, which is answered with nothing.
    #[must_use]
    pub fn of(password: &[u8]) -> Option<Self> {
        (!password.is_empty()).then(|| Self(sha1(&[password])))
    }

    /// The answer to `scramble`.
    #[must_use]
    pub fn answer(&self, scramble: &Scramble) -> [u8; SCRAMBLE_LEN] {
        xor(self.0, sha1(&[&scramble.0, &sha1(&[&self.0])]))
    }
}

impl fmt::Debug for PasswordHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PasswordHash(..)")
    }
}

/// The answer to `scramble` with a password in the clear; empty for an empty password.
#[must_use]
pub fn native_answer(password: &[u8], scramble: &Scramble) -> Vec<u8> {
    PasswordHash::of(password).map_or_else(Vec::new, |hash| hash.answer(scramble).to_vec())
}

/// What a server keeps of a user's password: nothing for an empty one, else `SHA1(SHA1(password))`. Never printed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum NativeVerifier {
    /// The user has no password and must send none.
    NoPassword,
    /// The double hash.
    DoubleHash([u8; SCRAMBLE_LEN]),
}

impl NativeVerifier {
    /// From a password in the clear.
    #[must_use]
    pub fn from_password(password: &[u8]) -> Self {
        PasswordHash::of(password).map_or(Self::NoPassword, |hash| Self::DoubleHash(sha1(&[&hash.0])))
    }

    /// From `*` and 40 hexadecimal digits, as `PASSWORD()` and `mysql.user` write it.
    ///
    /// # Errors
    /// The text has another shape.
    pub fn from_hash_text(text: &str) -> Result<Self, DecodeError> {
        const SHAPE: DecodeError = DecodeError::Malformed("a password hash is * and 40 hexadecimal digits");
        let digits = text.strip_prefix('*').ok_or(SHAPE)?.as_bytes();
        let digits: &[u8; 2 * SCRAMBLE_LEN] = digits.try_into().map_err(|_| SHAPE)?;
        let mut hash = [0; SCRAMBLE_LEN];
        for (byte, pair) in hash.iter_mut().zip(digits.chunks_exact(2)) {
            let digit = |at: usize| char::from(pair[at]).to_digit(16).ok_or(SHAPE);
            *byte = (digit(0)? * 16 + digit(1)?) as u8;
        }
        Ok(Self::DoubleHash(hash))
    }

    /// From either form: `*` and 40 hexadecimal digits is a hash, everything else a password.
    #[must_use]
    pub fn from_secret(secret: &str) -> Self {
        Self::from_hash_text(secret).unwrap_or_else(|_| Self::from_password(secret.as_bytes()))
    }

    /// Checks a client's answer to `scramble`, in time that does not depend on where it is wrong.
    #[must_use]
    pub fn verify(&self, answer: &[u8], scramble: &Scramble) -> bool {
        self.reveal(answer, scramble).is_some()
    }

    /// What a right answer to `scramble` reveals: `SHA1(password)`, nothing for an empty password.
    pub(super) fn reveal(&self, answer: &[u8], scramble: &Scramble) -> Option<Option<PasswordHash>> {
        match self {
            Self::NoPassword => answer.is_empty().then_some(None),
            Self::DoubleHash(expected) => {
                let answer = <[u8; SCRAMBLE_LEN]>::try_from(answer).ok()?;
                let hash = xor(answer, sha1(&[&scramble.0, expected]));
                let is_right: bool = sha1(&[&hash]).ct_eq(expected).into();
                is_right.then_some(Some(PasswordHash(hash)))
            }
        }
    }

    /// Whether this is the password, in time that does not depend on where it is wrong.
    pub(super) fn is_of(&self, password: &[u8]) -> bool {
        match (self, PasswordHash::of(password)) {
            (Self::NoPassword, None) => true,
            (Self::DoubleHash(expected), Some(hash)) => sha1(&[&hash.0]).ct_eq(expected).into(),
            _ => false,
        }
    }
}

impl fmt::Debug for NativeVerifier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("NativeVerifier(..)")
    }
}

fn sha1(parts: &[&[u8]]) -> [u8; SCRAMBLE_LEN] {
    let mut hasher = Sha1::new();
    for part in parts {
        hasher.update(part);
    }
    hasher.finalize().into()
}

fn xor(mut left: [u8; SCRAMBLE_LEN], right: [u8; SCRAMBLE_LEN]) -> [u8; SCRAMBLE_LEN] {
    for (byte, other) in left.iter_mut().zip(right) {
        *byte ^= other;
    }
    left
}

#[cfg(test)]
mod tests {
    use super::*;

    const SCRAMBLE: Scramble = Scramble(*b"0123456789abcdefghij");

    #[test]
    fn the_hash_text_is_what_password_gives() {
        // SELECT PASSWORD('password') on MariaDB.
        let verifier = NativeVerifier::from_hash_text("*2470C0C06DEE42FD1618BB99005ADCA2EC9D1E19").unwrap();
        let answer = native_answer(b"password", &SCRAMBLE);
        assert!(verifier.verify(&answer, &SCRAMBLE));
        assert!(!verifier.verify(&answer, &Scramble([1; 20])));
    }

    #[test]
    fn only_the_right_answer_of_the_right_length_passes() {
        let verifier = NativeVerifier::from_password(b"secret");
        let right = native_answer(b"secret", &SCRAMBLE);
        for at in 0..right.len() {
            let mut wrong = right.clone();
            wrong[at] ^= 1;
            assert!(!verifier.verify(&wrong, &SCRAMBLE));
            assert!(!verifier.verify(&right[..at], &SCRAMBLE));
        }
        assert!(!verifier.verify(&[right.as_slice(), &[0]].concat(), &SCRAMBLE));
        assert!(!verifier.verify(&[], &SCRAMBLE));
    }

    #[test]
    fn no_password_means_no_answer() {
        let verifier = NativeVerifier::from_secret("");
        assert!(verifier.verify(&native_answer(b"", &SCRAMBLE), &SCRAMBLE));
        assert!(!verifier.verify(&native_answer(b"x", &SCRAMBLE), &SCRAMBLE));
    }

    #[test]
    fn malformed_hash_text_is_refused() {
        for text in [
            "",
            "*",
            "2470C0C06DEE42FD1618BB99005ADCA2EC9D1E19",
            "*2470C0C06DEE42FD1618BB99005ADCA2EC9D1E1",
            "*2470C0C06DEE42FD1618BB99005ADCA2EC9D1E1G",
        ] {
            assert!(NativeVerifier::from_hash_text(text).is_err(), "{text}");
        }
    }

    #[test]
    fn secrets_are_not_printed() {
        assert_eq!(
            format!("{:?}", NativeVerifier::from_password(b"x")),
            "NativeVerifier(..)"
        );
        assert_eq!(
            format!("{:?}", PasswordHash::of(b"x").unwrap()),
            "PasswordHash(..)"
        );
    }
}
