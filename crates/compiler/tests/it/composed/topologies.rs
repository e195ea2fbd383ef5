//! Random topologies in which maps, finders, policies, groups of users and effects meet.
//!
//! Users are dealt into groups. A group has no map, one map, a chain of maps (`otherwise`), or a map that chooses the
//! cluster and one that chooses the schema. Policies and throttles are about groups, clusters or everything.

use std::fmt::Write as _;

mod sections;

use super::dice::Dice;
use sections::{effects, policies, raw_rules};

/// The text of a topology with this number.
pub(crate) fn topology(number: u64) -> String {
    let dice = &mut Dice::new(number);
    let mut text = Text::default();
    text.clusters(dice);
    let groups = text.groups(dice);
    let mut maps = Maps {
        text: String::new(),
        count: 0,
    };
    for group in &groups {
        maps.of_group(group, dice);
    }
    let Text { clusters, users } = text;
    let mut all = format!("version: 1\nclusters:\n{clusters}users:\n{users}");
    if maps.count > 0 {
        all += "shard_maps:\n";
        all += &maps.text;
    }
    all += &policies(&groups, dice);
    all += &effects(&groups, dice);
    all += &raw_rules(dice);
    all
}

/// Users of readers, who are refused what is no read, or not.
const READERS: [&str; 2] = [", role: reader", ", role: reader, reads_only: false"];
/// Clusters that shards are on; `d1` has no reader.
const CLUSTERS: [&str; 5] = ["c1", "c2", "c3", "c4", "d1"];

#[derive(Default)]
struct Text {
    clusters: String,
    users: String,
}

impl Text {
    fn clusters(&mut self, dice: &mut Dice) {
        self.clusters = "  c$(n): {for_each: {n: 1..4}, type: replication, servers: {w: {host: \"w$(n).db\"}, r: {host: \"r$(n).db\"}}}\n  \
             d1: {type: single, servers: {w: {host: d1.db}}}\n"
            .to_owned();
        self.clusters += dice.text(&[
            "  home: {type: single, servers: {a: {host: home.db}}}\n",
            "  home: {type: replication, servers: {a: {host: home-a.db}, b: {host: home-b.db}}}\n",
        ]);
    }

    /// Two to five users in one to three groups.
    fn groups(&mut self, dice: &mut Dice) -> Vec<Group> {
        let mut groups = vec![Group::default()];
        for _ in 0..dice.below(3) {
            groups.push(Group::default());
        }
        let names = ["app", "web", "batch", "reports", "operator"];
        let count = dice.from(groups.len().max(2), names.len());
        for (at, name) in names[..count].iter().enumerate() {
            let home = dice.text(&["home", "home", "c1", "c2"]);
            let schema = dice.text(&["", ", schema: app", ", schema: app", ", schema: acct_0003"]);
            let role = if dice.one_in(4) { dice.text(&READERS) } else { "" };
            writeln!(
                self.users,
                "  {name}: {{password: {{env: P}}, cluster: {home}{schema}{role}}}"
            )
            .unwrap();
            let group = if at < groups.len() {
                at
            } else {
                dice.below(groups.len())
            };
            groups[group].users.push((*name).to_owned());
        }
        let last = groups.len() - 1;
        for (at, group) in groups.iter_mut().enumerate() {
            group.prefix = ["t", "u", "v"][at];
            group.maps = match dice.below(8) {
                0 if last > 0 => Arrangement::None,
                0..=4 => Arrangement::One,
                5 | 6 => Arrangement::Chain(dice.from(2, 3)),
                _ => Arrangement::Levels,
            };
            // Users whose names have keys.
            if dice.one_in(4) {
                let prefix = group.prefix;
                for key in ["01", "03", "40", "99"] {
                    let name = format!("{prefix}_{key}");
                    let role = if dice.one_in(4) { dice.text(&READERS) } else { "" };
                    writeln!(
                        self.users,
                        "  {name}: {{password: {{env: P}}, cluster: home{role}}}"
                    )
                    .unwrap();
                    group.users.push(name);
                }
                group.has_keyed_names = true;
            }
        }
        groups
    }
}

