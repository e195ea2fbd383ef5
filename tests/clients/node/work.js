// Rows that are written and read, and transactions.
'use strict';

const { Readable } = require('node:stream');

const mysql = require('mysql2/promise');

const { number, open, prepared, run, running, settings, then, using } = require('./connection');
const { attempt, error, feature, show, waitUntil } = require('./report');

const VALUES = [
  -5, 18446744073709551615n, 1.5, '12345.67890', "né 👍 '\"\\%", Buffer.from([0, 255, 39, 92, 10]), '2026-11-23',
  new Date(Date.UTC(2026, 10, 23, 1, 2, 3, 456)), '-30:00:00', true, '{"a": [1]}',
];

async function bound(connection, ask) {
  await run(connection, 'DROP TABLE IF EXISTS calls');
  await run(connection, 'CREATE TABLE calls (a INT, b BIGINT UNSIGNED, c DOUBLE, d DECIMAL(20,5), e VARCHAR(20), '
    + 'f BLOB, g DATE, h DATETIME(6), i TIME, j BOOL, k JSON)');
  const insert = `INSERT INTO calls VALUES (${VALUES.map(() => '?').join(', ')})`;
  await ask(connection, insert, VALUES);
  await ask(connection, insert, VALUES.map(() => null));
  return ask(connection, 'SELECT * FROM calls WHERE a = ? OR a IS NULL ORDER BY a DESC', [-5]);
}

async function writing() {
  const connection = await open();
  await feature('parameters', () => bound(connection, prepared));
  await feature('parameters in the text', () => bound(connection, run));
  // The driver sends every number as a DOUBLE.
  await feature('numbers as doubles', () => prepared(connection, 'SELECT ? + 1, ?, ?, 7 IN (?), CONCAT(?)', [1, 2.5, 2 ** 53, 7, 5]));
  await feature('parameters by name', () =>
    using({ namedPlaceholders: true }, (named) => prepared(named, 'SELECT :a, :b, :a', { a: 'x', b: null })));
  await feature('insert many rows', async () => {
    await run(connection, 'DROP TABLE IF EXISTS calls');
    await run(connection, 'CREATE TABLE calls (id INT PRIMARY KEY AUTO_INCREMENT, a VARCHAR(20))');
    const rows = Array.from({ length: 500 }, (_, n) => [`row ${n}`]);
    const [done] = await connection.query('INSERT INTO calls (a) VALUES ?', [rows]);
    return `${done.affectedRows} rows, first id ${done.insertId}, ${done.info}, ${await run(connection, 'SELECT COUNT(*), MAX(a) FROM calls')}`;
  });
  await feature('last insert id', async () => {
    const [first] = await connection.query("INSERT INTO calls (a) VALUES ('x'), ('y')");
    const [second] = await connection.execute("UPDATE calls SET id = LAST_INSERT_ID(id + ?) WHERE a = 'y'", [100000]);
    return `${first.insertId}, ${second.insertId}`;
  });
  const changed = async (connection) => {
    const [first] = await connection.query("UPDATE calls SET a = 'same' WHERE id <= 3");
    const [second] = await connection.query("UPDATE calls SET a = 'same' WHERE id <= 5");
    return [first.affectedRows, first.changedRows, second.affectedRows, second.changedRows];
  };
  await feature('affected rows', () => using({ flags: ['-FOUND_ROWS'] }, changed));
  await feature('found rows', () => using({}, changed));
  await feature('information about a statement', async () => {
    const [done] = await connection.query("UPDATE calls SET a = 'again' WHERE id <= 7");
    return `${done.info}, status ${done.serverStatus}`;
  });
  await feature('warnings by call', async () => {
    const [done] = await connection.query('DROP TABLE IF EXISTS nosuch');
    return done.warningStatus;
  });
  await feature('LOAD DATA LOCAL', async () => {
    await run(connection, 'DROP TABLE IF EXISTS calls');
    await run(connection, 'CREATE TABLE calls (id INT, a VARCHAR(20))');
    const load = { sql: "LOAD DATA LOCAL INFILE 'x' INTO TABLE calls CHARACTER SET utf8mb4" };
    load.infileStreamFactory = () => Readable.from([Buffer.from('1\tone\n2\tzwei é\n3\t\\N\n')]);
    return `${await run(connection, load)}, ${await run(connection, 'SELECT * FROM calls ORDER BY id')}`;
  });
  await feature('LOAD DATA LOCAL that the client refuses', () =>
    then(() => run(connection, "LOAD DATA LOCAL INFILE 'x' INTO TABLE calls"), () => run(connection, 'SELECT 1')));
  connection.destroy();
}

