//! How a session begins: as one on the server that a client without a proxy would log in to, the writer of the user's cluster.

use std::time::Duration;

use super::Session;
use super::requirements::Requirements;
use crate::server_defaults::ServerDefaults;

/// Time for the first connection to a server whose defaults nobody knows. A client whose server does not answer gets its
/// login all the same.
const PATIENCE: Duration = Duration::from_secs(1);

impl Session {
    /// Takes on the defaults of the user's server. Servers that differ from it are set to the session's autocommit.
    pub(super) async fn begin_as_on_server(&mut self) {
        let snapshot = self.login.snapshot.clone();
        let home = self.login.user.user.default_hostgroup;
        let Some(writer) = snapshot.writers_beside(home).next() else {
            return;
        };
        let known = writer.defaults.get();
        if known.is_none_or(|defaults| defaults.contains(ServerDefaults::INIT_CONNECT)) {
            self.look_at_server().await;
        } else if let Some(defaults) = known {
            self.settings.defaults = defaults;
            self.settings.autocommit = defaults.autocommit();
        }
    }

    /// Opens a connection, which tells.
    async fn look_at_server(&mut self) {
        let home = self.login.user.user.default_hostgroup;
        let cluster = self.login.snapshot.configuration.cluster_of(home);
        let requirements = Requirements::settings_only(cluster.map_or(home, |cluster| cluster.writer));
        let random = self.worker.random();
        let search = self.search(&requirements, random);
        let connection = self.worker.shared.clock.timeout(PATIENCE, search.connection());
        let backend = match connection.await {
            Ok(Ok(backend)) => backend,
            // The first statement will meet the same.
            Ok(Err(error)) => return tracing::debug!(?error, "nobody tells how a session begins"),
            Err(_) => return tracing::debug!("nobody tells in time how a session begins"),
        };
        if let Some(defaults) = backend.member.defaults.get() {
            self.settings.defaults = defaults;
            self.settings.autocommit = defaults.autocommit();
            if backend.has_run_init_connect {
                self.settings.autocommit = backend.autocommit;
            }
        }
        self.worker.pool.give(backend);
    }
}
