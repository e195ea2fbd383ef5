//! What servers are asked, and what their answers mean.

use std::time::Duration;

use super::heartbeat::{self, LARGEST_LAG_S};

use shardwright_rules::roles::{GaleraSight, GroupSight, ServerSight, Source};
use shardwright_rules::{ClusterKind, ReadOnlyCheck, Words};
use shardwright_wire::{MysqlError, TextRows};

use crate::backend::{Backend, BackendError};
use crate::throttles::{Measures, Positions, Questions};

const VARIABLES: &str = "SHOW GLOBAL VARIABLES WHERE Variable_name IN ";
const STATUS: &str = "SHOW GLOBAL STATUS WHERE Variable_name IN ";
const STATES: &[u8] = b"SHOW GLOBAL STATUS WHERE Variable_name IN ('wsrep_ready', 'wsrep_cluster_status', 'wsrep_local_state', \
                        'wsrep_local_recv_queue')";
/// The server itself among the members of its group, and whether more than half of them are there.
const GROUP: &[u8] = b"SELECT own.MEMBER_STATE AS state, \
    (SELECT SUM(MEMBER_STATE IN ('ONLINE', 'RECOVERING')) * 2 > COUNT(*) \
     FROM performance_schema.replication_group_members) AS has_majority, \
    stats.COUNT_TRANSACTIONS_IN_QUEUE + stats.COUNT_TRANSACTIONS_REMOTE_IN_APPLIER_QUEUE AS queue \
    FROM performance_schema.replication_group_members own \
    LEFT JOIN performance_schema.replication_group_member_stats stats ON stats.MEMBER_ID = own.MEMBER_ID \
    WHERE own.MEMBER_ID = @@global.server_uuid";
/// Every source of a MariaDB server; MySQL's; that of earlier versions of both.
const SOURCES: [&[u8]; 3] = [
    b"SHOW ALL SLAVES STATUS",
    b"SHOW REPLICA STATUS",
    b"SHOW SLAVE STATUS",
];
/// A statement that the server does not know.
const PARSE_ERROR: u16 = 1064;

/// What servers have written and applied: MariaDB's positions, MySQL's set.
const POSITIONS: [&str; 3] = ["gtid_binlog_pos", "gtid_slave_pos", "gtid_executed"];
const POSITIONS_WRITTEN: [&str; 2] = ["gtid_binlog_pos", "gtid_executed"];
const POSITIONS_APPLIED: [&str; 2] = ["gtid_slave_pos", "gtid_executed"];
/// For how long flow control has stopped a server so far. `wsrep_flow_control_paused` is an average of a time of its own.
const FLOW_CONTROL: &str = "wsrep_flow_control_paused_ns";

