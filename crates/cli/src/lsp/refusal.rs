//! Requests that have no result.

use lsp_server::ErrorCode;

/// Why a request has no result.
pub(super) struct Refusal {
    pub(super) code: ErrorCode,
    pub(super) message: String,
}

impl Refusal {
    /// The request is understood and cannot be done.
    pub(super) fn failed(message: impl Into<String>) -> Self {
        Self {
            code: ErrorCode::RequestFailed,
            message: message.into(),
        }
    }
}
