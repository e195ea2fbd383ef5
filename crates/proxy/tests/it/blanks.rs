//! Bytes that are blanks to a server and letters to the lexer: they must not hide a word.

use shardwright_rules::{Encoding, Statement};
use shardwright_sql::LexMode;

use crate::raw::RawClient;
use crate::support::server;

/// `DO` and a number, with a byte between them.
fn do_with(byte: u8) -> Vec<u8> {
    [b"\x03DO".as_slice(), &[byte], b"1"].concat()
}

/// Character sets of one byte in which the server takes the byte for a blank, for each byte beyond ASCII.
fn blanks() -> Vec<(String, u8)> {
    let names = server()
        .run("SELECT character_set_name FROM information_schema.character_sets WHERE maxlen = 1 ORDER BY 1")
        .unwrap();
    let mut client = RawClient::log_in(server().address());
    let mut found = Vec::new();
    for name in names.iter().map(|row| row[0].clone().unwrap()) {
        let set = format!("\x03SET character_set_client = {name}");
        assert_eq!(client.code(set.as_bytes()), Some(0), "{name}");
        let blank = (0x80..=0xFF).filter(|byte| client.code(&do_with(*byte)) == Some(0));
        found.extend(blank.map(|byte| (name.clone(), byte)));
    }
    found
}

#[test]
fn a_blank_of_a_character_set_hides_no_lock() {
    let blanks = blanks();
    assert!(blanks.contains(&("latin1".to_owned(), 0xA0)), "{blanks:?}");
    for (name, blank) in blanks {
        let encoding = Encoding::of_charset(&name);
        for (before, after) in [
            ("SELECT a FROM t FOR", "UPDATE"),
            ("SELECT a FROM t LOCK IN", "SHARE MODE"),
            ("SELECT a INTO", "OUTFILE 'f' FROM t"),
            ("SELECT a FROM t WHERE a = 1 FOR", "SHARE"),
        ] {
            let text = [before.as_bytes(), &[blank], after.as_bytes()].concat();
            let statement = Statement::new(&text, LexMode::default()).encoded_in(encoding);
            assert!(
                !statement.is_safe_read(true),
                "{name}, {blank:#x}: {before} {after}"
            );
        }
        // In a literal it is one of its characters.
        let text = [b"SELECT a FROM t WHERE b = 'x".as_slice(), &[blank], b"y'"].concat();
        let statement = Statement::new(&text, LexMode::default()).encoded_in(encoding);
        assert!(statement.is_safe_read(true), "{name}, {blank:#x}");
    }
    // In UTF-8 the byte is a part of a letter.
    let text = "SELECT à FROM t";
    let statement = Statement::new(text.as_bytes(), LexMode::default()).encoded_in(Encoding::Utf8mb4);
    assert!(statement.is_safe_read(true));
}
