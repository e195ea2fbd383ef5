//! From a project's directory to a compiled configuration; problems are shown once.

use std::cell::OnceCell;
use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use shardwright_compiler::{Compiled, Lock};
use shardwright_diagnostics::{Problems, Severity, Sources, render};
use shardwright_rules::{Address, Configuration, EngineId};
use shardwright_topology::model::{OriginId, Project};
use shardwright_topology::{Documents, ENVIRONMENT_DIRECTORY, Fault, Options, read_project};

use crate::allow_comments;
use crate::args::{Format, Global};
use crate::clock;
use crate::error::CommandError;
use crate::exit::Exit;
use crate::files::replace_file;
use crate::ownership;
use crate::ui::{Ui, counted};

/// The name of the lock file, next to the project file.
const LOCK_FILE: &str = "shardwright.lock";

/// The lock of the project, or of one of its environments, which have other objects and so other numbers.
fn lock_file(environment: Option<&str>) -> String {
    match environment {
        Some(name) => format!("{ENVIRONMENT_DIRECTORY}/{name}.lock"),
        None => LOCK_FILE.to_owned(),
    }
}

/// A project that could be read.
pub(crate) struct Opened {
    pub(crate) directory: PathBuf,
    pub(crate) project: Project,
    pub(crate) sources: Sources,
    pub(crate) documents: Documents,
    /// Warnings; errors end before this.
    pub(crate) problems: Problems,
    /// The environment that is applied to the project.
    pub(crate) environment: Option<String>,
    lock: Lock,
    /// Every address of the project; filled when one is first looked up.
    addresses: OnceCell<HashMap<String, OriginId>>,
}

/// A project compiled for one engine.
pub(crate) struct Built {
    pub(crate) compiled: Compiled,
    pub(crate) configuration: Arc<Configuration>,
}

/// Reads a project. Its errors are shown, and end the command with 65 or 78; warnings are left to the caller.
pub(crate) fn open(global: &Global, ui: &Ui) -> Result<Opened, CommandError> {
    open_with(global, options(global)?, ui, |problems, sources| {
        show(problems, sources, ui);
        Ok(())
    })
}

/// The same for a program that looks again and again; `None`: it cannot be read now.
pub(crate) fn open_quietly(global: &Global, ui: &Ui) -> Option<Opened> {
    let options = options(global).ok()?;
    open_with(global, options, ui, |_, _| Ok(())).ok()
}

/// The same for commands whose results are problems: with `--format json` they are on standard output.
pub(crate) fn open_for_findings(global: &Global, options: Options, ui: &Ui) -> Result<Opened, CommandError> {
    open_with(global, options, ui, |problems, sources| {
        report(problems, sources, ui)
    })
}

/// The same with the route tests.
pub(crate) fn open_with_tests(global: &Global, ui: &Ui) -> Result<Opened, CommandError> {
    let options = Options {
        route_tests: true,
        ..options(global)?
    };
    open_with(global, options, ui, |problems, sources| {
        report(problems, sources, ui)
    })
}

fn open_with(
    global: &Global,
    options: Options,
    ui: &Ui,
    report: impl Fn(&Problems, &Sources) -> Result<(), CommandError>,
) -> Result<Opened, CommandError> {
    let loaded = read_project(&global.directory, &options);
    ui.detail(|| {
        let files = loaded.sources.files().map(|file| loaded.sources.path(file));
        format!(
            "read {} in {}",
            files.collect::<Vec<_>>().join(", "),
            global.directory.display()
        )
    });
    let Some(project) = loaded.project else {
        report(&loaded.problems, &loaded.sources)?;
        return Err(CommandError::shown(match loaded.fault {
            Some(Fault::Options) => Exit::Usage,
            Some(Fault::ProjectFile) => Exit::BadProject,
            Some(Fault::Document) | None => Exit::BadDocument,
        }));
    };
    let environment = options.environment;
    let lock = read_lock(&global.directory, environment.as_deref())?;
    Ok(Opened {
        directory: global.directory.clone(),
        project,
        sources: loaded.sources,
        documents: loaded.documents,
        problems: loaded.problems,
        environment,
        lock,
        addresses: OnceCell::new(),
    })
}

/// The input besides the files: the command line and the clock.
pub(crate) fn options(global: &Global) -> Result<Options, CommandError> {
    Ok(Options {
        variables: variables(&global.variables)?,
        environment: global.environment.clone(),
        route_tests: false,
        now: Some(clock::now()),
    })
}