/// Users that the same sections are about.
#[derive(Default)]
struct Group {
    users: Vec<String>,
    /// What names with keys begin with.
    prefix: &'static str,
    has_keyed_names: bool,
    maps: Arrangement,
}

impl Group {
    fn list(&self) -> String {
        format!("[{}]", self.users.join(", "))
    }
}

/// The maps of a group.
#[derive(Clone, Copy, Default)]
enum Arrangement {
    #[default]
    None,
    One,
    /// Each but the last hands statements without its key to the next.
    Chain(usize),
    /// The first chooses the cluster, the second the schema.
    Levels,
}

/// Where a map stands among those of its group.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Position {
    Alone,
    /// Another follows in `otherwise`.
    Handing,
    /// The last of a chain.
    Last,
    /// The second of two levels.
    Schema,
}

struct Maps {
    text: String,
    count: usize,
}

/// At most so many maps of one topology.
const MOST_MAPS: usize = 3;
const WORDS: [&str; 3] = ["tenant", "tenant_id", "shop"];

impl Maps {
    fn of_group(&mut self, group: &Group, dice: &mut Dice) {
        let room = MOST_MAPS - self.count;
        if room == 0 {
            return;
        }
        match group.maps {
            Arrangement::None => {}
            Arrangement::Chain(length) if room > 1 => {
                let length = length.min(room);
                for (nth, word) in WORDS.iter().enumerate().take(length) {
                    let position = if nth + 1 < length {
                        Position::Handing
                    } else {
                        Position::Last
                    };
                    self.map(group, word, position, dice);
                }
            }
            Arrangement::Levels if room > 1 => {
                let first = self.count;
                self.map(group, WORDS[0], Position::Alone, dice);
                // Both levels may read the same word.
                self.map(group, WORDS[dice.below(2)], Position::Schema, dice);
                debug_assert_eq!(self.count, first + 2);
            }
            _ => self.map(group, dice.text(&WORDS), Position::Alone, dice),
        }
    }

    fn map(&mut self, group: &Group, word: &str, position: Position, dice: &mut Dice) {
        self.count += 1;
        let name = format!("m{}", self.count);
        let is_integer = !dice.one_in(3);
        let finders = finders(group, is_integer, position, self.count, dice);
        let has_column = finders.contains("column");
        let mut map = format!("  {name}:\n    applies_to: {{users: {}", group.list());
        map += dice.text(&[
            "",
            "",
            "",
            ", except_schemas: [other]",
            ", except_match_digest: \"^SHOW\"",
        ]);
        map += "}\n";
        if has_column || position == Position::Schema {
            map += "    logical_schema: app\n";
        }
        let shards = if is_integer {
            integer_shards(position, dice)
        } else {
            text_shards(position, dice)
        };
        let kind = if is_integer { "integer" } else { "text" };
        let Shards {
            text,
            domain,
            overrides,
        } = shards;
        writeln!(
            map,
            "    key: {{name: {word}, type: {kind}{domain}}}\n    key_from: {finders}"
        )
        .unwrap();
        map += dice.text(&["", "    conflict: reject\n", "    conflict: first\n"]);
        if position == Position::Handing {
            writeln!(map, "    otherwise: shard_maps.m{}", self.count + 1).unwrap();
        } else {
            map += &missing_key(group, position, dice);
        }
        if position != Position::Schema {
            map += dice.text(&["", "", "    unknown_key: {cluster: c3}\n"]);
        }
        map += if finders.contains("schema: ") {
            dice.text(&[
                "",
                "",
                "    rule_layout: fast_routing\n",
                "    rule_layout: flat\n",
                "    rule_layout: tree\n",
            ])
        } else {
            dice.text(&["", "", "    rule_layout: flat\n", "    rule_layout: tree\n"])
        };
        write!(map, "    shards:\n{text}{overrides}").unwrap();
        self.text += &map;
    }
}

