-- A shop's ProxySQL as it grew over nine years: two pairs, a Galera cluster, a warehouse, tenants on six servers.
INSERT INTO mysql_servers (hostgroup_id, hostname, port, weight, max_connections, max_replication_lag) VALUES
  (10, 'shop-1.db', 3306, 1, 600, 0),
  (11, 'shop-1.db', 3306, 1, 600, 0), (11, 'shop-2.db', 3306, 100, 600, 0), (11, 'shop-3.db', 3306, 100, 600, 0),
  (20, 'bill-1.db', 3306, 1, 300, 0), (21, 'bill-1.db', 3306, 1, 300, 0), (21, 'bill-2.db', 3306, 1, 300, 0),
  (30, 'pay-1.db', 3306, 100, 200, 0), (31, 'pay-2.db', 3306, 100, 200, 0), (31, 'pay-3.db', 3306, 100, 200, 0),
  (40, 'dwh-1.db', 3306, 1, 100, 0), (40, 'dwh-2.db', 3306, 1, 100, 0),
  (50, 'archive.db', 3306, 1, 50, 0),
  (60, 'staging.db', 3306, 1, 50, 0),
  (101, 'tenants-1.db', 3306, 1, 400, 0), (102, 'tenants-2.db', 3306, 1, 400, 0), (103, 'tenants-3.db', 3306, 1, 400, 0),
  (104, 'tenants-4.db', 3306, 1, 400, 0), (105, 'tenants-5.db', 3306, 1, 400, 0), (106, 'tenants-6.db', 3306, 1, 400, 0);
INSERT INTO mysql_replication_hostgroups (writer_hostgroup, reader_hostgroup, check_type, comment) VALUES
  (10, 11, 'read_only', 'shop'), (20, 21, 'read_only', 'billing');
INSERT INTO mysql_galera_hostgroups (writer_hostgroup, backup_writer_hostgroup, reader_hostgroup, offline_hostgroup, active,
  max_writers, writer_is_also_reader, max_transactions_behind, comment) VALUES (30, 32, 31, 33, 1, 1, 2, 30, 'pay');

INSERT INTO mysql_users (username, password, default_hostgroup, default_schema, max_connections) VALUES
  ('app', 'x', 10, 'shop', 4000), ('api', 'x', 10, 'shop', 2000), ('checkout', 'x', 10, 'shop', 1000),
  ('billing', 'x', 20, 'billing', 500), ('billing.batch', 'x', 20, 'billing', 50),
  ('pay', 'x', 30, 'pay', 500), ('pay.cron', 'x', 30, 'pay', 20),
  ('bi', 'x', 40, 'dwh', 100), ('reports', 'x', 40, 'dwh', 100), ('etl', 'x', 10, 'shop', 50),
  ('svc.export', 'x', 40, 'dwh', 20), ('svc.mail', 'x', 10, 'shop', 100), ('admin_tools', 'x', 10, 'shop', 50),
  ('legacy', 'x', 10, 'legacy_2012', 20), ('tenant_app', 'x', 10, NULL, 5000), ('tenant_jobs', 'x', 10, NULL, 500);

INSERT INTO mysql_query_rules (rule_id, active, username, schemaname, client_addr, match_digest, error_msg, apply, comment) VALUES
  (1, 1, NULL, NULL, NULL, '^(DROP|TRUNCATE) ', 'DDL goes through change management', 1, 'no DDL'),
  (2, 1, 'bi', NULL, NULL, '^(INSERT|UPDATE|DELETE|REPLACE) ', 'bi only reads', 1, NULL),
  (3, 1, 'reports', NULL, NULL, '^(INSERT|UPDATE|DELETE|REPLACE) ', 'reports only reads', 1, NULL),
  (4, 0, NULL, NULL, NULL, 'SLEEP\(', 'no', 1, 'broke the health checks, off'),
  (5, 1, NULL, NULL, NULL, '^LOAD DATA', 'no bulk loads here', 1, NULL),
  (6, 1, 'legacy', NULL, '10.9.%', NULL, 'these servers are retired', 1, 'OPS-2207');
INSERT INTO mysql_query_rules (rule_id, active, digest, error_msg, apply, comment) VALUES
  (7, 1, '0x1C5A7C2C1B4B1D11', 'removed, see OPS-4411', 1, 'full scan of orders'),
  (8, 1, '0x5E1A0D3F9B7C2E42', 'removed, see OPS-4411', 1, NULL),
  (9, 1, '0x7A3B9C1D5E2F4A63', 'removed, see OPS-4702', 1, NULL);
