//! `refuse`: tells clients of ProxySQL why their executions are refused, until a signal ends it.

use std::net::{IpAddr, SocketAddr, TcpListener, ToSocketAddrs};

use shardwright_proxy::{RefusingPort, RefusingServer};
use shardwright_rules::{Configuration, EngineId};
use shardwright_topology::model::Refuser;

use crate::args::{Global, Refuse};
use crate::error::CommandError;
use crate::exit::Exit;
use crate::logging::log_to_stderr;
use crate::project::{self, Opened};
use crate::signals::{HANGUP, Signals};
use crate::ui::{Ui, counted};

pub(crate) fn run(args: &Refuse, global: &Global, ui: &Ui) -> Result<Exit, CommandError> {
    log_to_stderr();
    let signals = Signals::install_with_hangup()?;
    let mut refusing = Refusing::start(args.engine.clone(), args.listen, global, ui)?;
    ui.data(&format!("ready {}\n", refusing.listen_line()))?;
    loop {
        match signals.wait()? {
            HANGUP => refusing.reload(ui),
            signal => {
                ui.status(&format!("{signal}: ending"));
                break;
            }
        }
    }
    refusing.finish(ui);
    Ok(Exit::Done)
}

/// The refusals of a project, served.
pub(super) struct Refusing {
    server: RefusingServer,
    engine: Option<String>,
    listen: Option<IpAddr>,
    global: Global,
}

impl Refusing {
    /// Compiles the project and opens a port for each reason.
    pub(super) fn start(
        engine: Option<String>,
        listen: Option<IpAddr>,
        global: &Global,
        ui: &Ui,
    ) -> Result<Self, CommandError> {
        let ports = ports(engine.as_deref(), listen, global, ui)?;
        let server =
            RefusingServer::start(&ports).map_err(|error| CommandError::failed(error.to_string()))?;
        Ok(Self {
            server,
            engine,
            listen,
            global: global.clone(),
        })
    }

    /// Reads the project again. With a project that is wrong, what is served stays.
    pub(super) fn reload(&mut self, ui: &Ui) {
        let reloaded = ports(self.engine.as_deref(), self.listen, &self.global, ui).and_then(|ports| {
            let replaced = self.server.replace(&ports);
            replaced.map_err(|error| CommandError::failed(error.to_string()))
        });
        match reloaded {
            Ok(()) => ui.status(&format!("{HANGUP}: {}", self.listen_line())),
            Err(error) => {
                if !error.message.is_empty() {
                    ui.message(&format!("error: {}", error.message));
                }
                if let Some(hint) = &error.hint {
                    ui.message(&format!("  = help: {hint}"));
                }
                ui.message(&format!("{HANGUP}: not reloaded; the previous refusals stay"));
            }
        }
    }

    /// Ends it, and reports how many connections were refused for each reason.
    pub(super) fn finish(self, ui: &Ui) {
        let refused = self.server.refused();
        self.server.shutdown();
        for (reason, count) in refused.iter().filter(|(_, count)| **count > 0) {
            let count = usize::try_from(*count).unwrap_or(usize::MAX);
            ui.status(&format!("refused {}: {reason}", counted(count, "connection")));
        }
    }

    /// `listen=127.0.0.1:6100,127.0.0.1:6101`
    pub(super) fn listen_line(&self) -> String {
        let addresses = self.server.addresses();
        if addresses.is_empty() {
            return "listen=none: no statement is refused by hostgroup".to_owned();
        }
        let addresses: Vec<String> = addresses.iter().map(SocketAddr::to_string).collect();
        format!("listen={}", addresses.join(","))
    }
}

/// What the project refuses by hostgroup, with the ports of its lock.
fn ports(
    engine: Option<&str>,
    listen: Option<IpAddr>,
    global: &Global,
    ui: &Ui,
) -> Result<Vec<RefusingPort>, CommandError> {
    let opened = project::open(global, ui)?;
    let Refuser::Service { host, port } = opened.project.topology.refuser().0 else {
        return Err(CommandError::new(
            Exit::BadProject,
            "the topology has no refuser: ProxySQL's own admin port refuses",
        )
        .hint(
            "write engine_settings: {proxysql: {refuser: {host: 127.0.0.1, port: 6100}}}, compile and apply",
        ));
    };
    let engine = match engine {
        Some(name) => project::engine(name)?,
        None => proxysql(&opened)?,
    };
    if engine == EngineId::Bundled {
        return Err(CommandError::usage("the bundled engine refuses by itself")
            .hint("--engine names a ProxySQL, such as proxysql-2.7"));
    }
    let built = opened.build_to_ask(engine, ui)?;
    // The rules on ProxySQL lead to the ports of the lock.
    opened.keep_lock(&built.compiled.lock, true)?;
    let listen = match listen {
        Some(listen) => listen,
        None => local(host, *port)?,
    };
    Ok(of_configuration(&built.configuration, listen))
}

fn of_configuration(configuration: &Configuration, listen: IpAddr) -> Vec<RefusingPort> {
    configuration
        .refusing
        .iter()
        .map(|hostgroup| RefusingPort {
            address: SocketAddr::new(listen, hostgroup.port),
            reason: hostgroup.reason.clone(),
        })
        .collect()
}

/// The first ProxySQL that the project lists.
fn proxysql(opened: &Opened) -> Result<EngineId, CommandError> {
    let mut engines = opened.engines();
    engines
        .find(|engine| *engine != EngineId::Bundled)
        .ok_or_else(|| {
            CommandError::new(
                Exit::BadProject,
                "shardwright.yaml lists no ProxySQL to refuse for",
            )
            .hint("write engines: [proxysql-2.7]")
        })
}

/// The address of this machine that ProxySQL reaches as `host`.
fn local(host: &str, port: u16) -> Result<IpAddr, CommandError> {
    let addresses = (host, port)
        .to_socket_addrs()
        .map_err(|error| not_here(format!("the refuser's host {host} has no address: {error}")))?;
    // Only an address of this machine can be bound.
    let is_local = |ip: &IpAddr| TcpListener::bind((*ip, 0)).is_ok();
    addresses
        .map(|address| address.ip())
        .find(is_local)
        .ok_or_else(|| {
            not_here(format!(
                "the refuser's host {host} is not an address of this machine"
            ))
        })
}

fn not_here(message: String) -> CommandError {
    CommandError::failed(message)
        .hint("--listen IP sets the address to listen on; ProxySQL must reach it at that host")
}
