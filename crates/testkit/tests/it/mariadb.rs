//! The kit against real servers.

use std::path::PathBuf;
use std::thread;
use std::time::Duration;

use shardwright_testkit::{
    ClientOptions, LaunchError, MariaDb, Options, eventually, load_world_oracle, load_world_shards,
    text_rows, three_shards,
};

const PATIENCE: Duration = Duration::from_secs(30);

fn cells(rows: Vec<Vec<Option<String>>>) -> Vec<String> {
    rows.into_iter()
        .map(|row| {
            row.into_iter()
                .map(|cell| cell.unwrap_or_else(|| "NULL".to_owned()))
                .collect::<Vec<_>>()
                .join(" ")
        })
        .collect()
}

#[test]
fn a_server_answers_by_tcp_and_socket_and_leaves_nothing() {
    let server = MariaDb::start(Options::default()).unwrap();
    server
        .create_user("app", r"it's \ secret", Some("ALL ON *.*"))
        .unwrap();
    let app = ClientOptions {
        user: "app",
        password: r"it's \ secret",
        schema: Some("mysql"),
    };
    let mut connection = server.connect(app).unwrap();
    let rows = text_rows(
        &mut connection,
        "SELECT @@port, NULL; SELECT SCHEMA(), CURRENT_USER()",
    )
    .unwrap();
    assert_eq!(
        cells(rows),
        [format!("{} NULL", server.port()), "mysql app@%".to_owned()]
    );
    let plugin = server
        .run("SELECT plugin FROM mysql.user WHERE user = 'app'")
        .unwrap();
    assert_eq!(cells(plugin), ["mysql_native_password"]);
    assert!(
        server
            .connect(ClientOptions {
                password: "wrong",
                ..app
            })
            .is_err()
    );

    let (process, directory) = (server.process_id(), server.socket().parent().unwrap().to_owned());
    drop(connection);
    drop(server);
    assert!(!PathBuf::from(format!("/proc/{process}")).exists());
    assert!(!directory.exists());
}

#[test]
fn a_crashed_server_comes_back_with_its_data_on_its_port() {
    let mut server = MariaDb::start(Options::default()).unwrap();
    server
        .run("CREATE DATABASE d; CREATE TABLE d.t (a INT PRIMARY KEY); INSERT INTO d.t VALUES (7)")
        .unwrap();
    let port = server.port();
    server.kill().unwrap();
    assert!(server.root().is_err());
    server.restart().unwrap();
    assert_eq!(server.port(), port);
    assert_eq!(cells(server.run("SELECT a FROM d.t").unwrap()), ["7"]);
    assert!(server.stop().unwrap().success());
}

#[test]
fn a_paused_server_answers_when_it_is_resumed() {
    let server = MariaDb::start(Options::default()).unwrap();
    let mut connection = server.root().unwrap();
    server.pause().unwrap();
    let state =
        |server: &MariaDb| std::fs::read_to_string(format!("/proc/{}/stat", server.process_id())).unwrap();
    eventually(PATIENCE, || state(&server).contains(") T "));
    // Not before it stands still: it could still answer.
    let answer = thread::spawn(move || text_rows(&mut connection, "SELECT 1"));
    assert!(!answer.is_finished());
    server.resume().unwrap();
    assert_eq!(cells(answer.join().unwrap().unwrap()), ["1"]);
}

