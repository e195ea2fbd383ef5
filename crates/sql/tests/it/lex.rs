//! Tokens: where they begin and end in the lexer's four modes.

use shardwright_sql::Servers;
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
        ..LexMode::default()
    };
    let ansi = LexMode {
        no_backslash_escapes: false,
        ..mode
    };
    assert_eq!(
        tokens(r#"@"a\" 'b\''"#, ansi),
        r#"UserVariable @"a\" · String 'b\''"#
    );
    assert_eq!(
        tokens(r#"'a\' "b""c" _d"e""#, mode),
        r#"String 'a\' · QuotedName "b""c" · Word _d · QuotedName "e""#
    );
}

#[test]
fn what_servers_read_otherwise() {
    let check = |text: &str, expected: [&str; 3]| {
        let servers = [Servers::MARIADB_10_11, Servers::MYSQL_9_6, Servers::ANY];
        let found = servers.map(|servers| tokens(text, LexMode::default().on(servers)));
        assert_eq!(found, expected, "{text}");
    };
    check(
        "$$ /* a */ $$",
        [
            "Word $$ · BlockComment /* a */ · Word $$",
            "DollarString $$ /* a */ $$",
            "ReadOtherwise $$ /* a */ $$…",
        ],
    );
    check(
        "$x$ it's; $$ $x$ 1",
        [
            "Word $x$ · Word it · String 's; $$ $x$ 1…",
            "DollarString $x$ it's; $$ $x$ · Number 1",
            "ReadOtherwise $x$ it's; $$ $x$ 1…",
        ],
    );
    // In a name, behind a dot and without a second one it is a letter to all.
    for text in [
        "a$$ /* b */",
        "t.$$ /* b */",
        "1$$ /* b */",
        "$ /* b */",
        "$x, /* b */",
        "@$$ /* b */",
    ] {
        let of_mariadb = tokens(text, LexMode::default().on(Servers::MARIADB_10_11));
        assert!(of_mariadb.ends_with("BlockComment /* b */"), "{of_mariadb}");
        check(text, [&*of_mariadb; 3]);
    }
    // Releases of MySQL 8 that warn of such names may quote.
    let mode = LexMode::default().on(Servers::MYSQL_8_4);
    assert_eq!(tokens("$$ a $$", mode), "ReadOtherwise $$ a $$…");
    // The server is not found by its own search, which does not step back.
    let mode = LexMode::default().on(Servers::MYSQL_9_6);
    assert_eq!(tokens("$x$ $$x$ $x$", mode), "ReadOtherwise $x$ $$x$ $x$…");
    assert_eq!(tokens("$$$$ a", mode), "ReadOtherwise $$$$ a…");
    check(
        "/*M! a /* b */ c */",
        [
            "ExecutableComment /*M! a /* b */ c */",
            "ExecutableComment /*M! a /* b */ · Word c · Operator * · Operator /",
            "ReadOtherwise /*M! a /* b */ c */…",
        ],
    );
}

#[test]
fn executable_comments_end_where_all_servers_end_them() {
    check(
        "/*!99999 a /* b */ c */ d",
        "ExecutableComment /*!99999 a /* b */ c */ · Word d",
    );
    check(
        "/*!50000 'a' -- b\n */ c",
        "ExecutableComment /*!50000 'a' -- b\n */ · Word c",
    );
    // A string to the server that runs it.
    check("/*!50000 'a*/' */ b", "ReadOtherwise /*!50000 'a*/' */ b…");
    check("/*!50000 it's */ b", "ReadOtherwise /*!50000 it's */ b…");
    check("/*! a /*! b */ c */ d", "ReadOtherwise /*! a /*! b */ c */ d…");
    check("/*! a /*!99999 b */", "ReadOtherwise /*! a /*!99999 b */…");
    check("/*! a", "ExecutableComment /*! a…");
    let deep = "/*!".repeat(200_000);
    assert!(tokens(&deep, LexMode::default()).starts_with("ReadOtherwise"));
}

#[test]
fn digits_in_quotes_end_at_the_first_quote() {
    check(
        r"x'41''a\'/* b */' b'1''c'",
        r"HexString x'41' · String 'a\'/* b */' · BitString b'1' · String 'c'",
    );
    // A server refuses the whole text.
    check("x'4g' a", "HexString x'4g' · Word a");
    check("x'4 a", "HexString x'4 a…");
    check("1.5e, 2", "Unknown 1.5e, 2…");
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
        ..LexMode::default()
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
