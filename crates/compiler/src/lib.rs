//! A topology compiled to a configuration for one engine.