async function transactions() {
  const [first, second] = [await open(), await open()];
  await feature('transaction by call', async () => {
    await run(first, 'DROP TABLE IF EXISTS calls');
    await run(first, 'CREATE TABLE calls (id INT PRIMARY KEY, a INT)');
    await first.beginTransaction();
    await run(first, 'INSERT INTO calls VALUES (1, 1)');
    await first.rollback();
    await first.beginTransaction();
    await prepared(first, 'INSERT INTO calls VALUES (?, 2), (3, ?)', [2, 3]);
    const outside = await number(second, 'SELECT COUNT(*) FROM calls');
    await first.commit();
    return `${outside}, ${await run(second, 'SELECT * FROM calls ORDER BY id')}`;
  });
  await feature('two connections', async () => {
    await run(second, 'SET SESSION innodb_lock_wait_timeout = 1');
    await first.beginTransaction();
    await run(first, 'UPDATE calls SET a = 5 WHERE id = 2');
    const outcome = await attempt(() => run(second, 'UPDATE calls SET a = 6 WHERE id = 2'));
    await first.rollback();
    return outcome;
  });
  await feature('deadlock', async () => {
    for (const [connection, id] of [[first, 2], [second, 3]]) {
      await run(connection, 'SET SESSION innodb_lock_wait_timeout = 50');
      await connection.beginTransaction();
      await run(connection, 'UPDATE calls SET a = 7 WHERE id = ?', [id]);
    }
    const waiting = attempt(() => run(first, 'UPDATE calls SET a = 9 /* dead lock */ WHERE id = 3'));
    await using({}, (looking) => waitUntil(async () => (await number(looking, running('dead lock'))) === 1));
    const outcomes = [await attempt(() => run(second, 'UPDATE calls SET a = 10 WHERE id = 2')), await waiting];
    await first.rollback();
    await second.rollback();
    return outcomes.sort().join(', ');
  });
  for (const [name, options] of [['pool', {}], ['pool that resets', { resetOnRelease: true }]]) {
    await feature(name, async () => {
      const pool = mysql.createPool(settings({ connectionLimit: 1, ...options }));
      const taken = await pool.getConnection();
      await run(taken, 'SET @left = 1');
      taken.release();
      const [rows] = await pool.query('SELECT @left');
      await pool.end();
      return rows.map(show).join(' ');
    });
  }
  await feature('statement executed many times', async () => {
    const statement = await first.prepare('SELECT ? + 1, ?');
    let total = 0;
    for (let n = 0; n < 200; n += 1) {
      if (n % 100 === 0) await first.beginTransaction();
      const [rows] = await statement.execute([n, 'é']);
      total += rows[0][0];
      if (n % 100 === 99) await first.commit();
    }
    await statement.close();
    return total;
  });
  first.destroy();
  second.destroy();
}

const MANY_ROWS = "SELECT seq, REPEAT('x', 50) FROM seq_1_to_20000";

async function reading() {
  const connection = await open({ multipleStatements: true });
  await feature('unbuffered rows', async () => {
    let total = 0;
    for await (const row of connection.connection.query(MANY_ROWS).stream()) total += row[0];
    return total;
  });
  await feature('procedure with several results', async () => {
    await run(connection, "CREATE PROCEDURE IF NOT EXISTS answers(IN n INT) BEGIN SELECT n; SELECT n + 1, 'x'; END");
    return `${await run(connection, 'CALL answers(20)')}, ${await prepared(connection, 'CALL answers(?)', [21])}`;
  });
  await feature('several statements', () => run(connection, "SELECT 1; DO 2; SELECT 'x', 3"));
  await feature('several statements with an error', () =>
    then(() => run(connection, 'SELECT 1; SELECT nosuch; SELECT 3'), () => run(connection, 'SELECT 4')));
  await feature('error with state', async () => {
    const states = [];
    for (const sql of ['SELEC', 'SELECT * FROM nosuch', "SIGNAL SQLSTATE '45000' SET MYSQL_ERRNO = 30001, MESSAGE_TEXT = 'né'"]) {
      await run(connection, sql).catch((raised) => states.push(`${error(raised)} ${raised.code} ${raised.sqlState} ${show(raised.sqlMessage)}`));
    }
    return states.join(', ');
  });
  await feature('metadata', async () => {
    const sql = "SELECT CAST(1 AS UNSIGNED) AS a, 'x' AS é, 1.5 AS c, NOW(3) AS d, NULL AS e, X'00' AS f, j FROM described";
    await run(connection, 'DROP TABLE IF EXISTS described');
    await run(connection, 'CREATE TABLE described (j JSON NOT NULL)');
    const shown = (fields) => fields.map((f) => [f.name, f.table, f.columnType, f.columnLength, f.characterSet, f.flags, f.decimals]);
    const [, text] = await connection.query(sql);
    const [, binary] = await connection.execute(sql);
    return `${shown(text).map(show).join(' ')} prepared ${shown(binary).map(show).join(' ')}`;
  });
  connection.destroy();
}

module.exports = { reading, transactions, writing };