/// Asks a server how it is, and what throttles want to know. An error of the server is an answer: it does not say what was
/// asked.
pub(super) async fn look(
    backend: &mut Backend,
    kind: &ClusterKind,
    questions: &Questions,
    patience: Duration,
) -> Result<(ServerSight, Measures), BackendError> {
    let check = match kind {
        ClusterKind::Replication { read_only_check } => *read_only_check,
        _ => ReadOnlyCheck::ReadOnly,
    };
    let mut wanted = vec![
        "read_only",
        check.word(),
        "wsrep_desync",
        "wsrep_reject_queries",
        "pxc_maint_mode",
    ];
    if questions.positions {
        wanted.extend(POSITIONS);
    }
    let question = format!("{VARIABLES}('{}')", wanted.join("', '"));
    let variables = named_values(backend.exchange_rows(question.as_bytes(), patience).await?);
    let mut sight = ServerSight {
        is_read_only: variables.get(check.word()).and_then(switch),
        ..ServerSight::default()
    };
    match kind {
        ClusterKind::Single => {}
        ClusterKind::Replication { .. } => {
            let sources = sources(backend, patience).await?;
            (sight.source, sight.lag_ms) = source_and_lag(sources.as_ref());
            sight.is_lag_rounded = true;
            sight.has_received_all = has_received_all(sources.as_ref());
            if let Some(table) = &questions.heartbeat {
                sight.is_lag_rounded = false;
                sight.lag_ms = match sight.source {
                    // It follows nobody: there is nothing that it could be behind of.
                    Source::None => None,
                    _ => heartbeat::lag_ms(backend, table, patience).await?,
                };
            }
        }
        ClusterKind::Galera(_) => {
            let states = named_values(backend.exchange_rows(STATES, patience).await?);
            sight.galera = Some(galera(&variables, &states));
        }
        ClusterKind::GroupReplication(_) => match backend.exchange_rows(GROUP, patience).await? {
            Ok(rows) => sight.group = group(&rows),
            // Whoever may not ask does not know whether the server is a member: it stays what it was.
            Err(error) => {
                tracing::debug!(%error, "a server does not say whether it is a member of a group");
                sight.is_read_only = None;
            }
        },
    }
    let measures = Measures {
        lag_ms: sight.lag_ms,
        by_heartbeat: questions.heartbeat.is_some(),
        written: POSITIONS_WRITTEN
            .iter()
            .find_map(|name| variables.positions(name)),
        applied: POSITIONS_APPLIED
            .iter()
            .find_map(|name| variables.positions(name)),
        ..measures(backend, questions, patience).await?
    };
    Ok((sight, measures))
}

/// What throttles want to know of a server's status.
async fn measures(
    backend: &mut Backend,
    questions: &Questions,
    patience: Duration,
) -> Result<Measures, BackendError> {
    let flow_control = questions.flow_control.then_some(FLOW_CONTROL);
    let names: Vec<String> = questions
        .status
        .iter()
        .map(String::as_str)
        .chain(flow_control)
        .map(|name| format!("'{}'", name.replace('\\', "\\\\").replace('\'', "''")))
        .collect();
    if names.is_empty() {
        return Ok(Measures::default());
    }
    let question = format!("{STATUS}({})", names.join(", "));
    let values = named_values(backend.exchange_rows(question.as_bytes(), patience).await?);
    let number = |name: &String| Some((name.clone(), values.number(name)?));
    Ok(Measures {
        status: questions.status.iter().filter_map(number).collect(),
        flow_control: values.number(FLOW_CONTROL).map(Duration::from_nanos),
        ..Measures::default()
    })
}

/// How the server says from where it replicates; `None` where it does not say.
async fn sources(backend: &mut Backend, patience: Duration) -> Result<Option<TextRows>, BackendError> {
    let own = if backend.is_mariadb {
        SOURCES[0]
    } else {
        SOURCES[1]
    };
    match backend.exchange_rows(own, patience).await? {
        Err(error) if error.code == PARSE_ERROR => {
            Ok(backend.exchange_rows(SOURCES[2], patience).await?.ok())
        }
        answer => Ok(answer.ok()),
    }
}

/// Rows of a name and a value.
struct NamedValues(TextRows);

fn named_values(answer: Result<TextRows, MysqlError>) -> NamedValues {
    NamedValues(answer.unwrap_or_else(|error| {
        tracing::debug!(%error, "a server does not say what a monitor asks");
        TextRows::default()
    }))
}

impl NamedValues {
    fn get(&self, name: &str) -> Option<&str> {
        let at = (0..self.0.rows.len()).find(|&at| {
            let named = self.0.value(at, "Variable_name");
            named.is_some_and(|named| named.eq_ignore_ascii_case(name.as_bytes()))
        })?;
        std::str::from_utf8(self.0.value(at, "Value")?).ok()
    }

    fn positions(&self, name: &str) -> Option<Positions> {
        Positions::parse(self.get(name)?)
    }

    fn number<N: std::str::FromStr>(&self, name: &str) -> Option<N> {
        self.get(name)?.parse().ok()
    }
}

