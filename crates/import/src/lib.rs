//! Rule sets of existing systems read back as configurations: SQL for ProxySQL's admin port, what its tables answer to a
//! SELECT, and `proxysql.cnf`.
//!
//! Both are run into tables with the columns, defaults and constraints of ProxySQL's own, held by SQLite, which is what
//! ProxySQL keeps them in; what stands in the tables at the end is the configuration. So a statement means here what it
//! means there: types, defaults, conflicts, expressions. What the engine would refuse, drop or read as something else is
//! a problem with its place in the file, and what this program does not model is named in [`RuleFile::unmodelled`].

mod aurora;
mod cnf;
mod codes;
mod dump;
mod elsewhere;
mod foreign;
mod given;
mod lift;
mod passed_over;
mod percona;
mod result_sets;
mod scheduled;
mod store;

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};
use shardwright_diagnostics::{Diagnostic, FileId, Problems, Severity, Sources, Span};
use shardwright_rules::tables::Table;
use shardwright_rules::{Configuration, EngineId, Rule};
use shardwright_secrets::Secret;

pub use codes::CODES;
pub use scheduled::{Kept, Scheduled};

use crate::codes::{RESERVED_USER, SYNTAX};
use crate::given::Given;
use crate::percona::{admin, scheduler};
use crate::store::Store;

/// The largest file that is read: hundreds of thousands of rules.
pub const MAX_FILE_BYTES: u64 = 256 << 20;

/// What a file is written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Language {
    /// Statements for the admin port, or rows of its tables as the mysql client prints them.
    Sql,
    /// `proxysql.cnf`, in the grammar of libconfig; or `proxysql-admin.cnf` of Percona's tool, in that of a shell.
    Cnf,
    /// `config.toml` of `pxc_scheduler_handler`.
    Scheduler,
}

impl Language {
    /// By the end of the file's name: `.cnf`, `.cfg` and `.conf` are libconfig, `.toml` is a scheduler's, everything else
    /// is SQL.
    pub fn of_path(path: &str) -> Self {
        let end = path.rsplit_once('.').map_or("", |(_, end)| end);
        match end.to_ascii_lowercase().as_str() {
            "cnf" | "cfg" | "conf" => Self::Cnf,
            "toml" => Self::Scheduler,
            _ => Self::Sql,
        }
    }
}

/// A rule set as a file tells it.
#[derive(Debug)]
pub struct RuleFile {
    /// What the engine would run; of what could be read, where there are errors.
    pub configuration: Configuration,
    /// Where each object of the configuration stands in the file, by its address.
    pub origins: BTreeMap<String, Span>,
    /// What is wrong, ignored or unknown.
    pub problems: Problems,
    /// What changes where statements go and is not part of a [`Configuration`]: answers about routing that depend on it
    /// are undecided.
    pub unmodelled: Vec<String>,
    /// Users for whose statements the engine evaluates no rule; [`fast_forward_message`] is among `unmodelled` for each.
    pub fast_forward: Vec<String>,
    /// Hostgroups that the engine's monitor fills with servers that the file does not name.
    pub filled_hostgroups: Vec<u32>,
    /// A server tells the GTIDs that it has.
    pub reports_gtids: bool,
    /// Those of them that stand in rows and columns which no project can say: a plan leaves them as they are, so that they change
    /// nothing for a project of this file.
    pub left_as_it_is: Vec<String>,
    /// Comments and what they can be about.
    pub layout: Layout,
    /// What stands beside the configuration: for who writes a project of it.
    pub beside: Beside,
}

/// What a rule set holds and a [`Configuration`] does not.
#[derive(Debug, Default)]
pub struct Beside {
    /// Passwords of users, as the table holds them: in the clear, or as a hash. Users without one are not here.
    pub passwords: BTreeMap<String, Secret>,
    /// The password of the monitor's account.
    pub monitor_password: Option<Secret>,
    /// Rules that are not active, by id.
    pub inactive: Vec<Rule>,
    /// What was passed over, in words, one for each place.
    pub passed_over: Vec<String>,
    /// Clusters whose servers a program moves.
    pub scheduled: Vec<Scheduled>,
}

/// How a file is laid out, for what its comments say to this program.
#[derive(Debug, Default)]
pub struct Layout {
    /// Comments with their marks, in the order of the file.
    pub comments: Vec<Span>,
    /// Statements and the rows that they write; settings and the groups in them. Ordered by where they begin.
    pub parts: Vec<Span>,
}

/// Reads a rule set for an engine. Nothing is an `Err`: what cannot be read is a problem.
pub fn read(
    sources: &mut Sources,
    path: &str,
    bytes: &[u8],
    language: Language,
    engine: EngineId,
) -> RuleFile {
    read_scheduled(sources, path, bytes, language, engine, &[])
}

