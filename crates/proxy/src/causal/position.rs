//! How far a server's log is: MariaDB's last transaction of each domain, or MySQL's set of transactions.

use std::collections::BTreeMap;
use std::fmt;

/// A position in the log of a cluster. Its text holds nothing that a string literal of SQL would have to escape.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Position {
    /// Of each domain the last transaction.
    MariaDb(BTreeMap<u32, Last>),
    /// A set as the server has written it.
    MySql(String),
}

/// The last transaction of a domain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Last {
    /// The server that executed it first.
    pub(crate) server: u32,
    pub(crate) number: u64,
}

impl Position {
    /// `0-1-500,2-7-77`; `None` for anything else, and where there is none.
    pub(crate) fn of_mariadb(text: &[u8]) -> Option<Self> {
        let text = std::str::from_utf8(text).ok()?;
        let mut domains = BTreeMap::new();
        for part in text.split(',').map(str::trim).filter(|part| !part.is_empty()) {
            let mut numbers = part.splitn(3, '-');
            let domain = numbers.next()?.parse().ok()?;
            let last = Last {
                server: numbers.next()?.parse().ok()?,
                number: numbers.next()?.parse().ok()?,
            };
            domains.insert(domain, last);
        }
        (!domains.is_empty()).then_some(Self::MariaDb(domains))
    }

    /// `3e11fa47-…:1-500:502,…`; `None` for anything else, and where there is none.
    pub(crate) fn of_mysql(text: &[u8]) -> Option<Self> {
        let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || b"-:,_".contains(byte);
        let text: Vec<u8> = text
            .iter()
            .copied()
            .filter(|byte| !byte.is_ascii_whitespace())
            .collect();
        let is_set = text.contains(&b':') && text.iter().all(is_part);
        is_set.then(|| Self::MySql(String::from_utf8_lossy(&text).into_owned()))
    }

    /// A position that is reached only where both are; `None`: they are of different kinds.
    pub(crate) fn joined(&self, other: &Self) -> Option<Self> {
        match (self, other) {
            (Self::MariaDb(one), Self::MariaDb(other)) => {
                let mut both = one.clone();
                for (domain, last) in other {
                    let own = both.entry(*domain).or_insert(*last);
                    if own.number < last.number {
                        *own = *last;
                    }
                }
                Some(Self::MariaDb(both))
            }
            (Self::MySql(one), Self::MySql(other)) => Some(Self::MySql(format!("{one},{other}"))),
            _ => None,
        }
    }

    /// Whether a MariaDB whose log ends at `reached` has it. `writer` is the server that writes now.
    ///
    /// A number alone does not tell: a server that was cut off with transactions of its own has higher numbers than the one that
    /// was promoted, and lacks what that one has written. Later transactions follow from earlier ones only where one server has
    /// executed both, or the later one is the present writer's.
    pub(crate) fn is_in(&self, reached: &Self, writer: Option<u32>) -> bool {
        let (Self::MariaDb(wanted), Self::MariaDb(reached)) = (self, reached) else {
            return false;
        };
        wanted.iter().all(|(domain, wanted)| {
            reached.get(domain).is_some_and(|last| {
                let is_same = last.server == wanted.server;
                match last.number.cmp(&wanted.number) {
                    std::cmp::Ordering::Less => false,
                    std::cmp::Ordering::Equal => is_same,
                    std::cmp::Ordering::Greater => is_same || writer == Some(last.server),
                }
            })
        })
    }
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::MySql(set) => f.write_str(set),
            Self::MariaDb(domains) => {
                for (at, (domain, Last { server, number })) in domains.iter().enumerate() {
                    let comma = if at == 0 { "" } else { "," };
                    write!(f, "{comma}{domain}-{server}-{number}")?;
                }
                Ok(())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mariadb(text: &str) -> Position {
        Position::of_mariadb(text.as_bytes()).unwrap()
    }

    #[test]
    fn positions_are_read_and_written() {
        assert_eq!(mariadb("2-7-77, 0-1-500").to_string(), "0-1-500,2-7-77");
        for text in ["", " ", "0-1", "0-1-x", "0-1-5'", "uuid:1-5", "-1-1-1"] {
            assert_eq!(Position::of_mariadb(text.as_bytes()), None, "{text}");
        }
        let set =
            "3e11fa47-71ca-11e1-9e33-c80aa9429562:1-500:502,\n4e11fa47-71ca-11e1-9e33-c80aa9429562:tag:7";
        let read = Position::of_mysql(set.as_bytes()).unwrap();
        assert_eq!(read.to_string(), set.replace('\n', ""));
        for text in ["", "0-1-5", "a:1') OR ('1", "a:1\\"] {
            assert_eq!(Position::of_mysql(text.as_bytes()), None, "{text}");
        }
    }

    #[test]
    fn positions_are_joined() {
        let joined = |one: &str, other: &str| mariadb(one).joined(&mariadb(other));
        assert_eq!(joined("0-1-5,1-1-9", "0-2-7"), Some(mariadb("0-2-7,1-1-9")));
        assert_eq!(joined("0-2-7", "0-1-5,1-1-9"), Some(mariadb("0-2-7,1-1-9")));
        let set = |text: &[u8]| Position::of_mysql(text).unwrap();
        assert_eq!(mariadb("0-1-5").joined(&set(b"a:1-5")), None);
        assert_eq!(set(b"a:1-5").joined(&set(b"b:7")), Some(set(b"a:1-5,b:7")));
    }

    #[test]
    fn higher_numbers_of_another_server_do_not_tell() {
        let is_in = |wanted: &str, reached: &str, writer| mariadb(wanted).is_in(&mariadb(reached), writer);
        assert!(is_in("0-1-5", "0-1-5", None));
        assert!(is_in("0-1-5", "0-1-9", None));
        assert!(!is_in("0-1-5", "0-1-4", None));
        assert!(!is_in("0-1-5,1-1-1", "0-1-9", None));
        // Server 2 was promoted at 0-1-490 and has written 491; this one has what server 1 wrote alone.
        assert!(!is_in("0-2-491", "0-1-500", Some(2)));
        assert!(!is_in("0-2-491", "0-1-491", Some(2)));
        // Server 2 was promoted at 0-1-490, and this one follows it.
        assert!(is_in("0-1-490", "0-2-495", Some(2)));
        assert!(!is_in("0-1-490", "0-2-495", None));
    }
}
