//! Plain forms of statements with a key in a column: each is placed and answers as a server with all rows, or has a reason.

use std::io::Write as _;

use mysql::prelude::Queryable;
use mysql::{Conn, LocalInfileHandler};
use shardwright_rules::{Finder, InShards, KeyValue, MapStep, Unqualified};
use shardwright_testkit::Flavour;

use crate::several::{Results, results};
use crate::support::{
    PASSWORD, Setup, TestProxy, USER, error, map_alone, schema, server, start, tenants_by_comment, value,
};

const NAME: &str = "plain_forms";
/// Tenants 1 and 3 are on one shard, 2 is on the other.
const SHARD_OF: [(i64, &str); 3] = [(1, "1"), (2, "2"), (3, "1")];

/// What is refused, and why. Everything else is placed.
const REFUSED: &[(&str, &str)] = &[
    (
        "SELECT id FROM t FORCE INDEX FOR ORDER BY (PRIMARY) IGNORE INDEX FOR JOIN (PRIMARY) WHERE tenant_id=1 ORDER BY id",
        "the parser does not know what a hint about indexes is for",
    ),
    (
        "SELECT id FROM t WHERE tenant_id=N'1' ORDER BY id",
        "a literal with another character set compares otherwise",
    ),
    (
        "SELECT id FROM t WHERE tenant_id=1e0 ORDER BY id",
        "a column compares with a float as a float, which two integers may be equal to",
    ),
    (
        "SELECT id FROM t WHERE tenant_id=1 AND (id=1 XOR id=2) ORDER BY id",
        "the parser binds XOR otherwise than servers",
    ),
    (
        "SELECT id FROM t WHERE tenant_id=1 AND d > DATE_SUB('2020-01-01', INTERVAL '1:1' HOUR_MINUTE) ORDER BY id",
        "the parser does not know units of two words",
    ),
    (
        "INSERT INTO t (tenant_id, id) VALUES ROW(1, 10)",
        "MySQL alone reads it, in place of the form without ROW",
    ),
    (
        "INSERT INTO t (tenant_id, id) VALUES (1.0, 10)",
        "a column may store the fraction of a new value",
    ),
    (
        "INSERT INTO t VALUES (1, 10, 'ten', 0, NOW(), NULL)",
        "the text does not say which value is the key",
    ),
    (
        "/*!40101 SET @OLD_SQL_MODE=@@SQL_MODE, SQL_MODE='NO_AUTO_VALUE_ON_ZERO' */ ;; INSERT INTO t (tenant_id, id) VALUES (2, 10) ;; \
         /*!40101 SET SQL_MODE=@OLD_SQL_MODE */",
        "a user variable is on one connection: the session goes on there",
    ),
    (
        "/*!40014 SET @OLD_UNIQUE_CHECKS=@@UNIQUE_CHECKS, UNIQUE_CHECKS=0 */ ;; INSERT INTO t (tenant_id, id) VALUES (2, 10) ;; \
         /*!40014 SET UNIQUE_CHECKS=@OLD_UNIQUE_CHECKS */ ;; SELECT id FROM t WHERE tenant_id=2 ORDER BY id",
        "the same",
    ),
    (
        "SELECT id END FROM t WHERE tenant_id=1 UNION ALL SELECT id END FROM t WHERE tenant_id=2",
        "the parser takes END for the end of a block",
    ),
    (
        "SELECT id FROM t WHERE tenant_id=1 UNION ALL SELECT id END FROM t WHERE tenant_id=2",
        "the same",
    ),
    (
        "SELECT id FROM t WHERE tenant_id=1 UNION ALL SELECT COUNT(*) END FROM t",
        "the same",
    ),
    (
        "SET STATEMENT max_statement_time=10 FOR SELECT id FROM t WHERE tenant_id=1 ORDER BY id",
        "what stands behind FOR is not read for a key",
    ),
    (
        "LOAD DATA LOCAL INFILE 'f' INTO TABLE t (id, c) SET tenant_id=1",
        "LOCAL is IGNORE: a value that does not fit is stored as another one",
    ),
    (
        "LOAD DATA LOCAL INFILE 'f' IGNORE INTO TABLE t FIELDS TERMINATED BY ' ' (id, c) SET s='x', tenant_id=1",
        "the same",
    ),
];

