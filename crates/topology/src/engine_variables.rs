//! The variables of ProxySQL 2.7: which there are, what they take and start as, and which belong to other parts of a
//! project.

use shardwright_tables::NodeVariable;

/// One line per variable: its name, `boolean`, `text`, or the least and most of an integer, and ` = ` with its default.
const PROXYSQL_27: &str = include_str!("../data/proxysql-2.7-variables.txt");

/// What stands between what a variable takes and its default.
const DEFAULT: &str = " =";

/// What a variable takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shape {
    /// `true` or `false`.
    Boolean,
    /// Any text.
    Text,
    /// An integer, both ends included.
    Integer {
        /// The least.
        least: i64,
        /// The most.
        most: i64,
    },
}

/// Why a variable is not for `engine_settings`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Kept {
    /// What relies on its value.
    pub(crate) why: &'static str,
    /// Where to say it, or what to do.
    pub(crate) instead: &'static str,
}

const DIGESTS: Kept = Kept {
    why: "compiled rules rely on the digest text that its default gives",
    instead: "it keeps its default",
};
const COMPILED: Kept = Kept {
    why: "rules are compiled for its value",
    instead: "write `iterations` or `regex` in the entry of the engine under `engines` in shardwright.yaml",
};
const CREDENTIALS: Kept = Kept {
    why: "a password would be readable here and in every plan",
    instead: "set it on the proxy itself",
};
const MONITOR: Kept = Kept {
    why: "the section `monitor` sets this account and keeps its password a reference",
    instead: "write `monitor: {user: NAME, password: {env: NAME}}`",
};

const FIREWALL: Kept = Kept {
    why: "the section `firewall` sets what users may send",
    instead: "write `firewall: {USER: {mode: protecting, allow: {file: PATH}}}`",
};

/// What the rest of a project decides.
const KEPT: [(&str, Kept); 26] = [
    ("mysql-query_processor_iterations", COMPILED),
    ("mysql-query_processor_regex", COMPILED),
    ("mysql-query_digests", DIGESTS),
    ("mysql-query_digests_lowercase", DIGESTS),
    ("mysql-query_digests_replace_null", DIGESTS),
    ("mysql-query_digests_no_digits", DIGESTS),
    ("mysql-query_digests_keep_comment", DIGESTS),
    ("mysql-query_digests_normalize_digest_text", DIGESTS),
    ("mysql-query_digests_grouping_limit", DIGESTS),
    ("mysql-query_digests_groups_grouping_limit", DIGESTS),
    ("mysql-query_digests_max_query_length", DIGESTS),
    ("mysql-query_digests_max_digest_length", DIGESTS),
    (
        "mysql-set_query_lock_on_hostgroup",
        Kept {
            why: "it keeps a session on one hostgroup when ProxySQL cannot track its state; without it, the next statement follows the rules and loses user variables, temporary tables and locks",
            instead: "remove it: it keeps its default, 1",
        },
    ),
    (
        "mysql-enforce_autocommit_on_reads",
        Kept {
            why: "with it, a read under autocommit=0 opens its transaction on a reader, and writes follow it there",
            instead: "remove it: it keeps its default, false",
        },
    ),
    ("mysql-monitor_username", MONITOR),
    ("mysql-monitor_password", MONITOR),
    (
        "mysql-monitor_replication_lag_use_percona_heartbeat",
        Kept {
            why: "the same table says for every engine how far replicas are behind",
            instead: "write `heartbeat` in `monitor`",
        },
    ),
    (
        "mysql-monitor_enabled",
        Kept {
            why: "clusters need the monitor, which sets the roles of their servers",
            instead: "to set roles with another tool, write `roles_by: external` in the cluster",
        },
    ),
    (
        "mysql-monitor_writer_is_also_reader",
        Kept {
            why: "each cluster sets whether its writer answers reads",
            instead: "write `writer_serves_reads` in the cluster",
        },
    ),
    (
        "mysql-monitor_slave_lag_when_null",
        Kept {
            why: "a replica with stopped replication must exceed every `max_replication_lag`",
            instead: "remove it: its value comes from the limits of the servers",
        },
    ),
    (
        "mysql-interfaces",
        Kept {
            why: "the section `listeners` sets the ports, and rules refer to it",
            instead: "write `listeners: {rw: {port: 6033, address: 0.0.0.0}}`",
        },
    ),
    ("mysql-firewall_whitelist_enabled", FIREWALL),
    ("mysql-firewall_whitelist_errormsg", FIREWALL),
    ("admin-admin_credentials", CREDENTIALS),
    ("admin-stats_credentials", CREDENTIALS),
    ("admin-cluster_password", CREDENTIALS),
];

/// The address of the admin port. Hostgroups that refuse lead there, so a project may say where it is.
const ADMIN_INTERFACES: &str = "admin-mysql_ifaces";

