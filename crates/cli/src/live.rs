//! Targets of the project file as live targets, and the plan towards them.

mod away;
mod observing;
mod runs;
mod sisters;
mod standing;

use std::sync::Arc;
use std::time::Duration;

use shardwright_compiler::Lock;
use shardwright_plan::{
    Meaning, Observed, Plan, ShardMove, Staged, Target, TargetError, TargetPlan, safety, too_many_connections,
};
use shardwright_rules::{Address, Configuration, EngineId};
use shardwright_secrets::Secret;
use shardwright_targets::{AdminAddress, BundledTarget, ProxySqlTarget, Timeouts};
use shardwright_topology::model;

use self::away::left_out;
pub(crate) use self::away::{Away, all_unreachable, skips_unreachable, warn_left_out};
use self::observing::Observing;
pub(crate) use self::observing::side_by_side;
pub(crate) use self::runs::{Part, keep_runs, keep_runs_if_known, parts};
pub(crate) use self::sisters::tell_writers;
use crate::analysed::Analysed;
use crate::args::{Foreign, Selection};
use crate::clock;
use crate::error::CommandError;
use crate::exit::Exit;
use crate::ownership::ownership;
use crate::project::{Built, Opened};
pub(crate) use crate::references::secret;
use crate::ui::Ui;

/// How long a plan can be applied when the project file does not say.
const DEFAULT_EXPIRY: Duration = Duration::from_secs(6 * 3600);

/// The most objects that one plan removes when the project file does not say: a cluster with its servers, not a project.
const DEFAULT_MAX_DELETES: usize = 10;

/// A target with the engine that it runs.
pub(crate) struct Live {
    pub(crate) engine: EngineId,
    pub(crate) proxy: Proxy,
}

/// What runs on a target.
pub(crate) enum Proxy {
    Bundled(BundledTarget),
    ProxySql(Box<ProxySqlTarget>),
}

impl Live {
    pub(crate) fn target(&mut self) -> &mut dyn Target {
        match &mut self.proxy {
            Proxy::Bundled(target) => target,
            Proxy::ProxySql(target) => target.as_mut(),
        }
    }

    /// Its name in the project file.
    pub(crate) fn name(&self) -> &str {
        match &self.proxy {
            Proxy::Bundled(target) => target.name(),
            Proxy::ProxySql(target) => target.name(),
        }
    }

    /// Says which rows of it the project owns, according to a lock; whether what was observed before still counts.
    pub(crate) fn manage(&mut self, opened: &Opened, lock: &Lock) -> Result<bool, CommandError> {
        let Proxy::ProxySql(target) = &mut self.proxy else {
            return Ok(true);
        };
        let file = &opened.project.file;
        Ok(target.manage(file.project.as_deref().map(str::to_owned), ownership(file, lock)?))
    }

    /// Says what becomes of rows that somebody else has staged on it.
    pub(crate) fn take_staged(&mut self, staged: Option<Staged>) {
        if let Proxy::ProxySql(target) = &mut self.proxy {
            target.take_staged(staged);
        }
    }

    fn staged(&self) -> Option<Staged> {
        match &self.proxy {
            Proxy::Bundled(_) => None,
            Proxy::ProxySql(target) => target.staged(),
        }
    }

    /// Says how long it is waited until clients let prepared statements go.
    pub(crate) fn drain(&mut self, patience: Duration) {
        if let Proxy::ProxySql(target) = &mut self.proxy {
            target.drain(patience);
        }
    }
}

/// The selected targets of the project file.
pub(crate) fn targets(opened: &Opened, selection: &Selection) -> Result<Vec<Live>, CommandError> {
    let chosen = chosen(opened, selection)?.into_iter();
    chosen.map(|target| live(opened, target)).collect()
}

/// The selected targets, and those that cannot even be asked: a secret of theirs is not at hand.
pub(crate) struct Reached {
    pub(crate) targets: Vec<Live>,
    pub(crate) unusable: Vec<TargetError>,
}

