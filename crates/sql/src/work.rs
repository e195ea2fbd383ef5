//! Work that is counted in tests, where its growth is measured and not time.

/// Counts tokens, nodes and names that are looked at.
#[cfg(not(test))]
#[inline(always)]
pub(crate) fn count(_: usize) {}

#[cfg(test)]
thread_local! {
    static COUNTED: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
}

#[cfg(test)]
pub(crate) fn count(steps: usize) {
    COUNTED.set(COUNTED.get() + steps);
}

/// The work of `run`.
#[cfg(test)]
pub(crate) fn counted<T>(run: impl FnOnce() -> T) -> usize {
    let before = COUNTED.get();
    run();
    COUNTED.get() - before
}
