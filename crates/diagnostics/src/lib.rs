//! Source files, spans, codes and severities of findings, and how they are shown.
