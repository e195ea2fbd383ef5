//! Replicas whose lag nobody knows.

use shardwright_rules::UnknownLag;

use crate::watched::{replication, story};

#[test]
fn a_lag_that_nobody_knows_counts_from_where_it_was() {
    let lines = &[
        "rw ro ro",
        "rw halt2 halt2+",
        "rw cut2 ro?",
        "rw ro4s ro5s",
        "down halt2 halt2+",
        "down cut2 cut9",
        "down ro? ro",
    ];
    insta::assert_snapshot!(story(&replication(), lines), @r"
    rw ro ro           writes: db1; reads: (db1) db2 db3
    rw halt2 halt2+    writes: db1; reads: (db1) db2
    rw cut2 ro?        writes: db1; reads: (db1)
    rw ro4s ro5s       writes: db1; reads: (db1) db2
    down halt2 halt2+  writes: nobody; reads: db2
    down cut2 cut9     writes: nobody; reads: db2
    down ro? ro        writes: nobody; reads: db2 db3
    ");
    let mut refusing = replication();
    refusing.clusters[0].on_unknown = UnknownLag::Refuse;
    insta::assert_snapshot!(story(&refusing, lines), @r"
    rw ro ro           writes: db1; reads: (db1) db2 db3
    rw halt2 halt2+    writes: db1; reads: (db1) db2
    rw cut2 ro?        writes: db1; reads: (db1)
    rw ro4s ro5s       writes: db1; reads: (db1) db2
    down halt2 halt2+  writes: nobody; reads: db2
    down cut2 cut9     writes: nobody; reads: nobody
    down ro? ro        writes: nobody; reads: db3
    ");
}
