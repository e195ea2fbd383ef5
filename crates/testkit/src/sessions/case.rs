//! What the parts of one case have in common.

use std::cell::Cell;

/// Facts that decide what clients may see.
#[derive(Default)]
pub(super) struct Case {
    has_lied: Cell<bool>,
    has_claimed: Cell<bool>,
    owners: Cell<u32>,
    connections: Cell<u32>,
    answered: Cell<u64>,
    shown: Cell<u64>,
}

fn next<T: Copy + From<u8> + std::ops::Add<Output = T>>(count: &Cell<T>) -> T {
    count.set(count.get() + T::from(1));
    count.get()
}

impl Case {
    /// A server does what no server does.
    pub(super) fn lie(&self) {
        self.has_lied.set(true);
    }

    pub(super) fn has_lied(&self) -> bool {
        self.has_lied.get()
    }

    /// A server says what is not true. Who closes or is late does not.
    pub(super) fn claim(&self) {
        self.lie();
        self.has_claimed.set(true);
    }

    pub(super) fn has_claimed(&self) -> bool {
        self.has_claimed.get()
    }

    /// The number of a session.
    pub(super) fn owner(&self) -> u32 {
        next(&self.owners)
    }

    /// The number of a server connection.
    pub(super) fn connection(&self) -> u32 {
        next(&self.connections)
    }

    /// A client has had a whole answer.
    pub(super) fn answered(&self, with_token: bool) {
        next(&self.answered);
        if with_token {
            next(&self.shown);
        }
    }

    /// Whole answers, and those with the token of their statement.
    pub(super) fn answers(&self) -> (u64, u64) {
        (self.answered.get(), self.shown.get())
    }
}
