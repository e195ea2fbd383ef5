//! What is kept of a user's password to check logins by any method, and what a login reveals.
//!
//! The secret of a user is a password or one of the hashes that servers store. A hash can do less:
//!
//! | the secret | native answer | fast SHA-256 answer | the password itself | then known to log in elsewhere |
//! |---|---|---|---|---|
//! | password | checked | checked | checked | the password, from the start |
//! | `*` and 40 digits | checked | cannot be checked | checked | `SHA1(password)`, from a native answer; the password, if it was sent |
//! | `$A$005$…` | cannot be checked | cannot be checked | checked | the password, once it was sent |

use std::fmt;

use zeroize::Zeroizing;

use super::caching_sha2::{Sha2Verifier, StoredHash, is_empty_password};
use super::native::NativeVerifier;
use super::secret::ClientSecret;
use super::{Method, RsaKey, Scramble};

/// What is kept of a password to check logins. Never printed.
#[derive(Clone)]
pub struct Verifier(Kept);

#[derive(Clone, PartialEq, Eq)]
enum Kept {
    Password {
        native: NativeVerifier,
        sha2: Sha2Verifier,
    },
    NativeHash(NativeVerifier),
    StoredHash(Box<StoredHash>),
}

impl Verifier {
    /// From a password in the clear.
    #[must_use]
    pub fn from_password(password: &[u8]) -> Self {
        Self(Kept::Password {
            native: NativeVerifier::from_password(password),
            sha2: Sha2Verifier::from_password(password),
        })
    }

    /// From what `mysql.user` holds: `*` and 40 hexadecimal digits, or `$A$` and what follows it there, as text or as
    /// `0x` and hexadecimal digits. `None` for any other text, which is a password.
    #[must_use]
    pub fn from_hash_text(text: &str) -> Option<Self> {
        if let Ok(native) = NativeVerifier::from_hash_text(text) {
            return Some(Self(Kept::NativeHash(native)));
        }
        Some(Self(Kept::StoredHash(Box::new(StoredHash::from_text(text)?))))
    }

    /// From a hash or a password.
    #[must_use]
    pub fn from_secret(secret: &str) -> Self {
        Self::from_hash_text(secret).unwrap_or_else(|| Self::from_password(secret.as_bytes()))
    }

    /// Whether both are of the same hash, or of the same password.
    #[must_use]
    pub fn is_same(&self, other: &Self) -> bool {
        self.0 == other.0
    }

    /// Whether answers to a challenge of this method can be checked.
    pub(crate) fn checks_answers(&self, method: Method) -> bool {
        match (&self.0, method) {
            (Kept::Password { .. }, _) | (Kept::NativeHash(_), Method::Native) => true,
            (Kept::NativeHash(_), Method::CachingSha2) | (Kept::StoredHash(_), _) => false,
        }
    }

    /// Checks what a client has shown.
    ///
    /// The check of a password against a stored hash takes milliseconds: see [`Proof::is_slow`].
    #[must_use]
    pub fn verify(&self, proof: &Proof) -> Option<Proven> {
        match proof {
            Proof::Answer {
                method: Method::Native,
                answer,
                scramble,
            } => {
                let (Kept::Password { native, .. } | Kept::NativeHash(native)) = &self.0 else {
                    return None;
                };
                let revealed = native.reveal(answer, scramble)?;
                Some(Proven(revealed.map(ClientSecret::Hash)))
            }
            Proof::Answer {
                method: Method::CachingSha2,
                answer,
                scramble,
            } => match &self.0 {
                Kept::Password { sha2, .. } if sha2.verify(answer, scramble) => Some(Proven(None)),
                _ => None,
            },
            Proof::Password(password) => {
                let is_right = match &self.0 {
                    Kept::Password { native, .. } | Kept::NativeHash(native) => native.is_of(password),
                    Kept::StoredHash(stored) => stored.is_of(password),
                };
                is_right.then(|| Proven(Some(ClientSecret::Password(password.clone()))))
            }
            Proof::Encrypted { .. } => None,
        }
    }
}

impl fmt::Debug for Verifier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Verifier(..)")
    }
}

/// A login that is right, and what it has revealed.
#[derive(Debug)]
pub struct Proven(pub Option<ClientSecret>);