/// Statements that run one by one, with ` ;; ` between them. `@` stands for a condition that names one key.
const FORMS: &[&str] = &[
    // Conditions.
    "SELECT id FROM t WHERE (tenant_id=1 AND id=1) OR (tenant_id=1 AND id=2) ORDER BY id",
    "SELECT id FROM t WHERE (tenant_id=1 OR tenant_id=3) AND id < 9 ORDER BY id",
    "SELECT id FROM t WHERE tenant_id IN (1, 3) ORDER BY id",
    "SELECT id FROM t WHERE tenant_id IN (1) ORDER BY id",
    "SELECT id FROM t WHERE (tenant_id, id) = (1, 1)",
    "SELECT id FROM t WHERE (tenant_id, id) IN ((1, 1), (1, 2)) ORDER BY id",
    "SELECT id FROM t WHERE tenant_id BETWEEN 1 AND 1 ORDER BY id",
    "SELECT id FROM t WHERE tenant_id <=> 1 ORDER BY id",
    "SELECT id FROM t WHERE 1 = tenant_id ORDER BY id",
    "SELECT id FROM t WHERE ((tenant_id)) = ((1)) ORDER BY id",
    "SELECT id FROM t WHERE tenant_id=+1 ORDER BY id",
    "SELECT id FROM t WHERE tenant_id=1.0 ORDER BY id",
    "SELECT id FROM t WHERE tenant_id='1' ORDER BY id",
    "SELECT id FROM t WHERE tenant_id=_utf8mb4'1' ORDER BY id",
    "SELECT id FROM t WHERE tenant_id=N'1' ORDER BY id",
    "SELECT id FROM t WHERE tenant_id=1e0 ORDER BY id",
    "SELECT id FROM t WHERE tenant_id=1 && id=1",
    "SELECT id FROM t WHERE tenant_id=1 AND !id",
    "SELECT id FROM t WHERE tenant_id=1 AND NOT id = 1 ORDER BY id",
    "SELECT id FROM t WHERE tenant_id=1 AND s SOUNDS LIKE 'one'",
    "SELECT id FROM t WHERE tenant_id=1 AND s REGEXP '^o'",
    "SELECT id FROM t WHERE tenant_id=1 AND s NOT RLIKE '^o' ORDER BY id",
    "SELECT id FROM t WHERE tenant_id=1 AND s LIKE 'o|%' ESCAPE '|'",
    "SELECT id FROM t WHERE tenant_id=1 AND (id=1 XOR id=2) ORDER BY id",
    "SELECT id FROM t WHERE tenant_id=1 AND id IS NOT NULL ORDER BY id",
    "SELECT id FROM t WHERE tenant_id=1 AND (id > 1) IS TRUE",
    "SELECT id FROM t WHERE tenant_id=1 AND id DIV 2 = 1",
    "SELECT id FROM t WHERE tenant_id=1 AND id MOD 2 AND id % 2 ORDER BY id",
    "SELECT id FROM t WHERE tenant_id=1 AND id ^ 1 ORDER BY id",
    "SELECT id FROM t WHERE tenant_id=1 AND ~id & 1 | 2 << 1 ORDER BY id",
    "SELECT id FROM t WHERE tenant_id=1 AND BINARY s = 'one'",
    "SELECT id FROM t WHERE tenant_id=1 AND s COLLATE utf8mb4_bin = 'one'",
    "SELECT id FROM t WHERE tenant_id=1 AND s = CONVERT('one' USING utf8mb4)",
    "SELECT id FROM t WHERE tenant_id=1 AND id = CAST('1' AS SIGNED)",
    "SELECT id FROM t WHERE tenant_id=1 AND CASE id WHEN 1 THEN TRUE ELSE FALSE END",
    "SELECT id FROM t WHERE tenant_id=1 AND d > NOW() - INTERVAL 1 DAY ORDER BY id",
    "SELECT id FROM t WHERE tenant_id=1 AND d > DATE_SUB('2020-01-01', INTERVAL '1:1' HOUR_MINUTE) ORDER BY id",
    "SELECT id FROM t WHERE tenant_id=1 AND d > TIMESTAMP'2020-01-01 00:00:00' ORDER BY id",
    "SELECT id FROM t WHERE tenant_id=1 AND TRIM(LEADING 'o' FROM s) = 'ne'",
    "SELECT id FROM t WHERE tenant_id=1 AND SUBSTRING(s FROM 1 FOR 2) = 'on'",
    "SELECT id FROM t WHERE tenant_id=1 AND POSITION('n' IN s) = 2",
    "SELECT id FROM t WHERE tenant_id=1 AND EXTRACT(YEAR FROM d) > 2000 ORDER BY id",
    "SELECT id FROM t WHERE tenant_id=1 AND MATCH (s) AGAINST ('one' IN BOOLEAN MODE)",
    "SELECT id FROM t WHERE tenant_id=1 AND JSON_EXTRACT(j, '$.a') = 1",
    "SELECT id FROM t WHERE tenant_id=1 AND id = ANY (SELECT id FROM u WHERE tenant_id=1) ORDER BY id",
    "SELECT id FROM t WHERE tenant_id=1 AND id NOT IN (SELECT id FROM u WHERE tenant_id=1) ORDER BY id",
    "SELECT id FROM t WHERE tenant_id=1 AND EXISTS (SELECT 1 FROM u WHERE u.tenant_id=t.tenant_id AND u.id=t.id) ORDER BY id",
    "SELECT id FROM t WHERE tenant_id=1 AND (id, s) = (1, 'one')",
    "SELECT id FROM t WHERE tenant_id=1 AND id > @@auto_increment_increment ORDER BY id",
    "SELECT id FROM t WHERE tenant_id=1 AND s = X'6F6E65'",
    "SELECT id FROM t WHERE tenant_id=1 AND s = 'o' 'ne'",
    // Tables.
    "SELECT a.id FROM (t a) WHERE a.tenant_id=1 ORDER BY 1",
    "SELECT a.id FROM ((t a)) WHERE a.tenant_id=1 ORDER BY 1",
    "SELECT a.id FROM (t a JOIN u b ON a.tenant_id=b.tenant_id AND a.id=b.id) WHERE a.tenant_id=1 ORDER BY 1",
    "SELECT a.id FROM (t a, u b) WHERE a.tenant_id=1 AND b.tenant_id=1 AND a.id=b.id ORDER BY 1",
    "SELECT a.id FROM t a JOIN (u b) ON a.tenant_id=b.tenant_id AND a.id=b.id WHERE a.tenant_id=1 ORDER BY 1",
    "SELECT a.id FROM t a JOIN (u b JOIN t c ON b.tenant_id=c.tenant_id AND b.id=c.id) ON a.tenant_id=b.tenant_id AND a.id=b.id WHERE a.tenant_id=1 ORDER BY 1",
    "SELECT a.id FROM (t a LEFT JOIN u b USING (tenant_id, id)) WHERE a.tenant_id=1 ORDER BY 1",
    "SELECT a.id FROM t a LEFT JOIN (u b, t c) ON b.tenant_id=a.tenant_id AND c.tenant_id=a.tenant_id AND b.id=c.id WHERE a.tenant_id=1 ORDER BY 1",
    "SELECT a.id FROM t a STRAIGHT_JOIN u b ON a.tenant_id=b.tenant_id AND a.id=b.id WHERE a.tenant_id=1 ORDER BY 1",
    "SELECT a.id FROM t a CROSS JOIN u b ON a.tenant_id=b.tenant_id AND a.id=b.id WHERE a.tenant_id=1 ORDER BY 1",
    "SELECT a.id FROM t a INNER JOIN u b ON a.tenant_id=b.tenant_id AND a.id=b.id WHERE b.tenant_id=1 ORDER BY 1",
    "SELECT b.id FROM u b RIGHT JOIN t a ON a.tenant_id=b.tenant_id AND a.id=b.id WHERE a.tenant_id=1 ORDER BY 1",
    "SELECT id FROM t USE INDEX (PRIMARY) WHERE tenant_id=1 ORDER BY id",
    "SELECT id FROM t FORCE INDEX FOR ORDER BY (PRIMARY) IGNORE INDEX FOR JOIN (PRIMARY) WHERE tenant_id=1 ORDER BY id",
    "SELECT d.id FROM (SELECT id FROM t WHERE tenant_id=1) d ORDER BY 1",
    "SELECT id FROM plain_forms.t WHERE plain_forms.t.tenant_id=1 ORDER BY id",
    // Queries.
    "SELECT id FROM t WHERE tenant_id=1 UNION ALL SELECT id FROM t WHERE tenant_id=3 ORDER BY id",
    "(SELECT id FROM t WHERE tenant_id=1) UNION (SELECT id FROM u WHERE tenant_id=1) ORDER BY id LIMIT 2",
    "SELECT id FROM t WHERE tenant_id=1 EXCEPT SELECT id FROM u WHERE tenant_id=3 ORDER BY id",
    "(SELECT id FROM t WHERE tenant_id=1 ORDER BY id)",
    "WITH c AS (SELECT id FROM t WHERE tenant_id=1) SELECT id FROM c ORDER BY id",
    "SELECT SQL_NO_CACHE HIGH_PRIORITY STRAIGHT_JOIN SQL_SMALL_RESULT id FROM t WHERE tenant_id=1 ORDER BY id",
    "SELECT DISTINCTROW SQL_BUFFER_RESULT SQL_BIG_RESULT id FROM t WHERE tenant_id=1 ORDER BY id",
    "SELECT SQL_CALC_FOUND_ROWS id FROM t WHERE tenant_id=1 ORDER BY id LIMIT 1 ;; SELECT FOUND_ROWS()",
    "SELECT COUNT(DISTINCT id), GROUP_CONCAT(s ORDER BY id DESC SEPARATOR '-') FROM t WHERE tenant_id=1",
    "SELECT id, COUNT(*) FROM t WHERE tenant_id=1 GROUP BY id WITH ROLLUP",
    "SELECT id % 2 AS k, SUM(id) FROM t WHERE tenant_id=1 GROUP BY k HAVING SUM(id) > 0 ORDER BY NULL",
    "SELECT id, ROW_NUMBER() OVER (PARTITION BY tenant_id ORDER BY id) FROM t WHERE tenant_id=1 ORDER BY id",
    "SELECT id, SUM(id) OVER w FROM t WHERE tenant_id=1 WINDOW w AS (ORDER BY id ROWS UNBOUNDED PRECEDING) ORDER BY id",
    "SELECT id FROM t WHERE tenant_id=1 ORDER BY id LIMIT 1 OFFSET 1",
    "SELECT id FROM t WHERE tenant_id=1 ORDER BY id LIMIT 1, 1",
    "SELECT id FROM t WHERE tenant_id=1 ORDER BY id FOR UPDATE",
    "SELECT id FROM t WHERE tenant_id=1 ORDER BY id LOCK IN SHARE MODE",
    "SELECT id FROM t WHERE tenant_id=1 ORDER BY id LOCK IN SHARE MODE WAIT 5",
    "SELECT id FROM t WHERE tenant_id=1 ORDER BY id LOCK IN SHARE MODE NOWAIT",
    "SELECT id FROM t WHERE tenant_id=1 ORDER BY id LOCK IN SHARE MODE SKIP LOCKED",
    "SELECT id FROM t WHERE tenant_id=1 ORDER BY id FOR UPDATE WAIT 5",
    "SELECT id FROM t WHERE tenant_id=1 ORDER BY id FOR UPDATE NOWAIT",
    "SELECT id FROM t WHERE tenant_id=1 ORDER BY id FOR UPDATE SKIP LOCKED",
    "SELECT id END FROM t WHERE tenant_id=1 UNION ALL SELECT id END FROM t WHERE tenant_id=2",
    "SELECT id FROM t WHERE tenant_id=1 UNION ALL SELECT id END FROM t WHERE tenant_id=2",
    "SELECT id FROM t WHERE tenant_id=1 UNION ALL SELECT COUNT(*) END FROM t",
    "SELECT id AS END FROM t WHERE tenant_id=1 ORDER BY 1",
    "SELECT id FROM t WHERE tenant_id=1 AND id=1 INTO @q ;; SELECT @q",
    "SELECT id, s INTO @q, @r FROM t WHERE tenant_id=1 AND id=1 ;; SELECT @q, @r ;; SELECT @q + 1",
    "SET @a = 0 ;; SELECT @a:=@a+1 FROM t WHERE tenant_id=1",
    "SET @a = 0 ;; SELECT @a := @a + id AS total FROM t WHERE tenant_id=1 ORDER BY id ;; SELECT @a",
    "SELECT t.* , 1 FROM t WHERE tenant_id=1 ORDER BY id",
    "SELECT `id` 'an alias', s AS `b` FROM `t` WHERE `tenant_id`=1 ORDER BY `id`",
    "EXPLAIN EXTENDED SELECT id FROM t WHERE tenant_id=1",
    "SELECT /*+ MAX_EXECUTION_TIME(1000) */ id FROM t WHERE tenant_id=1 ORDER BY id",
    // Writes.
    "DELETE IGNORE FROM t WHERE tenant_id=1 AND id=1",
    "DELETE QUICK FROM t WHERE tenant_id=1 AND id=1",
    "DELETE LOW_PRIORITY QUICK IGNORE FROM t WHERE tenant_id=1",
    "DELETE FROM t WHERE tenant_id=1 ORDER BY id LIMIT 1",
    "DELETE a FROM t a JOIN u b ON a.tenant_id=b.tenant_id AND a.id=b.id WHERE a.tenant_id=1",
    "DELETE LOW_PRIORITY a, b FROM t a, u b WHERE a.tenant_id=1 AND b.tenant_id=1 AND a.id=b.id",
    "DELETE FROM a USING t a WHERE a.tenant_id=1",
    "DELETE t FROM t WHERE t.tenant_id=1 AND t.id=1",
    "DELETE t, u FROM t JOIN u USING (tenant_id, id) WHERE t.tenant_id=1",
    "DELETE plain_forms.t FROM plain_forms.t WHERE tenant_id=1",
    "DELETE t FROM t JOIN (SELECT t.id FROM u t WHERE t.tenant_id=1) d ON d.id=t.id WHERE t.tenant_id=1",
    "DELETE u FROM t u JOIN u b ON u.tenant_id=b.tenant_id AND u.id=b.id WHERE u.tenant_id=1",
    "UPDATE t SET c=c+1 WHERE tenant_id=1",
    "UPDATE LOW_PRIORITY IGNORE t SET c=c+1, s=UPPER(s) WHERE tenant_id=1 ORDER BY id LIMIT 1",
    "UPDATE t AS a SET a.c=DEFAULT WHERE a.tenant_id=1",
    "UPDATE t a JOIN u b ON a.tenant_id=b.tenant_id AND a.id=b.id SET a.c=b.id WHERE a.tenant_id=1",
    "UPDATE (t a JOIN u b ON a.tenant_id=b.tenant_id AND a.id=b.id) SET a.c=b.id WHERE a.tenant_id=1",
    "UPDATE t a, u b SET a.c=b.id WHERE a.tenant_id=1 AND b.tenant_id=1 AND a.id=b.id",
    "INSERT INTO t (tenant_id, id) VALUES (1, 10)",
    "INSERT INTO t (tenant_id, id) VALUE (1, 10), (1, 11)",
    "INSERT INTO t (tenant_id, id) VALUES ROW(1, 10)",
    "INSERT LOW_PRIORITY INTO t (id, tenant_id) VALUES (10, 1)",
    "INSERT HIGH_PRIORITY IGNORE t (id, tenant_id) VALUES (1, 1), (10, 1)",
    "INSERT INTO t SET tenant_id=1, id=10, s=DEFAULT",
    "INSERT INTO t (tenant_id, id) VALUES (1, 1) ON DUPLICATE KEY UPDATE c=VALUES(id)+1",
    "INSERT INTO t (tenant_id, id) VALUES (+1, 10)",
    "INSERT INTO t (tenant_id, id) VALUES (1.0, 10)",
    "INSERT INTO t (tenant_id, id) VALUES (_utf8mb4'1', 10)",
    "INSERT INTO t (tenant_id, id) SELECT 1, id + 20 FROM u WHERE tenant_id=1",
    "INSERT INTO t (tenant_id, id) SELECT tenant_id, id + 20 FROM u WHERE tenant_id=1 AND id=1",
    "INSERT INTO t VALUES (1, 10, 'ten', 0, NOW(), NULL)",
    "INSERT INTO t (tenant_id, id) VALUES (1, 10) RETURNING id",
    "DELETE FROM t WHERE tenant_id=1 RETURNING id",
    "REPLACE LOW_PRIORITY INTO t (tenant_id, id) VALUES (1, 1)",
    "REPLACE t SET tenant_id=1, id=1",
    // Sessions.
    "SELECT 1/0 FROM t WHERE tenant_id=1 ;; GET DIAGNOSTICS @n=NUMBER ;; SELECT @n",
    "UPDATE t SET c='x' WHERE tenant_id=1 ;; GET DIAGNOSTICS @n=ROW_COUNT ;; SELECT @n",
    "UNLOCK TABLES",
    "UNLOCK TABLES ;; SELECT id FROM t WHERE tenant_id=2 ORDER BY id",
    "/*!40101 SET @OLD_SQL_MODE=@@SQL_MODE, SQL_MODE='NO_AUTO_VALUE_ON_ZERO' */ ;; INSERT INTO t (tenant_id, id) VALUES (2, 10) ;; \
     /*!40101 SET SQL_MODE=@OLD_SQL_MODE */",
    "/*!40014 SET @OLD_UNIQUE_CHECKS=@@UNIQUE_CHECKS, UNIQUE_CHECKS=0 */ ;; INSERT INTO t (tenant_id, id) VALUES (2, 10) ;; \
     /*!40014 SET UNIQUE_CHECKS=@OLD_UNIQUE_CHECKS */ ;; SELECT id FROM t WHERE tenant_id=2 ORDER BY id",
    "SET STATEMENT max_statement_time=10 FOR SELECT id FROM t WHERE tenant_id=1 ORDER BY id",
    "LOAD DATA LOCAL INFILE 'f' INTO TABLE t (id, c) SET tenant_id=1",
    "LOAD DATA LOCAL INFILE 'f' IGNORE INTO TABLE t FIELDS TERMINATED BY ' ' (id, c) SET s='x', tenant_id=1",
];

