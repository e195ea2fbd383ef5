-- The third node is for partners and analysts.
SET mysql-firewall_whitelist_enabled='true';
INSERT INTO mysql_firewall_whitelist_users (active, username, client_address, mode, comment) VALUES
  (1, 'app', '', 'OFF', ''), (1, 'api', '', 'OFF', ''), (1, 'checkout', '', 'OFF', ''), (1, 'billing', '', 'OFF', ''),
  (1, 'billing.batch', '', 'OFF', ''), (1, 'pay', '', 'OFF', ''), (1, 'pay.cron', '', 'OFF', ''), (1, 'bi', '', 'PROTECTING', ''),
  (1, 'reports', '', 'DETECTING', ''), (1, 'etl', '', 'OFF', ''), (1, 'svc.export', '', 'PROTECTING', ''),
  (1, 'svc.mail', '', 'OFF', ''), (1, 'admin_tools', '', 'OFF', ''), (1, 'tenant_app', '', 'OFF', ''),
  (1, 'tenant_jobs', '', 'OFF', '');
INSERT INTO mysql_firewall_whitelist_rules (active, username, client_address, schemaname, flagIN, digest, comment) VALUES
  (1, 'bi', '', 'dwh', 0, '0x4D7DCFF87DD1A927', ''), (1, 'bi', '', 'dwh', 0, '0x38BE36BDFFDBE638', ''),
  (1, 'bi', '', 'warehouse', 0, '0x4D7DCFF87DD1A927', ''), (1, 'bi', '', 'warehouse', 0, '0x38BE36BDFFDBE638', ''),
  (1, 'reports', '', 'dwh', 0, '0x4D7DCFF87DD1A927', ''),
  (1, 'svc.export', '', 'dwh', 0, '0x4D7DCFF87DD1A927', '');
