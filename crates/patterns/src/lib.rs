//! What a query rule's regular expression means on each engine.
