//! What is supposed of a server, in `route --if` and in the `if` of route tests.

use crate::duration::{duration_ms, parse_unsigned};

/// What is supposed of a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Supposition {
    /// It does not answer.
    Down,
    /// It cannot write.
    ReadOnly,
    /// It can write, and replicates from nowhere.
    Promoted,
    /// It is so far behind, ms.
    Lags(u64),
    /// It does not say how far it is behind.
    LagUnknown,
    /// So many transactions wait to be applied.
    Queue(u64),
    /// It is not in the majority of its group.
    Minority,
}

impl Supposition {
    /// Every form, as it is written.
    pub const FORMS: &'static str = "down, read-only, promoted, minority, lag:20s, lag:unknown, queue:500";

    /// What a text such as `down` or `lag:20s` means.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        Some(match text.split_once(':').unwrap_or((text, "")) {
            ("down", "") => Self::Down,
            ("read-only", "") => Self::ReadOnly,
            ("promoted", "") => Self::Promoted,
            ("minority", "") => Self::Minority,
            ("lag", "unknown") => Self::LagUnknown,
            ("lag", lag) => Self::Lags(duration_ms(lag)?),
            ("queue", queue) => Self::Queue(parse_unsigned(queue)?),
            _ => return None,
        })
    }
}

/// A server as it is named there: `db1`, `pay/db1`, or by its address, `clusters.pay.servers.db1`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ServerName<'t> {
    /// The cluster, where it is said.
    pub cluster: Option<&'t str>,
    /// The name in its cluster.
    pub name: &'t str,
}

impl<'t> ServerName<'t> {
    /// What a text names.
    #[must_use]
    pub fn parse(text: &'t str) -> Self {
        let of_address = || {
            let (cluster, name) = text.strip_prefix("clusters.")?.split_once(".servers.")?;
            Some((cluster, name))
        };
        match of_address().or_else(|| text.split_once('/')) {
            Some((cluster, name)) => Self {
                cluster: Some(cluster),
                name,
            },
            None => Self {
                cluster: None,
                name: text,
            },
        }
    }

    /// Whether a server of a cluster may be meant.
    #[must_use]
    pub fn is_of(&self, cluster: &str) -> bool {
        self.cluster.is_none_or(|wanted| wanted == cluster)
    }

    /// Whether the server of this address is meant.
    #[must_use]
    pub fn is_at(&self, address: &str) -> bool {
        let at = ServerName::parse(address);
        at.name == self.name && at.cluster.is_some_and(|cluster| self.is_of(cluster))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_is_named_by_itself_or_with_its_cluster() {
        let address = "clusters.pay.servers.db1";
        for (text, expected) in [
            ("db1", true),
            ("pay/db1", true),
            (address, true),
            ("db", false),
            ("b1", false),
            ("other/db1", false),
            ("servers.db1", false),
            ("clusters.other.servers.db1", false),
        ] {
            assert_eq!(ServerName::parse(text).is_at(address), expected, "{text}");
        }
    }

    #[test]
    fn every_form_is_read() {
        let read: Vec<_> = Supposition::FORMS.split(", ").map(Supposition::parse).collect();
        let expected = [
            Supposition::Down,
            Supposition::ReadOnly,
            Supposition::Promoted,
            Supposition::Minority,
            Supposition::Lags(20_000),
            Supposition::LagUnknown,
            Supposition::Queue(500),
        ];
        assert_eq!(read, expected.map(Some));
        for text in ["", "up", "down:1", "lag", "lag:20", "queue:-1", "queue:"] {
            assert_eq!(Supposition::parse(text), None, "{text}");
        }
    }
}
