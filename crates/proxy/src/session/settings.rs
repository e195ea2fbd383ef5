//! What the client of a session has set, which each of its connections gets.

use std::rc::Rc;
use std::sync::Arc;

use shardwright_rules::{Encoding, HostgroupId};
use shardwright_sql::LexMode;
use shardwright_sql::lex::reads_alike;
use shardwright_wire::StatusFlags;

use super::next_transaction::NextTransaction;
use super::set_statement::SetPlan;
use super::set_statement::switches::sets;
use crate::reading::Reading;
use crate::server_defaults::ServerDefaults;
use crate::set_names::SetNames;

pub(super) struct Settings {
    pub(super) schema: Option<Arc<str>>,
    /// `None`: the character set of the login.
    pub(super) names: Option<SetNames>,
    pub(super) autocommit: bool,
    /// Autocommit is that of the server, and no server has answered a statement of the session yet.
    pub(super) is_fresh: bool,
    /// Where the session has set a variable of a server, which others may not have alike.
    pub(super) global_on: Option<HostgroupId>,
    /// Defaults of the server that the client would have logged in to.
    pub(super) defaults: ServerDefaults,
    /// `character_set_client`, as far as keys depend on it.
    pub(super) client: Encoding,
    /// `character_set_connection`.
    pub(super) connection: Encoding,
    /// What its sql_mode means for the reading of statements.
    pub(super) mode: LexMode,
    /// What the server's status tells of that.
    pub(super) mode_told: StatusFlags,
    pub(super) next: NextTransaction,
    /// The session's `wait_timeout` in seconds, where it has set one.
    pub(super) wait_timeout_s: Option<u32>,
    /// Other variables.
    pub(super) history: SetHistory,
}

impl Settings {
    /// The settings of a fresh session in this schema and the character set of its login.
    pub(super) fn new(schema: Option<Arc<str>>, encoding: Encoding) -> Self {
        Self {
            schema,
            names: None,
            client: encoding,
            connection: encoding,
            autocommit: true,
            is_fresh: true,
            global_on: None,
            defaults: ServerDefaults::default(),
            mode: LexMode::default(),
            mode_told: StatusFlags::empty(),
            next: NextTransaction::default(),
            wait_timeout_s: None,
            history: SetHistory::default(),
        }
    }

    /// The client asked for IGNORE_SPACE as it connected. A server would take it into the session's sql_mode then, and lose it
    /// at COM_RESET_CONNECTION, which connections that are shared get all the time.
    pub(super) fn ignore_space(&mut self) {
        let text = b"SET sql_mode=CONCAT(@@sql_mode,',IGNORE_SPACE')";
        self.history.push(text, &["sql_mode".to_owned()], true);
    }

    /// Takes on the autocommit that the server has come to have, unless the session has done something.
    pub(super) fn begin_with(&mut self, autocommit: &mut Option<bool>) {
        if let Some(autocommit) = autocommit.take().filter(|_| self.is_fresh) {
            self.autocommit = autocommit;
        }
    }

    /// How a statement of now is read.
    pub(super) fn reading(&self) -> Reading {
        Reading {
            mode: self.mode,
            settings: self.history.reading.clone(),
        }
    }

    /// What bytes beyond ASCII are in a statement of now.
    pub(super) fn encoding(&self) -> Encoding {
        self.client.min(self.connection)
    }

    /// Takes on the character sets of a SET that holds now.
    pub(super) fn take_charsets(&mut self, plan: &SetPlan) {
        self.client = plan.client.unwrap_or(self.client);
        self.connection = plan.connection.unwrap_or(self.connection);
    }

    /// Takes on a SET that no server executes now; autocommit is not part of it.
    pub(super) fn take(&mut self, plan: &SetPlan) {
        if let Some(names) = &plan.names {
            self.names = Some(names.clone());
        }
        self.take_charsets(plan);
        if let Some(set) = plan.next_transaction {
            self.next.take(set);
        }
    }
}

/// Bytes of SET statements that a session is repeated on further connections.
pub(super) const MOST_BYTES: usize = 256 * 1024;

/// SET statements of a session in their order, to be repeated on each further connection.
#[derive(Debug, Default)]
pub(crate) struct SetHistory {
    entries: Vec<HistoryEntry>,
    last: u64,
    /// Those that matter for the reading of later texts, joined.
    reading: Rc<[u8]>,
}

#[derive(Debug)]
struct HistoryEntry {
    number: u64,
    text: Vec<u8>,
    variables: Vec<String>,
}

impl SetHistory {
    /// The number of the last entry: a connection that has all of it.
    pub(crate) fn last(&self) -> u64 {
        self.last
    }

    /// Whether one of them changes the character set, or a part of it.
    pub(crate) fn touches_charset(&self) -> bool {
        self.entries.iter().any(HistoryEntry::touches_charset)
    }

    /// Whether one of them sets this variable.
    pub(crate) fn has_set(&self, name: &str) -> bool {
        self.entries.iter().any(|entry| entry.sets(name))
    }

    /// Bytes of memory that it takes.
    pub(crate) fn footprint(&self) -> usize {
        2 * self.bytes()
    }

    fn bytes(&self) -> usize {
        self.entries.iter().map(|entry| entry.text.len()).sum()
    }

    /// Whether one more can be remembered.
    pub(crate) fn has_room(&self, text: &[u8], variables: &[String], supersedes: bool, limit: usize) -> bool {
        if self.bytes() + text.len() > MOST_BYTES {
            return false;
        }
        self.entries.len() < limit || (supersedes && self.needed_before(text, variables).contains(&false))
    }

