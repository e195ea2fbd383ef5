//! A topology compiled to a configuration for one engine.
//!
//! [`compile`] is pure: a project, an engine and the lock file go in; a [`Configuration`], its problems, the new lock and
//! figures come out. A topology is first put into the words of `rules` (hostgroups, users, steps), which is all that the
//! bundled engine needs; for ProxySQL the steps become chains of engine rules.

mod assemble;
mod bundled;
mod draft;
mod explain;
mod keys;
mod native;
mod proxysql;
mod report;
mod stats;
mod traffic;
pub mod tree;
mod words;

use std::collections::BTreeMap;
use std::sync::Arc;

use shardwright_diagnostics::{CodeDoc, Problems};
use shardwright_layout::{KEPT, Price};
use shardwright_rules::{
    Configuration, EngineId, EngineProfile, EngineSettings, FORMAT_VERSION, RegexEngine,
};
use shardwright_topology::model::{EngineName, Project};

pub use explain::{CandidateCost, Explanation, RuleReference, SplitCost, Splits};
pub use shardwright_ids::{Lock, LockError};
pub use stats::{MapStats, Means, Stats};
pub use traffic::{Seen, Traffic, TrafficError};

use native::Program;
use proxysql::Choosing;
use report::Report;

/// The pages of `explain` for what the compiler reports.
pub const CODES: &[CodeDoc] = report::CODES;

/// What a caller may ask of a compilation.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Engine variables instead of those of the project file.
    pub settings: Option<EngineSettings>,
    /// How often keys are asked for; without it all count alike. It shapes trees that are new, and those that `reshape`
    /// lays out again; figures are under it in any case.
    pub traffic: Option<Arc<Traffic>>,
    /// Lays out trees anew that the lock file remembers. Most of their rules change.
    pub reshape: bool,
}

/// A topology compiled for one engine.
#[derive(Debug)]
pub struct Compiled {
    /// What the engine needs. With errors among the problems it is incomplete and must not be applied.
    pub configuration: Arc<Configuration>,
    /// What is wrong, and what the engine does differently.
    pub problems: Problems,
    /// The lock file to write.
    pub lock: Lock,
    /// Figures.
    pub stats: Stats,
    /// Names of chains by flag.
    pub chains: BTreeMap<u32, String>,
    /// The layouts that were compared, by name of the map.
    candidates: BTreeMap<String, Vec<CandidateCost>>,
    /// Where reads could be told from writes, by name of the map.
    splits: BTreeMap<String, Splits>,
}

