//! Statements with words about sessions in every clause. The same seed gives the same statements.

use super::stage::{Map, TENANTS};

/// Pseudo-random numbers (splitmix64), the same on every machine.
pub(super) struct Random(u64);

impl Random {
    pub(super) fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub(super) fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((z ^ (z >> 31)) % limit as u64) as usize
    }

    pub(super) fn of<T: Clone>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len())].clone()
    }
}

/// What a client sends.
#[derive(Clone, Debug)]
pub(super) enum Step {
    Text(String),
    /// Prepared by the protocol, and executed after these texts.
    Binary(String, Vec<String>),
    /// LOAD DATA LOCAL.
    File(String),
    InitDb(String),
    Ping,
}

/// A session's statements.
pub(super) struct Script {
    map: Map,
    /// The tenant that most of its statements are about.
    home: usize,
}

impl Script {
    pub(super) fn new(map: Map, home: usize) -> Self {
        Self { map, home }
    }

    fn tenant(&self, random: &mut Random) -> usize {
        match self.map {
            Map::User => self.home,
            _ if random.below(3) == 0 => random.of(&TENANTS),
            _ => self.home,
        }
    }

    /// `w` or, where the key is in the names of tables, `w_1`.
    fn table(&self, name: &str, tenant: usize) -> String {
        match self.map {
            Map::Table => format!("{name}_{tenant}"),
            _ => name.to_owned(),
        }
    }

    /// The key in a comment, where it counts. Statements about no table have no other place for it.
    fn hint(&self, tenant: usize, has_table: bool, random: &mut Random) -> String {
        let share = match (self.map, has_table) {
            (Map::Comment, true) => 19,
            (Map::Comment | Map::Column | Map::Table, false) => 10,
            (Map::Column | Map::Table, true) => 1,
            (Map::Schema | Map::User, _) => 0,
        };
        match random.below(20) < share {
            true => format!("/* tenant={tenant} */ "),
            false => String::new(),
        }
    }

    /// An expression with a word about the session.
    fn word(random: &mut Random) -> String {
        let word = match random.below(16) {
            0..=2 => "LAST_INSERT_ID()".to_owned(),
            3 | 4 => format!("LAST_INSERT_ID({})", random.below(90) + 1),
            5 => "@@identity".to_owned(),
            6 => "@@last_insert_id".to_owned(),
            7 | 8 => "FOUND_ROWS()".to_owned(),
            9 | 10 => "ROW_COUNT()".to_owned(),
            11 => "@@warning_count".to_owned(),
            12 => "@@error_count".to_owned(),
            13 => "@trig".to_owned(),
            14 => "(CONNECTION_ID() > 0)".to_owned(),
            _ => "@x".to_owned(),
        };
        match random.below(5) {
            0 => format!("COALESCE({word}, 7)"),
            1 => format!("{word} + 1"),
            _ => word,
        }
    }

    /// The same where a row's columns are at hand.
    fn row_word(random: &mut Random) -> String {
        match random.below(4) {
            0 => "LAST_INSERT_ID(p + 1)".to_owned(),
            _ => Self::word(random),
        }
    }

    pub(super) fn step(&self, random: &mut Random) -> Step {
        match random.below(24) {
            0 => Step::Ping,
            1 => {
                let tenant = self.tenant(random);
                Step::InitDb(self.map.schema(tenant))
            }
            2 => {
                let tenant = self.tenant(random);
                let (hint, q) = (self.hint(tenant, true, random), format!("q_{tenant}"));
                let word = Self::word(random);
                Step::File(format!(
                    "{hint}LOAD DATA LOCAL INFILE 'a' INTO TABLE {q} (p) SET tenant = {tenant}, k = {word}"
                ))
            }
            3..=6 => {
                let text = self.statement(random);
                // MySQL does not prepare such a SET; the proxy, which prepares each SET itself, does. EXECUTE IMMEDIATE, which
                // MySQL does not know, is an error of another number.
                let is_set = text.contains("SET @") && text.contains("_count");
                if is_set || text.contains("EXECUTE IMMEDIATE") {
                    return Step::Text(text);
                }
                let between = (0..random.below(3)).map(|_| self.statement(random)).collect();
                Step::Binary(text, between)
            }
            _ => Step::Text(self.statement(random)),
        }
    }

