//! Answers about earlier statements that a statement asks for.

/// What a statement asks about earlier ones.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Asked {
    pub(super) found_rows: bool,
    pub(super) row_count: bool,
    /// SHOW WARNINGS, `@@warning_count`, `@@error_count`, GET DIAGNOSTICS.
    pub(super) warnings: bool,
}

impl Asked {
    pub(super) fn is_nothing(self) -> bool {
        self == Self::default()
    }

    pub(super) fn and(self, other: Self) -> Self {
        Self {
            found_rows: self.found_rows || other.found_rows,
            row_count: self.row_count || other.row_count,
            warnings: self.warnings || other.warnings,
        }
    }

    /// For messages.
    pub(super) fn text(self) -> &'static str {
        match self {
            Self { found_rows: true, .. } => "FOUND_ROWS()",
            Self { row_count: true, .. } => "ROW_COUNT()",
            _ => "the list of warnings",
        }
    }
}
