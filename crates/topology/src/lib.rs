//! What users write: documents resolved into a topology.
