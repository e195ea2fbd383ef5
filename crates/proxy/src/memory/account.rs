//! What one session holds of the budget.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::{Context, Poll};

use shardwright_wire::{HEADER_LEN, MAX_CHUNK, PacketHeader};

use super::book::{Activity, Place, Request};
use super::budget::{Answer, Budget, OutOfMemory, Reason, Share};
use super::buffer::{Buffer, KEPT_CAPACITY};

/// How often a statement is there at most while it runs: as it came, as the rules have changed it, as it is sent, and as far as its server
/// has not taken it.
const COPIES: usize = 4;
/// The same for one that is prepared, whose text is kept besides.
const COPIES_OF_PREPARED: usize = 6;
/// Those of more than one chunk are joined, as they came and as they are sent.
const COPIES_OF_JOINED: usize = 2;
/// COM_STMT_PREPARE
const PREPARE: u8 = 0x16;
/// Bytes of TLS for a client that does not read: records of 16 KiB in each direction, and what is not sent.
const TLS: usize = 48 * 1024;
/// What a session keeps between statements and is not counted beside its share.
const KEPT_IN_SHARE: usize = 4 * 1024;

/// Announced bytes up to which a statement reserves all that it may need as soon as it begins.
const AT_ONCE: usize = 64 * 1024;

/// What a statement may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Cost {
    /// While it is received.
    pub(crate) received: usize,
    /// Until it is answered.
    pub(crate) answered: usize,
}

/// What a statement may take that is announced with so many bytes, headers included. `start` is what has come.
pub(crate) fn packet_cost(announced: usize, start: &[u8]) -> Cost {
    if announced <= KEPT_CAPACITY {
        return Cost {
            received: 0,
            answered: 0,
        };
    }
    let copies = match start.get(HEADER_LEN) {
        Some(&PREPARE) => COPIES_OF_PREPARED,
        _ => COPIES,
    };
    let joined = if announced > HEADER_LEN + MAX_CHUNK {
        COPIES_OF_JOINED
    } else {
        0
    };
    let answered = announced.saturating_mul(copies + joined);
    Cost {
        received: if announced > AT_ONCE { announced } else { answered },
        answered,
    }
}

/// A packet that is left out, for which there is no room.
#[derive(Debug)]
struct LeftOut {
    error: OutOfMemory,
    /// Bytes of the chunk that is read which have not come.
    missing: usize,
    is_last_chunk: bool,
    seq: u8,
}

/// The memory of a session, beyond its share. All is given back when it is dropped.
#[derive(Debug)]
pub(crate) struct Account {
    share: Share,
    place: Option<Place>,
    /// For the statement that is on its way or runs.
    claim: usize,
    /// For a compressed frame.
    frame: usize,
    /// Buffers of the connection.
    buffered: usize,
    /// What the session keeps from one statement to the next.
    kept: usize,
    /// Beside the claim, for the statement that runs: values that came before it.
    besides: usize,
    runs: bool,
    /// What it waits for; 0: for nothing.
    awaited: usize,
    left_out: Option<LeftOut>,
}

impl Account {
    pub(crate) fn new(share: Share) -> Self {
        Self {
            share,
            place: None,
            claim: 0,
            frame: 0,
            buffered: 0,
            kept: 0,
            besides: 0,
            runs: false,
            awaited: 0,
            left_out: None,
        }
    }

    fn budget(&self) -> Arc<Budget> {
        self.share.budget().clone()
    }

    /// The connection is inside TLS from now on.
    pub(crate) fn add_tls(&mut self) {
        self.share.grow(TLS);
    }

    /// What it holds, if its statement claims that much. Before a statement runs, its buffer is a part of its claim.
    fn total(&self, claim: usize) -> usize {
        let claimed = if self.runs {
            claim + self.buffered
        } else {
            claim.max(self.buffered)
        };
        claimed + self.frame + self.besides + self.kept.saturating_sub(KEPT_IN_SHARE)
    }

    fn activity(&self) -> Activity {
        if self.runs {
            Activity::Runs
        } else if self.claim > 0 || self.frame > 0 || self.buffered > 0 {
            Activity::Receives
        } else {
            Activity::Keeps
        }
    }

