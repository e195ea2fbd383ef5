//! What a running process prints, collected while it runs.

use std::io::{BufRead, BufReader, Read};
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};

/// The lines printed so far, shared with the thread that reads them.
#[derive(Debug, Clone, Default)]
pub(crate) struct CollectedLines(Arc<Mutex<String>>);

impl CollectedLines {
    /// Everything printed so far.
    pub(crate) fn text(&self) -> String {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn push(&self, line: &str) {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push_str(line);
    }

    /// Reads `source` to its end on a thread, so that a full pipe never stops the process; each line also goes to
    /// `lines` while somebody listens.
    pub(crate) fn read_from(
        &self,
        source: impl Read + Send + 'static,
        lines: Sender<String>,
    ) -> JoinHandle<()> {
        let collected = self.clone();
        thread::spawn(move || {
            let mut source = BufReader::new(source);
            let mut listener = Some(lines);
            let mut bytes = Vec::new();
            while matches!(source.read_until(b'\n', &mut bytes), Ok(read) if read > 0) {
                let line = String::from_utf8_lossy(&bytes).into_owned();
                collected.push(&line);
                listener = listener.filter(|lines| lines.send(line).is_ok());
                bytes.clear();
            }
        })
    }
}
