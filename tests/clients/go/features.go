package main

import (
	"context"
	"database/sql"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/go-sql-driver/mysql"
)

func writing() {
	c := open()
	defer c.close()
	values := []any{
		int64(-5), uint64(18446744073709551615), 1.5, "12345.67890", "né 👍 '\"\\%", []byte("\x00\xff'\\\n"),
		time.Date(2026, 11, 23, 0, 0, 0, 0, time.UTC), time.Date(2026, 11, 23, 1, 2, 3, 456789000, time.UTC),
		"-30:00:00", true, `{"a": [1]}`,
	}
	bound := func(c *connection) (string, error) {
		c.must("DROP TABLE IF EXISTS calls")
		c.must("CREATE TABLE calls (a INT, b BIGINT UNSIGNED, c DOUBLE, d DECIMAL(20,5), e VARCHAR(20), " +
			"f BLOB, g DATE, h DATETIME(6), i TIME, j BOOL, k JSON)")
		insert := "INSERT INTO calls VALUES (" + strings.Repeat("?, ", len(values)-1) + "?)"
		c.must(insert, values...)
		c.must(insert, make([]any, len(values))...)
		return c.run("SELECT * FROM calls WHERE a = ? OR a IS NULL ORDER BY a DESC", -5)
	}
	feature("parameters", func() (string, error) { return bound(c) })
	feature("parameters in the text", func() (string, error) {
		written := open(func(c *mysql.Config) { c.InterpolateParams = true })
		defer written.close()
		return bound(written)
	})
	feature("insert many rows", func() (string, error) {
		c.must("DROP TABLE IF EXISTS calls")
		c.must("CREATE TABLE calls (id INT PRIMARY KEY AUTO_INCREMENT, a VARCHAR(20))")
		insert, err := c.PrepareContext(background, "INSERT INTO calls (a) VALUES (?)")
		must(err)
		defer insert.Close()
		for n := range 200 {
			_, err := insert.Exec(fmt.Sprintf("row %d", n))
			must(err)
		}
		return c.run("SELECT COUNT(*), MAX(a) FROM calls")
	})
	feature("last insert id", func() (string, error) {
		done, err := c.ExecContext(background, "INSERT INTO calls (a) VALUES ('x'), ('y')")
		must(err)
		first, _ := done.LastInsertId()
		done, err = c.ExecContext(background, "UPDATE calls SET id = LAST_INSERT_ID(id + ?) WHERE a = 'y'", 100000)
		must(err)
		second, err := done.LastInsertId()
		return fmt.Sprintf("%d, %d", first, second), err
	})
	changed := func(c *connection) (string, error) {
		first, err := c.run("UPDATE calls SET a = 'same' WHERE id <= 3")
		must(err)
		second, err := c.run("UPDATE calls SET a = ? WHERE id <= 5", "same")
		return first + ", " + second, err
	}
	feature("affected rows", func() (string, error) { return changed(c) })
	feature("found rows", func() (string, error) {
		return changed(open(func(c *mysql.Config) { c.ClientFoundRows = true }))
	})
	feature("LOAD DATA LOCAL", func() (string, error) {
		c.must("DROP TABLE IF EXISTS calls")
		c.must("CREATE TABLE calls (id INT, a VARCHAR(20))")
		mysql.RegisterReaderHandler("rows", func() io.Reader { return strings.NewReader("1\tone\n2\tzwei é\n3\t\\N\n") })
		loaded, err := c.run("LOAD DATA LOCAL INFILE 'Reader::rows' INTO TABLE calls CHARACTER SET utf8mb4")
		must(err)
		rows, err := c.run("SELECT * FROM calls ORDER BY id")
		return loaded + ", " + rows, err
	})
	feature("LOAD DATA LOCAL that the client refuses", func() (string, error) {
		_, err := c.run("LOAD DATA LOCAL INFILE '/nosuch' INTO TABLE calls")
		return then(err, func() (string, error) { return c.run("SELECT 1") })
	})
}