    fn note(&mut self) {
        let (bytes, activity) = (self.total(self.claim), self.activity());
        self.budget().note(&mut self.place, bytes, activity);
    }

    /// Whether it holds or wants more than its share.
    #[inline]
    pub(crate) fn is_in_book(&self) -> bool {
        self.place.is_some()
    }

    /// So many bytes have come.
    #[inline]
    pub(crate) fn received(&self, bytes: usize) {
        if let Some(place) = &self.place {
            place.signal.received.fetch_add(bytes as u64, Ordering::Relaxed);
        }
    }

    /// Whether the session must end, because it holds the most and others wait.
    #[inline]
    pub(crate) fn must_end(&mut self) -> Option<OutOfMemory> {
        let place = self.place.as_ref()?;
        if !place.signal.must_end.load(Ordering::Relaxed) {
            return None;
        }
        Some(if self.awaited > 0 {
            self.ended(Reason::NoRoom, self.awaited)
        } else {
            self.ended(Reason::Greediest, self.total(self.claim))
        })
    }

    #[cold]
    fn ended(&self, reason: Reason, bytes: usize) -> OutOfMemory {
        self.budget().refusal(reason, bytes)
    }

    /// Whether the buffers of its connection are counted, or were.
    #[inline]
    pub(crate) fn has_buffered(&self) -> bool {
        self.buffered > 0 || self.frame > 0
    }

    /// Counts the buffers of its connection, and gives back what was claimed for a frame that was read.
    pub(crate) fn set_buffered(&mut self, bytes: usize, is_inside_frame: bool) {
        let before = (self.frame, self.buffered);
        if !is_inside_frame {
            self.frame = 0;
        }
        self.buffered = if bytes > 2 * KEPT_CAPACITY { bytes } else { 0 };
        if before != (self.frame, self.buffered) {
            self.note();
        }
    }

    /// Waits for room for a statement that is received.
    pub(crate) fn poll_receive(&mut self, cx: &Context<'_>, cost: Cost) -> Poll<Result<(), OutOfMemory>> {
        self.poll_claim(cx, cost.received, cost.answered - cost.received)
    }

    /// Waits for room for a statement that has come whole, until it is answered.
    pub(crate) fn poll_run(&mut self, cx: &Context<'_>, cost: Cost) -> Poll<Result<(), OutOfMemory>> {
        self.poll_claim(cx, cost.answered, 0)
    }

    fn poll_claim(&mut self, cx: &Context<'_>, bytes: usize, later: usize) -> Poll<Result<(), OutOfMemory>> {
        if bytes <= self.claim {
            return Poll::Ready(Ok(()));
        }
        let activity = if self.runs {
            Activity::Runs
        } else {
            Activity::Receives
        };
        let request = Request {
            bytes: self.total(bytes),
            later,
            is_given_back: later == 0,
            activity,
        };
        let granted = self.poll_ask(Some(cx), request);
        if granted == Poll::Ready(Ok(())) {
            self.claim = bytes;
        }
        granted
    }

    /// Waits for room for a compressed frame. Without a context, it is only looked whether there is room now.
    pub(crate) fn poll_frame(
        &mut self,
        cx: Option<&Context<'_>>,
        bytes: usize,
    ) -> Poll<Result<(), OutOfMemory>> {
        let missing = bytes.saturating_sub(self.frame);
        let granted = self.poll_ask(cx, self.request(missing, Activity::Receives));
        if granted == Poll::Ready(Ok(())) {
            self.frame = bytes;
        }
        granted
    }

    /// Waits for room for what the session keeps from now on, if it is more than before.
    pub(crate) fn poll_keep(&mut self, cx: &Context<'_>, kept: usize) -> Poll<Result<(), OutOfMemory>> {
        let counted = |kept: usize| kept.saturating_sub(KEPT_IN_SHARE);
        let missing = counted(kept).saturating_sub(counted(self.kept));
        if missing == 0 {
            return Poll::Ready(Ok(()));
        }
        let granted = self.poll_ask(Some(cx), self.request(missing, self.activity()));
        if granted == Poll::Ready(Ok(())) {
            self.besides = self.besides.max(missing);
        }
        granted
    }

