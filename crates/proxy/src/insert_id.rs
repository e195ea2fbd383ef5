//! Where a session's LAST_INSERT_ID() is.
//!
//! A server keeps it for each connection, so a session that goes to another connection must take it along. It cannot be seen
//! in answers: an INSERT of an explicit id answers with that id and leaves LAST_INSERT_ID() as it was. So a server is asked,
//! but only when it matters: when another session takes the connection over, or when the session needs the id elsewhere.
//!
//! Session 1 inserts on connection 7 and gives it back; both know one [`InsertId`]. Session 2 takes 7 over: before the reset
//! it asks for the id and leaves it in there. Session 1 asks for LAST_INSERT_ID() and gets connection 8: `SET last_insert_id`
//! goes first.
//!
//! An id is lost with its connection, as when its server crashes. Whoever asks for it then is told so. Most sessions never ask:
//! their next INSERT goes ahead, on a connection whose id is set to 0. If it is 0 when the session asks, the INSERT has left the
//! id that was lost, and otherwise it has made a new one. Code that may ask is refused once.

use std::cell::Cell;
use std::fmt;
use std::future::poll_fn;
use std::rc::Rc;
use std::task::{Poll, Waker};

use shardwright_rules::HostgroupId;

/// Whether an earlier id was lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Loss {
    /// None was.
    None,
    /// One was, and the session has not heard of it.
    Untold,
    /// One was, and the session knows.
    Told,
}

/// The id that a session's latest statement of that kind has left on a connection.
pub(crate) struct InsertId {
    pub(crate) hostgroup: HostgroupId,
    pub(crate) member: u64,
    /// What its server has said, once it was asked.
    value: Cell<Option<u64>>,
    /// Where one was lost, this one began as 0.
    loss: Cell<Loss>,
    /// A connection has it.
    is_left: Cell<bool>,
    /// The session's task, while it waits for another one that asks the connection.
    waiting: Cell<Option<Waker>>,
}

impl fmt::Debug for InsertId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let loss = self.loss.get();
        write!(
            f,
            "InsertId({:?}, {loss:?}, on {})",
            self.value.get(),
            self.member
        )
    }
}

/// What a connection has of an id.
#[derive(Debug)]
pub(crate) struct LeftId(pub(crate) Rc<InsertId>);

impl LeftId {
    pub(crate) fn of(id: &Rc<InsertId>) -> Self {
        id.is_left.set(true);
        Self(id.clone())
    }
}

impl Drop for LeftId {
    fn drop(&mut self) {
        self.0.is_left.set(false);
        self.0.wake();
    }
}

impl InsertId {
    /// For a connection to this member; `value` where the server need not be asked.
    pub(crate) fn on(hostgroup: HostgroupId, member: u64, value: Option<u64>, loss: Loss) -> Rc<Self> {
        Rc::new(Self {
            hostgroup,
            member,
            value: Cell::new(value),
            loss: Cell::new(loss),
            is_left: Cell::new(false),
            waiting: Cell::new(None),
        })
    }

    pub(crate) fn say(&self, value: Option<u64>) {
        self.value.set(value);
        self.wake();
    }

    fn wake(&self) {
        if let Some(waker) = self.waiting.take() {
            waker.wake();
        }
    }

    /// Waits until its server was asked, or no connection has it any more. Another session may be about to ask: one that takes the
    /// connection over.
    pub(crate) async fn settled(&self) {
        poll_fn(|cx| {
            if !self.is_unasked() || !self.is_left.get() {
                return Poll::Ready(());
            }
            self.waiting.set(Some(cx.waker().clone()));
            Poll::Pending
        })
        .await;
    }

    /// Whether its server has not been asked.
    pub(crate) fn is_unasked(&self) -> bool {
        self.value.get().is_none()
    }

    pub(crate) fn loss(&self) -> Loss {
        self.loss.get()
    }

    /// The session hears that an id was lost.
    pub(crate) fn tell(&self) {
        self.loss.set(Loss::Told);
    }

    /// The id, if it is known. After a loss, 0 is the one that was lost.
    pub(crate) fn value(&self) -> Option<u64> {
        let is_lost = |value: u64| value == 0 && self.loss() != Loss::None;
        self.value.get().filter(|value| !is_lost(*value))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zero_after_a_loss_is_the_id_that_was_lost() {
        let id = InsertId::on(HostgroupId(1), 2, None, Loss::Untold);
        assert_eq!((id.value(), id.is_unasked()), (None, true));
        id.say(Some(0));
        assert_eq!((id.value(), id.is_unasked()), (None, false));
        id.say(Some(7));
        assert_eq!(id.value(), Some(7));
        let id = InsertId::on(HostgroupId(1), 2, Some(0), Loss::None);
        assert_eq!(id.value(), Some(0));
    }
}