/// Forms that only MariaDB reads.
const MARIADB: [&str; 8] = [
    "LOCK IN SHARE MODE ",
    " WAIT ",
    "RETURNING",
    "SET STATEMENT",
    "DELETE LOW_PRIORITY QUICK IGNORE",
    "EXPLAIN EXTENDED",
    "LIMIT ROWS EXAMINED",
    "VALUE (",
];

fn create() {
    for end in ["1", "2", "all"] {
        let name = format!("{NAME}_{end}");
        server()
            .run(format!(
                "DROP DATABASE IF EXISTS {name}; CREATE DATABASE {name} CHARACTER SET utf8mb4; USE {name}; \
                 CREATE TABLE t (tenant_id INT NOT NULL, id INT NOT NULL, s VARCHAR(20) DEFAULT 'new', c INT DEFAULT 7, d DATETIME, \
                 j JSON, PRIMARY KEY (tenant_id, id), FULLTEXT KEY (s)); \
                 CREATE TABLE u (tenant_id INT NOT NULL, id INT NOT NULL, PRIMARY KEY (tenant_id, id))"
            ))
            .unwrap();
    }
}

fn load() {
    for end in ["1", "2", "all"] {
        let name = format!("{NAME}_{end}");
        let tenants = SHARD_OF.iter().filter(|(_, shard)| end == "all" || *shard == end);
        let rows = tenants.flat_map(|(tenant, _)| {
            [(1, "one"), (2, "two")]
                .map(|(id, s)| format!("({tenant}, {id}, '{s}', {tenant}, '2026-01-01', '{{\"a\": {id}}}')"))
        });
        let rows: Vec<String> = rows.collect();
        server()
            .run(format!(
                "USE {name}; DELETE FROM t; DELETE FROM u; \
                 INSERT INTO t VALUES {}; INSERT INTO u SELECT tenant_id, id FROM t WHERE id = 1",
                rows.join(", ")
            ))
            .unwrap();
    }
}

