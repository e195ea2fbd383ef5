//! The rules that are measured: none, a flat list and a compiled tree, as the product writes them for the admin port.

use std::net::SocketAddr;

use serde::Serialize;
use shardwright_compiler::Options;
use shardwright_rules::{EngineId, RegexEngine};
use shardwright_targets::emit::{self, PLACEHOLDER_PASSWORD};

use super::BenchError;
use crate::shards::{Keys, compiled_from, one_cluster_files};

/// Who the statements come from; the projects of [`crate::shards`] name the user, and the schema like it.
pub(super) const USER: &str = "app";
pub(super) const PASSWORD: &str = "bench";
const ENGINE: EngineId = EngineId::Proxysql27;

/// How the rules of a set are laid out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Layout {
    /// No rules: what the proxy takes anyway.
    Empty,
    /// A rule for each shard, one behind the other.
    Flat,
    /// What the compiler makes.
    Tree,
}

impl Layout {
    pub(super) const ALL: [Self; 3] = [Self::Empty, Self::Flat, Self::Tree];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Empty => "empty",
            Self::Flat => "flat",
            Self::Tree => "tree",
        }
    }
}

/// Rules with what a statement with a known key costs by them.
#[derive(Clone, Debug)]
pub(super) struct RuleSet {
    pub(super) layout: Layout,
    pub(super) shards: u32,
    /// Rules of the configuration.
    pub(super) rules: usize,
    /// Patterns evaluated, mean over keys.
    pub(super) evaluations: f64,
    /// Rules looked at, mean over keys.
    pub(super) visits: f64,
    /// By the prices of the profile.
    pub(super) expected_ns: f64,
    /// For the admin port.
    pub(super) script: String,
}

/// The rules of `shards` shards found by a comment, all on the server at `backend`: one hostgroup, so that every
/// statement finds the same connection and sets differ by their rules alone.
pub(super) fn rule_set(
    layout: Layout,
    shards: u32,
    backend: SocketAddr,
    regex: RegexEngine,
) -> Result<RuleSet, BenchError> {
    let [(project_path, project), (topology_path, topology)] = one_cluster_files(shards, Keys::Single);
    let project = match regex {
        RegexEngine::Pcre => project,
        RegexEngine::Re2 => project.replace("proxysql-2.7]", "{engine: proxysql-2.7, regex: re2}]"),
    };
    let topology = topology.replace(
        "{host: one.db}",
        &format!("{{host: {}, port: {}}}", backend.ip(), backend.port()),
    );
    let laid_out = match layout {
        Layout::Empty => Layout::Flat,
        Layout::Flat | Layout::Tree => layout,
    };
    // Each shard has its rule, although one server has them all.
    let forced = format!(
        "    rule_layout: {}\n    count_hits_by: shard\n    key:",
        laid_out.name()
    );
    let topology = topology.replace("    key:", &forced);
    let files = [(project_path, project), (topology_path, topology)];
    let compiled = compiled_from(files, ENGINE, &Options::default());
    let script = emit::sql(&compiled.configuration).map_err(|error| BenchError::Output {
        what: format!("writing {shards} shards for {ENGINE}"),
        output: error.to_string(),
    })?;
    let script = script.replace(PLACEHOLDER_PASSWORD, PASSWORD);
    if layout == Layout::Empty {
        return Ok(RuleSet {
            layout,
            shards,
            rules: 0,
            evaluations: 0.0,
            visits: 0.0,
            expected_ns: 0.0,
            script: without_rules(&script),
        });
    }
    let stats = &compiled.stats.shard_maps["tenants"];
    assert_eq!(stats.layout, layout.name(), "the layout is forced");
    Ok(RuleSet {
        layout,
        shards,
        rules: compiled.configuration.graph.rules.len(),
        evaluations: stats.mean_evaluations,
        visits: stats.mean_visits,
        expected_ns: stats.mean_cost_ns,
        script,
    })
}

