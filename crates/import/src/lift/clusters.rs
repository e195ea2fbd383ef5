//! Clusters while they are found.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use shardwright_rules::{
    Address, Cluster, ClusterKind, HostgroupId, Role, RolesBy, SlowReaders, UnknownLag, WriterServesReads,
};

/// Clusters found so far, and which of them each hostgroup belongs to, in which role.
#[derive(Default)]
pub(super) struct Clusters {
    pub(super) list: Vec<Cluster>,
    names: BTreeSet<String>,
    pub(super) owned: BTreeMap<HostgroupId, (Address, Role)>,
}

impl Clusters {
    pub(super) fn add(
        &mut self,
        wanted: String,
        address: Address,
        kind: ClusterKind,
        writer: HostgroupId,
        reader: Option<HostgroupId>,
        writer_serves_reads: WriterServesReads,
    ) {
        let name = match self.names.contains(&wanted) {
            true => format!("hg{writer}"),
            false => wanted,
        };
        self.names.insert(name.clone());
        self.owned.insert(writer, (address.clone(), Role::Writer));
        if let Some(reader) = reader {
            self.owned.insert(reader, (address.clone(), Role::Reader));
        }
        for other in kind
            .group()
            .into_iter()
            .flat_map(|group| [group.backup_writer, group.offline])
        {
            self.owned.entry(other).or_insert((address.clone(), Role::Writer));
        }
        self.list.push(Cluster {
            name: Arc::from(name),
            address,
            kind,
            writer,
            reader,
            writer_serves_reads,
            on_unknown: UnknownLag::default(),
            slow_readers: SlowReaders::default(),
            roles_by: RolesBy::Engine,
            candidates: Vec::new(),
        });
    }
}
