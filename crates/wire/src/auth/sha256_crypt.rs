//! sha256-crypt, as `caching_sha2_password` stores passwords.
//!
//! This is Ulrich Drepper's "Unix crypt using SHA-256" with one difference: MySQL uses all 20 bytes of its salt
//! (`mysys/crypt_genhash_impl.cc`), while crypt(3) cuts a salt at 16. That is why no crate fits.
//!
//! The idea: mix password and salt into a digest, then hash it again thousands of times, each time with a pattern of
//! password, salt and digest that depends on the number of the round, so that guesses are expensive.

use sha2::{Digest, Sha256};
use zeroize::Zeroizing;

/// The characters of the text form, in the order of their values.
pub(super) const ALPHABET: &[u8; 64] = b"./0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/// The 43 characters of the text form.
pub(super) fn sha256_crypt(password: &[u8], salt: &[u8], rounds: u32) -> [u8; 43] {
    let mut digest = first_digest(password, salt);
    let p = Zeroizing::new(repeated(
        &digest_of_copies(password, password.len()),
        password.len(),
    ));
    let s = repeated(&digest_of_copies(salt, 16 + usize::from(digest[0])), salt.len());
    for round in 0..rounds {
        let mut hasher = Sha256::new();
        hasher.update(if round % 2 == 1 { &p[..] } else { &digest[..] });
        if round % 3 != 0 {
            hasher.update(&s);
        }
        if round % 7 != 0 {
            hasher.update(&p[..]);
        }
        hasher.update(if round % 2 == 1 { &digest[..] } else { &p[..] });
        digest = hasher.finalize().into();
    }
    text(&digest)
}

/// Steps 1 to 12 of the description.
fn first_digest(password: &[u8], salt: &[u8]) -> [u8; 32] {
    let mut hasher = Sha256::new();
    hasher.update(password);
    hasher.update(salt);
    hasher.update(password);
    let alternate: [u8; 32] = hasher.finalize().into();
    let mut hasher = Sha256::new();
    hasher.update(password);
    hasher.update(salt);
    hasher.update(repeated(&alternate, password.len()));
    let mut bits = password.len();
    while bits > 0 {
        hasher.update(if bits % 2 == 1 { &alternate[..] } else { password });
        bits /= 2;
    }
    hasher.finalize().into()
}

fn digest_of_copies(bytes: &[u8], copies: usize) -> [u8; 32] {
    let mut hasher = Sha256::new();
    for _ in 0..copies {
        hasher.update(bytes);
    }
    hasher.finalize().into()
}

/// `len` bytes: the digest, as often as needed.
fn repeated(digest: &[u8; 32], len: usize) -> Vec<u8> {
    digest.iter().copied().cycle().take(len).collect()
}

/// Four characters for three bytes that stand ten apart; the last two bytes give three.
fn text(digest: &[u8; 32]) -> [u8; 43] {
    let mut out = [0; 43];
    let mut put = |at: usize, value: u32, count: usize| {
        for character in 0..count {
            out[at + character] = ALPHABET[(value >> (6 * character)) as usize & 63];
        }
    };
    let three = |a: usize, b: usize, c: usize| {
        u32::from(digest[a]) << 16 | u32::from(digest[b]) << 8 | u32::from(digest[c])
    };
    let (mut a, mut b, mut c) = (0, 10, 20);
    for group in 0..10 {
        put(4 * group, three(a, b, c), 4);
        (a, b, c) = (c + 1, a + 1, b + 1);
    }
    put(40, u32::from(digest[31]) << 8 | u32::from(digest[30]), 3);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_the_crypt_of_its_description() {
        // As crypt(3) of glibc gives it.
        for (password, salt, rounds, expected) in [
            (
                "Hello world!",
                "saltstring",
                5000,
                "5B8vYYiY.CVt1RlTTf8KbXBH3hsxY/GNooZaBBGWEc5",
            ),
            (
                "Hello world!",
                "saltstringsaltst",
                10_000,
                "3xv.VbSHBb41AL9AvLeujZkZRBAwqFMz2.opqey6IcA",
            ),
            (
                "a very much longer text to encrypt.  This one even stretches over more than one line.",
                "anotherlongsalts",
                1400,
                "epZZlHtH1tHOZ8DnGj41SJcfP6bNgf3t.hurPudKyU6",
            ),
        ] {
            let crypt = sha256_crypt(password.as_bytes(), salt.as_bytes(), rounds);
            assert_eq!(String::from_utf8_lossy(&crypt), expected);
        }
    }
}
