//! Processor time of threads, processes and groups of processes.

use std::fs;
use std::io;
use std::time::Duration;

use nix::errno::Errno;
use nix::sys::resource::{UsageWho, getrusage};
use nix::time::{ClockId, clock_gettime};

/// The processes of group `group`, as `/proc` lists them now.
///
/// # Errors
/// Fails when `/proc` cannot be read.
pub fn processes_of_group(group: u32) -> io::Result<Vec<u32>> {
    let mut processes = Vec::new();
    for entry in fs::read_dir("/proc")? {
        let Some(id) = entry?.file_name().to_str().and_then(|name| name.parse().ok()) else {
            continue;
        };
        let Some(stat) = unless_ended(fs::read_to_string(format!("/proc/{id}/stat")))? else {
            continue;
        };
        // proc(5): pid (name) state ppid pgrp; a name may hold spaces and parentheses.
        let after_name = stat.rfind(')').map_or("", |end| &stat[end + 1..]);
        if after_name
            .split_whitespace()
            .nth(2)
            .and_then(|field| field.parse().ok())
            == Some(group)
        {
            processes.push(id);
        }
    }
    Ok(processes)
}

/// Time all threads of the processes of `group` have run on a processor so far; threads that have ended are not in it.
///
/// `/proc/PID/task/*/schedstat` is used because `/proc/PID/stat` counts ticks of 10 ms. Its first field is the time on
/// the processor in nanoseconds (`Documentation/scheduler/sched-stats.rst`).
///
/// # Errors
/// Fails when the group has no process, or its threads may not be read.
pub fn cpu_time_of_group(group: u32) -> io::Result<Duration> {
    let processes = processes_of_group(group)?;
    if processes.is_empty() {
        return Err(io::Error::new(
            io::ErrorKind::NotFound,
            format!("no process in group {group}"),
        ));
    }
    let mut nanoseconds = 0;
    for process in processes {
        nanoseconds += nanoseconds_of_process(process)?;
    }
    Ok(Duration::from_nanos(nanoseconds))
}

fn nanoseconds_of_process(process: u32) -> io::Result<u64> {
    let Some(tasks) = unless_ended(fs::read_dir(format!("/proc/{process}/task")))? else {
        return Ok(0);
    };
    let mut nanoseconds = 0;
    for task in tasks {
        let Some(task) = unless_ended(task)? else { continue };
        let path = task.path().join("schedstat");
        let Some(text) = unless_ended(fs::read_to_string(&path))? else {
            continue;
        };
        let first = text
            .split_whitespace()
            .next()
            .and_then(|field| field.parse::<u64>().ok());
        nanoseconds += first.ok_or_else(|| io::Error::other(format!("{}: {text:?}", path.display())))?;
    }
    Ok(nanoseconds)
}

/// A process or thread may end between two readings; that is no error.
fn unless_ended<T>(read: io::Result<T>) -> io::Result<Option<T>> {
    match read {
        Ok(value) => Ok(Some(value)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) if error.raw_os_error() == Some(Errno::ESRCH as i32) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Time the children of this process that were waited for have run, in user and kernel mode.
///
/// # Errors
/// Fails when the kernel does not say.
pub fn cpu_time_of_children() -> io::Result<Duration> {
    let usage = getrusage(UsageWho::RUSAGE_CHILDREN)?;
    let total = usage.user_time() + usage.system_time();
    let seconds = u64::try_from(total.tv_sec()).map_err(io::Error::other)?;
    Ok(Duration::from_secs(seconds)
        + Duration::from_micros(u64::try_from(total.tv_usec()).map_err(io::Error::other)?))
}

/// Time that this thread has run so far, to the nanosecond: `getrusage` counts ticks.
pub(crate) fn thread_cpu_time() -> Duration {
    clock(ClockId::CLOCK_THREAD_CPUTIME_ID)
}

/// Time that the threads of this process have run so far, to the nanosecond.
pub(crate) fn own_cpu_time() -> Duration {
    clock(ClockId::CLOCK_PROCESS_CPUTIME_ID)
}

fn clock(id: ClockId) -> Duration {
    clock_gettime(id)
        .expect("Linux has a clock of every thread and process for itself")
        .into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::process::CommandExt;
    use std::path::Path;
    use std::process::Command;

    use shardwright_testkit::{GuardedProcess, eventually};

    #[test]
    fn what_a_process_of_the_group_works_is_counted() {
        let mut shell = Command::new("/bin/sh");
        // The group's first process only waits; the work is done by one that it started.
        let mut process = GuardedProcess::spawn(
            shell.args(["-c", "(while :; do :; done) & wait"]),
            Path::new("/nonexistent"),
        )
        .unwrap();
        eventually(Duration::from_secs(20), || {
            processes_of_group(process.id()).unwrap().len() == 2
        });
        let before = cpu_time_of_group(process.id()).unwrap();
        eventually(Duration::from_secs(60), || {
            cpu_time_of_group(process.id()).unwrap() > before + Duration::from_millis(20)
        });
        process.kill().unwrap();
        eventually(Duration::from_secs(20), || {
            cpu_time_of_group(process.id()).is_err()
        });
    }

    #[test]
    fn children_that_ended_are_counted() {
        let before = cpu_time_of_children().unwrap();
        let mut shell = Command::new("/bin/sh");
        shell
            .args(["-c", "i=0; while [ $i -lt 50000 ]; do i=$((i+1)); done"])
            .process_group(0);
        assert!(shell.status().unwrap().success());
        assert!(cpu_time_of_children().unwrap() > before);
    }
}
