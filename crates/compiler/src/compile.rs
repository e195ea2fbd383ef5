//! A compilation in its steps: what the topology says, rules in order by what was planned for each map, numbers.

use std::collections::BTreeMap;
use std::sync::Arc;

use shardwright_ids::Lock;
use shardwright_layout::{KEPT, Price};
use shardwright_rules::{
    Configuration, EngineId, EngineProfile, EngineSettings, FORMAT_VERSION, RefusingHostgroup, RegexEngine,
    RuleGraph,
};
use shardwright_topology::model::{EngineName, Project};

use crate::diagnostics::Diagnostics;
use crate::explain::{CandidateCost, Splits};
use crate::lowered::Lowered;
use crate::map_plans::{self, MapPlan, PlanInput, shaped_name, split_name};
use crate::numbering::Numbered;
use crate::program::{self, Program};
use crate::statement_patterns::Wording;
use crate::stats::{self, Stats, TreeRules};
use crate::{Compiled, Options, bundled, proxysql};

/// Compiles a project for one engine. Ids that `lock` remembers stay.
pub fn compile(project: &Project, engine: EngineId, lock: &Lock, options: &Options) -> Compiled {
    let settings = options.settings.unwrap_or_else(|| settings(project, engine));
    let compilation = Compilation {
        project,
        engine,
        settings,
        price: price(engine.profile(), settings.regex),
        counted: lock,
        options,
    };
    let mut lock = lock.clone();
    let mut report = Diagnostics::new(engine, project);
    let program = compilation.read(&mut lock, &mut report);
    let plans = compilation.plan(&program, &mut lock, &mut report);
    let lowered = compilation.lower(&program, &plans, &mut report);
    compilation.number(program, &plans, lowered, lock, report)
}

/// What a compilation is asked for.
struct Compilation<'c> {
    project: &'c Project,
    engine: EngineId,
    settings: EngineSettings,
    price: Price,
    /// The lock before the compilation: hit counters name its rules.
    counted: &'c Lock,
    options: &'c Options,
}

