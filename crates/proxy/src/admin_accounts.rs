//! The accounts of the admin port and their roles.
//!
//! `admin` has the password of a file, or the one that the proxy was started with, and may do everything. Further accounts are in a file
//! in YAML. Both files are read again on a reload:
//!
//! ```yaml
//! accounts:
//!   oncall:  {role: operator, password: {file: /etc/shardwright/oncall.pw}}
//!   metrics: {role: stats, password: "*2470C0C06DEE42FD1618BB99005ADCA2EC9D1E19"}
//! ```
//!
//! A file that cannot be used changes nothing. No error repeats a value of the file, because that may be a password.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use arc_swap::ArcSwap;
use serde_json::{Map, Value};
use shardwright_rules::SecretReference;
use shardwright_secrets::{Access, resolve};
use shardwright_wire::auth::Verifier;

use crate::options::Options;

/// The account that is always there.
pub(crate) const ADMIN: &str = "admin";
/// The largest file of accounts, bytes.
const LARGEST_FILE: u64 = 1 << 20;
/// The longest name of an account, bytes.
const LONGEST_NAME: usize = 128;

/// The rights of an account; each role includes the earlier ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Role {
    /// Look.
    Stats,
    /// Change what runs and no configuration: who writes, pauses, refused apps, connections.
    Operator,
    /// Everything.
    Admin,
}

impl Role {
    const ALL: [Self; 3] = [Self::Stats, Self::Operator, Self::Admin];

    /// As it is written.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Stats => "stats",
            Self::Operator => "operator",
            Self::Admin => "admin",
        }
    }
}

/// Why a file of accounts cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("{}: {reason}", path.display())]
pub struct AccountsError {
    path: PathBuf,
    reason: String,
}

/// The accounts of the admin port.
#[derive(Debug)]
pub(crate) struct AdminAccounts {
    admin: ArcSwap<Verifier>,
    admin_file: Option<PathBuf>,
    file: Option<PathBuf>,
    allows_commands: bool,
    further: ArcSwap<Accounts>,
}

type Accounts = BTreeMap<String, Account>;

#[derive(Debug)]
struct Account {
    role: Role,
    verifier: Verifier,
}

impl AdminAccounts {
    /// The accounts that a proxy starts with.
    pub(crate) fn load(options: &Options) -> Result<Self, AccountsError> {
        let password = options.admin_password.as_ref();
        let admin = Verifier::from_secret(password.map_or("", |password| password.as_str()));
        let accounts = Self {
            admin: ArcSwap::from_pointee(admin),
            admin_file: options.admin_password_file.clone(),
            file: options.admin_accounts.clone(),
            allows_commands: options.allow_secret_commands,
            further: ArcSwap::default(),
        };
        accounts.reload()?;
        if accounts.file.is_some() && !options.has_admin_password() {
            tracing::warn!("the account admin of the admin port has no password, so roles limit nobody");
        }
        Ok(accounts)
    }

    /// Reads the files again. On an error all accounts stay as they were.
    pub(crate) fn reload(&self) -> Result<(), AccountsError> {
        let of = |path: &Path, reason| AccountsError {
            path: path.to_owned(),
            reason,
        };
        let admin = self.admin_file.as_deref().map(|path| {
            let secret = resolve(
                &SecretReference::File(path.display().to_string()),
                &Access::from(Path::new("")),
            );
            let secret = secret.map_err(|error| of(path, error.to_string()))?;
            Ok(Verifier::from_secret(secret.expose()))
        });
        let further = self.file.as_deref().map(|path| {
            let accounts = read(path).and_then(|text| parse(&text, self.allows_commands));
            accounts.map_err(|reason| of(path, reason))
        });
        let (admin, further) = (admin.transpose()?, further.transpose()?);
        if let Some(admin) = admin {
            self.admin.store(admin.into());
        }
        if let Some(further) = further {
            self.further.store(further.into());
        }
        Ok(())
    }

    /// The password of an account.
    pub(crate) fn verifier(&self, name: &str) -> Option<Verifier> {
        if name == ADMIN {
            return Some(Verifier::clone(&self.admin.load()));
        }
        let further = self.further.load();
        further.get(name).map(|account| account.verifier.clone())
    }

