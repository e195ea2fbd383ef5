//! Commands that ask of a server what a statement asks, too: COM_REFRESH, COM_DEBUG, COM_PROCESS_INFO. They are decided like the
//! statement.

use shardwright_rules::{Destination, Outcome as Decided, Statement};
use shardwright_sql::LexMode;
use shardwright_wire::{ResponseShape, errors};

use super::query::Query;
use super::{Flow, Session};
use crate::channel::Frame;

/// The bits of COM_REFRESH, and the statements that ask for the same. No statement closes idle threads, which is the bit 32; it is
/// decided like another one.
const REFRESHED: [(u8, &str); 8] = [
    (1, "FLUSH LOCAL PRIVILEGES"),
    (2, "FLUSH LOCAL LOGS"),
    (4, "FLUSH LOCAL TABLES"),
    (8, "FLUSH LOCAL HOSTS"),
    (16, "FLUSH LOCAL STATUS"),
    (32, "FLUSH LOCAL HOSTS"),
    (64, "RESET SLAVE"),
    (128, "RESET MASTER"),
];
/// It writes to the server's log.
const DEBUG: &str = "FLUSH LOCAL LOGS";

impl Session {
    /// COM_REFRESH: one command for several statements, which must be for one server.
    pub(super) async fn refresh(&mut self, bits: u8, frame: &Frame) -> Flow {
        let asked: Vec<&str> = REFRESHED
            .iter()
            .filter(|(bit, _)| bits & bit != 0)
            .map(|(_, text)| *text)
            .collect();
        self.as_statements(&asked, frame, ResponseShape::Status).await
    }

    /// COM_DEBUG
    pub(super) async fn debug(&mut self, frame: &Frame) -> Flow {
        self.as_statements(&[DEBUG], frame, ResponseShape::Status).await
    }

    /// COM_PROCESS_INFO
    pub(super) async fn process_info(&mut self, frame: &Frame) -> Flow {
        self.as_statements(&["SHOW PROCESSLIST"], frame, ResponseShape::TextResults)
            .await
    }

    /// Sends a command where all of these statements would go.
    async fn as_statements(&mut self, texts: &[&str], frame: &Frame, shape: ResponseShape) -> Flow {
        let seq = frame.next_seq();
        let mut place: Option<(Statement<'_>, Box<Destination>)> = None;
        for text in texts {
            let statement = Statement::new(text.as_bytes(), LexMode::default());
            let route = match self.decide(&statement).outcome {
                Decided::Route(route) => route,
                Decided::Reject(rejection) => return self.reject(seq, &rejection).await,
                Decided::Answer { .. } | Decided::Own { .. } | Decided::DeferBegin => {
                    return self.unsupported(seq, "Unknown command").await;
                }
            };
            if place
                .as_ref()
                .is_some_and(|(_, first)| first.hostgroup != route.hostgroup)
            {
                let error = errors::UNKNOWN_COM.with(format_args!(
                    "the rules send {} to different hostgroups: send them as statements",
                    texts.join(" and ")
                ));
                return self.refuse(seq, error).await;
            }
            place = Some((statement, Box::new(route)));
        }
        let Some((statement, route)) = place else {
            return self.send_ok(seq, b"").await;
        };
        let mut routed = self.routed_statement(&statement, &route, None);
        self.relay(&mut routed, &Query::plain(frame), shape).await
    }
}
