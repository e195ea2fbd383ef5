// Connections of mysql2, and all results of a statement.
'use strict';

const mysql = require('mysql2/promise');

const { attempt, show, variable } = require('./report');

const settings = (options = {}) => ({
  host: variable('HOST'),
  port: Number(variable('PORT')),
  user: variable('USER'),
  password: variable('PASSWORD'),
  database: variable('SCHEMA'),
  timezone: 'Z',
  rowsAsArray: true,
  supportBigNumbers: true,
  ...options,
});

// A connection whose end is no error of the process.
async function open(options) {
  const connection = await mysql.createConnection(settings(options));
  connection.connection.on('error', () => {});
  return connection;
}

const isHeader = (result) => result !== null && typeof result === 'object' && 'affectedRows' in result;

// One result: rows, or the counts of an OK.
function one(result, fields) {
  if (isHeader(result)) {
    const warned = result.warningStatus ? `, ${result.warningStatus} warnings` : '';
    return `ok ${result.affectedRows}${warned}`;
  }
  return fields && result.length ? result.map(show).join(' ') : 'no rows';
}

// All results of what `query` or `execute` gave; the fields tell one result from several.
function all([results, fields]) {
  const several = Array.isArray(fields) ? fields.length > 0 && (fields[0] === undefined || Array.isArray(fields[0])) : false;
  if (several) return results.map((result, index) => one(result, fields[index])).join(' + ');
  return one(results, fields);
}

const run = async (connection, sql, values) => all(await connection.query(sql, values));
const prepared = async (connection, sql, values) => all(await connection.execute(sql, values));

async function number(connection, sql, values) {
  const [rows] = await connection.query(sql, values);
  return rows[0][0];
}

// A connection for one piece of work.
async function using(options, work) {
  const connection = await open(options);
  try {
    return await work(connection);
  } finally {
    connection.destroy();
  }
}

// Counts the statements that run with this marker in their text.
const running = (marker) =>
  `SELECT COUNT(*) FROM information_schema.processlist WHERE info LIKE '%${marker}%' AND info NOT LIKE '%processlist%' AND db = DATABASE()`;

// The outcome of one step, and of the next.
const then = async (first, next) => `${await attempt(first)}, then ${await attempt(next)}`;

module.exports = { all, number, open, prepared, run, running, settings, then, using };
