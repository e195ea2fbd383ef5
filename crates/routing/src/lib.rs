//! The meaning of a rule graph, fast: a routing table that answers as the evaluator does.