/// The selected targets of the project file, where one whose secrets are not at hand does not hide the others.
pub(crate) fn reachable(opened: &Opened, selection: &Selection) -> Result<Reached, CommandError> {
    let mut reached = Reached {
        targets: Vec::new(),
        unusable: Vec::new(),
    };
    for target in chosen(opened, selection)? {
        match live(opened, target) {
            Ok(live) => reached.targets.push(live),
            Err(error) if error.exit == Exit::Failed => reached.unusable.push(TargetError {
                target: target.name.to_string(),
                address: target.admin.to_string(),
                reason: without_name(error.message, &target.name),
            }),
            Err(error) => return Err(error),
        }
    }
    Ok(reached)
}

/// What is wrong with a target, where its name stands already.
fn without_name(message: String, target: &str) -> String {
    let named = format!("target {target}: ");
    match message.strip_prefix(&named) {
        Some(rest) => rest.to_owned(),
        None => message,
    }
}

/// The engine of a target of the project file.
pub(crate) fn engine_of(opened: &Opened, name: &str) -> Result<EngineId, CommandError> {
    let listed = opened.project.file.targets.iter();
    let target = listed.into_iter().find(|target| *target.name == *name);
    let target = target.ok_or_else(|| CommandError::internal(format!("no target is named {name}")))?;
    crate::project::engine(target.engine.as_str())
}

fn chosen<'o>(opened: &'o Opened, selection: &Selection) -> Result<Vec<&'o model::Target>, CommandError> {
    let listed = &opened.project.file.targets;
    if listed.is_empty() {
        return Err(CommandError::new(Exit::BadProject, "shardwright.yaml lists no target")
            .hint("write targets: {local: {engine: bundled, admin: \"127.0.0.1:6032\", user: admin, password: {env: NAME}}}"));
    }
    for name in &selection.targets {
        if !listed.iter().any(|target| *target.name == **name) {
            let known: Vec<&str> = listed.iter().map(|target| &*target.name).collect();
            return Err(CommandError::usage(format!("no target is named {name}"))
                .hint(format!("targets of shardwright.yaml: {}", known.join(", "))));
        }
    }
    let chosen = listed.iter().filter(|target| {
        selection.targets.is_empty() || selection.targets.iter().any(|name| **name == *target.name)
    });
    Ok(chosen.collect())
}

/// The selected targets of the project file, all of which have to be bundled proxies.
pub(crate) fn bundled_targets(
    opened: &Opened,
    selection: &Selection,
) -> Result<Vec<BundledTarget>, CommandError> {
    let chosen = chosen(opened, selection)?.into_iter();
    chosen
        .map(|target| match target.engine {
            model::EngineName::Bundled => bundled(opened, target),
            engine => Err(CommandError::new(
                Exit::Refused,
                format!(
                    "target {} is {}: its statements cannot be made to wait",
                    target.name,
                    engine.as_str()
                ),
            )
            .hint("choose the bundled proxies with --target; statements through others meet a writer that is read-only")),
        })
        .collect()
}

/// A target by its name, or why it cannot be one.
type Named<'o> = (&'o str, Result<BundledTarget, CommandError>);

/// The selected targets of the project file that are bundled proxies; none where it lists no target.
pub(crate) fn bundled_among<'o>(
    opened: &'o Opened,
    selection: &Selection,
) -> Result<Vec<Named<'o>>, CommandError> {
    if opened.project.file.targets.is_empty() {
        return Ok(Vec::new());
    }
    let chosen = chosen(opened, selection)?.into_iter();
    let of_engine = chosen.filter(|target| target.engine == model::EngineName::Bundled);
    Ok(of_engine
        .map(|target| (&*target.name, bundled(opened, target)))
        .collect())
}

fn live(opened: &Opened, target: &model::Target) -> Result<Live, CommandError> {
    let engine = crate::project::engine(target.engine.as_str())?;
    let proxy = match engine {
        EngineId::Bundled => Proxy::Bundled(bundled(opened, target)?),
        EngineId::Proxysql27 | EngineId::Proxysql30 => {
            let (address, password) = admin_port(opened, target)?;
            let base = opened.directory.clone();
            let (name, user) = (&*target.name, &*target.user);
            let target = ProxySqlTarget::new(name, engine, address, user, password, base);
            Proxy::ProxySql(Box::new(target))
        }
    };
    let mut live = Live { engine, proxy };
    live.manage(opened, opened.lock())?;
    Ok(live)
}