fn switch(value: &str) -> Option<bool> {
    match value {
        "ON" | "1" => Some(true),
        "OFF" | "0" => Some(false),
        // MariaDB 12 has levels of read_only.
        "NO_LOCK" | "NO_LOCK_NO_ADMIN" => Some(true),
        _ => None,
    }
}

fn galera(variables: &NamedValues, states: &NamedValues) -> GaleraSight {
    let is_other = |name, normal: &str| {
        variables
            .get(name)
            .is_some_and(|value| !value.eq_ignore_ascii_case(normal))
    };
    GaleraSight {
        is_ready: states.get("wsrep_ready").and_then(switch),
        is_primary: states
            .get("wsrep_cluster_status")
            .map(|status| status.eq_ignore_ascii_case("Primary")),
        state: states.number("wsrep_local_state"),
        is_desynced: variables.get("wsrep_desync").and_then(switch),
        rejects_queries: is_other("wsrep_reject_queries", "NONE"),
        is_in_maintenance: is_other("pxc_maint_mode", "DISABLED"),
        queue: states.number("wsrep_local_recv_queue"),
    }
}

fn group(rows: &TextRows) -> Option<GroupSight> {
    let text = |column| std::str::from_utf8(rows.value(0, column)?).ok();
    Some(GroupSight {
        state: text("state")?.to_owned(),
        has_majority: text("has_majority") == Some("1"),
        queue: text("queue").and_then(|queue| queue.parse().ok()),
    })
}

/// From where a server replicates, and how far it is behind: of several sources the worst counts.
fn source_and_lag(rows: Option<&TextRows>) -> (Source, Option<u64>) {
    let Some(rows) = rows else {
        return (Source::Unknown, None);
    };
    let value = |row, names: [&str; 2]| {
        let value = names.iter().find_map(|name| rows.value(row, name))?;
        std::str::from_utf8(value).ok()
    };
    let mut source = Source::None;
    let mut worst_ms = Some(0);
    for row in 0..rows.rows.len() {
        let of_row = match value(row, ["Replica_IO_Running", "Slave_IO_Running"]) {
            Some("Yes") => Source::Running,
            Some("No") => Source::Stopped,
            Some(_) => Source::Connecting,
            None => Source::Unknown,
        };
        source = match (source, of_row) {
            (Source::None, of_row) => of_row,
            (Source::Running, _) | (_, Source::Running) => Source::Running,
            (Source::Connecting, _) | (_, Source::Connecting) => Source::Connecting,
            (source, _) => source,
        };
        let lag = value(row, ["Seconds_Behind_Source", "Seconds_Behind_Master"]);
        let lag_s = lag.and_then(|lag| lag.parse::<u64>().ok());
        let lag_ms = lag_s.filter(|lag| *lag <= LARGEST_LAG_S).map(|lag| lag * 1000);
        worst_ms = worst_ms.zip(lag_ms).map(|(worst, lag)| worst.max(lag));
    }
    (source, worst_ms.filter(|_| !rows.rows.is_empty()))
}

