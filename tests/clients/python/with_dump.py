"""`mariadb-dump`, and `mariadb` that reads the dump."""

import re
import subprocess

from report import HOST, PASSWORD, PORT, SCHEMA, USER, feature, say

ACCESS = ["--no-defaults", f"--host={HOST}", f"--port={PORT}", "--protocol=tcp", f"--user={USER}", f"--password={PASSWORD}"]
RESTORED = f"{SCHEMA}_restored"
MADE = r"""
DROP TABLE IF EXISTS child, parent, words;
CREATE TABLE parent (id INT PRIMARY KEY AUTO_INCREMENT, a VARCHAR(50), b DECIMAL(10,3), c DATETIME(6), d BLOB, e JSON, f BIT(3));
CREATE TABLE child (id INT PRIMARY KEY, parent INT, CONSTRAINT to_parent FOREIGN KEY (parent) REFERENCES parent (id) ON DELETE CASCADE);
CREATE TABLE words (word VARCHAR(20) CHARACTER SET latin1, n TIMESTAMP NULL, KEY (word)) COMMENT 'it''s';
INSERT INTO parent VALUES (1, 'né \\ '' " 👍', 1.5, '2026-11-23 01:02:03.456789', X'00FF27225C0A0D1A', '{"a": 1}', b'101'),
  (2, NULL, NULL, NULL, NULL, NULL, NULL);
INSERT INTO child VALUES (1, 1), (2, 1), (3, NULL);
INSERT INTO words VALUES ('é', '2001-02-03 04:05:06');
INSERT INTO words SELECT a.word, a.n FROM words a, (WITH RECURSIVE n AS (SELECT 1 AS i UNION ALL SELECT i + 1 FROM n WHERE i < 999) SELECT i FROM n) b;
CREATE OR REPLACE VIEW joined AS SELECT p.a, c.id FROM parent p JOIN child c ON c.parent = p.id;
CREATE OR REPLACE VIEW above AS SELECT COUNT(*) AS n FROM joined;
DELIMITER //
CREATE TRIGGER IF NOT EXISTS before_child BEFORE INSERT ON child FOR EACH ROW SET NEW.id = NEW.id + 0 //
CREATE PROCEDURE IF NOT EXISTS counts(OUT n INT) BEGIN SELECT COUNT(*) INTO n FROM parent; END //
CREATE FUNCTION IF NOT EXISTS twice(n INT) RETURNS INT DETERMINISTIC RETURN n * 2 //
CREATE EVENT IF NOT EXISTS later ON SCHEDULE EVERY 1 YEAR DISABLE DO DELETE FROM words //
"""
LOOK = """
SELECT * FROM parent ORDER BY id; SELECT * FROM child ORDER BY id; SELECT COUNT(*), MIN(HEX(word)), MAX(n) FROM words;
SELECT * FROM joined ORDER BY id; SELECT n, twice(n) FROM above; CALL counts(@n); SELECT @n; CHECKSUM TABLE parent, child, words;
SHOW CREATE TABLE parent; SHOW CREATE TABLE child; SHOW CREATE TABLE words; SHOW CREATE VIEW above; SHOW CREATE PROCEDURE counts;
SHOW CREATE TRIGGER before_child; SHOW CREATE EVENT later;
"""


def client(text, schema=SCHEMA):
    return subprocess.run(
        ["mariadb", *ACCESS, "--batch", "--default-character-set=utf8mb4", schema], input=text.encode(),
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=120,
    ).stdout.decode(errors="backslashreplace")


def dump(*options):
    words = ["mariadb-dump", *ACCESS, *options, SCHEMA]
    done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=120)
    if done.returncode != 0 or done.stderr:
        return None, f"exit {done.returncode}: {done.stderr.decode(errors='backslashreplace')}"
    return done.stdout.decode(), ""


def seen(schema):
    """Rows and definitions, without what tells the moment and the schema."""
    text = client(LOOK, schema).replace(schema, "SCHEMA")
    return re.sub(r"(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)(?=\t(?:utf8|latin))", "MOMENT", text)


def dumped_and_restored(*options):
    text, failure = dump(*options)
    if text is None:
        return failure
    kinds = {word: len(re.findall(word, text)) for word in ("CREATE TABLE", "INSERT INTO", "TRIGGER", "PROCEDURE", "EVENT")}
    client(f"DROP DATABASE IF EXISTS {RESTORED}; CREATE DATABASE {RESTORED}")
    said = client(text, RESTORED)
    if said:
        return said.splitlines()[0]
    before, after = seen(SCHEMA), seen(RESTORED)
    lines = f"{len(before.splitlines())} lines"
    return f"{kinds}, restored {'the same' if before == after else 'differently'}, {lines}"


version = subprocess.run(["mariadb-dump", "--version"], stdout=subprocess.PIPE, check=True, text=True).stdout
say("client", "mariadb-dump " + re.search(r"(\d+\.\d+)\.\d+-MariaDB", version)[1])
said = client(MADE)
if said:
    say("dump", said)
OBJECTS = ["--routines", "--triggers", "--events"]
feature("dump")(lambda: f"{len(re.findall('^INSERT', dump(*OBJECTS)[0], re.M))} INSERT")
feature("restore")(lambda: dumped_and_restored(*OBJECTS))
feature("restore of a dump in one transaction")(lambda: dumped_and_restored(*OBJECTS, "--single-transaction", "--quick"))
feature("restore of a dump with other options")(
    lambda: dumped_and_restored(*OBJECTS, "--skip-opt", "--complete-insert", "--hex-blob", "--add-locks", "--create-options", "--lock-tables")
)
feature("restore of a dump with one row for each statement")(
    lambda: dumped_and_restored(*OBJECTS, "--skip-tz-utc", "--skip-extended-insert", "--replace")
)
