//! Statements of all kinds: as applications send them, soups of tokens, both with damage, and noise.

use std::path::{Path, PathBuf};

/// Numbers that are the same in every run (xorshift64*).
pub(crate) struct Chance(u64);

impl Chance {
    pub(crate) fn new(seed: u64) -> Self {
        Chance(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    /// Below `end`.
    pub(crate) fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33) as usize % end
    }

    pub(crate) fn of<'a>(&mut self, choices: &[&'a str]) -> &'a str {
        choices[self.below(choices.len())]
    }
}

const TOKENS: [&str; 108] = [
    "SELECT ",
    "select a",
    " FROM t",
    " WHERE ",
    "id",
    "=",
    "1",
    "12",
    "0x1F",
    "1e5",
    "1E-7",
    ".5",
    "1.",
    "+",
    "-",
    "*",
    "/",
    "%",
    " - ",
    " + ",
    " * ",
    " ",
    "  ",
    "\t",
    "\n",
    "\r\n",
    "\x0b",
    "\x0c",
    "(",
    ")",
    ",",
    ", ",
    " ,",
    "'a'",
    "\"b\"",
    "''",
    "'x''y'",
    "'\\''",
    "'",
    "\"",
    "`",
    "`a b`",
    "\\",
    "#",
    "# c\n",
    "#c\n ",
    "-- ",
    "-- c\n",
    "--\n",
    "--",
    "---",
    "/*",
    "*/",
    "/* c */",
    "/*!",
    "/*!40001 ",
    "/*!50000 SQL_NO_CACHE */",
    "/*+",
    "/**/",
    "NULL",
    "null",
    "NULL,",
    "n",
    "N",
    "a1",
    "t12b3",
    "12ab",
    "?",
    "...",
    ",...",
    "(1,2,3,4,5)",
    "(1,2,3,4,5),",
    "(1, 2, 3, 4, 5, 6), ",
    "IN (",
    "1,2,3,4",
    "?,?,?,?",
    ";",
    "; ",
    "\u{e9}",
    "\0",
    "@a",
    "@@x",
    " FOR UPDATE",
    "VALUES ",
    "END",
    "e",
    "E",
    "1e",
    "(1,2)",
    "(1),(2)",
    "_",
    "$",
    "(?,?,?,...),",
    "(?,?,?,...)",
    "-1",
    "+1",
    "- 1",
    "!",
    ".",
    "/* /* x */",
    "*/*/",
    "-- x",
    "# x",
    ".1",
    "/*! 'x'\t*/",
    "||",
    "\u{1f600}",
    "0b1",
];

const BLANKS: [&str; 9] = [" ", " ", " ", " ", "  ", "\n", "\n  ", "\t", "\r\n"];
const COMMENTS: [&str; 12] = [
    "/* app:web */ ",
    " /* trace=1 */ ",
    "-- note\n",
    " -- why\n  ",
    "# note\n",
    " # why\n ",
    "--\n",
    "/*+ HINT(t) */ ",
    "/*!40001 SQL_NO_CACHE */ ",
    "/**/",
    " -- the end",
    " # the end",
];
const COLUMNS: [&str; 10] = [
    "id",
    "name",
    "a",
    "t1.x2",
    "`key`",
    "o.total_2024",
    "COUNT(*)",
    "MAX(v)",
    "_x",
    "$p",
];
const TABLES: [&str; 6] = ["t", "orders", "shop.users", "`my table`", "t2024 AS x", "a1b2"];
const LITERALS: [&str; 22] = [
    "1", "42", "-7", "+17", "3.14", ".5", "1.", "1e5", "2.5E-3", "0x1F", "'a'", "'it''s'", "'a\\'b'",
    "\"q\"", "''", "NULL", "null", "x'4F'", "_utf8'x'", "?", "'\u{e9}'", "TRUE",
];
const OPERATORS: [&str; 18] = [
    "=", " = ", "<", " >= ", "+", "-", " - ", " + ", "*", " * ", "/", " / ", " % ", " LIKE ", "<=>", " AND ",
    " OR ", "||",
];

