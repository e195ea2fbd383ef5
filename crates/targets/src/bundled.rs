//! The bundled proxy, over its admin port: one statement reads everything, one replaces everything.

use std::path::PathBuf;

use mysql::prelude::{FromValue, Queryable};
use mysql::{Conn, Row};
use shardwright_plan::{
    Applied, ApplyError, ApplyReport, Base, Change, Observed, Outcome, Target, TargetError, TargetPlan,
};
use shardwright_rules::roles::SisterReports;
use shardwright_rules::{Address, Configuration, FORMAT_VERSION, ServerLimit};

use shardwright_secrets::Secret;

use crate::admin::{
    AdminAddress, MAX_PACKET_BYTES, Timeouts, open, printable, quoted, reason, reason_within,
};
use crate::bundled_runs::{Runs, WayBack, of_rollback};
use crate::proxysql::{Identity, Journal, JournalError};

/// Columns that proxies of earlier versions do not have: the project of a proxy, and what its servers have said.
const OWNER: &str = "project";
const SERVER_LIMITS: &str = "server_limits";

/// A running `shardwright proxy`. Every call makes its own connection, so that a call never meets a dead one.
#[derive(Debug)]
pub struct BundledTarget {
    name: String,
    address: AdminAddress,
    user: String,
    password: Secret,
    authorities: Option<PathBuf>,
    timeouts: Timeouts,
    reports: SisterReports,
    runs: Option<Box<Runs>>,
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
            authorities: None,
            timeouts,
            reports: SisterReports::new(),
            runs: None,
        }
    }

    /// Says where runs are kept, and who makes the next one. Without that, nothing is remembered of an apply.
    pub fn keep_runs(&mut self, journal: Journal, identity: Identity) {
        self.runs = Some(Box::new(Runs::new(journal, identity)));
    }

    /// How a run is taken back, where the proxy still is as that left it. What is applied next takes it back.
    ///
    /// # Errors
    /// How that ends instead.
    pub fn way_back(&mut self, run: &str) -> Result<WayBack, Box<ApplyReport>> {
        let target = self.name.clone();
        let report = |outcome, message, base| Box::new(of_rollback(&target, run, outcome, message, base));
        let observed = match self.observe() {
            Ok(observed) => observed,
            Err(error) => return Err(report(Outcome::NotSent, error.to_string(), None)),
        };
        let base = observed.base();
        let Some(runs) = &mut self.runs else {
            let message = "nobody said where the state of runs is kept".to_owned();
            return Err(report(Outcome::NotSent, message, Some(base)));
        };
        runs.taking_back(run);
        let way = runs.way_back(run, &self.name, observed);
        way.map_err(|(outcome, message)| report(outcome, message, Some(base)))
    }

    /// Why it holds an older generation than was applied; `None`: it does not, or nobody remembers.
    ///
    /// # Errors
    /// The state of runs cannot be read.
    pub fn older(&self, observed: &Observed) -> Result<Option<String>, JournalError> {
        match &self.runs {
            Some(runs) => runs.older(&self.name, &self.address.to_string(), observed),
            None => Ok(None),
        }
    }

    /// Says what other proxies say of who writes; it goes with the next change.
    pub fn hear(&mut self, reports: SisterReports) {
        self.reports = reports;
    }

    /// The same inside TLS, checked with the authorities of a file in PEM.
    #[must_use]
    pub fn trusting(mut self, authorities: PathBuf) -> Self {
        self.authorities = Some(authorities);
        self
    }

    pub(crate) fn connect(&self) -> Result<Conn, TargetError> {
        self.try_connect()
            .map_err(|error| self.error(&format!("cannot connect: {}", reason(&error))))
    }

    /// The same with the driver's error.
    pub(crate) fn try_connect(&self) -> mysql::Result<Conn> {
        let authorities = self.authorities.as_deref();
        open(
            &self.address,
            &self.user,
            &self.password,
            authorities,
            self.timeouts,
        )
    }

    /// Where its admin port is.
    pub(crate) fn address(&self) -> &AdminAddress {
        &self.address
    }

    /// What an observation is about. A proxy of an earlier version has no owner to tell.
    fn base(&self, row: &mut Row) -> Result<Base, TargetError> {
        Ok(Base {
            generation: self.column(row, "generation")?,
            fingerprint: self.column(row, "fingerprint")?,
            project: match has_column(row, OWNER) {
                true => self.column(row, OWNER)?,
                false => None,
            },
        })
    }

    /// The statement that applies a change, or asks whether it could be.
    fn statement(&self, verb: &str, change: &Change<'_>) -> Result<String, ApplyError> {
        let statement = apply_statement(verb, change.plan, &self.reports, &change.desired.to_json());
        if statement.len() >= MAX_PACKET_BYTES {
            let reason = format!(
                "the configuration has {} bytes, too many to send",
                statement.len()
            );
            return Err(ApplyError::NotSent(self.error(&reason)));
        }
        Ok(statement)
    }

    fn reason(&self, error: &mysql::Error) -> String {
        reason_within(error, self.timeouts.answer)
    }

    fn server_limits(&self, row: &mut Row) -> Result<Vec<ServerLimit>, TargetError> {
        if !has_column(row, SERVER_LIMITS) {
            return Ok(Vec::new());
        }
        let json: String = self.column(row, SERVER_LIMITS)?;
        serde_json::from_str(&json).map_err(|error| {
            self.error(&format!(
                "cannot be observed: its {SERVER_LIMITS} are unreadable: {error}"
            ))
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
            .map_err(|error| self.error(&format!("cannot be observed: {}", self.reason(&error))))?;
        let Some(mut row) = row else {
            return Err(self.error("cannot be observed: it answered without a row"));
        };
        let base = self.base(&mut row)?;
        let json: String = self.column(&mut row, "configuration")?;
        let observed = Observed {
            server_limits: self.server_limits(&mut row)?,
            ..observed(base, &json).map_err(|reason| self.error(&reason))?
        };
        if let Some(runs) = &mut self.runs {
            runs.see(&observed);
        }
        Ok(observed)
    }

    fn check(&mut self, change: &Change<'_>) -> Result<(), ApplyError> {
        let statement = self.statement("CHECK", change)?;
        let mut connection = self.connect().map_err(ApplyError::NotSent)?;
        match connection.query_drop(statement) {
            Ok(()) => Ok(()),
            Err(mysql::Error::MySqlError(error)) => match server_error(&error.message) {
                // A proxy of an earlier version does not know the statement: it is asked when it is applied to.
                ApplyError::Failed(_) => Ok(()),
                refusal => Err(refusal),
            },
            Err(error) => Err(ApplyError::NotSent(self.error(&self.reason(&error)))),
        }
    }

    fn apply(&mut self, change: &Change<'_>) -> Result<Applied, ApplyError> {
        let statement = self.statement("APPLY", change)?;
        let admin = self.address.to_string();
        let begun = self
            .runs
            .as_mut()
            .map_or(Ok(()), |runs| runs.begin(&self.name, admin, change));
        begun.map_err(|error| match error {
            JournalError::Locked { .. } => ApplyError::Contended(error.to_string()),
            other => ApplyError::NotSent(self.error(&other.to_string())),
        })?;
        let mut connection = self.connect().map_err(ApplyError::NotSent)?;
        match connection.query_first::<(u64, String), _>(statement) {
            Ok(Some((generation, fingerprint))) => Ok(Applied {
                generation,
                fingerprint,
                behind: Vec::new(),
            }),
            Ok(None) => Err(ApplyError::Lost(self.error("it answered without a row"))),
            Err(mysql::Error::MySqlError(error)) => Err(server_error(&error.message)),
            Err(error) => Err(ApplyError::Lost(self.error(&self.reason(&error)))),
        }
    }

    fn conclude(&mut self, report: &ApplyReport) -> Result<(), TargetError> {
        let concluded = self.runs.as_mut().map_or(Ok(()), |runs| runs.conclude(report));
        concluded.map_err(|error| self.error(&error.to_string()))
    }
}

fn has_column(row: &Row, name: &str) -> bool {
    row.columns_ref().iter().any(|column| column.name_str() == name)
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
            server_limits: Vec::new(),
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
        server_limits: Vec::new(),
    })
}

