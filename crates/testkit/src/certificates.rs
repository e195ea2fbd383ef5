//! Authorities and certificates of tests, as files.

use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair};
use tempfile::TempDir;

/// An authority that everything of a test trusts, or nothing. What it cannot make or write stops the test.
pub struct Authority {
    issuer: Issuer<'static, KeyPair>,
    directory: TempDir,
}

/// A certificate and its key.
#[derive(Clone, Debug)]
pub struct Pair {
    /// The certificate's file.
    pub certificate: PathBuf,
    /// The key's file.
    pub key: PathBuf,
}

impl Authority {
    /// A new authority, in a directory of its own.
    ///
    /// # Errors
    /// Fails when the files cannot be written or the keys not made.
    pub fn new() -> io::Result<Self> {
        let directory = tempfile::tempdir()?;
        // Servers run as another user.
        fs::set_permissions(directory.path(), fs::Permissions::from_mode(0o755))?;
        let key = KeyPair::generate().map_err(io::Error::other)?;
        let mut params = CertificateParams::new(Vec::new()).map_err(io::Error::other)?;
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params
            .distinguished_name
            .push(DnType::CommonName, "authority of a test");
        let certificate = params.self_signed(&key).map_err(io::Error::other)?;
        fs::write(directory.path().join("ca.pem"), certificate.pem())?;
        Ok(Self {
            issuer: Issuer::new(params, key),
            directory,
        })
    }

    /// Its own certificate.
    #[must_use]
    pub fn certificate(&self) -> PathBuf {
        self.directory.path().join("ca.pem")
    }

    /// A certificate for these names and addresses, in files of this name; files that are there are replaced.
    ///
    /// # Errors
    /// Fails when a host is no name, or the files cannot be written.
    pub fn issue(&self, name: &str, hosts: &[&str]) -> io::Result<Pair> {
        self.issue_into(self.directory.path(), name, hosts)
    }

    /// The same, in files of another directory.
    ///
    /// # Errors
    /// Fails when a host is no name, or the files cannot be written.
    pub fn issue_into(&self, directory: &Path, name: &str, hosts: &[&str]) -> io::Result<Pair> {
        let key = KeyPair::generate().map_err(io::Error::other)?;
        let hosts: Vec<String> = hosts.iter().map(|&host| host.to_owned()).collect();
        let mut params = CertificateParams::new(hosts).map_err(io::Error::other)?;
        params.distinguished_name.push(DnType::CommonName, name);
        let certificate = params.signed_by(&key, &self.issuer).map_err(io::Error::other)?;
        let pair = Pair {
            certificate: directory.join(format!("{name}.pem")),
            key: directory.join(format!("{name}.key")),
        };
        fs::write(&pair.certificate, certificate.pem())?;
        fs::write(&pair.key, key.serialize_pem())?;
        Ok(pair)
    }
}