    /// Remembers a statement; one that set only the same variables is forgotten if it does not matter any more.
    pub(crate) fn push(&mut self, text: &[u8], variables: &[String], supersedes: bool) {
        if supersedes {
            let mut needed = self.needed_before(text, variables).into_iter();
            self.entries.retain(|_| needed.next().unwrap_or(true));
        }
        self.last += 1;
        self.entries.push(HistoryEntry {
            number: self.last,
            text: text.to_vec(),
            variables: variables.to_vec(),
        });
        let reading = self
            .entries
            .iter()
            .filter(|entry| entry.sets("sql_mode") || entry.touches_charset());
        self.reading = reading
            .flat_map(|entry| [&entry.text[..], b";"].concat())
            .collect();
    }

    /// Which entries must stay in front of a text that sets these variables anew. An sql_mode stays while a later text was
    /// written under it that reads otherwise under another one.
    fn needed_before(&self, text: &[u8], variables: &[String]) -> Vec<bool> {
        let mut is_read_by_mode = !reads_alike(text);
        let entries = self.entries.iter().rev();
        let mut needed: Vec<bool> = entries
            .map(|entry| {
                let is_mode = entry.sets("sql_mode");
                let is_needed = !entry.is_superseded_by(variables) || (is_mode && is_read_by_mode);
                is_read_by_mode |= is_needed && !reads_alike(&entry.text);
                is_needed
            })
            .collect();
        needed.reverse();
        needed
    }

    /// What a connection lacks that has everything up to number `seen`, with its numbers.
    pub(crate) fn since(&self, seen: u64) -> impl Iterator<Item = (u64, &[u8])> {
        self.entries
            .iter()
            .filter(move |entry| entry.number > seen)
            .map(|entry| (entry.number, entry.text.as_slice()))
    }
}

impl HistoryEntry {
    fn sets(&self, name: &str) -> bool {
        self.variables.iter().any(|variable| variable == name)
    }

    fn touches_charset(&self) -> bool {
        let is_charset = |variable: &String| {
            variable == "names" || variable.starts_with("char") || variable.starts_with("coll")
        };
        self.variables.iter().any(is_charset)
    }

    fn is_superseded_by(&self, variables: &[String]) -> bool {
        !self.variables.is_empty() && self.variables.iter().all(|variable| sets(variables, variable))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_later_value_takes_the_place_of_an_earlier_one() {
        let mut history = SetHistory::default();
        let variables = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        history.push(b"a", &variables(&["time_zone"]), true);
        history.push(b"b", &variables(&["sql_mode", "wait_timeout"]), true);
        history.push(b"c", &variables(&["time_zone"]), true);
        let lacking = |seen| history.since(seen).map(|(_, text)| text).collect::<Vec<_>>();
        assert_eq!(lacking(0), [b"b", b"c"]);
        assert_eq!(lacking(2), [b"c"]);
        assert!(history.has_room(b"", &variables(&["time_zone"]), true, 2));
        assert!(!history.has_room(b"", &variables(&["time_zone"]), false, 2));
        assert!(!history.has_room(b"", &variables(&["lock_wait_timeout"]), true, 2));
        history.push(b"d", &variables(&["sql_mode"]), true);
        assert_eq!(
            history.since(0).count(),
            3,
            "the other variable of b still counts"
        );
        history.push(b"e", &variables(&["time_zone"]), false);
        assert_eq!(history.since(0).count(), 4, "e may build on c");
    }

    #[test]
    fn switches_of_a_list_are_set_one_by_one() {
        let mut history = SetHistory::default();
        let mut texts = |text: &str, variables: &[&str]| {
            let variables: Vec<_> = variables.iter().map(|name| (*name).to_owned()).collect();
            history.push(text.as_bytes(), &variables, true);
            let texts = history
                .since(0)
                .map(|(_, text)| String::from_utf8_lossy(text).into_owned());
            texts.collect::<Vec<_>>()
        };
        texts("a", &["optimizer_switch=mrr"]);
        texts("b", &["optimizer_switch=bka"]);
        assert_eq!(texts("c", &["optimizer_switch=mrr"]), ["b", "c"]);
        assert_eq!(texts("d", &["optimizer_switch"]), ["d"]);
        assert_eq!(texts("e", &["optimizer_switch=mrr"]), ["d", "e"]);
    }

    #[test]
    fn an_sql_mode_stays_in_front_of_what_was_written_under_it() {
        let mut history = SetHistory::default();
        let mut set =
            |text: &str, variable: &str| history.push(text.as_bytes(), &[variable.to_owned()], true);
        set("SET sql_mode='NO_BACKSLASH_ESCAPES'", "sql_mode");
        set("SET init='a\\b'", "init");
        set("SET sql_mode=''", "sql_mode");
        set("SET time_zone='SYSTEM'", "time_zone");
        set("SET sql_mode='ANSI'", "sql_mode");
        let texts = |history: &SetHistory| {
            history
                .since(0)
                .map(|(_, text)| String::from_utf8_lossy(text).into_owned())
                .collect::<Vec<_>>()
        };
        let expected = [
            "SET sql_mode='NO_BACKSLASH_ESCAPES'",
            "SET init='a\\b'",
            "SET time_zone='SYSTEM'",
            "SET sql_mode='ANSI'",
        ];
        assert_eq!(texts(&history), expected);
        history.push(b"SET init=1", &["init".to_owned()], true);
        history.push(b"SET sql_mode=''", &["sql_mode".to_owned()], true);
        assert_eq!(
            texts(&history),
            ["SET time_zone='SYSTEM'", "SET init=1", "SET sql_mode=''"]
        );
    }
}
