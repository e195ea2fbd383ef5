//! The command of the protocol that a statement is sent with, and what it goes without.

use crate::EngineRule;

/// The command of the protocol that a statement is sent with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum SentAs {
    /// COM_QUERY.
    #[default]
    Query,
    /// COM_STMT_PREPARE.
    Prepare,
    /// COM_STMT_EXECUTE: the statement is the text that the engine has kept of its COM_STMT_PREPARE, whose values are
    /// `?` in it.
    Execute,
}

impl SentAs {
    /// What the command is, in the middle of a sentence about its effects.
    const fn what(self) -> &'static str {
        match self {
            SentAs::Query => "statements",
            SentAs::Prepare => "preparing",
            SentAs::Execute => "executions of prepared statements",
        }
    }
}

/// What a command does not get of what rules ask for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Withheld {
    /// Its text stays as it is.
    pub rewrite: bool,
    /// It is not held back.
    pub delay: bool,
    /// Its answer is neither kept nor taken from the cache.
    pub cache: bool,
    /// No copy of it is sent.
    pub mirror: bool,
    /// The rule's number of retries does not count.
    pub retries: bool,
}

impl Withheld {
    /// All effects are as rules ask for them.
    pub const NOTHING: Self = Self {
        rewrite: false,
        delay: false,
        cache: false,
        mirror: false,
        retries: false,
    };

    /// What of a row's effects is withheld from a command, human-readable: `executions of prepared statements do not get
    /// its delay and cache`.
    pub(crate) fn of_row(self, row: &EngineRule, sent_as: SentAs) -> Option<String> {
        let effects = [
            ("rewrite", self.rewrite && row.replace_pattern.is_some()),
            ("delay", self.delay && row.delay_ms.is_some_and(|ms| ms > 0)),
            ("cache", self.cache && row.cache_ttl_ms.is_some()),
            ("mirror", self.mirror && row.mirror_hostgroup.is_some()),
            ("retries", self.retries && row.retries.is_some()),
        ];
        let names: Vec<&str> = effects
            .into_iter()
            .filter_map(|(name, withheld)| withheld.then_some(name))
            .collect();
        let (last, before) = names.split_last()?;
        let listed = if before.is_empty() {
            (*last).to_owned()
        } else {
            format!("{} and {last}", before.join(", "))
        };
        let verb = if sent_as == SentAs::Execute { "do" } else { "does" };
        Some(format!("{} {verb} not get its {listed}", sent_as.what()))
    }
}
