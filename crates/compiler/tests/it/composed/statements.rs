//! What the clients of a random topology say: plain statements, whose place nothing puts in doubt, and hard ones.

use shardwright_compiler::{Compiled, Lock, Options, compile};
use shardwright_rules::{
    Body, CommentForm, EngineId, Finder, KeyKind, KeyTemplate, KeyValue, MapStep, NativeStep, Scope, Shard,
};
use shardwright_topology::model::Project;

use super::dice::Dice;
use crate::engines::statements::{AROUND, BODIES};

/// A statement and the session that sends it.
#[derive(Clone, Debug)]
pub(crate) struct Said {
    pub(crate) user: String,
    pub(crate) schema: Option<String>,
    pub(crate) sql: String,
    /// One key at most, in a place that every finder of it reads, before or in a simple statement: no engine has a reason
    /// to refuse what another one places.
    pub(crate) is_plain: bool,
}

/// The users and maps of a project, and what clients can say about them.
pub(crate) struct Clients {
    users: Vec<(String, Option<String>)>,
    maps: Vec<(Scope, MapStep)>,
}

/// Statements of which one key says all.
const PLAIN: [&str; 9] = [
    "SELECT a FROM t WHERE id=5",
    "SELECT 1 FROM t",
    "SELECT a, b FROM hot WHERE c='x'",
    "SELECT a FROM t WHERE id=5 FOR UPDATE",
    "UPDATE t SET a=1 WHERE id=5",
    "INSERT INTO t (a) VALUES (1)",
    "DELETE FROM hot WHERE id=5",
    "REPLACE INTO t (a) VALUES (1)",
    "SELECT COUNT(*) FROM t JOIN hot USING (id) WHERE t.b > 5 ORDER BY 1 LIMIT 3",
];

/// The same with a key in a column.
const WITH_COLUMN: [&str; 5] = [
    "SELECT a FROM app.t WHERE owner=KEY",
    "SELECT a FROM app.t WHERE b = 2 AND owner = KEY ORDER BY a LIMIT 3",
    "UPDATE app.t SET a = 1 WHERE owner = KEY",
    "DELETE FROM app.t WHERE owner = KEY AND b = 2",
    "INSERT INTO app.t (owner, b) VALUES (KEY, 2)",
];

impl Clients {
    /// Maps as the bundled engine has them.
    pub(crate) fn of(project: &Project) -> Self {
        let compiled = compile(project, EngineId::Bundled, &Lock::default(), &Options::default());
        let Compiled { configuration, .. } = &compiled;
        let maps = configuration
            .graph
            .rules
            .iter()
            .filter_map(|rule| match &rule.body {
                Body::Native {
                    scope,
                    step: NativeStep::Map(map),
                } => Some(((**scope).clone(), (**map).clone())),
                _ => None,
            });
        let users = configuration.users.iter();
        let users = users.map(|user| {
            let schema = configuration.default_schema(&user.name).map(str::to_owned);
            (user.name.clone(), schema)
        });
        Self {
            users: users.collect(),
            maps: maps.collect(),
        }
    }

    /// The maps.
    pub(crate) fn maps(&self) -> impl Iterator<Item = &MapStep> {
        self.maps.iter().map(|(_, map)| map)
    }

    /// Whether the topology names a schema, or a map for the user has a shard with the key in its name.
    pub(crate) fn names(&self, user: &str, schema: &str) -> bool {
        let of_map = |scope: &Scope, map: &MapStep| {
            let is_keyed = |finder: &Finder| match finder {
                Finder::Schema { template } => template
                    .extract(map.kind, schema)
                    .is_some_and(|key| has(map, key)),
                _ => false,
            };
            map.logical_schema.as_deref() == Some(schema)
                || scope.users.contains(user) && map.finders.iter().any(is_keyed)
                || map
                    .shards
                    .iter()
                    .any(|shard| shard.schema.as_deref() == Some(schema))
        };
        self.users.iter().any(|(_, home)| home.as_deref() == Some(schema))
            || self.maps.iter().any(|(scope, map)| of_map(scope, map))
    }

    /// Whether the session's schema has a key of no shard in its name: ProxySQL refuses some that have a cluster.
    pub(super) fn is_unknown(&self, user: &str, schema: Option<&str>) -> bool {
        let own = self.maps.iter().filter(|(scope, _)| scope.users.contains(user));
        let mut named = own.flat_map(|(_, map)| {
            map.finders.iter().filter_map(move |finder| match finder {
                Finder::Schema { template } => Some((map, template.extract(map.kind, schema?)?)),
                _ => None,
            })
        });
        named.any(|(map, key)| !has(map, key))
    }

    /// A user, and a map that its statements meet, if any.
    fn client(&self, dice: &mut Dice) -> (&str, Option<&str>, Option<&MapStep>) {
        let (user, home) = dice.of(&self.users);
        let own: Vec<&MapStep> = self
            .maps
            .iter()
            .filter(|(scope, _)| scope.users.contains(user))
            .map(|(_, map)| map)
            .collect();
        let map = (!own.is_empty()).then(|| *dice.of(&own));
        (user, home.as_deref(), map)
    }

