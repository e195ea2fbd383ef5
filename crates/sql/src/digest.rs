//! Digest text and hash of a statement, as ProxySQL 2.7 makes them with default settings.
//!
//! Written from observed results, quirks included: double quotes always quote a literal, backticks quote nothing, a
//! binary sign with blanks around it is taken for a sign of the number behind it, and a line comment that ends
//! with the text loses only its marker.

use crate::lex::scan::{is_blank, is_name_byte};
use crate::spooky;

/// The settings that shape a digest, under their ProxySQL names without `query_digests_`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DigestOptions {
    /// Literals of one list that are kept before `...`.
    pub grouping_limit: usize,
    /// Abbreviated lists in a row that are kept before `...`.
    pub groups_grouping_limit: usize,
    /// Longest digest text in bytes.
    pub max_query_length: usize,
    /// Bytes of the text that are hashed.
    pub max_digest_length: usize,
}

impl Default for DigestOptions {
    fn default() -> Self {
        DigestOptions {
            grouping_limit: 3,
            groups_grouping_limit: 10,
            max_query_length: 65_000,
            max_digest_length: 2048,
        }
    }
}

/// A statement without its literals, and the hash of that text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Digest {
    /// The digest text.
    pub text: Vec<u8>,
    /// SpookyHash V2 of the text, seed 0; ProxySQL prints it as `0x` and 16 upper-case hexadecimal digits.
    pub hash: u64,
}

impl Digest {
    /// The digest of a statement under default settings.
    pub fn of(statement: &[u8]) -> Self {
        let mut text = Vec::new();
        let hash = digest_into(statement, DigestOptions::default(), &mut text);
        Digest { text, hash }
    }
}

/// Writes the digest text of `statement` into `text`, which is cleared first, and returns the hash.
pub fn digest_into(statement: &[u8], options: DigestOptions, text: &mut Vec<u8>) -> u64 {
    text.clear();
    let mut writer = Writer::new(options, text);
    let limit = options.max_query_length.min(statement.len());
    let mut input = Input {
        text: statement,
        at: 0,
        previous: b' ',
        executable: false,
    };
    while writer.text.len() < limit && input.step(&mut writer) {}
    writer.text.truncate(limit);
    while let Some(b' ' | b';') = text.last() {
        text.pop();
    }
    spooky::hash64(&text[..text.len().min(options.max_digest_length)])
}

struct Input<'t> {
    text: &'t [u8],
    at: usize,
    /// The byte before `at` as far as numbers are concerned.
    previous: u8,
    /// Inside `/*! … */`.
    executable: bool,
}

impl Input<'_> {
    /// Reads one piece; false at the end of the text.
    fn step(&mut self, writer: &mut Writer<'_>) -> bool {
        let rest = &self.text[self.at..];
        let Some(&byte) = rest.first() else { return false };
        let next = rest.get(1).copied();
        match byte {
            b'/' if next == Some(b'*') => self.comment(writer),
            b'*' if self.executable && next == Some(b'/') => {
                self.executable = false;
                self.blank(2, writer);
            }
            b'#' => self.line_comment(1, writer),
            b'-' if next == Some(b'-') && rest.get(2).is_some_and(|&b| is_blank(b)) => {
                self.line_comment(2, writer);
            }
            b'\'' | b'"' => {
                self.at = end_of_string(self.text, self.at);
                self.previous = byte;
                writer.literal();
            }
            b'0'..=b'9' if !is_name_byte(self.previous) => self.number(writer),
            _ if is_blank(byte) => self.blank(1, writer),
            _ => {
                self.at += 1;
                self.previous = byte;
                writer.plain(byte);
            }
        }
        true
    }

    fn blank(&mut self, bytes: usize, writer: &mut Writer<'_>) {
        self.at += bytes;
        self.previous = b' ';
        writer.blank = true;
    }

    fn comment(&mut self, writer: &mut Writer<'_>) {
        let body = &self.text[self.at + 2..];
        if body.first() == Some(&b'!') {
            self.executable = true;
            let version = body[1..].iter().take_while(|b| b.is_ascii_digit()).count();
            self.blank(3 + version, writer);
        } else {
            let length = memchr::memmem::find(body, b"*/").map_or(body.len(), |n| n + 2);
            self.blank(2 + length, writer);
        }
    }

    fn line_comment(&mut self, marker: usize, writer: &mut Writer<'_>) {
        let rest = &self.text[self.at..];
        match memchr::memchr(b'\n', rest) {
            Some(length) => self.blank(length + 1, writer),
            None if writer.text.is_empty() => self.blank(rest.len(), writer),
            None => self.blank(marker, writer),
        }
    }

    /// A number; digits that a name goes on behind are part of that name.
    fn number(&mut self, writer: &mut Writer<'_>) {
        let end = end_of_number(self.text, self.at);
        if self.text.get(end).is_some_and(|&b| is_name_byte(b)) {
            let name = &self.text[self.at..];
            let length = name.iter().take_while(|&&b| is_name_byte(b)).count();
            name[..length].iter().for_each(|&b| writer.plain(b));
            self.at += length;
        } else {
            self.at = end;
            writer.literal();
        }
        self.previous = b'0';
    }
}

