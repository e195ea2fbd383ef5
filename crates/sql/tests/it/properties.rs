//! What holds for every text.

use proptest::prelude::*;
use shardwright_sql::InShards;
use shardwright_sql::columns::{ColumnAnswer, ColumnQuestion, Parameters, decide};
use shardwright_sql::comment::{comments, lone_pair, values_in};
use shardwright_sql::digest::first_word;
use shardwright_sql::rewrite::apply;
use shardwright_sql::schema::{Unqualified, place, references};
use shardwright_sql::set::items;
use shardwright_sql::skim::Comments;
use shardwright_sql::{
    CommentForm, CommentKey, Digest, LexMode, Lexer, Servers, Shape, Skim, Span, TokenKind, annotation,
    classify, comment_keys,
};

fn modes() -> impl Strategy<Value = LexMode> {
    let servers = prop::sample::select(vec![Servers::ANY, Servers::MARIADB_10_11, Servers::MYSQL_9_6]);
    let flags = any::<(bool, bool)>();
    (flags, servers).prop_map(|((ansi_quotes, no_backslash_escapes), servers)| LexMode {
        ansi_quotes,
        no_backslash_escapes,
        servers,
    })
}

/// Pieces that statements and attacks are made of.
fn statement() -> impl Strategy<Value = Vec<u8>> {
    let pieces = prop::sample::select(vec![
        "SELECT ",
        "select\t",
        "Delete\n",
        "\u{13}nsert ",
        "n",
        " FROM ",
        "world",
        ".",
        "City",
        "`world`",
        " WHERE ",
        "Continent",
        "=",
        "'Asia'",
        "\"Asia\"",
        " AND ",
        " OR ",
        "(",
        ")",
        ",",
        ";",
        "/*",
        "*/",
        "/*!",
        "/*+",
        "-- ",
        "#",
        "\n",
        " ",
        "'",
        "\"",
        "`",
        "\\",
        "@a",
        "@@b",
        "0x1",
        "1e5",
        "-1",
        "?",
        "_utf8",
        "x'1'",
        " IN ",
        " JOIN ",
        " ON ",
        "INSERT INTO ",
        " VALUES ",
        "SET ",
        "UPDATE ",
        "DELETE",
        "*",
        " AS ",
        "tenant=17",
        "hostgroup=3",
        "\u{e9}",
        "NOT ",
        "count(",
        "UNION ",
    ]);
    let piece = prop_oneof![
        8 => pieces.prop_map(|piece| piece.as_bytes().to_vec()),
        1 => prop::collection::vec(any::<u8>(), 0..4),
    ];
    prop::collection::vec(piece, 0..40).prop_map(|pieces| pieces.concat())
}

/// The comments of every token of a text, up to where it stops being certain what a comment is.
fn comments_of_all_tokens(text: &[u8], mode: LexMode) -> Vec<Span> {
    let hides = |body: &[u8]| {
        body.iter().any(|byte| b"'\"`#".contains(byte))
            || body.windows(2).any(|pair| pair == b"/*" || pair == b"--")
    };
    let mut found = Vec::new();
    for token in Lexer::new(text, mode) {
        let is_code = token.kind == TokenKind::ExecutableComment;
        if !token.terminated || (is_code && hides(&token.span.of(text)[2..])) {
            break;
        }
        if token.kind == TokenKind::BlockComment {
            found.push(token.span);
        }
    }
    found
}

/// Words that blanks and comments part or join.
fn beginning() -> impl Strategy<Value = Vec<u8>> {
    let pieces = prop::sample::select(vec![
        "SE", "T", "set", "SHOW ", "K1", "1", " ", "\t", "\n", "\u{c}", "/*", "*/", "/", "*", "!", "/*!",
        "/**/", "/* a */", "#", "-- ", "-", "(", ")", ",", "'", ";", "@", "\0",
    ]);
    prop::collection::vec(pieces, 0..10).prop_map(|pieces| pieces.concat().into_bytes())
}

