//! The accounts of a server as users of a project: which can be, and the file that holds them.

use std::collections::BTreeMap;

use shardwright_rules::is_login;
use shardwright_secrets::Secret;
use shardwright_targets::ServerAccount;
use shardwright_topology::is_name;

use crate::names::{self, Names};
use crate::yaml::{Field, Yaml};

/// Accounts that belong to servers and to those who run them.
const OF_SYSTEM: [&str; 8] = [
    "root",
    "mysql",
    "mysql.sys",
    "mysql.session",
    "mysql.infoschema",
    "mariadb.sys",
    "debian-sys-maint",
    "PUBLIC",
];

/// Methods whose hashes engines can log clients in with.
const NATIVE: &str = "mysql_native_password";
const SHA2: &str = "caching_sha2_password";

/// How a hash of [`SHA2`] begins: `$A$`, thousands of rounds in hexadecimal, `$`.
const STORED: &str = "$A$";
/// The only number of rounds that ProxySQL checks (2.7.1). MySQL 9.7 makes hashes of 10,000 by default.
const ROUNDS_OF_PROXYSQL: &str = "$A$005$";

/// Who logs clients in with the hashes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Checks {
    /// The bundled engine alone.
    Bundled,
    /// ProxySQL, maybe beside the bundled engine.
    ProxySql,
}

/// The accounts of a server as users.
#[derive(Debug, Default)]
pub struct Accounts {
    /// Users by name, with the hash of the password.
    pub users: BTreeMap<String, Secret>,
    /// Accounts that are no users of the project, and why.
    pub left_out: BTreeMap<String, String>,
}

impl Accounts {
    /// Whether a hash is of `caching_sha2_password`: ProxySQL logs clients in with it if that is its default method.
    pub fn need_sha2(&self) -> bool {
        let is_sha2 = |hash: &Secret| !hash.expose().starts_with('*');
        self.users.values().any(is_sha2)
    }
}

/// Sorts accounts. `is_wanted`: whether the caller wants an account of a name at all.
pub fn accounts(of_server: &[ServerAccount], checks: Checks, is_wanted: impl Fn(&str) -> bool) -> Accounts {
    let mut by_name: BTreeMap<&str, Vec<&ServerAccount>> = BTreeMap::new();
    for account in of_server {
        by_name.entry(&account.name).or_default().push(account);
    }
    let mut sorted = Accounts::default();
    for (name, accounts) in by_name {
        match user(name, &accounts, checks, is_wanted(name)) {
            Ok(hash) => {
                sorted.users.insert(name.to_owned(), hash);
            }
            Err(why) => {
                let name = if name.is_empty() { "''" } else { name };
                sorted.left_out.insert(name.to_owned(), why);
            }
        }
    }
    sorted
}

/// The hash of the accounts of one name, or why they are no user.
fn user(name: &str, accounts: &[&ServerAccount], checks: Checks, is_wanted: bool) -> Result<Secret, String> {
    if OF_SYSTEM.contains(&name) || name.is_empty() {
        return Err("it belongs to the server".to_owned());
    }
    if accounts.iter().all(|account| account.is_role) {
        return Err("it is a role".to_owned());
    }
    if !is_wanted {
        return Err("it is not asked for".to_owned());
    }
    if !is_login(name) {
        return Err("its name does not stand on one line".to_owned());
    }
    let open = accounts
        .iter()
        .filter(|account| !account.is_locked && !account.is_role);
    let (usable, refused): (Vec<_>, Vec<_>) =
        open.map(|account| hash(account, checks)).partition(Result::is_ok);
    let mut hashes: Vec<Secret> = usable.into_iter().flatten().collect();
    hashes.sort_by(|a, b| a.expose().cmp(b.expose()));
    hashes.dedup_by(|a, b| a.expose() == b.expose());
    match (hashes.as_slice(), refused.into_iter().find_map(Result::err)) {
        ([hash], _) => Ok(hash.clone()),
        ([], Some(why)) => Err(why),
        ([], None) => Err("it is locked".to_owned()),
        _ => {
            let hosts: Vec<&str> = accounts.iter().map(|account| &*account.host).collect();
            Err(format!(
                "its password is not the same from {}, and a user of the proxy has one",
                hosts.join(", ")
            ))
        }
    }
}

