//! How far a replica is behind, by a table of pt-heartbeat.
//!
//! pt-heartbeat writes the time into a row of its server on the source (`ts`, in UTC with `--utc`, and `server_id`). The replica's
//! clock and the newest row that is not its own say how old what it has is. A beat that is missing makes a lag that grows, whether
//! replication says that it runs or not.

use std::time::Duration;

use shardwright_wire::TextRows;

use crate::backend::{Backend, BackendError};

/// A replica is never further behind than this: what is said to be is nonsense. Servers were seen to say 2e16 s.
pub(super) const LARGEST_LAG_S: u64 = 10 * 365 * 86_400;
/// Clocks differ: a beat from this far in the future is one of now. What is further ahead is nonsense.
const SKEW_US: i64 = 1_000_000;

/// Asks a replica; `None`: it does not say, or what it says is nonsense.
pub(super) async fn lag_ms(
    backend: &mut Backend,
    table: &str,
    patience: Duration,
) -> Result<Option<u64>, BackendError> {
    let question = format!(
        "SELECT TIMESTAMPDIFF(MICROSECOND, MAX(ts), UTC_TIMESTAMP(6)) AS lag_us FROM {table} \
         WHERE server_id <> @@global.server_id"
    );
    Ok(
        match backend.exchange_rows(question.as_bytes(), patience).await? {
            Ok(rows) => of_rows(&rows),
            Err(error) => {
                tracing::debug!(%error, table, "a replica does not say when the last heartbeat was");
                None
            }
        },
    )
}

fn of_rows(rows: &TextRows) -> Option<u64> {
    let text = std::str::from_utf8(rows.value(0, "lag_us")?).ok()?;
    let lag_us: i64 = text.parse().ok()?;
    match lag_us {
        ..0 if lag_us < -SKEW_US => None,
        ..0 => Some(0),
        _ => u64::try_from(lag_us / 1000)
            .ok()
            .filter(|lag_ms| *lag_ms <= LARGEST_LAG_S * 1000),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nonsense_is_unknown_and_never_zero() {
        let of = |value: Option<&str>| {
            of_rows(&TextRows {
                columns: vec![b"lag_us".to_vec()],
                types: Vec::new(),
                rows: vec![vec![value.map(|value| value.as_bytes().to_vec())]],
            })
        };
        assert_eq!(of(Some("18000250")), Some(18_000));
        assert_eq!(of(Some("-900")), Some(0));
        for nonsense in [
            None,
            Some(""),
            Some("2E16"),
            Some("20000000000000000"),
            Some("-7200000000"),
            Some("99999999999999999999999"),
        ] {
            assert_eq!(of(nonsense), None, "{nonsense:?}");
        }
        assert_eq!(of_rows(&TextRows::default()), None);
    }
}
