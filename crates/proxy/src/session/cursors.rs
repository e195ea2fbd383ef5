//! Server-side cursors: an execution that opens one sends no rows, and COM_STMT_FETCH brings some at a time.
//!
//! A cursor lives in a prepared statement of one connection. So the connection stays with its session ([`Holds::CURSORS`]) while
//! a cursor is open there, and the server's statement is the cursor's alone: another execution of the same text, which would
//! close it, gets a statement of its own.
//!
//! ```text
//! EXECUTE 1 (cursor)   server: 7 opens      7 is taken out of what the connection has prepared
//! EXECUTE 2, same text server: prepares 8   the cursor of 7 stays open
//! FETCH 1 … last row   server: 7 closes     7 can be executed again, by anyone
//! CLOSE 1 before that  server: CLOSE 7      which has no answer
//! ```

use shardwright_rules::Statement;
use shardwright_wire::{Command, MysqlError, ResponseShape, StatusFlags, append_packet, errors};

use super::cursor::Cursor;
use super::forward::Transmission;
use super::held::Held;
use super::holds::Holds;
use super::prepared_errors::unknown;
use super::{Flow, Session};

impl Session {
    /// Notes the cursor that an execution of statement `id` has opened, if it has.
    pub(super) fn note_cursor(&mut self, id: u32, held: &mut Held, server_id: u32) {
        if !held.backend.scanner.outcome().has_cursor {
            return;
        }
        let Some(statement) = self.statements.get_mut(id) else {
            return;
        };
        let Some((text, bound)) = held.backend.statements.remove(server_id) else {
            return;
        };
        held.holds |= Holds::CURSORS;
        statement.cursor = Some(Cursor {
            hostgroup: held.hostgroup,
            serial: held.backend.serial,
            server_id,
            text,
            bound,
        });
    }

    /// COM_STMT_FETCH.
    pub(super) async fn fetch(&mut self, id: u32, rows: u32, seq: u8) -> Flow {
        let Some(statement) = self.statements.get(id) else {
            return self.refuse(seq, unknown(id, "mysqld_stmt_fetch")).await;
        };
        let Some(cursor) = &statement.cursor else {
            return self.refuse(seq, no_cursor(id)).await;
        };
        let (server_id, text, mode) = (cursor.server_id, statement.text.clone(), statement.reading.mode);
        let Some(mut held) = self.connection_of_cursor(id) else {
            return self.refuse(seq, no_cursor(id)).await;
        };
        let (mut bytes, mut next_seq) = (Vec::new(), 0);
        let command = Command::StmtFetch {
            statement_id: server_id,
            rows,
        };
        append_packet(&mut bytes, &mut next_seq, |out| command.encode(out));
        let transmission = Transmission {
            bytes: &bytes,
            shape: ResponseShape::Rows,
            next_seq,
            statement_id: None,
            statement: None,
            may_repeat: false,
        };
        let sending = self.transmit(&mut held.backend, &transmission, None);
        if let Err(broken) = sending.await {
            let statement = Statement::new(&text, mode);
            return self.broken(broken, held, statement.shape(), seq).await;
        }
        self.diagnostics.fetched();
        let status = held.backend.scanner.outcome().status;
        if status.is_some_and(|status| status.contains(StatusFlags::SERVER_STATUS_LAST_ROW_SENT))
            && let Some(cursor) = self.forget_cursor(id, &mut held)
        {
            // The server has closed it; its statement can be executed again.
            let Cursor { text, bound, .. } = cursor;
            self.remember_prepared(&mut held, (text, bound), cursor.server_id)
                .await;
        }
        self.held.keep_or_give(held, &self.worker.pool);
        Ok(())
    }

    /// Closes the cursor of a statement, if one is open.
    pub(super) async fn close_cursor(&mut self, id: u32) {
        let Some(mut held) = self.connection_of_cursor(id) else {
            return;
        };
        if let Some(cursor) = self.forget_cursor(id, &mut held) {
            let mut payload = Vec::new();
            Command::StmtClose(cursor.server_id).encode(&mut payload);
            held.backend.channel.queue(&mut 0, &payload);
            if let Err(error) = held.backend.channel.flush().await {
                tracing::debug!(%error, "the connection of a cursor was lost");
                held.holds |= Holds::CURSORS;
            }
        }
        self.held.keep_or_give(held, &self.worker.pool);
    }

    /// The connection that has the cursor of a statement; the caller gives it back.
    fn connection_of_cursor(&mut self, id: u32) -> Option<Held> {
        let cursor = self.statements.get(id)?.cursor.as_ref()?;
        let held = self.held.on(cursor.hostgroup)?;
        (held.backend.serial == cursor.serial)
            .then_some(cursor.hostgroup)
            .and_then(|hostgroup| self.held.take(hostgroup))
    }

    /// The statement has no cursor any more. Its connection is held for the others.
    fn forget_cursor(&mut self, id: u32, held: &mut Held) -> Option<Cursor> {
        let cursor = self.statements.get_mut(id)?.cursor.take()?;
        let is_last = !self
            .statements
            .cursors()
            .any(|other| other.serial == cursor.serial);
        held.holds.set(Holds::CURSORS, !is_last);
        Some(cursor)
    }

    /// COM_STMT_CLOSE, which has no answer.
    pub(super) async fn close_statement(&mut self, id: u32) -> Flow {
        self.close_cursor(id).await;
        self.statements.close(id);
        self.count_kept();
        Ok(())
    }

    /// COM_STMT_RESET.
    pub(super) async fn reset_statement(&mut self, id: u32, seq: u8) -> Flow {
        self.close_cursor(id).await;
        if self.statements.forget_long_data(id) {
            self.count_kept();
            self.send_done(seq, b"").await
        } else {
            self.refuse(seq, unknown(id, "mysqld_stmt_reset")).await
        }
    }
}

fn no_cursor(id: u32) -> MysqlError {
    errors::STMT_HAS_NO_OPEN_CURSOR.with(format_args!("The statement ({id}) has no open cursor"))
}
