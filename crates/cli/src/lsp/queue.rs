//! Messages that have come and are not answered yet, in their order.

use std::collections::VecDeque;
use std::io::{self, BufRead};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, TryRecvError};
use std::thread;
use std::time::Duration;

use lsp_server::{Message, RequestId};
use lsp_types::notification::{Cancel, Notification as _};
use lsp_types::{CancelParams, NumberOrString};

use super::client_process::ClientProcess;
use super::framing::{self, Incoming};

/// Messages that wait before the reader pauses.
const MAX_WAITING: usize = 256;

/// How often a server that waits looks whether its client still runs.
const LOOKS_EVERY: Duration = Duration::from_secs(5);

/// Messages that have come.
pub(super) struct Queue {
    receiver: Receiver<io::Result<Incoming>>,
    waiting: VecDeque<Incoming>,
    failure: Option<io::Error>,
    ended: bool,
}

impl Queue {
    /// Reads messages on a thread of its own.
    pub(super) fn of(mut input: impl BufRead + Send + 'static) -> Self {
        let (sender, receiver) = mpsc::sync_channel(MAX_WAITING);
        // Not joined: it waits for input that may never come.
        thread::spawn(move || {
            while let Some(read) = framing::read(&mut input).transpose() {
                let last = read.is_err();
                if sender.send(read).is_err() || last {
                    return;
                }
            }
        });
        Self {
            receiver,
            waiting: VecDeque::new(),
            failure: None,
            ended: false,
        }
    }

    /// The next message that has arrived; none if no message waits.
    pub(super) fn next(&mut self) -> Option<Incoming> {
        while self.waiting.len() < MAX_WAITING && !self.ended {
            match self.receiver.try_recv() {
                Ok(read) => self.take(read),
                Err(TryRecvError::Disconnected) => self.ended = true,
                Err(TryRecvError::Empty) => break,
            }
        }
        self.waiting.pop_front()
    }

    /// Waits for a message; false at the end of the stream, and when the client is gone.
    ///
    /// # Errors
    /// When the stream broke.
    pub(super) fn wait(&mut self, client: Option<&ClientProcess>) -> io::Result<bool> {
        while self.waiting.is_empty() && !self.ended {
            match self.receiver.recv_timeout(LOOKS_EVERY) {
                Ok(read) => self.take(read),
                Err(RecvTimeoutError::Disconnected) => self.ended = true,
                // Another process may hold the stream open, such as one that the client has started.
                Err(RecvTimeoutError::Timeout) => {
                    self.ended = client.is_some_and(|client| !client.is_alive())
                }
            }
        }
        match self.failure.take() {
            Some(failure) if self.waiting.is_empty() => Err(failure),
            failure => {
                self.failure = failure;
                Ok(!self.waiting.is_empty())
            }
        }
    }

    fn take(&mut self, read: io::Result<Incoming>) {
        match read {
            Ok(incoming) => self.waiting.push_back(incoming),
            Err(failure) => {
                self.failure = Some(failure);
                self.ended = true;
            }
        }
    }

    /// Whether a message that waits cancels a request.
    pub(super) fn cancels(&self, id: &RequestId) -> bool {
        self.waiting.iter().any(|incoming| {
            let Incoming::Message(Message::Notification(notification)) = incoming else {
                return false;
            };
            if notification.method != Cancel::METHOD {
                return false;
            }
            let cancelled = serde_json::from_value::<CancelParams>(notification.params.clone());
            match cancelled.map(|params| params.id) {
                Ok(NumberOrString::Number(number)) => RequestId::from(number) == *id,
                Ok(NumberOrString::String(text)) => RequestId::from(text) == *id,
                Err(_) => false,
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_that_waits_can_be_cancelled() {
        let messages = [
            r#"{"id":1,"method":"a"}"#,
            r#"{"id":"two","method":"b"}"#,
            r#"{"method":"$/cancelRequest","params":{"id":"two"}}"#,
            r#"{"method":"$/cancelRequest","params":[]}"#,
            r#"{"method":"$/cancelRequest","params":{"id":3}}"#,
        ];
        let stream: String = messages
            .iter()
            .map(|body| format!("Content-Length: {}\r\n\r\n{body}", body.len()))
            .collect();
        let mut queue = Queue::of(io::Cursor::new(stream));
        while let Ok(read) = queue.receiver.recv() {
            queue.take(read);
        }
        assert!(queue.cancels(&RequestId::from("two".to_owned())));
        assert!(queue.cancels(&RequestId::from(3)));
        assert!(!queue.cancels(&RequestId::from(1)));
        assert!(!queue.cancels(&RequestId::from("3".to_owned())));
        for _ in messages {
            assert!(queue.wait(None).unwrap() && queue.next().is_some());
        }
        assert!(queue.next().is_none() && !queue.wait(None).unwrap());
    }

    #[test]
    fn what_came_before_a_broken_stream_is_answered_first() {
        let mut queue =
            Queue::of(&b"Content-Length: 21\r\n\r\n{\"id\":1,\"method\":\"a\"}GET / HTTP/1.1\r\n"[..]);
        while let Ok(read) = queue.receiver.recv() {
            queue.take(read);
        }
        assert!(queue.wait(None).unwrap() && queue.next().is_some());
        assert!(queue.next().is_none() && queue.wait(None).is_err());
        assert!(!queue.wait(None).unwrap());
    }
}
