//! The `world` sample: countries and cities as rows, and as SQL for the shards that hold a part of them.
//!
//! The text is the same for SQLite and MariaDB, so the demo's embedded backends and the real servers of tests hold the
//! same rows in the same order.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde::de::DeserializeOwned;

/// Rows per `INSERT`.
const ROWS_PER_INSERT: usize = 200;

/// A country, with figures of about the year 2000.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct Country {
    /// Three letters.
    pub code: String,
    /// English short name.
    pub name: String,
    /// One of seven; shards do not store it.
    pub continent: String,
    /// Part of the continent.
    pub region: String,
    /// Inhabitants.
    pub population: u64,
}

/// A city.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct City {
    /// Unique over all continents; rows are stored in this order.
    #[serde(rename = "ID")]
    pub id: u64,
    /// Name in the local or English form.
    #[serde(rename = "Name")]
    pub name: String,
    /// The country's [`Country::code`].
    #[serde(rename = "CountryCode")]
    pub country_code: String,
    /// Inhabitants.
    #[serde(rename = "Population")]
    pub population: u64,
}

/// The whole sample.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct World {
    /// By code.
    pub countries: Vec<Country>,
    /// By id; within a country the order that published results show.
    pub cities: Vec<City>,
}

impl World {
    /// The sample that ships with the program, `examples/world/data`.
    #[must_use]
    pub fn sample() -> Self {
        Self::parse(
            include_str!("../../../examples/world/data/country.csv"),
            include_str!("../../../examples/world/data/city.csv"),
        )
        .expect("the shipped files are read by a test")
    }

    /// Reads the two files, each with a header line.
    ///
    /// # Errors
    /// The line and column that is not as [`Country`] or [`City`] say.
    pub fn parse(countries: &str, cities: &str) -> Result<Self, csv::Error> {
        Ok(Self {
            countries: rows(countries)?,
            cities: rows(cities)?,
        })
    }

    /// Statements that fill `schema`, which must exist, with the countries of `continents` and their cities:
    /// `Country(Code, Name, Region, Population)` and `City(ID, Name, CountryCode, Population)`.
    #[must_use]
    pub fn shard_sql(&self, schema: &str, continents: &[&str]) -> Vec<String> {
        let schema = identifier(schema);
        let mut statements = vec![
            format!(
                "CREATE TABLE {schema}.Country (Code CHAR(3) NOT NULL PRIMARY KEY, Name VARCHAR(60) NOT NULL, \
                 Region VARCHAR(40) NOT NULL, Population INTEGER NOT NULL)"
            ),
            format!(
                "CREATE TABLE {schema}.City (ID INTEGER NOT NULL PRIMARY KEY, Name VARCHAR(60) NOT NULL, \
                 CountryCode CHAR(3) NOT NULL, Population INTEGER NOT NULL)"
            ),
        ];
        let countries = self
            .countries
            .iter()
            .filter(|country| continents.contains(&country.continent.as_str()));
        let values = countries.map(|c| {
            format!(
                "({}, {}, {}, {})",
                literal(&c.code),
                literal(&c.name),
                literal(&c.region),
                c.population
            )
        });
        inserts(
            &mut statements,
            &format!("{schema}.Country (Code, Name, Region, Population)"),
            values,
        );
        let continent_of = self.continent_of();
        let cities = self.cities.iter().filter(|city| {
            continent_of
                .get(city.country_code.as_str())
                .is_some_and(|continent| continents.contains(continent))
        });
        let values = cities.map(|c| {
            format!(
                "({}, {}, {}, {})",
                c.id,
                literal(&c.name),
                literal(&c.country_code),
                c.population
            )
        });
        inserts(
            &mut statements,
            &format!("{schema}.City (ID, Name, CountryCode, Population)"),
            values,
        );
        statements
    }

    /// Statements that fill `schema` of a MariaDB server with all continents, to answer what the shards answer
    /// together. Both tables have a `Continent`, which `SELECT *` and an `INSERT` without columns do not see, so that
    /// statements that do not name it mean the same as on a shard; a new row gets it from its country.
    #[must_use]
    pub fn unsharded_mariadb_sql(&self, schema: &str) -> Vec<String> {
        let continents: Vec<&str> = self.countries_per_continent().into_keys().collect();
        let mut statements = self.shard_sql(schema, &continents);
        let schema = identifier(schema);
        for table in ["Country", "City"] {
            statements.push(format!(
                "ALTER TABLE {schema}.{table} ADD Continent VARCHAR(20) INVISIBLE"
            ));
        }
        for continent in continents {
            let codes: Vec<String> = self
                .countries
                .iter()
                .filter(|country| country.continent == continent)
                .map(|country| literal(&country.code))
                .collect();
            let (continent, codes) = (literal(continent), codes.join(", "));
            for (table, code) in [("Country", "Code"), ("City", "CountryCode")] {
                statements.push(format!(
                    "UPDATE {schema}.{table} SET Continent = {continent} WHERE {code} IN ({codes})"
                ));
            }
        }
        statements.push(format!(
            "CREATE TRIGGER {schema}.CityContinent BEFORE INSERT ON {schema}.City FOR EACH ROW \
             SET NEW.Continent = COALESCE(NEW.Continent, \
             (SELECT Continent FROM {schema}.Country WHERE Code = NEW.CountryCode))"
        ));
        statements
    }

