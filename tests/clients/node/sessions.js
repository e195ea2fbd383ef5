// The state of a session, and how connections and statements end.
'use strict';

const { number, open, prepared, run, running, then, using } = require('./connection');
const { attempt, feature, variable, waitUntil } = require('./report');

const LEFT = "SELECT @left, SUBSTRING_INDEX(CURRENT_USER(), '@', 1), @@group_concat_max_len";

async function sessions() {
  for (const [name, change] of [
    ['change user', (connection) =>
      connection.changeUser({ user: variable('OTHER_USER'), password: variable('PASSWORD'), database: variable('SCHEMA') })],
    ['reset the connection', (connection) => connection.reset()],
  ]) {
    await feature(name, () =>
      using({}, async (connection) => {
        await prepared(connection, 'SELECT ?', [1]);
        await run(connection, 'SET @left = 1, group_concat_max_len = 77');
        await change(connection);
        return `${await run(connection, LEFT)}, ${await attempt(() => prepared(connection, 'SELECT ?', [1]))}`;
      }));
  }
  await feature('ping', () => using({}, async (connection) => (await connection.ping()) && 'ok'));
  await feature('ping after the connection was killed', async () => {
    const [connection, killer] = [await open(), await open()];
    await run(killer, `KILL ${connection.threadId}`);
    await waitUntil(async () =>
      (await number(killer, `SELECT COUNT(*) FROM information_schema.processlist WHERE id = ${connection.threadId}`)) === 0);
    // What a driver that reads all the time has read by now is chance.
    const outcome = await connection.ping().then(() => 'ok', () => 'an error');
    connection.destroy();
    killer.destroy();
    return outcome;
  });
}

async function killed(kind) {
  const [connection, killer] = [await open(), await open()];
  const marker = `asleep ${kind}`;
  const waiting = attempt(() => run(connection, `SELECT BENCHMARK(1000000000000, MD5('x')), '${marker}'`));
  await waitUntil(async () => (await number(killer, running(marker))) === 1);
  await run(killer, `KILL ${kind} ${connection.threadId}`);
  const outcome = await then(() => waiting, () => run(connection, 'SELECT 1').catch(() => 'an error'));
  killer.destroy();
  connection.destroy();
  return outcome;
}

async function ends() {
  await feature('kill a statement', () => killed('QUERY'));
  await feature('kill a connection', () => killed('CONNECTION'));
  await feature('time limit of a statement', () =>
    using({}, async (connection) => {
      await run(connection, process.env.CLIENT_TIME_LIMIT);
      return run(connection, "SELECT BENCHMARK(1000000000000, MD5('x'))");
    }));
  await feature('time limit of the client', () =>
    using({}, (connection) => run(connection, { sql: 'SELECT SLEEP(20)', timeout: 500 })));
  await feature('packet of 17 MiB', () =>
    using({}, async (connection) => {
      const text = '0123456789abcdef'.repeat(17 << 16);
      const [rows] = await connection.execute('SELECT ?', [text]);
      return `equal: ${rows[0][0] === text}`;
    }));
  await feature('packet that is too large', () =>
    using({}, (connection) =>
      // Whether the error arrives before the end of the connection is chance.
      run(connection, `SELECT LENGTH('${'x'.repeat(25 << 20)}')`).then(String, () => 'refused')));
}

module.exports = { ends, sessions };
