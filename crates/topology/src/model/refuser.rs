//! Who refuses for ProxySQL what it must not refuse itself.

use std::net::IpAddr;
use std::sync::Arc;

use super::{EngineFamily, EngineVariables, OriginId, Refuser, Topology};

/// ProxySQL's variable for the addresses of its admin port.
const ADMIN_INTERFACES: &str = "admin-mysql_ifaces";

/// Where ProxySQL's admin port is where nothing is said: its default is `0.0.0.0:6032`.
const ADMIN: (&str, u16) = ("127.0.0.1", 6032);

impl Topology {
    /// Who refuses for ProxySQL, and the settings that say so, where there are some.
    #[must_use]
    pub fn refuser(&self) -> (&Refuser, Option<OriginId>) {
        let settings = self.proxysql_settings();
        settings.map_or((&Refuser::Admin, None), |settings| {
            (&settings.refuser, Some(settings.origin))
        })
    }

    /// Host and port at which a ProxySQL reaches its own admin port.
    #[must_use]
    pub fn proxysql_admin(&self) -> (Arc<str>, u16) {
        let settings = self.proxysql_settings();
        let mut variables = settings.into_iter().flat_map(|settings| &settings.values);
        let interfaces = variables.find_map(|(name, value)| (&**name == ADMIN_INTERFACES).then_some(value));
        let (host, port) = interfaces
            .and_then(|interfaces| interfaces.split(';').find_map(interface))
            .unwrap_or((ADMIN.0.to_owned(), ADMIN.1));
        (host.into(), port)
    }

    /// Host and port of the server that refuses for the reason of this number, counted from 0; none where the ports
    /// behind the refuser's first have run out.
    #[must_use]
    pub fn refusing_server(&self, reason: u16) -> Option<(Arc<str>, u16)> {
        match self.refuser().0 {
            Refuser::Admin => Some(self.proxysql_admin()),
            Refuser::Service { host, port } => Some((host.clone(), port.checked_add(reason)?)),
        }
    }

    fn proxysql_settings(&self) -> Option<&EngineVariables> {
        self.engine_settings
            .iter()
            .find(|settings| settings.family == EngineFamily::ProxySql)
    }
}

/// Where a process reaches an interface of its own; none for Unix sockets.
fn interface(written: &str) -> Option<(String, u16)> {
    let (host, port) = written.trim().rsplit_once(':')?;
    let port = port.parse().ok()?;
    let host = host.trim_start_matches('[').trim_end_matches(']');
    let host = match host.parse::<IpAddr>() {
        Ok(IpAddr::V4(address)) if address.is_unspecified() => "127.0.0.1",
        Ok(IpAddr::V6(address)) if address.is_unspecified() => "::1",
        _ => host,
    };
    Some((host.to_owned(), port))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interface_is_where_the_process_itself_reaches_it() {
        let reached = |written: &str| interface(written).map(|(host, port)| format!("{host} {port}"));
        assert_eq!(reached("0.0.0.0:6032").as_deref(), Some("127.0.0.1 6032"));
        assert_eq!(reached("[::]:6032").as_deref(), Some("::1 6032"));
        assert_eq!(reached(" 10.0.0.7:7000").as_deref(), Some("10.0.0.7 7000"));
        assert_eq!(reached("/tmp/proxysql_admin.sock"), None);
    }
}
