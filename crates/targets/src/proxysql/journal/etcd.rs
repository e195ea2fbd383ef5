//! Values by name in etcd.
//!
//! Every write is a transaction that compares the key of the lock first, so it writes nothing once the lock is somebody
//! else's. The lock hangs on a lease of etcd, and goes with it.

mod client;
mod state;

use std::sync::OnceLock;
use std::time::Duration;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Value, json};

use self::client::Client;
pub use self::state::EtcdState;
use super::cells::{CellError, Cells, Held, after};

/// The version of the keys; raised when an old program would misread new ones.
const VERSION: &str = "1";
const VERSION_KEY: &str = "shardwright/version";
/// How many values are asked for at first; each has at most half a megabyte.
const PAGE: usize = 32;
/// Pages grow until they are so large, in bytes: notes of runs are small and many.
const FULL_PAGE: usize = 1 << 20;
/// By how much they grow.
const GROWTH: usize = 8;

#[derive(Debug)]
pub(super) struct EtcdCells {
    client: Client,
    place: String,
    prefix: String,
    is_checked: OnceLock<()>,
}

/// A value as etcd keeps it.
struct Kept {
    name: String,
    value: Vec<u8>,
    lease: String,
}

impl EtcdCells {
    pub(super) fn new(state: EtcdState) -> Self {
        Self {
            place: state.endpoints.join(", "),
            prefix: format!("shardwright/{}/", state.project),
            client: Client::new(state),
            is_checked: OnceLock::new(),
        }
    }

    fn call(&self, path: &str, question: &Value) -> Result<Value, CellError> {
        self.check_version()?;
        self.client.call(path, question)
    }

    /// Writes the version where there is none, and refuses that of a newer program.
    fn check_version(&self) -> Result<(), CellError> {
        if self.is_checked.get().is_some() {
            return Ok(());
        }
        let key = encoded(VERSION_KEY.as_bytes());
        let answer = self.client.call(
            "/v3/kv/txn",
            &json!({
                "compare": [{"key": key, "target": "CREATE", "result": "EQUAL", "create_revision": "0"}],
                "success": [{"request_put": {"key": key, "value": encoded(VERSION.as_bytes())}}],
                "failure": [{"request_range": {"key": key}}],
            }),
        )?;
        if !succeeded(&answer) {
            let found = found(&answer["responses"][0]["response_range"])?;
            let found = found
                .first()
                .map(|kept| String::from_utf8_lossy(&kept.value).into_owned());
            if found.as_deref() != Some(VERSION) {
                return Err(CellError::Failed(format!(
                    "its keys have version {}, this program reads {VERSION}: use the newer program that wrote them",
                    found.unwrap_or_else(|| "unknown".to_owned())
                )));
            }
        }
        let _set = self.is_checked.set(());
        Ok(())
    }

    fn key(&self, name: &str) -> String {
        encoded(format!("{}{name}", self.prefix).as_bytes())
    }

    fn lock_key(&self) -> String {
        self.key("lock")
    }

    /// Does something where the lock is this one; whether it was.
    fn if_held(&self, lock: &[u8], then: &Value) -> Result<bool, CellError> {
        let question = json!({
            "compare": [{"key": self.lock_key(), "target": "VALUE", "result": "EQUAL", "value": encoded(lock)}],
            "success": [then],
        });
        self.call("/v3/kv/txn", &question)
            .map(|answer| succeeded(&answer))
    }

    fn kept_lock(&self) -> Result<Option<Kept>, CellError> {
        let answer = self.call("/v3/kv/range", &json!({"key": self.lock_key()}))?;
        Ok(found(&answer)?.into_iter().next())
    }

    fn held_by(&self, kept: Kept) -> Result<Held, CellError> {
        let answer = self.call("/v3/lease/timetolive", &json!({"ID": kept.lease}))?;
        let left = answer["TTL"].as_str().and_then(|left| left.parse().ok());
        Ok(Held {
            lock: kept.value,
            expires_in: Duration::from_secs(left.unwrap_or(0)),
        })
    }

    fn lost(&self) -> CellError {
        let held = self.held().ok().flatten().and_then(|held| held.holder());
        CellError::NotLocked(match held {
            Some(holder) => format!("now it is held by {holder}"),
            None => "it has expired, or was broken".to_owned(),
        })
    }
}

impl Cells for EtcdCells {
    fn place(&self) -> &str {
        &self.place
    }

    fn put(&self, lock: &[u8], name: &str, value: &[u8]) -> Result<(), CellError> {
        let put = json!({"request_put": {"key": self.key(name), "value": encoded(value)}});
        match self.if_held(lock, &put)? {
            true => Ok(()),
            false => Err(self.lost()),
        }
    }