fn bundled(opened: &Opened, target: &model::Target) -> Result<BundledTarget, CommandError> {
    let (address, password) = admin_port(opened, target)?;
    let bundled = BundledTarget::new(
        &*target.name,
        address,
        &*target.user,
        password,
        Timeouts::default(),
    );
    Ok(match &target.ca {
        Some(ca) => bundled.trusting(opened.directory.join(&**ca)),
        None => bundled,
    })
}

fn admin_port(opened: &Opened, target: &model::Target) -> Result<(AdminAddress, Secret), CommandError> {
    let address = AdminAddress::parse(&target.admin).ok_or_else(|| {
        CommandError::new(
            Exit::BadProject,
            format!(
                "target {}: admin address {} is not HOST:PORT",
                target.name, target.admin
            ),
        )
    })?;
    let password = secret(
        opened,
        &format!("target {}: password", target.name),
        &target.password,
    )?;
    Ok((address, password))
}

/// What is wrong with a target, as the command's failure.
pub(crate) fn unreachable(error: &TargetError) -> CommandError {
    CommandError::failed(error.to_string())
}

/// How a plan is made.
#[derive(Clone, Copy)]
pub(crate) struct Making {
    pub(crate) lock: LockUse,
    pub(crate) foreign: Foreign,
    pub(crate) away: Away,
}

/// Whether a plan may change the lock file.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum LockUse {
    /// It is written where it is not up to date.
    Write,
    /// It has to be up to date.
    Check,
    /// It is left as it is.
    Ignore,
}

/// Finds out what a plan means, part by part.
pub(crate) trait OfParts {
    /// Is told of a target, what was observed, what would be done, and what the target shall run.
    fn part(
        &mut self,
        live: &mut Live,
        observed: &Observed,
        part: &TargetPlan,
        desired: &Arc<Configuration>,
    ) -> Result<(), CommandError>;

    /// What all parts mean together.
    fn together(&mut self) -> Option<Meaning>;
}

/// Observes the targets and plans the changes that the project needs.
pub(crate) fn plan(
    opened: &Opened,
    reached: &mut Reached,
    ui: &Ui,
    making: Making,
    of_parts: &mut dyn OfParts,
) -> Result<Plan, CommandError> {
    let Making { lock, foreign, .. } = making;
    let project = opened.project.file.project.as_deref();
    let live = &mut reached.targets;
    let engines: Vec<EngineId> = live.iter().map(|live| live.engine).collect();
    let mut refused = Vec::new();
    let mut away = reached.unusable.clone();
    let observing = Observing::begin(std::mem::take(live));
    let mut builds: Vec<(EngineId, Built, Analysed)> = Vec::new();
    let mut written = opened.lock().clone();
    for engine in engines {
        if !builds.iter().any(|(built, ..)| *built == engine) {
            let built = opened.build_beside(&written, engine, ui)?;
            written = built.compiled.lock.clone();
            let analysed = Analysed::begin(&built.configuration, &opened.project.file);
            builds.push((engine, built, analysed));
        }
    }
    // Once for all engines: the lock of one alone would drop what the others have got.
    if lock != LockUse::Ignore {
        opened.keep_lock(&written, lock == LockUse::Check)?;
    }
    let (targets, observations) = observing.end();
    *live = targets;
    let mut parts = Vec::with_capacity(live.len());
    let mut limits = Vec::new();
    for (live, observation) in live.iter_mut().zip(observations) {
        let engine = live.engine;
        let (_, built, analysed) = builds
            .iter_mut()
            .find(|(built, ..)| *built == engine)
            .expect("built above");
        let is_of_other_rows = !live.manage(opened, &built.compiled.lock)?;
        let staged = live.staged();
        let target = live.target();
        let observation = match observation {
            Ok(_) if is_of_other_rows => target.observe(),
            observation => observation,
        };
        let observed = match observation {
            Ok(observed) => observed,
            Err(error) => {
                away.push(error);
                continue;
            }
        };
        refused.extend(of_another(target.name(), observed.project.as_deref(), project));
        limits.extend_from_slice(&observed.server_limits);
        let desired = &built.configuration;
        let assessment = target
            .assess(&observed, desired)
            .map_err(|error| unreachable(&error))?;
        let part = TargetPlan::assessed(target.name(), &observed, desired, assessment, Vec::new());
        let owner = match (foreign, &observed.project) {
            (Foreign::Compare, None) => None,
            _ => project,
        };
        let part = part.taking_staged(staged).for_project(owner);
        of_parts.part(live, &observed, &part, &built.configuration)?;
        // The analysis goes on meanwhile.
        let mut hazards = analysed.hazards();
        standing::mark(
            live,
            &observed,
            &part,
            desired,
            &opened.project.file,
            &mut hazards,
        )?;
        parts.push((part.warned_of(hazards), built.configuration.clone()));
    }
    if !away.is_empty() && (parts.is_empty() || !making.away.goes_on(opened)) {
        return Err(all_unreachable(&away));
    }
    if foreign == Foreign::Refuse && !refused.is_empty() {
        let message = format!("refused; nothing was changed\n  {}", refused.join("\n  "));
        return Err(CommandError::new(Exit::Refused, message).hint(
            "check the targets in shardwright.yaml; --take-over makes them this project's and replaces what they run",
        ));
    }
    let crowded = too_many_connections(&on_all_targets(opened, &builds), &limits);
    for (part, _) in &mut parts {
        part.hazards.extend_from_slice(&crowded);
    }
    let environment = opened.environment.clone();
    let meaning = of_parts.together();
    let plan = Plan::new(environment, clock::now(), expiry(opened), meaning, parts);
    Ok(plan
        .with_moves(moves(opened))
        .leaving_out(left_out(away, opened, ui)))
}

