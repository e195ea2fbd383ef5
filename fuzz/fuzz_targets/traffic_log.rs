//! Any bytes as each kind of log: every reader comes to the end, and no record is empty.

#![no_main]

use libfuzzer_sys::fuzz_target;
use shardwright_simulation::traffic::{Format, detect, read};

fuzz_target!(|bytes: &[u8]| {
    let formats = [
        detect(bytes),
        Format::Digests,
        Format::DigestDump,
        Format::General,
        Format::Slow,
        Format::Queries,
    ];
    for format in formats {
        // An export without its columns is an error; that it is one is all there is to say.
        let _ = read(bytes, format, |record| assert!(!record.text.is_empty()));
    }
});