fn end_of_string(text: &[u8], start: usize) -> usize {
    let quote = text[start];
    let mut at = start + 1;
    while let Some(&byte) = text.get(at) {
        match byte {
            b'\\' => at += 2,
            _ if byte == quote && text.get(at + 1) == Some(&quote) => at += 2,
            _ if byte == quote => return at + 1,
            _ => at += 1,
        }
    }
    text.len()
}

fn end_of_number(text: &[u8], start: usize) -> usize {
    let run = |from: usize, belongs: fn(&u8) -> bool| {
        from + text[from..].iter().take_while(|byte| belongs(byte)).count()
    };
    if text[start] == b'0' && matches!(text.get(start + 1), Some(b'x' | b'X')) {
        return run(start + 2, u8::is_ascii_hexdigit);
    }
    let mut end = run(start, u8::is_ascii_digit);
    if text.get(end) == Some(&b'.') {
        end = run(end + 1, u8::is_ascii_digit);
    }
    if matches!(text.get(end), Some(b'e' | b'E')) {
        let sign = usize::from(matches!(text.get(end + 1), Some(b'+' | b'-')));
        let digits = end + 1 + sign;
        if text.get(digits).is_some_and(u8::is_ascii_digit) {
            end = run(digits, u8::is_ascii_digit);
        }
    }
    end
}

struct Writer<'o> {
    text: &'o mut Vec<u8>,
    options: DigestOptions,
    /// A blank stands before the next byte, unless its neighbours forbid one.
    blank: bool,
    /// Literals in a row, separated by commas only.
    literals: usize,
    /// `literals` as it was before a sign.
    literals_before_sign: usize,
    /// Abbreviated lists in a row, and where the last of them ends.
    groups: usize,
    groups_end: usize,
}

impl<'o> Writer<'o> {
    fn new(options: DigestOptions, text: &'o mut Vec<u8>) -> Self {
        Writer {
            text,
            options,
            blank: false,
            literals: 0,
            literals_before_sign: 0,
            groups: 0,
            groups_end: 0,
        }
    }

    fn plain(&mut self, byte: u8) {
        self.settle_blank(byte);
        match byte {
            b',' => {}
            b'+' | b'-' => self.literals_before_sign = std::mem::take(&mut self.literals),
            _ => self.literals = 0,
        }
        if byte == b')' && self.end_group() {
            return;
        }
        self.text.push(byte);
        if byte == b')' && self.groups > 0 && self.groups_end + 1 == self.text.len() {
            self.groups_end = self.text.len();
        }
    }

    fn settle_blank(&mut self, next: u8) {
        let before = self.text.last();
        let allowed = !matches!(before, None | Some(b'(' | b',' | b' ')) && !matches!(next, b')' | b',');
        if std::mem::take(&mut self.blank) && allowed {
            self.text.push(b' ');
        }
    }

    fn literal(&mut self) {
        self.drop_sign();
        self.settle_blank(b'?');
        let continues = self.literals > 0 && self.text.last() == Some(&b',');
        self.literals = if continues { self.literals + 1 } else { 1 };
        let kept = self.options.grouping_limit;
        if self.literals <= kept + 1 {
            self.text.push(b'?');
        } else if self.literals == kept + 2 {
            self.text.truncate(self.text.len() - 2);
            self.text.extend(b"...");
        } else {
            self.text.pop();
        }
    }

    fn drop_sign(&mut self) {
        let [before @ .., b'+' | b'-'] = self.text.as_slice() else {
            return;
        };
        let binary = before
            .last()
            .is_some_and(|&b| is_name_byte(b) || matches!(b, b'?' | b')' | b'`'));
        if !binary {
            self.text.pop();
            self.literals = self.literals_before_sign;
        }
    }

