//! The targets of a project, looked at side by side and compared with its files.

use std::collections::HashMap;
use std::sync::Arc;

use shardwright_plan::{Assessment, Observed, Target, TargetError};
use shardwright_rules::{Configuration, EngineId};
use shardwright_targets::emit::Ownership;
use shardwright_targets::proxysql::{Applied, Cause, Drift, Drifted, Look, Side};
use shardwright_targets::{BundledTarget, ProxySqlTarget, SelfProblem};

use crate::args::{Global, Selection};
use crate::error::CommandError;
use crate::live::{self, Live, Proxy, Reached, unreachable};
use crate::ownership::ownership;
use crate::project::{self, Built, Opened};
use crate::rule_set::revision;
use crate::ui::Ui;

/// A target that was looked at.
pub(super) struct Seen {
    pub(super) target: String,
    pub(super) engine: EngineId,
    pub(super) drift: Result<Drift, TargetError>,
}

impl Seen {
    /// Whether it was seen to have drift.
    pub(super) fn is_any(&self) -> bool {
        self.drift.as_ref().is_ok_and(Drift::is_any)
    }
}

/// A configuration of a former commit, with what the project owned then.
type FormerState = Option<(Arc<Configuration>, Ownership)>;

/// The targets, and the project that they are compared with.
pub(super) struct Fleet {
    global: Global,
    selection: Selection,
    pub(super) opened: Opened,
    builds: Vec<(EngineId, Built)>,
    pub(super) targets: Vec<Live>,
    /// Targets that cannot be asked.
    unusable: Vec<(EngineId, TargetError)>,
    /// Why the history of runs cannot be read.
    no_history: Option<String>,
    /// What former commits said.
    former: HashMap<(String, EngineId), FormerState>,
}

impl Fleet {
    pub(super) fn open(selection: &Selection, global: &Global, ui: &Ui) -> Result<Self, CommandError> {
        let opened = project::open(global, ui)?;
        project::show(&opened.problems, &opened.sources, ui);
        Self::of(opened, selection.clone(), global.clone(), ui)
    }

    fn of(opened: Opened, selection: Selection, global: Global, ui: &Ui) -> Result<Self, CommandError> {
        let Reached {
            mut targets,
            unusable,
        } = live::reachable(&opened, &selection)?;
        let mut builds: Vec<(EngineId, Built)> = Vec::new();
        for target in &mut targets {
            let engine = target.engine;
            if !builds.iter().any(|(built, _)| *built == engine) {
                builds.push((engine, opened.build_to_ask(engine, ui)?));
            }
            target.manage(&opened, &built(&builds, engine).compiled.lock)?;
        }
        let no_history = live::keep_runs_if_known(&mut targets, &opened)?;
        let unusable: Result<Vec<_>, CommandError> = unusable
            .into_iter()
            .map(|error| Ok((live::engine_of(&opened, &error.target)?, error)))
            .collect();
        let unusable = unusable?;
        Ok(Self {
            global,
            selection,
            opened,
            builds,
            unusable,
            no_history,
            targets,
            former: HashMap::new(),
        })
    }

    /// Reads the files again. While they cannot be read, as in the middle of an edit, those of before count.
    pub(super) fn refresh(&mut self, ui: &Ui) -> Result<(), CommandError> {
        let Some(opened) = project::open_quietly(&self.global, ui) else {
            return Ok(());
        };
        if opened.is_as(&self.opened) {
            return Ok(());
        }
        match Self::of(opened, self.selection.clone(), self.global.clone(), ui) {
            Ok(fleet) => *self = fleet,
            Err(error) => ui.status(&format!(
                "the files have changed and cannot be used, those of before count: {}",
                error.message
            )),
        }
        Ok(())
    }

    /// The configuration of an engine.
    pub(super) fn built(&self, engine: EngineId) -> &Built {
        built(&self.builds, engine)
    }

    /// Looks at every target.
    ///
    /// # Errors
    /// The files say what a target cannot hold.
    pub(super) fn look(&mut self) -> Result<Vec<Seen>, CommandError> {
        let asked = self.ask();
        let mut all = Vec::with_capacity(self.targets.len());
        for (target, asked) in self.targets.iter_mut().zip(asked) {
            let engine = target.engine;
            let name = target.name().to_owned();
            let desired = &built(&self.builds, engine).configuration;
            let drift = match (&mut target.proxy, asked) {
                (Proxy::Bundled(_), Asked::Bundled(known)) => {
                    let project = self.opened.project.file.project.as_deref();
                    known.map(|known| of_bundled(&name, *known, desired, project))
                }
                (Proxy::ProxySql(proxy), Asked::ProxySql(look)) => match look {
                    Ok(look) => {
                        let (global, known) = (&self.global, &mut self.former);
                        let mut former = |commit: &str| {
                            let key = (commit.to_owned(), engine);
                            known
                                .entry(key)
                                .or_insert_with(|| former_state(global, commit, engine))
                                .clone()
                        };
                        let drift = proxy.drift(&look, desired, &mut former);
                        Ok(drift.map_err(|error| unreachable(&error))?)
                    }
                    Err(error) => Err(error),
                },
                _ => return Err(CommandError::internal("a target was not asked what it is")),
            };
            all.push(Seen {
                target: name,
                engine,
                drift,
            });
        }
        let unusable = self.unusable.iter().map(|(engine, error)| Seen {
            target: error.target.clone(),
            engine: *engine,
            drift: Err(error.clone()),
        });
        all.extend(unusable);
        if let Some(reason) = &self.no_history {
            for drift in all.iter_mut().filter_map(|seen| seen.drift.as_mut().ok()) {
                drift.not_compared.push(format!("the history of runs: {reason}"));
            }
        }
        Ok(all)
    }

