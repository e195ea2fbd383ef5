//! Statements about the world, as people, frameworks and mischief write them, each with what the unsharded server is
//! asked. The same seed gives the same statements.

pub(crate) const CONTINENTS: [&str; 7] = [
    "Europe",
    "Asia",
    "Africa",
    "North America",
    "South America",
    "Oceania",
    "Antarctica",
];

/// Countries to write cities into, with their continents.
const COUNTRIES: [(&str, &str); 9] = [
    ("ITA", "Europe"),
    ("FRA", "Europe"),
    ("IND", "Asia"),
    ("JPN", "Asia"),
    ("ETH", "Africa"),
    ("EGY", "Africa"),
    ("USA", "North America"),
    ("ARG", "South America"),
    ("AUS", "Oceania"),
];

/// A small generator of pseudo-random numbers (splitmix64): enough to vary text, the same on every machine.
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    pub(crate) fn below(&mut self, n: usize) -> usize {
        (self.next() % n as u64) as usize
    }

    pub(crate) fn of<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len())]
    }

    fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }
}

/// A statement for the proxy, and the one that the unsharded server must answer alike. They differ only where a
/// comment carries the key: there the unsharded one says the same as a predicate.
pub(crate) struct Pair {
    pub(crate) sharded: String,
    pub(crate) oracle: String,
    pub(crate) is_write: bool,
}

impl Pair {
    fn same(sql: String, is_write: bool) -> Self {
        Self {
            oracle: sql.clone(),
            sharded: sql,
            is_write,
        }
    }
}

/// The next statement; `id` is a number that no earlier statement was given.
pub(crate) fn statement(random: &mut Random, id: usize) -> Pair {
    match random.below(20) {
        0..=8 => select(random),
        9 => join(random),
        10 | 11 => hinted(random),
        12..=14 => insert(random, id),
        15 | 16 => update(random),
        17 => delete(random),
        _ => odd(random),
    }
}

fn blank(random: &mut Random) -> &'static str {
    random.of(&[
        " ",
        " ",
        " ",
        "  ",
        "\n",
        "\t",
        " /* a note */ ",
        " /* world.City */ ",
    ])
}

fn table(random: &mut Random, name: &str) -> String {
    match random.below(6) {
        0 => name.to_owned(),
        1 => format!("`world`.`{name}`"),
        2 => format!("world . {name}"),
        3 => format!("`{name}`"),
        4 => format!("world.`{name}`"),
        _ => format!("world.{name}"),
    }
}

fn quoted(random: &mut Random, text: &str) -> String {
    if random.chance(25) {
        format!("\"{text}\"")
    } else {
        format!("'{text}'")
    }
}

/// A condition on the key column in one of the ways that people write it, sound and unsound.
fn on_key(random: &mut Random, qualifier: &str) -> String {
    let continent = random.of(&CONTINENTS);
    let other = random.of(&CONTINENTS);
    let value = quoted(random, continent);
    let column = match random.below(5) {
        0 => format!("{qualifier}`Continent`"),
        1 => format!("{qualifier}continent"),
        _ => format!("{qualifier}Continent"),
    };
    match random.below(24) {
        0..=9 => format!("{column}={value}"),
        10 | 11 => format!("{column}{}={}{value}", blank(random), blank(random)),
        12 => format!("{value} = {column}"),
        13 => format!("{column} IN ({value})"),
        14 => format!("({column} = {value})"),
        15 => format!("{column} = {value} AND {column} = {value}"),
        16 => format!("{column} IN ({value}, '{other}')"),
        17 => format!("{column} = {value} OR {column} = '{other}'"),
        18 => format!("NOT {column} = {value}"),
        19 => format!("{column} LIKE '{}%'", &continent[..3]),
        20 => format!("{column} = '{}'", continent.to_lowercase()),
        21 => format!("{column} = '{continent} '"),
        22 => format!("{column} <> {value}"),
        _ => format!("{column} = CONCAT('{}', '{}')", &continent[..2], &continent[2..]),
    }
}

/// A condition that is not about the key.
fn other_condition(random: &mut Random, is_city: bool, qualifier: &str) -> String {
    let code = if is_city { "CountryCode" } else { "Code" };
    match random.below(8) {
        0 => format!("{qualifier}Population > {}", random.below(3_000_000)),
        1 => format!("{qualifier}{code} = '{}'", random.of(&COUNTRIES).0),
        2 => format!("{qualifier}Name LIKE '%a%'"),
        3 => format!("{qualifier}Name <> 'Continent=''Asia'''"),
        4 => format!("{qualifier}Name <> '/* continent=Asia */'"),
        5 => format!(
            "({qualifier}Population < 1000 OR {qualifier}Population > {})",
            random.below(900_000)
        ),
        6 => format!(
            "{qualifier}{code} IN ('{}', '{}')",
            random.of(&COUNTRIES).0,
            random.of(&COUNTRIES).0
        ),
        _ => format!("{qualifier}Name BETWEEN 'B' AND 'P'"),
    }
}