#[test]
fn options_reach_the_server_and_a_bad_one_is_reported_with_the_log() {
    let server = MariaDb::start(Options::default().arg("--max-allowed-packet=32M")).unwrap();
    assert_eq!(
        cells(server.run("SELECT @@max_allowed_packet").unwrap()),
        ["33554432"]
    );
    match MariaDb::start(Options::default().arg("--no-such-option")) {
        Err(LaunchError::Ended { log, .. }) => {
            assert!(log.contains("unknown option '--no-such-option'"), "{log}")
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_file_of_statements_is_run_whole() {
    let server = MariaDb::start(Options::default()).unwrap();
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(
        file.path(),
        "CREATE DATABASE f;\nUSE f;\nCREATE TABLE t (a INT);\nINSERT INTO t VALUES (1), (2);\n",
    )
    .unwrap();
    server.run_file(file.path()).unwrap();
    assert_eq!(cells(server.run("SELECT COUNT(*) FROM f.t").unwrap()), ["2"]);
    assert!(server.run("SELECT 1; SELECT * FROM f.missing").is_err());
}

#[test]
fn the_world_gives_the_published_results_on_shards_and_oracle() {
    let shards = three_shards(&Options::default()).unwrap();
    load_world_shards(&shards).unwrap();
    let oracle = MariaDb::start(Options::default()).unwrap();
    load_world_oracle(&oracle).unwrap();
    let [europe, asia, africa] = &shards;

    let roma = "SELECT name,population FROM world.City WHERE Continent='Europe' AND CountryCode='ITA' \
                ORDER BY population DESC LIMIT 1";
    assert_eq!(cells(oracle.run(roma).unwrap()), ["Roma 2643581"]);

    let asian = cells(
        oracle
            .run("SELECT name,population FROM world.Country WHERE Continent='Asia'")
            .unwrap(),
    );
    assert_eq!(asian.len(), 51);
    for row in ["Afghanistan 22720000", "Vietnam 79832000", "Yemen 18112000"] {
        assert!(asian.iter().any(|country| country == row), "{row}");
    }
    assert_eq!(
        cells(asia.run("SELECT name,population FROM Asia.Country").unwrap()),
        asian
    );

    let largest = "SELECT Code, City.Name, City.population FROM SCHEMA.Country \
                   JOIN SCHEMA.City ON SCHEMA.City.CountryCode=SCHEMA.Country.Code WHERE City.population > 10000 \
                   GROUP BY Name ORDER BY City.Population DESC LIMIT 5";
    let expected = [
        "RUS Moscow 8389200",
        "GBR London 7285000",
        "RUS St Petersburg 4694000",
        "DEU Berlin 3386667",
        "ESP Madrid 2879052",
    ];
    assert_eq!(
        cells(europe.run(largest.replace("SCHEMA", "Europe")).unwrap()),
        expected
    );

    let of_country = "SELECT City.Name, City.Population FROM world.Country \
                      JOIN world.City ON world.City.CountryCode=world.Country.Code WHERE Country.code='CODE' LIMIT 5";
    let ethiopia = [
        "Addis Abeba 2495000",
        "Dire Dawa 164851",
        "Nazret 127842",
        "Gonder 112249",
        "Dese 97314",
    ];
    let india = [
        "Mumbai (Bombay) 10500000",
        "Delhi 7206704",
        "Calcutta [Kolkata] 4399819",
        "Chennai (Madras) 3841396",
        "Hyderabad 2964638",
    ];
    for (shard, code, cities) in [(africa, "ETH", ethiopia), (asia, "IND", india)] {
        let statement = of_country.replace("CODE", code);
        assert_eq!(cells(shard.run(&statement).unwrap()), cities);
        assert_eq!(cells(oracle.run(&statement).unwrap()), cities);
    }
}

#[test]
fn rows_of_the_oracle_look_as_those_of_a_shard_and_new_ones_know_their_continent() {
    let oracle = MariaDb::start(Options::default()).unwrap();
    load_world_oracle(&oracle).unwrap();
    oracle
        .run("INSERT INTO world.City VALUES (9001, 'L''Atelier', 'FRA', 12)")
        .unwrap();
    let row = oracle
        .run("SELECT * FROM world.City WHERE Continent = 'Europe' AND ID > 9000")
        .unwrap();
    assert_eq!(cells(row), ["9001 L'Atelier FRA 12"]);
    let row = oracle
        .run("SELECT * FROM world.Country WHERE Name = 'Côte d''Ivoire'")
        .unwrap();
    assert_eq!(cells(row), ["CIV Côte d'Ivoire Western Africa 14786000"]);
}
