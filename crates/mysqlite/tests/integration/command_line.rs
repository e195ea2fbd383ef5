//! The `mariadb` command-line client against a server.

use std::process::Command;

use crate::support::world;

/// What the client prints for `sql`, or what it complains about.
fn run(port: u16, arguments: &[&str], sql: &str) -> Result<String, String> {
    let output = Command::new("mariadb")
        .args([
            "--no-defaults",
            "--protocol=TCP",
            "--host=127.0.0.1",
            "--user=app",
            "--password=secret",
        ])
        .arg(format!("--port={port}"))
        .args(arguments)
        .args(["--execute", sql])
        .output()
        .expect("the `mariadb` client is on the PATH: `make test` installs it");
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    if output.status.success() {
        Ok(text(output.stdout))
    } else {
        Err(text(output.stderr))
    }
}

#[test]
fn tables_are_printed() {
    let world = world();
    let port = world.server.local_addr().port();
    let printed = run(
        port,
        &["--table", "Europe"],
        "SELECT Name, Population FROM City WHERE ID < 3",
    );
    let expected = "\
+--------+------------+
| Name   | Population |
+--------+------------+
| Berlin |    3386667 |
| Cork   |     127187 |
+--------+------------+
";
    assert_eq!(printed.as_deref(), Ok(expected));
    let shown = run(
        port,
        &["--batch", "Asia"],
        "SHOW DATABASES; SHOW TABLES; DESCRIBE Country; SELECT 'it\\'s', NULL",
    );
    let expected = "\
Database\nAsia\nEurope\nTables_in_Asia\nCountry\nField\tType\tNull\tKey\tDefault\tExtra\n\
Name\ttext\tYES\t\tNULL\t\nit's\tNULL\nit's\tNULL\n";
    assert_eq!(shown.as_deref(), Ok(expected));
}

#[test]
fn errors_are_printed() {
    let world = world();
    let port = world.server.local_addr().port();
    let complaint = run(port, &["Europe"], "SELECT * FROM Missing").unwrap_err();
    let last_line = complaint.lines().last();
    assert_eq!(
        last_line,
        Some("ERROR 1146 (42S02) at line 1: Table 'Europe.Missing' doesn't exist")
    );
    let denied = run(port, &["--user=nobody"], "SELECT 1").unwrap_err();
    assert!(
        denied.contains("ERROR 1045 (28000): Access denied for user 'nobody'@'127.0.0.1'"),
        "{denied}"
    );
}

#[test]
fn completion_reads_the_columns_of_tables() {
    let world = world();
    let port = world.server.local_addr().port();
    let printed = run(
        port,
        &["--auto-rehash", "--skip-column-names", "Europe"],
        "SELECT count(*) FROM City",
    );
    assert_eq!(printed.as_deref(), Ok("3\n"));
}