/// The rows of all tenants, those of the shards or those of the one server.
fn content(ends: &[&str]) -> Vec<String> {
    let mut rows = Vec::new();
    for end in ends {
        for table in ["t", "u"] {
            let columns = match table {
                "t" => "tenant_id, id, s, c, d IS NULL",
                _ => "tenant_id, id",
            };
            let found = server()
                .run(format!("SELECT '{table}', {columns} FROM {NAME}_{end}.{table}"))
                .unwrap();
            rows.extend(found.iter().map(|row| format!("{row:?}")));
        }
    }
    rows.sort_unstable();
    rows
}

fn by_column() -> TestProxy {
    let mut map = MapStep {
        key: "tenant_id".into(),
        finders: vec![Finder::Column {
            column: "tenant_id".into(),
            in_shards: InShards::Present,
        }],
        ..tenants_by_comment(NAME)
    };
    map.shards[0].keys = vec![KeyValue::Integer(1), KeyValue::Integer(3)];
    start(&Setup {
        configuration: Box::new(move |configuration| {
            configuration.graph.rules = map_alone(map.clone());
        }),
        ..Setup::default()
    })
}

fn connect(address: std::net::SocketAddr, schema: &str) -> Conn {
    let options = shardwright_testkit::ClientOptions {
        user: USER,
        password: PASSWORD,
        schema: Some(schema),
    };
    let file = LocalInfileHandler::new(|_, stream| stream.write_all(b"30\t1\n31\t2\n"));
    Conn::new(options.tcp(address).local_infile_handler(Some(file))).unwrap()
}

