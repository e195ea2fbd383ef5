//! What the figures were measured on.

use std::fs;
use std::thread::available_parallelism;

use serde::Serialize;

/// The machine, as it says itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Machine {
    /// Processor model.
    pub processor: String,
    /// Processors this process may use.
    pub cores: usize,
    /// Memory in MiB.
    pub memory_mib: u64,
    /// Kernel release.
    pub kernel: String,
}

impl Machine {
    /// Reads `/proc`; what is not there is shown as unknown.
    #[must_use]
    pub fn here() -> Self {
        let unknown = || "unknown".to_owned();
        let memory_kib = field("/proc/meminfo", "MemTotal").and_then(|value| {
            value
                .split_whitespace()
                .next()
                .and_then(|kib| kib.parse::<u64>().ok())
        });
        Self {
            processor: field("/proc/cpuinfo", "model name").unwrap_or_else(unknown),
            cores: available_parallelism().map_or(1, std::num::NonZero::get),
            memory_mib: memory_kib.unwrap_or_default() / 1024,
            kernel: fs::read_to_string("/proc/sys/kernel/osrelease")
                .map_or_else(|_| unknown(), |text| text.trim().to_owned()),
        }
    }
}

/// The value of the first line `name : value`.
fn field(path: &str, name: &str) -> Option<String> {
    let text = fs::read_to_string(path).ok()?;
    text.lines().find_map(|line| {
        let (key, value) = line.split_once(':')?;
        (key.trim() == name).then(|| value.trim().to_owned())
    })
}
