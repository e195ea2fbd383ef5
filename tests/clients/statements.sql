-- Statements that every client sends, in the text protocol and, where it can, prepared. A block begins with its name and has
-- a connection of its own. A statement is one line and ends with a semicolon. `$schema` is the client's own, which no other client of the
-- server has.

-- integers
SELECT 0, -1, 127, 65535, 2147483647, -9223372036854775808, 9223372036854775807, 18446744073709551615, TRUE, 0x1F, b'101';
DROP TABLE IF EXISTS integers;
CREATE TABLE integers (a TINYINT, b SMALLINT UNSIGNED, c MEDIUMINT, d INT ZEROFILL, e BIGINT, f BIGINT UNSIGNED, g BOOL, h YEAR);
INSERT INTO integers VALUES (-128, 65535, -8388608, 42, -9223372036854775808, 18446744073709551615, 1, 2026), (NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
SELECT * FROM integers ORDER BY a;

-- decimals and floats
SELECT 1.50, -0.000001, 12345678901234567890.123456789, 1e10, -2.5e-3, PI(), 1/3;
DROP TABLE IF EXISTS numbers;
CREATE TABLE numbers (a DECIMAL(30,10), b DECIMAL(5,0), c FLOAT, d DOUBLE);
INSERT INTO numbers VALUES (12345678901234567890.0123456789, -99999, 1.25, -1.7976931348623157e308), (NULL, NULL, NULL, NULL);
SELECT * FROM numbers ORDER BY a;

-- dates and times
SET time_zone = '+00:00';
DROP TABLE IF EXISTS moments;
CREATE TABLE moments (a DATE, b TIME, c TIME(6), d DATETIME, e DATETIME(6), f TIMESTAMP NULL, g TIMESTAMP(3) NULL);
INSERT INTO moments VALUES ('2026-11-23', '-12:34:56', '12:34:56.789012', '1000-01-01 00:00:00', '9999-12-31 23:59:59.999999', '2001-02-03 04:05:06', '2001-02-03 04:05:06.789'), (NULL, NULL, NULL, NULL, NULL, NULL, NULL);
SELECT * FROM moments ORDER BY a;
SELECT DATE '2024-02-29', TIMESTAMP '2024-02-29 23:59:59.5', MAKETIME(23, 59, 58), CAST('2020-01-02' AS DATETIME(3));
SET timestamp = 1000000000;
SELECT UNIX_TIMESTAMP() = 1000000000;

-- strings and character sets
SELECT 'a', '', 'it''s', "double \" quoted", 'tab\tnew\nline\\', 'é', '日本語', '👍', _latin1 X'E9', N'n';
DROP TABLE IF EXISTS strings;
CREATE TABLE strings (id INT PRIMARY KEY, a CHAR(10), b VARCHAR(200), c TEXT, d LONGTEXT, e VARCHAR(20) CHARACTER SET latin1, f ENUM('x','y','é'), g SET('a','b','c'));
INSERT INTO strings VALUES (1, 'pad  ', 'Zoë 👍', 'text', REPEAT('long ', 20), 'né', 'é', 'a,c'), (2, NULL, NULL, NULL, NULL, NULL, NULL, NULL), (3, '', '', '', '', '', 'x', '');
SELECT * FROM strings ORDER BY id;
SELECT id FROM strings WHERE b = 'ZOE 👍' OR f = 'É';
SELECT @@character_set_client, @@character_set_connection, @@character_set_results, @@collation_connection;

-- bytes, JSON and bits
DROP TABLE IF EXISTS bytes;
CREATE TABLE bytes (id INT PRIMARY KEY, a BINARY(4), b VARBINARY(20), c BLOB, d BIT(12), e JSON);
INSERT INTO bytes VALUES (1, X'0001', X'00FF27225C0A', X'FFFE00', b'101010101010', '{"a": [1, 2.5, null, "é"]}'), (2, NULL, NULL, NULL, NULL, NULL);
SELECT HEX(a), HEX(b), HEX(c), d + 0, e FROM bytes ORDER BY id;
SELECT b, c, d, e FROM bytes ORDER BY id;
SELECT JSON_VALUE(e, '$.a[1]'), JSON_EXTRACT('{"k": true}', '$.k'), ST_AsText(POINT(1, 2)) FROM bytes WHERE id = 1;
CREATE TABLE IF NOT EXISTS of_mariadb (a INET6, b UUID);
INSERT INTO of_mariadb VALUES ('2001:db8::1', '123e4567-e89b-12d3-a456-426655440000'), (NULL, NULL);
SELECT * FROM of_mariadb ORDER BY a;

-- results without rows or without names
SELECT 1 AS `a``b`, 2 AS `a``b`, 3 AS ` `, NULL;
SELECT * FROM (SELECT 1 AS x) t WHERE x = 2;
SELECT 1 FROM DUAL WHERE FALSE;
DO 1;
VALUES (1, 'a'), (2, 'b');
SELECT (SELECT NULL), COUNT(*), SUM(1) FROM (SELECT 1 AS x) t WHERE x = 2;

-- wide and long results
WITH RECURSIVE n AS (SELECT 1 AS i UNION ALL SELECT i + 1 FROM n WHERE i < 900) SELECT COUNT(*), SUM(i), MD5(GROUP_CONCAT(i)) FROM n;
SELECT LENGTH(REPEAT('x', 100000)), MD5(REPEAT('xyz', 100000));
SELECT REPEAT('0123456789', 20);

-- comments and empty statements
/* only a comment */;
SELECT 1 -- behind;
SELECT /* inside */ 2 # behind;
SELECT /*! 3 */ + /*M! 4 */ 0;

-- changes and counts
DROP TABLE IF EXISTS counts;
CREATE TABLE counts (id INT PRIMARY KEY AUTO_INCREMENT, a INT, b VARCHAR(3) NOT NULL DEFAULT 'x', UNIQUE (a));
INSERT INTO counts (a) VALUES (10), (20), (30);
SELECT LAST_INSERT_ID(), ROW_COUNT();
UPDATE counts SET b = 'y' WHERE a > 10;
SELECT ROW_COUNT();
UPDATE counts SET b = 'y' WHERE a > 10;
INSERT INTO counts (a, b) VALUES (10, 'z') ON DUPLICATE KEY UPDATE b = VALUES(b);
REPLACE INTO counts (id, a) VALUES (1, 20);
INSERT IGNORE INTO counts (id, a) VALUES (1, 1);
INSERT INTO counts (a) SELECT a + 100 FROM counts ORDER BY a;
DELETE FROM counts WHERE a = 30;
SELECT a, b FROM counts ORDER BY a;
INSERT INTO counts (a) VALUES (7) RETURNING a, b;
DELETE FROM counts WHERE a = 7 RETURNING a;
SELECT SQL_CALC_FOUND_ROWS a FROM counts ORDER BY a LIMIT 1;
SELECT FOUND_ROWS();
TRUNCATE counts;
SELECT COUNT(*) FROM counts;

-- errors by number
SELEC 1;
SELECT nosuch FROM DUAL;
SELECT * FROM nosuch;
SELECT * FROM nosuch.t;
SELECT NOSUCH(1);
DROP TABLE IF EXISTS errors;
CREATE TABLE errors (id INT PRIMARY KEY, a VARCHAR(3) NOT NULL, b TINYINT CHECK (b < 100));
INSERT INTO errors VALUES (1, 'a', 1);
INSERT INTO errors VALUES (1, 'a', 1);
INSERT INTO errors VALUES (2, NULL, 1);
INSERT INTO errors VALUES (3, 'long', 1);
INSERT INTO errors VALUES (4, 'a', 1000);
INSERT INTO errors VALUES (5, 'a', 101);
INSERT INTO errors VALUES (6, 'a');
SELECT * FROM errors, errors;
SELECT 1 UNION SELECT 1, 2;
SELECT (SELECT 1 UNION SELECT 2);
DROP TABLE nosuch;
CREATE TABLE errors (id INT);
SIGNAL SQLSTATE '45000' SET MYSQL_ERRNO = 30001, MESSAGE_TEXT = 'own';
CALL nosuch();
SELECT COUNT(*) FROM errors;

-- warnings
SELECT CAST('12abc' AS SIGNED), 1/0;
SHOW WARNINGS;
SHOW COUNT(*) WARNINGS;
SELECT @@warning_count, @@error_count;
DROP TABLE IF EXISTS nosuch;
SHOW WARNINGS;
SELEC 1;
SHOW ERRORS;
SET SESSION sql_mode = '';
DROP TABLE IF EXISTS warned;
CREATE TABLE warned (a TINYINT);
INSERT INTO warned VALUES (1000), ('x');
SHOW WARNINGS LIMIT 1, 1;
SELECT a FROM warned ORDER BY a;

-- transactions
DROP TABLE IF EXISTS tx;
CREATE TABLE tx (id INT PRIMARY KEY);
START TRANSACTION;
INSERT INTO tx VALUES (1);
SELECT @@in_transaction, @@autocommit;
ROLLBACK;
BEGIN;
INSERT INTO tx VALUES (2);
SAVEPOINT a;
INSERT INTO tx VALUES (3);
ROLLBACK TO SAVEPOINT a;
ROLLBACK TO SAVEPOINT nosuch;
RELEASE SAVEPOINT a;
COMMIT;
SELECT id FROM tx ORDER BY id;
START TRANSACTION READ ONLY;
INSERT INTO tx VALUES (4);
COMMIT AND CHAIN;
SELECT @@in_transaction;
COMMIT;
BEGIN;
INSERT INTO tx VALUES (5);
DROP TABLE IF EXISTS tx_ddl;
CREATE TABLE tx_ddl (id INT);
ROLLBACK;
SELECT id FROM tx ORDER BY id;
XA START '$schema';
INSERT INTO tx VALUES (6);
XA END '$schema';
XA COMMIT '$schema' ONE PHASE;
SELECT COUNT(*) FROM tx;

-- autocommit off
DROP TABLE IF EXISTS ac;
CREATE TABLE ac (id INT PRIMARY KEY);
SET autocommit = 0;
SELECT @@autocommit, @@in_transaction;
INSERT INTO ac VALUES (1);
SELECT @@in_transaction;
ROLLBACK;
INSERT INTO ac VALUES (2);
COMMIT;
SELECT @@in_transaction;
INSERT INTO ac VALUES (3);
SET autocommit = 1;
ROLLBACK;
SELECT id FROM ac ORDER BY id;

-- isolation levels
SELECT @@tx_isolation;
SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED;
SELECT @@tx_isolation;
SET TRANSACTION ISOLATION LEVEL SERIALIZABLE;
START TRANSACTION WITH CONSISTENT SNAPSHOT;
SELECT @@tx_isolation;
COMMIT;
SET tx_isolation = 'REPEATABLE-READ', tx_read_only = 1;
SELECT @@tx_isolation, @@tx_read_only;
CREATE TABLE never (a INT);
SET SESSION TRANSACTION READ WRITE;
SET tx_isolation = 'nonesuch';

-- session variables
SET time_zone = '+05:30';
SELECT @@time_zone, FROM_UNIXTIME(0);
SET time_zone = 'nonesuch/zone';
SET group_concat_max_len = 5;
SELECT GROUP_CONCAT(x) FROM (SELECT 111 AS x UNION SELECT 222) t;
SET SESSION foreign_key_checks = 0, unique_checks = 0, sql_safe_updates = 1;
SELECT @@foreign_key_checks, @@unique_checks, @@sql_safe_updates;
SET sql_mode = 'STRICT_ALL_TABLES,NO_ZERO_DATE';
SELECT @@sql_mode;
SET @@session.max_statement_time = 5, wait_timeout = 1000, net_write_timeout = 700;
SELECT @@max_statement_time, @@wait_timeout, @@net_write_timeout;
SET lc_time_names = 'de_DE';
SELECT DAYNAME('2026-11-23');
SET nosuch = 1;
SET GLOBAL nosuch = 1;
SET sql_select_limit = 1;
SELECT 1 UNION SELECT 2;
SET sql_select_limit = DEFAULT;
SET div_precision_increment = DEFAULT, @a = 1;
SHOW SESSION VARIABLES LIKE 'group_concat_max_len';

-- user variables
SET @a = 1, @b := 'x', @c = NULL;
SELECT @a, @b, @c, @never;
SELECT @a := @a + 41;
SELECT @a;
SET @d = (SELECT MAX(x) FROM (SELECT 3 AS x UNION SELECT 9) t);
SELECT @d + @a;
SELECT 7, 8 INTO @e, @f;
SELECT @e * @f;

-- character sets that are set
SET NAMES latin1;
SELECT @@character_set_client, @@character_set_results, @@collation_connection;
SET NAMES utf8mb4 COLLATE utf8mb4_unicode_ci;
SELECT @@character_set_client, @@character_set_results, @@collation_connection;
SET CHARACTER SET utf8mb3;
SELECT @@character_set_client, @@character_set_results;
SET NAMES nonesuch;
SET character_set_results = NULL;
SELECT @@character_set_results;

-- schemas
SELECT DATABASE() = SCHEMA();
USE information_schema;
SELECT DATABASE();
SELECT COUNT(*) FROM ENGINES WHERE ENGINE = 'InnoDB';
USE nosuch;
SELECT DATABASE();
SHOW DATABASES LIKE 'information%';

-- temporary tables
CREATE TEMPORARY TABLE temporary_one (id INT PRIMARY KEY, a TEXT);
INSERT INTO temporary_one VALUES (1, 'one'), (2, 'two');
SELECT * FROM temporary_one ORDER BY id;
CREATE TEMPORARY TABLE temporary_two AS SELECT id * 10 AS id FROM temporary_one;
SELECT SUM(id) FROM temporary_two;
DROP TEMPORARY TABLE temporary_one, temporary_two;
SELECT * FROM temporary_one;

-- locks
DROP TABLE IF EXISTS locked;
CREATE TABLE locked (id INT);
LOCK TABLES locked WRITE;
INSERT INTO locked VALUES (1);
SELECT * FROM integers;
UNLOCK TABLES;
SELECT GET_LOCK(CONCAT(DATABASE(), '.lock'), 1), IS_USED_LOCK(CONCAT(DATABASE(), '.lock')) = CONNECTION_ID();
SELECT RELEASE_LOCK(CONCAT(DATABASE(), '.lock')), RELEASE_ALL_LOCKS();
SELECT id FROM locked FOR UPDATE;
SELECT id FROM locked LOCK IN SHARE MODE;

-- statements prepared in the text
PREPARE p FROM 'SELECT ? + ?, UPPER(?)';
SET @x = 1, @y = 2.5, @z = 'é';
EXECUTE p USING @x, @y, @z;
EXECUTE p USING @x;
DEALLOCATE PREPARE p;
EXECUTE p USING @x, @y, @z;
EXECUTE IMMEDIATE 'SELECT ?' USING 5;
PREPARE p FROM 'SELEC';

-- stored procedures and functions
CREATE PROCEDURE IF NOT EXISTS several(IN n INT, OUT doubled INT) BEGIN SELECT n; SELECT n + 1 AS next, 'x' AS word; SET doubled = n * 2; END;
CALL several(20, @doubled);
SELECT @doubled;
CREATE FUNCTION IF NOT EXISTS plus_one(n INT) RETURNS INT DETERMINISTIC RETURN n + 1;
SELECT plus_one(41);
CREATE PROCEDURE IF NOT EXISTS fails() BEGIN SELECT 1; SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'own'; END;
CALL fails();
CREATE PROCEDURE IF NOT EXISTS sets() SET @from_procedure = 5;
CALL sets();
SELECT @from_procedure;
BEGIN NOT ATOMIC DECLARE n INT DEFAULT 3; SELECT n; END;

-- views and triggers
DROP TABLE IF EXISTS base;
CREATE TABLE base (id INT PRIMARY KEY AUTO_INCREMENT, a INT);
CREATE OR REPLACE VIEW doubled AS SELECT id, a * 2 AS a FROM base;
CREATE TRIGGER IF NOT EXISTS raise BEFORE INSERT ON base FOR EACH ROW SET NEW.a = NEW.a + 1, @raised = NEW.a;
INSERT INTO base (a) VALUES (1), (2);
SELECT * FROM doubled ORDER BY id;
SELECT @raised;

-- sequences and generated columns
CREATE SEQUENCE IF NOT EXISTS seq START WITH 5;
SELECT NEXTVAL(seq), NEXT VALUE FOR seq, LASTVAL(seq);
DROP TABLE IF EXISTS generated;
CREATE TABLE generated (a INT, b INT AS (a * 2) STORED, c INT AS (a + b) VIRTUAL);
INSERT INTO generated (a) VALUES (3);
SELECT * FROM generated;

-- the schema is read
DROP TABLE IF EXISTS described;
CREATE TABLE described (id BIGINT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY, a VARCHAR(20) DEFAULT 'x' COMMENT 'word', KEY by_a (a));
DESCRIBE described;
SHOW CREATE TABLE described;
SHOW INDEX FROM described WHERE Key_name = 'by_a';
SHOW FULL COLUMNS FROM described LIKE 'a';
SHOW TABLES LIKE 'described';
SELECT column_name, column_type FROM information_schema.columns WHERE table_schema = DATABASE() AND table_name = 'described' ORDER BY ordinal_position;
EXPLAIN SELECT id FROM described WHERE id = 1;
ANALYZE TABLE described;
SHOW COLLATION LIKE 'utf8mb4_bin';
SHOW CHARACTER SET LIKE 'latin1';
SHOW ENGINES WHERE 1 = 0;
SHOW TABLE STATUS LIKE 'nosuch';

-- variables that drivers read
SELECT @@max_allowed_packet, @@version_comment LIKE '%', @@license, @@lower_case_table_names, @@auto_increment_increment, @@init_connect;
SELECT @@system_time_zone, @@time_zone, @@sql_mode, @@wait_timeout, @@interactive_timeout, @@net_buffer_length, @@performance_schema;
SELECT VERSION() = @@version, @@version_comment = '', @@port > 0;
SHOW VARIABLES WHERE Variable_name IN ('character_set_client', 'max_allowed_packet', 'net_buffer_length', 'lower_case_table_names', 'sql_mode', 'init_connect', 'time_zone');
SHOW VARIABLES LIKE 'character\_set\_%l%';
SELECT @@transaction_isolation;
SELECT @@query_cache_size >= 0, @@query_cache_type;
SELECT CURRENT_USER(), SUBSTRING_INDEX(USER(), '@', 1), SESSION_USER() = USER();
SHOW STATUS LIKE 'nosuch';
KILL QUERY 4294967295;
