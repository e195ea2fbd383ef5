//! What clients do in a session, in scripts: temporary tables, variables, routines, views, dynamic SQL, transactions,
//! sql_modes. The same seed gives the same scripts. Each statement is sent as it is to both sides.

use crate::generator::Random;

/// Tenants 1 and 2 are on the first server, 3 and 4 on the second.
pub(crate) const TENANTS: [usize; 4] = [1, 2, 3, 4];

/// Statements of one session.
pub(crate) const SESSION: usize = 25;

/// What the random choices of a session begin with.
pub(crate) struct Script<'r> {
    random: &'r mut Random,
    /// The tenant that most of the session's statements are about.
    home: usize,
    next_id: &'r mut usize,
}

impl<'r> Script<'r> {
    pub(crate) fn new(random: &'r mut Random, next_id: &'r mut usize) -> Self {
        let home = random.of(&TENANTS);
        Self {
            random,
            home,
            next_id,
        }
    }

    fn tenant(&mut self) -> usize {
        if self.random.below(5) == 0 {
            self.random.of(&TENANTS)
        } else {
            self.home
        }
    }

    fn id(&mut self) -> usize {
        *self.next_id += 1;
        *self.next_id
    }

    /// The key in a comment: mostly the tenant of the statement, sometimes another, mostly none.
    fn hint(&mut self, tenant: usize) -> String {
        match self.random.below(12) {
            0..=2 => format!("/* tenant={tenant} */ "),
            3 => format!("/* tenant={} */ ", self.random.of(&TENANTS)),
            _ => String::new(),
        }
    }

