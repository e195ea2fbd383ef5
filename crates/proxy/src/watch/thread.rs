//! The thread that watches.

use std::io;
use std::rc::Rc;
use std::sync::Arc;
use std::thread::JoinHandle;

use tokio::runtime;
use tokio::sync::Notify;
use tokio::task::LocalSet;

use super::names;
use super::reconcile::Probes;
use super::regulate;
use super::slow_readers;
use super::watcher::Watcher;
use crate::event_loop;
use crate::shared::{Phase, Shared};
use crate::watcher_handle::WatcherHandle;

/// Starts to watch the servers of what is served.
pub(crate) fn start(shared: Arc<Shared>) -> io::Result<(WatcherHandle, JoinHandle<()>)> {
    let runtime = runtime::Builder::new_current_thread().enable_all().build()?;
    let changed = Arc::new(Notify::new());
    let handle = WatcherHandle::new(changed.clone());
    let thread = std::thread::Builder::new()
        .name("watcher".to_owned())
        .spawn(move || {
            let watcher = Rc::new(Watcher::new(shared));
            LocalSet::new().block_on(&runtime, run(watcher, changed));
        })?;
    Ok((handle, thread))
}

async fn run(watcher: Rc<Watcher>, changed: Arc<Notify>) {
    let mut probes = Probes::default();
    // They end with the thread's tasks.
    tokio::task::spawn_local(async {
        if let Err(error) = event_loop::hosted().await {
            tracing::error!(%error, "servers are not watched any more");
        }
    });
    tokio::task::spawn_local(regulate::run(watcher.clone()));
    tokio::task::spawn_local(names::run(watcher.clone()));
    tokio::task::spawn_local(slow_readers::run(watcher.clone()));
    while watcher.phase() != Phase::Stopping {
        probes.reconcile(&watcher);
        changed.notified().await;
    }
}
