//! Real servers with stores in them, and runs to keep there.

use std::sync::OnceLock;
use std::time::Duration;

use serde_json::json;
use shardwright_plan::Base;
use shardwright_rules::{SecretReference, ServerTls};
use shardwright_secrets::Secret;
use shardwright_testkit::{Etcd, EtcdOptions, MariaDb, Options};
use tempfile::TempDir;

use crate::proxysql::change::{Aside, Change};
use crate::proxysql::journal::{
    End, EtcdState, Identity, Journal, KeyReference, LOCK_PERIOD, MySqlState, Owner, Phase, RunRecord,
};
use crate::proxysql::row::{Row, RowName};
use crate::server::ServerAddress;

pub(super) const PATIENCE: Duration = Duration::from_secs(60);
/// As ProxySQL stores it; nothing of it may lie in a store that others read.
pub(super) const HASH: &str = "*CA7A97D1E5F0CA7A97D1E5F0CA7A97D1E5F0CA7A";

/// Real servers, and the text of a key.
pub(super) struct Kit {
    pub(super) mariadb: MariaDb,
    pub(super) etcd: Etcd,
    pub(super) directory: TempDir,
}

/// A kind of store.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Kind {
    Directory,
    MySql,
    Etcd,
}

pub(super) const KINDS: [Kind; 3] = [Kind::Directory, Kind::MySql, Kind::Etcd];
pub(super) const SHARED: [Kind; 2] = [Kind::MySql, Kind::Etcd];

pub(super) fn kit() -> &'static Kit {
    static KIT: OnceLock<Kit> = OnceLock::new();
    KIT.get_or_init(|| {
        let options = Options::default().arg("--innodb-flush-log-at-trx-commit=1");
        let mariadb = MariaDb::start(options).unwrap();
        mariadb.run("CREATE DATABASE state").unwrap();
        mariadb
            .create_user("swstate", "pass", Some("ALL ON state.*"))
            .unwrap();
        let directory = tempfile::tempdir().unwrap();
        for name in ["key", "another"] {
            std::fs::write(directory.path().join(name), name.repeat(12)).unwrap();
        }
        Kit {
            mariadb,
            etcd: Etcd::start(EtcdOptions::default()).unwrap(),
            directory,
        }
    })
}

impl Kit {
    /// A journal of a project; `port` is another way to the store.
    pub(super) fn journal(&self, kind: Kind, project: &str, by: &str, port: Option<u16>) -> Journal {
        self.sealed(kind, project, by, port, "key", LOCK_PERIOD)
    }

    pub(super) fn sealed(
        &self,
        kind: Kind,
        project: &str,
        by: &str,
        port: Option<u16>,
        key: &str,
        period: Duration,
    ) -> Journal {
        let owner = Owner {
            by: by.to_owned(),
            at: "2026-11-25T12:00:00Z".to_owned(),
        };
        let key = KeyReference {
            reference: SecretReference::File(key.to_owned()),
            base: self.directory.path().to_owned(),
        };
        let project = project.to_owned();
        match kind {
            Kind::Directory => Journal::in_directory(&self.directory.path().join(project), owner),
            Kind::MySql => Journal::in_mysql(self.mysql(project, port), key, owner, period),
            Kind::Etcd => {
                let port = port.unwrap_or(self.etcd.address().port());
                let state = EtcdState {
                    endpoints: vec![format!("http://127.0.0.1:{port}")],
                    account: None,
                    authorities: None,
                    certificate: None,
                    project,
                    patience: Duration::from_secs(2),
                };
                Journal::in_etcd(state, key, owner, period)
            }
        }
    }

    fn mysql(&self, project: String, port: Option<u16>) -> MySqlState {
        MySqlState {
            server: ServerAddress {
                server: "state".into(),
                host: "127.0.0.1".to_owned(),
                port: port.unwrap_or(self.mariadb.port()),
                tls: ServerTls::Disabled,
                authorities: None,
            },
            database: "state".to_owned(),
            user: "swstate".to_owned(),
            password: Secret::new("pass".to_owned()),
            project,
            patience: Duration::from_secs(2),
        }
    }
}

/// A run that gives a user another password, and as many rows more.
pub(super) fn record(run: &str, rows: usize) -> RunRecord {
    let row = |text: String| Row {
        facts: json!({"variable_name": "v", "variable_value": text})
            .as_object()
            .unwrap()
            .clone(),
        secret: Some(Secret::new(HASH.to_owned())),
    };
    let change = |number: usize| Change {
        name: RowName::variable(&format!("mysql-{number}")),
        address: "project".into(),
        old: None,
        new: Some(row(format!("{:x}", mixed_up(number)))),
        reference: None,
        is_at_start: false,
        aside: Aside::Nothing,
    };
    let identity = Identity {
        run: run.to_owned(),
        by: "me@here".to_owned(),
        at: "2026-11-25T12:00:00Z".to_owned(),
        commit: None,
        is_uncommitted: false,
        apply: None,
        targets: Vec::new(),
    };
    let base = Base {
        generation: 4,
        fingerprint: "f".to_owned(),
        project: Some("shop".to_owned()),
    };
    let changes: Vec<Change> = (0..=rows).map(change).collect();
    let target = ("px", "127.0.0.1:6032".to_owned());
    RunRecord::new(
        identity,
        target,
        "desired",
        Some("shop".to_owned()),
        base,
        &changes,
    )
}

/// A number that does not compress.
pub(super) fn mixed_up(number: usize) -> u128 {
    let mut mixed = number as u128 + 1;
    for _ in 0..4 {
        mixed = mixed
            .wrapping_mul(0x2545_f491_4f6c_dd1d_0123_4567_89ab_cdef)
            .rotate_left(59)
            ^ 0x9e37_79b9;
    }
    mixed
}

pub(super) fn ended(end: End) -> Phase {
    Phase::Ended {
        end,
        message: "so it is".to_owned(),
    }
}