    fn request(&self, missing: usize, activity: Activity) -> Request {
        Request {
            bytes: self.total(self.claim) + missing,
            later: 0,
            is_given_back: false,
            activity,
        }
    }

    /// Waits for room for copies of what the session keeps, until its statement is answered.
    pub(crate) fn poll_besides(&mut self, cx: &Context<'_>, bytes: usize) -> Poll<Result<(), OutOfMemory>> {
        if bytes == 0 {
            return Poll::Ready(Ok(()));
        }
        let granted = self.poll_ask(Some(cx), self.request(bytes, self.activity()));
        if granted == Poll::Ready(Ok(())) {
            self.besides = bytes;
        }
        granted
    }

    fn poll_ask(&mut self, cx: Option<&Context<'_>>, request: Request) -> Poll<Result<(), OutOfMemory>> {
        let bytes = request.bytes;
        self.awaited = 0;
        if let Some(place) = &self.place
            && place.signal.must_end.load(Ordering::Relaxed)
        {
            self.budget().withdraw(place);
            return Poll::Ready(Err(self.ended(Reason::NoRoom, bytes)));
        }
        let waker = cx.map(Context::waker);
        match self.budget().ask(&mut self.place, request, waker) {
            Answer::Granted => Poll::Ready(Ok(())),
            Answer::Waits => {
                self.awaited = cx.map_or(0, |_| bytes);
                Poll::Pending
            }
            Answer::Never => {
                self.note();
                Poll::Ready(Err(self.ended(Reason::TooMuch, bytes)))
            }
        }
    }

    /// Counts what the session keeps.
    pub(crate) fn keep(&mut self, bytes: usize) {
        let is_counted = bytes > KEPT_IN_SHARE || self.kept > KEPT_IN_SHARE;
        self.kept = bytes;
        if is_counted {
            self.note();
        }
    }

    /// The packet that begins in the client's buffer is left out.
    pub(crate) fn leave_out(&mut self, error: OutOfMemory) {
        self.give_back();
        self.left_out = Some(LeftOut {
            error,
            missing: 0,
            is_last_chunk: false,
            seq: 0,
        });
    }

    #[inline]
    pub(crate) fn is_leaving_out(&self) -> bool {
        self.left_out.is_some()
    }

    /// Drops what has come of the packet that is left out. Why it was, and the sequence number of the answer, if that was all of it.
    pub(crate) fn skip(&mut self, inbox: &mut Buffer) -> Option<(OutOfMemory, u8)> {
        let left_out = self.left_out.as_mut()?;
        loop {
            let dropped = left_out.missing.min(inbox.len());
            inbox.discard(dropped);
            left_out.missing -= dropped;
            if left_out.missing > 0 {
                return None;
            }
            if left_out.is_last_chunk {
                let LeftOut { error, seq, .. } = self.left_out.take()?;
                return Some((error, seq.wrapping_add(1)));
            }
            let header = PacketHeader::parse(*inbox.first_chunk()?);
            inbox.discard(HEADER_LEN);
            left_out.missing = header.len as usize;
            left_out.is_last_chunk = left_out.missing < MAX_CHUNK;
            left_out.seq = header.seq;
        }
    }

    /// A client sends a file in pieces while its statement runs: it is waited for, as for one that begins.
    pub(crate) fn receives_file(&mut self) {
        self.runs = false;
    }

    /// A command runs, which was taken out of the buffer.
    #[inline]
    pub(crate) fn begin_command(&mut self) {
        if self.place.is_some() {
            self.runs = true;
            self.note();
        }
    }

    /// The command was answered.
    #[inline]
    pub(crate) fn end_command(&mut self) {
        if self.place.is_some() {
            self.give_back();
        }
        self.runs = false;
    }

    /// Gives back what was claimed for a statement.
    pub(crate) fn give_back(&mut self) {
        self.runs = false;
        self.claim = 0;
        self.besides = 0;
        self.note();
    }
}

impl Drop for Account {
    fn drop(&mut self) {
        self.budget().note(&mut self.place, 0, Activity::Keeps);
    }
}