    fn statement(&self, random: &mut Random) -> String {
        let tenant = self.tenant(random);
        match random.below(20) {
            0..=3 => self.question(random),
            4..=7 => self.read(tenant, random),
            8..=13 => self.write(tenant, random),
            14 => self.call(tenant, random),
            15 => self.dynamic(tenant, random),
            _ => self.ordinary(tenant, random),
        }
    }

    /// Statements about no table.
    fn question(&self, random: &mut Random) -> String {
        let (a, b) = (Self::word(random), Self::word(random));
        let tenant = self.tenant(random);
        let hint = match random.below(5) {
            0 => self.hint(tenant, false, random),
            _ => String::new(),
        };
        match random.below(16) {
            0..=3 => format!("{hint}SELECT {a}"),
            4 => format!("{hint}SELECT {a}, {b}"),
            5 => format!("{hint}SELECT {a} AS v ORDER BY v LIMIT 1"),
            6 => format!("{hint}SELECT (SELECT {a}) AS v"),
            7 => format!("{hint}WITH c AS (SELECT {a} AS v) SELECT v FROM c"),
            8 => format!("{hint}DO {a}"),
            9 => format!("{hint}SET @x = {a}"),
            10 => format!("{hint}SET @x = {a}, @y = {b}"),
            11 => format!("{hint}SELECT {a} INTO @x"),
            12 => "SHOW WARNINGS".to_owned(),
            13 => "SHOW COUNT(*) WARNINGS".to_owned(),
            14 => "SHOW ERRORS".to_owned(),
            _ => "GET DIAGNOSTICS @x = NUMBER, @y = ROW_COUNT".to_owned(),
        }
    }

    fn read(&self, tenant: usize, random: &mut Random) -> String {
        let hint = self.hint(tenant, true, random);
        let name = random.of(&["w", "f", "f"]);
        let table = self.table(name, tenant);
        let (a, n) = (Self::row_word(random), random.below(6) + 1);
        let key = format!("tenant={tenant}");
        match random.below(10) {
            0 => format!(
                "{hint}SELECT id, {a} AS v FROM {table} WHERE {key} AND id < {tenant}0{n} ORDER BY id"
            ),
            1 => format!("{hint}SELECT id FROM {table} WHERE {key} AND p >= {a} ORDER BY id"),
            2 => format!("{hint}SELECT id, p FROM {table} WHERE {key} ORDER BY {a} + id DESC, id"),
            3 => format!("{hint}SELECT id FROM {table} WHERE {key} AND p IN (SELECT {a}) ORDER BY id"),
            4 => format!(
                "{hint}WITH c AS (SELECT {} AS v) SELECT v, id FROM c, {table} WHERE {key} ORDER BY id",
                Self::word(random)
            ),
            5 => {
                format!("{hint}SELECT SQL_CALC_FOUND_ROWS id FROM {table} WHERE {key} ORDER BY id LIMIT {n}")
            }
            6 => format!("{hint}SELECT COUNT(*), MAX({a}) FROM {table} WHERE {key}"),
            7 => format!("{hint}SELECT id, 1 / (p - {n}) FROM {table} WHERE {key} ORDER BY id"),
            _ => format!("{hint}SELECT id, p FROM {table} WHERE {key} AND id <= {tenant}0{n} ORDER BY id"),
        }
    }

