//! `sync-users`: the accounts of a cluster's servers as users of the project.

mod written;

use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

use serde_json::json;
use shardwright_adopt::accounts::{Accounts, Checks, WrittenUser, accounts};
use shardwright_rules::{Address, NamePattern, SecretReference};
use shardwright_secrets::{Access, resolve};
use shardwright_targets::{Server, ServerAddress};
use shardwright_topology::model::{self, EngineName};

use self::written::{Change, Written};
use crate::args::{Format, Global, SyncUsers};
use crate::error::CommandError;
use crate::exit::Exit;
use crate::project::{self, Opened};
use crate::ui::Ui;

/// How long a server may take to answer.
const PATIENCE: Duration = Duration::from_secs(30);

pub(crate) fn run(args: &SyncUsers, global: &Global, ui: &Ui) -> Result<Exit, CommandError> {
    let opened = project::open(global, ui)?;
    project::show(&opened.problems, &opened.sources, ui);
    let topology = &opened.project.topology;
    let cluster = topology.clusters.get_named(&args.cluster).ok_or_else(|| {
        CommandError::usage(format!("the topology has no cluster {}", args.cluster))
            .hint("name a cluster of the project's files")
    })?;
    let written = Written::new(&global.directory, &args.cluster);
    let mut sorted = read(args, &opened, cluster)?;
    let others = leave_out_others(&opened, written.path(), &mut sorted);
    let logins = sorted.users.keys().map(String::as_str);
    let users = WrittenUser::all(logins, |name| others.contains(name));
    let users: Vec<_> = users
        .into_iter()
        .filter_map(|user| {
            let hash = sorted.users.get(&user.login)?;
            Some((user, hash))
        })
        .collect();
    let changes = written.changes(&users)?;
    if !args.check {
        written.write(&args.cluster, &users)?;
    }
    tell(args, &sorted, &changes, written.path(), ui)?;
    if let Some(missing) = missing_method(&opened, &sorted) {
        ui.status(missing);
    }
    Ok(match args.check && !changes.is_empty() {
        true => Exit::Changes,
        false => Exit::Done,
    })
}

/// Asks the server.
fn read(args: &SyncUsers, opened: &Opened, cluster: &model::Cluster) -> Result<Accounts, CommandError> {
    let server = server_of(args, cluster)?;
    let reference = SecretReference::Env(args.password_env.clone());
    let password = resolve(&reference, &Access::from(Path::new("."))).map_err(|error| {
        CommandError::failed(format!("the password of {} is missing: {error}", args.user))
            .hint("set that variable, or name another one with --password-env")
    })?;
    let address = ServerAddress {
        server: Address::new(opened.project.origins.address(server.origin)),
        host: server.host.to_string(),
        port: server.port,
        tls: cluster.tls,
        authorities: args.server_ca.clone(),
    };
    let failed = |error: shardwright_targets::ServerError| CommandError::failed(error.to_string());
    let mut server = Server::connect(address, &args.user, password, PATIENCE).map_err(failed)?;
    let of_server = server
        .accounts()
        .map_err(|error| failed(error).hint("the account needs SELECT on the schema mysql"))?;
    let matches = |globs: &[String], name: &str| {
        let mut patterns = globs.iter().map(|glob| NamePattern::new(glob.as_str()));
        patterns.any(|pattern| pattern.matches(name))
    };
    let monitor = opened.project.topology.monitor.as_ref();
    let is_wanted = |name: &str| {
        (args.only.is_empty() || matches(&args.only, name))
            && !matches(&args.except, name)
            && name != args.user
            && monitor.is_none_or(|monitor| *monitor.user != *name)
    };
    Ok(accounts(&of_server, checks(opened), is_wanted))
}

/// Who logs clients in.
fn checks(opened: &Opened) -> Checks {
    let mut engines = opened.project.file.engines.iter();
    match engines.all(|engine| engine.name == EngineName::Bundled) {
        true => Checks::Bundled,
        false => Checks::ProxySql,
    }
}

/// What has to be set so that ProxySQL logs the users in; none where it is set, or where no user needs it.
fn missing_method(opened: &Opened, sorted: &Accounts) -> Option<&'static str> {
    const METHOD: &str = "mysql-default_authentication_plugin";
    const SHA2: &str = "caching_sha2_password";
    let settings = &opened.project.topology.engine_settings;
    let mut values = settings.iter().flat_map(|settings| &settings.values);
    let is_set = values.any(|(name, value)| (&**name, &**value) == (METHOD, SHA2));
    (checks(opened) == Checks::ProxySql && sorted.need_sha2() && !is_set).then_some(
        "hashes of caching_sha2_password: ProxySQL logs clients in with them only if engine_settings has `proxysql: \
         {mysql-default_authentication_plugin: caching_sha2_password}`",
    )
}

/// The server that was named, or the one that is wanted most as the writer.
fn server_of<'c>(args: &SyncUsers, cluster: &'c model::Cluster) -> Result<&'c model::Server, CommandError> {
    let found = match &args.server {
        Some(name) => cluster.servers.get_named(name),
        None => {
            let first = cluster.writer_preference.first().copied().unwrap_or(0);
            cluster.servers.get(first as usize)
        }
    };
    found.ok_or_else(|| {
        let name = args.server.as_deref().unwrap_or_default();
        let names: Vec<&str> = cluster.servers.names().collect();
        CommandError::usage(format!("cluster {} has no server {name}", args.cluster))
            .hint(format!("its servers are {}", names.join(", ")))
    })
}

/// Users that the project has in other files stay as they are. Gives their names.
fn leave_out_others(opened: &Opened, path: &str, sorted: &mut Accounts) -> BTreeSet<String> {
    let mut others = BTreeSet::new();
    for user in &opened.project.topology.users {
        let Some(place) = opened.placed_at(&Address::new(format!("users.{}", user.name))) else {
            continue;
        };
        let is_ours = place
            .rsplit_once(':')
            .is_some_and(|(file, _)| file.ends_with(path));
        if is_ours {
            continue;
        }
        others.insert(user.name.to_string());
        if sorted.users.remove(&*user.login).is_some() {
            let why = format!("the project has it at {place}");
            sorted.left_out.insert(user.login.to_string(), why);
        }
    }
    others
}

fn tell(
    args: &SyncUsers,
    sorted: &Accounts,
    changes: &[Change],
    path: &str,
    ui: &Ui,
) -> Result<(), CommandError> {
    if ui.format() == Format::Json {
        let changes: Vec<_> = changes
            .iter()
            .map(|change| json!({"user": change.user, "what": change.what}))
            .collect();
        return ui.json(&json!({
            "file": path,
            "users": sorted.users.keys().collect::<Vec<_>>(),
            "changes": changes,
            "left_out": sorted.left_out,
            "written": !args.check,
        }));
    }
    let mut out = String::new();
    for change in changes {
        out += &format!("  {} {}  {}\n", change.sign(), change.user, change.what);
    }
    if changes.is_empty() {
        out += &format!("{path} holds the accounts of {} as they are\n", args.cluster);
    }
    if !sorted.left_out.is_empty() {
        out += &format!("left out: {}\n", sorted.left_out.len());
        for (name, why) in &sorted.left_out {
            out += &format!("  {name}: {why}\n");
        }
    }
    ui.data(&out)?;
    if !args.check && !changes.is_empty() {
        ui.status(&format!("wrote {path}; next: shardwright plan"));
    }
    Ok(())
}
