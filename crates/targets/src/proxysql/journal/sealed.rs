//! Rows of runs in a store that others can read: compressed, and sealed with a key of the team.
//!
//! Rows hold passwords as ProxySQL stores them. They are sealed with AES-256-GCM; the head of the run, which anybody may
//! read, is authenticated with them, so that nobody without the key can put rows under another run, or other rows in it.

use std::io::{Read, Write};
use std::path::PathBuf;

use aws_lc_rs::aead::{AES_256_GCM, Aad, NONCE_LEN, Nonce, RandomizedNonceKey};
use aws_lc_rs::hkdf::{HKDF_SHA256, KeyType, Prk, Salt};
use flate2::Compression;
use flate2::read::ZlibDecoder;
use flate2::write::ZlibEncoder;
use shardwright_rules::SecretReference;
use shardwright_secrets::{Access, resolve};
use zeroize::Zeroizing;

use super::error::JournalError;

/// The shortest text that is taken for a key: 32 characters of base64 are 192 bits.
const SHORTEST_KEY: usize = 32;
const KEY_BYTES: usize = 32;
/// The most that the rows of a run may become when they are unpacked: a thousand times more than rows ever were.
const MOST_BYTES: u64 = 1 << 32;

/// Where the key is found. It is sought when rows are sealed or opened, so that a history needs none.
#[derive(Clone, Debug)]
pub struct KeyReference {
    /// Where.
    pub reference: SecretReference,
    /// Where relative paths begin.
    pub base: PathBuf,
}

/// A key with its name.
pub(super) struct Key {
    key: RandomizedNonceKey,
    name: String,
}

struct Bytes(usize);

impl KeyType for Bytes {
    fn len(&self) -> usize {
        self.0
    }
}

impl KeyReference {
    pub(super) fn find(&self) -> Result<Key, JournalError> {
        let failed = |reason: String| JournalError::Sealed {
            what: "state: key".to_owned(),
            reason,
        };
        let text = resolve(&self.reference, &Access::from(&self.base));
        let text = text.map_err(|error| failed(error.to_string()))?;
        Key::new(text.expose()).map_err(failed)
    }
}

impl Key {
    fn new(text: &str) -> Result<Self, String> {
        if text.len() < SHORTEST_KEY {
            return Err(format!(
                "it has {} characters, and needs {SHORTEST_KEY}: `openssl rand -base64 32` makes one",
                text.len()
            ));
        }
        let secret = Salt::new(HKDF_SHA256, b"shardwright state").extract(text.as_bytes());
        let bytes: Zeroizing<[u8; KEY_BYTES]> = Zeroizing::new(derived(&secret, b"rows of runs")?);
        let name: [u8; 4] = derived(&secret, b"name of the key")?;
        Ok(Self {
            key: RandomizedNonceKey::new(&AES_256_GCM, &*bytes).map_err(|error| error.to_string())?,
            name: name.iter().map(|byte| format!("{byte:02x}")).collect(),
        })
    }

    /// Tells one key from another, and nothing of the key.
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// Packs and seals a text. Whoever opens it needs the same `head`.
    pub(super) fn seal(&self, text: &[u8], head: &[u8]) -> Result<Vec<u8>, String> {
        let mut packed = ZlibEncoder::new(Vec::new(), Compression::fast());
        let packed = packed.write_all(text).and_then(|()| packed.finish());
        let mut bytes = packed.map_err(|error| error.to_string())?;
        let nonce = self.key.seal_in_place_append_tag(Aad::from(head), &mut bytes);
        let nonce = nonce.map_err(|_| "it cannot be sealed".to_owned())?;
        Ok([nonce.as_ref().as_slice(), &bytes].concat())
    }

    /// The text of what was sealed with the same `head`.
    pub(super) fn open(&self, sealed: &[u8], head: &[u8]) -> Result<Zeroizing<Vec<u8>>, String> {
        let changed = || "it was changed since it was written, or is not whole".to_owned();
        let (nonce, bytes) = sealed.split_at_checked(NONCE_LEN).ok_or_else(changed)?;
        let nonce = Nonce::try_assume_unique_for_key(nonce).map_err(|_| changed())?;
        let mut bytes = Zeroizing::new(bytes.to_vec());
        let packed = self.key.open_in_place(nonce, Aad::from(head), &mut bytes);
        let packed = packed.map_err(|_| changed())?;
        let mut text = Zeroizing::new(Vec::new());
        let mut unpacked = ZlibDecoder::new(&*packed).take(MOST_BYTES);
        unpacked
            .read_to_end(&mut text)
            .map_err(|error| error.to_string())?;
        Ok(text)
    }
}

fn derived<const N: usize>(secret: &Prk, what: &[u8]) -> Result<[u8; N], String> {
    let mut bytes = [0; N];
    let filled = secret
        .expand(&[what], Bytes(N))
        .and_then(|derived| derived.fill(&mut bytes));
    filled.map_err(|error| error.to_string())?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(letter: &str) -> Key {
        Key::new(&letter.repeat(40)).unwrap()
    }

    #[test]
    fn only_the_same_key_and_head_open_what_was_sealed() {
        let text = b"*2470C0C06DEE42FD1618BB99005ADCA2EC9D1E19".repeat(100);
        let sealed = key("a").seal(&text, b"run 1").unwrap();
        assert!(!sealed.windows(8).any(|part| part == &text[..8]));
        assert_eq!(*key("a").open(&sealed, b"run 1").unwrap(), text);
        assert!(key("a").open(&sealed, b"run 2").is_err());
        assert!(key("b").open(&sealed, b"run 1").is_err());
        assert_ne!(key("a").name(), key("b").name());
        for at in [0, NONCE_LEN, sealed.len() - 1] {
            let mut changed = sealed.clone();
            changed[at] ^= 1;
            assert!(key("a").open(&changed, b"run 1").is_err(), "byte {at}");
        }
        for length in [0, NONCE_LEN, sealed.len() - 1] {
            assert!(
                key("a").open(&sealed[..length], b"run 1").is_err(),
                "{length} bytes"
            );
        }
        // The same rows twice are not the same bytes.
        assert_ne!(key("a").seal(&text, b"run 1").unwrap(), sealed);
    }

    #[test]
    fn a_short_text_is_no_key() {
        let error = Key::new("hunter2").err().unwrap();
        assert!(error.contains("7 characters"), "{error}");
        assert!(!error.contains("hunter2"), "{error}");
    }
}
