//! Characteristics of transactions, as SET TRANSACTION gives them to the next one.

use shardwright_rules::Statement;
use shardwright_sql::set::Value;

/// What is set for the next transaction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Characteristics {
    pub(crate) isolation: Option<Isolation>,
    pub(crate) read_only: Option<bool>,
    /// The text does not say what is set.
    pub(crate) is_unknown: bool,
}

/// An isolation level.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Isolation {
    ReadUncommitted,
    ReadCommitted,
    RepeatableRead,
    Serializable,
}

impl Isolation {
    const ALL: [(Self, &'static str); 4] = [
        (Self::ReadUncommitted, "READ UNCOMMITTED"),
        (Self::ReadCommitted, "READ COMMITTED"),
        (Self::RepeatableRead, "REPEATABLE READ"),
        (Self::Serializable, "SERIALIZABLE"),
    ];

    fn words(self) -> &'static str {
        let found = Self::ALL.iter().find(|(level, _)| *level == self);
        found.map_or("", |(_, words)| words)
    }

    fn of(words: &str) -> Option<Self> {
        let found = Self::ALL.iter().find(|(_, level)| *level == words);
        found.map(|(level, _)| *level)
    }
}

impl Characteristics {
    pub(crate) const UNKNOWN: Self = Self {
        isolation: None,
        read_only: None,
        is_unknown: true,
    };

    /// Reads a `SET TRANSACTION …` that every server takes as it is; `None` for every other text.
    pub(crate) fn read(statement: &Statement<'_>) -> Option<Self> {
        let text = statement.text();
        let words = statement
            .tokens()
            .map(|token| token.span.of(text).to_ascii_uppercase());
        let words = words.collect::<Vec<_>>().join(&b' ');
        let words = std::str::from_utf8(&words).ok()?;
        let words = words.strip_suffix(" ;").unwrap_or(words);
        let mut parts = words.strip_prefix("SET TRANSACTION ")?.splitn(2, " , ");
        let mut read = Self::default();
        read.take(parts.next()?)?;
        match parts.next() {
            None => Some(read),
            Some(second) => read.take(second).map(|()| read),
        }
    }

    /// Takes one characteristic; `None`: it is none, or the second of its kind.
    fn take(&mut self, part: &str) -> Option<()> {
        match part {
            "READ ONLY" | "READ WRITE" if self.read_only.is_none() => {
                self.read_only = Some(part == "READ ONLY");
            }
            _ if self.isolation.is_none() => {
                self.isolation = Some(Isolation::of(part.strip_prefix("ISOLATION LEVEL ")?)?);
            }
            _ => return None,
        }
        Some(())
    }

    /// What `SET @@name = value` sets.
    pub(crate) fn of_variable(name: &str, value: &Value<'_>) -> Self {
        let read = match name.ends_with("read_only") {
            true => value.switch().map(|on| Self {
                read_only: Some(on),
                ..Self::default()
            }),
            false => {
                let words = value.text().and_then(|text| std::str::from_utf8(text).ok());
                let words = words.map(|words| words.to_ascii_uppercase().replace('-', " "));
                words.and_then(|words| Isolation::of(&words)).map(|level| Self {
                    isolation: Some(level),
                    ..Self::default()
                })
            }
        };
        read.unwrap_or(Self::UNKNOWN)
    }

    /// With what is set after it.
    pub(crate) fn and(self, later: Self) -> Self {
        Self {
            isolation: later.isolation.or(self.isolation),
            read_only: later.read_only.or(self.read_only),
            is_unknown: self.is_unknown || later.is_unknown,
        }
    }

    /// Leaves what is set for all further transactions to that.
    pub(crate) fn give_way(&mut self, defaults: SessionDefaults) {
        if defaults.isolation {
            self.isolation = None;
        }
        if defaults.access {
            self.read_only = None;
        }
    }

    pub(crate) fn is_empty(self) -> bool {
        self == Self::default()
    }

    pub(crate) fn is_read_only(self) -> bool {
        self.read_only == Some(true)
    }

    /// The statement that sets it.
    pub(crate) fn statement(self) -> String {
        let level = self
            .isolation
            .map(|level| format!("ISOLATION LEVEL {}", level.words()));
        let access = self
            .read_only
            .map(|on| if on { "READ ONLY" } else { "READ WRITE" }.to_owned());
        let parts: Vec<String> = level.into_iter().chain(access).collect();
        format!("SET TRANSACTION {}", parts.join(", "))
    }
}

/// The characteristics of a session that sets the default of further transactions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct SessionDefaults {
    pub(crate) isolation: bool,
    pub(crate) access: bool,
}

#[cfg(test)]
mod tests {
    use shardwright_sql::LexMode;

    use super::*;

    fn read(text: &str) -> Option<String> {
        let read = Characteristics::read(&Statement::new(text.as_bytes(), LexMode::default()));
        read.map(Characteristics::statement)
    }

    #[test]
    fn what_every_server_takes_is_read() {
        for (text, expected) in [
            ("set transaction read only", "SET TRANSACTION READ ONLY"),
            (
                "SET TRANSACTION /* c */ ISOLATION LEVEL read committed;",
                "SET TRANSACTION ISOLATION LEVEL READ COMMITTED",
            ),
            (
                "SET TRANSACTION READ WRITE, ISOLATION LEVEL SERIALIZABLE",
                "SET TRANSACTION ISOLATION LEVEL SERIALIZABLE, READ WRITE",
            ),
        ] {
            assert_eq!(read(text).as_deref(), Some(expected), "{text}");
        }
        for text in [
            "SET TRANSACTION",
            "SET TRANSACTION READ",
            "SET TRANSACTION READ ONLY, READ ONLY",
            "SET TRANSACTION READ ONLY, READ WRITE",
            "SET TRANSACTION READ ONLY,",
            "SET TRANSACTION ISOLATION LEVEL SNAPSHOT",
            "SET TRANSACTION ISOLATION LEVEL SERIALIZABLE, ISOLATION LEVEL SERIALIZABLE",
            "SET TRANSACTION READ ONLY, ISOLATION LEVEL SERIALIZABLE, READ ONLY",
            "SET SESSION TRANSACTION READ ONLY",
            "SET TRANSACTION READ ONLY, autocommit=0",
            "SET TRANSACTION 'READ' ONLY",
        ] {
            assert_eq!(read(text), None, "{text}");
        }
    }
}