    fn remove(&self, lock: &[u8], from: &str, end: &[u8]) -> Result<(), CellError> {
        let end = [self.prefix.as_bytes(), end].concat();
        let range = json!({"key": self.key(from), "range_end": encoded(&end)});
        match self.if_held(lock, &json!({"request_delete_range": range}))? {
            true => Ok(()),
            false => Err(self.lost()),
        }
    }

    fn get(&self, name: &str) -> Result<Option<Vec<u8>>, CellError> {
        let answer = self.call("/v3/kv/range", &json!({"key": self.key(name)}))?;
        Ok(found(&answer)?.into_iter().next().map(|kept| kept.value))
    }

    fn list(&self, prefix: &str) -> Result<Vec<(String, Vec<u8>)>, CellError> {
        let prefix = format!("{}{prefix}", self.prefix);
        let (mut from, end) = (prefix.as_bytes().to_vec(), encoded(&after(&prefix)));
        let mut revision = "0".to_owned();
        let mut all = Vec::new();
        let mut page = PAGE;
        loop {
            let question =
                json!({"key": encoded(&from), "range_end": end, "limit": page, "revision": revision});
            let answer = self.call("/v3/kv/range", &question)?;
            // All pages are of one moment.
            if let Some(first) = answer["header"]["revision"].as_str().filter(|_| revision == "0") {
                revision = first.to_owned();
            }
            let mut bytes = 0;
            for kept in found(&answer)? {
                bytes += kept.value.len();
                from = [kept.name.as_bytes(), &[0]].concat();
                let name = kept.name.strip_prefix(&prefix).unwrap_or_default().to_owned();
                all.push((name, kept.value));
            }
            if answer["more"] != true {
                return Ok(all);
            }
            if bytes * GROWTH <= FULL_PAGE {
                page *= GROWTH;
            }
        }
    }

    fn acquire(&self, lock: &[u8], period: Duration) -> Result<Option<Held>, CellError> {
        let granted = self.call("/v3/lease/grant", &json!({"TTL": period.as_secs().max(1)}))?;
        let lease = granted["ID"].as_str().ok_or_else(|| unclear("a lease"))?;
        let key = self.lock_key();
        let question = json!({
            "compare": [{"key": key, "target": "CREATE", "result": "EQUAL", "create_revision": "0"}],
            "success": [{"request_put": {"key": key, "value": encoded(lock), "lease": lease}}],
            "failure": [{"request_range": {"key": key}}],
        });
        let answer = self.call("/v3/kv/txn", &question)?;
        if succeeded(&answer) {
            return Ok(None);
        }
        let kept = found(&answer["responses"][0]["response_range"])?;
        match kept.into_iter().next() {
            // The first answer was lost.
            Some(kept) if kept.value == lock => Ok(None),
            Some(kept) => self.held_by(kept).map(Some),
            None => Err(unclear("the lock")),
        }
    }

    fn renew(&self, lock: &[u8], _period: Duration) -> Result<(), CellError> {
        let kept = self.kept_lock()?.filter(|kept| kept.value == lock);
        let kept = kept.ok_or_else(|| self.lost())?;
        let answer = self.call("/v3/lease/keepalive", &json!({"ID": kept.lease}))?;
        let left = answer["result"]["TTL"].as_str().unwrap_or("0");
        match left == "0" {
            true => Err(self.lost()),
            false => Ok(()),
        }
    }

    fn release(&self, lock: &[u8]) -> Result<bool, CellError> {
        self.if_held(lock, &json!({"request_delete_range": {"key": self.lock_key()}}))
    }

    fn held(&self) -> Result<Option<Held>, CellError> {
        let kept = self.kept_lock()?;
        kept.map(|kept| self.held_by(kept)).transpose()
    }
}

fn succeeded(answer: &Value) -> bool {
    answer["succeeded"] == true
}

/// The values of a range.
fn found(range: &Value) -> Result<Vec<Kept>, CellError> {
    let values = range["kvs"].as_array().map_or(&[][..], Vec::as_slice);
    values.iter().map(kept).collect()
}

fn kept(value: &Value) -> Result<Kept, CellError> {
    let bytes = |field: &str| {
        let text = value[field].as_str().unwrap_or_default();
        BASE64_STANDARD.decode(text).map_err(|_| unclear("a value"))
    };
    Ok(Kept {
        name: String::from_utf8(bytes("key")?).map_err(|_| unclear("a key"))?,
        value: bytes("value")?,
        lease: value["lease"].as_str().unwrap_or("0").to_owned(),
    })
}

fn unclear(what: &str) -> CellError {
    CellError::Failed(format!("etcd was asked for {what}, and answers something else"))
}

fn encoded(bytes: &[u8]) -> String {
    BASE64_STANDARD.encode(bytes)
}