fn variables(assignments: &[String]) -> Result<BTreeMap<String, String>, CommandError> {
    let mut variables = BTreeMap::new();
    for assignment in assignments {
        let Some((name, value)) = assignment.split_once('=') else {
            return Err(CommandError::usage(format!("--var {assignment} has no value"))
                .hint("write --var NAME=VALUE"));
        };
        if variables.insert(name.to_owned(), value.to_owned()).is_some() {
            return Err(CommandError::usage(format!("--var {name} is given twice"))
                .hint("give each variable one value"));
        }
    }
    Ok(variables)
}

pub(crate) fn read_lock(directory: &Path, environment: Option<&str>) -> Result<Lock, CommandError> {
    let file = lock_file(environment);
    let path = directory.join(&file);
    let text = match std::fs::read_to_string(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Lock::default()),
        Err(error) => {
            return Err(CommandError::failed(format!(
                "cannot read {}: {error}",
                path.display()
            )));
        }
    };
    let (lock, errors) = Lock::parse(&text);
    if errors.is_empty() {
        return Ok(lock);
    }
    let lines: Vec<String> = errors
        .iter()
        .map(|error| format!("{file}:{}: {error}", error.line()))
        .collect();
    Err(
        CommandError::new(Exit::BadDocument, lines.join("\n")).hint(format!(
            "{file} is generated: take one side of the merge and run shardwright compile"
        )),
    )
}

/// Shows problems on standard error: notes as a number, and with `--notes` in full; with `--quiet` only errors.
pub(crate) fn show(problems: &Problems, sources: &Sources, ui: &Ui) {
    show_at_least(Severity::Info, problems, sources, ui);
}

/// The same without notes; with `--verbose` with them.
pub(crate) fn show_serious(problems: &Problems, sources: &Sources, ui: &Ui) {
    show_at_least(Severity::Warning, problems, sources, ui);
}

/// The same for problems that are bad enough; with `--verbose` for all.
fn show_at_least(least: Severity, problems: &Problems, sources: &Sources, ui: &Ui) {
    let least = match (ui.is_quiet(), ui.is_verbose()) {
        (true, _) => Severity::Error,
        (false, true) => Severity::Info,
        (false, false) => least,
    };
    let new = ui.found(problems, sources);
    let counts_notes = least == Severity::Info && !ui.shows_notes();
    let notes = counts_notes.then(|| number_of_notes(&new)).flatten();
    let shown = new.at_least(if counts_notes { Severity::Warning } else { least });
    let text = render::text::render(&shown, sources, ui.style_err());
    if !text.is_empty() {
        ui.message(&text);
    }
    if let Some(notes) = notes {
        ui.status(&notes);
    }
}

/// `2 notes (SW322, SW334): --notes shows them`
fn number_of_notes(problems: &Problems) -> Option<String> {
    let notes: Vec<_> = problems
        .sorted()
        .into_iter()
        .filter(|problem| problem.severity == Severity::Info)
        .collect();
    let mut codes: Vec<&str> = notes.iter().map(|note| note.code.as_str()).collect();
    codes.sort_unstable();
    codes.dedup();
    let pronoun = if notes.len() == 1 { "it" } else { "them" };
    (!notes.is_empty()).then(|| {
        format!(
            "{} ({}): --notes shows {pronoun}",
            counted(notes.len(), "note"),
            codes.join(", ")
        )
    })
}

/// Problems as the result of a command: one document on standard output, or human-readable text on standard error.
pub(crate) fn report(problems: &Problems, sources: &Sources, ui: &Ui) -> Result<(), CommandError> {
    match ui.format() {
        Format::Human => {
            show(problems, sources, ui);
            if problems.has_errors() {
                ui.status(&problems.counts().summary());
            }
            Ok(())
        }
        Format::Json => ui.data(&ui.found_json(problems, sources)),
        Format::Markdown => ui.markdown(&ui.found(problems, sources), sources),
    }
}

impl Opened {
    /// Compiles for one engine, for a command that changes something; errors are shown and end it, warnings are shown.
    /// `validate` reports the notes.
    pub(crate) fn build(&self, engine: EngineId, ui: &Ui) -> Result<Built, CommandError> {
        self.build_and_show(engine, Severity::Warning, ui)
    }

    /// Compiles for one engine beside others, whose lock this is; errors are shown and end the command, warnings are shown.
    pub(crate) fn build_beside(&self, lock: &Lock, engine: EngineId, ui: &Ui) -> Result<Built, CommandError> {
        let built = self.build_on(lock, engine, &shardwright_compiler::Options::default());
        self.shown(engine, Severity::Warning, built, ui)
    }

