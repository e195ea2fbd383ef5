//! Allow files of the firewall: lines of digests and example statements, read before anything is resolved.

use std::sync::Arc;

use shardwright_diagnostics::Sources;
use shardwright_documents::Node;

use crate::fields::AnyField;
use crate::load::data_files::{FileUse, ReadData, texts};
use crate::reporter::Reporter;
use crate::resolve::firewall::{allow, firewall};
use crate::resolve::root;
use crate::tree::data::AllowFiles;
use crate::tree::variables::Variables;

/// Reads the files that `firewall.NAME.allow.file` below `roots` name.
pub(crate) fn read_all<'n>(
    roots: impl Iterator<Item = &'n Node>,
    variables: &Variables,
    read: &mut ReadData<'_>,
    sources: &mut Sources,
    report: &mut Reporter,
) -> AllowFiles {
    let mut files = AllowFiles::default();
    for (path, text) in texts(roots.flat_map(named), FileUse::Allow, variables, read, report) {
        let file = text.map(|text| {
            let text: Arc<str> = text.into();
            (sources.add(&*path, &*text), text)
        });
        files.insert(path, file);
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
