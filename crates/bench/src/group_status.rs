//! What the kernel says of the processes of a group: context switches, memory, threads (proc(5)).

use std::fs;
use std::io;

use crate::cpu_time::processes_of_group;

/// Context switches of all threads so far, voluntary and not.
pub(crate) fn switches(group: u32) -> io::Result<u64> {
    let mut count = 0;
    for process in processes_of_group(group)? {
        for task in fs::read_dir(format!("/proc/{process}/task"))? {
            // A thread may end between two readings.
            let Ok(status) = fs::read_to_string(task?.path().join("status")) else {
                continue;
            };
            count +=
                field(&status, "voluntary_ctxt_switches:") + field(&status, "nonvoluntary_ctxt_switches:");
        }
    }
    Ok(count)
}

/// The resident set.
pub(crate) fn resident_kib(group: u32) -> io::Result<u64> {
    sum(group, "VmRSS:")
}

/// Threads.
pub(crate) fn threads(group: u32) -> io::Result<u64> {
    sum(group, "Threads:")
}

/// A number in the status of all processes, added up.
fn sum(group: u32, name: &str) -> io::Result<u64> {
    let mut total = 0;
    for process in processes_of_group(group)? {
        total += field(&fs::read_to_string(format!("/proc/{process}/status"))?, name);
    }
    Ok(total)
}

fn field(status: &str, name: &str) -> u64 {
    let value = status.lines().find_map(|line| line.strip_prefix(name));
    value
        .and_then(|value| value.split_whitespace().next()?.parse().ok())
        .unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;
    use std::process::Command;
    use std::time::Duration;

    use shardwright_testkit::{GuardedProcess, eventually};

    #[test]
    fn fields_are_read_by_their_whole_name() {
        let status = "VmHWM:\t    2048 kB\nVmRSS:\t    1024 kB\nThreads:\t3\nvoluntary_ctxt_switches:\t5\n\
                      nonvoluntary_ctxt_switches:\t7\n";
        assert_eq!(field(status, "VmRSS:"), 1_024);
        assert_eq!(field(status, "voluntary_ctxt_switches:"), 5);
        assert_eq!(field(status, "nonvoluntary_ctxt_switches:"), 7);
        assert_eq!(field(status, "VmSwap:"), 0);
    }

    #[test]
    fn a_group_that_runs_has_threads_and_memory() {
        let mut shell = Command::new("/bin/sh");
        let process =
            GuardedProcess::spawn(shell.args(["-c", "sleep 600 & wait"]), Path::new("/nonexistent")).unwrap();
        let group = process.id();
        eventually(Duration::from_secs(20), || threads(group).unwrap() == 2);
        assert!(resident_kib(group).unwrap() > 0);
        assert!(switches(group).unwrap() > 0);
    }
}
