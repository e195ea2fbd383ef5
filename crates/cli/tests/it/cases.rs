//! The published sharding cases A1–A9: the intent works, the bugs do not.

use crate::support::{WorldOnServers, ask, lines};

const A2: &str = "SELECT name,population FROM world.City WHERE Continent='Europe' AND CountryCode='ITA' ORDER BY population DESC LIMIT 1";
const A3: &str = "SELECT /* continent=Europe */ Code, City.Name, City.population FROM world.Country JOIN world.City ON \
                  world.City.CountryCode=world.Country.Code WHERE City.population > 10000 GROUP BY Name ORDER BY City.Population DESC LIMIT 5";
const A5: &str = "SELECT /* shard_host_HG=Africa */ City.Name, City.Population FROM world.Country JOIN world.City ON \
                  world.City.CountryCode=world.Country.Code WHERE Country.code='ETH' LIMIT 5";
const A7: &str = "SELECT /* shard_host_HG=Asia */ /* continent=Asia */ City.Name, City.Population FROM world.Country JOIN \
                  world.City ON world.City.CountryCode=world.Country.Code WHERE Country.code='IND' LIMIT 5";

/// Statements that must be answered, by the user who asks, with their rows.
const ANSWERED: [(&str, &str, &[&str]); 14] = [
    ("geo", A2, &["Roma | 2643581"]),
    (
        "geo",
        A3,
        &[
            "RUS | Moscow | 8389200",
            "GBR | London | 7285000",
            "RUS | St Petersburg | 4694000",
            "DEU | Berlin | 3386667",
            "ESP | Madrid | 2879052",
        ],
    ),
    (
        "host",
        A5,
        &[
            "Addis Abeba | 2495000",
            "Dire Dawa | 164851",
            "Nazret | 127842",
            "Gonder | 112249",
            "Dese | 97314",
        ],
    ),
    (
        "both",
        A7,
        &[
            "Mumbai (Bombay) | 10500000",
            "Delhi | 7206704",
            "Calcutta [Kolkata] | 4399819",
            "Chennai (Madras) | 3841396",
            "Hyderabad | 2964638",
        ],
    ),
    // E4: a value with a blank.
    (
        "geo",
        "SELECT COUNT(*) FROM world.Country WHERE Continent='North America'",
        &["37"],
    ),
    (
        "geo",
        "SELECT COUNT(*) FROM world.Country WHERE Continent='South America'",
        &["14"],
    ),
    // E6: shapes that the published pattern did not see.
    (
        "geo",
        "SELECT COUNT(*) FROM world.Country WHERE Continent = 'Asia'",
        &["51"],
    ),
    (
        "geo",
        "SELECT COUNT(*) FROM `world`.`Country` WHERE `Continent` = 'Africa'",
        &["58"],
    ),
    (
        "geo",
        "SELECT COUNT(*) FROM world.Country WHERE Continent IN ('Oceania')",
        &["28"],
    ),
    (
        "geo",
        "select count(*) from Country where 'Antarctica' = continent",
        &["5"],
    ),
    // E7, E8: text is text.
    (
        "geo",
        "SELECT 'hello world!', '/* shard_host_HG=Africa */', COUNT(*) FROM world.Country WHERE Continent='Europe'",
        &["hello world! | /* shard_host_HG=Africa */ | 46"],
    ),
    (
        "geo",
        "SELECT \"world.City\", COUNT(*) FROM world.Country WHERE Continent='Asia'",
        &["world.City | 51"],
    ),
    // What drivers ask on connect needs no key.
    ("geo", "SELECT 1", &["1"]),
    ("geo", "SELECT DATABASE()", &["world"]),
];

/// Statements that must be refused, and the code that the refusal names.
const REFUSED: [(&str, &str, &str); 11] = [
    // E5, E6: nothing is guessed.
    (
        "geo",
        "SELECT name FROM world.Country WHERE Continent='Asia' OR Continent='Europe'",
        "SW354",
    ),
    (
        "geo",
        "SELECT name FROM world.Country WHERE Continent IN ('Asia','Europe')",
        "SW354",
    ),
    (
        "geo",
        "SELECT name FROM world.Country WHERE NOT Continent='Asia'",
        "SW35",
    ),
    ("geo", "UPDATE world.City SET Population=0", "SW351"),
    ("geo", "DELETE FROM world.City", "SW351"),
    ("geo", "SELECT name FROM world.Country", "SW351"),
    // E7: unknown values and partial words.
    (
        "geo",
        "SELECT /* continent=Eurasia */ name FROM world.Country",
        "SW352",
    ),
    (
        "host",
        "SELECT /* shard_host_HG=Oceania */ name FROM world.Country",
        "SW352",
    ),
    (
        "host",
        "SELECT '/* shard_host_HG=Africa */' FROM world.Country",
        "SW351",
    ),
    (
        "host",
        "SELECT /*! shard_host_HG=Africa */ 1 FROM world.Country",
        "SW351",
    ),
    (
        "geo",
        "SELECT /* continent=Asia */ /* continent=Europe */ name FROM world.Country",
        "SW353",
    ),
];

#[test]
fn the_published_cases_work_and_their_bugs_do_not() {
    let world = WorldOnServers::start();
    let mut wrong = Vec::new();
    for (user, sql, expected) in ANSWERED {
        let answer = ask(&mut world.client(user), sql).map(|rows| lines(&rows));
        if answer != Ok(expected.iter().map(ToString::to_string).collect()) {
            wrong.push(format!("{user}> {sql}\n    {answer:?}"));
        }
    }
    for (user, sql, code) in REFUSED {
        let answer = ask(&mut world.client(user), sql);
        let refused = answer
            .as_ref()
            .is_err_and(|message| message.starts_with(&format!("1148: {code}")));
        if !refused {
            wrong.push(format!("{user}> {sql}\n    {answer:?}, wanted {code}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_whole_continent_comes_from_its_shard() {
    let world = WorldOnServers::start();
    let mut client = world.client("geo");
    let rows = ask(
        &mut client,
        "SELECT name,population FROM world.Country WHERE Continent='Asia'",
    )
    .unwrap();
    let lines = lines(&rows);
    assert_eq!(lines.len(), 51);
    for country in ["Afghanistan | 22720000", "Vietnam | 79832000", "Yemen | 18112000"] {
        assert!(lines.iter().any(|line| line == country), "{country}");
    }
}
