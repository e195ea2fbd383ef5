//! Certificates, and clients that speak TLS 1.3 alike to everybody.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::client::Resumption;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, aws_lc_rs};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme};
use shardwright_testkit::{Authority, Options, Pair};

use super::targets::Target;
use crate::BenchError;
use crate::wire_client::Security;

/// An authority and a certificate of it for 127.0.0.1 with an elliptic curve (P-256).
pub(crate) struct Certificates {
    authority: Authority,
    pub(crate) pair: Pair,
    /// The certificate and its key in one file, as HAProxy reads them.
    pub(crate) joined: PathBuf,
}

/// Targets, and how clients speak with each of them.
#[derive(Default)]
pub(super) struct Secured {
    targets: Vec<Target>,
    securities: Vec<Security>,
}

impl Secured {
    pub(super) fn push(&mut self, target: Target, security: Security) {
        self.targets.push(target);
        self.securities.push(security);
    }

    pub(super) fn targets(&self) -> &[Target] {
        &self.targets
    }

    /// How clients speak with one of them.
    pub(super) fn security(&self, target: &Target) -> &Security {
        let is_it = |known: &Target| known.endpoint.name == target.endpoint.name;
        let at = self.targets.iter().position(is_it);
        &self.securities[at.expect("only these have turns")]
    }
}

impl Certificates {
    pub(crate) fn new() -> Result<Self, BenchError> {
        let failed = || BenchError::io("certificates");
        let authority = Authority::new().map_err(failed())?;
        let pair = authority.issue("bench", &["127.0.0.1"]).map_err(failed())?;
        let joined = pair.certificate.with_file_name("joined.pem");
        let text = [&pair.certificate, &pair.key].map(fs::read_to_string);
        let [certificate, key] = text;
        let text = certificate.map_err(failed())? + &key.map_err(failed())?;
        fs::write(&joined, text).map_err(failed())?;
        Ok(Self {
            authority,
            pair,
            joined,
        })
    }

    /// Options of a server that has the certificate. It runs as another user, who can read the copies in `directory`.
    pub(crate) fn server(&self, directory: &Path) -> Result<Options, BenchError> {
        let failed = || BenchError::io("a certificate for the server");
        let readable = |path: &Path, mode| fs::set_permissions(path, fs::Permissions::from_mode(mode));
        readable(directory, 0o755).map_err(failed())?;
        let mut options = Options::default();
        for (option, file) in [("ssl-cert", &self.pair.certificate), ("ssl-key", &self.pair.key)] {
            let copy = directory.join(option);
            fs::copy(file, &copy).map_err(failed())?;
            readable(&copy, 0o644).map_err(failed())?;
            options = options.arg(format!("--{option}={}", copy.display()));
        }
        Ok(options)
    }

    /// Clients that trust anybody, for a proxy that makes its own certificate.
    pub(crate) fn trusting(&self) -> Result<Arc<ClientConfig>, BenchError> {
        let mut config = ClientConfig::clone(&*self.clients(false)?);
        config.dangerous().set_certificate_verifier(Arc::new(Anybody));
        Ok(Arc::new(config))
    }

    /// Clients that trust it: TLS 1.3, AES-256-GCM, X25519. A session is resumed where they remember one, from one target only.
    pub(crate) fn clients(&self, resumes: bool) -> Result<Arc<ClientConfig>, BenchError> {
        let failed = |error: rustls::Error| BenchError::io("TLS of clients")(std::io::Error::other(error));
        let provider = CryptoProvider {
            cipher_suites: vec![aws_lc_rs::cipher_suite::TLS13_AES_256_GCM_SHA384],
            kx_groups: vec![aws_lc_rs::kx_group::X25519],
            ..aws_lc_rs::default_provider()
        };
        let root = CertificateDer::from_pem_file(self.authority.certificate())
            .map_err(|error| BenchError::io("the authority")(std::io::Error::other(error)))?;
        let mut roots = RootCertStore::empty();
        roots.add(root).map_err(failed)?;
        let mut config = ClientConfig::builder_with_provider(Arc::new(provider))
            .with_protocol_versions(&[&rustls::version::TLS13])
            .map_err(failed)?
            .with_root_certificates(roots)
            .with_no_client_auth();
        config.resumption = match resumes {
            true => Resumption::in_memory_sessions(256),
            false => Resumption::disabled(),
        };
        Ok(Arc::new(config))
    }
}

/// Believes every certificate: what is measured is memory.
#[derive(Debug)]
struct Anybody;

impl ServerCertVerifier for Anybody {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn verify_tls13_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        aws_lc_rs::default_provider()
            .signature_verification_algorithms
            .supported_schemes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use shardwright_testkit::{Forwarding, HaProxy, MariaDb};

    use crate::bundled::{PASSWORD, SCHEMA, USER};
    use crate::wire_client::{Security, WireClient};

    /// Whether each of three connections, one after the other, went on with a session of an earlier one.
    fn resumed(address: std::net::SocketAddr, security: &Security) -> [bool; 3] {
        [(); 3].map(|()| {
            let mut client = WireClient::connect(address, security).unwrap();
            assert_eq!(client.ask("SELECT 1").unwrap(), 1);
            let is_resumed = client.is_resumed();
            client.close().unwrap();
            is_resumed
        })
    }

    #[test]
    fn tls_begins_either_way_and_resumes_where_it_shall() {
        let certificates = Certificates::new().unwrap();
        let copies = tempfile::tempdir().unwrap();
        let options = certificates.server(copies.path()).unwrap();
        let server = MariaDb::start(options).unwrap();
        server.run(format!("CREATE DATABASE {SCHEMA}")).unwrap();
        server
            .create_user(USER, PASSWORD, Some(&format!("ALL ON {SCHEMA}.*")))
            .unwrap();
        let forwarding = Forwarding {
            server: server.address(),
            threads: 1,
            max_connections: 100,
            certificate: Some(&certificates.joined),
        };
        let haproxy = HaProxy::forwarding(&forwarding).unwrap();
        let [full, again] = [false, true].map(|resumes| certificates.clients(resumes).unwrap());
        let upgrade = Security::Upgrade(Arc::clone(&full));
        assert_eq!(resumed(server.address(), &upgrade), [false; 3]);
        let first_byte = Security::FromTheFirstByte(full);
        assert_eq!(resumed(haproxy.address(), &first_byte), [false; 3]);
        let first_byte = Security::FromTheFirstByte(again);
        assert_eq!(resumed(haproxy.address(), &first_byte), [false, true, true]);
    }
}
