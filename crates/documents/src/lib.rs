//! YAML files as node trees with key and value spans.
