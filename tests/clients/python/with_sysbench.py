"""sysbench: its read-write transactions, with texts and with prepared statements; what happened, and no speed."""

import re
import subprocess

from report import HOST, PASSWORD, PORT, SCHEMA, USER, feature, say

CONNECTION = [
    "--db-driver=mysql", f"--mysql-host={HOST}", f"--mysql-port={PORT}", f"--mysql-user={USER}",
    f"--mysql-password={PASSWORD}", f"--mysql-db={SCHEMA}", "--mysql-ssl=off", "--tables=2", "--table-size=1000",
]


def sysbench(*arguments):
    done = subprocess.run(
        ["sysbench", "oltp_read_write", *CONNECTION, *arguments], capture_output=True, text=True, check=False, timeout=100,
    )
    if done.returncode:
        complaint = next((line for line in done.stdout.splitlines() if "FATAL" in line), f"status {done.returncode}")
        raise RuntimeError(complaint)
    return done.stdout


def benchmark(mode):
    sysbench("--threads=2", "prepare")
    # One thread: with more, deadlocks would come by chance.
    text = sysbench("--threads=1", "--events=100", "--time=60", "--rand-seed=7", f"--db-ps-mode={mode}", "run")
    counts = re.findall(r"(read|write|other|total|transactions|ignored errors|reconnects):\s+(\d+)", text)
    sysbench("cleanup")
    return "ok, " + ", ".join(f"{name} {count}" for name, count in counts)


def attempted(mode):
    try:
        return benchmark(mode)
    except RuntimeError as failed:
        return f"error {failed}"


version = subprocess.run(["sysbench", "--version"], capture_output=True, text=True, check=True).stdout
say("client", version.split("-")[0].strip())
feature("benchmark, text")(lambda: attempted("disable"))
feature("benchmark, prepared")(lambda: attempted("auto"))