    fn code(&mut self) -> &'static str {
        self.random.of(&[
            "",
            "",
            "",
            "",
            "",
            "",
            "/*! */ ",
            "/*!40001 SQL_NO_CACHE */ ",
            "/*!99999 DISTINCT */ ",
            "/*M! */ ",
        ])
    }

    /// A condition that pins the tenant, in sound ways and others.
    fn pin(&mut self, tenant: usize) -> String {
        let other = self.random.of(&TENANTS);
        match self.random.below(16) {
            0 => format!("{tenant}=tenant"),
            1 => format!("tenant IN ({tenant})"),
            2 => format!("tenant+0={tenant}"),
            3 => format!("tenant={tenant} OR tenant={other}"),
            4 => format!("tenant={tenant} AND tenant={other}"),
            5 => format!("tenant BETWEEN {tenant} AND {tenant}"),
            6 => format!("tenant=f({tenant})-f({tenant})+{tenant}"),
            7 => format!("tenant={tenant} /*! OR 1=1 */"),
            8 => "tenant=@x".to_owned(),
            _ => format!("tenant={tenant}"),
        }
    }

    /// The next statement of a session in the logical schema.
    pub(crate) fn statement(&mut self) -> String {
        let tenant = self.tenant();
        match self.random.below(46) {
            0..=7 => self.read(tenant),
            8..=12 => self.write(tenant),
            13..=15 => self.temporary(tenant),
            16..=18 => self.variable(tenant),
            19 | 20 => self.show(tenant),
            21..=24 => self.dynamic(tenant),
            25 | 26 => self.transaction(tenant),
            27 => self.setting(),
            28..=30 => self.question(tenant),
            31..=33 => self.quoted(tenant),
            34..=38 => self.joined(tenant),
            39..=41 => self.copied(tenant),
            42 => self.of_nobody(),
            _ => self.odd(tenant),
        }
    }

    fn read(&mut self, tenant: usize) -> String {
        let (hint, code, pin) = (self.hint(tenant), self.code(), self.pin(tenant));
        let table = self.random.of(&[
            "bal", "bal", "bal", "bal", "shop.bal", "items", "log", "v_bal", "v_bal", "v_sum", "v_other",
            "v_code",
        ]);
        let columns = self
            .random
            .of(&["*", "id, c", "c", "COUNT(*), SUM(c)", "id, c, @x", "tenant, c"]);
        let tail = self.random.of(&["", "", " ORDER BY id LIMIT 3", " FOR UPDATE"]);
        // A comment says which shard to ask, and a view answers for all of it.
        let hint = if table.starts_with("v_") {
            String::new()
        } else {
            hint
        };
        match self.random.below(8) {
            0 => format!(
                "{hint}SELECT b.c, i.c FROM bal b JOIN items i ON b.tenant=i.tenant AND b.id=i.id WHERE b.tenant={tenant} \
                 AND i.tenant={tenant}"
            ),
            1 => format!("{hint}SELECT c FROM (SELECT * FROM {table}) d WHERE d.{pin}"),
            2 => format!("{hint}SELECT c FROM (SELECT tenant AS t, c FROM bal) d WHERE t={tenant}"),
            _ => format!("{hint}SELECT {code}{columns} FROM {table} WHERE {pin}{tail}"),
        }
    }

    /// Several tables inside one key, in sound ways and others.
    fn joined(&mut self, tenant: usize) -> String {
        let other = self.random.of(&TENANTS);
        let pinned = self.random.of(&["b", "b", "i"]);
        let condition = match self.random.below(6) {
            0 => format!("{pinned}.tenant IN ({tenant}, {tenant})"),
            1 => format!("{pinned}.tenant BETWEEN {tenant} AND {tenant}"),
            2 => format!("({pinned}.tenant={tenant} OR {pinned}.tenant={tenant})"),
            3 => format!("({pinned}.tenant, {pinned}.id) IN (({tenant}, {tenant}0), ({tenant}, {tenant}1))"),
            4 => format!("{pinned}.tenant={tenant} OR {pinned}.tenant={other}"),
            _ => format!("{pinned}.tenant={tenant}"),
        };
        let join = self
            .random
            .of(&["JOIN", "LEFT JOIN", "RIGHT JOIN", "STRAIGHT_JOIN"]);
        let on = self.random.of(&[
            "USING (tenant)",
            "USING (tenant, id)",
            "ON b.tenant=i.tenant",
            "ON i.tenant=b.tenant AND b.id=i.id",
            "ON b.id=i.id",
            "ON b.tenant=i.tenant OR b.id=i.id",
        ]);
        match self.random.below(14) {
            0 => format!("SELECT b.c, i.c FROM bal b, items i WHERE b.tenant=i.tenant AND {condition}"),
            1 => format!("SELECT b.c, i.c FROM bal b NATURAL {join} items i WHERE {condition}")
                .replace("NATURAL STRAIGHT_JOIN", "NATURAL JOIN"),
            2 => format!("SELECT c FROM bal b {join} items i USING (tenant, id, c) WHERE tenant={tenant}"),
            3 => format!(
                "SELECT b.c FROM bal b WHERE b.tenant={tenant} AND EXISTS (SELECT 1 FROM items i WHERE i.tenant=b.tenant AND \
                 i.id=b.id)"
            ),
            4 => format!(
                "SELECT b.c, (SELECT SUM(i.c) FROM items i WHERE i.tenant=b.tenant) FROM bal b WHERE b.tenant={tenant}"
            ),
            5 => format!(
                "SELECT b.c, (SELECT SUM(i.c) FROM items i WHERE i.tenant={other}) FROM bal b WHERE b.tenant={tenant}"
            ),
            6 => format!("WITH bal AS (SELECT * FROM bal WHERE tenant={tenant}) SELECT SUM(c) FROM bal"),
            7 => format!(
                "WITH x AS (SELECT * FROM bal), y AS (SELECT c FROM x WHERE tenant={tenant}) SELECT SUM(c) FROM y"
            ),
            8 => format!(
                "WITH RECURSIVE n AS (SELECT 1 AS i UNION ALL SELECT i+1 FROM n WHERE i<3) SELECT n.i, b.c FROM n JOIN bal b \
                 WHERE b.tenant={tenant}"
            ),
            9 => format!("UPDATE bal b {join} items i {on} SET b.c=b.c+1 WHERE {condition}"),
            10 => format!(
                "UPDATE bal b, items i SET b.c=i.c WHERE b.id=i.id AND i.tenant={tenant} AND b.tenant={tenant}"
            ),
            11 => format!("DELETE b FROM bal b {join} items i {on} WHERE {condition} AND b.id > 100"),
            12 => format!("DELETE FROM b USING bal b WHERE b.tenant={tenant} AND b.id > 100"),
            _ => format!("SELECT b.id, b.c, i.id, i.c FROM bal b {join} items i {on} WHERE {condition}"),
        }
    }

    /// Rows that come from rows of the same key, and rows of which that is not sure.
    fn copied(&mut self, tenant: usize) -> String {
        let (id, other) = (self.id(), self.random.of(&TENANTS));
        let (from, value) = match self.random.below(6) {
            0 => (tenant, "tenant".to_owned()),
            1 => (tenant, other.to_string()),
            2 => (other, tenant.to_string()),
            3 => (tenant, "c".to_owned()),
            _ => (tenant, tenant.to_string()),
        };
        match self.random.below(5) {
            0 => format!("INSERT INTO bal (id, tenant, c) SELECT id+{id}0000, {value}, c FROM bal WHERE tenant={from} AND id < 100"),
            1 => format!("INSERT INTO bal (tenant, id, c) SELECT {value}, {id}, 5"),
            2 => format!(
                "INSERT INTO bal (id, tenant, c) SELECT i.id+{id}0000, i.{value}, i.c FROM bal b JOIN items i USING (tenant, id) \
                 WHERE b.tenant={from} AND b.id < 100"
            )
            .replace(&format!("i.{tenant},"), &format!("{tenant},")),
            3 => format!("REPLACE INTO bal SET c=1, tenant={value}, id={id}"),
            _ => format!(
                "INSERT INTO bal (id, tenant, c) SELECT id, tenant, c FROM bal WHERE tenant={from} ON DUPLICATE KEY UPDATE \
                 c=VALUES(c)+1"
            ),
        }
    }

    /// Statements that read no rows of a tenant.
    fn of_nobody(&mut self) -> String {
        self.random
            .of(&[
                "SELECT * FROM (SELECT 1 AS a) d",
                "SELECT 1 FROM dual",
                "DESCRIBE bal",
                "SHOW COLUMNS FROM items",
                "SELECT COUNT(*) FROM information_schema.columns WHERE table_name='bal' AND table_schema='shop'",
                "WITH RECURSIVE n AS (SELECT 1 AS i UNION ALL SELECT i+1 FROM n WHERE i < 4) SELECT SUM(i) FROM n",
                "SELECT 1 UNION TABLE bal",
                "EXPLAIN SELECT 1",
            ])
            .to_owned()
    }

    fn write(&mut self, tenant: usize) -> String {
        let (hint, id, pin) = (self.hint(tenant), self.id(), self.pin(tenant));
        let other = self.random.of(&TENANTS);
        let table = self.random.of(&["bal", "bal", "items", "v_bal"]);
        match self.random.below(12) {
            0 => format!("{hint}INSERT INTO {table} VALUES ({id}, {tenant}, 7)"),
            1 => format!("{hint}INSERT INTO {table} SET id={id}, tenant={tenant}, c=7"),
            2 => format!(
                "{hint}INSERT INTO {table} (id, tenant, c) VALUES ({id}, {tenant}, 1), ({id}0000000, {other}, 2)"
            ),
            3 => format!(
                "{hint}REPLACE INTO bal (id, tenant, c) VALUES ({}, {tenant}, 9)",
                10 * tenant + 1
            ),
            4 => format!("{hint}INSERT INTO {table} SELECT id+{id}000, tenant, c FROM bal WHERE {pin}"),
            5 | 6 => format!("{hint}INSERT INTO {table} (tenant, id, c) VALUES ({tenant}, {id}, @x)"),
            7 => format!("{hint}UPDATE {table} SET c=c+1, tenant={other} WHERE {pin}"),
            8 | 9 => format!("{hint}UPDATE {table} SET c=c+1 WHERE {pin}"),
            10 => format!("{hint}DELETE FROM {table} WHERE {pin} AND id > 100"),
            _ => format!("{hint}INSERT INTO {table} (id, tenant, c) VALUES ({id}, {tenant}, f({tenant}))"),
        }
    }

    fn temporary(&mut self, tenant: usize) -> String {
        let hint = format!("/* tenant={tenant} */ ");
        match self.random.below(7) {
            0 => format!("{hint}CREATE TEMPORARY TABLE bal (id INT, tenant INT, c INT)"),
            1 => format!(
                "{hint}CREATE TEMPORARY TABLE IF NOT EXISTS items AS SELECT * FROM bal WHERE tenant={tenant}"
            ),
            2 => format!("{hint}CALL makes_temporary({tenant})"),
            3 => format!("{hint}DROP TEMPORARY TABLE IF EXISTS bal"),
            4 => format!("{hint}CREATE /*! TEMPORARY */ TABLE bal (id INT, tenant INT, c INT)"),
            5 => "CREATE TEMPORARY TABLE bal (id INT, tenant INT, c INT)".to_owned(),
            _ => format!(
                "INSERT INTO bal (id, tenant, c) VALUES ({}, {tenant}, 55)",
                self.id()
            ),
        }
    }

    fn variable(&mut self, tenant: usize) -> String {
        let hint = self.hint(tenant);
        match self.random.below(11) {
            0 | 1 => format!("SET @x={tenant}"),
            2 => "SELECT @x".to_owned(),
            // A comment says which shard to ask, and a function reads what is there.
            3 => format!("/* tenant={tenant} */ SET @x=f({tenant})"),
            4 => format!("SET @x=(SELECT SUM(c) FROM bal WHERE tenant={tenant})"),
            5 => format!(
                "SELECT @x:=c FROM bal WHERE tenant={tenant} AND id={}",
                10 * tenant
            ),
            6 => format!(
                "SELECT c FROM bal WHERE tenant={tenant} AND id={} INTO @x",
                10 * tenant
            ),
            7 => format!("{hint}CALL sets_variable({tenant})"),
            8 => format!("SELECT c+@x FROM bal WHERE tenant={tenant}"),
            9 => format!("SET /*! @x=f({tenant}), */ @y=1"),
            _ => format!("/*! SET @x={tenant} */"),
        }
    }

    fn show(&mut self, tenant: usize) -> String {
        match self.random.below(10) {
            0 => format!("SHOW TABLES WHERE f({tenant})"),
            1 => format!("SHOW TABLES WHERE EXISTS(SELECT 1 FROM bal WHERE tenant={tenant} AND c > 10)"),
            2 => "SHOW TABLES LIKE 'b%'".to_owned(),
            3 => format!("DO f({tenant})"),
            4 => format!("SELECT f({tenant})"),
            5 => format!("/* tenant={tenant} */ SELECT f({tenant})"),
            6 => format!("VALUES (f({tenant}))"),
            7 => "SELECT 1 UNION ALL TABLE bal".to_owned(),
            8 => format!("SELECT ROW_COUNT(), (SELECT SUM(c) FROM bal WHERE tenant={tenant})"),
            _ => format!("SELECT FOUND_ROWS(), f({tenant})"),
        }
    }

    fn dynamic(&mut self, tenant: usize) -> String {
        let (hint, id) = (self.hint(tenant), self.id());
        match self.random.below(13) {
            0 => format!("{hint}PREPARE s FROM 'SELECT c FROM bal WHERE tenant={tenant}'"),
            1 => "PREPARE s FROM 'SELECT @x'".to_owned(),
            2 => format!("{hint}PREPARE s FROM 'SELECT 42'"),
            3 => format!("{hint}PREPARE s FROM @q"),
            4 | 5 => format!("{hint}EXECUTE s"),
            6 => format!("{hint}EXECUTE IMMEDIATE 'SELECT c FROM bal WHERE tenant={tenant}'"),
            7 => format!("{hint}EXECUTE IMMEDIATE 'INSERT INTO bal VALUES ({id}, {tenant}, 3)'"),
            8 => format!("{hint}EXECUTE IMMEDIATE CONCAT('SELECT c FROM bal WHERE ten', 'ant={tenant}')"),
            9 => format!("{hint}EXECUTE IMMEDIATE 'SELECT 42'"),
            10 => "DEALLOCATE PREPARE s".to_owned(),
            11 => "SET @q='SELECT SUM(c) FROM bal'".to_owned(),
            _ => format!("SET STATEMENT max_statement_time=60 FOR SELECT c FROM bal WHERE tenant={tenant}"),
        }
    }

    fn transaction(&mut self, tenant: usize) -> String {
        match self.random.below(24) {
            0 => "BEGIN".to_owned(),
            1 => format!("/* tenant={tenant} */ START TRANSACTION"),
            2 | 3 => "COMMIT".to_owned(),
            4 => "ROLLBACK".to_owned(),
            5 => "SET autocommit=0".to_owned(),
            6 => "SET autocommit=1".to_owned(),
            7 => "SAVEPOINT a".to_owned(),
            8 => "SET autocommit=f(1)".to_owned(),
            9 | 10 => "BEGIN".to_owned(),
            11 => "COMMIT AND CHAIN".to_owned(),
            12 => "ROLLBACK AND CHAIN".to_owned(),
            13 => "COMMIT /*! AND CHAIN */".to_owned(),
            14 => "START TRANSACTION READ ONLY".to_owned(),
            15 => format!("/* tenant={tenant} */ XA START 'a{}'", self.id()),
            16 => "XA START 'x'".to_owned(),
            17 => "ROLLBACK TO a".to_owned(),
            18 => "SET SESSION TRANSACTION READ ONLY".to_owned(),
            19 => "XA START 'x'".to_owned(),
            20 => "XA END 'x'".to_owned(),
            21 => "XA COMMIT 'x' ONE PHASE".to_owned(),
            22 => "XA ROLLBACK 'x'".to_owned(),
            _ => "SET @@session.autocommit := 1, completion_type = 1".to_owned(),
        }
    }

    /// What a session may ask about itself and its last statement. FOUND_ROWS() is not asked alone: before the first SELECT
    /// of a session, MariaDB answers it with what an earlier session left.
    fn question(&mut self, tenant: usize) -> String {
        let question = self.random.of(&[
            "SELECT ROW_COUNT()",
            "SELECT LAST_INSERT_ID()",
            "SELECT @@in_transaction",
            "SELECT @@autocommit, @@in_transaction",
            "SELECT @@warning_count, @@error_count",
            "SHOW WARNINGS",
            "SHOW COUNT(*) WARNINGS",
            "SELECT 1/0",
            "SELECT DATABASE()",
            "SELECT @@tx_isolation, @@tx_read_only",
            "SELECT SQL_CALC_FOUND_ROWS 1 UNION SELECT 2 LIMIT 1",
            "SELECT CAST('1x' AS INT)",
            "GET DIAGNOSTICS @x = ROW_COUNT",
            "SELECT @@identity",
        ]);
        let hint = self.hint(tenant);
        format!("{hint}{question}")
    }

    fn setting(&mut self) -> String {
        self.random
            .of(&[
                "SET sql_mode=''",
                "SET sql_mode='PIPES_AS_CONCAT'",
                "SET sql_mode='ANSI_QUOTES'",
                "SET sql_mode='NO_BACKSLASH_ESCAPES'",
                "SET sql_mode='NO_ZERO_DATE,STRICT_ALL_TABLES'",
                "SET sql_mode=DEFAULT",
                "SET sql_mode='NO_UNSIGNED_SUBTRACTION,HIGH_NOT_PRECEDENCE'",
                "SET sql_mode='IGNORE_SPACE'",
                "SELECT 'a' || 'b', NOT 1 BETWEEN -5 AND 5",
                "SET time_zone='+03:00'",
                "SELECT @@session.time_zone",
                "SET sql_select_limit=2",
                "SET sql_select_limit=DEFAULT",
                "SET NAMES utf8mb4",
            ])
            .to_owned()
    }

    /// What means something else under another sql_mode.
    fn quoted(&mut self, tenant: usize) -> String {
        let other = self.random.of(&TENANTS);
        match self.random.below(9) {
            0 => format!("SELECT \"c\" FROM bal WHERE \"tenant\"={tenant}"),
            1 => format!("SELECT c FROM \"bal\" WHERE \"bal\".tenant={tenant}"),
            2 => format!("SELECT '\\' OR tenant={other} -- ', c\n FROM bal WHERE tenant={tenant}"),
            3 => format!("SELECT c FROM bal WHERE tenant={tenant} AND ('a'='\\' OR tenant={other} -- ')\n)"),
            4 => format!("SELECT '\\' /* tenant={other} */ ', c FROM bal WHERE tenant={tenant} # '"),
            5 => format!("SELECT \" /* tenant={other} */ \", c FROM bal WHERE tenant={tenant}"),
            6 => format!("SELECT c FROM bal WHERE tenant={tenant} AND 'it\\'s' <> \"x\""),
            7 => format!("SELECT c, 'a\\' FROM bal WHERE tenant={tenant}"),
            _ => format!(
                "SELECT c AS \"a\\\" FROM bal WHERE tenant={other} -- \" FROM bal WHERE tenant={tenant}"
            ),
        }
    }

    fn odd(&mut self, tenant: usize) -> String {
        let hint = format!("/* tenant={tenant} */ ");
        match self.random.below(10) {
            0 => format!("{hint}CALL touches({tenant})"),
            1 => format!("CALL touches({tenant})"),
            2 => format!("{hint}HANDLER bal OPEN"),
            3 => format!("{hint}HANDLER bal READ FIRST"),
            4 => format!("EXPLAIN SELECT c FROM bal WHERE tenant={tenant}"),
            5 => format!(
                "SELECT c FROM bal WHERE tenant={tenant} UNION SELECT c FROM items WHERE tenant={tenant}"
            ),
            6 => format!("WITH x AS (SELECT c FROM bal WHERE tenant={tenant}) SELECT * FROM x"),
            7 => format!("SELECT c || 'x' FROM bal WHERE tenant={tenant} AND id < 100"),
            8 => "SIGNAL SQLSTATE '45000'".to_owned(),
            _ => format!(
                "SELECT (SELECT SUM(c) FROM bal WHERE tenant={tenant}), c FROM items WHERE tenant={tenant}"
            ),
        }
    }

    /// The next statement of a session whose schema is a tenant's own.
    pub(crate) fn in_own_schema(&mut self) -> String {
        let (tenant, id) = (self.tenant(), self.id());
        let schema = format!("acct_{tenant:02}");
        match self.random.below(29) {
            0..=3 => "SELECT c FROM bal ORDER BY id".to_owned(),
            4 => format!("SELECT c FROM {schema}.bal"),
            5 => format!("SELECT c FROM /*! {schema}. */ bal"),
            6 => format!("SELECT c FROM /*M! {schema} */ /*! . */ bal"),
            7 => format!("EXECUTE IMMEDIATE 'SELECT c FROM {schema}.bal'"),
            8 => format!("PREPARE s FROM 'SELECT c FROM {schema}.bal'"),
            9 => "EXECUTE s".to_owned(),
            10 => format!("SHOW TABLES FROM {schema}"),
            11 => format!("SHOW COLUMNS FROM bal FROM {schema}"),
            12 => format!("DESCRIBE {schema}.bal"),
            13 => format!("SELECT c FROM {}.bal", schema.to_uppercase()),
            14 => format!("EXECUTE IMMEDIATE CONCAT('SELECT c FROM acct_', '{tenant:02}.bal')"),
            15 | 16 => format!("USE {schema}"),
            17 => "CREATE TEMPORARY TABLE IF NOT EXISTS bal (id INT, c INT)".to_owned(),
            18 => "DROP TEMPORARY TABLE IF EXISTS bal".to_owned(),
            19 => format!("INSERT INTO bal VALUES ({id}, 5)"),
            20 => "UPDATE bal SET c=c+1 WHERE id < 5".to_owned(),
            21 => "SELECT own(1)".to_owned(),
            22 => "SET @x=own(1)".to_owned(),
            23 => "SELECT @x, c FROM bal LIMIT 0".to_owned(),
            24 | 25 => self.transaction(tenant).replace("f(1)", "own(1)"),
            26 | 27 => self.question(tenant),
            _ => "SELECT c FROM v_own ORDER BY 1".to_owned(),
        }
    }
}