    /// The role of an account now; `None`: there is no such account.
    pub(crate) fn role(&self, name: &str) -> Option<Role> {
        if name == ADMIN {
            return Some(Role::Admin);
        }
        self.further.load().get(name).map(|account| account.role)
    }
}

fn read(path: &Path) -> Result<String, String> {
    let file = File::open(path).map_err(|error| format!("it cannot be read: {error}"))?;
    let metadata = file
        .metadata()
        .map_err(|error| format!("it cannot be read: {error}"))?;
    if metadata.mode() & 0o004 != 0 {
        let path = path.display();
        tracing::warn!(%path, "everybody on this machine can read the admin accounts: chmod o-r");
    }
    let mut text = String::new();
    let read = file.take(LARGEST_FILE + 1).read_to_string(&mut text);
    read.map_err(|error| format!("it cannot be read: {error}"))?;
    if text.len() as u64 > LARGEST_FILE {
        return Err(format!("it has more than {LARGEST_FILE} bytes"));
    }
    Ok(text)
}

fn parse(text: &str, allows_commands: bool) -> Result<Accounts, String> {
    let document: Value = serde_saphyr::from_str(text).map_err(|error| {
        let place = error.location().map_or_else(String::new, |place| {
            format!(" at line {}, column {}", place.line(), place.column())
        });
        format!("it is not YAML with each name once{place}; a hash, which begins with `*`, stands in quotes")
    })?;
    let mut document = fields("it", document, &["accounts"])?;
    let accounts = document.remove("accounts").unwrap_or_default();
    let Value::Object(accounts) = accounts else {
        return Err("accounts: write NAME: {role: …, password: …} for each account".to_owned());
    };
    let account = |(name, value): (String, Value)| {
        let account = account(&name, value, allows_commands)?;
        Ok((name, account))
    };
    accounts.into_iter().map(account).collect()
}

fn account(name: &str, value: Value, allows_commands: bool) -> Result<Account, String> {
    let place = format!("accounts.{name}");
    if name.is_empty() || name.len() > LONGEST_NAME {
        return Err(format!("the name of an account has 1 to {LONGEST_NAME} bytes"));
    }
    if name == ADMIN {
        return Err(format!(
            "{place}: this account has the password of --admin-password-file or SHARDWRIGHT_ADMIN_PASSWORD; choose another name"
        ));
    }
    let mut fields = fields(&place, value, &["role", "password"])?;
    let role = fields.remove("role");
    let role = role.as_ref().and_then(Value::as_str);
    let role = Role::ALL.into_iter().find(|known| Some(known.name()) == role);
    let role = role.ok_or_else(|| format!("{place}.role: write stats, operator or admin"))?;
    let password = fields.remove("password").unwrap_or_default();
    Ok(Account {
        role,
        verifier: verifier(&format!("{place}.password"), password, allows_commands)?,
    })
}

fn verifier(place: &str, password: Value, allows_commands: bool) -> Result<Verifier, String> {
    const FORMS: &str = "write {file: PATH}, {env: NAME}, {command: [PROGRAM, …]} or a hash in quotes";
    if let Value::String(text) = &password {
        return Verifier::from_hash_text(text).ok_or_else(|| format!("{place}: {FORMS}"));
    }
    let reference: SecretReference =
        serde_json::from_value(password).map_err(|_| format!("{place}: {FORMS}"))?;
    let access = Access {
        allows_commands,
        ..Access::from(Path::new(""))
    };
    let secret = resolve(&reference, &access).map_err(|error| format!("{place}: {error}"))?;
    Ok(Verifier::from_secret(secret.expose()))
}

/// The fields of an object that has no others than these.
fn fields(place: &str, value: Value, known: &[&str]) -> Result<Map<String, Value>, String> {
    let known_names = known.join(" and ");
    let Value::Object(fields) = value else {
        return Err(format!("{place} is not a map with {known_names}"));
    };
    match fields.keys().find(|name| !known.contains(&name.as_str())) {
        Some(name) => Err(format!(
            "{place} has the unknown field {name}; there is {known_names}"
        )),
        None => Ok(fields),
    }
}

