//! A shard map's word that a statement is refused.

use crate::refusal::Refusal;
use crate::{Address, Rejection};

pub(super) type Refused = Box<Rejection>;

pub(super) fn refused(address: &Address, refusal: Refusal, message: String) -> Refused {
    Box::new(refusal.rejection(message, Some(address.clone())))
}

pub(super) fn refused_because(address: &Address, refusal: Refusal, what: &str) -> Refused {
    Box::new(refusal.because(what, Some(address.clone())))
}
