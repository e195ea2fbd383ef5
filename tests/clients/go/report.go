package main

import (
	"crypto/md5"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/go-sql-driver/mysql"
)

func variable(name string) string {
	value, found := os.LookupEnv("CLIENT_" + name)
	if !found {
		fmt.Fprintf(os.Stderr, "CLIENT_%s is not set\n", name)
		os.Exit(2)
	}
	return value
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}

// show gives a value with its type, short, and the same in every run.
func show(value any) string {
	switch value := value.(type) {
	case nil:
		return "NULL"
	case []byte:
		return "b" + text(string(value))
	case string:
		return text(value)
	case time.Time:
		return "time " + value.Format("2006-01-02 15:04:05.999999")
	default:
		return fmt.Sprintf("%T %v", value, value)
	}
}

func text(value string) string {
	if len(value) > 120 {
		return fmt.Sprintf("%d bytes %x", len(value), md5.Sum([]byte(value)))
	}
	return fmt.Sprintf("%q", value)
}

// failure gives a database's error by its number, and another one by its first words.
func failure(err error) string {
	var server *mysql.MySQLError
	if errors.As(err, &server) {
		return fmt.Sprintf("error %d", server.Number)
	}
	words := strings.Fields(err.Error())
	return "error " + strings.Join(words[:min(len(words), 4)], " ")
}

func feature(name string, work func() (string, error)) {
	if slices.Contains(strings.Split(os.Getenv("CLIENT_LEFT_OUT"), ", "), name) {
		return
	}
	outcome, err := guarded(work)
	if err != nil {
		outcome = failure(err)
	}
	fmt.Printf("%s: %s\n", name, strings.ReplaceAll(outcome, "\n", "\\n"))
}

func guarded(work func() (string, error)) (outcome string, err error) {
	defer func() {
		if raised, is := recover().(error); is {
			err = raised
		}
	}()
	return work()
}

// then gives the outcome of one step or its error, and what a next step gives.
func then(err error, next func() (string, error)) (string, error) {
	first := "ok"
	if err != nil {
		first = failure(err)
	}
	second, err := next()
	if err != nil {
		second = failure(err)
	}
	return first + ", then " + second, nil
}

// everyStatement runs every block of statements.sql on a connection of its own.
func everyStatement(suffix string, open func() *connection, ask func(*connection, string) (string, error)) {
	content, err := os.ReadFile(variable("STATEMENTS"))
	must(err)
	for _, block := range strings.Split(string(content), "\n\n")[1:] {
		lines := strings.Split(strings.Trim(block, "\n"), "\n")
		feature(strings.TrimPrefix(lines[0], "-- ")+suffix, func() (string, error) {
			opened := open()
			defer opened.close()
			outcomes := []string{}
			for _, line := range lines[1:] {
				outcome, err := ask(opened, strings.TrimSuffix(line, ";"))
				if err != nil {
					outcome = failure(err)
				}
				outcomes = append(outcomes, outcome)
			}
			return strings.Join(outcomes, " ; "), nil
		})
	}
}
