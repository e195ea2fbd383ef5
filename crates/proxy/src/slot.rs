//! What a connection to a server takes up as long as it exists.

use std::rc::Rc;

use tokio::sync::OwnedSemaphorePermit;

use crate::counted::Counted;
use crate::room::Place;

/// What a connection takes up.
pub(crate) enum Slot {
    /// One of those that sessions share.
    Shared {
        /// Its worker's count.
        _counted: Counted,
        /// Free for another one when everything else of the connection is gone.
        _place: Rc<Place>,
    },
    /// One for questions and orders of the proxy's own, beside them.
    Own { _permit: Option<OwnedSemaphorePermit> },
}

impl Slot {
    pub(crate) fn shared(counted: Counted, place: Rc<Place>) -> Self {
        Self::Shared {
            _counted: counted,
            _place: place,
        }
    }

    pub(crate) fn own(permit: Option<OwnedSemaphorePermit>) -> Self {
        Self::Own { _permit: permit }
    }

    pub(crate) fn is_shared(&self) -> bool {
        matches!(self, Self::Shared { .. })
    }
}
