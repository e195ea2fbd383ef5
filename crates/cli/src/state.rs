//! Where the runs of a project are kept.

use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::time::Duration;

use shardwright_rules::Address;
use shardwright_secrets::Secret;
use shardwright_targets::ServerAddress;
use shardwright_targets::proxysql::{EtcdState, Journal, KeyReference, LOCK_PERIOD, MySqlState, Owner};
use shardwright_topology::model;

use crate::clock;
use crate::error::CommandError;
use crate::exit::Exit;
use crate::project::Opened;
use crate::references::{reference, secret};

/// How long a store may take to answer before it is asked again, or given up.
const PATIENCE: Duration = Duration::from_secs(5);

/// The runs of the project.
pub(crate) fn journal(opened: &Opened) -> Result<Journal, CommandError> {
    let keep = opened.project.file.state.keep;
    Ok(store(opened)?.keeping(keep))
}

fn store(opened: &Opened) -> Result<Journal, CommandError> {
    let file = &opened.project.file;
    let Some(shared) = &file.state.shared else {
        let directory = opened.directory.join(&*file.state.dir);
        return Ok(Journal::in_directory(&directory, owner()));
    };
    let project = file.project.as_deref().unwrap_or_default().to_owned();
    let key = KeyReference {
        reference: reference("state: key", &shared.key)?,
        base: opened.directory.clone(),
    };
    let path = |path: &str| opened.directory.join(path);
    let authorities = shared.ca.as_deref().map(path);
    let account = shared.account.as_ref().map(|account| account_of(opened, account));
    let account = account.transpose()?;
    match &shared.store {
        model::StateStore::MySql {
            host,
            port,
            database,
            tls,
        } => {
            let (user, password) = account.ok_or_else(no_account)?;
            let server = ServerAddress {
                server: Address::new("state"),
                host: host.to_string(),
                port: *port,
                tls: *tls,
                authorities,
            };
            let state = MySqlState {
                server,
                database: database.to_string(),
                user,
                password,
                project,
                patience: PATIENCE,
            };
            Ok(Journal::in_mysql(state, key, owner(), LOCK_PERIOD))
        }
        model::StateStore::Etcd {
            endpoints,
            certificate,
        } => {
            let certificate: Option<(PathBuf, PathBuf)> = certificate
                .as_ref()
                .map(|(certificate, key)| (path(certificate), path(key)));
            let state = EtcdState {
                endpoints: endpoints.iter().map(ToString::to_string).collect(),
                account,
                authorities,
                certificate,
                project,
                patience: PATIENCE,
            };
            Ok(Journal::in_etcd(state, key, owner(), LOCK_PERIOD))
        }
    }
}

/// Who works now, and when.
fn owner() -> Owner {
    Owner {
        by: by(),
        at: clock::now().to_string(),
    }
}

/// `user@host`
pub(crate) fn by() -> String {
    let host =
        std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_else(|_| "localhost".to_owned());
    let of_environment = ["USER", "LOGNAME"]
        .into_iter()
        .find_map(|name| std::env::var(name).ok());
    let user = of_environment.filter(|user| !user.is_empty());
    format!("{}@{}", user.unwrap_or_else(account), host.trim())
}

/// The account that this process runs as, by its name where it has one: a container or a timer may have no `USER`.
fn account() -> String {
    let Ok(process) = std::fs::metadata("/proc/self") else {
        return "somebody".to_owned();
    };
    let id = process.uid().to_string();
    let accounts = std::fs::read_to_string("/etc/passwd").unwrap_or_default();
    let name = accounts.lines().find_map(|line| {
        let mut fields = line.split(':');
        let name = fields.next()?;
        (fields.nth(1)? == id).then(|| name.to_owned())
    });
    name.unwrap_or_else(|| format!("uid-{id}"))
}

fn account_of(opened: &Opened, account: &model::ServerAccount) -> Result<(String, Secret), CommandError> {
    let password = secret(opened, "state: password", &account.password)?;
    Ok((account.user.to_string(), password))
}

fn no_account() -> CommandError {
    CommandError::new(Exit::BadProject, "state in mysql needs user and password")
}
