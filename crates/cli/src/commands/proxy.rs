//! `proxy`: the bundled runtime, until a signal ends it.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::Path;
use std::time::{Duration, Instant};

use shardwright_proxy::{Limits, Listen, Options, Proxy, RunningProxy, TlsFiles};
use shardwright_rules::SecretReference;
use shardwright_secrets::{Access, resolve};
use zeroize::Zeroizing;

use super::refuse::Refusing;
use crate::args;
use crate::error::CommandError;
use crate::exit::Exit;
use crate::logging::log_to_stderr;
use crate::signals::{HANGUP, Signals};
use crate::ui::Ui;

/// Where clients connect if neither the command line nor the configuration says.
const DEFAULT_LISTEN: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 6033);
/// The variable that holds the admin password when no file is given.
const ADMIN_PASSWORD: &str = "SHARDWRIGHT_ADMIN_PASSWORD";

pub(crate) fn run(args: &args::Proxy, global: &args::Global, ui: &Ui) -> Result<Exit, CommandError> {
    let mut options = Options::new(DEFAULT_LISTEN, args.admin, &args.data_dir);
    options.listen = match args.listen {
        Some(address) => Listen::Only(address),
        None => Listen::Configured {
            otherwise: DEFAULT_LISTEN,
        },
    };
    options.checks = args.checks;
    options.name = args.name.clone();
    options.requires_configuration = args.require_configuration;
    options.admin_password = admin_password()?;
    options.admin_password_file.clone_from(&args.admin_password_file);
    options.admin_accounts.clone_from(&args.admin_accounts);
    options.allow_secret_commands = args.allow_secret_commands;
    options.server_version = args.server_version.clone();
    options.tls = TlsFiles {
        certificate: args.tls_cert.clone(),
        key: args.tls_key.clone(),
        client_ca: args.tls_client_ca.clone(),
        server_ca: args.tls_server_ca.clone(),
    };
    options.allow_public_key_retrieval = args.allow_public_key_retrieval;
    options.limits = limits(&args.limits);
    options.workers = args.workers;
    log_to_stderr();
    let signals = Signals::install_with_hangup()?;
    let mut refusing = match args.refuse {
        true => Some(Refusing::start(None, None, global, ui)?),
        false => None,
    };
    let proxy = Proxy::start(options).map_err(|error| CommandError::failed(error.to_string()))?;
    announce(&proxy, ui)?;
    if let Some(refusing) = &refusing {
        ui.status(&format!("refuses for ProxySQL: {}", refusing.listen_line()));
    }
    let mut is_announced = proxy.is_serving();
    let signal = loop {
        let received = match is_announced {
            true => Some(signals.wait()?),
            false => signals.next_within(LOOK_EVERY)?,
        };
        match received {
            None if proxy.is_serving() => {
                announce(&proxy, ui)?;
                is_announced = true;
            }
            None => {}
            Some(HANGUP) => {
                reload(&proxy, ui);
                if let Some(refusing) = &mut refusing {
                    refusing.reload(ui);
                }
            }
            Some(signal) => break signal,
        }
    };
    ui.status(&format!("{signal}: draining; a second signal stops at once"));
    drain(proxy, &signals);
    if let Some(refusing) = refusing {
        refusing.finish(ui);
    }
    Ok(Exit::Done)
}

/// How often a proxy that waits for its first apply is looked at.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// One line for whoever has started it. It goes to standard output, where programs look for answers; the log does not.
fn announce(proxy: &RunningProxy, ui: &Ui) -> Result<(), CommandError> {
    let state = match proxy.is_serving() {
        true => format!("ready listen={}", proxy.listen_places().join(",")),
        false => "waiting for a first apply".to_owned(),
    };
    let checks = proxy.checks_address();
    let checks = checks.map_or_else(String::new, |address| format!(" checks={address}"));
    ui.data(&format!("{state} admin={}{checks}\n", proxy.admin_address()))
}

fn limits(args: &args::ProxyLimits) -> Limits {
    Limits {
        max_sessions: args.max_connections,
        max_half_open: args.max_half_open,
        handshake_timeout: Duration::from_secs(args.login_timeout),
        checkout_timeout: Duration::from_secs(args.checkout_timeout),
        max_packet: args.max_allowed_packet.0,
        max_memory: args.max_memory.map(|memory| memory.0),
        max_long_data: args.max_allowed_packet.0,
        ..Limits::default()
    }
}

/// Reads certificates and passwords again, and says what could not be used.
fn reload(proxy: &RunningProxy, ui: &Ui) {
    let problems = proxy.reload();
    for problem in &problems {
        ui.message(&format!("not reloaded: {problem}"));
    }
    if problems.is_empty() {
        ui.status("reloaded certificates and passwords");
    }
}

/// How long sessions in a transaction are waited for.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(30);

/// Lets transactions end, until all have, the time is over, or a second signal comes.
fn drain(proxy: RunningProxy, signals: &Signals) {
    proxy.begin_drain();
    let deadline = Instant::now() + DRAIN_TIMEOUT;
    while proxy.sessions() > 0 && Instant::now() < deadline {
        if signals.wait_for(Duration::from_millis(50)) {
            break;
        }
    }
    proxy.shutdown();
}

/// The password of `admin` in the environment, if there is one.
fn admin_password() -> Result<Option<Zeroizing<String>>, CommandError> {
    if std::env::var_os(ADMIN_PASSWORD).is_none() {
        return Ok(None);
    }
    let reference = SecretReference::Env(ADMIN_PASSWORD.to_owned());
    let secret = resolve(&reference, &Access::from(Path::new("")))
        .map_err(|error| CommandError::failed(format!("admin password: {error}")))?;
    Ok(Some(Zeroizing::new(secret.expose().to_owned())))
}