/// What happens without a key, of all users and sometimes of one.
fn missing_key(group: &Group, position: Position, dice: &mut Dice) -> String {
    // Effects on the first level's cluster would hold for the second's, too.
    let actions: &[&'static str] = match position {
        Position::Schema => &["", "", "statements: allow"],
        _ => &[
            "",
            "",
            "statements: allow",
            "statements: {cluster: c4}",
            "statements: {cluster: c4}, session_setup: allow, begin: reject",
            "session_setup: reject",
            "statements: allow, session_setup: {cluster: c2}",
        ],
    };
    let mut parts = vec![dice.text(actions).to_owned()];
    if dice.one_in(3) {
        let user = dice.of(&group.users).clone();
        let own = dice.of(&actions[2..]);
        parts.push(format!("by_user: {{{user}: {{{own}}}}}"));
    }
    parts.retain(|part| !part.is_empty());
    if parts.is_empty() {
        return String::new();
    }
    format!("    missing_key: {{{}}}\n", parts.join(", "))
}

/// Where keys of a map are.
fn finders(group: &Group, is_integer: bool, position: Position, nth: usize, dice: &mut Dice) -> String {
    // Maps of a chain do not read the same names: a statement would have a key of each.
    let is_chained = matches!(position, Position::Handing | Position::Last);
    let (prefix, own) = (
        group.prefix,
        if is_chained {
            nth.to_string()
        } else {
            String::new()
        },
    );
    let (schema, user) = if is_integer {
        (
            format!("{{schema: \"acct{own}_$(key:04)\"}}"),
            format!("{{user: \"{prefix}{own}_$(key:02)\"}}"),
        )
    } else {
        (
            format!("{{schema: \"s{own}_$(key)\"}}"),
            format!("{{user: \"{prefix}{own}_$(key)\"}}"),
        )
    };
    let comment = match dice.below(5) {
        0 | 1 => "{comment: {}}".to_owned(),
        2 => format!("{{comment: {{name: note{own}}}}}"),
        3 => "{comment: {format: sqlcommenter}}".to_owned(),
        _ => format!("{{comment: {{exact: \"={own}=$(key)=\"}}}}"),
    };
    let column = "{column: {name: owner}}".to_owned();
    let chosen: Vec<String> = match dice.below(if position == Position::Schema { 3 } else { 10 }) {
        0..=2 => vec![comment],
        3 => vec![schema],
        4 | 5 => vec![comment, schema],
        6 => vec![schema, comment],
        7 if group.has_keyed_names => vec![user],
        8 if group.has_keyed_names => vec![user, comment],
        7 => vec![column],
        8 => vec![comment, column],
        _ => vec![comment, user],
    };
    format!("[{}]", chosen.join(", "))
}

/// The shards of a map.
struct Shards {
    text: String,
    /// For the key.
    domain: String,
    overrides: String,
}

/// Where a shard is: on a cluster, or in a schema. Some are refused, and those may be nowhere.
fn place(position: Position, cluster: &str, at: usize, dice: &mut Dice) -> String {
    let place = if position == Position::Schema {
        format!("schema: part_{at}")
    } else {
        format!("cluster: {cluster}")
    };
    // The first has a place, so that the map has one.
    match dice.below(6) {
        0 if at > 0 => format!("refuse: \"gone {at}\""),
        1 => format!("{place}, refuse: \"closed {at}\""),
        _ => place,
    }
}

/// Sometimes, an override that refuses a shard of a generator.
fn refused(number: usize, dice: &mut Dice) -> String {
    match dice.below(3) {
        0 => format!("    overrides: {{s{number}: {{refuse: \"closed for now\", reason: closed}}}}\n"),
        _ => String::new(),
    }
}