    /// A statement, plain or hard.
    pub(crate) fn said(&self, dice: &mut Dice) -> Said {
        if dice.one_in(2) {
            self.plain(dice)
        } else {
            self.hard(dice)
        }
    }

    /// A simple statement, with at most one key of one map.
    fn plain(&self, dice: &mut Dice) -> Said {
        let (user, home, map) = self.client(dice);
        let mut said = Said {
            user: user.to_owned(),
            schema: home.map(str::to_owned),
            sql: (*dice.of(&PLAIN)).to_owned(),
            is_plain: true,
        };
        said.is_plain = self.reads_all_of(user) && !self.is_unknown(user, home);
        let Some(map) = map.filter(|_| !dice.one_in(8)) else {
            return said;
        };
        let key = key(map, dice);
        match dice.of(&map.finders) {
            Finder::Comment { word, form } => {
                let comment = comment(word, form, map.kind, &key, dice);
                // ProxySQL reads no comment behind a quote.
                // Another level may read the same word, and know no key with a blank.
                said.is_plain &= !key.contains(' ') || self.maps.len() == 1;
                if *form == CommentForm::Pairs && dice.one_in(4) {
                    // The key's column is no second key.
                    said.sql = said.sql.replace("WHERE ", &format!("WHERE {word} = 5 AND "));
                }
                said.sql = if dice.one_in(3) && !said.sql.contains('\'') {
                    format!("{} /*{comment}*/", said.sql)
                } else {
                    format!("/*{comment}*/ {}", said.sql)
                };
            }
            Finder::Schema { template } => {
                said.schema = rendered(template, map.kind, &key).or(said.schema);
                // ProxySQL refuses schemas that the topology does not name.
                said.is_plain &= has(map, &key);
            }
            Finder::Column { .. } => {
                said.sql = with_column(map, &key, dice);
                said.is_plain = self.maps.len() == 1;
            }
            Finder::User { .. } | Finder::Table { .. } => {}
        }
        said.is_plain &= !is_encoded(&said.sql);
        said
    }

    /// Whether patterns read every statement of a user: a map with a column refuses all but its shapes.
    fn reads_all_of(&self, user: &str) -> bool {
        let is_column = |finder: &Finder| matches!(finder, Finder::Column { .. });
        let own = self.maps.iter().filter(|(scope, _)| scope.users.contains(user));
        own.flat_map(|(_, map)| &map.finders)
            .all(|finder| !is_column(finder))
    }

    /// Keys where they are hard to find, several of them, and what only looks like one.
    fn hard(&self, dice: &mut Dice) -> Said {
        let (user, home, map) = self.client(dice);
        let mut schema = match dice.below(5) {
            0 if home.is_none() => None,
            1 => Some("app".to_owned()),
            2 => Some((*dice.of(&["other", "reports", "acct_0099", "acct_3", "s_nobody"])).to_owned()),
            _ => home.map(str::to_owned),
        };
        let mut pieces: Vec<String> = vec!["primary".to_owned(), "primary=0".to_owned()];
        for map in map.into_iter().chain(self.maps.iter().map(|(_, map)| map)) {
            for finder in &map.finders {
                let key = key(map, dice);
                match finder {
                    Finder::Comment { word, form } => {
                        pieces.push(comment(word, form, map.kind, &key, dice));
                        pieces.push(format!("{word}={key}"));
                        pieces.push(format!("x=1, {word}={key}; y"));
                        pieces.push(format!("{}='{key}'", word.to_ascii_uppercase()));
                        pieces.push(format!("{word} = {key}"));
                        pieces.push(format!("{word}=?"));
                        pieces.push(format!("o.{word}=t.{word} AND {word}s=5"));
                        pieces.push(format!("{word}={word}={key}"));
                    }
                    Finder::Schema { template } if dice.one_in(2) => {
                        schema = rendered(template, map.kind, &key)
                            .or_else(|| Some(format!("{}{key}{}", template.prefix, template.suffix)));
                    }
                    Finder::Column { column, .. } => pieces.push(format!("{column}={key}")),
                    _ => {}
                }
            }
        }
        let around = |dice: &mut Dice| {
            let piece = dice.of(&pieces).clone();
            dice.text(&AROUND).replace("KEY", &piece)
        };
        let (before, after) = (around(dice), around(dice));
        let body = match map {
            Some(map) if map.logical_schema.is_some() && dice.one_in(3) => {
                let key = key(map, dice);
                with_column(map, &key, dice)
            }
            _ => dice.text(BODIES).replace("KEY", dice.of(&pieces).as_str()),
        };
        let end = dice.text(&["", "", "", "", ";", "; DELETE FROM t"]);
        Said {
            user: user.to_owned(),
            schema,
            sql: format!("{before}{body}{after}{end}"),
            is_plain: false,
        }
    }