/// The script without its rules: the variables that these need stay, since they change what any statement takes.
fn without_rules(script: &str) -> String {
    let lines = script.split_inclusive('\n');
    lines
        .filter(|line| !line.starts_with("INSERT INTO mysql_query_rules"))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use insta::assert_snapshot;

    fn set(layout: Layout, regex: RegexEngine) -> RuleSet {
        rule_set(layout, 200, "127.0.0.1:4006".parse().unwrap(), regex).unwrap()
    }

    #[test]
    fn sets_differ_by_their_rules_alone() {
        let [empty, flat, tree] = Layout::ALL.map(|layout| set(layout, RegexEngine::Pcre));
        assert_eq!((empty.rules, empty.evaluations, empty.visits), (0, 0.0, 0.0));
        assert!(
            flat.rules >= 200 && tree.rules >= 200,
            "{} {}",
            flat.rules,
            tree.rules
        );
        // A list is read to its middle; a tree is not, but its rules are looked at.
        assert!(
            flat.evaluations > 100.0 && flat.evaluations < 110.0,
            "{}",
            flat.evaluations
        );
        assert!(
            tree.evaluations < 14.0 && tree.visits > 100.0,
            "{} {}",
            tree.evaluations,
            tree.visits
        );
        assert!(tree.expected_ns < flat.expected_ns);
        let others = |set: &RuleSet| -> Vec<String> {
            let of_rules = |line: &&str| line.starts_with("INSERT INTO mysql_query_rules");
            let is_comment = |line: &&str| line.starts_with("--");
            let lines = set
                .script
                .lines()
                .filter(|line| !of_rules(line) && !is_comment(line));
            lines.map(str::to_owned).collect()
        };
        assert_eq!(others(&empty), others(&flat));
        assert_eq!(others(&empty), others(&tree));
        let inserts: Vec<&str> = empty
            .script
            .lines()
            .filter(|line| line.starts_with("INSERT") || line.starts_with("SET"))
            .collect();
        assert_snapshot!(inserts.join("\n"), @r#"
        SET mysql-query_processor_iterations='0';
        SET mysql-query_processor_regex='1';
        INSERT INTO mysql_servers (hostgroup_id, hostname, port, status, weight, max_connections, max_replication_lag, use_ssl, comment) VALUES (1000, '127.0.0.1', 4006, 'ONLINE', 1, 1000, 0, 0, 'clusters.one.servers.db');
        INSERT INTO mysql_servers (hostgroup_id, hostname, port, max_connections, comment) VALUES (548347, '127.0.0.1', 6032, 100, 'refuses by the admin port: SW361: the statement ends inside a literal or a comment, or has a NUL byte in one; write a NUL byte as \0');
        INSERT INTO mysql_servers (hostgroup_id, hostname, port, max_connections, comment) VALUES (1622474, '127.0.0.1', 6032, 100, 'refuses by the admin port: SW357: engine annotations such as /* hostgroup=5 */ are refused; users.NAME.annotations: allow obeys them');
        INSERT INTO mysql_servers (hostgroup_id, hostname, port, max_connections, comment) VALUES (1405631, '127.0.0.1', 6032, 100, 'refuses by the admin port: SW359: BEGIN has no shard key: shard map tenants needs tenant; write /* tenant=VALUE */');
        INSERT INTO mysql_servers (hostgroup_id, hostname, port, max_connections, comment) VALUES (678319, '127.0.0.1', 6032, 100, 'refuses by the admin port: SW351: no shard key: shard map tenants needs tenant; write /* tenant=VALUE */');
        INSERT INTO mysql_servers (hostgroup_id, hostname, port, max_connections, comment) VALUES (1995741, '127.0.0.1', 6032, 100, 'refuses by the admin port: SW353: more than one shard key: shard map tenants takes one tenant a statement');
        INSERT INTO mysql_servers (hostgroup_id, hostname, port, max_connections, comment) VALUES (337530, '127.0.0.1', 6032, 100, 'refuses by the admin port: SW352: unknown shard key: shard map tenants has no tenant');
        INSERT INTO mysql_users (username, password, active, default_hostgroup, default_schema, transaction_persistent, max_connections, comment) VALUES ('app', 'bench', 1, 1000, 'app', 1, 10000, 'users.app');
        "#);
    }

    #[test]
    fn the_library_that_matches_is_part_of_the_script() {
        for (regex, value) in [(RegexEngine::Pcre, "1"), (RegexEngine::Re2, "2")] {
            let tree = set(Layout::Tree, regex);
            let line = format!("SET mysql-query_processor_regex='{value}';");
            assert!(tree.script.lines().any(|found| found == line), "{}", tree.script);
        }
    }
}