/// Why a variable is not for `engine_settings`; none where it is.
pub(crate) fn kept(name: &str) -> Option<Kept> {
    let of_project = KEPT.iter().find(|(kept, _)| *kept == name).map(|(_, kept)| *kept);
    of_project.or_else(|| {
        let of_node = NodeVariable::of(name).filter(|of_node| of_node.is_left_alone());
        of_node.filter(|_| name != ADMIN_INTERFACES).map(|of_node| Kept {
            why: of_node.reason(),
            instead: "set it on the node itself",
        })
    })
}

/// What a variable of ProxySQL 2.7 takes; none where there is none of that name.
pub(crate) fn shape(name: &str) -> Option<Shape> {
    lines().find_map(|(known, rest)| (known == name).then(|| read(rest)).flatten())
}

/// What a variable of ProxySQL 2.7 is before anyone sets it, as the engine writes it; none where there is none of that name.
pub fn default_value(name: &str) -> Option<&'static str> {
    lines()
        .find(|(known, _)| *known == name)
        .and_then(|(_, rest)| rest.split_once(DEFAULT))
        .map(|(_, default)| default.trim_start())
}

/// A value of a variable, as `engine_settings` writes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SettingValue {
    /// `true` or `false`.
    Switch(bool),
    /// An integer.
    Integer(i64),
    /// A text.
    Text(String),
}

/// Why `engine_settings` cannot set a variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoSetting {
    /// The rest of a project decides it: why, and where to say it.
    Elsewhere(&'static str, &'static str),
    /// ProxySQL 2.7 has none of that name.
    Unknown,
    /// ProxySQL 2.7 does not take the value.
    BadValue,
}

/// A variable of ProxySQL 2.7 as `engine_settings` sets it. Switches are read as ProxySQL reads them.
///
/// # Errors
/// [`NoSetting`]
pub fn setting(name: &str, value: &str) -> Result<SettingValue, NoSetting> {
    if let Some(Kept { why, instead }) = kept(name) {
        return Err(NoSetting::Elsewhere(why, instead));
    }
    match shape(name).ok_or(NoSetting::Unknown)? {
        Shape::Boolean => match value.to_ascii_lowercase().as_str() {
            "true" | "1" => Ok(SettingValue::Switch(true)),
            "false" | "0" => Ok(SettingValue::Switch(false)),
            _ => Err(NoSetting::BadValue),
        },
        Shape::Text => Ok(SettingValue::Text(value.to_owned())),
        Shape::Integer { least, most } => match value.parse::<i64>() {
            Ok(number) if (least..=most).contains(&number) => Ok(SettingValue::Integer(number)),
            _ => Err(NoSetting::BadValue),
        },
    }
}

/// The names of all variables that may be set.
pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    lines().map(|(name, _)| name).filter(|name| kept(name).is_none())
}

fn lines() -> impl Iterator<Item = (&'static str, &'static str)> {
    PROXYSQL_27
        .lines()
        .filter(|line| !line.starts_with('#'))
        .filter_map(|line| line.split_once(' '))
}

fn read(rest: &str) -> Option<Shape> {
    let shape = rest.split_once(DEFAULT).map_or(rest, |(shape, _)| shape);
    match shape {
        "boolean" => Some(Shape::Boolean),
        "text" => Some(Shape::Text),
        range => {
            let (least, most) = range.split_once(' ')?;
            Some(Shape::Integer {
                least: least.parse().ok()?,
                most: most.parse().ok()?,
            })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn defaults_are_values_that_the_variable_takes() {
        for (name, _) in lines() {
            let default = default_value(name).unwrap();
            match shape(name) {
                Some(Shape::Boolean) => assert!(["true", "false"].contains(&default), "{name}"),
                Some(Shape::Integer { least, most }) => {
                    let value: i64 = default.parse().unwrap();
                    assert!((least..=most).contains(&value), "{name}");
                }
                Some(Shape::Text) => assert_eq!(default, default.trim(), "{name}"),
                None => panic!("{name}"),
            }
        }
        assert_eq!(default_value("mysql-threads"), Some("4"));
        assert_eq!(default_value("mysql-init_connect"), Some(""));
        assert_eq!(
            default_value("mysql-firewall_whitelist_errormsg"),
            Some("Firewall blocked this query")
        );
        assert_eq!(default_value("mysql-nothing"), None);
    }

    #[test]
    fn every_line_is_a_variable_and_what_is_kept_exists() {
        let all: Vec<&str> = lines().map(|(name, _)| name).collect();
        assert!(all.len() > 200, "{}", all.len());
        assert!(all.is_sorted_by(|a, b| a < b), "sorted, each once");
        for name in &all {
            assert!(shape(name).is_some(), "{name}");
        }
        for (name, _) in KEPT {
            assert!(all.contains(&name), "{name}");
        }
        assert_eq!(
            shape("mysql-threads"),
            Some(Shape::Integer { least: 1, most: 255 })
        );
    }
}
