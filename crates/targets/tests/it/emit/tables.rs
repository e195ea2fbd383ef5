//! ProxySQL's tables as far as a configuration writes to them: columns, defaults and constraints of 2.7.1.

use rusqlite::Connection;

const TABLES: &str = "
CREATE TABLE global_variables (variable_name VARCHAR NOT NULL PRIMARY KEY, variable_value VARCHAR NOT NULL);
CREATE TABLE mysql_servers (
  hostgroup_id INT NOT NULL DEFAULT 0 CHECK (hostgroup_id >= 0),
  hostname VARCHAR NOT NULL,
  port INT NOT NULL DEFAULT 3306 CHECK (port BETWEEN 0 AND 65535),
  gtid_port INT NOT NULL DEFAULT 0 CHECK (gtid_port BETWEEN 0 AND 65535 AND (gtid_port <> port OR gtid_port = 0)),
  status VARCHAR NOT NULL DEFAULT 'ONLINE' CHECK (status IN ('ONLINE', 'SHUNNED', 'OFFLINE_SOFT', 'OFFLINE_HARD')),
  weight INT NOT NULL DEFAULT 1 CHECK (weight BETWEEN 0 AND 10000000),
  compression INT NOT NULL DEFAULT 0 CHECK (compression IN (0, 1)),
  max_connections INT NOT NULL DEFAULT 1000 CHECK (max_connections >= 0),
  max_replication_lag INT NOT NULL DEFAULT 0 CHECK (max_replication_lag BETWEEN 0 AND 126144000),
  use_ssl INT NOT NULL DEFAULT 0 CHECK (use_ssl IN (0, 1)),
  max_latency_ms INT NOT NULL DEFAULT 0 CHECK (max_latency_ms >= 0),
  comment VARCHAR NOT NULL DEFAULT '',
  PRIMARY KEY (hostgroup_id, hostname, port));
CREATE TABLE mysql_replication_hostgroups (
  writer_hostgroup INT NOT NULL PRIMARY KEY CHECK (writer_hostgroup >= 0),
  reader_hostgroup INT NOT NULL UNIQUE CHECK (reader_hostgroup <> writer_hostgroup AND reader_hostgroup >= 0),
  check_type VARCHAR NOT NULL DEFAULT 'read_only' CHECK (check_type IN ('read_only', 'innodb_read_only',
    'super_read_only', 'read_only|innodb_read_only', 'read_only&innodb_read_only')),
  comment VARCHAR NOT NULL DEFAULT '');
CREATE TABLE mysql_galera_hostgroups (
  writer_hostgroup INT NOT NULL PRIMARY KEY CHECK (writer_hostgroup >= 0),
  backup_writer_hostgroup INT NOT NULL UNIQUE CHECK (backup_writer_hostgroup >= 0 AND backup_writer_hostgroup <> writer_hostgroup),
  reader_hostgroup INT NOT NULL UNIQUE CHECK (reader_hostgroup <> writer_hostgroup
    AND backup_writer_hostgroup <> reader_hostgroup AND reader_hostgroup > 0),
  offline_hostgroup INT NOT NULL UNIQUE CHECK (offline_hostgroup <> writer_hostgroup
    AND offline_hostgroup <> reader_hostgroup AND backup_writer_hostgroup <> offline_hostgroup AND offline_hostgroup >= 0),
  active INT NOT NULL DEFAULT 1 CHECK (active IN (0, 1)),
  max_writers INT NOT NULL DEFAULT 1 CHECK (max_writers >= 0),
  writer_is_also_reader INT NOT NULL DEFAULT 0 CHECK (writer_is_also_reader IN (0, 1, 2)),
  max_transactions_behind INT NOT NULL DEFAULT 0 CHECK (max_transactions_behind >= 0),
  comment VARCHAR);
CREATE TABLE mysql_group_replication_hostgroups (
  writer_hostgroup INT NOT NULL PRIMARY KEY CHECK (writer_hostgroup >= 0),
  backup_writer_hostgroup INT NOT NULL UNIQUE CHECK (backup_writer_hostgroup >= 0 AND backup_writer_hostgroup <> writer_hostgroup),
  reader_hostgroup INT NOT NULL UNIQUE CHECK (reader_hostgroup <> writer_hostgroup
    AND backup_writer_hostgroup <> reader_hostgroup AND reader_hostgroup > 0),
  offline_hostgroup INT NOT NULL UNIQUE CHECK (offline_hostgroup <> writer_hostgroup
    AND offline_hostgroup <> reader_hostgroup AND backup_writer_hostgroup <> offline_hostgroup AND offline_hostgroup >= 0),
  active INT NOT NULL DEFAULT 1 CHECK (active IN (0, 1)),
  max_writers INT NOT NULL DEFAULT 1 CHECK (max_writers >= 0),
  writer_is_also_reader INT NOT NULL DEFAULT 0 CHECK (writer_is_also_reader IN (0, 1, 2)),
  max_transactions_behind INT NOT NULL DEFAULT 0 CHECK (max_transactions_behind >= 0),
  comment VARCHAR);
