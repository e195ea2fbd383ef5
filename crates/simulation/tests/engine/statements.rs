//! Statements that the random rules of the suite have something to say about.

use crate::random::Dice;

/// Left out by name, because what follows them depends on the server's connection and not on rules: `SET autocommit=0`, `SET
/// CHARACTER SET` inside a transaction, LAST_INSERT_ID() behind a write, SHOW WARNINGS behind one.
pub(crate) const SHAPES: [&str; 38] = [
    "SELECT a FROM t1 WHERE id=5",
    "SELECT a FROM t1 WHERE id = 17 AND b='x'",
    "select name from orders",
    "SELECT 1",
    "SELECT * FROM t2 FOR UPDATE",
    "INSERT INTO t1 VALUES (1,'a')",
    "UPDATE orders SET a=1 WHERE tenant=17",
    "DELETE FROM t2 WHERE id=3",
    "SELECT /* tenant=17 */ a FROM t1",
    "/* tenant=4 */ SELECT a FROM orders",
    "SELECT a FROM t1 WHERE id IN (1,2,3)",
    "(SELECT a FROM t1)",
    "SELECT 'a;b' FROM t2",
    "SHOW TABLES",
    "CALL p(1)",
    "USE shop",
    "USE `world`",
    "use mysql",
    "SET NAMES utf8mb4",
    "SET autocommit=1",
    "SET sql_mode='STRICT_TRANS_TABLES'",
    "SET SESSION wait_timeout=100",
    "SET time_zone='+01:00'",
    "COMMIT",
    "ROLLBACK",
    "BEGIN",
    "START TRANSACTION",
    "SELECT CONNECTION_ID()",
    "SHOW WARNINGS",
    "SELECT @@version_comment",
    "SET autocommit = ON",
    "SET autocommit=1, sql_mode=''",
    "SET @a=1",
    "SET foo=1",
    "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED",
    "select USER()",
    "KILL QUERY 999999",
    "LOAD DATA LOCAL INFILE 'x' INTO TABLE t1",
];

const ANNOTATIONS: [&str; 6] = [
    "/* hostgroup=3 */",
    "/*! hostgroup=4 */",
    "/* app */",
    "/* a; /* hostgroup=5 */",
    "/* cache=1;hostgroup=6abc */",
    "/* hostgroup=x */",
];

/// A statement, sometimes with an annotation.
pub(crate) fn statement(dice: &mut Dice) -> String {
    let shape = dice.of(&SHAPES);
    match dice.below(12) {
        0 => format!("{} {shape}", dice.of(&ANNOTATIONS)),
        1 => format!("{shape} {}", dice.of(&ANNOTATIONS)),
        2 => shape.to_ascii_lowercase(),
        _ => shape.to_owned(),
    }
}
