//! SIGINT and SIGTERM as things to wait for.

use std::sync::mpsc::{self, Receiver};
use std::time::Duration;

use tokio::signal::unix::{SignalKind, signal};

use crate::error::CommandError;

/// Signals that end the program, from installation on.
pub(crate) struct Signals {
    received: Receiver<&'static str>,
}

impl Signals {
    /// Starts to take SIGINT and SIGTERM.
    pub(crate) fn install() -> Result<Self, CommandError> {
        let failed = |error: std::io::Error| CommandError::failed(format!("cannot take signals: {error}"));
        let (sender, received) = mpsc::channel();
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_io()
            .build()
            .map_err(failed)?;
        let (mut interrupt, mut terminate) = {
            let _guard = runtime.enter();
            (
                signal(SignalKind::interrupt()).map_err(failed)?,
                signal(SignalKind::terminate()).map_err(failed)?,
            )
        };
        // Nobody waits for this thread: it ends with the program.
        std::thread::spawn(move || {
            runtime.block_on(async {
                loop {
                    let name = tokio::select! {
                        _ = interrupt.recv() => "SIGINT",
                        _ = terminate.recv() => "SIGTERM",
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
        self.received
            .recv()
            .map_err(|_| CommandError::internal("the thread that takes signals ended"))
    }

    /// Waits for the next one for some time; whether it came.
    pub(crate) fn wait_for(&self, time: Duration) -> bool {
        self.received.recv_timeout(time).is_ok()
    }
}
