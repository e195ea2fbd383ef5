//! Random statements with a key in every place where one is read, and random values of it.

use mysql::Value;

/// Texts that servers can take for one another, and texts that they change while they store them.
const TEXTS: [&str; 52] = [
    "eu",
    "eu",
    "us",
    "ap",
    "1",
    "2",
    "10",
    "EU",
    "Eu",
    "eu ",
    " eu",
    "eu\t",
    "eu\u{1}",
    "us  ",
    "e",
    "é",
    "e\u{301}",
    "É",
    "ee",
    "ä",
    "Ä",
    "ae",
    "a\u{308}",
    "ё",
    "е",
    "漢",
    "ß",
    "ss",
    "i",
    "ı",
    "y",
    "01",
    "1 ",
    " 1",
    "1.0",
    "1e0",
    "+1",
    "-1",
    "1x",
    "0",
    "",
    " ",
    "127",
    "300",
    "9007199254740993",
    "9007199254740992",
    "2026-01-02",
    "20260102",
    "😀",
    "ﬁ",
    "a longer text than fits",
    "ccs",
];
const INTEGERS: [&str; 18] = [
    "0",
    "1",
    "1",
    "2",
    "2",
    "10",
    "-1",
    "127",
    "128",
    "300",
    "65536",
    "20260102",
    "16777217",
    "9007199254740992",
    "9007199254740993",
    "18446744073709551615",
    "99999999999999999999",
    "007",
];

/// In the place of the schema, which has another name on the server with all rows.
const SCHEMA: &str = "@SCHEMA@";

/// A statement as it is sent.
#[derive(Debug)]
pub(super) struct Sent {
    pub(super) sql: String,
    /// Of a prepared statement.
    pub(super) parameters: Option<Vec<Value>>,
    pub(super) writes: bool,
}

impl Sent {
    /// The text for a schema.
    pub(super) fn text(&self, schema: &str) -> String {
        self.sql.replace(SCHEMA, schema)
    }
}

/// A source of statements (xorshift64).
pub(super) struct Generator {
    pub(super) seed: u64,
    state: u64,
    rows: usize,
}

impl Generator {
    pub(super) fn new(seed: u64) -> Self {
        Self {
            seed,
            state: seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1,
            rows: 0,
        }
    }

    pub(super) fn below(&mut self, bound: usize) -> usize {
        self.state ^= self.state << 13;
        self.state ^= self.state >> 7;
        self.state ^= self.state << 17;
        usize::try_from(self.state % bound as u64).unwrap()
    }

