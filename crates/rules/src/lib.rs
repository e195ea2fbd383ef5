//! The meaning of a configuration: rule graph, hostgroups, and the reference evaluator.
