//! Where clients of a measurement log in, and with what.

use std::path::{Path, PathBuf};
use std::time::Duration;

use mysql::{Opts, OptsBuilder, SslOpts};
use shardwright_rules::SecretReference;
use shardwright_secrets::{Access, Secret, resolve};
use url::Url;

use crate::args::{BenchFailover, Encryption};
use crate::error::CommandError;

/// The variable with the password.
const PASSWORD: &str = "SHARDWRIGHT_BENCH_PASSWORD";
const DEFAULT_PORT: u16 = 3306;

/// The passwords of the command line.
pub(super) struct Logins<'a> {
    args: &'a BenchFailover,
    target: Option<Secret>,
    check: Option<Secret>,
}

impl<'a> Logins<'a> {
    pub(super) fn read(args: &'a BenchFailover) -> Result<Self, CommandError> {
        let of_file = |path: &PathBuf| SecretReference::File(path.display().to_string());
        let variable = || std::env::var_os(PASSWORD).map(|_| SecretReference::Env(PASSWORD.to_owned()));
        let target = args.password_file.as_ref().map(of_file).or_else(variable);
        let check = args.check_password_file.as_ref().map(of_file);
        let found = |reference: Option<SecretReference>| {
            let secret = reference.map(|reference| resolve(&reference, &Access::from(Path::new(""))));
            secret
                .transpose()
                .map_err(|error| CommandError::failed(format!("the password: {error}")))
        };
        Ok(Self {
            args,
            target: found(target)?,
            check: found(check)?,
        })
    }

    pub(super) fn target(&self) -> Opts {
        self.options(&self.args.target, &self.target)
    }

    /// A server of `--check`; its user is the target's where it names none.
    pub(super) fn check(&self, server: &Url) -> Opts {
        let mut server = server.clone();
        if server.username().is_empty() {
            // A mysql:// URL with a host takes every name.
            let _taken = server.set_username(self.args.target.username());
        }
        self.options(
            &server,
            if self.check.is_some() {
                &self.check
            } else {
                &self.target
            },
        )
    }

    fn options(&self, url: &Url, password: &Option<Secret>) -> Opts {
        let patience = Some(Duration::from_secs(self.args.timeout));
        let tls = match self.args.tls {
            Encryption::Disabled => None,
            encryption => {
                let is_verified = encryption == Encryption::Verify;
                let tls = SslOpts::default()
                    .with_danger_accept_invalid_certs(!is_verified)
                    .with_danger_skip_domain_validation(!is_verified)
                    .with_root_cert_path(self.args.server_ca.clone());
                Some(tls)
            }
        };
        OptsBuilder::new()
            .user(Some(decoded(url.username())))
            .pass(password.as_ref().map(Secret::expose))
            .ip_or_hostname(Some(host(url)))
            .tcp_port(url.port().unwrap_or(DEFAULT_PORT))
            .prefer_socket(false)
            .stmt_cache_size(Some(0))
            .tcp_connect_timeout(patience)
            .read_timeout(patience)
            .write_timeout(patience)
            .ssl_opts(tls)
            .into()
    }
}

/// The host; an IPv6 address without its brackets.
fn host(url: &Url) -> String {
    let host = url.host_str().unwrap_or_default();
    host.trim_start_matches('[').trim_end_matches(']').to_owned()
}

/// The schema of a URL, if it names one.
pub(super) fn schema(url: &Url) -> Option<String> {
    let schema = decoded(url.path().trim_matches('/'));
    (!schema.is_empty()).then_some(schema)
}

/// A part of a URL without its escapes.
fn decoded(part: &str) -> String {
    let mut bytes = Vec::with_capacity(part.len());
    let mut rest = part.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        let code = after.get(..2).filter(|_| *first == b'%');
        let byte = code.and_then(|code| u8::from_str_radix(std::str::from_utf8(code).ok()?, 16).ok());
        bytes.push(byte.unwrap_or(*first));
        rest = if byte.is_some() { &after[2..] } else { after };
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_names_host_user_and_schema() {
        let url = Url::parse("mysql://a%40b@[::1]:6033/te%73t").unwrap();
        assert_eq!(host(&url), "::1");
        assert_eq!(decoded(url.username()), "a@b");
        assert_eq!(schema(&url), Some("test".to_owned()));
        let url = Url::parse("mysql://db2.internal").unwrap();
        assert_eq!((host(&url), schema(&url)), ("db2.internal".to_owned(), None));
        assert_eq!(decoded("100%"), "100%");
    }
}