    pub(super) fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }

    fn pick<'a>(&mut self, among: &[&'a str]) -> &'a str {
        among[self.below(among.len())]
    }

    /// A SET of the session's character set, for every second session.
    pub(super) fn charset(&mut self) -> Option<&'static str> {
        const SETS: [&str; 18] = [
            "SET NAMES latin1",
            "SET NAMES utf8mb3",
            "SET NAMES cp1250",
            "SET NAMES koi8r",
            "SET NAMES binary",
            "SET NAMES ascii",
            "SET NAMES utf8mb4 COLLATE utf8mb4_bin",
            "SET NAMES euckr",
            "SET CHARACTER SET utf8mb4",
            "SET @@character_set_client = latin1",
            "SET collation_connection = latin1_bin",
            "SET collation_connection = utf8mb4_unicode_ci, character_set_client = cp1251",
            "SET collation_connection = ucs2_general_ci",
            "SET character_set_connection = utf16",
            "SET character_set_connection = utf32",
            "SET collation_connection = swe7_bin",
            "SET character_set_connection = sjis",
            "SET NAMES utf8mb4, collation_connection = gbk_chinese_ci",
        ];
        self.one_in(2).then(|| self.pick(&SETS))
    }

    /// Statements with one or two values, `$1` and `$2`, to a table `$t`; new rows have the number `$n`.
    pub(super) fn statement(&mut self, table: &str, prefers_texts: bool) -> Sent {
        const READS: [&str; 16] = [
            "SELECT id, c FROM $t WHERE k = $1 ORDER BY id",
            "SELECT id, c FROM $t WHERE $1 = k ORDER BY id",
            "SELECT COUNT(*), SUM(c) FROM $t WHERE k <=> $1",
            "SELECT id FROM $t WHERE k IN ($1) ORDER BY id",
            "SELECT id FROM $t WHERE k IN ($1, $2) ORDER BY id",
            "SELECT id FROM $t WHERE k BETWEEN $1 AND $1 ORDER BY id",
            "SELECT id FROM $t WHERE (k, c) = ($1, 0) ORDER BY id",
            "SELECT id FROM $t WHERE (k, c) IN (($1, 0), ($2, 1)) ORDER BY id",
            "SELECT id FROM $t WHERE k = $1 OR k = $2 ORDER BY id",
            "SELECT a.id, b.id FROM $t a JOIN $t b USING (k) WHERE a.k = $1 ORDER BY 1, 2 LIMIT 50",
            "SELECT a.id, b.id FROM $t a JOIN $u b ON a.k = b.k WHERE a.k = $1 ORDER BY 1, 2 LIMIT 50",
            "SELECT a.id, b.id FROM $t a LEFT JOIN $u b ON a.k = b.k AND b.c = 0 WHERE a.k = $1 ORDER BY 1, 2 LIMIT 50",
            "SELECT COUNT(*) FROM $t a NATURAL JOIN $u b WHERE a.k = $1",
            "SELECT id FROM $t a WHERE k = $1 AND EXISTS (SELECT 1 FROM $u b WHERE b.k = a.k) ORDER BY id",
            "SELECT COUNT(*) FROM $t WHERE k = $1 AND id > 5",
            "SELECT x.id FROM (SELECT id FROM $t WHERE k = $1) x ORDER BY 1",
        ];
        const WRITES: [&str; 15] = [
            "INSERT INTO $t (id, k, c) VALUES ($n, $1, 0)",
            "INSERT INTO $t (k, id, c) VALUES ($1, $n, 1)",
            "INSERT IGNORE INTO $t (id, k, c) VALUES ($n, $1, 0)",
            "INSERT INTO $t (id, k, c) VALUES ($n, $1, 0), ($n, $2, 1)",
            "INSERT INTO $t SET k = $1, id = $n, c = 2",
            "REPLACE INTO $t (id, k, c) VALUES ($n, $1, 0)",
            "INSERT INTO $t (id, k, c) VALUES ($n, $1, 0) ON DUPLICATE KEY UPDATE c = c + 1",
            "INSERT INTO $t (id, k, c) SELECT $n, $1, 3",
            "INSERT INTO $t (id, k, c) SELECT id, k, 4 FROM $u WHERE k = $1 AND c = 0",
            "UPDATE $t SET c = c + 1 WHERE k = $1",
            "UPDATE $t SET c = c + 1 WHERE k IN ($1, $2)",
            "UPDATE $t a JOIN $u b USING (k) SET a.c = b.c WHERE a.k = $1 AND b.c = 7",
            "DELETE FROM $t WHERE k = $1 AND c > 2",
            "DELETE FROM $t WHERE k <=> $1 AND c > 3",
            "DELETE a FROM $t a JOIN $u b ON a.k = b.k WHERE a.k = $1 AND b.c = 9",
        ];
        let writes = self.one_in(2);
        let template = if writes {
            // Tables fill first.
            let at = if self.one_in(2) {
                self.below(8)
            } else {
                self.below(WRITES.len())
            };
            WRITES[at]
        } else {
            READS[self.below(READS.len())]
        };
        self.rows += 1;
        let other = if self.one_in(2) {
            table.to_owned()
        } else {
            format!("t{}", self.below(3))
        };
        let mut sql = template
            .replace("$t", &format!("{SCHEMA}.{table}"))
            .replace("$u", &format!("{SCHEMA}.{other}"))
            .replace("$n", &self.rows.to_string());
        let first = self.value(prefers_texts);
        let second = if self.one_in(2) {
            first.clone()
        } else {
            self.value(prefers_texts)
        };
        if self.one_in(2) {
            sql = sql
                .replace("$1", &literal(&first))
                .replace("$2", &literal(&second));
            return Sent {
                sql,
                parameters: None,
                writes,
            };
        }
        let mut parameters = Vec::new();
        while let Some(at) = sql.find('$') {
            let value = if sql[at..].starts_with("$1") {
                &first
            } else {
                &second
            };
            parameters.push(value.clone());
            sql.replace_range(at..at + 2, "?");
        }
        Sent {
            sql,
            parameters: Some(parameters),
            writes,
        }
    }

    fn value(&mut self, prefers_texts: bool) -> Value {
        let is_text = self.one_in(5) != prefers_texts;
        if is_text {
            return Value::Bytes(self.pick(&TEXTS).as_bytes().to_vec());
        }
        let text = self.pick(&INTEGERS);
        match (text.parse::<i64>(), text.parse::<u64>()) {
            (Ok(n), _) if self.one_in(8) => Value::Double(n as f64),
            (Ok(n), _) => Value::Int(n),
            (_, Ok(n)) => Value::UInt(n),
            _ if self.one_in(2) => Value::NULL,
            _ => Value::Double(1.5),
        }
    }
}

fn literal(value: &Value) -> String {
    match value {
        Value::Bytes(bytes) => {
            let text = String::from_utf8_lossy(bytes);
            format!("'{}'", text.replace('\\', "\\\\").replace('\'', "''"))
        }
        Value::Int(n) => n.to_string(),
        Value::UInt(n) => n.to_string(),
        Value::Double(n) => format!("{n:?}"),
        _ => "NULL".to_owned(),
    }
}