impl Compilation<'_> {
    /// The topology in the words of `rules`; hostgroups have their numbers.
    fn read(&self, lock: &mut Lock, report: &mut Diagnostics<'_>) -> Program {
        program::patterns::check(&self.project.topology, self.settings.regex, report);
        Program::of(self.project, lock, report)
    }

    fn wording(&self) -> Wording {
        Wording {
            possessive: self.engine != EngineId::Bundled && self.settings.regex == RegexEngine::Pcre,
        }
    }

    /// How each map is laid out; the lock notes which trees traffic has shaped.
    fn plan(&self, program: &Program, lock: &mut Lock, report: &mut Diagnostics<'_>) -> Vec<MapPlan> {
        if self.options.reshape {
            forget_trees(program, self.engine, lock);
        }
        let planning = PlanInput {
            price: self.price,
            wording: self.wording(),
            lock,
            counted: self.counted,
            traffic: self.options.traffic.as_deref(),
        };
        let topology = &self.project.topology;
        let plans = match self.engine {
            EngineId::Bundled => bundled::plans(program, topology, planning, report),
            EngineId::Proxysql27 | EngineId::Proxysql30 => {
                map_plans::plans(program, topology, planning, report)
            }
        };
        for (section, plan) in program.maps.iter().zip(&plans) {
            let is_new = |plan: &MapPlan| plan.candidates.first().is_some_and(|chosen| chosen.name != KEPT);
            if plan.weights.hits().is_some() && is_new(plan) {
                lock.set(shaped_name(self.engine, section), 1);
            }
            if let Some(behind) = plan.splits_behind {
                lock.set(split_name(self.engine, section), u32::from(behind));
            }
        }
        plans
    }

    /// The engine's rules in order.
    fn lower(&self, program: &Program, plans: &[MapPlan], report: &mut Diagnostics<'_>) -> Lowered {
        let origins = &self.project.origins;
        match self.engine {
            EngineId::Bundled => bundled::lower(program, plans, origins, self.price, report),
            EngineId::Proxysql27 | EngineId::Proxysql30 => {
                let facts = proxysql::EngineFacts {
                    regex: self.settings.regex,
                    price: self.price,
                    first_id: *self.project.file.ids.rules.start(),
                };
                proxysql::lower(program, plans, origins, facts, report)
            }
        }
    }

    /// Ids, flags and the hostgroups that refuse; and figures of the result.
    fn number(
        &self,
        mut program: Program,
        plans: &[MapPlan],
        lowered: Lowered,
        mut lock: Lock,
        mut report: Diagnostics<'_>,
    ) -> Compiled {
        let (topology, ids) = (&self.project.topology, &self.project.file.ids);
        let Lowered {
            sequence,
            draft,
            reasons,
            outputs,
            reference_users,
        } = lowered;
        let written = proxysql::refusing_hostgroups::written(&program, &mut report);
        let taken = program.hostgroups.iter().map(|hostgroup| hostgroup.id);
        let taken = taken.chain(written.iter().map(|hostgroup| hostgroup.id));
        let mut refusing =
            proxysql::refusing_hostgroups::hostgroups(&reasons, topology, ids, taken, &mut lock, &mut report);
        // Rules name those that are compiled by their places.
        refusing.extend(written);
        let numbered = sequence.number(&draft, ids, &mut lock, &refusing, &mut report);
        let mut chains = BTreeMap::from([(0, "start".to_owned())]);
        let flags = numbered.flags.iter();
        chains.extend(flags.map(|(&chain, &flag)| (flag, draft.get(chain).name.clone())));
        let names = program.maps.iter().map(|map| map.step.map.clone());
        let candidates = names.zip(plans.iter().map(CandidateCost::of_plan));
        let candidates = candidates.collect();
        let splits = outputs.splits.iter().map(|(&map, compared)| {
            let name = program.maps[map].step.map.clone();
            (name, Splits::of(compared, self.engine))
        });
        let splits = splits.collect();
        let Numbered {
            graph,
            flags,
            tree_rules,
        } = numbered;
        let configuration = self.configuration(&mut program, graph, refusing, &mut report);
        let measured = stats::Measured {
            program: &program,
            plans,
            outputs: &outputs,
            reference_users: &reference_users,
            configuration: &configuration,
            trees: TreeRules { flags, tree_rules },
            price: self.price,
        };
        let maps = measured.maps();
        Compiled {
            stats: Stats::of(&configuration, maps),
            problems: report.problems,
            configuration: Arc::new(configuration),
            lock,
            chains,
            candidates,
            splits,
        }
    }

    /// Takes what the configuration holds out of the program; sections stay.
    fn configuration(
        &self,
        program: &mut Program,
        graph: RuleGraph,
        refusing: Vec<RefusingHostgroup>,
        report: &mut Diagnostics<'_>,
    ) -> Configuration {
        let firewall = proxysql::firewall::rows(program, &graph, report);
        proxysql::refusing_hostgroups::report_silent_refusals(&self.project.topology, &refusing, report);
        let globals = &mut program.globals;
        Configuration {
            format: FORMAT_VERSION,
            engine: self.engine,
            settings: self.settings,
            variables: std::mem::take(&mut globals.variables),
            listeners: std::mem::take(&mut globals.listeners),
            monitor: globals.monitor.clone(),
            clusters: std::mem::take(&mut program.clusters),
            hostgroups: std::mem::take(&mut program.hostgroups),
            refusing,
            users: std::mem::take(&mut program.users),
            graph,
            firewall,
        }
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
        lock.forget(&shaped_name(engine, section));
        lock.forget(&split_name(engine, section));
        lock.forget(&format!("flags.{engine}.{}.schemas.readers", section.address));
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

/// The settings of the project file, or the engine's defaults.
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
