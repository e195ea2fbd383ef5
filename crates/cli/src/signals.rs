//! SIGINT, SIGTERM and SIGHUP as things to wait for.

use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::time::Duration;

use tokio::signal::unix::{SignalKind, signal};

use crate::error::CommandError;

/// The signal that asks a program to read its files again.
pub(crate) const HANGUP: &str = "SIGHUP";

/// Signals, from installation on.
pub(crate) struct Signals {
    received: Receiver<&'static str>,
}

impl Signals {
    /// Starts to take SIGINT and SIGTERM.
    pub(crate) fn install() -> Result<Self, CommandError> {
        Self::of(false)
    }

    /// Starts to take SIGHUP as well, which otherwise ends the program.
    pub(crate) fn install_with_hangup() -> Result<Self, CommandError> {
        Self::of(true)
    }

    fn of(with_hangup: bool) -> Result<Self, CommandError> {
        let failed = |error: std::io::Error| CommandError::failed(format!("cannot receive signals: {error}"));
        let (sender, received) = mpsc::channel();
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_io()
            .build()
            .map_err(failed)?;
        let (mut interrupt, mut terminate, mut hangup) = {
            let _guard = runtime.enter();
            let hangup = with_hangup.then(|| signal(SignalKind::hangup())).transpose();
            (
                signal(SignalKind::interrupt()).map_err(failed)?,
                signal(SignalKind::terminate()).map_err(failed)?,
                hangup.map_err(failed)?,
            )
        };
        // Nobody waits for this thread: it ends with the program.
        std::thread::spawn(move || {
            runtime.block_on(async {
                loop {
                    let hung_up = async {
                        match &mut hangup {
                            Some(hangup) => hangup.recv().await,
                            None => std::future::pending().await,
                        }
                    };
                    let name = tokio::select! {
                        _ = interrupt.recv() => "SIGINT",
                        _ = terminate.recv() => "SIGTERM",
                        _ = hung_up => HANGUP,
                    };
                    if sender.send(name).is_err() {
                        return;
                    }
                }
            });
        });
        Ok(Self { received })
    }

    /// Waits for the next one.
    pub(crate) fn wait(&self) -> Result<&'static str, CommandError> {
        self.received.recv().map_err(|_| ended())
    }

    /// Waits for the next one for some time.
    pub(crate) fn next_within(&self, time: Duration) -> Result<Option<&'static str>, CommandError> {
        match self.received.recv_timeout(time) {
            Ok(signal) => Ok(Some(signal)),
            Err(RecvTimeoutError::Timeout) => Ok(None),
            Err(RecvTimeoutError::Disconnected) => Err(ended()),
        }
    }

    /// Waits for a signal to stop for some time; whether it came.
    pub(crate) fn wait_for(&self, time: Duration) -> bool {
        self.received.recv_timeout(time).is_ok_and(|name| name != HANGUP)
    }
}

fn ended() -> CommandError {
    CommandError::internal("the thread that receives signals ended")
}