func transactions() {
	first, second := open(), open()
	defer first.close()
	defer second.close()
	begin := func(c *connection, options *sql.TxOptions) *sql.Tx {
		transaction, err := c.BeginTx(background, options)
		must(err)
		return transaction
	}
	execute := func(transaction *sql.Tx, text string, values ...any) error {
		_, err := transaction.Exec(text, values...)
		return err
	}
	feature("transaction by call", func() (string, error) {
		first.must("DROP TABLE IF EXISTS calls")
		first.must("CREATE TABLE calls (id INT PRIMARY KEY, a INT)")
		transaction := begin(first, nil)
		must(execute(transaction, "INSERT INTO calls VALUES (1, 1)"))
		must(transaction.Rollback())
		transaction = begin(first, nil)
		must(execute(transaction, "INSERT INTO calls VALUES (?, 2), (3, ?)", 2, 3))
		outside, err := second.run("SELECT COUNT(*) FROM calls")
		must(err)
		must(transaction.Commit())
		rows, err := second.run("SELECT * FROM calls ORDER BY id")
		return outside + ", " + rows, err
	})
	feature("isolation level", func() (string, error) {
		transaction := begin(first, &sql.TxOptions{Isolation: sql.LevelSerializable})
		// Only a SELECT in a serializable transaction locks the rows that it reads.
		rows, err := transaction.Query("SELECT id FROM calls WHERE id = 2")
		shown, err := results(rows, err)
		must(err)
		second.must("SET SESSION innodb_lock_wait_timeout = 1")
		_, waited := second.run("UPDATE calls SET a = 6 WHERE id = 2")
		must(transaction.Commit())
		return then(waited, func() (string, error) {
			level, err := first.run("SELECT @@tx_isolation")
			return shown + ", " + level, err
		})
	})
	feature("read only", func() (string, error) {
		transaction := begin(first, &sql.TxOptions{ReadOnly: true})
		defer transaction.Rollback()
		return "ok", execute(transaction, "INSERT INTO calls VALUES (4, 4)")
	})
	feature("two connections", func() (string, error) {
		transaction := begin(first, nil)
		defer transaction.Rollback()
		must(execute(transaction, "UPDATE calls SET a = 5 WHERE id = 2"))
		return second.run("UPDATE calls SET a = 6 WHERE id = 2")
	})
	feature("deadlock", func() (string, error) {
		second.must("SET SESSION innodb_lock_wait_timeout = 50")
		one, other := begin(first, nil), begin(second, nil)
		must(execute(one, "UPDATE calls SET a = 7 WHERE id = 2"))
		must(execute(other, "UPDATE calls SET a = 8 WHERE id = 3"))
		waiting := make(chan error)
		go func() { waiting <- execute(one, "UPDATE calls SET a = 9 /* dead lock */ WHERE id = 3") }()
		waitUntilRunning("dead lock")
		errors := []error{execute(other, "UPDATE calls SET a = 10 WHERE id = 2"), <-waiting}
		one.Rollback()
		other.Rollback()
		lost, won := 0, 0
		for _, err := range errors {
			if err == nil {
				won++
			} else if failure(err) == "error 1213" {
				lost++
			}
		}
		return fmt.Sprintf("ok: %d, error 1213: %d", won, lost), nil
	})
	feature("pool", func() (string, error) {
		shared := pool()
		defer shared.Close()
		shared.SetMaxOpenConns(1)
		_, err := shared.Exec("SET @left = 1")
		must(err)
		rows, err := shared.Query("SELECT @left")
		return results(rows, err)
	})
	feature("statement executed many times", func() (string, error) {
		statement, err := first.PrepareContext(background, "SELECT ? + 1, ?")
		must(err)
		defer statement.Close()
		total := int64(0)
		var transaction *sql.Tx
		for n := range 200 {
			if n%100 == 0 {
				if transaction != nil {
					must(transaction.Commit())
				}
				transaction = begin(first, nil)
			}
			var number int64
			var word string
			must(transaction.Stmt(statement).QueryRow(n, "é").Scan(&number, &word))
			total += number
		}
		return fmt.Sprint(total), transaction.Commit()
	})
}

const manyRows = "SELECT seq, REPEAT('x', 50) FROM seq_1_to_20000"

func reading() {
	c := open(func(c *mysql.Config) { c.MultiStatements = true })
	defer c.close()
	feature("unbuffered rows", func() (string, error) {
		rows, err := c.QueryContext(background, manyRows)
		must(err)
		total, number, word := 0, 0, ""
		for rows.Next() {
			must(rows.Scan(&number, &word))
			total += number
		}
		return fmt.Sprint(total), rows.Err()
	})
	feature("unbuffered rows that are left", func() (string, error) {
		rows, err := c.QueryContext(background, manyRows)
		must(err)
		rows.Next()
		return then(rows.Close(), func() (string, error) { return c.run("SELECT 2") })
	})
	feature("procedure with several results", func() (string, error) {
		c.must("CREATE PROCEDURE IF NOT EXISTS answers(IN n INT) BEGIN SELECT n; SELECT n + 1, 'x'; END")
		first, err := c.run("CALL answers(20)")
		must(err)
		second, err := c.prepared("CALL answers(?)", 21)
		return first + ", " + second, err
	})
	feature("several statements", func() (string, error) { return c.run("SELECT 1; DO 2; SELECT 'x', 3") })
	feature("several statements with an error", func() (string, error) {
		_, err := c.run("SELECT 1; SELECT nosuch; SELECT 3")
		return then(err, func() (string, error) { return c.run("SELECT 4") })
	})
	feature("error with state", func() (string, error) {
		states := []string{}
		for _, text := range []string{
			"SELEC", "SELECT * FROM nosuch", "SIGNAL SQLSTATE '45000' SET MYSQL_ERRNO = 30001, MESSAGE_TEXT = 'né'",
		} {
			_, err := c.run(text)
			server := err.(*mysql.MySQLError)
			states = append(states, fmt.Sprintf("%d %s %s", server.Number, server.SQLState, show(server.Message)))
		}
		return strings.Join(states, ", "), nil
	})
	feature("metadata", func() (string, error) {
		rows, err := c.QueryContext(background,
			"SELECT CAST(1 AS UNSIGNED) AS a, 'x' AS é, 1.5 AS c, NOW(3) AS d, NULL AS e, X'00' AS f")
		must(err)
		defer rows.Close()
		columns, err := rows.ColumnTypes()
		shown := []string{}
		for _, column := range columns {
			nullable, _ := column.Nullable()
			digits, scale, _ := column.DecimalSize()
			shown = append(shown, fmt.Sprintf("%s %s %s null %t %d.%d", column.Name(), column.DatabaseTypeName(),
				column.ScanType(), nullable, digits, scale))
		}
		return strings.Join(shown, ", "), err
	})
	feature("long data", func() (string, error) {
		small := open(func(c *mysql.Config) { c.MaxAllowedPacket = 65536 })
		defer small.close()
		return small.run("SELECT LENGTH(?), MD5(?), ?", strings.Repeat("0123456789", 50000), []byte("\x00\xff"), "é")
	})
}