    /// How many countries each continent has.
    #[must_use]
    pub fn countries_per_continent(&self) -> BTreeMap<&str, usize> {
        let mut counts = BTreeMap::new();
        for country in &self.countries {
            *counts.entry(country.continent.as_str()).or_insert(0) += 1;
        }
        counts
    }

    fn continent_of(&self) -> BTreeMap<&str, &str> {
        self.countries
            .iter()
            .map(|country| (country.code.as_str(), country.continent.as_str()))
            .collect()
    }
}

fn rows<T: DeserializeOwned>(text: &str) -> Result<Vec<T>, csv::Error> {
    csv::Reader::from_reader(text.as_bytes())
        .into_deserialize()
        .collect()
}

fn inserts(statements: &mut Vec<String>, into: &str, values: impl Iterator<Item = String>) {
    let values: Vec<String> = values.collect();
    for rows in values.chunks(ROWS_PER_INSERT) {
        statements.push(format!("INSERT INTO {into} VALUES {}", rows.join(", ")));
    }
}

/// Backticks quote a name in both dialects.
fn identifier(name: &str) -> String {
    format!("`{}`", name.replace('`', "``"))
}

/// A doubled quote is the only escape both dialects share; a test keeps backslashes out of the data.
fn literal(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sample_has_the_published_number_of_countries() {
        let world = World::sample();
        let expected = [
            ("Africa", 58),
            ("Antarctica", 5),
            ("Asia", 51),
            ("Europe", 46),
            ("North America", 37),
            ("Oceania", 28),
            ("South America", 14),
        ];
        assert_eq!(world.countries_per_continent(), BTreeMap::from(expected));
        assert_eq!(world.countries.len(), 239);
    }

    #[test]
    fn every_city_is_in_a_country_and_ids_and_codes_are_unique_and_ordered() {
        let world = World::sample();
        let continent_of = world.continent_of();
        assert!(
            world
                .cities
                .iter()
                .all(|city| continent_of.contains_key(city.country_code.as_str()))
        );
        assert!(world.cities.is_sorted_by(|a, b| a.id < b.id));
        assert!(world.countries.is_sorted_by(|a, b| a.code < b.code));
    }

    #[test]
    fn names_exercise_quoting_but_have_no_backslash() {
        let world = World::sample();
        let names: Vec<&str> = world
            .cities
            .iter()
            .map(|city| city.name.as_str())
            .chain(world.countries.iter().map(|country| country.name.as_str()))
            .collect();
        for needed in ['\'', '[', '(', ',', 'é', 'Ł'] {
            assert!(names.iter().any(|name| name.contains(needed)), "{needed}");
        }
        assert!(!names.iter().any(|name| name.contains('\\')));
    }

    #[test]
    fn many_countries_have_several_cities() {
        let world = World::sample();
        let mut cities = BTreeMap::new();
        for city in &world.cities {
            *cities.entry(city.country_code.as_str()).or_insert(0) += 1;
        }
        assert!(cities.values().filter(|count| **count >= 3).count() >= 60);
    }

    #[test]
    fn a_shard_holds_its_continents_only_and_names_are_quoted() {
        let world = World::parse(
            "Code,Name,Continent,Region,Population\nCIV,Côte d'Ivoire,Africa,Western Africa,14786000\n\
             COD,\"Congo, The\",Africa,Central Africa,1\nITA,Italy,Europe,Southern Europe,57680000\n",
            "ID,Name,CountryCode,Population\n1,Abidjan,CIV,2500000\n2,L'Aquila,ITA,69839\n",
        )
        .unwrap();
        let africa = world.shard_sql("a`b", &["Africa"]);
        assert_eq!(
            africa[2..],
            [
                "INSERT INTO `a``b`.Country (Code, Name, Region, Population) VALUES ('CIV', 'Côte d''Ivoire', \
                 'Western Africa', 14786000), ('COD', 'Congo, The', 'Central Africa', 1)",
                "INSERT INTO `a``b`.City (ID, Name, CountryCode, Population) VALUES (1, 'Abidjan', 'CIV', 2500000)",
            ]
        );
        assert_eq!(world.shard_sql("x", &["Oceania"]).len(), 2);
    }

    #[test]
    fn a_file_that_is_no_table_is_an_error_with_its_line() {
        let error =
            World::parse("Code,Name,Continent,Region,Population\nITA,Italy,Europe\n", "").unwrap_err();
        assert!(error.to_string().contains("line: 2"), "{error}");
    }

    #[test]
    fn sqlite_takes_a_shards_statements_and_gives_the_published_rows() {
        let connection = rusqlite::Connection::open_in_memory().unwrap();
        connection.execute("ATTACH ':memory:' AS world", []).unwrap();
        for statement in World::sample().shard_sql("world", &["Asia"]) {
            connection.execute(&statement, []).unwrap();
        }
        let cities = "SELECT City.Name || ' ' || City.Population FROM world.Country \
                      JOIN world.City ON City.CountryCode = Country.Code WHERE Country.Code = 'IND' LIMIT 3";
        let mut query = connection.prepare(cities).unwrap();
        let rows = query.query_map([], |row| row.get::<_, String>(0)).unwrap();
        let rows: Vec<String> = rows.map(Result::unwrap).collect();
        assert_eq!(
            rows,
            [
                "Mumbai (Bombay) 10500000",
                "Delhi 7206704",
                "Calcutta [Kolkata] 4399819"
            ]
        );
    }
}