const NOISE: &[u8] = b"'\"`/*-#\\ \n\t(),?.;+%e10xnNuUlL!\0";

/// One statement; the kinds are about as frequent as they are instructive.
pub(super) fn statement(chance: &mut Chance) -> Vec<u8> {
    let mut text = match chance.below(20) {
        0..=8 => everyday(chance).into_bytes(),
        9..=14 => soup(chance, 14),
        15 => soup(chance, 120),
        16 => long(chance),
        17 => noise(chance),
        _ => [everyday(chance).into_bytes(), soup(chance, 6)].concat(),
    };
    if chance.below(4) == 0 {
        mutate(chance, &mut text);
    }
    text
}

fn soup(chance: &mut Chance, most: usize) -> Vec<u8> {
    let (first, several) = (chance.below(TOKENS.len()), chance.below(3));
    let mut text = Vec::new();
    for _ in 0..chance.below(most) + 1 {
        let token = match several {
            0 => TOKENS[(first + chance.below(20)) % TOKENS.len()],
            _ => chance.of(&TOKENS),
        };
        text.extend_from_slice(token.as_bytes());
    }
    text
}

fn noise(chance: &mut Chance) -> Vec<u8> {
    let length = chance.below(60);
    (0..length)
        .map(|_| match chance.below(3) {
            0 => chance.below(256) as u8,
            1 => NOISE[chance.below(NOISE.len())],
            _ => 0x20 + chance.below(95) as u8,
        })
        .collect()
}

/// Past the length that a digest may have, now and then, and past the buffers below that.
fn long(chance: &mut Chance) -> Vec<u8> {
    let end = match chance.below(40) {
        0 => 60_000 + chance.below(12_000),
        1..=5 => 1_500 + chance.below(4_000),
        _ => 100 + chance.below(400),
    };
    let mut text = b"INSERT INTO t (a, b) VALUES ".to_vec();
    while text.len() < end {
        let more = match chance.below(6) {
            0 => everyday(chance),
            1 => format!("{}, ", chance.of(&COLUMNS)),
            _ => {
                let length = chance.below(9) + 1;
                format!("({}),", list(chance, length))
            }
        };
        text.extend_from_slice(more.as_bytes());
    }
    text
}

fn mutate(chance: &mut Chance, text: &mut Vec<u8>) {
    for _ in 0..chance.below(3) + 1 {
        if text.is_empty() {
            return;
        }
        let at = chance.below(text.len());
        match chance.below(5) {
            0 => {
                text.remove(at);
            }
            1 => text.insert(at, chance.below(256) as u8),
            2 => text.insert(at, NOISE[chance.below(NOISE.len())]),
            3 => text.truncate(at),
            _ => {
                let token = chance.of(&TOKENS).bytes();
                text.splice(at..at, token);
            }
        }
    }
}

fn everyday(chance: &mut Chance) -> String {
    let mut text = String::new();
    let table = chance.of(&TABLES);
    match chance.below(8) {
        0..=3 => {
            let columns = columns(chance);
            text += &format!("SELECT {columns} FROM {table}");
            if chance.below(3) == 0 {
                text += &format!(" JOIN {} ON a.id = b.id", chance.of(&TABLES));
            }
            text += &conditions(chance);
            text += chance.of(&[
                "",
                "",
                " ORDER BY - a",
                " ORDER BY id DESC LIMIT 10, 20",
                " FOR UPDATE",
                " GROUP BY 1",
            ]);
        }
        4 => {
            let rows: Vec<String> = (0..chance.below(14) + 1)
                .map(|_| {
                    let length = chance.below(7) + 1;
                    format!("({})", list(chance, length))
                })
                .collect();
            text += &format!(
                "INSERT INTO {table} VALUES {}",
                rows.join(chance.of(&[",", ", ", " , "]))
            );
        }
        5 => {
            text += &format!(
                "UPDATE {table} SET a={}{}",
                expression(chance),
                conditions(chance)
            )
        }
        6 => text += &format!("DELETE FROM {table}{}", conditions(chance)),
        _ => {
            text += chance.of(&[
                "BEGIN",
                "SHOW TABLES",
                "CALL p(1, 'a')",
                "EXPLAIN SELECT 1",
                "(SELECT 1) UNION (SELECT 2)",
            ])
        }
    }
    text += chance.of(&["", "", "", ";", " ;", ";\n", "; -- x"]);
    dressed(chance, &text)
}

