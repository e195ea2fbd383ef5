//! Statements on the tables `t` and `u`, with predicates on the key in every clause and inside every operator.
//!
//! A key stands as `«5»` in a statement, so that the caller can write it as a literal or as a parameter.

use super::operators::{AROUND, KEEPING, OTHERS};
use super::random::Random;

/// A table of a FROM, by its alias.
type Alias = &'static str;

const JOINS: [&str; 12] = [
    "JOIN",
    "JOIN",
    "INNER JOIN",
    "CROSS JOIN",
    "STRAIGHT_JOIN",
    "LEFT JOIN",
    "LEFT JOIN",
    "LEFT OUTER JOIN",
    "RIGHT JOIN",
    "NATURAL JOIN",
    "NATURAL LEFT JOIN",
    ",",
];

/// Makes statements about few keys, so that predicates often meet.
pub(super) struct Grammar<'r> {
    pub(super) random: &'r mut Random,
    /// The keys of this statement.
    keys: [usize; 2],
    /// How often a predicate is wrapped, in percent.
    wraps: usize,
}

impl<'r> Grammar<'r> {
    pub(super) fn new(random: &'r mut Random) -> Self {
        let first = 1 + random.below(6);
        let second = if random.chance(80) {
            first
        } else {
            1 + random.below(6)
        };
        let wraps = random.of(&[0, 0, 15, 40]);
        Self {
            random,
            keys: [first, second],
            wraps,
        }
    }

    pub(super) fn statement(&mut self) -> String {
        match self.random.below(20) {
            0..=8 => self.query(0),
            9..=11 => self.update(),
            12..=14 => self.delete(),
            15..=17 => self.insert(),
            _ => self.common(),
        }
    }

    fn key(&mut self) -> String {
        format!("«{}»", self.random.of(&self.keys))
    }

    fn qualifier(&mut self, alias: Alias, alone: bool) -> String {
        if alone && self.random.chance(60) {
            return String::new();
        }
        format!("{alias}.")
    }

    /// A predicate that limits `alias` to a key if it stands alone.
    fn predicate(&mut self, q: &str) -> String {
        let (key, other) = (self.key(), self.key());
        let column = self
            .random
            .of(&["tenant_id", "tenant_id", "`tenant_id`", "TENANT_ID"]);
        let column = format!("{q}{column}");
        match self.random.below(20) {
            0..=6 => format!("{column} = {key}"),
            7 => format!("{key} = {column}"),
            8 => format!("{column} <=> {key}"),
            9 => format!("{column} IN ({key})"),
            10 => format!("{column} IN ({key}, {other})"),
            11 => format!("{column} BETWEEN {key} AND {key}"),
            12 => format!("({column}) = ({key})"),
            13 => format!("({column}) IN (({key}), {other})"),
            14 => format!("({column}, {q}id) = ({key}, 1)"),
            15 => format!("({q}id, {column}) IN ((1, {key}), (2, {other}))"),
            16 => format!("({column} = {key} OR {column} = {other})"),
            17 => format!("({column} = {key} AND {q}id = 1 OR {q}id = 2 AND {column} = {other})"),
            18 => format!("(({column} = {key}) AND ({q}c = 1 OR {q}id > 1))"),
            _ => format!("{column} = {key} AND {column} = {other}"),
        }
    }

    fn wrapped(&mut self, predicate: String, q: &str) -> String {
        let mut text = predicate;
        if self.random.chance(15) {
            text = self.random.of(&KEEPING).replace('¶', &text);
        }
        let mut percent = self.wraps;
        while self.random.chance(percent) {
            text = self.random.of(&AROUND).replace('§', q).replace('¶', &text);
            percent /= 2;
        }
        text
    }

    fn other(&mut self, alias: Alias) -> String {
        if self.random.chance(12) {
            return self.subcondition(alias);
        }
        self.random.of(&OTHERS).replace('§', &format!("{alias}."))
    }

    /// A condition with a query inside.
    fn subcondition(&mut self, alias: Alias) -> String {
        let limits = match self.random.below(5) {
            0 => self.wrapped(format!("x.tenant_id = {alias}.tenant_id"), "x."),
            1 => "tenant_id = x.tenant_id".to_owned(),
            2 => format!("x.id = {alias}.id"),
            _ => {
                let q = self.qualifier("x", true);
                let predicate = self.predicate(&q);
                self.wrapped(predicate, &q)
            }
        };
        let table = self.random.of(&["t", "u", "u", "(SELECT * FROM u)"]);
        match self.random.below(6) {
            0 => format!("EXISTS (SELECT 1 FROM {table} x WHERE {limits} AND x.id = {alias}.id)"),
            1 => format!("NOT EXISTS (SELECT 1 FROM {table} x WHERE {limits})"),
            2 => format!("{alias}.id IN (SELECT x.id FROM {table} x WHERE {limits})"),
            3 => format!("{alias}.id > ALL (SELECT x.c FROM {table} x WHERE {limits})"),
            4 => format!("(SELECT MAX(x.id) FROM {table} x WHERE {limits}) = {alias}.id"),
            _ => format!(
                "(SELECT COUNT(*) FROM (SELECT x.id FROM {table} x WHERE {limits}) y WHERE y.id = {alias}.id) > 0"
            ),
        }
    }

