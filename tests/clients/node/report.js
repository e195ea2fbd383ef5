// What the programs here share: where to connect, and lines `feature: outcome`.
'use strict';

const crypto = require('node:crypto');
const fs = require('node:fs');

const variable = (name) => {
  const value = process.env[`CLIENT_${name}`];
  if (value === undefined) throw new Error(`CLIENT_${name} is not set`);
  return value;
};

// A value with its type, short, and the same in every run.
function show(value) {
  if (Array.isArray(value)) return `(${value.map(show).join(', ')})`;
  if (Buffer.isBuffer(value)) {
    if (value.length > 120) return `${value.length} bytes ${crypto.createHash('md5').update(value).digest('hex')}`;
    return `bytes ${value.toString('hex')}`;
  }
  if (value instanceof Date) return Number.isNaN(value.getTime()) ? 'date invalid' : `date ${value.toISOString()}`;
  if (typeof value === 'string' && value.length > 120) {
    return `${value.length} characters ${crypto.createHash('md5').update(value).digest('hex')}`;
  }
  if (typeof value === 'bigint') return `${value}n`;
  return value === undefined ? 'undefined' : JSON.stringify(value);
}

// A database's error by its number, another one by its code or first words.
function error(raised) {
  if (raised.errno > 0) return `error ${raised.errno}`;
  return `error ${raised.code || String(raised.message).split(' ').slice(0, 4).join(' ')}`;
}

async function attempt(work) {
  try {
    return await work();
  } catch (raised) {
    return error(raised);
  }
}

function say(feature, outcome) {
  const text = typeof outcome === 'string' ? outcome : show(outcome);
  process.stdout.write(`${feature}: ${text.replaceAll('\n', '\\n')}\n`);
}

const leftOut = variable('LEFT_OUT').split(', ');

const feature = async (name, work) => {
  if (!leftOut.includes(name)) say(name, await attempt(work));
};

// The blocks of `statements.sql`: a name and its statements.
function blocks() {
  const text = fs.readFileSync(variable('STATEMENTS'), 'utf8');
  return text.split('\n\n').slice(1).map((block) => {
    const [head, ...lines] = block.trim().split('\n');
    return [head.replace(/^-- /, ''), lines.map((line) => line.replace(/;$/, ''))];
  });
}

// Asks until the condition holds.
async function waitUntil(condition) {
  for (const end = Date.now() + 30_000; Date.now() < end;) {
    if (await condition()) return;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  throw new Error('the condition stayed false');
}

module.exports = { attempt, blocks, error, feature, say, show, variable, waitUntil };
