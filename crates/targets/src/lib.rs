//! Where plans are applied: the bundled proxy, and files for ProxySQL.