fn run(client: &mut Conn, form: &str) -> Vec<Results> {
    form.split(" ;; ").map(|text| results(client, text)).collect()
}

#[test]
fn plain_forms_are_placed_and_answer_as_one_server() {
    let is_mysql = Flavour::default().is_mysql();
    create();
    let proxy = by_column();
    let mut problems = Vec::new();
    let mut placed = 0;
    let known = |form: &&&str| !is_mysql || !MARIADB.iter().any(|word| form.contains(word));
    for form in FORMS.iter().filter(known) {
        load();
        let mut direct = connect(server().address(), &format!("{NAME}_all"));
        let direct_form = form.replace("plain_forms.t", "plain_forms_all.t");
        let expected = (run(&mut direct, &direct_form), content(&["all"]));
        let mut client = connect(proxy.running().listen_address(), NAME);
        let found = (run(&mut client, form), content(&["1", "2"]));
        let is_refused = found
            .0
            .iter()
            .any(|(_, error)| matches!(error, Some(1148 | 9006 | 1105 | 1235)));
        let reason = REFUSED.iter().find(|(refused, _)| refused == form);
        match reason {
            None if found == expected => placed += 1,
            None if is_refused => {
                let mut client = connect(proxy.running().listen_address(), NAME);
                let texts = form.split(" ;; ");
                let errors = texts
                    .filter_map(|text| client.query_drop(text).err())
                    .map(|error| error.to_string());
                problems.push(format!(
                    "{form}: refused: {}",
                    errors.collect::<Vec<_>>().join("; ")
                ));
            }
            None => problems.push(format!("{form}: {found:?}\n  for {expected:?}")),
            Some(_) if is_refused => {}
            Some((_, reason)) => problems.push(format!("{form}: not refused any more ({reason}): {found:?}")),
        }
    }
    assert!(problems.is_empty(), "{placed} placed\n{}", problems.join("\n"));
    diagnostics_are_those_of_the_statement_before(&proxy);
}

