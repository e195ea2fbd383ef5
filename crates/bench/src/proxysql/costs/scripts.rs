//! Rule sets as statements of the admin port.

use shardwright_compiler::{Lock, Options, compile};
use shardwright_rules::{Configuration, EngineId};
use shardwright_targets::emit;
use shardwright_topology::model::Project;

use super::HOSTGROUP;
use super::cases::{Made, RuleSet};
use crate::BenchError;

/// A compiled project: its configuration, and the empty and the compiled set.
pub(super) struct Emitted {
    pub(super) configuration: Configuration,
    pub(super) sets: Vec<RuleSet>,
}

/// Compiles a project for ProxySQL.
pub(super) fn emitted(project: &Project, name: &str) -> Result<Emitted, BenchError> {
    let compiled = compile(
        project,
        EngineId::Proxysql27,
        &Lock::default(),
        &Options::default(),
    );
    if compiled.problems.has_errors() {
        return Err(BenchError::Output {
            what: format!("{name} does not compile"),
            output: format!("{:?}", compiled.problems.sorted()),
        });
    }
    let configuration = (*compiled.configuration).clone();
    let script = emit::sql(&configuration).map_err(|error| BenchError::Output {
        what: format!("writing the rules of {name}"),
        output: error.to_string(),
    })?;
    let compiled = RuleSet {
        made: Made::Compiled,
        rules: configuration.graph.rules.len(),
        statements: statements(&script, &configuration),
    };
    Ok(Emitted {
        sets: vec![empty_like(&compiled), compiled],
        configuration,
    })
}

/// The set without rules: variables and users stay, since they change what any statement takes.
fn empty_like(set: &RuleSet) -> RuleSet {
    let is_rule = |statement: &&String| statement.contains(" INTO mysql_query_rules");
    RuleSet {
        made: Made::Empty,
        rules: 0,
        statements: set
            .statements
            .iter()
            .filter(|statement| !is_rule(statement))
            .cloned()
            .collect(),
    }
}

/// Rules, users and the variables of the query processor, of which every statement is one line; then all hostgroups of
/// clusters become one, and everybody may log in.
fn statements(script: &str, configuration: &Configuration) -> Vec<String> {
    let lines = script
        .lines()
        .filter_map(|line| line.strip_suffix(';'))
        .filter(|line| {
            let is_row = line.contains(" INTO mysql_users") || line.contains(" INTO mysql_query_rules");
            is_row || line.starts_with("SET mysql-query_processor")
        });
    let refusing: Vec<String> = configuration
        .refusing
        .iter()
        .map(|hostgroup| hostgroup.id.to_string())
        .collect();
    let refusing = refusing.join(", ");
    let merged = [
        format!(
            "UPDATE mysql_query_rules SET destination_hostgroup={HOSTGROUP} \
             WHERE destination_hostgroup IS NOT NULL AND destination_hostgroup NOT IN ({refusing})"
        ),
        format!(
            "UPDATE mysql_query_rules SET mirror_hostgroup={HOSTGROUP} WHERE mirror_hostgroup IS NOT NULL"
        ),
        format!("UPDATE mysql_query_rules_fast_routing SET destination_hostgroup={HOSTGROUP}"),
        format!("UPDATE mysql_users SET password='', default_hostgroup={HOSTGROUP}, max_connections=10000"),
    ];
    lines.map(str::to_owned).chain(merged).collect()
}
