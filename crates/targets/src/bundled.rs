//! The bundled proxy, over its admin port: one statement reads everything, one replaces everything.

use std::time::Duration;
use std::{fmt, io};

use mysql::prelude::{FromValue, Queryable};
use mysql::{Conn, DriverError, OptsBuilder, Row};
use shardwright_plan::{Applied, ApplyError, Base, Change, Observed, Target, TargetError, TargetPlan};
use shardwright_rules::{Address, Configuration, FORMAT_VERSION};

use shardwright_secrets::Secret;

/// The largest statement or row that is exchanged; the most that the protocol's own limit can be set to.
const MAX_PACKET_BYTES: usize = 1 << 30;
/// The column that names the project of a proxy.
const OWNER: &str = "project";

/// Where an admin port is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AdminAddress {
    /// A host name or IP address, and a port.
    Tcp {
        /// Without brackets.
        host: String,
        /// TCP port.
        port: u16,
    },
    /// The path of a unix socket.
    Unix(String),
}

impl AdminAddress {
    /// Reads `HOST:PORT`, `[IPV6]:PORT` or `/PATH`; `None` when it is none of them.
    pub fn parse(text: &str) -> Option<Self> {
        if text.starts_with('/') {
            return Some(Self::Unix(text.to_owned()));
        }
        let (host, port) = text.rsplit_once(':')?;
        let bare = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
        let host = match bare {
            Some(host) => host,
            None if host.contains(':') => return None,
            None => host,
        };
        let port = port.parse().ok().filter(|port| *port != 0)?;
        (!host.is_empty()).then(|| Self::Tcp {
            host: host.to_owned(),
            port,
        })
    }
}

impl fmt::Display for AdminAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp { host, port } if host.contains(':') => write!(f, "[{host}]:{port}"),
            Self::Tcp { host, port } => write!(f, "{host}:{port}"),
            Self::Unix(path) => f.write_str(path),
        }
    }
}

/// How long the parts of an exchange may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timeouts {
    /// Until a connection stands.
    pub connect: Duration,
    /// Until the next bytes of an answer: validating and storing a large configuration comes before its first one.
    pub answer: Duration,
}

impl Default for Timeouts {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(5),
            answer: Duration::from_secs(60),
        }
    }
}

/// A running `shardwright proxy`. Every call makes its own connection, so that a call never meets a dead one.
#[derive(Debug)]
pub struct BundledTarget {
    name: String,
    address: AdminAddress,
    user: String,
    password: Secret,
    timeouts: Timeouts,
}

impl BundledTarget {
    /// A target by its name in the project file.
    pub fn new(
        name: impl Into<String>,
        address: AdminAddress,
        user: impl Into<String>,
        password: Secret,
        timeouts: Timeouts,
    ) -> Self {
        Self {
            name: name.into(),
            address,
            user: user.into(),
            password,
            timeouts,
        }
    }

    pub(crate) fn connect(&self) -> Result<Conn, TargetError> {
        let options = OptsBuilder::new()
            .user(Some(self.user.as_str()))
            .pass(Some(self.password.expose()))
            .prefer_socket(false)
            .stmt_cache_size(Some(0))
            // Set here so that the driver does not ask the server for it.
            .max_allowed_packet(Some(MAX_PACKET_BYTES))
            .tcp_connect_timeout(Some(self.timeouts.connect))
            .read_timeout(Some(self.timeouts.answer))
            .write_timeout(Some(self.timeouts.answer));
        let options = match &self.address {
            AdminAddress::Tcp { host, port } => options.ip_or_hostname(Some(host.as_str())).tcp_port(*port),
            AdminAddress::Unix(path) => options.socket(Some(path.as_str())),
        };
        Conn::new(options).map_err(|error| self.error(&format!("cannot connect: {}", reason(&error))))
    }

    /// Where its admin port is.
    pub(crate) fn address(&self) -> &AdminAddress {
        &self.address
    }

