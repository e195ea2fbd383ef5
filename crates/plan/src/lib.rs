//! Desired minus observed: effects, hazards, saved plans and the apply protocol.
