//! What the parts of one case have in common.

use std::cell::Cell;

/// Facts that decide what clients may see.
#[derive(Default)]
pub(super) struct Case {
    has_lied: Cell<bool>,
    has_claimed: Cell<bool>,
    owners: Cell<u32>,
    connections: Cell<u32>,
    report: Cell<CaseReport>,
}

/// What a case has shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CaseReport {
    /// Answers that clients have had whole.
    pub answers: u64,
    /// Those with the token of their statement.
    pub tokens: u64,
    /// Those that are errors.
    pub errors: u64,
    /// A server did what no server does.
    pub has_lied: bool,
}

fn next(count: &Cell<u32>) -> u32 {
    count.set(count.get() + 1);
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
    pub(super) fn answered(&self, has_token: bool, is_error: bool) {
        let mut report = self.report.get();
        report.answers += 1;
        report.tokens += u64::from(has_token);
        report.errors += u64::from(is_error);
        self.report.set(report);
    }

    pub(super) fn report(&self) -> CaseReport {
        CaseReport {
            has_lied: self.has_lied.get(),
            ..self.report.get()
        }
    }
}