    /// What an observation is about. A proxy of an earlier version has no owner to tell.
    fn base(&self, row: &mut Row) -> Result<Base, TargetError> {
        let has_owner = row.columns_ref().iter().any(|column| column.name_str() == OWNER);
        Ok(Base {
            generation: self.column(row, "generation")?,
            fingerprint: self.column(row, "fingerprint")?,
            project: match has_owner {
                true => self.column(row, OWNER)?,
                false => None,
            },
        })
    }

    fn column<T: FromValue>(&self, row: &mut Row, name: &str) -> Result<T, TargetError> {
        let value = row.take_opt(name).and_then(Result::ok);
        value.ok_or_else(|| self.error(&format!("cannot be observed: its answer has no {name}")))
    }

    fn error(&self, reason: &str) -> TargetError {
        TargetError {
            target: self.name.clone(),
            address: self.address.to_string(),
            reason: reason.to_owned(),
        }
    }
}

impl Target for BundledTarget {
    fn name(&self) -> &str {
        &self.name
    }

    fn observe(&mut self) -> Result<Observed, TargetError> {
        let mut connection = self.connect()?;
        let row: Option<Row> = connection
            .query_first("SHARDWRIGHT OBSERVE")
            .map_err(|error| self.error(&format!("cannot be observed: {}", reason(&error))))?;
        let Some(mut row) = row else {
            return Err(self.error("cannot be observed: it answered without a row"));
        };
        let base = self.base(&mut row)?;
        let json: String = self.column(&mut row, "configuration")?;
        observed(base, &json).map_err(|reason| self.error(&reason))
    }

    fn apply(&mut self, change: &Change<'_>) -> Result<Applied, ApplyError> {
        let statement = apply_statement(change.plan, &change.desired.to_json());
        if statement.len() >= MAX_PACKET_BYTES {
            let reason = format!(
                "the configuration has {} bytes, too many to send",
                statement.len()
            );
            return Err(ApplyError::NotSent(self.error(&reason)));
        }
        let mut connection = self.connect().map_err(ApplyError::NotSent)?;
        match connection.query_first::<(u64, String), _>(statement) {
            Ok(Some((generation, fingerprint))) => Ok(Applied {
                generation,
                fingerprint,
            }),
            Ok(None) => Err(ApplyError::Lost(self.error("it answered without a row"))),
            Err(mysql::Error::MySqlError(error)) => Err(server_error(&error.message)),
            Err(error) => Err(ApplyError::Lost(self.error(&reason(&error)))),
        }
    }
}

fn observed(base: Base, json: &str) -> Result<Observed, String> {
    let Base {
        generation,
        fingerprint,
        project,
    } = base;
    if generation == 0 {
        return Ok(Observed {
            generation,
            fingerprint: String::new(),
            project,
            configuration: None,
        });
    }
    let configuration: Configuration = serde_json::from_str(json)
        .map_err(|error| format!("runs a configuration that this program cannot read: {error}"))?;
    if configuration.format != FORMAT_VERSION {
        let format = configuration.format;
        return Err(format!(
            "runs a configuration of format {format}, this program reads {FORMAT_VERSION}"
        ));
    }
    Ok(Observed {
        generation,
        fingerprint,
        project,
        configuration: Some(configuration),
    })
}

/// A text as a literal: a quote is written twice, and a backslash is a character.
pub(crate) fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

fn apply_statement(plan: &TargetPlan, json: &str) -> String {
    let named = |word: &str, name: Option<&String>| {
        name.map_or_else(String::new, |name| format!(" {word} {}", quoted(name)))
    };
    // The former owner is only named where a plan shows that it changes.
    let former = plan.base.project.as_ref();
    format!(
        "SHARDWRIGHT APPLY EXPECT {} {}{}{} AS {}",
        plan.base.generation,
        quoted(&plan.base.fingerprint),
        named("OWNER", former.filter(|_| plan.base.project != plan.project)),
        named("PROJECT", plan.project.as_ref()),
        quoted(json)
    )
}