    /// A condition on these tables.
    fn condition(&mut self, aliases: &[Alias]) -> String {
        let alone = aliases.len() == 1;
        let mut terms = Vec::new();
        for alias in aliases {
            if self.random.chance(if alone { 92 } else { 65 }) {
                let q = self.qualifier(alias, alone);
                let predicate = self.predicate(&q);
                terms.push(self.wrapped(predicate, &q));
            }
        }
        if let [one, .., other] = *aliases
            && self.random.chance(45)
        {
            let operator = self.random.of(&["=", "=", "=", "<=>", "<>"]);
            let link = format!("{one}.tenant_id {operator} {other}.tenant_id");
            terms.push(self.wrapped(link, &format!("{one}.")));
        }
        for _ in 0..self.random.below(3) {
            let alias = self.random.of(aliases);
            terms.push(self.other(alias));
        }
        if terms.is_empty() {
            return "1".to_owned();
        }
        let turn = self.random.below(terms.len());
        terms.rotate_left(turn);
        let glue = self
            .random
            .of(&[" AND ", " AND ", " AND ", " AND ", " && ", " OR ", " AND NOT "]);
        let text = terms.join(glue);
        match self.random.below(12) {
            0 => format!("({text})"),
            1 if self.wraps > 0 => self
                .random
                .of(&AROUND)
                .replace('§', "")
                .replace('¶', &format!("({text})")),
            _ => text,
        }
    }

