//! Independent work on several processors.

use std::sync::atomic::{AtomicUsize, Ordering};

/// What `work` makes of each item, in the order of the items; on all processors where it is `large` enough to be worth
/// threads.
pub fn side_by_side<T: Sync, R: Send>(items: &[T], large: bool, work: impl Fn(&T) -> R + Sync) -> Vec<R> {
    // How many processors there are is read from files.
    let processors = || std::thread::available_parallelism().map_or(1, usize::from);
    let threads = if large && items.len() > 1 {
        processors().min(items.len())
    } else {
        1
    };
    if threads == 1 {
        return items.iter().map(work).collect();
    }
    let next = AtomicUsize::new(0);
    let take = || {
        let mut taken = Vec::new();
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some(item) = items.get(at) else { return taken };
            taken.push((at, work(item)));
        }
    };
    let mut done = std::thread::scope(|scope| {
        let others: Vec<_> = (1..threads).map(|_| scope.spawn(take)).collect();
        let mut done = take();
        for other in others {
            let taken = other.join();
            done.extend(taken.unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        }
        done
    });
    done.sort_unstable_by_key(|(at, _)| *at);
    done.into_iter().map(|(_, result)| result).collect()
}