/// A hash that clients can be logged in with.
fn hash(account: &ServerAccount, checks: Checks) -> Result<Secret, String> {
    let Some(hash) = &account.hash else {
        return Err(format!("its hash of {} is no text", account.plugin));
    };
    let text = hash.expose();
    let is_native = || {
        let digits = text.strip_prefix('*');
        digits.is_some_and(|digits| digits.len() == 40 && digits.bytes().all(|byte| byte.is_ascii_hexdigit()))
    };
    match account.plugin.as_str() {
        NATIVE | SHA2 | "" if text.is_empty() => Err("it has no password".to_owned()),
        NATIVE | "" if is_native() => Ok(hash.clone()),
        NATIVE | "" => Err("its hash is none of mysql_native_password".to_owned()),
        SHA2 if checks == Checks::ProxySql && !text.starts_with(ROUNDS_OF_PROXYSQL) => Err(
            "ProxySQL checks hashes of caching_sha2_password with 5,000 rounds only: start the server with \
             caching_sha2_password_digest_rounds=5000, and set the password again"
                .to_owned(),
        ),
        SHA2 if text.starts_with(STORED) => Ok(on_one_line(hash)),
        SHA2 => Err("its hash is none of caching_sha2_password".to_owned()),
        other => Err(format!("no proxy can log clients in with the hash of {other}")),
    }
}

/// A hash as a line of a file: its salt may be any bytes, so it is written as `SHOW CREATE USER` prints it with
/// `print_identified_with_as_hex`, where it is no plain text.
fn on_one_line(hash: &Secret) -> Secret {
    let bytes = hash.expose().as_bytes();
    if bytes.iter().all(|byte| byte.is_ascii_graphic() || *byte == b' ') {
        return hash.clone();
    }
    let digits = bytes.iter().map(|byte| format!("{byte:02X}"));
    Secret::new(std::iter::once("0x".to_owned()).chain(digits).collect())
}

/// A user of a file that is written for accounts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WrittenUser {
    /// Its name in the files of the project.
    pub name: String,
    /// The account that it logs in with.
    pub login: String,
}

impl WrittenUser {
    /// Users for accounts, by the names of the accounts. `taken`: whether the project has another user of a name.
    pub fn all<'a>(accounts: impl Iterator<Item = &'a str>, taken: impl Fn(&str) -> bool) -> Vec<Self> {
        let mut names = Names::default();
        let (named, others): (Vec<&str>, Vec<&str>) =
            accounts.partition(|login| is_name(login) && !taken(login));
        let mut users: Vec<Self> = Vec::new();
        for login in named.into_iter().chain(others) {
            let mut name = names.take(&names::user(login));
            while taken(&name) {
                name = names.take(&names::user(login));
            }
            users.push(Self {
                name,
                login: login.to_owned(),
            });
        }
        users.sort_by(|a, b| a.login.cmp(&b.login));
        users
    }

    /// Where its secret is kept.
    pub fn secret_path(&self) -> String {
        secret_path(&self.name)
    }
}

/// Where the secret of a user is kept, by its name in the files.
pub fn secret_path(user: &str) -> String {
    crate::exact::secret_file(user)
}