fn condition(random: &mut Random, is_city: bool, qualifier: &str) -> String {
    let mut parts = Vec::new();
    if random.chance(92) {
        parts.push(on_key(random, qualifier));
    }
    for _ in 0..random.below(3) {
        parts.push(other_condition(random, is_city, qualifier));
    }
    if random.chance(50) {
        parts.reverse();
    }
    let glue = if random.chance(6) {
        " OR "
    } else {
        random.of(&[" AND ", " and ", "\nAND ", " && "])
    };
    if parts.is_empty() {
        String::new()
    } else {
        format!(" WHERE {}", parts.join(glue))
    }
}

fn select(random: &mut Random) -> Pair {
    let is_city = random.chance(60);
    let name = if is_city { "City" } else { "Country" };
    let alias = random.of(&["", "", " t", " AS t"]);
    let qualifier = match alias {
        "" => random.of(&["", "", if is_city { "City." } else { "Country." }]),
        _ => random.of(&["", "t."]),
    };
    let columns = match random.below(9) {
        0 => "*".to_owned(),
        1 => "COUNT(*)".to_owned(),
        2 => "SUM(Population), MIN(Name)".to_owned(),
        3 => format!("{qualifier}Name, 'world.City'"),
        4 => "Name, '/* continent=Asia */' AS hint".to_owned(),
        5 => "Name, \"hello world!\"".to_owned(),
        6 => "DISTINCT Name".to_owned(),
        7 if random.chance(20) => "Name, Continent".to_owned(),
        _ => format!("{qualifier}Name, {qualifier}Population"),
    };
    let table = table(random, name);
    let (a, b) = (blank(random), blank(random));
    let condition = condition(random, is_city, qualifier);
    let order = match random.below(4) {
        0 if !columns.contains("COUNT") && !columns.contains("SUM") => {
            format!(" ORDER BY Name DESC, Population LIMIT {}", 1 + random.below(20))
        }
        1 if columns.contains("COUNT") => " HAVING COUNT(*) >= 0".to_owned(),
        _ => String::new(),
    };
    let order = if columns.starts_with("DISTINCT") {
        String::new()
    } else {
        order
    };
    let lead = random.of(&["", "", "", "/* note */ ", "-- a line\n", "# continent=Asia\n"]);
    let verb = random.of(&["SELECT", "select", "Select"]);
    Pair::same(
        format!("{lead}{verb}{a}{columns}{b}FROM {table}{alias}{condition}{order}"),
        false,
    )
}

fn join(random: &mut Random) -> Pair {
    let (a, b) = (random.of(&CONTINENTS), random.of(&CONTINENTS));
    let kind = random.of(&["JOIN", "INNER JOIN", "LEFT JOIN", "STRAIGHT_JOIN"]);
    let on = random.of(&["c.CountryCode = k.Code", "k.Code = c.CountryCode"]);
    let condition = match random.below(6) {
        0 => format!("k.Continent = '{a}'"),
        1 => format!("k.Continent = '{a}' AND c.Continent = '{b}'"),
        2 => format!("c.Continent = '{a}' AND c.Population > 100000"),
        _ => format!("k.Continent = '{a}' AND c.Continent = '{a}' AND k.Name <> 'x'"),
    };
    let on = if random.chance(30) {
        format!("{on} AND c.Continent = k.Continent")
    } else {
        on.to_owned()
    };
    Pair::same(
        format!(
            "SELECT k.Name, c.Name, c.Population FROM world.Country k {kind} world.City AS c ON {on} WHERE {condition}"
        ),
        false,
    )
}

/// The key in a comment: the shard is asked for all of its rows, the unsharded server by a predicate.
fn hinted(random: &mut Random) -> Pair {
    let continent = random.of(&CONTINENTS);
    let value = match continent.contains(' ') {
        true => format!("'{continent}'"),
        false => random
            .of(&[
                continent.to_owned(),
                format!("'{continent}'"),
                format!("\"{continent}\""),
            ]
            .each_ref())
            .clone(),
    };
    let hint = random.of(&[
        "/* continent=V */",
        "/*continent=V*/",
        "/* CONTINENT=V, x=1 */",
        "/* trace=1; continent=V */",
    ]);
    let hint = hint.replace('V', &value);
    if random.chance(30) {
        let rest = "k.Name, c.Name FROM world.Country k JOIN world.City c ON c.CountryCode = k.Code WHERE c.Population > 500000";
        return Pair {
            sharded: format!("SELECT {hint} {rest}"),
            oracle: format!("SELECT {rest} AND k.Continent = '{continent}' AND c.Continent = '{continent}'"),
            is_write: false,
        };
    }
    let rest =
        "Name, Population, 'world.City /* continent=Asia */' FROM world.City WHERE Population > 300000";
    Pair {
        sharded: format!("{hint} SELECT {rest}"),
        oracle: format!("SELECT {rest} AND Continent = '{continent}'"),
        is_write: false,
    }
}

