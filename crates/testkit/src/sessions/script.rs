//! The bytes that tell a case what happens.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;

/// Bytes, taken one after another by everybody who has a part of the script. Behind the end there are zeros: the usual, the honest.
#[derive(Clone)]
pub(super) struct Script(Rc<RefCell<VecDeque<u8>>>);

impl Script {
    pub(super) fn new(bytes: &[u8]) -> Self {
        Self(Rc::new(RefCell::new(bytes.iter().copied().collect())))
    }

    pub(super) fn is_over(&self) -> bool {
        self.0.borrow().is_empty()
    }

    pub(super) fn byte(&self) -> u8 {
        self.0.borrow_mut().pop_front().unwrap_or_default()
    }

    pub(super) fn word(&self) -> u16 {
        u16::from_le_bytes([self.byte(), self.byte()])
    }

    /// A place in something of this length; 0 in what is empty.
    pub(super) fn below(&self, len: usize) -> usize {
        usize::from(self.word()) % len.max(1)
    }

    /// Up to 31 bytes as they are.
    pub(super) fn raw(&self) -> Vec<u8> {
        let len = self.byte() & 31;
        (0..len).map(|_| self.byte()).collect()
    }
}
