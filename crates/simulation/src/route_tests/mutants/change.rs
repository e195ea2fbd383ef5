//! The changes themselves, and those of engine rules.

use shardwright_rules::{Body, Configuration, EngineRule, FastRoute, HostgroupId, NativeStep, Rule};

use super::{Mutant, native::StepChange};

/// One change of a configuration; positions are those of its rules.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Change {
    /// A rule is gone.
    Drop(usize),
    /// Two rules have exchanged their places.
    Swap(usize, usize),
    /// `apply` is the other.
    FlipApply(usize),
    /// A condition of a row is gone.
    Without(usize, Condition),
    /// A pattern has lost its anchor.
    Unanchored(usize, Condition),
    /// The statement goes elsewhere.
    Hostgroup(usize, u32),
    /// A row of fast routing is gone.
    DropRow(usize),
    /// A row of fast routing leads elsewhere.
    RowHostgroup(usize, u32),
    /// A step of the bundled engine does something else.
    Step(usize, StepChange),
    /// A user who only reads does everything.
    MayWrite(usize),
}

/// A condition of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Condition {
    Username,
    Schemaname,
    ClientAddr,
    Digest,
    MatchDigest,
    MatchPattern,
}

impl Condition {
    const ALL: [(Self, &'static str); 6] = [
        (Self::Username, "username"),
        (Self::Schemaname, "schemaname"),
        (Self::ClientAddr, "client_addr"),
        (Self::Digest, "digest"),
        (Self::MatchDigest, "match_digest"),
        (Self::MatchPattern, "match_pattern"),
    ];

    fn is_given(self, row: &EngineRule) -> bool {
        match self {
            Self::Username => row.username.is_some(),
            Self::Schemaname => row.schemaname.is_some(),
            Self::ClientAddr => row.client_addr.is_some(),
            Self::Digest => row.digest.is_some(),
            Self::MatchDigest => row.match_digest.is_some(),
            // A replacement needs its pattern.
            Self::MatchPattern => row.match_pattern.is_some() && row.replace_pattern.is_none(),
        }
    }

    fn pattern(self, row: &mut EngineRule) -> Option<&mut String> {
        match self {
            Self::MatchDigest => row.match_digest.as_mut(),
            Self::MatchPattern => row.match_pattern.as_mut(),
            _ => None,
        }
    }

    fn remove(self, row: &mut EngineRule) {
        match self {
            Self::Username => row.username = None,
            Self::Schemaname => row.schemaname = None,
            Self::ClientAddr => row.client_addr = None,
            Self::Digest => row.digest = None,
            Self::MatchDigest => row.match_digest = None,
            Self::MatchPattern => row.match_pattern = None,
        }
    }
}

/// The changes of an engine rule.
pub(super) fn of_row(
    configuration: &Configuration,
    position: usize,
    row: &EngineRule,
    add: &mut impl FnMut(Change, String),
) {
    let id = configuration.graph.rules[position].id;
    add(Change::Drop(position), format!("rule {id} is removed"));
    let apply = if row.apply { "does not apply" } else { "applies" };
    add(Change::FlipApply(position), format!("rule {id} {apply}"));
    for (condition, name) in Condition::ALL {
        if condition.is_given(row) {
            add(
                Change::Without(position, condition),
                format!("rule {id} has no condition {name}"),
            );
        }
        let anchored = condition
            .pattern(&mut row.clone())
            .is_some_and(|text| text.starts_with('^'));
        if anchored && condition.is_given(row) {
            add(
                Change::Unanchored(position, condition),
                format!("{name} of rule {id} matches anywhere"),
            );
        }
    }
    if let Some(hostgroup) = row.destination_hostgroup
        && let Some(other) = another(configuration, hostgroup)
    {
        add(
            Change::Hostgroup(position, other),
            format!("rule {id} sends to hostgroup {other} instead of {hostgroup}"),
        );
    }
}

/// The changes of users.
pub(super) fn of_users(configuration: &Configuration, found: &mut Vec<Mutant>) {
    let users = configuration.users.iter().enumerate();
    found.extend(
        users
            .filter(|(_, user)| user.reads_only)
            .map(|(position, user)| Mutant {
                change: Change::MayWrite(position),
                address: user.address.clone(),
                rule_ids: Vec::new(),
                what: format!("user {} does more than read", user.name),
            }),
    );
}

/// The changes of fast routing.
pub(super) fn of_fast_routing(configuration: &Configuration, found: &mut Vec<Mutant>) {
    for (position, row) in configuration.graph.fast_routing.iter().enumerate() {
        let named = name_of(row);
        let mut add = |change: Change, what: String| {
            found.push(Mutant {
                change,
                address: row.address.clone(),
                rule_ids: Vec::new(),
                what,
            });
        };
        add(
            Change::DropRow(position),
            format!("fast routing of {named} is removed"),
        );
        if let Some(other) = another(configuration, row.hostgroup.0) {
            add(
                Change::RowHostgroup(position, other),
                format!(
                    "fast routing of {named} goes to hostgroup {other} instead of {}",
                    row.hostgroup
                ),
            );
        }
    }
}

fn name_of(row: &FastRoute) -> String {
    let user = if row.username.is_empty() {
        "everybody"
    } else {
        &row.username
    };
    format!("{user} in schema {}", row.schemaname)
}

/// A hostgroup of another cluster; with one cluster, its other one.
pub(super) fn another(configuration: &Configuration, hostgroup: u32) -> Option<u32> {
    let all = configuration
        .clusters
        .iter()
        .flat_map(|cluster| [Some(cluster.writer), cluster.reader]);
    let all: Vec<HostgroupId> = all.flatten().filter(|id| id.0 != hostgroup).collect();
    let own = configuration
        .cluster_of(HostgroupId(hostgroup))
        .map(|cluster| &cluster.name);
    let elsewhere = all
        .iter()
        .find(|id| configuration.cluster_of(**id).map(|cluster| &cluster.name) != own);
    elsewhere.or(all.first()).map(|id| id.0)
}

impl Change {
    pub(super) fn apply(&self, configuration: &mut Configuration) {
        let graph = &mut configuration.graph;
        match self {
            Self::Drop(position) => {
                graph.rules.remove(*position);
            }
            Self::Swap(one, other) => exchange(&mut graph.rules, *one, *other),
            Self::FlipApply(position) => on_row(&mut graph.rules, *position, |row| row.apply = !row.apply),
            Self::Without(position, condition) => {
                on_row(&mut graph.rules, *position, |row| condition.remove(row));
            }
            Self::Unanchored(position, condition) => on_row(&mut graph.rules, *position, |row| {
                if let Some(text) = condition.pattern(row) {
                    text.remove(0);
                }
            }),
            Self::Hostgroup(position, other) => {
                on_row(&mut graph.rules, *position, |row| {
                    row.destination_hostgroup = Some(*other)
                });
            }
            Self::DropRow(position) => {
                graph.fast_routing.remove(*position);
            }
            Self::RowHostgroup(position, other) => {
                graph.fast_routing[*position].hostgroup = HostgroupId(*other)
            }
            Self::Step(position, change) => change.apply(&mut graph.rules[*position].body),
            Self::MayWrite(user) => configuration.users[*user].reads_only = false,
        }
    }

