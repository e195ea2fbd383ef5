//! Sets of names.

use std::net::IpAddr;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::{glob_matches, is_glob};

/// Names that are meant, and names that are not.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Names {
    /// Alternatives; empty: every name.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub any_of: Vec<NamePattern>,
    /// Names that are left out.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub except: Vec<NamePattern>,
}

impl Names {
    /// Whether every name is in the set.
    #[must_use]
    pub fn is_any(&self) -> bool {
        self.any_of.is_empty() && self.except.is_empty()
    }

    /// Whether `name` is in the set.
    #[must_use]
    pub fn contains(&self, name: &str) -> bool {
        let listed = self.any_of.is_empty() || self.any_of.iter().any(|pattern| pattern.matches(name));
        listed && !self.except.iter().any(|pattern| pattern.matches(name))
    }
}

/// A name, or a glob in which `*` stands for any characters and `?` for one.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct NamePattern(Arc<str>);

impl NamePattern {
    /// A pattern as it was written.
    #[must_use]
    pub fn new(text: impl Into<Arc<str>>) -> Self {
        Self(text.into())
    }

    /// The pattern as it was written.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The name, if the pattern is one; none for a glob.
    #[must_use]
    pub fn exact(&self) -> Option<&str> {
        (!self.is_glob()).then_some(&*self.0)
    }

    /// Whether it is a glob and not a name.
    #[must_use]
    pub fn is_glob(&self) -> bool {
        is_glob(&self.0)
    }

    /// Whether the name is meant.
    #[must_use]
    pub fn matches(&self, name: &str) -> bool {
        glob_matches(&self.0, name)
    }
}

impl<T: Into<Arc<str>>> From<T> for NamePattern {
    fn from(text: T) -> Self {
        Self::new(text)
    }
}

/// Whether a text is the name or the address of a host, without a port. Names of hosts have no blanks and no quotes.
#[must_use]
pub fn is_host(text: &str) -> bool {
    !text.is_empty() && text.matches(':').count() != 1 && !text.chars().any(is_foreign_to_hosts)
}

/// Whether no name and no address of a host holds the character.
fn is_foreign_to_hosts(letter: char) -> bool {
    letter.is_whitespace() || letter.is_control() || "\"'`;,\\".contains(letter)
}

/// Whether a text is the address of a client as sessions have it: an IP address without a port, or `localhost` on a unix socket.
#[must_use]
pub fn is_client_address(text: &str) -> bool {
    // The zone of a link-local address is part of it.
    let address = text.split_once('%').map_or(text, |(address, _)| address);
    text == "localhost"
        || address
            .parse::<IpAddr>()
            .is_ok_and(|address| address.is_ipv6() || !text.contains('%'))
}

/// The most characters that the name of an account has on a server: MariaDB's. MySQL has 32.
pub const MAX_LOGIN: usize = 80;

/// Whether clients can log in with a name that a project holds: it is not empty, has at most [`MAX_LOGIN`] characters, and
/// stands on one line.
#[must_use]
pub fn is_login(text: &str) -> bool {
    !text.is_empty() && text.chars().count() <= MAX_LOGIN && !text.chars().any(char::is_control)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exceptions_win() {
        let names = Names {
            any_of: vec!["app*".into()],
            except: vec!["app_admin".into()],
        };
        assert!(names.contains("app1"));
        assert!(!names.contains("app_admin"));
        assert!(!names.contains("other"));
    }
}
