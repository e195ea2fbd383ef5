//! `switchover`: the writer of a cluster becomes another server, and no client sees an error.

mod fleet;
mod galera;
mod program;
mod replication;
mod way;

use std::time::{Duration, Instant};

use serde::Serialize;
use shardwright_rules::roles::WatchedCluster;
use shardwright_rules::{Address, ClusterKind, EngineId, Member};
use shardwright_targets::{Server, ServerAddress};
use shardwright_topology::model;

use self::fleet::Fleet;
use self::galera::Galera;
use self::program::Program;
use self::replication::{Account, Replication};
use self::way::{Failed, Way};
use crate::args::{Format, Global, Switchover};
use crate::commands::apply::approve;
use crate::error::CommandError;
use crate::exit::Exit;
use crate::live;
use crate::project::{self, Opened};
use crate::signals::Signals;
use crate::ui::Ui;

/// How long a server may take to answer beyond the deadline: what it was told is undone over the same connection.
const MARGIN: Duration = Duration::from_secs(5);

/// What was done.
#[derive(Serialize)]
struct Done<'d> {
    cluster: &'d Address,
    from: Option<&'d Address>,
    to: &'d Address,
    /// How long statements waited, ms; 0 where nothing had to be done.
    waited_ms: u64,
    /// What a person should look at.
    problems: Vec<String>,
}

/// A cluster of the topology, and the server that is to write in it.
struct Wanted<'c> {
    cluster: WatchedCluster<'c>,
    to: &'c Member,
}

pub(crate) fn run(args: &Switchover, global: &Global, ui: &Ui) -> Result<Exit, CommandError> {
    let opened = project::open(global, ui)?;
    let targets = live::bundled_targets(&opened, &args.selection)?;
    let built = opened.build(EngineId::Bundled, ui)?;
    let wanted = wanted(&built.configuration, args)?;
    let cluster = &wanted.cluster.cluster.address;
    let to = &wanted.to.server;
    let mut fleet = Fleet::open(&targets, cluster).map_err(|error| live::unreachable(&error))?;
    let from = fleet.writer().map_err(refused)?;
    if from.as_ref() == Some(to) {
        ui.status(&format!("{to} writes already; nothing was changed"));
        return done(
            ui,
            &Done {
                cluster,
                from: None,
                to,
                waited_ms: 0,
                problems: Vec::new(),
            },
        );
    }
    let settings = &opened.project.file.switchover;
    let mut notes = Vec::new();
    let Prepared { mut way, from } = prepare(&opened, &wanted, from, args, &mut notes)?;
    ui.status(&format!(
        "{from} writes; {to} will. Statements wait in {} until it does, for {} at most.",
        fleet.names(),
        seconds(settings.deadline_ms)
    ));
    for note in &notes {
        ui.message(&format!("note: {note}"));
    }
    if args.check {
        ui.status("it can be done; nothing was changed");
        return Ok(Exit::Done);
    }
    if !args.auto_approve {
        approve(ui, "Move the writer?", "this needs approval")?;
    }
    let signals = Signals::install()?;
    let began = Instant::now();
    let deadline = began + Duration::from_millis(settings.deadline_ms);
    fleet
        .pause(deadline)
        .map_err(|why| CommandError::new(Exit::Stale, format!("nothing was changed: {why}")))?;
    let drained_by = began + Duration::from_millis(settings.transactions_ms);
    let handed_over = fleet
        .drain(drained_by, &signals)
        .map_err(Failed::Undone)
        .and_then(|()| way.hand_over(&mut fleet, deadline));
    if let Err(failed) = handed_over {
        return Err(ended(failed, fleet.resume()));
    }
    let mut problems: Vec<String> = fleet.resume_with(to, deadline).err().into_iter().collect();
    let waited_ms = u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX);
    ui.status(&format!("{to} writes; statements waited {waited_ms} ms"));
    problems.extend(way.finish());
    done(
        ui,
        &Done {
            cluster,
            from: Some(&from),
            to,
            waited_ms,
            problems,
        },
    )
}

/// What is told at the end.
fn done(ui: &Ui, done: &Done<'_>) -> Result<Exit, CommandError> {
    if ui.format() == Format::Json {
        ui.json(done)?;
    }
    if done.problems.is_empty() {
        return Ok(Exit::Done);
    }
    let message = format!(
        "{} writes, but not everything is as it should be\n  {}",
        done.to,
        done.problems.join("\n  ")
    );
    Err(CommandError::new(Exit::Mixed, message))
}

/// The failure, with how it has left servers and proxies.
fn ended(failed: Failed, resumed: Result<(), String>) -> CommandError {
    let resumed = resumed.err().map_or_else(String::new, |why| format!("\n  {why}"));
    match failed {
        Failed::Undone(why) => CommandError::new(
            Exit::RolledBack,
            format!("the writer was not moved, and everything is as it was: {why}{resumed}"),
        ),
        Failed::Mixed(why) => CommandError::new(
            Exit::Mixed,
            format!("the writer was not moved, and not everything is as it was: {why}{resumed}"),
        )
        .hint(
            "look at the servers; `shardwright switchover` to the same server continues where it was cut off",
        ),
    }
}

fn refused(why: impl Into<String>) -> CommandError {
    CommandError::new(
        Exit::Refused,
        format!("refused; nothing was changed: {}", why.into()),
    )
}

