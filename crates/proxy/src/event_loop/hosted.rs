//! A loop as a task of tokio's, for threads that need its timers.

use std::future::poll_fn;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, RawFd};
use std::rc::Rc;
use std::task::{Context, Poll};

use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

use super::{AT_ONCE, EventLoop, here, start};

/// Turns this thread's loop, in the context of a runtime. When it is dropped, the tasks of the loop end.
///
/// # Errors
/// The loop cannot be made, or the system does not tell of sockets any more.
pub(crate) async fn hosted() -> io::Result<()> {
    start()?;
    let here = here()?;
    // It is readable when one of the loop's sockets is ready.
    #[expect(
        deprecated,
        reason = "what replaces it is unsafe; this descriptor is open, and the same, as long as the value"
    )]
    let sockets = AsyncFd::with_interest(Descriptor(here.clone()), Interest::READABLE)?;
    let host = Host(here);
    poll_fn(|cx| host.0.turn_hosted(cx, &sockets)).await
}

struct Descriptor(Rc<EventLoop>);

impl AsFd for Descriptor {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.epoll.as_fd()
    }
}

impl AsRawFd for Descriptor {
    fn as_raw_fd(&self) -> RawFd {
        self.as_fd().as_raw_fd()
    }
}

struct Host(Rc<EventLoop>);

impl Drop for Host {
    fn drop(&mut self) {
        self.0.host.take();
        self.0.tasks.end_all();
    }
}

impl EventLoop {
    /// Wakes who turns the loop, unless it is turning.
    pub(super) fn rouse(&self) {
        if !self.is_turning.get()
            && let Some(host) = &*self.host.borrow()
        {
            host.wake_by_ref();
        }
    }

    fn turn_hosted(&self, cx: &mut Context<'_>, sockets: &AsyncFd<Descriptor>) -> Poll<io::Result<()>> {
        self.host.replace(Some(cx.waker().clone()));
        self.is_turning.set(true);
        let turned = self.turn_once(cx, sockets);
        self.is_turning.set(false);
        turned
    }

    fn turn_once(&self, cx: &mut Context<'_>, sockets: &AsyncFd<Descriptor>) -> Poll<io::Result<()>> {
        loop {
            self.run_tasks();
            match sockets.poll_read_ready(cx) {
                Poll::Ready(Ok(mut ready)) => {
                    ready.clear_ready();
                    while self.look(Some(AT_ONCE))? {}
                }
                Poll::Ready(Err(error)) => return Poll::Ready(Err(error)),
                Poll::Pending if self.tasks.are_ready() => {
                    // Whatever else the runtime has to do comes first.
                    cx.waker().wake_by_ref();
                    return Poll::Pending;
                }
                Poll::Pending => return Poll::Pending,
            }
        }
    }
}