    fn table(&mut self) -> &'static str {
        self.random.of(&["t", "t", "u", "shop.t", "`u`"])
    }

    /// A FROM of these tables.
    fn from(&mut self, aliases: &[Alias]) -> String {
        let mut from = format!("{} {}", self.table(), aliases[0]);
        if self.random.chance(5) {
            from = format!("({from})");
        }
        for (index, alias) in aliases.iter().enumerate().skip(1) {
            let join = self.random.of(&JOINS);
            let mut right = format!("{} {alias}", self.table());
            match self.random.below(16) {
                0 => right = format!("({right})"),
                1 => right = format!("(SELECT * FROM u WHERE {}) {alias}", self.condition(&["u"])),
                _ => {}
            }
            let on = match join {
                "," | "NATURAL JOIN" | "NATURAL LEFT JOIN" => String::new(),
                "CROSS JOIN" | "JOIN" | "INNER JOIN" if self.random.chance(15) => String::new(),
                _ => match self.random.below(8) {
                    0 | 1 => " USING (tenant_id, id)".to_owned(),
                    2 => " USING (tenant_id)".to_owned(),
                    3 => " USING (id)".to_owned(),
                    _ => format!(" ON {}", self.condition(&aliases[..=index])),
                },
            };
            from = if self.random.chance(8) {
                format!("({from} {join} {right}{on})")
            } else {
                format!("{from} {join} {right}{on}")
            };
        }
        from
    }

    fn aliases(&mut self) -> &'static [Alias] {
        self.random.of(&[
            &["a"] as &[_],
            &["a"],
            &["a"],
            &["a", "b"],
            &["a", "b"],
            &["a", "b", "d"],
        ])
    }

    fn query(&mut self, depth: usize) -> String {
        let aliases = self.aliases();
        let from = self.from(aliases);
        let condition = self.condition(aliases);
        let lead = self.random.of(&[
            "",
            "",
            "",
            "DISTINCT ",
            "STRAIGHT_JOIN ",
            "SQL_NO_CACHE ",
            "HIGH_PRIORITY ",
        ]);
        let list = match self.random.below(10) {
            0 => "COUNT(*)".to_owned(),
            1 => "*".to_owned(),
            2 => "SUM(a.c), MIN(a.id), COUNT(DISTINCT a.s)".to_owned(),
            3 => format!("a.id, ({})", self.scalar()),
            4 => "a.tenant_id, a.id".to_owned(),
            5 => "a.id + 1, UPPER(a.s), IF(a.c, 1, 2)".to_owned(),
            6 => format!("COUNT(IF({}, 1, NULL))", self.condition(&["a"])),
            _ => "a.id, a.c".to_owned(),
        };
        let tail = match self.random.below(14) {
            0 if list == "a.id, a.c" => " ORDER BY 1, 2 LIMIT 3".to_owned(),
            1 if list == "a.id, a.c" => " GROUP BY a.id, a.c HAVING COUNT(*) > 0".to_owned(),
            2 if list == "COUNT(*)" => format!(" HAVING {}", self.random.of(&["COUNT(*) > 1", "1"])),
            3 => " LOCK IN SHARE MODE".to_owned(),
            4 => " FOR UPDATE".to_owned(),
            // MariaDB leaves out a DISTINCT beside WITH ROLLUP where the groups are a key of the table.
            5 if list == "a.id, a.c" && lead != "DISTINCT " => " GROUP BY a.id, a.c WITH ROLLUP".to_owned(),
            6 if list == "a.id, a.c" && depth < 2 => {
                let mut other = Grammar {
                    keys: self.keys,
                    wraps: self.wraps,
                    random: &mut *self.random,
                };
                let unite = other.random.of(&["UNION", "UNION ALL", "EXCEPT", "INTERSECT"]);
                let (from, condition) = (other.from(&["a"]), other.condition(&["a"]));
                format!(" {unite} SELECT a.id, a.c FROM {from} WHERE {condition}")
            }
            _ => String::new(),
        };
        let select = format!("SELECT {lead}{list} FROM {from} WHERE {condition}{tail}");
        match self.random.below(24) {
            0 if list == "a.id, a.c" && depth == 0 => format!("SELECT COUNT(*), MAX(id) FROM ({select}) dd"),
            1 if list == "a.id, a.c" && depth == 0 => {
                format!("WITH w AS ({select}) SELECT x.id FROM w x JOIN w y ON x.id = y.id")
            }
            2 if depth == 0 => format!("EXPLAIN {select}"),
            _ => select,
        }
    }

    fn scalar(&mut self) -> String {
        let condition = self.condition(&["x"]);
        let link = self
            .random
            .of(&["", " AND x.tenant_id = a.tenant_id", " AND x.id = a.id"]);
        format!("SELECT COUNT(*) FROM u x WHERE {condition}{link}")
    }

    fn assignment(&mut self) -> String {
        match self.random.below(12) {
            0 => "tenant_id = 2".to_owned(),
            1 => format!("a.c = ({})", self.scalar()),
            2 => "a.s = 'z', a.c = 3".to_owned(),
            3 => "a.c = a.tenant_id + 1".to_owned(),
            4 => "a.c = DEFAULT(a.c)".to_owned(),
            _ => "a.c = a.c + 1".to_owned(),
        }
    }

    fn update(&mut self) -> String {
        let aliases = self.aliases();
        let (from, set, condition) = (self.from(aliases), self.assignment(), self.condition(aliases));
        let lead = self.random.of(&["", "", "", "", "IGNORE ", "LOW_PRIORITY "]);
        let tail = if aliases.len() == 1 && self.random.chance(15) {
            " ORDER BY tenant_id, id LIMIT 2"
        } else {
            ""
        };
        format!("UPDATE {lead}{from} SET {set} WHERE {condition}{tail}")
    }

    fn delete(&mut self) -> String {
        let lead = self
            .random
            .of(&["", "", "", "IGNORE ", "QUICK ", "LOW_PRIORITY QUICK IGNORE "]);
        if self.random.chance(50) {
            let condition = self.condition(&["t"]);
            let tail = self
                .random
                .of(&["", "", "", " ORDER BY tenant_id, id LIMIT 1", " LIMIT 100"]);
            return format!("DELETE {lead}FROM t WHERE {condition}{tail}");
        }
        let aliases = self.aliases();
        let (from, condition) = (self.from(aliases), self.condition(aliases));
        let targets = if aliases.len() > 1 && self.random.chance(30) {
            "a, b"
        } else {
            "a"
        };
        if self.random.chance(40) {
            format!("DELETE {lead}FROM {targets} USING {from} WHERE {condition}")
        } else {
            format!("DELETE {lead}{targets} FROM {from} WHERE {condition}")
        }
    }

    fn insert(&mut self) -> String {
        let verb = self.random.of(&[
            "INSERT INTO",
            "INSERT INTO",
            "REPLACE INTO",
            "INSERT IGNORE INTO",
            "INSERT",
        ]);
        let scalar = format!(
            " ON DUPLICATE KEY UPDATE c = ({})",
            self.scalar().replace("a.", "x.")
        );
        let duplicate = match self.random.below(9) {
            4 if verb.starts_with("INSERT") => &scalar,
            0 | 1 if verb.starts_with("INSERT") => " ON DUPLICATE KEY UPDATE c = VALUES(c) + 1",
            2 if verb.starts_with("INSERT") => " ON DUPLICATE KEY UPDATE c = 5, s = 'd'",
            3 if verb.starts_with("INSERT") => " ON DUPLICATE KEY UPDATE tenant_id = 3",
            _ => "",
        };
        let (key, other, id) = (self.key(), self.key(), 1 + self.random.below(12));
        match self.random.below(12) {
            0..=2 => format!("{verb} t (tenant_id, id, c) VALUES ({key}, {id}, 1){duplicate}"),
            3 => format!("{verb} t (id, c, tenant_id) VALUES ({id}, 2, {key}), (13, 2, {other}){duplicate}"),
            4 => format!("{verb} t SET id = {id}, tenant_id = {key}, c = 2{duplicate}"),
            5 => format!("{verb} t (tenant_id, id, c) VALUES ({key}, {id}, tenant_id){duplicate}"),
            6 => format!("{verb} t (tenant_id, id, c) VALUES ({key} + 0, {id}, 1){duplicate}"),
            7 => format!(
                "{verb} t (tenant_id, id, c) VALUES ({key}, {id}, ({})){duplicate}",
                self.scalar().replace("a.", "x.")
            ),
            _ => {
                let aliases = self.aliases();
                let (from, condition) = (self.from(aliases), self.condition(aliases));
                let list = match self.random.below(6) {
                    0 => format!("{key}, MAX(a.id) + 20"),
                    1 => format!("{key}, a.id + 20"),
                    2 => "a.tenant_id, COUNT(*) + 20".to_owned(),
                    3 => "a.id, a.tenant_id".to_owned(),
                    _ => "a.tenant_id, a.id + 20".to_owned(),
                };
                let tail = self.random.of(&[
                    "",
                    "",
                    "",
                    " GROUP BY a.tenant_id, a.id",
                    " GROUP BY a.tenant_id, a.id WITH ROLLUP",
                ]);
                let distinct = self.random.of(&["DISTINCT ", "", "DISTINCT "]);
                format!(
                    "{verb} t (tenant_id, id) SELECT {distinct}{list} FROM {from} WHERE {condition}{tail}{duplicate}"
                )
            }
        }
    }

    /// Names that mean one thing here and another there.
    fn common(&mut self) -> String {
        let (one, two) = (self.condition(&["a"]), self.condition(&["b"]));
        let (key, other) = (self.key(), self.key());
        match self.random.below(12) {
            0 => format!("WITH t AS (SELECT * FROM t a WHERE {one}) SELECT b.id FROM t b"),
            1 => format!("WITH a AS (SELECT id, id AS tenant_id, c FROM t) SELECT a.id FROM a WHERE {one}"),
            2 => format!(
                "WITH a AS (SELECT * FROM t a WHERE {one}), b AS (SELECT * FROM a b WHERE {two}) SELECT id FROM b"
            ),
            3 => format!(
                "WITH RECURSIVE a AS (SELECT id, tenant_id, c, s FROM t WHERE tenant_id = {key} UNION SELECT b.id, b.tenant_id, b.c, b.s FROM u b JOIN a ON b.id = a.id + 1 WHERE {two}) SELECT id FROM a"
            ),
            4 => format!(
                "SELECT a.id FROM (SELECT id AS tenant_id, id FROM t WHERE tenant_id = {key}) a WHERE EXISTS (SELECT 1 FROM t a JOIN (SELECT * FROM u WHERE u.tenant_id = a.tenant_id) d ON d.id = a.id WHERE a.tenant_id = {other})"
            ),
            5 => format!("SELECT id AS tenant_id FROM t a WHERE {one} HAVING tenant_id = {key}"),
            6 => format!(
                "SELECT tenant_id, COUNT(*) FROM t a WHERE {one} GROUP BY tenant_id HAVING tenant_id IN ({key}, {other})"
            ),
            7 => format!("SELECT SUM(c) OVER (PARTITION BY tenant_id ORDER BY id) FROM t a WHERE {one}"),
            8 => format!(
                "SELECT a.id FROM t a LEFT JOIN (u b JOIN t d ON b.id = d.id AND d.tenant_id = {other}) ON {two} AND a.id = b.id WHERE a.tenant_id = {key}"
            ),
            9 => format!(
                "SELECT a.id FROM t a JOIN u b JOIN t d ON {two} ON a.id = b.id WHERE a.tenant_id = {key} AND d.tenant_id = {other}"
            ),
            10 => format!("SELECT @v := a.id FROM t a WHERE {one}"),
            _ => format!("SELECT a.id FROM t a WHERE (@v := a.id) AND {one}"),
        }
    }
}
