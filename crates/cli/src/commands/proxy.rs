//! `proxy`: the bundled runtime, until a signal ends it.

use std::num::NonZeroUsize;
use std::path::Path;
use std::time::{Duration, Instant};

use shardwright_proxy::{Options, Proxy, RunningProxy};
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

/// The variable that holds the admin password when no file is given.
const ADMIN_PASSWORD: &str = "SHARDWRIGHT_ADMIN_PASSWORD";

pub(crate) fn run(args: &args::Proxy, global: &args::Global, ui: &Ui) -> Result<Exit, CommandError> {
    let mut options = Options::new(args.listen, args.admin, &args.data_dir);
    options.admin_password = admin_password(args)?;
    options.allow_secret_commands = args.allow_secret_commands;
    options.workers = match args.workers {
        Some(workers) => Some(
            NonZeroUsize::new(workers).ok_or_else(|| CommandError::usage("--workers must be at least 1"))?,
        ),
        None => None,
    };
    log_to_stderr();
    let signals = match args.refuse {
        true => Signals::install_with_hangup()?,
        false => Signals::install()?,
    };
    let mut refusing = match args.refuse {
        true => Some(Refusing::start(None, None, global, ui)?),
        false => None,
    };
    let proxy = Proxy::start(options).map_err(|error| CommandError::failed(error.to_string()))?;
    ui.message(&format!(
        "ready listen={} admin={}",
        proxy.listen_address(),
        proxy.admin_address()
    ));
    if let Some(refusing) = &refusing {
        ui.status(&format!("refuses for ProxySQL: {}", refusing.listen_line()));
    }
    let signal = loop {
        match (signals.wait()?, &mut refusing) {
            (HANGUP, Some(refusing)) => refusing.reload(ui),
            (signal, _) => break signal,
        }
    };
    ui.status(&format!("{signal}: draining; a second signal stops at once"));
    drain(proxy, &signals);
    if let Some(refusing) = refusing {
        refusing.finish(ui);
    }
    Ok(Exit::Done)
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

/// The password of `admin`: from the file, else from the environment, else none.
fn admin_password(args: &args::Proxy) -> Result<Option<Zeroizing<String>>, CommandError> {
    let reference = match &args.admin_password_file {
        Some(path) => SecretReference::File(path.display().to_string()),
        None if std::env::var_os(ADMIN_PASSWORD).is_some() => SecretReference::Env(ADMIN_PASSWORD.to_owned()),
        None => return Ok(None),
    };
    let secret = resolve(&reference, &Access::from(Path::new("")))
        .map_err(|error| CommandError::failed(format!("admin password: {error}")))?;
    Ok(Some(Zeroizing::new(secret.expose().to_owned())))
}
