//! Where an etcd cluster is, and who asks it.

use std::path::PathBuf;
use std::time::Duration;

use shardwright_secrets::Secret;

/// An etcd cluster for the state of runs.
#[derive(Clone, Debug)]
pub struct EtcdState {
    /// Where its members are, `http://HOST:PORT` or `https://HOST:PORT`; the first that answers is asked.
    pub endpoints: Vec<String>,
    /// The account, where etcd asks for one, and its password.
    pub account: Option<(String, Secret)>,
    /// The authorities that sign certificates of its members, in PEM; needed for `https`.
    pub authorities: Option<PathBuf>,
    /// A certificate of ours and its key, in PEM, where etcd asks for one.
    pub certificate: Option<(PathBuf, PathBuf)>,
    /// The project whose runs these are.
    pub project: String,
    /// How long connecting may take, and an answer.
    pub patience: Duration,
}