fn seconds(ms: u64) -> String {
    format!("{} s", ms as f64 / 1000.0)
}

/// The cluster and the server that the command line names.
fn wanted<'c>(
    configuration: &'c shardwright_rules::Configuration,
    args: &Switchover,
) -> Result<Wanted<'c>, CommandError> {
    let Some(cluster) = configuration.cluster(&args.cluster) else {
        let known: Vec<&str> = configuration
            .clusters
            .iter()
            .map(|cluster| &*cluster.name)
            .collect();
        return Err(
            CommandError::usage(format!("the topology has no cluster {}", args.cluster))
                .hint(format!("clusters: {}", known.join(", "))),
        );
    };
    let watched = WatchedCluster::of(configuration, cluster).ok_or_else(|| {
        refused(format!("the servers of {} are not watched", cluster.address))
            .hint("write a `monitor` section, and apply it")
    })?;
    let address = format!("{}.servers.{}", cluster.address, args.to);
    let found = watched
        .servers
        .iter()
        .find(|(candidate, _)| candidate.server.as_str() == address);
    match found.map(|(_, member)| *member) {
        Some(to) => Ok(Wanted { cluster: watched, to }),
        None => {
            let known: Vec<&str> = watched
                .servers
                .iter()
                .map(|(candidate, _)| candidate.server.as_str())
                .collect();
            Err(
                CommandError::usage(format!("{} has no server {}", cluster.address, args.to))
                    .hint(format!("servers: {}", known.join(", "))),
            )
        }
    }
}

/// How servers change their roles, and who wrote before.
struct Prepared {
    way: Box<dyn Way>,
    from: Address,
}

/// Looks whether the servers can change their roles.
fn prepare(
    opened: &Opened,
    wanted: &Wanted<'_>,
    from: Option<Address>,
    args: &Switchover,
    notes: &mut Vec<String>,
) -> Result<Prepared, CommandError> {
    let settings = &opened.project.file.switchover;
    let cluster = wanted.cluster.cluster;
    let nobody = || refused(format!("no server of {} writes", cluster.address));
    let member = |server: &Address| {
        let mut servers = wanted.cluster.servers.iter();
        servers
            .find(|(candidate, _)| candidate.server == *server)
            .map(|(_, member)| *member)
    };
    match &cluster.kind {
        ClusterKind::Single => Err(refused(format!("{} has one server", cluster.address))),
        ClusterKind::Galera(_) => {
            let from = from.ok_or_else(nobody)?;
            let to = connect(opened, wanted.to, args)?;
            Ok(Prepared { way: Box::new(Galera { to, from: from.clone() }), from })
        }
        ClusterKind::Replication { .. } | ClusterKind::GroupReplication(_) if !settings.promote.is_empty() => {
            let from = from.ok_or_else(nobody)?;
            let of = member(&from).ok_or_else(nobody)?;
            let way = Program {
                command: settings.promote.clone(),
                cluster: cluster.address.clone(),
                from: of.clone(),
                to: wanted.to.clone(),
            };
            Ok(Prepared { way: Box::new(way), from })
        }
        ClusterKind::GroupReplication(_) => Err(refused(format!(
            "{} is a group: its members choose who writes",
            cluster.address
        ))
        .hint("write a program that calls group_replication_set_as_primary() as `switchover.promote` in shardwright.yaml")),
        ClusterKind::Replication { .. } => {
            let to = connect(opened, wanted.to, args)?;
            let mut rest = Vec::new();
            for (candidate, member) in &wanted.cluster.servers {
                if candidate.server == wanted.to.server {
                    continue;
                }
                match connect(opened, member, args) {
                    Ok(server) => rest.push(server),
                    Err(error) if from.as_ref() == Some(&candidate.server) => return Err(error),
                    Err(error) => notes.push(format!("{}; it is left as it is", error.message)),
                }
            }
            let replica = settings.replication.as_ref().map(|account| {
                let password = live::secret(opened, "switchover.replication.password", &account.password)?;
                Ok(Account { user: account.user.to_string(), password })
            });
            let patience = Duration::from_millis(settings.deadline_ms);
            let way = Replication::prepare(from.as_ref(), to, rest, replica.transpose()?, patience, notes)
                .map_err(refused)?;
            let from = way.from().clone();
            Ok(Prepared { way: Box::new(way), from })
        }
    }
}

/// Connects to a server with the account that may give it another role.
fn connect(opened: &Opened, member: &Member, args: &Switchover) -> Result<Server, CommandError> {
    let settings = &opened.project.file.switchover;
    let Some(model::ServerAccount { user, password }) = &settings.account else {
        return Err(CommandError::new(
            Exit::BadProject,
            "shardwright.yaml does not say with which account servers are given their roles",
        )
        .hint(
            "write switchover: {user: NAME, password: {env: NAME}}; see docs/operating.md for its privileges",
        ));
    };
    let password = live::secret(opened, "switchover.password", password)?;
    let address = ServerAddress {
        server: member.server.clone(),
        host: member.host.clone(),
        port: member.port,
        tls: member.tls,
        authorities: args.server_ca.clone(),
    };
    let patience = Duration::from_millis(settings.deadline_ms) + MARGIN;
    Server::connect(address, user, password, patience)
        .map_err(|error| CommandError::failed(error.to_string()))
}
