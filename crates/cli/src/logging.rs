//! The log of the runtime.

use tracing_subscriber::EnvFilter;

/// The log goes to standard error; `SHARDWRIGHT_LOG=debug` logs more.
pub(crate) fn log_to_stderr() {
    let filter = EnvFilter::try_from_env("SHARDWRIGHT_LOG").unwrap_or_else(|_| EnvFilter::new("info"));
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .with_ansi(false)
        .init();
}