    /// Compiles for one engine, for a command that answers a question; errors are shown and end it.
    pub(crate) fn build_to_ask(&self, engine: EngineId, ui: &Ui) -> Result<Built, CommandError> {
        self.build_and_show(engine, Severity::Error, ui)
    }

    fn build_and_show(&self, engine: EngineId, least: Severity, ui: &Ui) -> Result<Built, CommandError> {
        self.shown(engine, least, self.build_quietly(engine), ui)
    }

    fn shown(&self, engine: EngineId, least: Severity, built: Built, ui: &Ui) -> Result<Built, CommandError> {
        ui.detail(|| {
            let stats = &built.compiled.stats;
            format!(
                "compiled for {engine}: {} rules, {} hostgroups",
                stats.rules, stats.hostgroups
            )
        });
        show_at_least(least, &built.compiled.problems, &self.sources, ui);
        if built.compiled.problems.has_errors() {
            return Err(CommandError::shown(Exit::BadDocument));
        }
        Ok(built)
    }

    /// Compiles for one engine; problems are part of the result.
    pub(crate) fn build_quietly(&self, engine: EngineId) -> Built {
        self.build_as(engine, &shardwright_compiler::Options::default())
    }

    /// Compiles another state of this project, such as one with edits, with this one's lock.
    pub(crate) fn build_of(&self, project: &Project, engine: EngineId) -> Compiled {
        shardwright_compiler::compile(project, engine, &self.lock, &Default::default())
    }

    /// Compiles for one engine as asked for; errors are shown and end it, warnings are shown.
    pub(crate) fn build_with(
        &self,
        engine: EngineId,
        options: &shardwright_compiler::Options,
        ui: &Ui,
    ) -> Result<Built, CommandError> {
        self.shown(engine, Severity::Warning, self.build_as(engine, options), ui)
    }

    fn build_as(&self, engine: EngineId, options: &shardwright_compiler::Options) -> Built {
        self.build_on(&self.lock, engine, options)
    }

    fn build_on(&self, lock: &Lock, engine: EngineId, options: &shardwright_compiler::Options) -> Built {
        let mut compiled = shardwright_compiler::compile(&self.project, engine, lock, options);
        ownership::remember(&self.project.file, &compiled.configuration, &mut compiled.lock);
        let configuration = Arc::clone(&compiled.configuration);
        Built {
            compiled,
            configuration,
        }
    }

