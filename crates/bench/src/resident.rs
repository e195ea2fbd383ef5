//! Memory that processes hold, in KiB; 0 where the kernel does not say.

use nix::sys::resource::{UsageWho, getrusage};

/// The largest resident set of any child so far; it only grows, so sizes are measured from small to large.
pub(crate) fn children_peak_kib() -> u64 {
    let usage = getrusage(UsageWho::RUSAGE_CHILDREN);
    usage.map_or(0, |usage| u64::try_from(usage.max_rss()).unwrap_or(0))
}

/// The largest resident set of this process since [`forget_own_peak`] (proc(5), VmHWM).
pub(crate) fn own_peak_kib() -> u64 {
    own_status("VmHWM:")
}

/// Makes the present resident set the largest (proc(5), clear_refs).
///
/// # Errors
/// The kernel does not let it.
pub(crate) fn forget_own_peak() -> std::io::Result<()> {
    std::fs::write("/proc/self/clear_refs", "5")
}

/// The resident set of this process (proc(5), VmRSS).
pub(crate) fn own_kib() -> u64 {
    own_status("VmRSS:")
}

fn own_status(field: &str) -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix(field));
    line.and_then(|value| value.split_whitespace().next()?.parse().ok())
        .unwrap_or(0)
}
