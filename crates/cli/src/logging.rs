//! What the runtime logs.

use tracing_subscriber::EnvFilter;

/// What the proxy notes goes to standard error; `SHARDWRIGHT_LOG=debug` asks for more.
pub(crate) fn log_to_stderr() {
    let filter = EnvFilter::try_from_env("SHARDWRIGHT_LOG").unwrap_or_else(|_| EnvFilter::new("info"));
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .with_ansi(false)
        .init();
}