    /// Called before `)` is written; true if the list vanishes into the `...` of the lists before it.
    fn end_group(&mut self) -> bool {
        let kept = self.options.grouping_limit;
        let length = 2 * kept + 4;
        let Some(start) = self.text.len().checked_sub(length) else {
            return false;
        };
        let list = &self.text[start..];
        let abbreviated = list[0] == b'('
            && list.ends_with(b"...")
            && list[1..length - 3].chunks(2).all(|pair| pair == b"?,");
        if !abbreviated {
            return false;
        }
        let continues = self.groups > 0 && start == self.groups_end + 1 && self.text[start - 1] == b',';
        self.groups = if continues { self.groups + 1 } else { 1 };
        let limit = self.options.groups_grouping_limit;
        if self.groups <= limit {
            self.groups_end = self.text.len();
            return false;
        }
        if self.groups == limit + 1 {
            self.text.truncate(start);
            self.text.extend(b"...");
            self.groups_end = self.text.len();
        } else {
            self.text.truncate(start - 1);
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rows of the table of observed digests.
    const OBSERVED: [(&str, &str, u64); 19] = [
        ("SELECT 1", "SELECT ?", 0x1C46_AE52_9DD5_A40E),
        ("/* c */ SELECT 1 /* c */;", "SELECT ?", 0x1C46_AE52_9DD5_A40E),
        ("# x\nSELECT 1 ; ", "SELECT ?", 0x1C46_AE52_9DD5_A40E),
        ("select 1", "select ?", 0x1E09_2DAE_FFBB_F262),
        (
            "SELECT   *   FROM t WHERE id = 42 AND name='o''brien'",
            "SELECT * FROM t WHERE id = ? AND name=?",
            0x4D7D_CFF8_7DD1_A927,
        ),
        (
            "SELECT * FROM t1 WHERE a=1",
            "SELECT * FROM t1 WHERE a=?",
            0xB7A9_B1FD_EF77_0976,
        ),
        (
            "SELECT * FROM db1.t WHERE id IN (1,2,3)",
            "SELECT * FROM db1.t WHERE id IN (?,?,?)",
            0x6D35_7D52_CB0D_6485,
        ),
        (
            "SELECT * FROM t WHERE id IN (1,2,3,4)",
            "SELECT * FROM t WHERE id IN (?,?,?,?)",
            0xA055_AD24_7CD6_BFDD,
        ),
        (
            "SELECT * FROM t WHERE id IN (1,2,3,4,5)",
            "SELECT * FROM t WHERE id IN (?,?,?,...)",
            0x0879_5263_00B5_BE2D,
        ),
        (
            "SELECT * FROM t WHERE id IN ( 1, 2,3 ,4,5,6,7,8,9 )",
            "SELECT * FROM t WHERE id IN (?,?,?,...)",
            0x0879_5263_00B5_BE2D,
        ),
        (
            "INSERT INTO t VALUES (1,2,3,4,5),(6,7,8,9,10)",
            "INSERT INTO t VALUES (?,?,?,...),(?,?,?,...)",
            0xD33A_1BB1_557B_F325,
        ),
        (
            "SELECT -1, +2, 3-4, a-1, a - 1",
            "SELECT ?,?,?-?,a-?,a ?",
            0xF00F_D270_43D2_CFC4,
        ),
        (
            "SELECT /*+ MAX_EXECUTION_TIME(1000) */ a FROM t",
            "SELECT a FROM t",
            0x5DAF_74BD_A38B_F7C0,
        ),
        (
            "SELECT /*!40001 SQL_NO_CACHE */ * FROM t",
            "SELECT SQL_NO_CACHE * FROM t",
            0xC5F8_41A5_A4ED_2846,
        ),
        (
            "SELECT NULL, null, 'a'",
            "SELECT NULL,null,?",
            0xF7A3_027F_E43A_DB25,
        ),
        (
            "SELECT 1 ; SELECT 2",
            "SELECT ? ; SELECT ?",
            0x6AFA_E8AC_C938_FDC9,
        ),
        ("select 1 -- aaaa", "select ? aaaa", 0x8B83_6B02_4369_1358),
        ("SELECT \t\r\n1", "SELECT ?", 0x1C46_AE52_9DD5_A40E),
        ("SELECT 0x1F", "SELECT ?", 0x1C46_AE52_9DD5_A40E),
    ];

    #[test]
    fn digests_equal_those_of_proxysql() {
        for (statement, text, hash) in OBSERVED {
            let digest = Digest::of(statement.as_bytes());
            assert_eq!(String::from_utf8_lossy(&digest.text), text, "{statement}");
            assert_eq!(digest.hash, hash, "{statement}");
        }
    }

    #[test]
    fn more_than_ten_abbreviated_lists_become_dots() {
        let rows = |n: usize| vec!["(1,2,3,4,5)"; n].join(", ");
        let text =
            |n| String::from_utf8(Digest::of(format!("INSERT INTO t VALUES {}", rows(n)).as_bytes()).text);
        let ten = ["(?,?,?,...)"; 10].join(",");
        assert_eq!(text(10).unwrap(), format!("INSERT INTO t VALUES {ten}"));
        for more in [11, 12, 400] {
            assert_eq!(text(more).unwrap(), format!("INSERT INTO t VALUES {ten},..."));
        }
        assert_eq!(Digest::of(b"VALUES (1),(2),(3)").text, b"VALUES (?),(?),(?)");
    }
}
