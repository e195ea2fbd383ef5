//! Tokens: where they begin and end in the lexer's four modes.

use shardwright_sql::lex::{LexMode, Lexer, identifier, string_value};

/// Kinds and texts of the tokens, blanks left out.
fn tokens(text: &str, mode: LexMode) -> String {
    let shown: Vec<String> = Lexer::new(text.as_bytes(), mode)
        .filter(|token| format!("{:?}", token.kind) != "Whitespace")
        .map(|token| {
            let open = if token.terminated { "" } else { "…" };
            format!(
                "{:?} {}{open}",
                token.kind,
                String::from_utf8_lossy(token.span.of(text.as_bytes()))
            )
        })
        .collect();
    shown.join(" · ")
}

fn check(text: &str, expect: &str) {
    assert_eq!(tokens(text, LexMode::default()), expect);
}

#[test]
fn comments() {
    check("a/* b */c", "Word a · BlockComment /* b */ · Word c");
    check(
        "/*!50110 x */ /*M! y */ /*+ z */",
        "ExecutableComment /*!50110 x */ · ExecutableComment /*M! y */ · OptimizerHint /*+ z */",
    );
    check("1 -- x\n2", "Number 1 · LineComment -- x · Number 2");
    check("1--2", "Number 1 · Operator - · Operator - · Number 2");
    check("--", "LineComment --");
    check("1 # x\n2", "Number 1 · LineComment # x · Number 2");
    check("/* /* */ */", "BlockComment /* /* */ · Operator * · Operator /");
    check("/* ' */ a", "BlockComment /* ' */ · Word a");
    check("/*/ a", "BlockComment /*/ a…");
}

#[test]
fn names_and_numbers() {
    check(
        "`a``b` a$b _c 1d é",
        "QuotedName `a``b` · Word a$b · Word _c · Word 1d · Word é",
    );
    check(
        "1 1.5 .5 1e5 1.e-3 1e 1e5x",
        "Number 1 · Number 1.5 · Number .5 · Number 1e5 · Number 1.e-3 · Word 1e · Number 1e5 · Word x",
    );
    check(
        "0x1F 0X1F 0xZ 0b01 0b2",
        "Number 0x1F · Word 0X1F · Word 0xZ · Number 0b01 · Word 0b2",
    );
    check(
        "t.1a t.5 t .5",
        "Word t · Dot . · Word 1a · Word t · Dot . · Word 5 · Word t · Number .5",
    );
    check(
        "a.b . c.*",
        "Word a · Dot . · Word b · Dot . · Word c · Dot . · Operator *",
    );
    check("`a", "QuotedName `a…");
}

#[test]
fn strings() {
    check(r"'a\'b' 'c''d' ", r"String 'a\'b' · String 'c''d'");
    check(r#""a""b" 'x"y'"#, r#"String "a""b" · String 'x"y'"#);
    check(
        "n'a' N'b' x'4' X'5' b'0' _utf8'c' _a 'd'",
        "NationalString n'a' · NationalString N'b' · HexString x'4' · HexString X'5' · BitString b'0' · Introducer _utf8 · String 'c' · Word _a · String 'd'",
    );
    check(r"'a\", r"String 'a\…");
    check("'a'''", "String 'a'''");
    let mode = LexMode {
        ansi_quotes: true,
        no_backslash_escapes: true,
    };
    assert_eq!(
        tokens(r#"'a\' "b""c" _d"e""#, mode),
        r#"String 'a\' · QuotedName "b""c" · Word _d · QuotedName "e""#
    );
}

#[test]
fn variables_operators_and_the_rest() {
    check(
        "@a @`b c` @'d' @@e @@session.f @@`g`.h @",
        "UserVariable @a · UserVariable @`b c` · UserVariable @'d' · SystemVariable @@e · SystemVariable @@session.f · SystemVariable @@`g`.h · UserVariable @",
    );
    check(
        "<=> ->> -> := <= >= <> != << >> || && ! ^",
        "Operator <=> · Operator ->> · Operator -> · Operator := · Operator <= · Operator >= · Operator <> · Operator != · Operator << · Operator >> · Operator || · Operator && · Operator ! · Operator ^",
    );
    check(
        "?,;()\\",
        "Placeholder ? · Comma , · Semicolon ; · LeftParen ( · RightParen ) · Unknown \\",
    );
}

#[test]
fn what_names_and_strings_stand_for() {
    let first = |text: &str, mode| {
        let token = Lexer::new(text.as_bytes(), mode).next().unwrap();
        let name = identifier(&token, text.as_bytes());
        let value = name.or_else(|| string_value(&token, text.as_bytes(), mode));
        value.map(|value| String::from_utf8(value.into_owned()).unwrap())
    };
    let plain = LexMode::default();
    let standard = LexMode {
        ansi_quotes: true,
        no_backslash_escapes: true,
    };
    for (text, mode, value) in [
        ("`a``b`", plain, Some("a`b")),
        ("abc", plain, Some("abc")),
        (r"'a''b\'c\n\%\q\\'", plain, Some("a'b'c\n\\%q\\")),
        (r"'a\'", standard, Some(r"a\")),
        (r#""a""b""#, plain, Some(r#"a"b"#)),
        (r#""a""b""#, standard, Some(r#"a"b"#)),
        ("'a", plain, None),
        ("12", plain, None),
    ] {
        assert_eq!(first(text, mode).as_deref(), value, "{text}");
    }
}
