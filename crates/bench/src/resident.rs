//! Memory that processes hold, in KiB; 0 where the kernel does not say.

use nix::sys::resource::{UsageWho, getrusage};

/// The largest resident set of any child so far; it only grows, so sizes are measured from small to large.
pub(crate) fn children_peak_kib() -> u64 {
    peak_kib(UsageWho::RUSAGE_CHILDREN)
}

/// The largest resident set of this process so far.
pub(crate) fn own_peak_kib() -> u64 {
    peak_kib(UsageWho::RUSAGE_SELF)
}

fn peak_kib(who: UsageWho) -> u64 {
    getrusage(who).map_or(0, |usage| u64::try_from(usage.max_rss()).unwrap_or(0))
}

/// The resident set of this process (proc(5), VmRSS).
pub(crate) fn own_kib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    line.and_then(|value| value.split_whitespace().next()?.parse().ok())
        .unwrap_or(0)
}
