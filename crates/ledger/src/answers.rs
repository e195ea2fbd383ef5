//! What the answer to a commit says of it.

use mysql::Error;

/// The client's own codes, where no server has answered.
const NOT_CONNECTED: u16 = 2003;
const LOST: u16 = 2013;

/// Errors after which nothing of the statement was executed: it was refused before. The codes of servers, and those of
/// proxies that have found no server.
const REFUSED: [u16; 15] = [
    1040, // too many connections
    1044, 1045, // no access
    1047, // Galera: the server is not part of its cluster
    1049, // no such schema
    1142, // no such privilege
    1146, // no such table
    1203, 1226, // too many connections of a user
    1290, 1836, // read-only
    9001, // no connection to a hostgroup; ProxySQL uses the same number
    9101, // a throttle
    1129, 1130, // the host may not connect
];

/// What a client was told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    /// It is committed.
    Acknowledged,
    /// It is not: nobody has executed it.
    Refused(u16, String),
    /// Nobody knows.
    Unknown(u16, String),
}

/// What an error says of a commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ErrorKind {
    /// Nothing was sent: there was no connection.
    NotSent,
    /// Nothing was executed.
    Refused,
    /// Nobody knows.
    Unknown,
}

impl ErrorKind {
    /// A word for tables.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::NotSent => "not sent",
            Self::Refused => "refused",
            Self::Unknown => "unknown",
        }
    }
}

/// What was told by an error to a statement that could have committed.
pub(crate) fn answer(error: &Error) -> Answer {
    let (code, message) = code(error, LOST);
    match REFUSED.contains(&code) {
        true => Answer::Refused(code, message),
        false => Answer::Unknown(code, message),
    }
}

/// The code and message of an error to a login.
pub(crate) fn not_connected(error: &Error) -> (u16, String) {
    code(error, NOT_CONNECTED)
}

/// Whether the connection is of no use any more.
pub(crate) fn ends_connection(error: &Error) -> bool {
    !matches!(error, Error::MySqlError(error) if REFUSED.contains(&error.code))
}

fn code(error: &Error, otherwise: u16) -> (u16, String) {
    match error {
        Error::MySqlError(error) => (error.code, error.message.clone()),
        other => (otherwise, reason(other)),
    }
}

/// What an error says, without the names of its types.
#[must_use]
pub fn reason(error: &Error) -> String {
    match error {
        Error::IoError(error) => error.to_string(),
        Error::DriverError(error) => error.to_string(),
        Error::MySqlError(error) => format!("error {}: {}", error.code, error.message),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(code: u16) -> Answer {
        answer(&Error::MySqlError(mysql::MySqlError {
            state: "HY000".to_owned(),
            message: "why".to_owned(),
            code,
        }))
    }

    #[test]
    fn only_what_is_known_not_to_have_run_is_refused() {
        assert_eq!(told(1290), Answer::Refused(1290, "why".to_owned()));
        // A commit that a partition interrupts may have reached the others.
        for code in [1180, 1213, 1317, 2006, 2013, 1105] {
            assert_eq!(told(code), Answer::Unknown(code, "why".to_owned()));
        }
        let broken = Error::IoError(std::io::ErrorKind::ConnectionReset.into());
        assert!(matches!(answer(&broken), Answer::Unknown(2013, _)));
        assert_eq!(not_connected(&broken).0, 2003);
        assert!(ends_connection(&broken));
    }
}
