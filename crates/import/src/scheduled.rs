//! Clusters whose servers a program moves between hostgroups. No table of ProxySQL says that they belong together.

use shardwright_diagnostics::Span;
use shardwright_rules::{Failback, HostgroupId, WriterServesReads};

/// A cluster of Galera, as the file of the program says that moves its servers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scheduled {
    /// Where writes go.
    pub writer: HostgroupId,
    /// Where reads go.
    pub reader: HostgroupId,
    /// What `pxc_scheduler_handler` has besides.
    pub kept: Option<Kept>,
    /// How many servers write at once; at least 1.
    pub writers: u32,
    /// Whether the writer answers reads.
    pub writer_serves_reads: WriterServesReads,
    /// Whether a better writer that came back takes over.
    pub failback: Failback,
    /// Where the file names the writers.
    pub place: Span,
}

/// Hostgroups that no statement goes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kept {
    /// Rows that are never moved: what each server is as a writer. The one of the highest weight is wanted most.
    pub writer_templates: HostgroupId,
    /// What each server is as a reader.
    pub reader_templates: HostgroupId,
    /// Former writers that are out.
    pub out_of_writers: HostgroupId,
    /// Former readers that are out.
    pub out_of_readers: HostgroupId,
}
