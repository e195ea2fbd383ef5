package main

import (
	"context"
	"database/sql"
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/go-sql-driver/mysql"
)

var background = context.Background()

// connection is one connection that nobody else takes, with the pool that it comes from.
type connection struct {
	*sql.Conn
	pool *sql.DB
}

type option func(*mysql.Config)

func settings(options ...option) *mysql.Config {
	config := mysql.NewConfig()
	config.Net, config.Addr = "tcp", variable("HOST")+":"+variable("PORT")
	config.User, config.Passwd, config.DBName = variable("USER"), variable("PASSWORD"), variable("SCHEMA")
	config.ParseTime = true
	config.Logger = &mysql.NopLogger{}
	for _, change := range options {
		change(config)
	}
	return config
}

func pool(options ...option) *sql.DB {
	// The text of the settings is read back: programs write it so.
	config, err := mysql.ParseDSN(settings(options...).FormatDSN())
	must(err)
	config.Logger = &mysql.NopLogger{}
	connector, err := mysql.NewConnector(config)
	must(err)
	return sql.OpenDB(connector)
}

func open(options ...option) *connection {
	db := pool(options...)
	conn, err := db.Conn(background)
	if err != nil {
		db.Close()
		panic(err)
	}
	return &connection{conn, db}
}

func (c *connection) close() {
	c.Conn.Close()
	c.pool.Close()
}

// Statements with rows go by another call of the driver than those without.
var withRows = regexp.MustCompile(
	`(?is)^\s*(/\*.*?\*/\s*)?(SELECT|SHOW|WITH|VALUES|CALL|DESCRIBE|EXPLAIN|ANALYZE|EXECUTE|BEGIN NOT|\w+.*\bRETURNING\b)`)

// run gives all results of a text.
func (c *connection) run(text string, values ...any) (string, error) {
	if !withRows.MatchString(text) {
		done, err := c.ExecContext(background, text, values...)
		return counted(done, err)
	}
	rows, err := c.QueryContext(background, text, values...)
	return results(rows, err)
}

func (c *connection) must(text string, values ...any) {
	_, err := c.run(text, values...)
	must(err)
}

// prepared gives all results of a statement that the server prepares.
func (c *connection) prepared(text string, values ...any) (string, error) {
	statement, err := c.PrepareContext(background, text)
	if err != nil {
		return "", err
	}
	defer statement.Close()
	if !withRows.MatchString(text) {
		done, err := statement.Exec(values...)
		return counted(done, err)
	}
	rows, err := statement.Query(values...)
	return results(rows, err)
}

func counted(done sql.Result, err error) (string, error) {
	if err != nil {
		return "", err
	}
	affected, err := done.RowsAffected()
	return fmt.Sprintf("ok %d", affected), err
}

func results(rows *sql.Rows, err error) (string, error) {
	if err != nil {
		return "", err
	}
	defer rows.Close()
	parts := []string{}
	for more := true; more; more = rows.NextResultSet() {
		part, err := result(rows)
		if err != nil {
			return "", err
		}
		parts = append(parts, part)
	}
	return strings.Join(parts, " + "), rows.Err()
}

func result(rows *sql.Rows) (string, error) {
	columns, err := rows.Columns()
	if err != nil {
		return "", err
	}
	lines := []string{}
	for rows.Next() {
		values, places := make([]any, len(columns)), make([]any, len(columns))
		for n := range values {
			places[n] = &values[n]
		}
		if err := rows.Scan(places...); err != nil {
			return "", err
		}
		shown := []string{}
		for _, value := range values {
			shown = append(shown, show(value))
		}
		lines = append(lines, "("+strings.Join(shown, ", ")+")")
	}
	if len(columns) == 0 {
		return "ok", rows.Err()
	}
	if len(lines) == 0 {
		return "no rows", rows.Err()
	}
	return strings.Join(lines, " "), rows.Err()
}

func (c *connection) number(text string, values ...any) (number int64) {
	must(c.QueryRowContext(background, text, values...).Scan(&number))
	return number
}

// waitUntilRunning returns when one statement with this marker in its text runs.
func waitUntilRunning(marker string) {
	looking := open()
	defer looking.close()
	text := "SELECT COUNT(*) FROM information_schema.processlist WHERE info LIKE '%" + marker +
		"%' AND info NOT LIKE '%processlist%' AND db = DATABASE()"
	for end := time.Now().Add(30 * time.Second); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		if looking.number(text) == 1 {
			return
		}
	}
	panic(fmt.Errorf("`%s` does not run", marker))
}