    /// Asks every target, side by side: one that hangs costs the others no time.
    fn ask(&mut self) -> Vec<Asked> {
        live::side_by_side(&mut self.targets, |target| match &mut target.proxy {
            Proxy::Bundled(proxy) => Asked::Bundled(ask_bundled(proxy).map(Box::new)),
            Proxy::ProxySql(proxy) => Asked::ProxySql(proxy.look().map(Box::new)),
        })
    }

    /// Every ProxySQL as it is now, in the order of the targets; side by side, or a fleet would take minutes.
    pub(super) fn looks(&self) -> Vec<Result<Look, TargetError>> {
        let proxies = self.targets.iter().filter_map(|target| match &target.proxy {
            Proxy::ProxySql(proxy) => Some(&**proxy),
            Proxy::Bundled(_) => None,
        });
        live::side_by_side(proxies, ProxySqlTarget::look)
    }
}

/// What a target has answered.
enum Asked {
    Bundled(Result<Box<KnownOfBundled>, TargetError>),
    ProxySql(Result<Box<Look>, TargetError>),
}

/// What a bundled proxy runs, and what it says of itself.
struct KnownOfBundled {
    observed: Observed,
    older: Result<Option<String>, String>,
    problems: Vec<SelfProblem>,
}

fn ask_bundled(proxy: &mut BundledTarget) -> Result<KnownOfBundled, TargetError> {
    let observed = proxy.observe()?;
    Ok(KnownOfBundled {
        older: proxy.older(&observed).map_err(|error| error.to_string()),
        problems: proxy.problems()?,
        observed,
    })
}

fn built(builds: &[(EngineId, Built)], engine: EngineId) -> &Built {
    let found = builds.iter().find(|(built, _)| *built == engine);
    &found
        .expect("every engine of a target is built when it is opened")
        .1
}

/// What a commit of the project compiles to.
fn former_state(global: &Global, commit: &str, engine: EngineId) -> FormerState {
    let directory = revision::checkout(&global.directory, commit).ok()?;
    let global = Global {
        directory: directory.path().to_owned(),
        quiet: true,
        ..global.clone()
    };
    let opened = project::open_quietly(&global, &Ui::new(&global))?;
    let built = opened.build_quietly(engine);
    if built.compiled.problems.has_errors() {
        return None;
    }
    let owned = ownership(&opened.project.file, &built.compiled.lock).ok()?;
    Some((built.configuration, owned))
}

/// A bundled proxy runs what was applied last, and nothing else.
fn of_bundled(target: &str, known: KnownOfBundled, desired: &Configuration, project: Option<&str>) -> Drift {
    let KnownOfBundled {
        observed,
        older,
        problems,
    } = known;
    let is_ours = observed.project.is_none() || observed.project.as_deref() == project;
    let (older, unknown) = match older {
        Ok(older) => (older, None),
        Err(reason) => (None, Some(format!("how old it is: {reason}"))),
    };
    let cause = match (is_ours, &older) {
        (false, _) => Some(Cause::Project {
            project: observed.project.clone(),
            run: format!("generation {}", observed.generation),
            by: None,
            at: None,
        }),
        (true, Some(_)) => Some(Cause::Restored),
        (true, None) => None,
    };
    let effects = Assessment::of_whole(&observed, desired).difference.effects;
    let differences = effects.into_iter().map(|effect| Drifted {
        side: match &cause {
            None => Side::RepoAhead,
            Some(_) => Side::Both,
        },
        effect,
        staged: false,
        cause: cause.clone(),
    });
    let unusable = problems
        .into_iter()
        .map(|SelfProblem { address, problem }| format!("{address}: {problem}"));
    Drift {
        target: target.to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        project: observed.project.clone(),
        generation: observed.generation,
        run: None,
        applied: Applied::default(),
        differences: differences.collect(),
        staged: Vec::new(),
        left_out: Vec::new(),
        beside: Vec::new(),
        older,
        unfinished: None,
        not_compared: unusable.chain(unknown).collect(),
        not_looked_at: Vec::new(),
    }
}