/// What a client shows of its password. Never printed.
pub enum Proof {
    /// An answer to a challenge.
    Answer {
        /// By this method.
        method: Method,
        /// The answer.
        answer: Vec<u8>,
        /// The challenge.
        scramble: Scramble,
    },
    /// The password, from a connection that nobody else can read.
    Password(Zeroizing<Vec<u8>>),
    /// The password, encrypted with the key that the client was sent.
    Encrypted {
        /// What the client sent.
        ciphertext: Vec<u8>,
        /// The challenge that hides it.
        scramble: Scramble,
    },
}

impl Proof {
    /// Whether checking it takes milliseconds.
    #[must_use]
    pub fn is_slow(&self) -> bool {
        matches!(self, Self::Password(_) | Self::Encrypted { .. })
    }

    /// With the password out of its encryption. What cannot be decrypted stays, and proves nothing.
    #[must_use]
    pub fn decrypted(self, key: &RsaKey) -> Self {
        match self {
            Self::Encrypted { ciphertext, scramble } => match key.decrypt(&ciphertext, &scramble) {
                Some(password) => Self::Password(password),
                None => Self::Encrypted { ciphertext, scramble },
            },
            other => other,
        }
    }

    /// Whether the client says that it has no password.
    pub(crate) fn is_empty(&self) -> bool {
        match self {
            Self::Answer { answer, .. } => is_empty_password(answer),
            Self::Password(password) => password.is_empty(),
            Self::Encrypted { .. } => false,
        }
    }
}

impl fmt::Debug for Proof {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Proof(..)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::auth::{native_answer, sha2_answer};

    const SCRAMBLE: Scramble = Scramble(*b"0123456789abcdefghij");
    const NATIVE_HASH: &str = "*2470C0C06DEE42FD1618BB99005ADCA2EC9D1E19";

    fn proofs(password: &[u8]) -> [Proof; 3] {
        let answer = |method, answer| Proof::Answer {
            method,
            answer,
            scramble: SCRAMBLE,
        };
        [
            answer(Method::Native, native_answer(password, &SCRAMBLE)),
            answer(Method::CachingSha2, sha2_answer(password, &SCRAMBLE)),
            Proof::Password(Zeroizing::new(password.to_vec())),
        ]
    }

    fn accepted(verifier: &Verifier, password: &[u8]) -> [bool; 3] {
        proofs(password).map(|proof| verifier.verify(&proof).is_some())
    }

    #[test]
    fn each_secret_checks_what_it_can() {
        let password = Verifier::from_secret("password");
        assert_eq!(accepted(&password, b"password"), [true, true, true]);
        assert_eq!(accepted(&password, b"other"), [false; 3]);
        let hash = Verifier::from_secret(NATIVE_HASH);
        assert_eq!(accepted(&hash, b"password"), [true, false, true]);
        assert_eq!(accepted(&hash, b"other"), [false; 3]);
        assert_eq!(
            accepted(&hash, NATIVE_HASH.as_bytes()),
            [false; 3],
            "a hash is no password"
        );
        let empty = Verifier::from_password(b"");
        assert_eq!(accepted(&empty, b""), [true; 3]);
        assert_eq!(accepted(&empty, b"x"), [false; 3]);
    }

    #[test]
    fn a_native_answer_reveals_enough_to_answer_in_the_users_name() {
        let verifier = Verifier::from_secret(NATIVE_HASH);
        let [native, _, clear] = proofs(b"password");
        let Some(Proven(Some(ClientSecret::Hash(hash)))) = verifier.verify(&native) else {
            panic!("a hash")
        };
        let other = Scramble([9; 20]);
        assert_eq!(hash.answer(&other).to_vec(), native_answer(b"password", &other));
        let Some(Proven(Some(ClientSecret::Password(password)))) = verifier.verify(&clear) else {
            panic!("the password")
        };
        assert_eq!(*password, b"password");
    }

    #[test]
    fn secrets_are_not_printed() {
        let [native, _, clear] = proofs(b"geheim");
        let printed = format!("{native:?} {clear:?} {:?}", Verifier::from_secret("geheim"));
        assert_eq!(printed, "Proof(..) Proof(..) Verifier(..)");
    }
}
