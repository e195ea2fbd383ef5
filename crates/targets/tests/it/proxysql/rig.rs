//! A ProxySQL, a state directory, and the steps of `plan` and `apply` on them.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use shardwright_plan::{ApplyReport, Outcome, Plan, Target, TargetPlan, Timestamp, apply};
use shardwright_rules::{Configuration, EngineId};
use shardwright_secrets::Secret;
use shardwright_targets::emit::Ownership;
use shardwright_targets::proxysql::{Identity, Journal};
use shardwright_targets::{AdminAddress, ProxySqlTarget, Timeouts};
use shardwright_testkit::{AdminPort, ProxySql, ProxySqlOptions, StandIn, TextRow, real_proxysql};
use tempfile::TempDir;

/// A ProxySQL and the directory of its runs.
pub(crate) struct Rig {
    pub(crate) proxysql: AdminPort,
    pub(crate) state: TempDir,
    runs: AtomicUsize,
}

impl Rig {
    /// A real ProxySQL, or the stand-in for its admin port where there is none. There always is one of them.
    pub(crate) fn start(_what: &str) -> Option<Self> {
        Some(Self::on(AdminPort::start()))
    }

    /// `None`, after a line that says so, where there is no real ProxySQL.
    pub(crate) fn start_real(left_out: &str) -> Option<Self> {
        let binary = real_proxysql(left_out)?;
        let proxysql = ProxySql::start(&binary, &ProxySqlOptions::default()).unwrap();
        Some(Self::on(AdminPort::Real(proxysql)))
    }

    pub(crate) fn stand_in() -> Self {
        Self::on(AdminPort::StandIn(StandIn::start().unwrap()))
    }

    fn on(proxysql: AdminPort) -> Self {
        Self {
            proxysql,
            state: tempfile::tempdir().unwrap(),
            runs: AtomicUsize::new(0),
        }
    }

    /// The engine of a rig that has a real one.
    pub(crate) fn real(&self) -> &ProxySql {
        self.proxysql.real().unwrap()
    }

    /// The target as a project sees it that owns everything.
    pub(crate) fn target(&self) -> ProxySqlTarget {
        self.target_of(Some("shop"), Ownership::default())
    }

    pub(crate) fn target_of(&self, project: Option<&str>, ownership: Ownership) -> ProxySqlTarget {
        let admin = self.proxysql.admin_address().to_string();
        self.target_at(&admin, project, ownership)
    }

    pub(crate) fn target_at(
        &self,
        admin: &str,
        project: Option<&str>,
        ownership: Ownership,
    ) -> ProxySqlTarget {
        let address = AdminAddress::parse(admin).unwrap();
        let password = Secret::new("admin".into());
        let base = self.state.path().to_owned();
        let mut target = ProxySqlTarget::new("px", EngineId::Proxysql27, address, "admin", password, base)
            .patient(Timeouts {
                connect: Duration::from_secs(20),
                answer: Duration::from_secs(60),
            });
        target.manage(project.map(str::to_owned), ownership);
        target.keep_runs(self.journal(), self.identity());
        target
    }

    pub(crate) fn journal(&self) -> Journal {
        Journal::new(self.state.path())
    }

    pub(crate) fn identity(&self) -> Identity {
        let number = self.runs.fetch_add(1, Ordering::Relaxed);
        Identity {
            run: format!("run-{number:04}"),
            by: "me@here".into(),
            at: "2026-11-25T12:00:00Z".into(),
            commit: None,
            is_uncommitted: false,
            apply: None,
            targets: Vec::new(),
        }
    }

    /// Applies a configuration that must be live afterwards.
    pub(crate) fn applied(&self, desired: &Configuration) -> ApplyReport {
        let mut target = self.target();
        let plan = plan(&mut target, desired, Some("shop"));
        let report = apply(&plan, &mut target);
        let is_live = matches!(report.outcome, Outcome::Applied | Outcome::Unchanged);
        assert!(is_live, "{report:#?}");
        report
    }

    /// Admin statements; the rows of all of them.
    pub(crate) fn run(&self, statements: &[&str]) -> Vec<TextRow> {
        self.proxysql.run(statements).unwrap()
    }

    /// The rows of a query as lines.
    pub(crate) fn lines(&self, query: &str) -> Vec<String> {
        let rows = self.run(&[query]);
        let cell = |cell: Option<String>| cell.unwrap_or_else(|| "NULL".to_owned());
        let lines = rows
            .into_iter()
            .map(|row| row.into_iter().map(cell).collect::<Vec<_>>().join(" "));
        lines.collect()
    }
}

/// What `plan` makes, with what the target does about rows that others have staged.
pub(crate) fn plan(target: &mut ProxySqlTarget, desired: &Configuration, project: Option<&str>) -> Plan {
    let observed = target.observe().unwrap();
    let assessment = target.assess(&observed, desired).unwrap();
    let part = TargetPlan::assessed("px", &observed, desired, assessment, Vec::new())
        .taking_staged(target.staged())
        .for_project(project);
    let hour = Duration::from_secs(3600);
    let parts = vec![(part, std::sync::Arc::new(desired.clone()))];
    Plan::new(None, Timestamp::UNIX_EPOCH, hour, None, parts)
}

/// The effects of a plan, one line for each.
pub(crate) fn effects(plan: &Plan) -> String {
    let view = shardwright_plan::render::View {
        now: Timestamp::UNIX_EPOCH,
        origin: &|_| None,
        refusals: None,
        directory: None,
        full: true,
        color: false,
    };
    let text = shardwright_plan::render::text(plan, &view);
    // The first line has digests, and what stands about safety ends with one.
    let lines = text.lines().skip(1);
    let without = |line: &str| line.split("; effects ").next().unwrap_or_default().to_owned();
    lines.map(|line| without(line) + "\n").collect()
}