/// The file of the users of a cluster.
pub fn users_file<'u>(cluster: &str, users: impl Iterator<Item = &'u WrittenUser>) -> String {
    let user = |user: &WrittenUser| {
        let password = Yaml::map([("file", Some(Yaml::text(user.secret_path())))]);
        let login = (user.login != user.name).then(|| Yaml::text(&user.login));
        let fields = [
            ("login", login),
            ("password", Some(password)),
            ("cluster", Some(Yaml::text(cluster))),
        ];
        Field::new(&user.name, Yaml::map(fields))
    };
    let users = Field::new("users", Yaml::Block(users.map(user).collect()));
    format!(
        "# The accounts of {cluster}, written by `shardwright sync-users {cluster}`. The next run replaces this file.\n{}",
        Yaml::document(&[users])
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    const HASH: &str = "*2470C0C06DEE42FD1618BB99005ADCA2EC9D1E19";
    const OTHER: &str = "*94BDCEBE19083CE2A1F959FD02F964C7AF4CFC29";

    fn account(name: &str, host: &str, plugin: &str, hash: &str) -> ServerAccount {
        ServerAccount {
            name: name.to_owned(),
            host: host.to_owned(),
            plugin: plugin.to_owned(),
            hash: Some(Secret::new(hash.to_owned())),
            is_locked: false,
            is_role: false,
        }
    }

    #[test]
    fn accounts_are_users_where_the_proxy_can_use_their_hash() {
        let locked = ServerAccount {
            is_locked: true,
            ..account("locked", "%", NATIVE, HASH)
        };
        let role = ServerAccount {
            is_role: true,
            ..account("readers", "", "", "")
        };
        let all = [
            account("app", "%", NATIVE, HASH),
            account("app", "10.%", NATIVE, HASH),
            account("two", "%", NATIVE, HASH),
            account("two", "10.%", NATIVE, OTHER),
            account("mixed", "%", NATIVE, HASH),
            account("mixed", "localhost", "unix_socket", ""),
            account("modern", "%", SHA2, "$A$005$abc"),
            account("breaks", "%", SHA2, "$A$005$a\nb"),
            account("slow", "%", SHA2, "$A$00A$abc"),
            account("ed", "%", "ed25519", "x"),
            account("open", "%", NATIVE, ""),
            account("a.b", "%", NATIVE, HASH),
            account("a\nb", "%", NATIVE, HASH),
            account("tmp", "%", NATIVE, HASH),
            account("root", "%", NATIVE, HASH),
            account("", "%", NATIVE, ""),
            locked,
            role,
        ];
        let sorted = accounts(&all, Checks::ProxySql, |name| name != "tmp");
        let users: Vec<&str> = sorted.users.keys().map(String::as_str).collect();
        assert_eq!(users, ["a.b", "app", "breaks", "mixed", "modern"]);
        assert_eq!(sorted.users["modern"].expose(), "$A$005$abc");
        assert_eq!(sorted.users["breaks"].expose(), "0x24412430303524610A62");
        assert!(sorted.need_sha2());
        let sorted_for_ourselves = accounts(&all, Checks::Bundled, |name| name == "slow");
        assert_eq!(sorted_for_ourselves.users["slow"].expose(), "$A$00A$abc");
        let left_out = sorted.left_out.iter();
        let left_out: String = left_out.map(|(name, why)| format!("{name}: {why}\n")).collect();
        insta::assert_snapshot!(left_out, @r"
        '': it belongs to the server
        a
        b: its name does not stand on one line
        ed: no proxy can log clients in with the hash of ed25519
        locked: it is locked
        open: it has no password
        readers: it is a role
        root: it belongs to the server
        slow: ProxySQL checks hashes of caching_sha2_password with 5,000 rounds only: start the server with caching_sha2_password_digest_rounds=5000, and set the password again
        tmp: it is not asked for
        two: its password is not the same from %, 10.%, and a user of the proxy has one
        ");
    }

    #[test]
    fn the_file_names_secrets_and_holds_none() {
        let users = WrittenUser::all(["app", "batch", "svc.api@eu", "svc-api-eu"].into_iter(), |name| {
            name == "batch"
        });
        insta::assert_snapshot!(users_file("pay", users.iter()), @r#"
        # The accounts of pay, written by `shardwright sync-users pay`. The next run replaces this file.
        version: 1

        users:
          app: {password: {file: secrets/app}, cluster: pay}
          batch-2: {login: batch, password: {file: secrets/batch-2}, cluster: pay}
          svc-api-eu: {password: {file: secrets/svc-api-eu}, cluster: pay}
          svc-api-eu-2: {login: "svc.api@eu", password: {file: secrets/svc-api-eu-2}, cluster: pay}
        "#);
    }
}