    fn write(&self, tenant: usize, random: &mut Random) -> String {
        let hint = self.hint(tenant, true, random);
        let (w, g, q) = (
            self.table("w", tenant),
            self.table("g", tenant),
            format!("q_{tenant}"),
        );
        let (word, row_word, n) = (Self::word(random), Self::row_word(random), random.below(6) + 1);
        let key = format!("tenant={tenant}");
        match random.below(19) {
            0 | 1 => format!("{hint}INSERT INTO {q} (tenant, p) VALUES ({tenant}, {word})"),
            2 => format!("{hint}INSERT INTO {q} SET tenant={tenant}, p={word}"),
            3 => format!("{hint}INSERT INTO {q} (tenant, p) VALUES ({tenant}, 1), ({tenant}, {word})"),
            4 => format!(
                "{hint}INSERT INTO {q} (tenant, p) SELECT tenant, {row_word} FROM {w} WHERE {key} AND id <= {tenant}0{n} ORDER BY id"
            ),
            5 => format!(
                "{hint}INSERT INTO {q} (tenant, p, k) VALUES ({tenant}, 1, {n}) ON DUPLICATE KEY UPDATE p={word}"
            ),
            6 => {
                format!("{hint}INSERT INTO {q} (tenant, p, k) VALUES ({tenant}, 1, {n}), ({tenant}, 2, {n})")
            }
            7 => format!("{hint}REPLACE INTO {q} (tenant, p, k) VALUES ({tenant}, {word}, {n})"),
            8 => format!("{hint}REPLACE INTO {q} SET tenant={tenant}, k={n}, p={word}"),
            9 | 10 => format!("{hint}UPDATE {w} SET p={row_word} WHERE {key} AND id={tenant}0{n}"),
            11 => format!("{hint}UPDATE {w} SET p={row_word} WHERE {key} ORDER BY id LIMIT {n}"),
            12 => format!("{hint}UPDATE {w} SET p={n} WHERE {key} AND p={word}"),
            13 => format!("{hint}DELETE FROM {q} WHERE {key} AND id={word}"),
            14 => format!("{hint}DELETE FROM {q} WHERE {key} AND p={word} ORDER BY id LIMIT {n}"),
            15 => format!("{hint}DELETE FROM {g} WHERE {key} AND p={word}"),
            16 => format!("{hint}INSERT INTO {g} VALUES ({tenant}, {word})"),
            _ => format!("{hint}INSERT INTO {g} VALUES ({tenant}, {n})"),
        }
    }

    fn call(&self, tenant: usize, random: &mut Random) -> String {
        let (hint, word) = (self.hint(tenant, false, random), Self::word(random));
        match self.map {
            Map::Table => format!("{hint}DO {word}"),
            _ => format!("{hint}CALL sets_{tenant}({word})"),
        }
    }

    fn dynamic(&self, tenant: usize, random: &mut Random) -> String {
        let hint = self.hint(tenant, false, random);
        match random.below(5) {
            0 => format!("{hint}PREPARE s FROM 'SELECT {}'", Self::word(random)),
            1 | 2 => format!("{hint}EXECUTE s"),
            3 => format!("{hint}EXECUTE IMMEDIATE 'SELECT {}'", Self::word(random)),
            _ => "DEALLOCATE PREPARE s".to_owned(),
        }
    }

    /// Statements that have no such word, between which questions are asked.
    fn ordinary(&self, tenant: usize, random: &mut Random) -> String {
        let hint = self.hint(tenant, true, random);
        let w = self.table("w", tenant);
        let key = format!("tenant={tenant}");
        match random.below(16) {
            0 => "SELECT 1".to_owned(),
            1 => "SELECT DATABASE()".to_owned(),
            2 => "SELECT 1/0".to_owned(),
            3 => "SELECT nothing".to_owned(),
            4 => "SET time_zone='+00:00'".to_owned(),
            5 => "SET NAMES utf8mb4".to_owned(),
            6 => "SET sql_mode=CONCAT(@@sql_mode, ',HIGH_NOT_PRECEDENCE')".to_owned(),
            7 => "SET @y = 5".to_owned(),
            8 => format!("USE {}", self.map.schema(tenant)),
            9 => "BEGIN".to_owned(),
            10 | 11 => "COMMIT".to_owned(),
            12 => format!("{hint}SELECT nothing FROM {w} WHERE {key}"),
            13 => format!("{hint}UPDATE {w} SET p=p+1 WHERE {key}"),
            14 => format!("{hint}UPDATE {w} SET p='1x' WHERE {key} AND id={tenant}01"),
            _ => "SHOW TABLES LIKE 'w'".to_owned(),
        }
    }
}