    /// Every key of every map where it can be said, in one plain statement for each user whose statements the map takes.
    pub(crate) fn every_key(&self) -> Vec<Said> {
        let mut said = Vec::new();
        for (user, home) in &self.users {
            for (scope, map) in &self.maps {
                if !scope.users.contains(user) {
                    continue;
                }
                let is_plain = self.reads_all_of(user) && !self.is_unknown(user, home.as_deref());
                for key in map.shards.iter().flat_map(ends) {
                    let is_one_word = !key.contains(' ') || self.maps.len() == 1;
                    let of_key = plain_of(user, home.as_deref(), map, &key).into_iter();
                    said.extend(of_key.map(|said| Said {
                        is_plain: said.is_plain && is_plain && is_one_word,
                        ..said
                    }));
                }
            }
        }
        said
    }
}

/// One statement for each finder of a map.
fn plain_of(user: &str, home: Option<&str>, map: &MapStep, key: &str) -> Vec<Said> {
    let dice = &mut Dice::new(0);
    let of = |schema: Option<String>, sql: String| Said {
        user: user.to_owned(),
        schema: schema.or_else(|| home.map(str::to_owned)),
        is_plain: !is_encoded(&sql),
        sql,
    };
    let finders = map.finders.iter().filter_map(|finder| match finder {
        Finder::Comment { word, form } => {
            let comment = comment(word, form, map.kind, key, dice);
            Some(of(None, format!("/*{comment}*/ SELECT a FROM t WHERE id=5")))
        }
        Finder::Schema { template } => Some(of(
            Some(rendered(template, map.kind, key)?),
            "SELECT a FROM t WHERE id=5".to_owned(),
        )),
        Finder::Column { .. } => Some(of(None, with_column(map, key, dice))),
        Finder::User { .. } | Finder::Table { .. } => None,
    });
    finders.collect()
}

/// Keys that a shard has; of a range its ends and one between them.
fn ends(shard: &Shard) -> impl Iterator<Item = String> {
    let ranges = shard.ranges.iter();
    let ends = ranges.flat_map(|&(first, last)| [first, last, first + (last - first) / 2]);
    let singles = shard.keys.iter().map(ToString::to_string);
    singles.chain(ends.map(|key| key.to_string()))
}

/// Whether a shard has the key.
fn has(map: &MapStep, key: &str) -> bool {
    let Some(key) = KeyValue::parse(map.kind, key) else {
        return false;
    };
    let in_range = |&(first, last): &(i64, i64)| matches!(key, KeyValue::Integer(number) if first <= number && number <= last);
    map.shards
        .iter()
        .any(|shard| shard.keys.contains(&key) || shard.ranges.iter().any(in_range))
}

/// A key of the map, a neighbour of one, or none of it.
fn key(map: &MapStep, dice: &mut Dice) -> String {
    let shard = dice.of(&map.shards);
    let keys: Vec<String> = ends(shard).collect();
    let own = dice.of(&keys).clone();
    let number = own.parse::<i64>().ok();
    match (dice.below(10), number) {
        (0, Some(number)) => (number + 1).to_string(),
        (1, Some(number)) => (number - 1).to_string(),
        (2, Some(number)) if number >= 0 => format!("0{number}"),
        (0, None) => format!("{own}x"),
        (1, None) => own.to_ascii_uppercase(),
        (3, _) => format!("{own}0"),
        (4, _) => (*dice.of(&["99", "1234567", "nobody"])).to_owned(),
        _ => own,
    }
}

/// ProxySQL decodes no percent sign, and refuses such keys.
fn is_encoded(sql: &str) -> bool {
    sql.contains('%')
}

/// The name with a key of this kind.
fn rendered(template: &KeyTemplate, kind: KeyKind, key: &str) -> Option<String> {
    template.render(&KeyValue::parse(kind, key)?)
}

/// The inside of a comment that carries a key and nothing else.
fn comment(word: &str, form: &CommentForm, kind: KeyKind, key: &str, dice: &mut Dice) -> String {
    match form {
        CommentForm::Pairs if key.contains(' ') => format!(" {word}='{key}' "),
        CommentForm::Pairs => match dice.below(4) {
            0 => format!("{word}={key}"),
            1 if kind == KeyKind::Text => format!(" {word}=\"{key}\" "),
            _ => format!(" {word}={key} "),
        },
        CommentForm::Sqlcommenter => format!("{word}='{}'", key.replace(' ', "%20")),
        CommentForm::Exact(template) => format!(
            " {} ",
            rendered(template, kind, key).unwrap_or_else(|| key.to_owned())
        ),
    }
}

fn with_column(map: &MapStep, key: &str, dice: &mut Dice) -> String {
    let literal = if map.kind == KeyKind::Integer {
        key.to_owned()
    } else {
        format!("'{key}'")
    };
    dice.text(&WITH_COLUMN).replace("KEY", &literal)
}
