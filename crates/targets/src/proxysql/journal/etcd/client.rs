//! Questions to etcd as JSON over HTTP, by its gateway.

use std::fs;
use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::{Value, json};
use ureq::Agent;
use ureq::tls::{Certificate, ClientCert, PemItem, PrivateKey, RootCerts, TlsConfig, TlsProvider, parse_pem};

use super::state::EtcdState;
use crate::proxysql::journal::cells::CellError;

/// The largest answer: a page of values, each a third larger than it is.
const MOST_BYTES: u64 = 64 << 20;
/// How often one member is asked: a connection that was idle may have been ended.
const ATTEMPTS: usize = 2;
const UNAUTHENTICATED: u16 = 401;

#[derive(Debug)]
pub(super) struct Client {
    state: EtcdState,
    agent: Mutex<Option<Agent>>,
    /// The member that answered last.
    member: AtomicUsize,
    /// What etcd gave for the password.
    token: Mutex<Option<String>>,
}

/// Why a question has no answer.
enum Failure {
    /// Another member may answer.
    Elsewhere(String),
    /// Whom this member knows no more.
    Unknown(String),
    /// Every member would say the same.
    Refused(String),
}

impl Client {
    pub(super) fn new(state: EtcdState) -> Self {
        Self {
            state,
            agent: Mutex::new(None),
            member: AtomicUsize::new(0),
            token: Mutex::new(None),
        }
    }

    /// Asks, of one member after the other.
    pub(super) fn call(&self, path: &str, question: &Value) -> Result<Value, CellError> {
        let agent = self.agent()?;
        let members = self.state.endpoints.len();
        let first = self.member.load(Ordering::Relaxed);
        let mut failures = Vec::new();
        for attempt in 0..members * ATTEMPTS {
            let member = (first + attempt) % members;
            let endpoint = self.state.endpoints[member].trim_end_matches('/');
            match self.ask(&agent, endpoint, path, question) {
                Ok(answer) => {
                    self.member.store(member, Ordering::Relaxed);
                    return Ok(answer);
                }
                Err(Failure::Refused(reason)) => return Err(CellError::Failed(reason)),
                Err(Failure::Elsewhere(reason)) => failures.push(format!("{endpoint}: {reason}")),
                Err(Failure::Unknown(reason)) => {
                    *self.token.lock().unwrap_or_else(PoisonError::into_inner) = None;
                    failures.push(format!("{endpoint}: {reason}"));
                }
            }
        }
        failures.dedup();
        Err(CellError::Failed(failures.join("; ")))
    }

    fn ask(&self, agent: &Agent, endpoint: &str, path: &str, question: &Value) -> Result<Value, Failure> {
        let token = self.login(agent, endpoint)?;
        self.post(agent, &format!("{endpoint}{path}"), token.as_deref(), question)
    }

    /// What stands for the password; `None` where etcd asks for none.
    fn login(&self, agent: &Agent, endpoint: &str) -> Result<Option<String>, Failure> {
        let Some((name, password)) = &self.state.account else {
            return Ok(None);
        };
        let mut token = self.token.lock().unwrap_or_else(PoisonError::into_inner);
        if token.is_none() {
            let question = json!({"name": name, "password": password.expose()});
            let answer = self.post(
                agent,
                &format!("{endpoint}/v3/auth/authenticate"),
                None,
                &question,
            )?;
            *token = answer["token"].as_str().map(str::to_owned);
        }
        Ok(token.clone())
    }