/// With other blanks, and with comments in between.
fn dressed(chance: &mut Chance, text: &str) -> String {
    let plain = chance.below(2) == 0;
    let mut dressed = String::new();
    for (number, word) in text.split(' ').enumerate() {
        if number > 0 {
            dressed += if plain { " " } else { chance.of(&BLANKS) };
        }
        if chance.below(40) == 0 {
            dressed += chance.of(&COMMENTS);
        }
        dressed += word;
    }
    if chance.below(12) == 0 {
        dressed += chance.of(&COMMENTS);
    }
    dressed
}

fn columns(chance: &mut Chance) -> String {
    let all: Vec<String> = (0..chance.below(4) + 1)
        .map(|_| match chance.below(4) {
            0 => expression(chance),
            _ => chance.of(&COLUMNS).to_owned(),
        })
        .collect();
    all.join(chance.of(&[",", ", ", " , "]))
}

fn expression(chance: &mut Chance) -> String {
    let mut text = operand(chance);
    for _ in 0..chance.below(3) {
        text += chance.of(&OPERATORS);
        text += &operand(chance);
    }
    text
}

fn operand(chance: &mut Chance) -> String {
    match chance.below(6) {
        0..=2 => chance.of(&LITERALS).to_owned(),
        3 | 4 => chance.of(&COLUMNS).to_owned(),
        _ => format!("({})", expression_of_two(chance)),
    }
}

fn expression_of_two(chance: &mut Chance) -> String {
    [chance.of(&COLUMNS), chance.of(&OPERATORS), chance.of(&LITERALS)].concat()
}

fn conditions(chance: &mut Chance) -> String {
    let mut text = String::new();
    for number in 0..chance.below(3) {
        text += if number == 0 { " WHERE " } else { " AND " };
        text += &match chance.below(3) {
            0 => {
                let length = chance.below(12) + 1;
                let (open, close) = (chance.of(&["(", "( "]), chance.of(&[")", " )"]));
                format!("{} IN {open}{}{close}", chance.of(&COLUMNS), list(chance, length))
            }
            _ => expression(chance),
        };
    }
    text
}

fn list(chance: &mut Chance, length: usize) -> String {
    let comma = chance.of(&[",", ", ", " ,", " , "]);
    let all: Vec<String> = (0..length)
        .map(|_| match chance.below(12) {
            0 => operand(chance),
            _ => chance.of(&LITERALS).to_owned(),
        })
        .collect();
    all.join(comma)
}

/// Every line of the examples, the documents and the tests, and what they quote.
pub(super) fn statements_of_this_repository() -> Vec<Vec<u8>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut files = Vec::new();
    for part in ["examples", "docs", "crates", "tests"] {
        files_below(&root.join(part), &mut files);
    }
    files.sort();
    let mut statements = Vec::new();
    for file in files {
        let Ok(text) = std::fs::read_to_string(&file) else {
            continue;
        };
        for line in text.lines() {
            statements.push(line.as_bytes().to_vec());
            let quoted = line.split(['"', '`']).skip(1).step_by(2);
            statements.extend(
                quoted
                    .filter(|quoted| quoted.contains(' '))
                    .map(|quoted| quoted.as_bytes().to_vec()),
            );
        }
        if text.len() < 100_000 {
            statements.push(text.into_bytes());
        }
    }
    statements.sort();
    statements.dedup();
    statements
}

fn files_below(directory: &Path, files: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files_below(&path, files);
        } else if ["rs", "md", "yaml", "sql", "snap"]
            .iter()
            .any(|known| path.extension().is_some_and(|e| e == *known))
        {
            files.push(path);
        }
    }
}
