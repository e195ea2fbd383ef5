//! Lines `feature: outcome`, as every client prints them.

use std::fmt::Write;
use std::hash::{DefaultHasher, Hash, Hasher};

use futures_util::{Stream, StreamExt};
use sqlx::mysql::{MySqlDatabaseError, MySqlQueryResult, MySqlRow};
use sqlx::{Column, Either, Row, TypeInfo, ValueRef};

pub(crate) type Outcome = sqlx::Result<String>;

pub(crate) fn variable(name: &str) -> String {
    std::env::var(format!("CLIENT_{name}")).unwrap_or_else(|_| panic!("CLIENT_{name} is not set"))
}

pub(crate) async fn feature(name: &str, work: impl Future<Output = Outcome>) {
    if variable("LEFT_OUT").split(", ").any(|left_out| left_out == name) {
        return;
    }
    let outcome = work.await.unwrap_or_else(|failed| error(&failed));
    println!("{name}: {}", outcome.replace('\n', "\\n"));
}

/// The outcome of one step, and of the next.
pub(crate) fn then(first: Outcome, next: Outcome) -> Outcome {
    let shown = |outcome: Outcome| outcome.unwrap_or_else(|failed| error(&failed));
    Ok(format!("{}, then {}", shown(first), shown(next)))
}

/// A server's error by its number, another one by its kind.
pub(crate) fn error(failed: &sqlx::Error) -> String {
    if let sqlx::Error::Database(failed) = failed
        && let Some(failed) = failed.try_downcast_ref::<MySqlDatabaseError>()
    {
        return format!("error {}", failed.number());
    }
    let kind = format!("{failed:?}");
    let end = kind
        .find(|c: char| !c.is_ascii_alphanumeric())
        .unwrap_or(kind.len());
    format!("error {}", &kind[..end])
}

/// All results of a statement.
pub(crate) async fn results(
    mut stream: impl Stream<Item = sqlx::Result<Either<MySqlQueryResult, MySqlRow>>> + Unpin,
) -> Outcome {
    let mut shown = String::new();
    while let Some(item) = stream.next().await {
        match item? {
            Either::Left(done) => write!(shown, "ok {} ", done.rows_affected()).unwrap(),
            Either::Right(row) => write!(shown, "({}) ", values(&row)).unwrap(),
        }
    }
    Ok(shown.trim_end().to_owned())
}

fn values(row: &MySqlRow) -> String {
    let columns = row.columns().iter();
    let shown: Vec<String> = columns.map(|column| value(row, column.ordinal())).collect();
    shown.join(", ")
}

/// A value with its type, short, and the same in every run.
fn value(row: &MySqlRow, index: usize) -> String {
    let raw = row.try_get_raw(index).unwrap();
    let kind = row.columns()[index].type_info().name().to_owned();
    if raw.is_null() {
        return format!("{kind} NULL");
    }
    if let Ok(number) = row.try_get::<i64, _>(index) {
        return format!("{kind} {number}");
    }
    if let Ok(number) = row.try_get::<u64, _>(index) {
        return format!("{kind} {number}");
    }
    if let Ok(number) = row.try_get::<f64, _>(index) {
        return format!("{kind} {number:?}");
    }
    if let Ok(text) = row.try_get::<String, _>(index) {
        return match text.len() {
            0..=120 => format!("{kind} {text:?}"),
            long => format!("{kind} {long} bytes {:x}", digest(text.as_bytes())),
        };
    }
    // Types that this program does not read: as they come.
    match row.try_get_unchecked::<Vec<u8>, _>(index) {
        Ok(bytes) if bytes.len() > 120 => format!("{kind} {} bytes {:x}", bytes.len(), digest(&bytes)),
        Ok(bytes) => format!("{kind} {}", bytes.escape_ascii()),
        Err(failed) => format!("{kind} {}", error(&failed)),
    }
}

fn digest(bytes: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    bytes.hash(&mut hasher);
    hasher.finish()
}