proptest! {
    #[test]
    fn tokens_tile_the_text(text in prop_oneof![statement(), prop::collection::vec(any::<u8>(), 0..200)], mode in modes()) {
        let mut at = 0;
        for token in Lexer::new(&text, mode) {
            prop_assert_eq!(token.span.start, at);
            prop_assert!(token.span.end > at);
            at = token.span.end;
        }
        prop_assert_eq!(at, text.len());
    }

    #[test]
    fn the_first_word_is_that_of_the_digest(text in beginning()) {
        if let Some(word) = first_word(&text) {
            let digest = Digest::of(&text).text;
            prop_assert!(digest.starts_with(word));
            let next = digest.get(word.len());
            prop_assert!(!next.is_some_and(|byte| byte.is_ascii_alphanumeric() || b"_$".contains(byte)));
        }
    }

    #[test]
    fn what_is_read_early_is_what_the_whole_text_says(text in statement(), mode in modes()) {
        let found: Vec<Span> = comments(&text, mode).map(|(span, _)| span).collect();
        prop_assert_eq!(&found, &comments_of_all_tokens(&text, mode));
        let skim = Skim::of(&text, mode);
        let shape = Shape::of(&text, mode);
        prop_assert_eq!(skim.class, shape.class);
        prop_assert!(skim.may_be_several || !shape.several);
        if let Some(first) = skim.comments.first(&text) {
            prop_assert_eq!(first, annotation::first_comment(&text));
        }
        match skim.comments {
            Comments::None => prop_assert_eq!(found.len(), 0),
            Comments::Lone(body) => {
                prop_assert_eq!(found.len(), 1);
                prop_assert_eq!((found[0].start + 2, found[0].end - 2), (body.start, body.end));
            }
            Comments::Unread => {}
        }
    }

    #[test]
    fn a_lone_pair_is_all_that_its_comment_holds(
        body in prop_oneof!["[ ]{0,2}[a-z+.]{0,3}[ ]?=[ ]?[a-z0-9]{0,3}[ ,;'=%\\\\]{0,3}[a-z]?", "[ -~]{0,8}=[ -~]{0,8}", "\\PC{0,9}"],
        other in "[a-z]{1,3}",
    ) {
        let Some((name, value)) = lone_pair(body.as_bytes()) else {
            return Ok(());
        };
        let annotations: Vec<_> = annotation::annotations_in(body.as_bytes()).collect();
        prop_assert_eq!(annotations, vec![annotation::Annotation { key: name, value }]);
        for form in [CommentForm::Pairs, CommentForm::Sqlcommenter] {
            let name = std::str::from_utf8(name).expect("bare names are ASCII");
            let all = |name| {
                let found = values_in(body.as_bytes(), CommentKey { name, form });
                found.map(std::borrow::Cow::into_owned).collect::<Vec<_>>()
            };
            prop_assert_eq!(all(name), vec![value.to_vec()]);
            prop_assert_eq!(all(&other).len(), usize::from(name.eq_ignore_ascii_case(&other)));
        }
    }

    #[test]
    fn no_text_is_too_strange(text in statement(), mode in modes()) {
        let digest = Digest::of(&text);
        prop_assert!(digest.text.len() <= text.len());
        let shape = Shape::of(&text, mode);
        prop_assert_eq!(shape.class, classify(&text, mode));
        let _ = items(&text, mode);
        let _ = annotation::first_comment(&text).map(|comment| annotation::annotations_in(&comment.text).count());
        let _ = references(&text, mode);
        for in_shards in [InShards::Present, InShards::Absent] {
            let question = ColumnQuestion {
                logical_schema: "world", key_column: "Continent", session_schema: Some("world"), in_shards, mode,
                parameters: Parameters::Unknown,
            };
            if let ColumnAnswer::Keys(found) = decide(&text, &question) {
                prop_assert!(!shape.several && !shape.executable_comment && !shape.unterminated);
                prop_assert!(!found.values.is_empty());
                apply(&text, &found.neutralised);
            }
        }
    }

    #[test]
    fn literals_never_hold_keys(body in "[a-z0-9 =;,/*!+#.-]{0,30}", quote in prop::sample::select(vec!['\'', '"', '`'])) {
        let statement = format!("SELECT {quote}{body}/* tenant=17 */{body}{quote}");
        let key = CommentKey { name: "tenant", form: CommentForm::Pairs };
        prop_assert_eq!(comment_keys(statement.as_bytes(), LexMode::default(), key).count(), 0);
    }

    #[test]
    fn values_are_never_cut(value in "[a-zA-Z0-9_.:=*-]{1,12}", before in "[a-z_.]{0,3}") {
        let statement = format!("/* {before}tenant={value} */ SELECT 1");
        let key = CommentKey { name: "tenant", form: CommentForm::Pairs };
        let found: Vec<_> = comment_keys(statement.as_bytes(), LexMode::default(), key).map(|(v, _)| v.into_owned()).collect();
        let expect = if before.is_empty() { vec![value.into_bytes()] } else { vec![] };
        prop_assert_eq!(found, expect);
    }

    #[test]
    fn placing_changes_names_only(text in statement(), mode in modes()) {
        for how in [Unqualified::Qualify, Unqualified::Keep] {
            let Ok(edits) = place(&text, mode, "world", Some("world"), "Europe", how) else { continue };
            let placed = apply(&text, &edits);
            let others = |text: &[u8]| -> Vec<Vec<u8>> {
                Lexer::new(text, mode).filter(|token| !token.is_name() && token.span.of(text) != b".")
                    .map(|token| token.span.of(text).to_vec()).collect()
            };
            prop_assert_eq!(others(&text), others(&placed));
            let left = references(&placed, mode).iter().filter(|reference| reference.name == b"world".as_slice()).count();
            prop_assert_eq!(left, 0);
        }
    }
}