fn integer_shards(position: Position, dice: &mut Dice) -> Shards {
    let mut shards = Shards {
        text: String::new(),
        domain: String::new(),
        overrides: String::new(),
    };
    let by_number = if position == Position::Schema {
        "schema: \"part_$(n)\""
    } else {
        "cluster: \"c$(n % 4 + 1)\""
    };
    match dice.below(6) {
        // Neighbours on different clusters.
        0 => {
            let last = dice.from(3, 40);
            writeln!(
                shards.text,
                "      s$(n): {{for_each: {{n: 1..{last}}}, keys: [$(n)], {by_number}}}"
            )
            .unwrap();
            shards.overrides = refused(dice.from(1, last), dice);
        }
        // Runs of keys on one cluster, some moved; a gap where a key is refused.
        1 | 2 if position != Position::Schema => {
            let (run, last) = (dice.from(2, 10), dice.from(12, 60));
            let closed = dice.from(2, last - 1);
            writeln!(
                shards.text,
                "      s$(n): {{for_each: {{n: 1..{last}, except: [{closed}]}}, keys: [$(n)], cluster: \"c$(n / {run} % 4 + 1)\"}}"
            )
            .unwrap();
            if dice.one_in(2) {
                shards.domain = format!(", domain: [1..{}, {}..{last}]", closed - 1, closed + 1);
            }
            let moved = 1 + (closed + dice.below(last - 1)) % last;
            if moved != closed {
                // It is on another cluster than any of a run.
                shards.overrides = format!("    overrides: {{s{moved}: {{cluster: d1, reason: moved}}}}\n");
            }
        }
        // Ranges of a hundred.
        3 => {
            let last = dice.from(1, 9);
            writeln!(
                shards.text,
                "      s$(n): {{for_each: {{n: 0..{last}}}, keys: [\"$(n * 100)..$(n * 100 + 99)\"], {by_number}}}"
            )
            .unwrap();
            shards.overrides = refused(dice.from(0, last), dice);
        }
        // Single keys and ranges mixed, on few clusters.
        _ => {
            let mut next = if dice.one_in(4) {
                -(dice.below(30) as i64)
            } else {
                dice.below(3) as i64
            };
            for at in 0..dice.from(2, 6) {
                let mut keys = Vec::new();
                for _ in 0..dice.from(1, 3) {
                    next += dice.from(1, 4) as i64;
                    let last = next + (dice.below(3) * dice.below(60)) as i64;
                    keys.push(if last == next {
                        next.to_string()
                    } else {
                        format!("{next}..{last}")
                    });
                    next = last;
                }
                let cluster = dice.text(&CLUSTERS);
                let place = place(position, cluster, at, dice);
                writeln!(
                    shards.text,
                    "      s{at}: {{keys: [{}], {place}}}",
                    keys.join(", ")
                )
                .unwrap();
            }
        }
    }
    shards
}

/// Keys that begin alike, or that patterns and comments could misread.
const TEXT_KEYS: [&str; 16] = [
    "a", "ab", "abc", "b", "B", "North", "north", "x1", "a_b", "a-b", "a.b", "a b", "eu", "us", "Us1", "0",
];

fn text_shards(position: Position, dice: &mut Dice) -> Shards {
    let mut text = String::new();
    let mut keys: Vec<&str> = TEXT_KEYS.to_vec();
    for at in 0..dice.from(2, 5) {
        let mut own = Vec::new();
        for _ in 0..dice.from(1, 3) {
            own.push(format!("\"{}\"", keys.swap_remove(dice.below(keys.len()))));
        }
        let cluster = dice.text(&CLUSTERS);
        let place = place(position, cluster, at, dice);
        writeln!(text, "      s{at}: {{keys: [{}], {place}}}", own.join(", ")).unwrap();
    }
    Shards {
        text,
        domain: String::new(),
        overrides: String::new(),
    }
}