func sessions() {
	feature("ping", func() (string, error) {
		c := open()
		defer c.close()
		return "ok", c.PingContext(background)
	})
	feature("ping after the connection was killed", func() (string, error) {
		c, killer := open(), open()
		defer c.close()
		defer killer.close()
		number := c.number("SELECT CONNECTION_ID()")
		killer.must(fmt.Sprintf("KILL %d", number))
		gone := "SELECT COUNT(*) FROM information_schema.processlist WHERE id = ?"
		for end := time.Now().Add(30 * time.Second); killer.number(gone, number) > 0 && time.Now().Before(end); {
			time.Sleep(10 * time.Millisecond)
		}
		pinged := c.PingContext(background)
		c.Conn.Close()
		return then(pinged, func() (string, error) {
			rows, err := c.pool.Query("SELECT 1")
			return results(rows, err)
		})
	})
}

func ends() {
	killed := func(kind string) func() (string, error) {
		return func() (string, error) {
			c, killer := open(), open()
			defer c.close()
			defer killer.close()
			number, marker := c.number("SELECT CONNECTION_ID()"), "asleep "+kind
			type answer struct {
				text string
				err  error
			}
			waiting := make(chan answer)
			go func() {
				text, err := c.run("SELECT BENCHMARK(1000000000000, MD5('x')), '" + marker + "'")
				waiting <- answer{text, err}
			}()
			waitUntilRunning(marker)
			killer.must(fmt.Sprintf("KILL %s %d", kind, number))
			ended := <-waiting
			outcome, err := then(ended.err, func() (string, error) { return c.run("SELECT 1") })
			return ended.text + " " + outcome, err
		}
	}
	feature("kill a statement", killed("QUERY"))
	feature("kill a connection", killed("CONNECTION"))
	feature("time limit of a statement", func() (string, error) {
		c := open()
		defer c.close()
		c.must(os.Getenv("CLIENT_TIME_LIMIT"))
		return c.run("SELECT BENCHMARK(1000000000000, MD5('x'))")
	})
	feature("time limit of the client", func() (string, error) {
		c := open(func(c *mysql.Config) { c.ReadTimeout = time.Second })
		defer c.close()
		return c.run("SELECT SLEEP(20)")
	})
	feature("cancelled by its context", func() (string, error) {
		c := open()
		defer c.close()
		limited, cancel := context.WithTimeout(background, 500*time.Millisecond)
		defer cancel()
		_, err := c.ExecContext(limited, "DO SLEEP(20)")
		return then(err, func() (string, error) {
			rows, err := c.pool.Query("SELECT 1")
			return results(rows, err)
		})
	})
	asking := func(c *mysql.Config) { c.MaxAllowedPacket = 0 }
	feature("packet of 17 MiB", func() (string, error) {
		c := open(asking)
		defer c.close()
		sent, back := strings.Repeat("0123456789abcdef", 17<<16), ""
		err := c.QueryRowContext(background, "SELECT '"+sent+"'").Scan(&back)
		return fmt.Sprintf("equal: %t", sent == back), err
	})
	feature("packet that is too large", func() (string, error) {
		c := open(func(c *mysql.Config) { c.MaxAllowedPacket = 64 << 20 })
		defer c.close()
		_, err := c.run("SELECT LENGTH('" + strings.Repeat("x", 25<<20) + "')")
		// Whether the error arrives before the end of the connection is chance.
		if err != nil {
			return "refused", nil
		}
		return "ok", nil
	})
}
