//! TLS: certificates and keys from files, for clients and towards servers, loaded anew while the proxy runs.
//!
//! What is loaded is a value that is replaced whole: files that cannot be used change nothing, and a connection keeps what
//! it began with. The names of the files stay what they were at the start.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arc_swap::ArcSwap;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, aws_lc_rs, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::server::{NoServerSessionStorage, WebPkiClientVerifier};
use rustls::{ClientConfig, DigitallySignedStruct, RootCertStore, ServerConfig, SignatureScheme};

/// Files of certificates and keys, in PEM.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TlsFiles {
    /// What clients are shown: the certificate and those that lead to its authority. Without it clients get no TLS.
    pub certificate: Option<PathBuf>,
    /// The private key of that certificate.
    pub key: Option<PathBuf>,
    /// Authorities whose certificates clients may show.
    pub client_ca: Option<PathBuf>,
    /// Authorities that certificates of servers are checked with.
    pub server_ca: Option<PathBuf>,
}

/// Why certificates cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// A file cannot be read, or holds something else.
    #[error("{path} cannot be used: {reason}")]
    File {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// One of the two is missing.
    #[error("a certificate for clients needs its key, and a key its certificate (--tls-cert and --tls-key)")]
    Half,
    /// A list of authorities without anything to show.
    #[error("clients show certificates only inside TLS: give --tls-cert and --tls-key too")]
    OnlyClientCa,
    /// They do not fit together.
    #[error("the certificate {certificate} and the key {key} cannot be used: {reason}")]
    Pair {
        /// The certificate.
        certificate: PathBuf,
        /// The key.
        key: PathBuf,
        /// Why.
        reason: rustls::Error,
    },
}

impl TlsError {
    fn file(path: &Path, reason: impl ToString) -> Self {
        Self::File {
            path: path.to_owned(),
            reason: reason.to_string(),
        }
    }
}

/// What files say now, and how they are read again.
#[derive(Debug)]
pub(crate) struct Tls {
    files: TlsFiles,
    loaded: ArcSwap<Loaded>,
}

/// What was made of the files.
#[derive(Debug)]
pub(crate) struct Loaded {
    /// For clients; none without a certificate.
    pub(crate) clients: Option<Arc<ServerConfig>>,
    /// Towards servers whose certificates are not checked.
    pub(crate) servers: Arc<ClientConfig>,
    /// Towards servers whose certificates are; none without authorities.
    pub(crate) verified_servers: Option<Arc<ClientConfig>>,
}

impl Tls {
    /// Reads the files.
    pub(crate) fn load(files: TlsFiles) -> Result<Self, TlsError> {
        let loaded = ArcSwap::from_pointee(Loaded::from_files(&files)?);
        Ok(Self { files, loaded })
    }

    /// Reads the files again. On an error what was loaded before stays.
    pub(crate) fn reload(&self) -> Result<(), TlsError> {
        self.loaded.store(Arc::new(Loaded::from_files(&self.files)?));
        Ok(())
    }

    pub(crate) fn loaded(&self) -> Arc<Loaded> {
        self.loaded.load_full()
    }
}

impl Loaded {
    fn from_files(files: &TlsFiles) -> Result<Self, TlsError> {
        let provider = Arc::new(aws_lc_rs::default_provider());
        let client_ca = files.client_ca.as_deref().map(authorities).transpose()?;
        let clients = match (&files.certificate, &files.key) {
            (Some(certificate), Some(key)) => {
                let config = for_clients(&provider, certificate, key, client_ca.map(Arc::new))?;
                Some(Arc::new(config))
            }
            (None, None) if client_ca.is_some() => return Err(TlsError::OnlyClientCa),
            (None, None) => None,
            _ => return Err(TlsError::Half),
        };
        let unverified = towards_servers(&provider)
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(Unverified(provider.clone())))
            .with_no_client_auth();
        let verified_servers = match files.server_ca.as_deref() {
            Some(path) => {
                let roots = authorities(path)?;
                let config = towards_servers(&provider)
                    .with_root_certificates(roots)
                    .with_no_client_auth();
                Some(Arc::new(config))
            }
            None => None,
        };
        Ok(Self {
            clients,
            servers: Arc::new(unverified),
            verified_servers,
        })
    }
}

fn for_clients(
    provider: &Arc<CryptoProvider>,
    certificate: &Path,
    key: &Path,
    client_ca: Option<Arc<RootCertStore>>,
) -> Result<ServerConfig, TlsError> {
    let chain = certificates(certificate)?;
    let private = PrivateKeyDer::from_pem_file(key).map_err(|error| TlsError::file(key, error))?;
    let pair = |reason| TlsError::Pair {
        certificate: certificate.to_owned(),
        key: key.to_owned(),
        reason,
    };
    let builder = ServerConfig::builder_with_provider(provider.clone())
        .with_safe_default_protocol_versions()
        .map_err(pair)?;
    let has_client_ca = client_ca.is_some();
    let builder = match client_ca {
        Some(roots) => {
            let verifier = WebPkiClientVerifier::builder_with_provider(roots, provider.clone())
                // Which users need a certificate is known once they have said who they are.
                .allow_unauthenticated()
                .build()
                .map_err(|error| pair(rustls::Error::General(error.to_string())))?;
            builder.with_client_cert_verifier(verifier)
        }
        None => builder.with_no_client_auth(),
    };
    let mut config = builder.with_single_cert(chain, private).map_err(pair)?;
    if has_client_ca {
        // A resumed session would bring a certificate of the first one, unchecked.
        config.session_storage = Arc::new(NoServerSessionStorage {});
        config.send_tls13_tickets = 0;
    }
    Ok(config)
}

fn towards_servers(
    provider: &Arc<CryptoProvider>,
) -> rustls::ConfigBuilder<ClientConfig, rustls::WantsVerifier> {
    ClientConfig::builder_with_provider(provider.clone())
        .with_safe_default_protocol_versions()
        .expect("the provider has cipher suites for TLS 1.2 and 1.3")
}

fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let read = CertificateDer::pem_file_iter(path).and_then(Iterator::collect::<Result<Vec<_>, _>>);
    match read {
        Ok(chain) if chain.is_empty() => Err(TlsError::file(path, "it holds no certificate in PEM")),
        Ok(chain) => Ok(chain),
        Err(error) => Err(TlsError::file(path, error)),
    }
}

fn authorities(path: &Path) -> Result<RootCertStore, TlsError> {
    let mut roots = RootCertStore::empty();
    for certificate in certificates(path)? {
        roots
            .add(certificate)
            .map_err(|error| TlsError::file(path, error))?;
    }
    Ok(roots)
}

/// The name that a server's certificate must have.
pub(crate) fn server_name(host: &str) -> io::Result<ServerName<'static>> {
    ServerName::try_from(host.to_owned()).map_err(|error| {
        io::Error::new(
            io::ErrorKind::InvalidInput,
            format!("{host} is no name that a certificate can have: {error}"),
        )
    })
}

/// Believes any certificate: the connection is encrypted, and who is at its end is not known. The handshake is checked all
/// the same: who shows a certificate has its key.
#[derive(Debug)]
struct Unverified(Arc<CryptoProvider>);

impl ServerCertVerifier for Unverified {
    fn verify_server_cert(
        &self,
        _end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.0.signature_verification_algorithms;
        verify_tls12_signature(message, certificate, signed, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.0.signature_verification_algorithms;
        verify_tls13_signature(message, certificate, signed, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}