    fn post(
        &self,
        agent: &Agent,
        url: &str,
        token: Option<&str>,
        question: &Value,
    ) -> Result<Value, Failure> {
        let elsewhere = |error: ureq::Error| Failure::Elsewhere(self.words(&error));
        let text = serde_json::to_vec(question).map_err(|error| Failure::Refused(error.to_string()))?;
        let mut request = agent.post(url).header("Content-Type", "application/json");
        if let Some(token) = token {
            request = request.header("Authorization", token);
        }
        let mut response = request.send(&text[..]).map_err(elsewhere)?;
        let status = response.status().as_u16();
        let body = response.body_mut().with_config().limit(MOST_BYTES).read_to_vec();
        let body = body.map_err(elsewhere)?;
        let answer: Value = serde_json::from_slice(&body).unwrap_or(Value::Null);
        if status == 200 && answer.is_object() {
            return Ok(answer);
        }
        let said = ["message", "error"]
            .iter()
            .find_map(|field| answer[field].as_str());
        let reason = said.map_or_else(
            || format!("it answers with HTTP status {status}, as no etcd does"),
            |said| format!("{said} (HTTP status {status})"),
        );
        Err(match status {
            UNAUTHENTICATED => Failure::Unknown(reason),
            500.. => Failure::Elsewhere(reason),
            _ => Failure::Refused(reason),
        })
    }

    fn agent(&self) -> Result<Agent, CellError> {
        let mut made = self.agent.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(agent) = &*made {
            return Ok(agent.clone());
        }
        let patience = Some(self.state.patience);
        let config = Agent::config_builder()
            .timeout_connect(patience)
            .timeout_global(patience)
            .http_status_as_error(false)
            .max_redirects(0)
            .proxy(None)
            .tls_config(self.tls()?)
            .build();
        let agent = Agent::new_with_config(config);
        *made = Some(agent.clone());
        Ok(agent)
    }

    fn tls(&self) -> Result<TlsConfig, CellError> {
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let mut config = TlsConfig::builder()
            .provider(TlsProvider::Rustls)
            .unversioned_rustls_crypto_provider(provider);
        let authorities = match &self.state.authorities {
            Some(path) => certificates(path)?,
            None => Vec::new(),
        };
        config = config.root_certs(RootCerts::new_with_certs(&authorities));
        if let Some((certificate, key)) = &self.state.certificate {
            let certificate = ClientCert::new_with_certs(&certificates(certificate)?, private_key(key)?);
            config = config.client_cert(Some(certificate));
        }
        Ok(config.build())
    }

    /// Why there is no answer.
    fn words(&self, error: &ureq::Error) -> String {
        let ureq::Error::Io(cause) = error else {
            return match error {
                ureq::Error::Timeout(_) => "no answer in time".to_owned(),
                other => other.to_string(),
            };
        };
        if cause.kind() == io::ErrorKind::ConnectionRefused {
            return "connection refused: nothing listens there".to_owned();
        }
        // A server that wants a certificate refuses after the client's end of the handshake (TLS 1.3): its alert is read, or
        // lost where the connection was closed before the question was written.
        match self.state.certificate {
            None if self.state.authorities.is_some() => {
                format!(
                    "{error}; where this etcd asks for a certificate, `certificate` and `certificate_key` beside `etcd` name one"
                )
            }
            _ => error.to_string(),
        }
    }
}

fn certificates(path: &Path) -> Result<Vec<Certificate<'static>>, CellError> {
    let mut found = Vec::new();
    for item in items(path)? {
        if let PemItem::Certificate(certificate) = item {
            found.push(certificate);
        }
    }
    match found.is_empty() {
        true => Err(unusable(path, "it holds no certificate")),
        false => Ok(found),
    }
}

fn private_key(path: &Path) -> Result<PrivateKey<'static>, CellError> {
    let keys = items(path)?.into_iter().filter_map(|item| match item {
        PemItem::PrivateKey(key) => Some(key),
        _ => None,
    });
    let mut keys = keys;
    keys.next()
        .ok_or_else(|| unusable(path, "it holds no private key"))
}

fn items(path: &Path) -> Result<Vec<PemItem<'static>>, CellError> {
    let text = fs::read(path).map_err(|error| unusable(path, &error.to_string()))?;
    let items: Result<Vec<_>, _> = parse_pem(&text).collect();
    items.map_err(|error| unusable(path, &error.to_string()))
}

fn unusable(path: &Path, reason: &str) -> CellError {
    CellError::Failed(format!("{}: {reason}", path.display()))
}
