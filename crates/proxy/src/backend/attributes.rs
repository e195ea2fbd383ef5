//! How the proxy introduces itself to servers.

use shardwright_wire::Attributes;

/// What `performance_schema.session_connect_attrs` of the server shows. Those of clients are not passed on: they share connections.
pub(super) fn attributes() -> Attributes {
    let id = std::process::id().to_string();
    [
        ("_client_name", "shardwright"),
        ("_client_version", env!("CARGO_PKG_VERSION")),
        ("_os", std::env::consts::OS),
        ("_pid", &id),
        ("program_name", "shardwright proxy"),
    ]
    .map(|(name, value)| (name.into(), value.into()))
    .to_vec()
}
