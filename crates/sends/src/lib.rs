//! Sends to several sockets with one call of the system.
//!
//! Whoever sends is preempted by those whom it wakes, after each call. With one call (io_uring's) it wakes them all, and they run
//! when it waits: see `docs/decisions/0076-what-a-turn-sends-goes-together.md`.
//!
//! Nothing waits here. A message goes as far as its socket takes it, like those of `send` with `MSG_DONTWAIT`.

#[cfg(test)]
mod tests;

use std::io;
use std::iter::zip;
use std::os::fd::{AsFd, AsRawFd};

use io_uring::squeue::Entry;
use io_uring::{IoUring, opcode, types};
use rustix::io::Errno;
use rustix::net::{SendFlags, send};

/// Messages that one call takes.
const IN_A_CALL: usize = 32;
/// A socket that has room takes it, and any other says so.
const FLAGS: SendFlags = SendFlags::NOSIGNAL.union(SendFlags::DONTWAIT);

/// How much of a message a socket has taken.
pub type Sent = rustix::io::Result<usize>;

/// Messages, and what sends them. One thread uses it: the one that has made it.
pub struct BatchSender {
    /// `None`: each message has a call of its own.
    ring: Option<IoUring>,
    /// The messages, one behind the other.
    bytes: Vec<u8>,
    /// Where each of them ends.
    ends: Vec<usize>,
    /// What was asked of the ring, and what it has answered: kept for their room.
    entries: Vec<Entry>,
    sent: Vec<Option<Sent>>,
}

impl BatchSender {
    /// One that sends with one call.
    ///
    /// # Errors
    /// The system's: it has no io_uring (before Linux 6.0), or forbids it (seccomp, `kernel.io_uring_disabled`), or there are no file
    /// descriptors.
    pub fn with_ring() -> io::Result<Self> {
        let ring = IoUring::builder()
            // Which systems take it since 6.0, where `MSG_DONTWAIT` is known to hold.
            .setup_single_issuer()
            .setup_submit_all()
            .build(IN_A_CALL as u32)?;
        Ok(Self::of(Some(ring)))
    }

    /// One that sends with a call for each message.
    #[must_use]
    pub fn one_by_one() -> Self {
        Self::of(None)
    }

    fn of(ring: Option<IoUring>) -> Self {
        Self {
            ring,
            bytes: Vec::new(),
            ends: Vec::new(),
            entries: Vec::new(),
            sent: Vec::new(),
        }
    }

    /// Whether several messages take one call.
    #[must_use]
    pub fn has_ring(&self) -> bool {
        self.ring.is_some()
    }

    /// Whether another message would take another call.
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.ends.len() >= IN_A_CALL
    }

    /// Adds a message to those that the next [`BatchSender::send`] sends.
    pub fn add(&mut self, message: &[u8]) {
        self.bytes.extend_from_slice(message);
        self.ends.push(self.bytes.len());
    }

    /// Sends the messages that were added, each to the socket of the same place, and tells what has become of each. Two of one socket are
    /// two attempts: the second may succeed where the first did not.
    ///
    /// # Errors
    /// The ring does not work any more, and is not asked again: [`BatchSender::has_ring`]. All messages were sent or told of nevertheless.
    ///
    /// # Panics
    /// There are not as many sockets as messages.
    pub fn send<S: AsFd>(&mut self, sockets: &[S], mut told: impl FnMut(&S, &[u8], Sent)) -> io::Result<()> {
        let mut bytes = std::mem::take(&mut self.bytes);
        let mut ends = std::mem::take(&mut self.ends);
        assert_eq!(sockets.len(), ends.len(), "each message has its socket");
        self.sent.clear();
        self.sent.resize(sockets.len(), None);
        let submitted = match sockets.len() {
            0 | 1 => Ok(()),
            _ => self.submit(sockets, &bytes, &ends),
        };
        if submitted.is_err() {
            // Should the system still be about to read them, they are there, whatever else happens.
            let copy = bytes.clone();
            std::mem::forget(std::mem::replace(&mut bytes, copy));
        }
        for ((socket, message), sent) in zip(zip(sockets, messages(&bytes, &ends)), &self.sent) {
            told(
                socket,
                message,
                sent.unwrap_or_else(|| send(socket, message, FLAGS)),
            );
        }
        bytes.clear();
        ends.clear();
        (self.bytes, self.ends) = (bytes, ends);
        submitted
    }

    /// Has the ring send messages, and notes what became of those that it has taken.
    fn submit<S: AsFd>(&mut self, sockets: &[S], bytes: &[u8], ends: &[usize]) -> io::Result<()> {
        let mut first = 0;
        let mut messages = messages(bytes, ends);
        for sockets in sockets.chunks(IN_A_CALL) {
            let Some(ring) = &mut self.ring else { return Ok(()) };
            self.entries.clear();
            self.entries
                .extend(zip(zip(sockets, &mut messages), first..).map(entry));
            let submitted = submit(ring, &self.entries, &mut self.sent);
            if let Err(error) = submitted {
                let left = ring.submission().len();
                // What the system has taken and not told of may be on its way: nobody knows.
                let taken = &mut self.sent[first..first + sockets.len() - left];
                taken.iter_mut().for_each(|sent| {
                    sent.get_or_insert(Err(Errno::IO));
                });
                self.ring = None;
                return Err(error);
            }
            first += sockets.len();
        }
        Ok(())
    }
}

fn messages<'a>(bytes: &'a [u8], ends: &'a [usize]) -> impl Iterator<Item = &'a [u8]> {
    zip([0].iter().chain(ends), ends).map(|(start, end)| &bytes[*start..*end])
}

fn entry<S: AsFd>(((socket, message), place): ((&S, &[u8]), usize)) -> Entry {
    // A longer one is sent in part.
    let length = u32::try_from(message.len()).unwrap_or(u32::MAX);
    opcode::Send::new(types::Fd(socket.as_fd().as_raw_fd()), message.as_ptr(), length)
        .flags(FLAGS.bits() as i32)
        .build()
        .user_data(place as u64)
}

/// Submits entries that send, and waits until all have ended, which they do at once.
///
/// # Errors
/// The system takes no more, or cannot say what has become of them. The ring must be closed: entries may be left in it.
fn submit(ring: &mut IoUring, entries: &[Entry], sent: &mut [Option<Sent>]) -> io::Result<()> {
    // SAFETY: the messages that entries point to are not freed before all entries have ended, or never: where this fails, the only
    // caller closes the ring, from which the system takes nothing after that, and forgets the messages, before anything else is called.
    #[expect(unsafe_code, reason = "messages are read by the system")]
    let pushed = unsafe { ring.submission().push_multiple(entries) };
    pushed.map_err(|_| io::Error::other("the ring has no room"))?;
    let mut ended = 0;
    while ended < entries.len() {
        match ring.submit_and_wait(entries.len() - ended) {
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
        for answer in ring.completion() {
            let place = usize::try_from(answer.user_data()).map_err(io::Error::other)?;
            let asked = sent
                .get_mut(place)
                .ok_or_else(|| io::Error::other("the ring answers what was not asked"))?;
            *asked = Some(match usize::try_from(answer.result()) {
                Ok(length) => Ok(length),
                Err(_) => Err(Errno::from_raw_os_error(-answer.result())),
            });
            ended += 1;
        }
    }
    Ok(())
}