    /// The problems of compiling for each listed engine, in their order; engines are compiled for side by side.
    pub(crate) fn problems_of_engines(&self) -> Vec<Problems> {
        let (project, lock) = (&self.project, &self.lock);
        let problems = |engine| {
            let mut compiled = shardwright_compiler::compile(project, engine, lock, &Default::default());
            let problems = std::mem::take(&mut compiled.problems);
            // As in `validate`: the process ends soon.
            std::mem::forget(compiled);
            problems
        };
        std::thread::scope(|scope| {
            let threads: Vec<_> = self
                .engines()
                .map(|engine| scope.spawn(move || problems(engine)))
                .collect();
            let joined = threads.into_iter().map(std::thread::ScopedJoinHandle::join);
            joined
                .map(|problems| problems.unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
                .collect()
        })
    }

    /// Without the warnings and notes that comments of the project allow.
    pub(crate) fn without_allowed(&self, problems: &Problems) -> Problems {
        let require_reason = self.project.file.lint.require_reason;
        allow_comments::without_allowed(problems, &self.documents, &self.sources, require_reason)
    }

    /// The engines that the project lists.
    pub(crate) fn engines(&self) -> impl Iterator<Item = EngineId> {
        self.project
            .file
            .engines
            .iter()
            .filter_map(|entry| EngineId::from_name(entry.name.as_str()))
    }

    /// The engine of `--engine`, or the first that the project lists.
    pub(crate) fn engine(&self, wanted: Option<&str>) -> Result<EngineId, CommandError> {
        match wanted {
            Some(name) => engine(name),
            None => self.engines().next().ok_or_else(|| {
                CommandError::new(Exit::BadProject, "shardwright.yaml lists no engine")
                    .hint("write engines: [bundled]")
            }),
        }
    }

    /// The object at an address.
    pub(crate) fn find(&self, address: &str) -> Option<OriginId> {
        let origins = &self.project.origins;
        let addresses = || origins.iter().map(|id| (origins.address(id), id)).collect();
        self.addresses.get_or_init(addresses).get(address).copied()
    }

    /// Every address of the project.
    pub(crate) fn addresses(&self) -> impl Iterator<Item = String> {
        let origins = &self.project.origins;
        origins.iter().map(|id| origins.address(id))
    }

    /// Where an object is written: `topology/shop.yaml:31`.
    pub(crate) fn origin(&self, address: &Address) -> Option<String> {
        let (file, line) = self.file_and_line(address)?;
        Some(format!("{file}:{line}"))
    }

    /// The file and line that place an object: of a shard with an override, those of the override.
    pub(crate) fn placed_at(&self, address: &Address) -> Option<String> {
        let parts: Vec<&str> = address.as_str().split('.').collect();
        let overridden = match parts.as_slice() {
            ["shard_maps", map, "shards", shard] => {
                let map = self.project.topology.shard_maps.get_named(map);
                map.and_then(|map| map.shards.get_named(shard)?.overridden)
            }
            _ => None,
        };
        let Some(origin) = overridden else {
            let places = [self.origin(address), self.patched_at(address)];
            let places: Vec<String> = places.into_iter().flatten().collect();
            return (!places.is_empty()).then(|| places.join(", "));
        };
        let span = self.project.origins.span(origin);
        let line = self.sources.position(span).line;
        Some(format!("{}:{line}", self.sources.path(span.file)))
    }

    /// Where the environment sets values of an object: `env/prod.yaml:11`.
    fn patched_at(&self, address: &Address) -> Option<String> {
        let file = format!("{ENVIRONMENT_DIRECTORY}/{}.yaml", self.environment.as_deref()?);
        let mut documents = self.documents.all();
        let document = documents.find(|document| self.sources.path(document.file) == file)?;
        let patches = document.root.as_ref()?.get("patch")?.as_mapping()?;
        let is_of = |key: &str| {
            let below = key.strip_prefix(address.as_str())?;
            // Objects within it have lines of their own.
            let is_own = below.is_empty() || (below.starts_with('.') && !below.starts_with(".servers."));
            is_own.then_some(())
        };
        let patch = patches.iter().find(|patch| is_of(&patch.key.text).is_some())?;
        let line = self.sources.position(patch.key.span).line;
        Some(format!("{file}:{line}"))
    }

    /// The file and the 1-based line where an object is written.
    pub(crate) fn file_and_line(&self, address: &Address) -> Option<(String, u32)> {
        let span = self.project.origins.span(self.find(address.as_str())?);
        Some((
            self.sources.path(span.file).to_owned(),
            self.sources.position(span).line,
        ))
    }

    /// The generator instance that made an object: `n=137`.
    pub(crate) fn instance(&self, address: &Address) -> Option<&str> {
        self.project.origins.instance(self.find(address.as_str())?)
    }

    /// The lock of every engine of the project, of which one has been compiled for: each builds on the lock of the former.
    /// Errors of an engine are shown and end the command, its warnings are shown.
    pub(crate) fn lock_of_all(
        &self,
        built: &Built,
        options: &shardwright_compiler::Options,
        ui: &Ui,
    ) -> Result<Lock, CommandError> {
        let first = built.configuration.engine;
        let mut lock = built.compiled.lock.clone();
        for engine in self.engines().filter(|engine| *engine != first) {
            let other = self.build_on(&lock, engine, options);
            lock = self.shown(engine, Severity::Warning, other, ui)?.compiled.lock;
        }
        Ok(lock)
    }

    /// Writes the lock file when compiling changed it; with `locked`, refuses instead.
    pub(crate) fn keep_lock(&self, lock: &Lock, locked: bool) -> Result<(), CommandError> {
        if *lock == self.lock {
            return Ok(());
        }
        let file = lock_file(self.environment.as_deref());
        if locked {
            return Err(
                CommandError::new(Exit::OldLock, format!("{file} is not up to date"))
                    .hint("run shardwright compile, and commit the file"),
            );
        }
        let path = self.directory.join(file);
        replace_file(&path, lock.to_string().as_bytes())
    }

    /// Whether another look at the same directory found the same files.
    pub(crate) fn is_as(&self, other: &Self) -> bool {
        let texts = |opened: &Self| -> Vec<(String, String)> {
            let sources = &opened.sources;
            let files = sources.files();
            files
                .map(|file| (sources.path(file).to_owned(), sources.text(file).to_owned()))
                .collect()
        };
        self.lock == other.lock && texts(self) == texts(other)
    }

    /// The lock as it is on disk.
    pub(crate) fn lock(&self) -> &Lock {
        &self.lock
    }
}

/// The engine of this name.
pub(crate) fn engine(name: &str) -> Result<EngineId, CommandError> {
    EngineId::from_name(name).ok_or_else(|| {
        let known: Vec<&str> = EngineId::ALL.iter().map(|engine| engine.name()).collect();
        CommandError::usage(format!("unknown engine {name}")).hint(format!("engines: {}", known.join(", ")))
    })
}
