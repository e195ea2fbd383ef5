//! What can be proved about a configuration's rule graph, and the findings that follow.
