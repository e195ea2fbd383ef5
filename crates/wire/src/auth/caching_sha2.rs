//! `caching_sha2_password`: fast answers, the stored hash, and the short packets between them.
//!
//! A login has two ways. The *fast* way is a challenge like `mysql_native_password`'s, with SHA-256:
//! `SHA256(password) XOR SHA256(SHA256(SHA256(password)) ‖ challenge)` (MySQL,
//! `sha2_password_common.cc`). A server takes
//! it when it has `SHA256(SHA256(password))`, which is not what it stores on disk. If it does not, it asks for the *full*
//! way: the client sends the password itself, through TLS, through a unix socket, or encrypted with the server's RSA key.
//!
//! ```text
//! client ▶ fast answer ─ the server has the double hash ─▶ 01 03, OK
//!                      └ it does not ────────────────────▶ 01 04 ▶ client ▶ password ▶ OK
//! ```

use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

use super::Scramble;

/// Bytes of a SHA-256.
const HASH_LEN: usize = 32;

/// Starts what is neither the end of an authentication nor a change of its method.
pub(crate) const MORE_DATA: u8 = 0x01;

/// A server's payload: the fast answer was right, and OK follows.
pub const FAST_ACCEPTED: [u8; 2] = [MORE_DATA, 3];

/// A server's payload: it needs the password itself.
pub const FULL_WANTED: [u8; 2] = [MORE_DATA, 4];

/// A client's payload: it wants the public key to encrypt the password with.
pub(crate) const PUBLIC_KEY_WANTED: [u8; 1] = [2];

/// The fast answer to `scramble`; empty for an empty password.
#[must_use]
pub fn sha2_answer(password: &[u8], scramble: &Scramble) -> Vec<u8> {
    if password.is_empty() {
        return Vec::new();
    }
    let once = sha256(&[password]);
    let twice = sha256(&[&once]);
    xor(once, sha256(&[&twice, &scramble.0])).to_vec()
}

/// What a server keeps for fast logins: nothing for an empty password, else `SHA256(SHA256(password))`.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Sha2Verifier {
    NoPassword,
    DoubleHash([u8; HASH_LEN]),
}

impl Sha2Verifier {
    pub(super) fn from_password(password: &[u8]) -> Self {
        if password.is_empty() {
            return Self::NoPassword;
        }
        Self::DoubleHash(sha256(&[&sha256(&[password])]))
    }

    /// Checks a fast answer, in time that does not depend on where it is wrong.
    pub(super) fn verify(&self, answer: &[u8], scramble: &Scramble) -> bool {
        match self {
            Self::NoPassword => is_empty_password(answer),
            Self::DoubleHash(twice) => {
                let Ok(answer) = <[u8; HASH_LEN]>::try_from(answer) else {
                    return false;
                };
                let once = xor(answer, sha256(&[twice, &scramble.0]));
                sha256(&[&once]).ct_eq(twice).into()
            }
        }
    }
}

/// Whether a client answers that it has no password: with nothing, or with one NUL as MySQL's own client does.
pub(super) fn is_empty_password(answer: &[u8]) -> bool {
    matches!(answer, [] | [0])
}

/// The stored form: `$A$`, thousands of rounds in three hexadecimal digits, `$`, 20 bytes of salt, 43 characters of
/// sha256-crypt. It recognises a password and cannot answer or check a challenge.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct StoredHash {
    rounds: u32,
    salt: [u8; 20],
    digest: [u8; 43],
}

impl StoredHash {
    const LEN: usize = 70;

    /// From the text in `mysql.user`, or from what `SHOW CREATE USER` prints with `print_identified_with_as_hex`.
    pub(super) fn from_text(text: &str) -> Option<Self> {
        if let Some(hex) = text.strip_prefix("0x") {
            let digits: Option<Vec<u8>> = hex.chars().map(|digit| Some(digit.to_digit(16)? as u8)).collect();
            let bytes: Vec<u8> = digits?
                .chunks_exact(2)
                .map(|pair| pair[0] << 4 | pair[1])
                .collect();
            return (hex.len() == 2 * Self::LEN).then(|| Self::from_bytes(&bytes))?;
        }
        Self::from_bytes(text.as_bytes())
    }

    fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let bytes: &[u8; Self::LEN] = bytes.try_into().ok()?;
        let (head, rest) = bytes.split_first_chunk::<7>()?;
        let (salt, digest) = rest.split_first_chunk::<20>()?;
        let [b'$', b'A', b'$', digits @ .., b'$'] = head else {
            return None;
        };
        let thousands = u32::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()?;
        let is_crypt = digest
            .iter()
            .all(|byte| super::sha256_crypt::ALPHABET.contains(byte));
        (thousands > 0 && is_crypt).then_some(Self {
            rounds: thousands * 1000,
            salt: *salt,
            digest: digest.try_into().ok()?,
        })
    }

    /// Whether this is the password. It takes milliseconds, which is its purpose.
    pub(super) fn is_of(&self, password: &[u8]) -> bool {
        let digest = super::sha256_crypt::sha256_crypt(password, &self.salt, self.rounds);
        digest.ct_eq(&self.digest).into()
    }
}

fn sha256(parts: &[&[u8]]) -> [u8; HASH_LEN] {
    let mut hasher = Sha256::new();
    for part in parts {
        hasher.update(part);
    }
    hasher.finalize().into()
}

fn xor(mut left: [u8; HASH_LEN], right: [u8; HASH_LEN]) -> [u8; HASH_LEN] {
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
    fn only_the_right_answer_of_the_right_length_passes() {
        let verifier = Sha2Verifier::from_password(b"secret");
        let right = sha2_answer(b"secret", &SCRAMBLE);
        assert!(verifier.verify(&right, &SCRAMBLE));
        assert!(!verifier.verify(&right, &Scramble([1; 20])));
        for at in 0..right.len() {
            let mut wrong = right.clone();
            wrong[at] ^= 1;
            assert!(!verifier.verify(&wrong, &SCRAMBLE));
            assert!(!verifier.verify(&right[..at], &SCRAMBLE));
        }
        assert!(!verifier.verify(&[], &SCRAMBLE));
        assert!(Sha2Verifier::from_password(b"").verify(&[0], &SCRAMBLE));
        assert!(!Sha2Verifier::from_password(b"").verify(&right, &SCRAMBLE));
    }

    /// The example of mode 7401 on hashcat's page of example hashes, which is a row of `mysql.user`.
    const HASHCAT: &str = "0x2441243030352\
        4F9CC98CE08892924F50A213B6BC571A2C11778C5\
        625479393559393965414D45316477456B484F41316E64484742577A2E3162785353526B7554584647562F";

    #[test]
    fn a_stored_hash_knows_its_password() {
        let stored = StoredHash::from_text(HASHCAT).unwrap();
        assert!(stored.is_of(b"hashcat"));
        assert!(!stored.is_of(b"hashcaT"));
        assert!(!stored.is_of(b""));
    }

    #[test]
    fn what_is_no_stored_hash_is_none() {
        let plain = "$A$005$abcdefghijklmnopqrst5B8vYYiY.CVt1RlTTf8KbXBH3hsxY/GNooZaBBGWEc5";
        assert!(StoredHash::from_text(plain).is_some());
        for text in [
            "",
            "0x",
            "$A$005$",
            &plain[1..],
            &plain.replace("005", "000"),
            &plain.replace("005", "zzz"),
            &plain.replace("$A$", "$B$"),
            &plain.replace('Y', "!"),
            &HASHCAT[..HASHCAT.len() - 1],
            &HASHCAT.replace("0x24", "0x25"),
        ] {
            assert!(StoredHash::from_text(text).is_none(), "{text}");
        }
    }
}
