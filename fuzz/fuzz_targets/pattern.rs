//! Any text as a pattern, and a text for it to match: the translation never panics, the matchers agree with each other and
//! with the automaton, and what the pattern is said to need is in every match.
//!
//! The input: one byte of flags, the pattern, a NUL byte, the text.

#![no_main]

use libfuzzer_sys::fuzz_target;
use shardwright_patterns::{Automaton, Dialect, Flags, Limits, Pattern};

/// Small, so that many inputs can be tried.
const LIMITS: Limits = Limits {
    bytes: 1 << 20,
    states: 2_000,
    tuples: 10_000,
};

fuzz_target!(|input: &[u8]| {
    let Some((&flags, rest)) = input.split_first() else { return };
    let at = rest.iter().position(|&byte| byte == 0).unwrap_or(rest.len());
    let (text, subject) = (&rest[..at], rest.get(at + 1..).unwrap_or_default());
    let Ok(text) = std::str::from_utf8(text) else { return };
    let dialect = match flags & 3 {
        0 => Dialect::Re2,
        1 => Dialect::Bundled,
        _ => Dialect::Pcre,
    };
    let flags = Flags {
        caseless: flags & 4 != 0,
        global: flags & 8 != 0,
    };
    let pattern = match Pattern::compile(text, flags, dialect) {
        Ok(pattern) => pattern,
        Err(error) => {
            assert!(error.offset <= text.len(), "the place of an error is in the pattern");
            return;
        }
    };
    let matches = pattern.is_match(subject);
    let _ = (pattern.rewrite(subject, br"\0x\1"), pattern.sample(), pattern.open_groups(), pattern.backtracking());
    if matches {
        let seen = subject.split(|&byte| byte == 0).next().unwrap_or_default().to_ascii_lowercase();
        for needle in pattern.needles() {
            let held = seen.windows(needle.len()).any(|window| window == needle);
            assert!(held, "a match without what every match holds");
        }
    }
    if let Ok(automaton) = Automaton::of(&pattern, &LIMITS) {
        assert_eq!(automaton.accepts(subject), matches, "the automaton matches something else");
    }
    pattern.prepare();
    assert_eq!(pattern.is_match(subject), matches, "the fast matcher matches something else");
});
