//! What sort of object an address names, and the order in which objects are listed.

use std::cmp::Ordering;

use shardwright_rules::Address;

/// The sort of object that an effect is about, known from its address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ObjectKind {
    /// `project`, the owner of a target.
    Project,
    /// `engine_settings`
    Settings,
    /// `monitor`
    Monitor,
    /// `listeners.NAME`
    Listener,
    /// `clusters.NAME`, with its servers listed right after it.
    Cluster,
    /// `clusters.NAME.servers.NAME`; a row of `mysql_servers` that no object has.
    Server,
    /// `users.NAME`; a row of `mysql_users` that no object has.
    User,
    /// `shard_maps.NAME`
    ShardMap,
    /// `shard_maps.NAME.shards.NAME`
    Shard,
    /// `read_write_policies.NAME`
    Policy,
    /// `routes.NAME`
    Route,
    /// `throttles.NAME`
    Throttle,
    /// `pooling.exceptions.NAME`
    PoolingException,
    /// `caches.NAME`
    Cache,
    /// `mirrors.NAME`
    Mirror,
    /// `firewall.NAME`
    Firewall,
    /// `query_rules.NAME.rules[N]`; a row of `mysql_query_rules` that no object has.
    QueryRule,
    /// `query_rules.NAME.fast_routing[N]`; a row of `mysql_query_rules_fast_routing` that no object has.
    FastRoute,
    /// Every other address.
    Other,
}

impl ObjectKind {
    /// The kind of the object at `address`.
    pub fn of(address: &Address) -> Self {
        let mut parts = address.as_str().split('.');
        match (parts.next(), parts.next(), parts.next()) {
            (Some("project"), None, _) => Self::Project,
            (Some("engine_settings"), ..) => Self::Settings,
            (Some("monitor"), ..) => Self::Monitor,
            (Some("listeners"), ..) => Self::Listener,
            (Some("clusters"), _, Some("servers")) | (Some("mysql_servers"), ..) => Self::Server,
            (Some("clusters"), ..) => Self::Cluster,
            (Some("users" | "mysql_users"), ..) => Self::User,
            (Some("shard_maps"), _, Some("shards")) => Self::Shard,
            (Some("shard_maps"), ..) => Self::ShardMap,
            (Some("read_write_policies"), ..) => Self::Policy,
            (Some("routes"), ..) => Self::Route,
            (Some("throttles"), ..) => Self::Throttle,
            (Some("pooling"), ..) => Self::PoolingException,
            (Some("caches"), ..) => Self::Cache,
            (Some("mirrors"), ..) => Self::Mirror,
            (Some("firewall"), ..) => Self::Firewall,
            (Some("query_rules"), _, Some(rows)) if rows.starts_with("fast_routing[") => Self::FastRoute,
            (Some("mysql_query_rules_fast_routing"), ..) => Self::FastRoute,
            (Some("query_rules" | "mysql_query_rules"), ..) => Self::QueryRule,
            _ => Self::Other,
        }
    }

    /// The word for `count` objects of the kind.
    pub fn noun(self, count: usize) -> &'static str {
        let (one, many) = match self {
            Self::Project => ("owner", "owners"),
            Self::Settings => ("engine setting", "engine settings"),
            Self::Monitor => ("monitor", "monitors"),
            Self::Listener => ("listener", "listeners"),
            Self::Cluster => ("cluster", "clusters"),
            Self::Server => ("server", "servers"),
            Self::User => ("user", "users"),
            Self::ShardMap => ("shard map", "shard maps"),
            Self::Shard => ("shard", "shards"),
            Self::Policy => ("read/write policy", "read/write policies"),
            Self::Route => ("route", "routes"),
            Self::Throttle => ("throttle", "throttles"),
            Self::PoolingException => ("pooling exception", "pooling exceptions"),
            Self::Cache => ("cache", "caches"),
            Self::Mirror => ("mirror", "mirrors"),
            Self::Firewall => ("firewall", "firewalls"),
            Self::QueryRule => ("query rule", "query rules"),
            Self::FastRoute => ("fast route", "fast routes"),
            Self::Other => ("object", "objects"),
        };
        if count == 1 { one } else { many }
    }

    /// Where the section of the kind stands in a listing: what others refer to comes first.
    fn section(self) -> u8 {
        match self {
            Self::Project | Self::Settings | Self::Monitor | Self::Listener => 0,
            Self::Cluster | Self::Server => 1,
            Self::User => 2,
            Self::ShardMap | Self::Shard => 3,
            Self::Policy => 4,
            Self::Route => 5,
            Self::Throttle => 6,
            Self::PoolingException => 7,
            Self::Cache => 8,
            Self::Mirror => 9,
            Self::Firewall => 10,
            Self::QueryRule => 11,
            Self::FastRoute => 12,
            Self::Other => 13,
        }
    }
}

/// The order in which effects are listed: by section, then by name with runs of digits compared as numbers.
pub(crate) fn listing_order(a: &Address, b: &Address) -> Ordering {
    ObjectKind::of(a)
        .section()
        .cmp(&ObjectKind::of(b).section())
        .then_with(|| natural_order(a.as_str(), b.as_str()))
        .then_with(|| a.cmp(b))
}

fn natural_order(a: &str, b: &str) -> Ordering {
    let (mut a, mut b) = (a.as_bytes(), b.as_bytes());
    loop {
        let (digits_a, digits_b) = (leading_digits(a), leading_digits(b));
        let order = match (digits_a, digits_b) {
            (0, _) | (_, 0) => match (a.first(), b.first()) {
                (Some(x), Some(y)) if x == y => {
                    (a, b) = (&a[1..], &b[1..]);
                    continue;
                }
                (x, y) => return x.cmp(&y),
            },
            _ => number_order(&a[..digits_a], &b[..digits_b]),
        };
        if order != Ordering::Equal {
            return order;
        }
        (a, b) = (&a[digits_a..], &b[digits_b..]);
    }
}

fn leading_digits(text: &[u8]) -> usize {
    text.iter().take_while(|byte| byte.is_ascii_digit()).count()
}

fn number_order(a: &[u8], b: &[u8]) -> Ordering {
    fn significant(digits: &[u8]) -> &[u8] {
        let zeros = digits.iter().take_while(|&&digit| digit == b'0').count();
        &digits[zeros..]
    }
    let (a, b) = (significant(a), significant(b));
    a.len().cmp(&b.len()).then_with(|| a.cmp(b))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn listings_are_ordered_as_people_count() {
        let mut listed = [
            "query_rules.b.rules[10]",
            "query_rules.b.rules[2]",
            "shard_maps.m.shards.t10",
            "shard_maps.m.shards.t9",
            "shard_maps.m",
            "users.a",
            "clusters.b",
            "clusters.a.servers.s1",
            "clusters.a",
            "engine_settings",
            "something.else",
            "shard_maps.m.shards.t009",
        ]
        .map(Address::from);
        listed.sort_by(listing_order);
        let listed: Vec<&str> = listed.iter().map(Address::as_str).collect();
        insta::assert_snapshot!(listed.join("\n"), @r"
        engine_settings
        clusters.a
        clusters.a.servers.s1
        clusters.b
        users.a
        shard_maps.m
        shard_maps.m.shards.t009
        shard_maps.m.shards.t9
        shard_maps.m.shards.t10
        query_rules.b.rules[2]
        query_rules.b.rules[10]
        something.else
        ");
    }
}