INSERT INTO mysql_query_rules (rule_id, active, username, schemaname, match_digest, timeout, delay, multiplex, retries, log, apply,
  comment) VALUES
  (10, 1, 'etl', NULL, NULL, 3600000, NULL, NULL, NULL, NULL, 0, NULL),
  (11, 1, 'bi', NULL, NULL, 600000, NULL, NULL, NULL, NULL, 0, NULL),
  (12, 1, 'reports', NULL, NULL, 900000, NULL, NULL, NULL, NULL, 0, NULL),
  (13, 1, 'app', NULL, NULL, 30000, NULL, NULL, NULL, NULL, 0, NULL),
  (14, 1, 'api', NULL, NULL, 15000, NULL, NULL, NULL, NULL, 0, NULL),
  (15, 1, NULL, NULL, 'GET_LOCK\(', NULL, NULL, 0, NULL, NULL, 0, NULL),
  (16, 1, NULL, NULL, '^CREATE TEMPORARY TABLE', NULL, NULL, 0, NULL, NULL, 0, NULL),
  (17, 1, NULL, NULL, '^SELECT @@(tx_isolation|session)', NULL, NULL, 2, NULL, NULL, 0, 'connectors ask at login'),
  (18, 1, NULL, NULL, '^DELETE FROM (sessions|audit_log)', NULL, 200, NULL, NULL, NULL, 0, 'purges'),
  (19, 1, 'etl', NULL, '^UPDATE products', NULL, 50, NULL, NULL, NULL, 0, NULL),
  (20, 1, NULL, NULL, '^INSERT INTO clickstream', NULL, 20, NULL, NULL, NULL, 0, NULL),
  (21, 1, 'admin_tools', NULL, NULL, NULL, NULL, NULL, NULL, 1, 0, 'audit'),
  (22, 1, NULL, NULL, '^(GRANT|REVOKE|CREATE USER)', NULL, NULL, NULL, NULL, 1, 0, 'audit'),
  (23, 1, NULL, NULL, '^SELECT .* FROM rates', NULL, NULL, NULL, 5, NULL, 0, NULL),
  (24, 1, NULL, 'reporting', NULL, 1200000, NULL, NULL, NULL, NULL, 0, NULL),
  (25, 1, 'svc.mail', NULL, '^UPDATE outbox', NULL, 10, NULL, NULL, NULL, 0, NULL);
INSERT INTO mysql_query_rules (rule_id, active, schemaname, match_digest, cache_ttl, cache_empty_result, destination_hostgroup, apply)
  VALUES
  (30, 1, NULL, '^SELECT .* FROM currencies', 5000, NULL, NULL, 0),
  (31, 1, NULL, '^SELECT .* FROM countries', 60000, 0, NULL, 0),
  (32, 1, NULL, '^SELECT .* FROM feature_flags', 2000, NULL, NULL, 0),
  (33, 1, NULL, '^SELECT COUNT\(\*\) FROM online_users', 1000, NULL, 11, 1),
  (34, 1, 'catalog', '^SELECT .* FROM categories', 3000, NULL, 11, 1);
-- 36 and 37 are in mirrors.sql
INSERT INTO mysql_query_rules (rule_id, active, username, schemaname, match_digest, destination_hostgroup, timeout, apply, comment)
  VALUES
  (40, 1, 'bi', NULL, NULL, 40, NULL, 1, NULL),
  (41, 1, 'reports', NULL, '^SELECT .* FROM archive_', 50, NULL, 1, NULL),
  (42, 1, 'reports', NULL, NULL, 40, NULL, 1, NULL),
  (43, 1, 'etl', NULL, '^SELECT .* FROM (orders|order_items)', 11, 7200000, 1, 'nightly'),
  (44, 1, 'billing.batch', NULL, '^SELECT', 21, NULL, 1, NULL),
  (45, 1, 'svc.export', NULL, NULL, 40, NULL, 1, NULL),
  (46, 1, 'pay.cron', NULL, '^SELECT', 31, NULL, 1, NULL),
  (47, 1, 'admin_tools', NULL, NULL, 10, NULL, 1, NULL),
  (48, 1, 'checkout', NULL, '^SELECT', 10, NULL, 1, 'reads its own writes'),
  (49, 1, 'legacy', 'legacy_2012', NULL, 50, NULL, 1, NULL),
  (50, 1, 'tenant_jobs', NULL, '^SELECT .* FROM jobs_queue', 10, NULL, 1, NULL);
