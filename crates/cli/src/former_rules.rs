//! The numbers that rules had before an import lifted them: the lock keeps them with the objects that the rules became.

use shardwright_compiler::Lock;

/// How the names of the lines begin: `imported.rules.NUMBER.ADDRESS`.
const IMPORTED: &str = "imported.rules.";

/// Notes which object a rule became.
pub(crate) fn remember(lock: &mut Lock, rule: u32, address: &str) {
    lock.set(format!("{IMPORTED}{rule}.{address}"), 1);
}

/// The addresses of the objects that a rule became.
pub(crate) fn objects(lock: &Lock, rule: u32) -> Vec<String> {
    let below = format!("{IMPORTED}{rule}.");
    lock.below(&below)
        .map(|(address, _)| address.to_owned())
        .collect()
}