/// Compiles a project for one engine. Ids that `lock` remembers stay.
pub fn compile(project: &Project, engine: EngineId, lock: &Lock, options: &Options) -> Compiled {
    let mut report = Report::new(engine, project);
    let counted = lock;
    let mut lock = lock.clone();
    let settings = options.settings.unwrap_or_else(|| settings(project, engine));
    native::patterns::check(&project.topology, settings.regex, &mut report);
    let program = Program::of(project, &mut lock, &mut report);
    let ids = &project.file.ids;
    let mut candidates = BTreeMap::new();
    let mut splits = BTreeMap::new();
    let mut names = BTreeMap::from([(0, "start".to_owned())]);
    let price = price(engine.profile(), settings.regex);
    if options.reshape {
        forget_trees(&program, engine, &mut lock);
    }
    let choosing = Choosing {
        price,
        lock: &lock,
        counted,
        traffic: options.traffic.as_deref(),
    };
    let (topology, origins) = (&project.topology, &project.origins);
    let mut forced = Vec::new();
    let lowered = match engine {
        EngineId::Bundled => {
            let plans = proxysql::forced::plans(&program, topology, choosing, &mut report);
            forced = plans.iter().map(Option::is_some).collect();
            proxysql::forced::lower(&program, origins, (plans, price), &mut report)
        }
        EngineId::Proxysql27 | EngineId::Proxysql30 => proxysql::lower(
            &program,
            topology,
            origins,
            (choosing, *ids.rules.start(), settings.regex),
            &mut report,
        ),
    };
    let proxysql::Lowered {
        sequence,
        draft,
        trees,
        plans,
        reference_users,
        rows,
        reasons,
    } = lowered;
    for (section, plan) in program.maps.iter().zip(&plans) {
        if plan.weights.hits().is_some() && plan.candidates.first().is_some_and(|chosen| chosen.name != KEPT)
        {
            lock.set(proxysql::shaped_name(engine, section), 1);
        }
        candidates.insert(section.step.map.clone(), explain::costs(plan));
        splits.extend(Splits::of(plan, engine).map(|compared| (section.step.map.clone(), compared)));
    }
    let taken: Vec<_> = program.hostgroups.iter().map(|hostgroup| hostgroup.id).collect();
    let refusing = proxysql::refusals::hostgroups(&reasons, topology, (ids, &taken), &mut lock, &mut report);
    let numbered = sequence.number(&draft, ids, &mut lock, &refusing, &mut report);
    let flags = numbered.flags.iter();
    names.extend(flags.map(|(&chain, &flag)| (flag, draft.get(chain).name.clone())));
    let measured = stats::Laid {
        program: &program,
        numbered: &numbered,
        trees: &trees,
        plans: &plans,
        iterations: settings.query_processor_iterations,
        price,
    };
    let mut maps = measured.maps(&reference_users, &rows);
    if engine.profile().native_steps {
        for (name, figures) in stats::dispatched(&program, &numbered.graph, price) {
            let at = program.maps.iter().position(|map| map.step.map == name);
            if at.is_none_or(|at| !forced[at]) {
                maps.insert(name, figures);
            }
        }
    }
    let graph = numbered.graph;
    let firewall = proxysql::firewall::rows(&program, &graph, &mut report);
    proxysql::refuser::unheard(topology, &refusing, &mut report);
    let configuration = Configuration {
        format: FORMAT_VERSION,
        engine,
        settings,
        variables: program.surroundings.variables,
        listeners: program.surroundings.listeners,
        monitor: program.surroundings.monitor,
        clusters: program.clusters,
        hostgroups: program.hostgroups,
        refusing,
        users: program.users,
        graph,
        firewall,
    };
    let reference = |name: &str| {
        let at = program.maps.iter().position(|map| map.step.map == name);
        at.and_then(|at| reference_users.get(&at))
            .cloned()
            .unwrap_or_default()
    };
    stats::count_rows(&mut maps, &configuration, reference, price);
    Compiled {
        stats: Stats::of(&configuration, maps),
        problems: report.problems,
        configuration: Arc::new(configuration),
        lock,
        chains: names,
        candidates,
        splits,
    }
}

/// Trees that are laid out anew get new ids as well.
fn forget_trees(program: &Program, engine: EngineId, lock: &mut Lock) {
    for section in &program.maps {
        for role in ["writers", "readers"] {
            let root = format!("{engine}.{}.{role}", section.address);
            lock.forget(&format!("rules.{root}#"));
            lock.forget(&format!("rules.{root}/"));
            lock.forget(&format!("flags.{root}/"));
        }
        lock.forget(&proxysql::shaped_name(engine, section));
    }
}

/// The prices of an engine whose patterns this library matches.
fn price(profile: &EngineProfile, regex: RegexEngine) -> Price {
    Price {
        evaluation_ns: profile.prices.evaluation_ns(regex),
        visit_ns: profile.prices.visit_ns,
        lookup_ns: profile.prices.lookup_ns,
    }
}

fn settings(project: &Project, engine: EngineId) -> EngineSettings {
    let name = match engine {
        EngineId::Bundled => EngineName::Bundled,
        EngineId::Proxysql27 => EngineName::ProxySql27,
        EngineId::Proxysql30 => EngineName::ProxySql30,
    };
    let mut settings = engine.profile().default_settings();
    if let Some(entry) = project.file.engines.iter().find(|entry| entry.name == name) {
        settings.query_processor_iterations = entry.iterations.unwrap_or(settings.query_processor_iterations);
        settings.regex = entry.regex.unwrap_or(settings.regex);
    }
    settings
}
