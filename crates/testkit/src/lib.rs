//! Real servers and a cleared command-line environment for tests.
