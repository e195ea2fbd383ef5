//! Texts between NULs, one after the other through one table of known texts: what is known of one is what is read of it.

#![no_main]

use libfuzzer_sys::fuzz_target;
use shardwright_rules::{KnownText, KnownTexts};
use shardwright_sql::LexMode;
use shardwright_sql::skeleton::skeleton_into;

fuzz_target!(|bytes: &[u8]| {
    let [settings, texts @ ..] = bytes else {
        return;
    };
    let mode = LexMode {
        ansi_quotes: settings & 1 != 0,
        no_backslash_escapes: settings & 2 != 0,
    };
    let mut known = KnownTexts::default();
    let mut skeleton = Vec::new();
    for text in texts.split(|&byte| byte == 0) {
        let has_skeleton = skeleton_into(text, mode, &mut skeleton).is_some();
        // What has its skeleton makes it known, and then the text itself is asked for.
        let alike: &[u8] = if has_skeleton { &skeleton } else { text };
        for text in [alike, alike, text] {
            if let Some(known) = known.known(text, mode) {
                assert_eq!(known, KnownText::of(text, mode));
            }
        }
    }
});