/// The admin port puts one word before the text of each error that a caller can act on.
fn server_error(message: &str) -> ApplyError {
    let message = printable(message);
    let said = |word: &str| message.strip_prefix(word).map(str::to_owned);
    if let Some(text) = said("STALE: ") {
        return ApplyError::Stale(text);
    }
    if let Some(text) = said("CONTENDED: ") {
        return ApplyError::Contended(text);
    }
    if let Some(text) = said("FOREIGN: ") {
        return ApplyError::Foreign(text);
    }
    if let Some(text) = said("INVALID: ") {
        let (address, reason) = match text.split_once(": ") {
            Some((address, reason)) if !address.is_empty() && !address.contains(' ') => {
                (Some(Address::from(address)), reason.to_owned())
            }
            _ => (None, text),
        };
        return ApplyError::Invalid { address, reason };
    }
    ApplyError::Failed(said("FAILED: ").unwrap_or(message))
}

pub(crate) fn reason(error: &mysql::Error) -> String {
    match error {
        mysql::Error::MySqlError(error) => {
            format!(
                "{} ({}, {})",
                printable(&error.message),
                error.code,
                printable(&error.state)
            )
        }
        mysql::Error::IoError(error) => printable(&error.to_string()),
        mysql::Error::DriverError(error) => driver_reason(error),
        other => printable(&other.to_string()),
    }
}

/// The driver's own errors without the names of their types.
fn driver_reason(error: &DriverError) -> String {
    match error {
        DriverError::ConnectTimeout | DriverError::Timeout => "no answer in time".to_owned(),
        DriverError::CouldNotConnect(Some((_, description, kind))) => match kind {
            io::ErrorKind::ConnectionRefused => "connection refused: nothing listens there".to_owned(),
            io::ErrorKind::TimedOut => "no answer in time".to_owned(),
            _ => printable(description),
        },
        DriverError::CouldNotConnect(None) => "no such host".to_owned(),
        other => printable(&other.to_string()),
    }
}

fn printable(text: &str) -> String {
    let shown = |c: char| if c.is_control() { ' ' } else { c };
    text.chars().map(shown).collect()
}

#[cfg(test)]
mod tests {
    use std::io::Read;
    use std::net::TcpListener;

    use shardwright_rules::EngineId;

    use super::*;

    fn target(address: AdminAddress) -> BundledTarget {
        let timeouts = Timeouts {
            connect: Duration::from_secs(5),
            answer: Duration::from_millis(200),
        };
        BundledTarget::new("local", address, "admin", Secret::new("canary".into()), timeouts)
    }

    fn local(listener: &TcpListener) -> AdminAddress {
        AdminAddress::Tcp {
            host: "127.0.0.1".into(),
            port: listener.local_addr().unwrap().port(),
        }
    }

    fn without_port(error: &TargetError, address: &AdminAddress) -> String {
        error.to_string().replace(&address.to_string(), "ADDRESS")
    }

    #[test]
    fn addresses() {
        for (text, expected) in [
            ("127.0.0.1:6032", Some("127.0.0.1:6032")),
            ("px-a1.internal:6032", Some("px-a1.internal:6032")),
            ("[::1]:6032", Some("[::1]:6032")),
            ("/run/shardwright/admin.sock", Some("/run/shardwright/admin.sock")),
            ("::1:6032", None),
            ("px-a1", None),
            (":6032", None),
            ("px-a1:0", None),
            ("px-a1:65536", None),
            ("", None),
        ] {
            let parsed = AdminAddress::parse(text).map(|address| address.to_string());
            assert_eq!(parsed.as_deref(), expected, "{text}");
        }
    }