/// Reads a rule set, some of whose servers are moved by programs that ProxySQL's scheduler starts ([`scheduled_by`]).
pub fn read_scheduled(
    sources: &mut Sources,
    path: &str,
    bytes: &[u8],
    language: Language,
    engine: EngineId,
    scheduled: &[Scheduled],
) -> RuleFile {
    let mut problems = Problems::new();
    let Some((file, text)) = text_of(sources, path, bytes, &mut problems) else {
        return RuleFile::empty(engine, problems);
    };
    if let Some((what, instead)) = foreign::foreign(text, language) {
        sources.conceal(Span::new(file, 0, u32::try_from(text.len()).unwrap_or(u32::MAX)));
        problems.push(whole_file(file, &format!("the file is no rule set: it is {what}")).help(instead));
        return RuleFile::empty(engine, problems);
    }
    let mut store = match Store::open() {
        Ok(store) => store,
        Err(reason) => {
            problems.push(whole_file(file, &reason.to_string()));
            return RuleFile::empty(engine, problems);
        }
    };
    let mut ran = match language {
        Language::Sql if result_sets::is_one(text) => result_sets::run(text, file, &mut store, &mut problems),
        Language::Sql => dump::run(text, file, &mut store, &mut problems),
        Language::Cnf if admin::is_one(text) => admin::run(text, file, &mut store, &mut problems),
        Language::Cnf => cnf::run(text, file, &mut store, &mut problems),
        Language::Scheduler => scheduler::run(text, file, &mut store, &mut problems),
    };
    for secret in ran.secrets {
        sources.conceal(secret);
    }
    ran.scheduled.extend_from_slice(scheduled);
    let mut read = lift::lift(
        &store,
        engine,
        file,
        problems,
        &ran.without_active,
        &ran.scheduled,
    );
    read.beside.passed_over = passed_over::messages(&read.problems);
    read.beside.scheduled = ran.scheduled;
    read.beside.passed_over.append(&mut ran.left);
    read.filled_hostgroups = ran.filled_hostgroups;
    read.unmodelled.append(&mut ran.unmodelled);
    read.problems = passed_over::counted(&read.problems);
    read.layout = ran.layout;
    read.layout.parts.sort_by_key(|part| part.start);
    read
}

/// Reads the rows of a running engine: each with its table and its columns, numbers and texts as SQLite has them, without
/// those that are NULL. No place is known of anything.
pub fn read_rows<'r>(
    rows: impl IntoIterator<Item = (&'static Table, &'r Map<String, Value>)>,
    engine: EngineId,
) -> RuleFile {
    let file = Sources::new().add("rows", "");
    let (rows, problems) = (Given::of(rows), Problems::new());
    lift::lift(&rows, engine, file, problems, &BTreeSet::new(), &[])
}

/// The file of a program that moves servers.
#[derive(Debug)]
pub struct SchedulerFile {
    /// The cluster whose servers it moves; `None`: there are errors.
    pub scheduled: Option<Scheduled>,
    /// What is wrong, ignored or unknown.
    pub problems: Problems,
    /// What stays with the program, in words.
    pub passed_over: Vec<String>,
}

/// Reads `config.toml` of `pxc_scheduler_handler`. Nothing is an `Err`: what cannot be read is a problem.
pub fn scheduled_by(sources: &mut Sources, path: &str, bytes: &[u8]) -> SchedulerFile {
    let mut problems = Problems::new();
    let mut scheduled = None;
    if let Some((file, text)) = text_of(sources, path, bytes, &mut problems) {
        for secret in scheduler::secrets(text, file) {
            sources.conceal(secret);
        }
        scheduled = scheduler::parse(text, file, &mut problems).scheduled;
    }
    SchedulerFile {
        scheduled,
        passed_over: passed_over::messages(&problems),
        problems: passed_over::counted(&problems),
    }
}

/// The text of a file that is not too large and is text; otherwise `None`, with a problem.
fn text_of<'b>(
    sources: &mut Sources,
    path: &str,
    bytes: &'b [u8],
    problems: &mut Problems,
) -> Option<(FileId, &'b str)> {
    let wrong = match std::str::from_utf8(bytes) {
        Ok(text) if bytes.len() as u64 <= MAX_FILE_BYTES => return Some((sources.add(path, text), text)),
        Ok(_) => format!("the file is larger than {MAX_FILE_BYTES} bytes"),
        Err(error) => {
            let before = bytes[..error.valid_up_to()].iter();
            let line = before.filter(|byte| **byte == b'\n').count() + 1;
            format!("line {line} is not UTF-8 text")
        }
    };
    let file = sources.add(path, "");
    problems.push(whole_file(file, &wrong));
    None
}

/// What is left of a file's text when the tables are filled.
#[derive(Default)]
struct Ran {
    /// Where passwords stand.
    secrets: Vec<Span>,
    layout: Layout,
    /// Rows of rules whose INSERT does not name `active`.
    without_active: BTreeSet<Span>,
    /// Clusters whose servers a program moves.
    scheduled: Vec<Scheduled>,
    /// Hostgroups that the engine's monitor fills.
    filled_hostgroups: Vec<u32>,
    /// What a plan leaves as it is, in words.
    left: Vec<String>,
    /// What the file says, or leaves out, that a configuration does not hold.
    unmodelled: Vec<String>,
}

fn whole_file(file: FileId, what: &str) -> Diagnostic {
    Diagnostic::error(SYNTAX, what).at(Span::new(file, 0, 0), "")
}

/// What is said of a user with `fast_forward`.
#[must_use]
pub fn fast_forward_message(user: &str) -> String {
    format!("user {user} has fast_forward: no rule is evaluated for its statements")
}

impl RuleFile {
    /// The first thing that cannot be read, in words. A user with a name of the administrators is wrong, and can be read.
    pub fn first_error(&self) -> Option<String> {
        let problems = self.problems.sorted();
        let mut unread = problems
            .iter()
            .filter(|problem| problem.severity == Severity::Error && problem.code != RESERVED_USER);
        unread.next().map(|problem| problem.message.clone())
    }

    fn empty(engine: EngineId, problems: Problems) -> Self {
        Self {
            configuration: Configuration::empty(engine),
            origins: BTreeMap::new(),
            problems,
            unmodelled: Vec::new(),
            fast_forward: Vec::new(),
            filled_hostgroups: Vec::new(),
            reports_gtids: false,
            left_as_it_is: Vec::new(),
            layout: Layout::default(),
            beside: Beside::default(),
        }
    }
}
