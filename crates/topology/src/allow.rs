//! Allow files of the firewall: lines of digests and example statements, read before anything is resolved.

use std::sync::Arc;

use rustc_hash::FxHashMap;
use shardwright_diagnostics::{FileId, Sources};
use shardwright_documents::Node;

use crate::data::{self, Kind, ReadData};
use crate::fields::AnyField;
use crate::report::Report;
use crate::resolve::firewall::{allow, firewall};
use crate::resolve::root;
use crate::variables::Variables;

/// The allow files that the firewall names, by path. None for one that cannot be read, which has been reported.
#[derive(Debug, Default)]
pub(crate) struct AllowFiles {
    by_path: FxHashMap<String, Option<(FileId, Arc<str>)>>,
}

impl AllowFiles {
    /// The file and its text.
    pub(crate) fn get(&self, path: &str) -> Option<(FileId, Arc<str>)> {
        self.by_path.get(path)?.clone()
    }
}

/// Reads the files that `firewall.NAME.allow.file` below `roots` name.
pub(crate) fn read_all<'n>(
    roots: impl Iterator<Item = &'n Node>,
    variables: &Variables,
    read: &mut ReadData<'_>,
    sources: &mut Sources,
    report: &mut Report,
) -> AllowFiles {
    let mut files = AllowFiles::default();
    for (path, text) in data::texts(roots.flat_map(named), Kind::Allow, variables, read, report) {
        let file = text.map(|text| {
            let text: Arc<str> = text.into();
            (sources.add(&*path, &*text), text)
        });
        files.by_path.insert(path, file);
    }
    files
}

fn named(root: &Node) -> Vec<&Node> {
    let section = root
        .as_mapping()
        .and_then(|mapping| mapping.entry(root::FIREWALL.name()));
    let users = section.and_then(|section| section.value.as_mapping());
    users
        .into_iter()
        .flatten()
        .filter_map(|user| {
            let allow = user.value.as_mapping()?.entry(firewall::ALLOW.name())?;
            Some(&allow.value.as_mapping()?.entry(allow::FILE.name())?.value)
        })
        .collect()
}