INSERT INTO mysql_query_rules (rule_id, active, schemaname, match_digest, destination_hostgroup, apply) VALUES
  (60, 1, 'catalog', '^SELECT .* FOR UPDATE', 10, 1), (61, 1, 'catalog', '^SELECT', 11, 1),
  (62, 1, 'warehouse', NULL, 40, 1), (63, 1, 'archive', NULL, 50, 1),
  (64, 1, 'billing', '^SELECT .* FOR UPDATE', 20, 1), (65, 1, 'billing', '^SELECT', 21, 1), (66, 1, 'billing', NULL, 20, 1),
  (67, 1, 'pay', '^SELECT .* FOR UPDATE', 30, 1), (68, 1, 'pay', '^SELECT', 31, 1), (69, 1, 'pay', NULL, 30, 1);
INSERT INTO mysql_query_rules (rule_id, active, match_digest, destination_hostgroup, retries, apply, comment) VALUES
  (70, 1, '^SELECT .* FROM facts_', 40, NULL, 1, NULL), (71, 1, '^SELECT .* FROM dim_', 40, NULL, 1, NULL),
  (72, 1, '^INSERT INTO staging_', 40, NULL, 1, NULL), (73, 1, '^SELECT .* FROM report_', 40, NULL, 1, NULL),
  (74, 1, 'JOIN dim_calendar', 40, NULL, 1, NULL), (75, 1, '^SELECT .* FROM cohort_', 40, NULL, 1, NULL),
  (76, 1, '^SELECT .* FROM (carts|cart_items)', 10, NULL, 1, 'never stale'), (77, 1, '^SELECT .* FROM stock', 10, NULL, 1, NULL),
  (78, 1, '^SELECT .* FROM sessions', 10, NULL, 1, NULL), (79, 1, 'LAST_INSERT_ID', 10, NULL, 1, NULL),
  (80, 1, '^SELECT .* FROM archive_orders', 50, NULL, 1, NULL), (81, 1, '^SELECT .* FROM products_search', 11, 3, 1, NULL);
INSERT INTO mysql_query_rules (rule_id, active, username, flagIN, client_addr, match_digest, match_pattern, flagOUT,
  destination_hostgroup, apply, comment) VALUES
  (90, 1, NULL, 0, NULL, NULL, '/\* route:', 100, NULL, 0, 'the old ORM says where'),
  (91, 1, NULL, 100, NULL, NULL, '/\* route:writer', NULL, 10, 1, NULL),
  (92, 1, NULL, 100, NULL, NULL, '/\* route:reader', NULL, 11, 1, NULL),
  (93, 1, NULL, 100, NULL, NULL, '/\* route:dwh', NULL, 40, 1, NULL),
  (94, 1, 'app', 0, NULL, '^SELECT .* FROM reviews', NULL, 200, NULL, 0, 'two data centres'),
  (95, 1, NULL, 200, '10.1.%', NULL, NULL, NULL, 11, 1, NULL),
  (96, 1, NULL, 200, '10.2.%', NULL, NULL, NULL, 11, 1, NULL),
  (97, 1, NULL, 200, NULL, NULL, NULL, NULL, 10, 1, NULL);
INSERT INTO mysql_query_rules (rule_id, active, digest, timeout, delay, apply, comment) VALUES
  (98, 1, '0x2D4E6F8A1B3C5D77', 2000, NULL, 0, 'wakes up the on-call'), (99, 1, '0x3C5D7E9FA1B2C384', NULL, 500, 0, NULL);
INSERT INTO mysql_query_rules (rule_id, active, username, match_digest, destination_hostgroup, apply, comment) VALUES
  (200, 1, 'app', '^SELECT .* FOR (UPDATE|SHARE)', 10, 1, NULL), (201, 1, 'app', '^SELECT', 11, 1, NULL),
  (202, 1, 'api', '^SELECT .* FOR (UPDATE|SHARE)', 10, 1, NULL), (203, 1, 'api', '^SELECT', 11, 1, NULL),
  (204, 1, 'billing', '^SELECT .* FOR UPDATE', 20, 1, NULL), (205, 1, 'billing', '^SELECT', 21, 1, NULL),
  (206, 1, 'pay', '^SELECT .* FOR UPDATE', 30, 1, NULL), (207, 1, 'pay', '^SELECT', 31, 1, NULL),
  (208, 1, 'svc.mail', '^SELECT', 11, 1, NULL),
  (209, 0, NULL, '^SELECT', 11, 1, 'too wide, off'),
  (999, 1, NULL, NULL, NULL, 0, 'keeps fast routing on, ProxySQL 5620');
