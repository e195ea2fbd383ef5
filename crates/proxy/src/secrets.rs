//! What a proxy keeps of passwords.

use std::path::Path;

use shardwright_rules::SecretReference;
use shardwright_secrets::{Access, SecretError, resolve};
use shardwright_wire::ClientSecret;
use shardwright_wire::auth::{NativeVerifier, PasswordHash};

/// Enough of a user's password to verify a client's answer and to answer a backend.
#[derive(Clone, Debug)]
pub(crate) struct Credentials {
    pub(crate) verifier: NativeVerifier,
    pub(crate) secret: ClientSecret,
}

impl Credentials {
    /// Hashes of what `reference` stands for; `None` is the empty password.
    pub(crate) fn resolve(
        reference: Option<&SecretReference>,
        allows_commands: bool,
    ) -> Result<Self, SecretError> {
        let access = Access {
            allows_commands,
            ..Access::from(Path::new(""))
        };
        let password = match reference {
            Some(reference) => Some(resolve(reference, &access)?),
            None => None,
        };
        let password = password.as_ref().map_or("", |secret| secret.expose()).as_bytes();
        let secret = match PasswordHash::of(password) {
            Some(hash) => ClientSecret::Hash(hash),
            None => ClientSecret::Password(Vec::new()),
        };
        Ok(Self {
            verifier: NativeVerifier::from_password(password),
            secret,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_value_is_no_password() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let reference = SecretReference::File(file.path().to_str().unwrap().to_owned());
        let empty = Credentials::resolve(Some(&reference), false).unwrap_err();
        assert!(matches!(empty, SecretError::Empty(_)), "{empty}");
        assert!(Credentials::resolve(None, false).is_ok());
    }

    #[test]
    fn commands_are_for_the_operator_to_allow() {
        let command = SecretReference::Command(vec!["echo".into(), "geheim".into()]);
        insta::assert_snapshot!(
            Credentials::resolve(Some(&command), false).unwrap_err(),
            @"secrets by command are not allowed in this proxy"
        );
        assert!(Credentials::resolve(Some(&command), true).is_ok());
    }
}