    #[test]
    fn a_port_that_nobody_listens_on() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = local(&listener);
        drop(listener);
        let error = target(address.clone()).observe().unwrap_err();
        assert!(error.reason.starts_with("cannot connect: "), "{error}");
        assert!(
            error
                .to_string()
                .starts_with(&format!("target local at {address}: ")),
            "{error}"
        );
    }

    #[test]
    fn a_port_that_never_answers() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = local(&listener);
        let error = target(address.clone()).observe().unwrap_err();
        assert!(error.reason.starts_with("cannot connect: "), "{error}");
    }

    #[test]
    fn a_port_that_speaks_another_protocol() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = local(&listener);
        let server = std::thread::spawn(move || {
            use std::io::Write;
            let (mut client, _) = listener.accept().unwrap();
            client.write_all(b"SSH-2.0-OpenSSH_9.2\r\n").unwrap();
            // The client may close first, with a reset; both end the conversation.
            let _ = client.read(&mut [0; 64]);
        });
        let error = target(address.clone()).observe().unwrap_err();
        server.join().unwrap();
        let said = without_port(&error, &address);
        assert!(
            said.starts_with("target local at ADDRESS: cannot connect: "),
            "{said}"
        );
        assert!(!format!("{:?} {error:?}", target(address)).contains("canary"));
    }

    #[test]
    fn statements_double_quotes_and_leave_backslashes() {
        let statement = |former: Option<&str>, project: Option<&str>| {
            let observed = Observed {
                generation: 12,
                fingerprint: "9c1e".into(),
                project: former.map(str::to_owned),
                configuration: None,
            };
            let desired = Configuration::empty(EngineId::Bundled);
            let plan = TargetPlan::new("local", &observed, &desired, Vec::new()).for_project(project);
            apply_statement(&plan, r#"{"error_msg":"don't \"\\ '"}"#)
        };
        let all = [
            statement(None, None),
            statement(None, Some("shop")),
            statement(Some("shop"), Some("shop")),
            statement(Some("shop"), Some("pay")),
            statement(Some("shop"), None),
        ];
        insta::assert_snapshot!(all.join("\n"), @r#"
        SHARDWRIGHT APPLY EXPECT 12 '9c1e' AS '{"error_msg":"don''t \"\\ ''"}'
        SHARDWRIGHT APPLY EXPECT 12 '9c1e' PROJECT 'shop' AS '{"error_msg":"don''t \"\\ ''"}'
        SHARDWRIGHT APPLY EXPECT 12 '9c1e' PROJECT 'shop' AS '{"error_msg":"don''t \"\\ ''"}'
        SHARDWRIGHT APPLY EXPECT 12 '9c1e' OWNER 'shop' PROJECT 'pay' AS '{"error_msg":"don''t \"\\ ''"}'
        SHARDWRIGHT APPLY EXPECT 12 '9c1e' OWNER 'shop' AS '{"error_msg":"don''t \"\\ ''"}'
        "#);
    }

    #[test]
    fn errors_of_the_admin_port() {
        let shown: Vec<String> = [
            "STALE: generation is 13",
            "CONTENDED: another apply is running",
            "FOREIGN: the proxy belongs to the project a, not to the project b",
            "INVALID: shard_maps.tenants: no such cluster: shop-99",
            "INVALID: not JSON: line 1",
            "FAILED: cannot store: disk full\u{1b}[2J",
            "something else",
        ]
        .iter()
        .map(|message| format!("{:?}", server_error(message)))
        .collect();
        insta::assert_snapshot!(shown.join("\n"), @r#"
        Stale("generation is 13")
        Contended("another apply is running")
        Foreign("the proxy belongs to the project a, not to the project b")
        Invalid { address: Some("shard_maps.tenants"), reason: "no such cluster: shop-99" }
        Invalid { address: None, reason: "not JSON: line 1" }
        Failed("cannot store: disk full [2J")
        Failed("something else")
        "#);
    }

    #[test]
    fn observations() {
        let configuration = Configuration::empty(EngineId::Bundled);
        let json = configuration.to_json();
        let base = |generation, fingerprint: &str| Base {
            generation,
            fingerprint: fingerprint.to_owned(),
            project: Some("shop".into()),
        };
        let seen = observed(base(3, &configuration.fingerprint()), &json).unwrap();
        assert_eq!(seen.project.as_deref(), Some("shop"));
        assert_eq!(seen.configuration, Some(configuration));
        assert_eq!(observed(base(0, ""), "").unwrap().configuration, None);
        let later = json.replace("\"format\":1", "\"format\":2");
        insta::assert_snapshot!(observed(base(3, ""), &later).unwrap_err(), @"runs a configuration of format 2, this program reads 1");
        insta::assert_snapshot!(observed(base(3, ""), "").unwrap_err(), @"runs a configuration that this program cannot read: EOF while parsing a value at line 1 column 0");
    }
}