fn insert(random: &mut Random, id: usize) -> Pair {
    let (code, continent) = random.of(&COUNTRIES);
    let (code2, continent2) = if random.chance(60) {
        (code, continent)
    } else {
        random.of(&COUNTRIES)
    };
    let verb = random.of(&["INSERT INTO", "insert into", "REPLACE INTO", "INSERT IGNORE INTO"]);
    let table = table(random, "City");
    let name = random.of(&[
        "New''town",
        "world.City",
        "/* continent=Asia */",
        "Continent=''Asia''",
        "Nueva",
    ]);
    let (a, b) = (1_000_000 + 2 * id, 1_000_001 + 2 * id);
    let sql = match random.below(8) {
        0 => {
            format!("{verb} {table} (ID, Name, CountryCode, Population) VALUES ({a}, '{name}', '{code}', 5)")
        }
        1 => format!("{verb} {table} VALUES ({a}, '{name}', '{code}', 5)"),
        2 => format!(
            "{verb} {table} (Continent, ID, Name, CountryCode, Population) VALUES ('{continent}', {a}, '{name}', '{code}', 1), \
             ('{continent2}', {b}, '{name}', '{code2}', 2)"
        ),
        3 => format!(
            "INSERT INTO {table} SET ID={a}, Name='{name}', CountryCode='{code}', Population=7, Continent='{continent}'"
        ),
        4 => format!(
            "INSERT INTO {table} (ID, Name, CountryCode, Population, Continent) VALUES ({a}, '{name}', '{code}', 3, \
             '{continent}') ON DUPLICATE KEY UPDATE Population = Population + 1"
        ),
        _ => format!(
            "{verb} {table} (ID, Name, `Continent`, CountryCode, Population) VALUES ({a}, '{name}', '{continent}', '{code}', 9)"
        ),
    };
    Pair::same(sql, true)
}

fn update(random: &mut Random) -> Pair {
    let table = table(random, "City");
    let set = match random.below(8) {
        0 => "Continent = 'Asia'".to_owned(),
        1 => "Name = 'Continent=''Asia'''".to_owned(),
        2 => "Population = Population + 1, Name = CONCAT(Name, '/* continent=Asia */')".to_owned(),
        _ => format!("Population = Population + {}", 1 + random.below(9)),
    };
    let condition = condition(random, true, "");
    Pair::same(format!("UPDATE {table} SET {set}{condition}"), true)
}

fn delete(random: &mut Random) -> Pair {
    let table = table(random, "City");
    let key = on_key(random, "");
    Pair::same(
        format!(
            "DELETE FROM {table} WHERE {key} AND ID >= 1000000 AND Population < {}",
            random.below(10)
        ),
        true,
    )
}

/// Shapes that must be answered rightly or refused.
fn odd(random: &mut Random) -> Pair {
    let (a, b) = (random.of(&CONTINENTS), random.of(&CONTINENTS));
    let sql = match random.below(14) {
        0 => format!(
            "SELECT Name FROM world.Country WHERE Continent='{a}' UNION SELECT Name FROM world.Country WHERE Continent='{b}'"
        ),
        1 => format!(
            "SELECT Name FROM world.City WHERE Continent='{a}' AND CountryCode IN (SELECT Code FROM world.Country WHERE Continent='{b}')"
        ),
        2 => format!("SELECT * FROM (SELECT Name FROM world.City WHERE Continent='{a}') AS x"),
        3 => format!("WITH x AS (SELECT Name FROM world.City WHERE Continent='{a}') SELECT * FROM x"),
        4 => format!("SELECT (SELECT COUNT(*) FROM world.City) FROM world.Country WHERE Continent='{a}'"),
        5 => format!(
            "SELECT Name FROM world.City WHERE Continent='{a}' AND EXISTS (SELECT 1 FROM world.Country WHERE Code=CountryCode)"
        ),
        6 => {
            format!("SELECT Continent, COUNT(*) FROM world.Country WHERE Continent='{a}' GROUP BY Continent")
        }
        7 => format!("SELECT Name FROM world.City WHERE Continent='{a}' /*! OR 1=1 */"),
        8 => format!("SELECT Name FROM world.City WHERE IF(Continent='{a}', 1, 0)"),
        9 => format!("SELECT Name FROM world.City WHERE (Continent, CountryCode) = ('{a}', 'ITA')"),
        10 => format!("SELECT Name FROM world.City WHERE Continent='{a}' XOR Population > 5"),
        11 => {
            format!("SELECT Name FROM world.City WHERE Continent='{a}' AND (Name = 'x' OR Continent='{b}')")
        }
        12 => format!(
            "SELECT Name FROM world.City c WHERE c.Continent='{a}' AND c.Name = 'Continent' AND '{b}' = '{b}'"
        ),
        _ => format!("SELECT Name FROM world.City WHERE Continent='{a}' = 1"),
    };
    Pair::same(sql, false)
}
