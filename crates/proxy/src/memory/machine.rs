//! How much memory there is: what the machine has, or what the control group may take.

use std::fs;
use std::path::Path;

/// Bytes of memory for this process; `None` where the system does not tell.
pub(crate) fn available() -> Option<usize> {
    available_under(Path::new("/"))
}

fn available_under(root: &Path) -> Option<usize> {
    let machine = fs::read_to_string(root.join("proc/meminfo")).ok();
    let machine = machine.as_deref().and_then(of_meminfo);
    let groups = fs::read_to_string(root.join("proc/self/cgroup")).unwrap_or_default();
    let limits = groups.lines().filter_map(|line| of_group(root, line));
    machine.into_iter().chain(limits).min()
}

/// `MemTotal:       24684000 kB`
fn of_meminfo(text: &str) -> Option<usize> {
    let line = text.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    let kib: usize = line.split_whitespace().next()?.parse().ok()?;
    kib.checked_mul(1024)
}

/// The smallest limit of a group and of those around it. A line is `0::/system.slice/px.service` (version 2) or `4:memory:/docker/1f…`
/// (version 1). In a container, the path need not exist below the mount: the limit is that of the mount then.
fn of_group(root: &Path, line: &str) -> Option<usize> {
    let mut parts = line.splitn(3, ':').skip(1);
    let (controllers, path) = (parts.next()?, parts.next()?);
    let (mount, file) = match controllers {
        "" => ("sys/fs/cgroup", "memory.max"),
        _ if controllers.split(',').any(|name| name == "memory") => {
            ("sys/fs/cgroup/memory", "memory.limit_in_bytes")
        }
        _ => return None,
    };
    let path = Path::new(path.trim_start_matches('/'));
    let limits = path.ancestors().filter_map(|path| {
        let limit = fs::read_to_string(root.join(mount).join(path).join(file)).ok()?;
        // `max`: no limit. Version 1 has a number that no machine reaches.
        limit.trim().parse().ok()
    });
    limits.min()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn available_with(files: &[(&str, &str)]) -> Option<usize> {
        let root = tempfile::tempdir().unwrap();
        for (path, content) in files {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, content).unwrap();
        }
        available_under(root.path())
    }

    const MACHINE: (&str, &str) = ("proc/meminfo", "MemTotal:        8388608 kB\nMemFree: 1 kB\n");

    #[test]
    fn the_smallest_limit_holds() {
        let of_2 = ("proc/self/cgroup", "0::/system.slice/px.service\n");
        let of_1 = (
            "proc/self/cgroup",
            "5:cpu:/a\n4:memory,hugetlb:/docker/1f\n0::/\n",
        );
        let service = "sys/fs/cgroup/system.slice/px.service/memory.max";
        let slice = "sys/fs/cgroup/system.slice/memory.max";
        for (what, files, expected) in [
            ("nothing", &[][..], None),
            ("a machine", &[MACHINE], Some(8 << 30)),
            (
                "a service without a limit",
                &[MACHINE, of_2, (service, "max\n")],
                Some(8 << 30),
            ),
            (
                "a service",
                &[MACHINE, of_2, (service, "1073741824\n")],
                Some(1 << 30),
            ),
            (
                "the slice around it",
                &[MACHINE, of_2, (service, "1073741824\n"), (slice, "536870912\n")],
                Some(512 << 20),
            ),
            (
                "a container that sees its own group",
                &[MACHINE, of_2, ("sys/fs/cgroup/memory.max", "268435456\n")],
                Some(256 << 20),
            ),
            (
                "version 1",
                &[
                    MACHINE,
                    of_1,
                    (
                        "sys/fs/cgroup/memory/docker/1f/memory.limit_in_bytes",
                        "536870912\n",
                    ),
                ],
                Some(512 << 20),
            ),
            (
                "version 1 without a limit",
                &[
                    MACHINE,
                    of_1,
                    (
                        "sys/fs/cgroup/memory/memory.limit_in_bytes",
                        "9223372036854771712\n",
                    ),
                ],
                Some(8 << 30),
            ),
        ] {
            assert_eq!(available_with(files), expected, "{what}");
        }
    }

    #[test]
    fn this_machine_tells() {
        assert!(available().is_some_and(|bytes| bytes > 64 << 20));
    }
}
