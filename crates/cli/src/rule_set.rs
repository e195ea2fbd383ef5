//! Rule sets by name: a file, a project's directory, a revision or an environment of it, a plan, or what a target runs.

pub(crate) mod revision;

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::sync::Arc;

use shardwright_analysis::{Beside, OtherUsers};
use shardwright_diagnostics::{Diagnostic, Problems, Sources, Span};
use shardwright_import::{Language, Layout, MAX_FILE_BYTES};
use shardwright_plan::Plan;
use shardwright_rules::{Address, Configuration, EngineId, HostgroupId, User};

use crate::args::{Global, Selection};
use crate::error::{CommandError, unreadable};
use crate::exit::Exit;
use crate::live::{self, Proxy};
use crate::ownership::other_users;
use crate::project::{self, Opened};
use crate::ui::Ui;

/// The engine whose rule sets files hold.
const ENGINE_OF_FILES: EngineId = EngineId::Proxysql27;

/// Where a rule set is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Reference {
    /// Statements, a configuration file, or a configuration as JSON.
    File(String),
    /// The project of -C.
    Own,
    /// The directory of a project, seen from where the program was started.
    Project(String),
    /// The project of -C as a revision has it.
    Revision(String),
    /// The project of -C in one of its environments.
    Environment(String),
    /// What a saved plan leads to.
    Plan(String),
    /// What a target runs; the project's only one where none is named.
    Live(Option<String>),
}

impl Reference {
    /// Reads `git:REV`, `env:NAME`, `plan:FILE`, `live`, `live:TARGET`, `.`, or a path.
    pub(crate) fn parse(text: &str) -> Self {
        match text.split_once(':') {
            Some(("git", revision)) => return Self::Revision(revision.to_owned()),
            Some(("env", name)) => return Self::Environment(name.to_owned()),
            Some(("plan", file)) => return Self::Plan(file.to_owned()),
            Some(("live", target)) => return Self::Live(Some(target.to_owned())),
            _ => {}
        }
        match text {
            "live" => Self::Live(None),
            "." => Self::Own,
            path if Path::new(path).is_dir() => Self::Project(path.to_owned()),
            path => Self::File(path.to_owned()),
        }
    }

    /// Whether it holds rows for ProxySQL, whatever a project lists.
    fn is_of_proxysql(&self) -> bool {
        matches!(self, Self::File(path) if !path.ends_with(".json"))
    }
}

/// The engine of two rule sets that are compared, where none was asked for: that of a file among them.
pub(crate) fn common_engine(references: &[&Reference]) -> Option<EngineId> {
    references
        .iter()
        .any(|reference| reference.is_of_proxysql())
        .then_some(ENGINE_OF_FILES)
}

/// A rule set, and where its objects are written.
pub(crate) struct RuleSet {
    /// As the command line named it.
    pub(crate) name: String,
    pub(crate) configuration: Arc<Configuration>,
    /// What keeps answers about it from being certain.
    pub(crate) unmodelled: Vec<String>,
    /// Users for whose statements the engine evaluates no rule.
    pub(crate) fast_forward: Vec<String>,
    /// The problems that compiling it reported.
    pub(crate) problems: Problems,
    /// Users whom it leaves to others, where it has been compared with a rule set that has them.
    pub(crate) users_of_others: Vec<String>,
    origins: ObjectOrigins,
}

/// Where the objects of a rule set are written.
enum ObjectOrigins {
    Project(Box<Opened>),
    File(Box<RuleFile>),
    None,
}

impl RuleSet {
    /// Takes in the users of another rule set whom this project leaves to others: they stay as they are there.
    pub(crate) fn stand_beside_users_of(&mut self, other: &Configuration) {
        let Some(opened) = self.project() else { return };
        let others = other_users(self.configuration.engine, &opened.project.file);
        let is_of_others =
            |user: &&User| self.configuration.user(&user.name).is_none() && others.may_have(&user.name);
        let users: Vec<User> = other.users.iter().filter(is_of_others).cloned().collect();
        if users.is_empty() {
            return;
        }
        self.users_of_others = users.iter().map(|user| user.name.clone()).collect();
        let own = &mut Arc::make_mut(&mut self.configuration).users;
        own.extend(users);
        own.sort_by(|a, b| a.name.cmp(&b.name));
    }

