//! Rules in evaluation order, and the rows of fast routing.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::{Address, DelayStep, EngineRule, HostgroupId, MapStep, RoleStep, Scope, Throttle};

/// The rules of a configuration. Evaluation starts at flag 0 with the lowest id and only considers rules whose
/// `flag_in` is the current flag.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RuleGraph {
    /// Active rules in ascending order of id; ids are unique.
    pub rules: Vec<Rule>,
    /// Rows of `mysql_query_rules_fast_routing`, sorted by user, schema and flag; looked up after the rules.
    pub fast_routing: Vec<FastRoute>,
}

impl RuleGraph {
    /// The shard maps among the rules; only the bundled engine has them as steps.
    pub fn maps(&self) -> impl Iterator<Item = &MapStep> {
        self.rules.iter().filter_map(Rule::map)
    }
}

/// One rule of a chain.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rule {
    /// `rule_id`: the order of evaluation, and the name of its hit counter.
    pub id: u32,
    /// The object of the topology that it came from.
    pub address: Address,
    /// The shards that it decides, where its address is not that of one: they lie on one cluster.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub shards: Vec<Address>,
    /// What it decides, in a few words: which keys, or what it looks for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<String>,
    /// The chain that it is part of.
    pub flag_in: u32,
    /// What it tests and does.
    pub body: Body,
}

impl Rule {
    /// The comment of its row: what the user wrote, or where it came from and what it decides.
    pub fn comment(&self) -> String {
        if let Body::Engine(row) = &self.body
            && let Some(written) = &row.comment
        {
            return written.clone();
        }
        match &self.summary {
            Some(summary) => format!("{}: {summary}", self.address),
            None => self.address.to_string(),
        }
    }

    /// The map that it is a step of.
    pub fn map(&self) -> Option<&MapStep> {
        match &self.body {
            Body::Native {
                step: NativeStep::Map(map),
                ..
            } => Some(map),
            Body::Native { .. } | Body::Engine(_) => None,
        }
    }

    /// The shards that it decides.
    pub fn decided_shards(&self) -> impl Iterator<Item = &Address> {
        let own = Some(&self.address).filter(|address| address.is_shard());
        own.into_iter().chain(&self.shards)
    }
}

/// What a rule tests and does.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Body {
    /// A row of `mysql_query_rules`.
    Engine(Box<EngineRule>),
    /// A step that only the bundled engine has; it is taken by the statements of its scope.
    Native {
        /// The statements that the step is about.
        scope: Box<Scope>,
        /// The step.
        step: NativeStep,
    },
}

/// What only the bundled engine can do. Steps accumulate: placement, then role, then effects, until
/// [`NativeStep::StopIfPlaced`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NativeStep {
    /// Finds a key and places the statement by it.
    Map(Box<MapStep>),
    /// Sends provable reads to the readers of the cluster that the statement was placed on.
    Role(Box<RoleStep>),
    /// Delays the statement.
    Delay(DelayStep),
    /// Slows the statement as long as a signal or a limit asks for it.
    Throttle(Arc<Throttle>),
    /// Keeps the backend connection with the session.
    NoMultiplex,
    /// Ends the evaluation of a statement that a map or a policy has placed, and of users who only read; the user's raw rules
    /// after it and the default hostgroup are for the others.
    StopIfPlaced,
}

impl NativeStep {
    /// What people call it.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Map(_) => "map",
            Self::Role(_) => "role",
            Self::Delay(_) => "delay",
            Self::Throttle(_) => "throttle",
            Self::NoMultiplex => "no_multiplex",
            Self::StopIfPlaced => "stop_if_placed",
        }
    }
}

/// A row of `mysql_query_rules_fast_routing`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FastRoute {
    /// User name; empty: every user that has no row of its own for the schema and flag.
    pub username: String,
    /// Session schema, exact.
    pub schemaname: String,
    /// The flag at the end of the rules.
    pub flag_in: u32,
    /// Where the statement goes.
    pub hostgroup: HostgroupId,
    /// The object of the topology that it came from.
    pub address: Address,
}