/// Whether a server has received whatever its sources have sent.
fn has_received_all(rows: Option<&TextRows>) -> bool {
    let waits = |rows: &TextRows, row| {
        let states = ["Replica_IO_State", "Slave_IO_State"];
        let state = states.iter().find_map(|name| rows.value(row, name));
        // "Waiting for master to send event", "Waiting for source to send event"
        state.is_some_and(|state| state.starts_with(b"Waiting for ") && state.ends_with(b" to send event"))
    };
    rows.is_some_and(|rows| (0..rows.rows.len()).all(|row| waits(rows, row)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(columns: &[&str], values: &[&[Option<&str>]]) -> TextRows {
        let bytes = |value: &Option<&str>| value.map(|value| value.as_bytes().to_vec());
        TextRows {
            columns: columns.iter().map(|name| name.as_bytes().to_vec()).collect(),
            types: Vec::new(),
            rows: values.iter().map(|row| row.iter().map(bytes).collect()).collect(),
        }
    }

    #[test]
    fn nonsense_and_null_are_unknown_and_never_zero() {
        let of = |io: &str, lag: Option<&str>| {
            let answer = rows(
                &["Slave_IO_Running", "Seconds_Behind_Master"],
                &[&[Some(io), lag]],
            );
            source_and_lag(Some(&answer))
        };
        assert_eq!(of("Yes", Some("0")), (Source::Running, Some(0)));
        assert_eq!(of("Yes", Some("18")), (Source::Running, Some(18_000)));
        assert_eq!(of("Yes", None), (Source::Running, None));
        assert_eq!(of("Connecting", None), (Source::Connecting, None));
        assert_eq!(of("No", Some("-1")), (Source::Stopped, None));
        for nonsense in ["20000000000000000", "1e3", "", "many", "18446744073709551615"] {
            assert_eq!(of("Yes", Some(nonsense)), (Source::Running, None), "{nonsense}");
        }
        assert_eq!(source_and_lag(None), (Source::Unknown, None));
        assert_eq!(
            source_and_lag(Some(&rows(&["Slave_IO_Running"], &[]))),
            (Source::None, None)
        );
    }

    #[test]
    fn of_several_sources_the_worst_lag_counts() {
        let names = ["Replica_IO_Running", "Seconds_Behind_Source"];
        let answer = rows(&names, &[&[Some("Yes"), Some("1")], &[Some("Yes"), Some("7")]]);
        assert_eq!(source_and_lag(Some(&answer)), (Source::Running, Some(7_000)));
        let answer = rows(&names, &[&[Some("No"), None], &[Some("Connecting"), Some("7")]]);
        assert_eq!(source_and_lag(Some(&answer)), (Source::Connecting, None));
    }

    #[test]
    fn states_of_galera_are_read() {
        let named = |pairs: &[(&str, &str)]| {
            let values: Vec<[Option<&str>; 2]> = pairs
                .iter()
                .map(|(name, value)| [Some(*name), Some(*value)])
                .collect();
            let values: Vec<&[Option<&str>]> = values.iter().map(|row| &row[..]).collect();
            NamedValues(rows(&["Variable_name", "Value"], &values))
        };
        let states = named(&[
            ("wsrep_cluster_status", "Primary"),
            ("wsrep_local_recv_queue", "3"),
            ("wsrep_local_state", "4"),
            ("wsrep_ready", "ON"),
        ]);
        let sight = galera(
            &named(&[("wsrep_desync", "OFF"), ("wsrep_reject_queries", "NONE")]),
            &states,
        );
        let synced = GaleraSight {
            queue: Some(3),
            ..GaleraSight::synced()
        };
        assert_eq!(sight, synced);
        let sight = galera(
            &named(&[("wsrep_reject_queries", "ALL"), ("pxc_maint_mode", "MAINTENANCE")]),
            &states,
        );
        assert!(sight.rejects_queries && sight.is_in_maintenance);
        let nothing = galera(&named(&[]), &named(&[("wsrep_ready", "maybe")]));
        assert_eq!(nothing, GaleraSight::default());
    }

    #[test]
    fn a_member_of_a_group_is_read() {
        let columns = ["state", "has_majority", "queue"];
        let of = |values: &[Option<&str>]| group(&rows(&columns, &[values]));
        let sight = of(&[Some("ONLINE"), Some("1"), Some("12")]).unwrap();
        assert_eq!(
            (sight.state.as_str(), sight.has_majority, sight.queue),
            ("ONLINE", true, Some(12))
        );
        assert!(!of(&[Some("ONLINE"), Some("0"), None]).unwrap().has_majority);
        assert_eq!(group(&rows(&columns, &[])), None);
    }
}