    /// The file and the 1-based line of an object.
    pub(crate) fn file_and_line(&self, address: &Address) -> Option<(String, u32)> {
        match &self.origins {
            ObjectOrigins::Project(opened) => opened.file_and_line(address),
            ObjectOrigins::File(file) => {
                let span = *file.origins.get(address.as_str())?;
                let sources = &file.sources;
                Some((sources.path(span.file).to_owned(), sources.position(span).line))
            }
            ObjectOrigins::None => None,
        }
    }

    /// The project that it was compiled from.
    pub(crate) fn project(&self) -> Option<&Opened> {
        match &self.origins {
            ObjectOrigins::Project(opened) => Some(opened),
            ObjectOrigins::File(_) | ObjectOrigins::None => None,
        }
    }

    /// The file that it was read from.
    pub(crate) fn file(&self) -> Option<&RuleFile> {
        match &self.origins {
            ObjectOrigins::File(file) => Some(file),
            ObjectOrigins::Project(_) | ObjectOrigins::None => None,
        }
    }

    /// The file and the 1-based line of a problem of it.
    pub(crate) fn line_of(&self, problem: &Diagnostic) -> Option<(String, u32)> {
        let sources = match &self.origins {
            ObjectOrigins::Project(opened) => &opened.sources,
            ObjectOrigins::File(file) => &file.sources,
            ObjectOrigins::None => return None,
        };
        let span = problem.primary.as_ref()?.span;
        Some((sources.path(span.file).to_owned(), sources.position(span).line))
    }

    /// `query_rules.legacy (topology/legacy.yaml:3)`
    pub(crate) fn named(&self, address: &Address) -> String {
        match self.file_and_line(address) {
            Some((file, line)) => format!("{} ({file}:{line})", address.short()),
            None => address.short(),
        }
    }
}

/// The rule set of the project of -C.
pub(crate) fn of_project(engine: Option<&str>, global: &Global, ui: &Ui) -> Result<RuleSet, CommandError> {
    of_opened(project::open(global, ui)?, engine, ui)
}

/// The rule set of a project.
pub(crate) fn of_opened(opened: Opened, engine: Option<&str>, ui: &Ui) -> Result<RuleSet, CommandError> {
    let engine = opened.engine(engine)?;
    built(".".to_owned(), opened, engine, ui)
}

fn built(name: String, opened: Opened, engine: EngineId, ui: &Ui) -> Result<RuleSet, CommandError> {
    let built = opened.build_to_ask(engine, ui)?;
    Ok(RuleSet {
        name,
        configuration: built.configuration,
        unmodelled: Vec::new(),
        fast_forward: Vec::new(),
        problems: built.compiled.problems,
        users_of_others: Vec::new(),
        origins: ObjectOrigins::Project(Box::new(opened)),
    })
}

/// Opens a rule set; what is wrong with it is shown, and ends the command.
pub(crate) fn open(
    text: &str,
    engine: Option<EngineId>,
    global: &Global,
    ui: &Ui,
) -> Result<RuleSet, CommandError> {
    let name = text.to_owned();
    let in_directory = |directory: &Path| Global {
        directory: directory.to_owned(),
        ..global.clone()
    };
    match Reference::parse(text) {
        Reference::File(path) if path.ends_with(".json") => json(name, &path),
        Reference::File(path) => {
            let file = rule_file(&path, engine.unwrap_or(ENGINE_OF_FILES))?;
            project::show_serious(&file.problems, &file.sources, ui);
            if file.layout.parts.is_empty() && !file.problems.has_errors() {
                return Err(holds_nothing(&path));
            }
            file.into_rule_set(name)
        }
        Reference::Own => {
            let opened = project::open(global, ui)?;
            let engine = engine.map_or_else(|| opened.engine(None), Ok)?;
            built(name, opened, engine, ui)
        }
        Reference::Project(directory) => {
            let opened = project::open(&in_directory(Path::new(&directory)), ui)?;
            let engine = engine.map_or_else(|| opened.engine(None), Ok)?;
            built(name, opened, engine, ui)
        }
        Reference::Revision(revision) => {
            let directory = revision::checkout(&global.directory, &revision)?;
            let opened = project::open(&in_directory(directory.path()), ui)?;
            let engine = engine.map_or_else(|| opened.engine(None), Ok)?;
            built(name, opened, engine, ui)
        }
        Reference::Environment(environment) => {
            let within = Global {
                environment: Some(environment),
                ..global.clone()
            };
            let opened = project::open(&within, ui)?;
            let engine = engine.map_or_else(|| opened.engine(None), Ok)?;
            built(name, opened, engine, ui)
        }
        Reference::Plan(path) => of_plan(name, &path, engine),
        Reference::Live(target) => of_target(name, target, engine, global, ui),
    }
}

