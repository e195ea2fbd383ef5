//! Any bytes as what clients and servers do to a proxy: see `crates/testkit/src/sessions.rs` for what must hold.

#![no_main]

use std::cell::OnceCell;

use libfuzzer_sys::fuzz_target;
use shardwright_testkit::SessionCases;

thread_local! {
    static CASES: OnceCell<SessionCases> = const { OnceCell::new() };
}

fuzz_target!(|bytes: &[u8]| {
    CASES.with(|cases| cases.get_or_init(SessionCases::new).run(bytes));
});
