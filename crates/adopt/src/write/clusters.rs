//! `clusters`.

use shardwright_rules::{
    Failback, HostgroupId, MemberStatus, ReadOnlyCheck, RolesBy, ServerTls, Words, WriterServesReads,
};

use crate::draft::{ClusterDraft, ClusterForm, Draft, Hostgroups, ServerDraft};
use crate::yaml::{Field, Yaml, fields_of};

const USUAL_PORT: u16 = 3306;
const USUAL_CONNECTIONS: u32 = 1000;

pub(super) fn sections(draft: &Draft) -> Vec<Field> {
    let clusters = draft.clusters.iter().map(cluster).collect();
    vec![Field::new("clusters", Yaml::Block(clusters))]
}

impl ClusterForm {
    fn word(self) -> &'static str {
        match self {
            Self::Single => "single",
            Self::Hostgroup => "hostgroup",
            Self::Replication(_) => "replication",
            Self::Galera => "galera",
            Self::GroupReplication => "group_replication",
        }
    }

    /// Whether its servers are writers and readers.
    pub(crate) fn has_roles(self) -> bool {
        !matches!(self, Self::Single | Self::Hostgroup)
    }
}

fn cluster(cluster: &ClusterDraft) -> Field {
    let of_roles =
        |differs: bool, word: &str| (cluster.form.has_roles() && differs).then(|| Yaml::word(word));
    let check = match cluster.form {
        ClusterForm::Replication(check) if check != ReadOnlyCheck::ReadOnly => Some(Yaml::word(check.word())),
        _ => None,
    };
    let serves = cluster.writer_serves_reads;
    let fields = fields_of([
        ("type", Some(Yaml::word(cluster.form.word()))),
        ("read_only_check", check),
        ("hostgroups", Some(hostgroups(&cluster.hostgroups))),
        (
            "writers",
            (cluster.writers > 1).then(|| Yaml::number(cluster.writers)),
        ),
        (
            "writer_serves_reads",
            of_roles(serves != WriterServesReads::LastResort, serves.word()),
        ),
        (
            "failback",
            of_roles(cluster.failback != Failback::Manual, cluster.failback.word()),
        ),
        (
            "max_transactions_behind",
            cluster.max_transactions_behind.map(Yaml::number),
        ),
        (
            "roles_by",
            of_roles(cluster.roles_by != RolesBy::Engine, cluster.roles_by.word()),
        ),
        (
            "tls",
            (cluster.tls != ServerTls::Disabled).then(|| Yaml::word(cluster.tls.word())),
        ),
        ("servers", Some(servers(&cluster.servers))),
    ]);
    Field::new(&cluster.name, Yaml::Map(fields))
}

fn hostgroups(hostgroups: &Hostgroups) -> Yaml {
    let number = |id: HostgroupId| Yaml::number(id.0);
    Yaml::map([
        ("writer", Some(number(hostgroups.writer))),
        ("reader", hostgroups.reader.map(number)),
        (
            "backup_writer",
            hostgroups.group.map(|(backup, _)| number(backup)),
        ),
        ("offline", hostgroups.group.map(|(_, offline)| number(offline))),
    ])
}

fn servers(servers: &[ServerDraft]) -> Yaml {
    let fields: Vec<Field> = servers.iter().map(server).collect();
    match fields.len() {
        1 => Yaml::Map(fields),
        _ => Yaml::Block(fields),
    }
}

fn server(server: &ServerDraft) -> Field {
    let lag = server.max_replication_lag_s;
    let value = Yaml::map([
        ("host", Some(Yaml::text(&server.host))),
        (
            "port",
            (server.port != USUAL_PORT).then(|| Yaml::number(server.port)),
        ),
        (
            "weight",
            (server.weight != 1).then(|| Yaml::number(server.weight)),
        ),
        ("read_weight", server.read_weight.map(Yaml::number)),
        (
            "max_connections",
            (!matches!(server.max_connections, 0 | USUAL_CONNECTIONS))
                .then(|| Yaml::number(server.max_connections)),
        ),
        (
            "max_replication_lag",
            (lag > 0).then(|| Yaml::word(format!("{lag}s"))),
        ),
        (
            "state",
            (server.state != MemberStatus::Online).then(|| Yaml::word(server.state.word())),
        ),
    ]);
    Field::new(&server.name, value)
}