/// What each target of the project would run, selected or not, as far as it was built.
fn on_all_targets(opened: &Opened, builds: &[(EngineId, Built, Analysed)]) -> Vec<Arc<Configuration>> {
    let configurations = opened.project.file.targets.iter().filter_map(|target| {
        let engine = crate::project::engine(target.engine.as_str()).ok()?;
        let (_, built, _) = builds.iter().find(|(of_engine, ..)| *of_engine == engine)?;
        Some(built.configuration.clone())
    });
    configurations.collect()
}

/// Why this project may not change a target. A target that no named project has applied to is free.
fn of_another(target: &str, owner: Option<&str>, project: Option<&str>) -> Option<String> {
    let owner = owner.filter(|_| owner != project)?;
    let ours = match project {
        Some(project) => format!("this project is {project}"),
        None => "this project has no name (`project:` in shardwright.yaml)".to_owned(),
    };
    Some(format!("target {target} belongs to the project {owner}; {ours}"))
}

/// Shards that move, according to the files.
fn moves(opened: &Opened) -> Vec<ShardMove> {
    let (topology, origins) = (&opened.project.topology, &opened.project.origins);
    let cluster = |id| topology.cluster(id).name.to_string();
    let moves = topology.moves.iter().map(|shard| ShardMove {
        address: Address::new(origins.address(shard.origin)),
        shard: Address::new(origins.address(shard.shard)),
        from: cluster(shard.from),
        to: cluster(shard.to),
        max_fence_ms: shard.max_fence_ms,
        wait_ms: shard.wait_ms,
        kill_open_transactions: shard.then == model::OpenTransactions::Kill,
        ready: shard.ready.iter().map(ToString::to_string).collect(),
        ready_timeout_ms: shard.ready_timeout_ms,
        reason: shard.reason.as_deref().map(str::to_owned),
    });
    moves.collect()
}

pub(crate) fn expiry(opened: &Opened) -> Duration {
    limits(opened).plan_expiry.unwrap_or(DEFAULT_EXPIRY)
}

/// `safety:` of the project file.
pub(crate) fn limits(opened: &Opened) -> safety::Limits {
    let safety = &opened.project.file.safety;
    safety::Limits {
        max_deletes: Some(safety.deletes_max.map_or(DEFAULT_MAX_DELETES, |n| n as usize)),
        protect: safety
            .protect
            .iter()
            .map(|pattern| pattern.as_str().to_owned())
            .collect(),
        plan_expiry: safety.plan_expiry_ms.map(Duration::from_millis),
    }
}
