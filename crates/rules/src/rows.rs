//! Objects of a configuration as rows of the engine's tables: the columns that they fill, in the order of the table.

use shardwright_tables::{Cell, SERVERS, Table, USERS};

use crate::{ClientTls, FastRoute, HostgroupId, Member, ServerTls, User};

/// The password of a user whose password is a reference: a hash that no known password has, so that nobody logs in
/// until it is replaced. (An empty text would let everyone in; any other text would be a password in a file.)
pub const PLACEHOLDER_PASSWORD: &str = "*0000000000000000000000000000000000000000";

/// Columns with their values.
pub type Cells = Vec<(&'static str, Cell)>;

/// Columns that no object of the language says anything of, by table. A row that is written anew has the engine's default
/// there; in a row that is live they stay as they are.
pub const LEFT_COLUMNS: [(&Table, &[&str]); 2] = [
    (&SERVERS, &["gtid_port", "compression", "max_latency_ms"]),
    (
        &USERS,
        &["schema_locked", "fast_forward", "backend", "attributes"],
    ),
];

/// The columns of a table that no object of the language says anything of.
pub fn left_columns(table: &Table) -> &'static [&'static str] {
    let mut tables = LEFT_COLUMNS.iter();
    let found = tables.find(|(left, _)| left.name == table.name);
    found.map_or(&[], |(_, columns)| columns)
}

impl User {
    /// Its row of `mysql_users`, without its password.
    pub fn cells(&self) -> Cells {
        let password = self.password.as_ref().map_or("", |_| PLACEHOLDER_PASSWORD);
        let mut cells: Cells = vec![
            ("username", self.name.as_str().into()),
            ("password", password.into()),
            ("active", true.into()),
        ];
        if self.tls != ClientTls::Optional {
            cells.push(("use_ssl", true.into()));
        }
        cells.push(("default_hostgroup", self.default_hostgroup.0.into()));
        if let Some(schema) = &self.default_schema {
            cells.push(("default_schema", schema.as_str().into()));
        }
        cells.extend([
            ("transaction_persistent", self.transaction_persistent.into()),
            ("max_connections", self.max_connections.into()),
            ("comment", self.address.as_str().into()),
        ]);
        cells
    }
}

impl Member {
    /// Its row of `mysql_servers` in a hostgroup.
    pub fn cells(&self, hostgroup: HostgroupId) -> Cells {
        vec![
            ("hostgroup_id", hostgroup.0.into()),
            ("hostname", self.host.as_str().into()),
            ("port", self.port.into()),
            ("status", self.status.column().into()),
            ("weight", self.weight.into()),
            ("max_connections", self.max_connections.into()),
            ("max_replication_lag", self.max_replication_lag_s.into()),
            ("use_ssl", (self.tls != ServerTls::Disabled).into()),
            ("comment", self.server.as_str().into()),
        ]
    }
}

impl FastRoute {
    /// Its row of `mysql_query_rules_fast_routing`.
    pub fn cells(&self) -> Cells {
        vec![
            ("username", self.username.as_str().into()),
            ("schemaname", self.schemaname.as_str().into()),
            ("flagIN", self.flag_in.into()),
            ("destination_hostgroup", self.hostgroup.0.into()),
            ("comment", self.address.as_str().into()),
        ]
    }
}