/// GET DIAGNOSTICS goes where the statement ran that it is about; prepared, it is right or refused.
fn diagnostics_are_those_of_the_statement_before(proxy: &TestProxy) {
    load();
    let mut client = connect(proxy.running().listen_address(), NAME);
    for (tenant, id, rows) in [(2, "id=1", "1"), (1, "id<9", "2")] {
        let update = format!("UPDATE t SET c=c+1 WHERE tenant_id={tenant} AND {id}");
        client.query_drop(update).unwrap();
        client.query_drop("GET DIAGNOSTICS @n=ROW_COUNT").unwrap();
        let look = |name: &str| format!("SELECT {name} FROM t WHERE tenant_id={tenant} AND id=1");
        assert_eq!(value(&mut client, &look("@n")), rows, "{tenant}");
        let update = format!("UPDATE t SET c=c+1 WHERE tenant_id={tenant} AND {id}");
        client.query_drop(update).unwrap();
        match client.exec_drop("GET DIAGNOSTICS @m=ROW_COUNT", ()) {
            Ok(()) => assert_eq!(value(&mut client, &look("@m")), rows, "{tenant}"),
            Err(mysql::Error::MySqlError(error)) => assert!(matches!(error.code, 1105 | 1295), "{error}"),
            Err(error) => panic!("{error}"),
        }
        client.reset().unwrap();
    }
}