/// A file that was read as a rule set of ProxySQL.
pub(crate) struct RuleFile {
    pub(crate) configuration: Arc<Configuration>,
    pub(crate) sources: Sources,
    pub(crate) origins: BTreeMap<String, Span>,
    pub(crate) problems: Problems,
    pub(crate) unmodelled: Vec<String>,
    pub(crate) fast_forward: Vec<String>,
    /// What an analysis has to know besides the configuration.
    pub(crate) beside: Beside,
    pub(crate) layout: Layout,
}

impl RuleFile {
    /// The rule set; errors end the command.
    fn into_rule_set(self, name: String) -> Result<RuleSet, CommandError> {
        if self.problems.has_errors() {
            return Err(CommandError::shown(Exit::BadDocument));
        }
        Ok(RuleSet {
            name,
            configuration: Arc::clone(&self.configuration),
            unmodelled: self.unmodelled.clone(),
            fast_forward: self.fast_forward.clone(),
            problems: Problems::new(),
            users_of_others: Vec::new(),
            origins: ObjectOrigins::File(Box::new(self)),
        })
    }
}

/// A file without a statement, a row or a setting: what a dump is that failed. As a rule set it would say that a system has nothing.
pub(crate) fn holds_nothing(path: &str) -> CommandError {
    let message = format!("{path} holds no statement, no row and no setting");
    CommandError::new(Exit::BadDocument, message).hint("look whether the command that wrote it has failed")
}

/// Reads SQL or a `proxysql.cnf`.
pub(crate) fn rule_file(path: &str, engine: EngineId) -> Result<RuleFile, CommandError> {
    let bytes = read_limited(path, MAX_FILE_BYTES)?;
    Ok(rules_of(path, &bytes, engine))
}

/// Reads statements of a ProxySQL or a `proxysql.cnf`; `path` is what messages call them.
pub(crate) fn rules_of(path: &str, bytes: &[u8], engine: EngineId) -> RuleFile {
    let mut sources = Sources::new();
    let file = shardwright_import::read(&mut sources, path, bytes, Language::of_path(path), engine);
    RuleFile {
        configuration: Arc::new(file.configuration),
        sources,
        origins: file.origins,
        problems: file.problems,
        unmodelled: file.unmodelled,
        fast_forward: file.fast_forward,
        beside: Beside {
            users: OtherUsers::None,
            filled_hostgroups: file.filled_hostgroups.into_iter().map(HostgroupId).collect(),
            reports_gtids: file.reports_gtids,
        },
        layout: file.layout,
    }
}

fn json(name: String, path: &str) -> Result<RuleSet, CommandError> {
    let bytes = read_limited(path, MAX_FILE_BYTES)?;
    let configuration: Configuration = serde_json::from_slice(&bytes).map_err(|error| {
        CommandError::new(
            Exit::BadDocument,
            format!("{path} is not a configuration: {error}"),
        )
        .hint("shardwright compile --emit json writes one")
    })?;
    Ok(RuleSet {
        name,
        configuration: Arc::new(configuration),
        unmodelled: Vec::new(),
        fast_forward: Vec::new(),
        problems: Problems::new(),
        users_of_others: Vec::new(),
        origins: ObjectOrigins::None,
    })
}

