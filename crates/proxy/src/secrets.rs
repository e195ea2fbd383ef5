//! What a proxy keeps of passwords.

use std::path::Path;
use std::sync::Arc;

use arc_swap::ArcSwapOption;
use shardwright_rules::SecretReference;
use shardwright_secrets::{Access, SecretError, resolve};
use shardwright_wire::ClientSecret;
use shardwright_wire::auth::{Proven, Verifier};

/// Enough of a user's password to check a client's login and to log in at a server.
///
/// A secret that is a hash is not enough for servers. What is missing comes with the first client that logs in: its answer
/// or its password. All sessions of the user share it, and so do later generations with the same secret.
#[derive(Clone, Debug)]
pub(crate) struct Credentials {
    stated: Verifier,
    known: Arc<ArcSwapOption<Known>>,
}

/// What a secret is, or what clients have shown of it.
#[derive(Debug)]
struct Known {
    /// Of the password itself, once that is known.
    verifier: Option<Verifier>,
    secret: ClientSecret,
}

impl Known {
    fn of(secret: ClientSecret) -> Self {
        let verifier = match &secret {
            ClientSecret::Password(password) => Some(Verifier::from_password(password)),
            ClientSecret::Hash(_) => None,
        };
        Self { verifier, secret }
    }
}

impl Credentials {
    /// What `reference` stands for, a password or a hash of one; `None` is the empty password.
    pub(crate) fn resolve(
        reference: Option<&SecretReference>,
        allows_commands: bool,
    ) -> Result<Self, SecretError> {
        let access = Access {
            allows_commands,
            ..Access::from(Path::new(""))
        };
        let secret = match reference {
            Some(reference) => Some(resolve(reference, &access)?),
            None => None,
        };
        let secret = secret.as_ref().map_or("", |secret| secret.expose());
        if let Some(stated) = Verifier::from_hash_text(secret) {
            let known = Arc::new(ArcSwapOption::empty());
            return Ok(Self { stated, known });
        }
        let known = Known::of(ClientSecret::password(secret.as_bytes()));
        Ok(Self {
            stated: Verifier::from_password(secret.as_bytes()),
            known: Arc::new(ArcSwapOption::from_pointee(known)),
        })
    }

    /// What checks logins.
    pub(crate) fn verifier(&self) -> Verifier {
        let known = self.known.load();
        let learned = known.as_ref().and_then(|known| known.verifier.as_ref());
        learned.unwrap_or(&self.stated).clone()
    }

    /// What answers servers; `None` as long as only a hash is known that does not.
    pub(crate) fn secret(&self) -> Option<ClientSecret> {
        self.known.load().as_ref().map(|known| known.secret.clone())
    }

    /// Keeps what a right login has shown, where more is not known already.
    pub(crate) fn learn(&self, proven: Proven) {
        let Some(secret) = proven.0 else {
            return;
        };
        let known = self.known.load();
        let is_news = match (known.as_ref().map(|known| &known.secret), &secret) {
            (None, _) | (Some(ClientSecret::Hash(_)), ClientSecret::Password(_)) => true,
            (Some(_), _) => false,
        };
        if is_news {
            self.known.store(Some(Arc::new(Known::of(secret))));
        }
    }

    /// The same, with what clients have shown of an earlier generation's if that had the same secret.
    pub(crate) fn after(self, earlier: &Self) -> Self {
        let known = match self.stated.is_same(&earlier.stated) {
            true => earlier.known.clone(),
            false => self.known,
        };
        Self { known, ..self }
    }
}

#[cfg(test)]
mod tests {
    use shardwright_wire::auth::{Method, Proof, Scramble, native_answer};

    use super::*;

    fn of_file(value: &str) -> Result<Credentials, SecretError> {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), value).unwrap();
        let reference = SecretReference::File(file.path().to_str().unwrap().to_owned());
        Credentials::resolve(Some(&reference), false)
    }

    #[test]
    fn an_empty_value_is_no_password() {
        let empty = of_file("").unwrap_err();
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

    #[test]
    fn a_hash_becomes_useful_with_the_first_login() {
        // SELECT PASSWORD('password') on MariaDB.
        let hash = "*2470C0C06DEE42FD1618BB99005ADCA2EC9D1E19";
        let credentials = of_file(hash).unwrap();
        assert!(credentials.secret().is_none());
        let scramble = Scramble([7; 20]);
        let native = Proof::Answer {
            method: Method::Native,
            answer: native_answer(b"password", &scramble),
            scramble,
        };
        let clear = Proof::Password(b"password".to_vec().into());
        let verify = |proof| credentials.verifier().verify(proof);
        credentials.learn(verify(&native).unwrap());
        assert!(matches!(credentials.secret(), Some(ClientSecret::Hash(_))));
        credentials.learn(verify(&clear).unwrap());
        assert!(matches!(credentials.secret(), Some(ClientSecret::Password(_))));
        credentials.learn(verify(&native).unwrap());
        assert!(
            matches!(credentials.secret(), Some(ClientSecret::Password(_))),
            "the better is kept"
        );
        let same = of_file(hash).unwrap().after(&credentials);
        assert!(matches!(same.secret(), Some(ClientSecret::Password(_))));
        let changed = of_file("*14E65567ABDB5135D0CFD9A70B3032C179A49EE7").unwrap();
        assert!(changed.after(&credentials).secret().is_none());
    }
}