#[cfg(test)]
mod tests {
    use shardwright_wire::auth::Proof;

    use super::*;

    fn knows(accounts: &Accounts, name: &str, password: &str) -> bool {
        let proof = Proof::Password(password.as_bytes().to_vec().into());
        accounts[name].verifier.verify(&proof).is_some()
    }

    #[test]
    fn accounts_have_roles_and_passwords_by_reference_or_hash() {
        let secret = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(secret.path(), "geheim\n").unwrap();
        let text = format!(
            "accounts:\n  oncall: {{role: operator, password: {{file: {}}}}}\n  \
             metrics: {{role: stats, password: '*2470C0C06DEE42FD1618BB99005ADCA2EC9D1E19'}}\n  \
             deploy:\n    role: admin\n    password: {{command: [echo, x]}}\n",
            secret.path().display()
        );
        let accounts = parse(&text, true).unwrap();
        let roles: Vec<_> = accounts
            .iter()
            .map(|(name, account)| (&**name, account.role))
            .collect();
        assert_eq!(
            roles,
            [
                ("deploy", Role::Admin),
                ("metrics", Role::Stats),
                ("oncall", Role::Operator)
            ]
        );
        assert!(knows(&accounts, "oncall", "geheim"));
        assert!(knows(&accounts, "metrics", "password"));
        assert!(knows(&accounts, "deploy", "x"));
        assert!(!knows(&accounts, "metrics", "geheim"));
        assert!(parse("accounts: {}", false).unwrap().is_empty());
    }

    #[test]
    fn errors_say_where_and_repeat_no_value() {
        const FORMS: &str = "write {file: PATH}, {env: NAME}, {command: [PROGRAM, …]} or a hash in quotes";
        let password = format!("accounts.a.password: {FORMS}");
        for (text, expected) in [
            (
                "accounts: hunter2",
                "accounts: write NAME: {role: …, password: …} for each account",
            ),
            ("hunter2", "it is not a map with accounts"),
            ("", "it is not a map with accounts"),
            ("users: {}", "it has the unknown field users; there is accounts"),
            (
                "accounts: {a: hunter2}",
                "accounts.a is not a map with role and password",
            ),
            (
                "accounts: {a: {role: stats, pasword: hunter2}}",
                "accounts.a has the unknown field pasword; there is role and password",
            ),
            (
                "accounts: {a: {role: hunter2, password: {env: X}}}",
                "accounts.a.role: write stats, operator or admin",
            ),
            ("accounts: {a: {role: stats, password: hunter2}}", &password),
            (
                "accounts: {a: {role: stats, password: {fil: hunter2}}}",
                &password,
            ),
            (
                "accounts: {a: {role: stats, password: {env: A, file: hunter2}}}",
                &password,
            ),
            ("accounts: {a: {role: stats}}", &password),
            (
                "accounts: {a: {role: stats, password: {env: SHARDWRIGHT_NO_SUCH_VARIABLE}}}",
                "accounts.a.password: the environment variable SHARDWRIGHT_NO_SUCH_VARIABLE is not set",
            ),
            (
                "accounts: {a: {role: stats, password: {command: [echo, hunter2]}}}",
                "accounts.a.password: secrets by command are not allowed in this proxy",
            ),
            (
                "accounts: {a: {role: stats, password: *2470C0C06DEE42FD1618BB99005ADCA2EC9D1E19}}",
                "it is not YAML with each name once at line 1, column 39; a hash, which begins with `*`, stands in quotes",
            ),
            (
                "accounts: {admin: {role: stats, password: {env: X}}}",
                "accounts.admin: this account has the password of --admin-password-file or SHARDWRIGHT_ADMIN_PASSWORD; choose another name",
            ),
            (
                "accounts: {a: {role: stats, role: admin, password: {env: X}}}",
                "it is not YAML with each name once at line 1, column 29; a hash, which begins with `*`, stands in quotes",
            ),
            (
                "accounts:\n  a: {role: stats, password: 'hunter2}",
                "it is not YAML with each name once at line 2, column 30; a hash, which begins with `*`, stands in quotes",
            ),
        ] {
            assert_eq!(parse(text, false).unwrap_err(), expected, "{text}");
        }
    }
}
