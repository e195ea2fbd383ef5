//! Passwords as ProxySQL stores them: as text, or as a hash of `mysql_native_password` or `caching_sha2_password`.

use std::borrow::Cow;

use sha1::{Digest, Sha1};
use shardwright_secrets::Secret;
use zeroize::Zeroizing;

/// The variable that says how clients log in by default, and the method that needs passwords as text.
pub(super) const DEFAULT_METHOD: &str = "mysql-default_authentication_plugin";
const NEEDS_TEXT: &str = "caching_sha2_password";

/// How a hash of `caching_sha2_password` begins.
const STORED_SHA2: &str = "$A$";

/// What is stored for a password. `method` is the value of [`DEFAULT_METHOD`].
pub(super) fn stored(password: &Secret, method: Option<&str>) -> Secret {
    let password = as_text(password);
    if is_hash(password.expose()) || method == Some(NEEDS_TEXT) {
        return password.into_owned();
    }
    Secret::new(native_hash(password.expose()).to_string())
}

/// Whether a stored password is this one, in either form.
pub(super) fn is_stored(stored: Option<&Secret>, password: &Secret) -> bool {
    let stored = stored.map_or("", Secret::expose);
    let password = as_text(password);
    let password = password.expose();
    let same = |hash: &str, text: &str| hash.eq_ignore_ascii_case(&native_hash(text));
    stored == password
        || match (is_hash(stored), is_hash(password)) {
            // Digits of the one method are hexadecimal, those of the other are not.
            (true, true) => stored.starts_with('*') && stored.eq_ignore_ascii_case(password),
            (true, false) => same(stored, password),
            // A hash as the secret: ProxySQL may hold the text that it is of.
            (false, true) => !stored.is_empty() && same(password, stored),
            (false, false) => false,
        }
}

/// Whether a stored password is a hash.
pub(super) fn is_hash(text: &str) -> bool {
    let digits = text.strip_prefix('*');
    digits.is_some_and(|digits| digits.len() == 40 && digits.bytes().all(|byte| byte.is_ascii_hexdigit()))
        || text.starts_with(STORED_SHA2)
}

/// A hash of `caching_sha2_password` in hexadecimal digits, as `SHOW CREATE USER` prints it, as ProxySQL holds it. Anything
/// else stays as it is.
fn as_text(password: &Secret) -> Cow<'_, Secret> {
    let of_digits = |digits: &str| {
        let is_hex = digits.len().is_multiple_of(2) && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
        let byte = |at: usize| u8::from_str_radix(digits.get(at..at + 2)?, 16).ok();
        let bytes: Option<Vec<u8>> = (0..digits.len()).step_by(2).map(byte).collect();
        String::from_utf8(bytes.filter(|_| is_hex)?).ok()
    };
    let text = password.expose().strip_prefix("0x").and_then(of_digits);
    match text.filter(|text| text.starts_with(STORED_SHA2)) {
        Some(text) => Cow::Owned(Secret::new(text)),
        None => Cow::Borrowed(password),
    }
}

/// `*` and SHA1(SHA1(password)) in upper-case hexadecimal.
fn native_hash(password: &str) -> Zeroizing<String> {
    let twice = Sha1::digest(Sha1::digest(password.as_bytes()));
    let digits = twice.iter().map(|byte| format!("{byte:02X}"));
    Zeroizing::new(std::iter::once("*".to_owned()).chain(digits).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn secret(text: &str) -> Secret {
        Secret::new(text.to_owned())
    }

    const OF_TEST: &str = "*94BDCEBE19083CE2A1F959FD02F964C7AF4CFC29";

    #[test]
    fn a_password_is_known_in_either_form() {
        for (held, wanted, expected) in [
            ("test", "test", true),
            (OF_TEST, "test", true),
            (&OF_TEST.to_lowercase(), "test", true),
            ("test", OF_TEST, true),
            (OF_TEST, OF_TEST, true),
            ("other", "test", false),
            (OF_TEST, "other", false),
            ("", "test", false),
            ("", OF_TEST, false),
            ("$A$005$a\nb", "0x24412430303524610A62", true),
            ("$A$005$a\nb", "0x24412430303524610A63", false),
            ("$A$005$ab", "$A$005$aB", false),
            ("0x61", "0x61", true),
            ("a", "0x61", false),
        ] {
            assert_eq!(
                is_stored(Some(&secret(held)), &secret(wanted)),
                expected,
                "{held} {wanted}"
            );
        }
        assert!(!is_stored(None, &secret("test")));
    }

    #[test]
    fn text_is_stored_only_where_clients_need_it() {
        assert_eq!(stored(&secret("test"), None).expose(), OF_TEST);
        assert_eq!(
            stored(&secret("test"), Some("mysql_native_password")).expose(),
            OF_TEST
        );
        assert_eq!(stored(&secret("test"), Some(NEEDS_TEXT)).expose(), "test");
        assert_eq!(stored(&secret(OF_TEST), None).expose(), OF_TEST);
        let in_digits = secret("0x24412430303524610a62");
        for method in [None, Some(NEEDS_TEXT)] {
            assert_eq!(stored(&in_digits, method).expose(), "$A$005$a\nb");
        }
    }
}