    /// Positions of the rules without whose match nothing changes; none where that cannot be said.
    pub(super) fn concerns(&self) -> Option<Vec<usize>> {
        match self {
            Self::Drop(position) | Self::FlipApply(position) | Self::Hostgroup(position, _) => {
                Some(vec![*position])
            }
            // A rule between them can jump to where one of them was.
            Self::Swap(one, other) if *other == one + 1 => Some(vec![*one, *other]),
            Self::Swap(..)
            | Self::Without(..)
            | Self::Unanchored(..)
            | Self::DropRow(_)
            | Self::RowHostgroup(..)
            | Self::Step(..)
            | Self::MayWrite(_) => None,
        }
    }

    /// Whether it plainly changes nothing: an `apply` behind which no rule of the chain and no fast routing comes, two
    /// steps of which neither sees what the other did.
    pub(super) fn is_idle(&self, configuration: &Configuration) -> bool {
        let graph = &configuration.graph;
        match self {
            Self::FlipApply(position) => {
                let rule = &graph.rules[*position];
                let Body::Engine(row) = &rule.body else {
                    return false;
                };
                let goes_on = graph.rules[position + 1..]
                    .iter()
                    .any(|other| other.flag_in == rule.flag_in);
                let jumps = row.flag_out.is_some() || !row.flag_outs.is_empty();
                !goes_on && !jumps && graph.fast_routing.is_empty() && configuration.firewall.is_empty()
            }
            Self::Swap(one, other) => {
                let adds = |rule: &Rule| {
                    matches!(
                        &rule.body,
                        Body::Native {
                            step: NativeStep::Delay(_) | NativeStep::Throttle(_) | NativeStep::NoMultiplex,
                            ..
                        }
                    )
                };
                let between = &graph.rules[one + 1..*other];
                let flag = graph.rules[*one].flag_in;
                adds(&graph.rules[*one])
                    && adds(&graph.rules[*other])
                    && between.iter().all(|rule| rule.flag_in != flag)
            }
            _ => false,
        }
    }
}

/// The bodies and origins change places, and the ids, which are the order, stay.
fn exchange(rules: &mut [Rule], one: usize, other: usize) {
    rules.swap(one, other);
    let id = rules[one].id;
    rules[one].id = rules[other].id;
    rules[other].id = id;
}

fn on_row(rules: &mut [Rule], position: usize, change: impl FnOnce(&mut EngineRule)) {
    if let Body::Engine(row) = &mut rules[position].body {
        change(row);
    }
}
