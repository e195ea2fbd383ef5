// mysql2 for node: `query` in the text protocol, `execute` with statements that the server prepares.
'use strict';

const fs = require('node:fs');

const { number, open, prepared, run, using } = require('./connection');
const { attempt, blocks, feature, say, variable } = require('./report');
const { ends, sessions } = require('./sessions');
const { reading, transactions, writing } = require('./work');

async function connecting() {
  const selecting = (name, sql, options) => feature(name, () => using(options, (connection) => run(connection, sql)));
  const tls = (name) => ({ ssl: { ca: fs.readFileSync(variable(name)) }, host: 'localhost' });
  await selecting('connect', `SELECT DATABASE() = '${variable('SCHEMA')}'`);
  await selecting('connect without a schema', 'SELECT DATABASE()', { database: undefined });
  await selecting('connect with a wrong password', 'SELECT 1', { password: 'wrong' });
  await selecting('connect as an unknown user', 'SELECT 1', { user: variable('UNKNOWN_USER') });
  await selecting('connect to an unknown schema', 'SELECT 1', { database: 'nosuch' });
  await selecting('connect with TLS', 'SELECT 1', tls('AUTHORITY'));
  await selecting('connect with TLS of another authority', 'SELECT 1', tls('STRANGER'));
  await selecting('connect by unix socket', 'SELECT 1', { socketPath: variable('SOCKET') });
  await selecting('connect with compression', "SELECT REPEAT('x', 1000000)", { compress: true });
  await selecting('connect with attributes', 'SELECT 1', { connectAttributes: { program_name: 'shop', team: 'é' } });
  await feature('connection id', () =>
    using({}, async (connection) => connection.threadId === (await number(connection, 'SELECT CONNECTION_ID()'))));
  await feature('version in the greeting', () =>
    using({}, async (connection) => connection.connection._handshakePacket.serverVersion));
  await selecting('character set latin1', "SELECT 'né', HEX('né'), @@character_set_client", { charset: 'latin1' });
}

async function everyStatement(suffix, options, ask) {
  for (const [name, statements] of blocks()) {
    await feature(name + suffix, () =>
      using(options, async (connection) => {
        const outcomes = [];
        for (const sql of statements) outcomes.push(await attempt(() => ask(connection, sql)));
        return outcomes.join(' ; ');
      }));
  }
}

async function main() {
  say('client', `mysql2 ${require('mysql2/package.json').version}`);
  await connecting();
  await writing();
  await transactions();
  await reading();
  await sessions();
  await ends();
  await everyStatement('', { multipleStatements: true }, run);
  await everyStatement(', prepared', {}, prepared);
}

main().then(() => process.exit(0));
