//! Repository checks, generated files and benchmarks.

fn main() {}
