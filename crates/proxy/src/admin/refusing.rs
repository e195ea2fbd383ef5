//! Apps whose checks are refused: told here, answered over HTTP.

use std::time::Duration;

use shardwright_mysqlite::{Answer, RowSink};
use shardwright_wire::{MysqlError, errors};

use super::rows::{Rows, int, text};
use super::{AdminSession, one_row};
use crate::shared::Shared;
use crate::stats::WorkerFigures;

/// The longest name of an app, bytes.
const LONGEST_NAME: usize = 255;

/// Each app, and for how long it is still refused.
pub(super) const COLUMNS: &[&str] = &["app VARCHAR", "left_s INT"];

pub(super) fn rows(shared: &Shared, _: &[WorkerFigures]) -> Rows {
    let refused = shared.refused_apps.all().into_iter();
    refused
        .map(|(app, left)| vec![text(&app), int(left.as_secs())])
        .collect()
}

impl AdminSession {
    /// Refuses the checks of an app for a time.
    pub(super) fn refuse_app(
        &self,
        app: &str,
        time: Duration,
        rows: &mut dyn RowSink,
    ) -> Result<Answer, MysqlError> {
        if app.is_empty() || app.len() > LONGEST_NAME {
            let message = format!("the name of an app has 1 to {LONGEST_NAME} bytes");
            return Err(errors::UNKNOWN.with(message));
        }
        let refused = self.shared.refused_apps.refuse(app, time);
        refused.map_err(|error| errors::UNKNOWN.with(error))?;
        tracing::info!(app, ?time, "its checks are refused");
        one_row(&["app", "left_s"], vec![text(app), int(time.as_secs())]).send(rows)
    }

    /// Ends that.
    pub(super) fn allow_app(&self, app: &str, rows: &mut dyn RowSink) -> Result<Answer, MysqlError> {
        let was_refused = self.shared.refused_apps.allow(app);
        if was_refused {
            tracing::info!(app, "its checks are answered again");
        }
        one_row(
            &["app", "was_refused"],
            vec![text(app), int(i64::from(was_refused))],
        )
        .send(rows)
    }
}