/// It needs no key: the locks are where the session has taken them, or nowhere.
#[test]
fn unlock_tables_goes_to_the_locks() {
    let name = schema("plain_unlock");
    server()
        .run(format!(
            "USE {name}; CREATE TABLE t (a INT); CREATE PROCEDURE nothing() DO 0"
        ))
        .unwrap();
    let mut map = MapStep {
        logical_schema: None,
        unqualified: Unqualified::SessionSchema,
        ..tenants_by_comment(&name)
    };
    for shard in &mut map.shards {
        shard.schema = None;
    }
    let proxy = start(&Setup {
        configuration: Box::new(move |configuration| {
            configuration.graph.rules = map_alone(map.clone());
        }),
        ..Setup::default()
    });
    let mut client = proxy.connect(Some(&name));
    client.query_drop("UNLOCK TABLES").unwrap();
    client.query_drop("/* tenant=2 */ LOCK TABLES t WRITE").unwrap();
    assert_eq!(
        error(&mut client, "/* tenant=1 */ SELECT COUNT(*) FROM t").0,
        9006
    );
    client.query_drop("UNLOCK TABLES").unwrap();
    // Nobody waits for it any more.
    server().run(format!("INSERT INTO {name}.t VALUES (2)")).unwrap();
    assert_eq!(value(&mut client, "/* tenant=1 */ SELECT COUNT(*) FROM t"), "1");
    // Code that the text does not show may have locked something: nobody knows where.
    client.query_drop("/* tenant=2 */ CALL nothing()").unwrap();
    assert_eq!(error(&mut client, "UNLOCK TABLES").0, 1148);
}