CREATE TABLE mysql_users (
  username VARCHAR NOT NULL,
  password VARCHAR,
  active INT NOT NULL DEFAULT 1 CHECK (active IN (0, 1)),
  use_ssl INT NOT NULL DEFAULT 0 CHECK (use_ssl IN (0, 1)),
  default_hostgroup INT NOT NULL DEFAULT 0,
  default_schema VARCHAR,
  schema_locked INT NOT NULL DEFAULT 0 CHECK (schema_locked IN (0, 1)),
  transaction_persistent INT NOT NULL DEFAULT 1 CHECK (transaction_persistent IN (0, 1)),
  fast_forward INT NOT NULL DEFAULT 0 CHECK (fast_forward IN (0, 1)),
  backend INT NOT NULL DEFAULT 1 CHECK (backend IN (0, 1)),
  frontend INT NOT NULL DEFAULT 1 CHECK (frontend IN (0, 1)),
  max_connections INT NOT NULL DEFAULT 10000 CHECK (max_connections >= 0),
  attributes VARCHAR NOT NULL DEFAULT '' CHECK (attributes = '' OR json_valid(attributes)),
  comment VARCHAR NOT NULL DEFAULT '',
  PRIMARY KEY (username, backend),
  UNIQUE (username, frontend));
CREATE TABLE mysql_query_rules (
  rule_id INTEGER PRIMARY KEY AUTOINCREMENT NOT NULL,
  active INT NOT NULL DEFAULT 0 CHECK (active IN (0, 1)),
  username VARCHAR,
  schemaname VARCHAR,
  flagIN INT NOT NULL DEFAULT 0 CHECK (flagIN >= 0),
  client_addr VARCHAR,
  proxy_addr VARCHAR,
  proxy_port INT CHECK (proxy_port BETWEEN 0 AND 65535),
  digest VARCHAR,
  match_digest VARCHAR,
  match_pattern VARCHAR,
  negate_match_pattern INT NOT NULL DEFAULT 0 CHECK (negate_match_pattern IN (0, 1)),
  re_modifiers VARCHAR DEFAULT 'CASELESS',
  flagOUT INT CHECK (flagOUT >= 0),
  replace_pattern VARCHAR CHECK (replace_pattern IS NULL OR match_pattern IS NOT NULL),
  destination_hostgroup INT,
  cache_ttl INT CHECK (cache_ttl > 0),
  cache_empty_result INT CHECK (cache_empty_result IN (0, 1)),
  cache_timeout INT CHECK (cache_timeout >= 0),
  reconnect INT CHECK (reconnect IN (0, 1)),
  timeout INT CHECK (timeout >= 0),
  retries INT CHECK (retries BETWEEN 0 AND 1000),
  delay INT CHECK (delay >= 0),
  next_query_flagIN INT,
  mirror_flagOUT INT,
  mirror_hostgroup INT,
  error_msg VARCHAR,
  OK_msg VARCHAR,
  sticky_conn INT CHECK (sticky_conn IN (0, 1)),
  multiplex INT CHECK (multiplex IN (0, 1, 2)),
  gtid_from_hostgroup INT,
  log INT CHECK (log IN (0, 1)),
  apply INT NOT NULL DEFAULT 0 CHECK (apply IN (0, 1)),
  attributes VARCHAR NOT NULL DEFAULT '' CHECK (attributes = '' OR json_valid(attributes)),
  comment VARCHAR);
CREATE TABLE mysql_query_rules_fast_routing (
  username VARCHAR NOT NULL,
  schemaname VARCHAR NOT NULL,
  flagIN INT NOT NULL DEFAULT 0,
  destination_hostgroup INT NOT NULL CHECK (destination_hostgroup >= 0),
  comment VARCHAR NOT NULL,
  PRIMARY KEY (username, schemaname, flagIN));
CREATE TABLE mysql_firewall_whitelist_users (
  active INT NOT NULL DEFAULT 1 CHECK (active IN (0, 1)),
  username VARCHAR NOT NULL,
  client_address VARCHAR NOT NULL,
  mode VARCHAR NOT NULL DEFAULT 'OFF' CHECK (mode IN ('OFF', 'DETECTING', 'PROTECTING')),
  comment VARCHAR NOT NULL,
  PRIMARY KEY (username, client_address));
CREATE TABLE mysql_firewall_whitelist_rules (
  active INT NOT NULL DEFAULT 1 CHECK (active IN (0, 1)),
  username VARCHAR NOT NULL,
  client_address VARCHAR NOT NULL,
  schemaname VARCHAR NOT NULL,
  flagIN INT NOT NULL DEFAULT 0,
  digest VARCHAR NOT NULL,
  comment VARCHAR NOT NULL,
  PRIMARY KEY (username, client_address, schemaname, flagIN, digest));
";

/// An empty database.
pub(crate) fn database() -> Connection {
    let database = Connection::open_in_memory().unwrap();
    database.execute_batch(TABLES).unwrap();
    database
}

/// Runs a script. `SET`, `LOAD` and `SAVE`, which SQLite does not know, are left out.
pub(crate) fn run(database: &Connection, script: &str) {
    let admin = |line: &&str| {
        ["SET ", "LOAD ", "SAVE "]
            .iter()
            .any(|word| line.starts_with(word))
    };
    let sql: Vec<&str> = script.split('\n').filter(|line| !admin(line)).collect();
    database.execute_batch(&sql.join("\n")).unwrap();
}

/// A database after these scripts.
pub(crate) fn load(scripts: &[&str]) -> Connection {
    let database = database();
    for script in scripts {
        run(&database, script);
    }
    database
}
