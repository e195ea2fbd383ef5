"""Many PyMySQL connections: each has autocommit off, reads, commits, and thinks, a few times.

They are in processes of a hundred threads: with more, a thread waits longer for the interpreter than for the database.
"""

import multiprocessing
import os
import sys
import threading
import time

import pymysql

CLIENTS = int(sys.argv[1])
THREADS = 100
ROUNDS = 5
THINK = 1.0



def connect():
    return pymysql.connect(
        host=os.environ["CLIENT_HOST"],
        port=int(os.environ["CLIENT_PORT"]),
        user=os.environ["CLIENT_USER"],
        password=os.environ["CLIENT_PASSWORD"],
        database=os.environ["CLIENT_SCHEMA"],
        autocommit=False,
    )


def work(connection, done, failures):
    try:
        for _ in range(ROUNDS):
            with connection.cursor() as cursor:
                cursor.execute("SELECT c FROM t WHERE id = 1")
                assert cursor.fetchone() == (7,)
            connection.commit()
            done.append(1)
            time.sleep(THINK)
        connection.close()
    except Exception as raised:  # every failure is reported
        failures.append(repr(raised))


def process(together, reports):
    done, failures = [], []
    connections = []
    try:
        connections = [connect() for _ in range(THREADS)]
    except Exception as raised:  # every failure is reported
        failures.append(repr(raised))
    together.wait()
    threads = [threading.Thread(target=work, args=(connection, done, failures)) for connection in connections]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    reports.put((len(done), failures))


context = multiprocessing.get_context("fork")
together, reports = context.Barrier(CLIENTS // THREADS), context.Queue()
for _ in range(CLIENTS // THREADS):
    context.Process(target=process, args=(together, reports)).start()
finished = [reports.get() for _ in range(CLIENTS // THREADS)]
done = sum(count for count, _ in finished)
failures = [failure for _, several in finished for failure in several]
print(f"{CLIENTS} clients, {done} transactions, {len(failures)} failures")
for failure in failures[:5]:
    print(failure)
sys.exit(done != CLIENTS * ROUNDS or bool(failures))