/// The bytes of a file, or why they cannot be read.
pub(crate) fn read_limited(path: &str, limit: u64) -> Result<Vec<u8>, CommandError> {
    let unreadable = |error: std::io::Error| unreadable(Path::new(path), &error);
    let mut bytes = Vec::new();
    // One byte more shows that there is more.
    let file = File::open(path).map_err(unreadable)?;
    file.take(limit + 1).read_to_end(&mut bytes).map_err(unreadable)?;
    if bytes.len() as u64 > limit {
        return Err(CommandError::new(
            Exit::BadDocument,
            format!("{path} is larger than {limit} bytes"),
        ));
    }
    Ok(bytes)
}

fn of_plan(name: String, path: &str, engine: Option<EngineId>) -> Result<RuleSet, CommandError> {
    let file = File::open(path).map_err(|error| unreadable(Path::new(path), &error))?;
    let plan =
        Plan::read(file).map_err(|error| CommandError::new(Exit::BadDocument, format!("{path}: {error}")))?;
    let mut wanted: Vec<&Arc<Configuration>> = plan
        .configurations
        .values()
        .filter(|configuration| engine.is_none_or(|engine| configuration.engine == engine))
        .collect();
    let found = wanted.pop();
    match found {
        Some(configuration) if wanted.is_empty() => Ok(RuleSet {
            name,
            configuration: Arc::clone(configuration),
            unmodelled: Vec::new(),
            fast_forward: Vec::new(),
            problems: Problems::new(),
            users_of_others: Vec::new(),
            origins: ObjectOrigins::None,
        }),
        Some(_) => {
            Err(CommandError::usage(format!("{path} has several configurations"))
                .hint("choose with --engine"))
        }
        None => Err(CommandError::usage(format!(
            "{path} has no configuration for that engine"
        ))),
    }
}

fn of_target(
    name: String,
    target: Option<String>,
    engine: Option<EngineId>,
    global: &Global,
    ui: &Ui,
) -> Result<RuleSet, CommandError> {
    let opened = project::open(global, ui)?;
    let selection = Selection {
        targets: target.into_iter().collect(),
    };
    let mut targets = live::targets(&opened, &selection)?;
    if let Some(engine) = engine {
        targets.retain(|target| target.engine == engine);
    }
    let [target] = targets.as_mut_slice() else {
        return Err(
            CommandError::usage(format!("`live` could mean {} targets", targets.len()))
                .hint("write live:NAME"),
        );
    };
    if let Proxy::ProxySql(proxysql) = &target.proxy {
        let rows = proxysql.running().map_err(|error| live::unreachable(&error))?;
        let is_default = |name: &str, value: &str| shardwright_topology::default_value(name) == Some(value);
        let path = format!("{name}.sql");
        return rules_of(&path, rows.script(is_default).as_bytes(), target.engine).into_rule_set(name);
    }
    let observed = target
        .target()
        .observe()
        .map_err(|error| live::unreachable(&error))?;
    let configuration = observed
        .configuration
        .ok_or_else(|| CommandError::failed(format!("target {} runs no configuration yet", target.name())))?;
    Ok(RuleSet {
        name,
        configuration: Arc::new(configuration),
        unmodelled: Vec::new(),
        fast_forward: Vec::new(),
        problems: Problems::new(),
        // Its objects are named as the project names them, where they are still there.
        users_of_others: Vec::new(),
        origins: ObjectOrigins::Project(Box::new(opened)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references() {
        for (text, expected) in [
            ("git:HEAD~1", Reference::Revision("HEAD~1".into())),
            ("plan:change.plan", Reference::Plan("change.plan".into())),
            ("live", Reference::Live(None)),
            ("live:px-a1", Reference::Live(Some("px-a1".into()))),
            ("rules.sql", Reference::File("rules.sql".into())),
            (".", Reference::Own),
            ("..", Reference::Project("..".into())),
        ] {
            assert_eq!(Reference::parse(text), expected, "{text}");
        }
    }
}