INSERT INTO mysql_query_rules_fast_routing (username, schemaname, flagIN, destination_hostgroup, comment) VALUES
  ('', 't001', 0, 102, 'tenant 1'), ('', 't002', 0, 103, 'tenant 2'), ('', 't003', 0, 104, 'tenant 3'),
  ('', 't004', 0, 105, 'tenant 4'), ('', 't005', 0, 106, 'tenant 5'), ('', 't006', 0, 101, 'tenant 6'),
  ('', 't007', 0, 102, 'tenant 7'), ('', 't008', 0, 103, 'tenant 8'), ('', 't009', 0, 104, 'tenant 9'),
  ('', 't010', 0, 105, 'tenant 10'), ('', 't011', 0, 106, 'tenant 11'), ('', 't012', 0, 101, 'tenant 12'),
  ('', 't013', 0, 102, 'tenant 13'), ('', 't014', 0, 103, 'tenant 14'), ('', 't015', 0, 104, 'tenant 15'),
  ('', 't016', 0, 105, 'tenant 16'), ('', 't017', 0, 106, 'tenant 17'), ('', 't018', 0, 101, 'tenant 18'),
  ('', 't019', 0, 102, 'tenant 19'), ('', 't020', 0, 103, 'tenant 20'), ('', 't021', 0, 104, 'tenant 21'),
  ('', 't022', 0, 105, 'tenant 22'), ('', 't023', 0, 106, 'tenant 23'), ('', 't024', 0, 101, 'tenant 24'),
  ('', 't025', 0, 102, 'tenant 25'), ('', 't026', 0, 103, 'tenant 26'), ('', 't027', 0, 104, 'tenant 27'),
  ('', 't028', 0, 105, 'tenant 28'), ('', 't029', 0, 106, 'tenant 29'), ('', 't030', 0, 101, 'tenant 30'),
  ('', 't031', 0, 102, 'tenant 31'), ('', 't032', 0, 103, 'tenant 32'), ('', 't033', 0, 104, 'tenant 33'),
  ('', 't034', 0, 105, 'tenant 34'), ('', 't035', 0, 106, 'tenant 35'), ('', 't036', 0, 101, 'tenant 36'),
  ('', 't037', 0, 102, 'tenant 37'), ('', 't038', 0, 103, 'tenant 38'), ('', 't039', 0, 104, 'tenant 39'),
  ('', 't040', 0, 105, 'tenant 40'), ('', 't041', 0, 106, 'tenant 41'), ('', 't042', 0, 101, 'tenant 42'),
  ('', 't043', 0, 102, 'tenant 43'), ('', 't044', 0, 103, 'tenant 44'), ('', 't045', 0, 104, 'tenant 45'),
  ('', 't046', 0, 105, 'tenant 46'), ('', 't047', 0, 106, 'tenant 47'), ('', 't048', 0, 101, 'tenant 48'),
  ('', 't049', 0, 102, 'tenant 49'), ('', 't050', 0, 103, 'tenant 50'), ('', 't051', 0, 104, 'tenant 51'),
  ('', 't052', 0, 105, 'tenant 52'), ('', 't053', 0, 106, 'tenant 53'), ('', 't054', 0, 101, 'tenant 54'),
  ('', 't055', 0, 102, 'tenant 55'), ('', 't056', 0, 103, 'tenant 56'), ('', 't057', 0, 104, 'tenant 57'),
  ('', 't058', 0, 105, 'tenant 58'), ('', 't059', 0, 106, 'tenant 59'), ('', 't060', 0, 101, 'tenant 60'),
  ('reports', 'orders_2015', 0, 50, ''), ('reports', 'orders_2016', 0, 50, ''), ('reports', 'orders_2017', 0, 50, ''),
  ('reports', 'orders_2018', 0, 50, ''), ('reports', 'orders_2019', 0, 50, ''), ('reports', 'orders_2020', 0, 50, ''),
  ('reports', 'orders_2021', 0, 50, ''), ('reports', 'orders_2022', 0, 50, ''), ('tenant_jobs', 't007', 0, 10, 'jobs of the pilot'),
  ('etl', 'shop_copy', 0, 40, '');

SET mysql-monitor_username='watch';
SET mysql-default_query_timeout=36000000;
SET mysql-interfaces='0.0.0.0:6033';
