//! A look-behind for one byte at the start of a pattern is a regular language; others are not.

use shardwright_patterns::{Dialect, ErrorKind, Flags, Pattern};

fn pattern(text: &str, global: bool) -> Pattern {
    let flags = Flags {
        caseless: false,
        global,
    };
    Pattern::compile(text, flags, Dialect::Pcre).unwrap_or_else(|error| panic!("{text}: {error}"))
}

#[test]
fn a_byte_in_front_of_a_match_is_looked_at_and_belongs_to_the_language() {
    let looks = pattern(r"(?<![^\s,])shop(\s*\.)", true);
    let takes = pattern(r"(\A|[\s,])shop(\s*\.)", true);
    assert_eq!(looks.opaque(), None);
    for (text, expected) in [
        ("shop.a", "X.a"),
        ("a,shop .b\nshop.c", "a,X .b\nX.c"),
        ("ashop.b", "ashop.b"),
        ("\u{e9}shop.b shop", "\u{e9}shop.b shop"),
        ("shop.,shop.", "X.,X."),
        ("$shop.a shop.b", "$shop.a X.b"),
        ("", ""),
    ] {
        let rewritten = |pattern: &Pattern, with: &[u8]| {
            let text = pattern.rewrite(text.as_bytes(), with).unwrap_or(text.into());
            String::from_utf8(text).unwrap()
        };
        assert_eq!(looks.is_match(text.as_bytes()), text != expected, "{text}");
        assert_eq!(rewritten(&looks, br"X\1"), expected, "{text}");
        assert_eq!(rewritten(&takes, br"\1X\2"), expected, "{text}");
    }
    // Elsewhere, and for more than a byte, a look-behind is no regular language.
    for text in [r"a(?<![^,])b", r"(?<![^,]a)b", r"(?<!a)b", r"(?:(?<![^,])b)"] {
        assert!(pattern(text, false).opaque().is_some(), "{text}");
    }
    for text in [r"(?<![^,])*b", r"(?<![^,])(*COMMIT)b"] {
        let error = Pattern::compile(text, Flags::default(), Dialect::Pcre).unwrap_err();
        assert_eq!(error.kind, ErrorKind::Unsupported, "{text}: {error}");
    }
    let error = Pattern::compile(r"(?<![^,])b", Flags::default(), Dialect::Re2).unwrap_err();
    assert_eq!(error.kind, ErrorKind::Invalid, "{error}");
}