fn apply_statement(verb: &str, plan: &TargetPlan, reports: &SisterReports, json: &str) -> String {
    let named = |word: &str, name: Option<&String>| {
        name.map_or_else(String::new, |name| format!(" {word} {}", quoted(name)))
    };
    // The former owner is only named where a plan shows that it changes.
    let former = plan.base.project.as_ref();
    let reports = (!reports.is_empty()).then(|| {
        serde_json::to_string(reports).expect("addresses and names are strings, so JSON can hold them")
    });
    format!(
        "SHARDWRIGHT {verb} EXPECT {} {}{}{}{} AS {}",
        plan.base.generation,
        quoted(&plan.base.fingerprint),
        named("OWNER", former.filter(|_| plan.base.project != plan.project)),
        named("PROJECT", plan.project.as_ref()),
        named("WRITERS", reports.as_ref()),
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

#[cfg(test)]
mod tests {
    use std::io::Read;
    use std::net::TcpListener;
    use std::time::Duration;

    use shardwright_rules::EngineId;
    use shardwright_rules::roles::SisterReport;

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
        assert_eq!(
            error.reason, "cannot connect: it does not answer within 0.2 s",
            "{error}"
        );
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
        let reports = SisterReports::from([(
            "clusters.a".into(),
            SisterReport::Writers(vec!["clusters.a.servers.b".into()]),
        )]);
        let statement_with = |former: Option<&str>, project: Option<&str>, reports: &SisterReports| {
            let observed = Observed {
                generation: 12,
                fingerprint: "9c1e".into(),
                project: former.map(str::to_owned),
                configuration: None,
                server_limits: Vec::new(),
            };
            let desired = Configuration::empty(EngineId::Bundled);
            let plan = TargetPlan::new("local", &observed, &desired, Vec::new()).for_project(project);
            apply_statement("APPLY", &plan, reports, r#"{"error_msg":"don't \"\\ '"}"#)
        };
        let statement = |former, project| statement_with(former, project, &SisterReports::new());
        let all = [
            statement(None, None),
            statement(None, Some("shop")),
            statement(Some("shop"), Some("shop")),
            statement(Some("shop"), Some("pay")),
            statement(Some("shop"), None),
            statement_with(Some("shop"), Some("shop"), &reports),
        ];
        insta::assert_snapshot!(all.join("\n"), @r#"
        SHARDWRIGHT APPLY EXPECT 12 '9c1e' AS '{"error_msg":"don''t \"\\ ''"}'
        SHARDWRIGHT APPLY EXPECT 12 '9c1e' PROJECT 'shop' AS '{"error_msg":"don''t \"\\ ''"}'
        SHARDWRIGHT APPLY EXPECT 12 '9c1e' PROJECT 'shop' AS '{"error_msg":"don''t \"\\ ''"}'
        SHARDWRIGHT APPLY EXPECT 12 '9c1e' OWNER 'shop' PROJECT 'pay' AS '{"error_msg":"don''t \"\\ ''"}'
        SHARDWRIGHT APPLY EXPECT 12 '9c1e' OWNER 'shop' AS '{"error_msg":"don''t \"\\ ''"}'
        SHARDWRIGHT APPLY EXPECT 12 '9c1e' PROJECT 'shop' WRITERS '{"clusters.a":{"writers":["clusters.a.servers.b"]}}' AS '{"error_msg":"don''t \"\\ ''"}'
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
