// The Go driver github.com/go-sql-driver/mysql by database/sql; lines `feature: outcome` as every client prints them.
package main

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"os"
	"runtime/debug"

	"github.com/go-sql-driver/mysql"
)

func main() {
	build, _ := debug.ReadBuildInfo()
	for _, module := range build.Deps {
		if module.Path == "github.com/go-sql-driver/mysql" {
			fmt.Printf("client: go-sql-driver %s\n", module.Version)
		}
	}
	connecting()
	writing()
	transactions()
	reading()
	sessions()
	ends()
	several := func() *connection { return open(func(c *mysql.Config) { c.MultiStatements = true }) }
	everyStatement("", several, func(c *connection, text string) (string, error) { return c.run(text) })
	alone := func() *connection { return open() }
	everyStatement(", prepared", alone, func(c *connection, text string) (string, error) { return c.prepared(text) })
}

// selecting opens a connection, and asks one thing.
func selecting(name, text string, options ...option) {
	feature(name, func() (string, error) {
		opened := open(options...)
		defer opened.close()
		return opened.run(text)
	})
}

func trusting(name string) option {
	roots := x509.NewCertPool()
	certificate, err := os.ReadFile(variable(name))
	must(err)
	roots.AppendCertsFromPEM(certificate)
	must(mysql.RegisterTLSConfig(name, &tls.Config{RootCAs: roots}))
	return func(c *mysql.Config) { c.TLSConfig = name }
}

func connecting() {
	selecting("connect", "SELECT DATABASE() = '"+variable("SCHEMA")+"'")
	selecting("connect without a schema", "SELECT DATABASE()", func(c *mysql.Config) { c.DBName = "" })
	selecting("connect with a wrong password", "SELECT 1", func(c *mysql.Config) { c.Passwd = "wrong" })
	selecting("connect as an unknown user", "SELECT 1", func(c *mysql.Config) { c.User = variable("UNKNOWN_USER") })
	selecting("connect to an unknown schema", "SELECT 1", func(c *mysql.Config) { c.DBName = "nosuch" })
	selecting("connect with TLS", "SELECT 1", trusting("AUTHORITY"))
	selecting("connect with TLS of another authority", "SELECT 1", trusting("STRANGER"))
	selecting("connect with TLS if there is TLS", "SELECT 1", func(c *mysql.Config) { c.TLSConfig = "preferred" })
	selecting("connect by unix socket", "SELECT 1", func(c *mysql.Config) {
		c.Net, c.Addr = "unix", variable("SOCKET")
	})
	compressed := func(c *mysql.Config) { must(c.Apply(mysql.EnableCompression(true))) }
	selecting("connect with compression", "SELECT REPEAT('x', 1000000)", compressed)
	selecting("connect with a first statement", "SELECT @@group_concat_max_len, @@time_zone", func(c *mysql.Config) {
		c.Params = map[string]string{"group_concat_max_len": "77", "time_zone": "'+05:30'"}
	})
	selecting("connect with attributes", "SELECT 1", func(c *mysql.Config) {
		c.ConnectionAttributes = "program_name:shop,team:é"
	})
	latin1 := func(c *mysql.Config) { must(c.Apply(mysql.Charset("latin1", "latin1_swedish_ci"))) }
	selecting("character set latin1", "SELECT 'n\xe9', HEX('n\xe9'), @@character_set_client", latin1)
}
