"""SQLAlchemy on PyMySQL: its engine and pool, statements, reflection and objects."""

import sqlalchemy
from sqlalchemy import (
    DateTime, Column, ForeignKey, Index, Integer, MetaData, Numeric, String, Table, Text, event, exc, func, inspect, select, text,
)
from sqlalchemy.orm import DeclarativeBase, Mapped, Session, mapped_column, relationship, selectinload

from report import (
    AUTHORITY, HOST, PASSWORD, PORT, SCHEMA, SERVER, SOCKET, STRANGER, TIME_LIMIT, UNKNOWN_USER, USER, every_statement,
    feature, say, show,
)


def engine(database=SCHEMA, user=USER, password=PASSWORD, **options):
    url = sqlalchemy.URL.create(
        f"{SERVER}+pymysql", username=user, password=password, host=HOST, port=PORT, database=database,
        query={"charset": "utf8mb4"},
    )
    return sqlalchemy.create_engine(url, **options)


def run(connection, sql):
    # The driver's own parameters are not asked for: a `:` or `%` is itself.
    result = connection.exec_driver_sql(sql)
    if not result.returns_rows:
        return f"ok {result.rowcount}"
    return " ".join(show(tuple(row)) for row in result) or "no rows"


def selecting(sql="SELECT 1", **options):
    with engine(**options).connect() as connection:
        return run(connection, sql)


def connecting():
    feature("connect")(lambda: selecting(f"SELECT DATABASE() = '{SCHEMA}'"))
    feature("connect without a schema")(lambda: selecting("SELECT DATABASE()", database=None))
    feature("connect with a wrong password")(lambda: selecting(password="wrong"))
    feature("connect as an unknown user")(lambda: selecting(user=UNKNOWN_USER))
    feature("connect to an unknown schema")(lambda: selecting(database="nosuch"))
    for name, authority in (("connect with TLS", AUTHORITY), ("connect with TLS of another authority", STRANGER)):
        feature(name)(lambda authority=authority: selecting(connect_args={"ssl": {"ca": authority}}))
    feature("connect by unix socket")(lambda: selecting(connect_args={"unix_socket": SOCKET}))
    feature("connect with a first statement")(
        lambda: selecting("SELECT @first", connect_args={"init_command": "SET @first = 5"})
    )

    @feature("version in the greeting")
    def _():
        with engine().connect() as connection:
            dialect = connection.dialect
            return (dialect.is_mariadb, dialect.server_version_info[:2], dialect.default_schema_name == SCHEMA)

    for level in ("SERIALIZABLE", "AUTOCOMMIT"):

        @feature("isolation level" if level == "SERIALIZABLE" else "autocommit off")
        def _():
            made = engine(isolation_level=level)
            with made.connect() as connection:
                found = connection.get_isolation_level()
                return f"{found}, {run(connection, 'SELECT @@tx_isolation, @@autocommit')}"

    def pooled(**options):
        made = engine(pool_size=1, max_overflow=0, **options)
        with made.connect() as connection:
            number = run(connection, "SELECT CONNECTION_ID()")
            run(connection, "SET @left = 1")
            run(connection, "DROP TABLE IF EXISTS pooled")
            run(connection, "CREATE TABLE pooled (id INT)")
            run(connection, "INSERT INTO pooled VALUES (1)")
        with made.connect() as connection:
            again = run(connection, "SELECT CONNECTION_ID()") == number
            return f"the same connection: {again}, " + run(connection, "SELECT @left, (SELECT COUNT(*) FROM pooled)")

    feature("pool")(pooled)

    @feature("ping after the connection was killed")
    def _():
        made, killer = engine(pool_size=1, max_overflow=0, pool_pre_ping=True), engine(isolation_level="AUTOCOMMIT")
        with made.connect() as connection:
            number = connection.exec_driver_sql("SELECT CONNECTION_ID()").scalar()
        with killer.connect() as connection:
            run(connection, f"KILL {number}")
        with made.connect() as connection:
            return "another connection: " + str(connection.exec_driver_sql("SELECT CONNECTION_ID()").scalar() != number)

    @feature("time limit of a statement")
    def _():
        with engine().connect() as connection:
            run(connection, TIME_LIMIT)
            return run(connection, "SELECT BENCHMARK(1000000000000, MD5('x'))")


class Base(DeclarativeBase):
    pass


class Author(Base):
    __tablename__ = "author"
    id: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str] = mapped_column(String(50), unique=True)
    books: Mapped[list["Book"]] = relationship(back_populates="author", cascade="all, delete-orphan", order_by="Book.title")


class Book(Base):
    __tablename__ = "book"
    id: Mapped[int] = mapped_column(primary_key=True)
    title: Mapped[str] = mapped_column(String(80))
    price: Mapped[object] = mapped_column(Numeric(9, 2), nullable=True)
    author_id: Mapped[int] = mapped_column(ForeignKey("author.id"))
    author: Mapped[Author] = relationship(back_populates="books")


def tables():
    made = engine()

    @feature("migrations")
    def _():
        about = MetaData()
        Table(
            "shaped", about, Column("id", Integer, primary_key=True), Column("a", String(20), nullable=False, comment="né"),
            Column("b", DateTime, server_default=func.now()), Column("c", Text), Index("by_a", "a"), mysql_engine="InnoDB",
        )
        sent = []
        event.listen(made, "after_cursor_execute", lambda c, cursor, sql, *rest: sent.append(sql.split()[0]))
        about.create_all(made)
        about.create_all(made)
        with made.begin() as connection:
            connection.execute(text("ALTER TABLE shaped ADD COLUMN d INT, ADD UNIQUE KEY one (d)"))
        return " ".join(sent) + " " + ", ".join(sorted(inspect(made).get_table_names()))

    @feature("reflection")
    def _():
        Base.metadata.create_all(made)
        found = inspect(made)
        parts = []
        for name in ("author", "book", "shaped"):
            columns = [(c["name"], str(c["type"]), c["nullable"], c["default"]) for c in found.get_columns(name)]
            parts.append(f"{columns} {found.get_pk_constraint(name)['constrained_columns']} {found.get_foreign_keys(name)} "
                         f"{sorted(index['name'] for index in found.get_indexes(name))}")
        read = MetaData()
        read.reflect(made)
        return f"{'; '.join(parts)}; {sorted(read.tables)}"

    @feature("objects")
    def _():
        with Session(made) as session:
            session.add_all([
                Author(name=f"é {n}", books=[Book(title=f"b {m}", price=f"{m}.50") for m in range(3)]) for n in range(40)
            ])
            session.commit()
            first = session.scalars(select(Author).options(selectinload(Author.books)).order_by(Author.id).limit(1)).one()
            first.books.pop()
            first.name = "changed"
            session.flush()
            nested = session.begin_nested()
            try:
                session.add(Author(name="é 1"))
                session.flush()
                refused = "ok"
            except exc.IntegrityError as raised:
                refused = f"error {raised.orig.args[0]}"
                nested.rollback()
            session.delete(session.scalars(select(Author).where(Author.name == "é 2")).one())
            session.commit()
            totals = session.execute(select(func.count(Book.id), func.sum(Book.price), func.max(Author.id)).join(Author)).one()
            return f"{refused}, {[book.title for book in first.books]}, {show(tuple(totals))}"

    @feature("insert many rows")
    def _():
        table = Table("many", MetaData(), Column("id", Integer, primary_key=True), Column("a", String(20)))
        table.create(made)
        with made.begin() as connection:
            connection.execute(table.insert(), [{"a": f"row {n}"} for n in range(500)])
            returned = connection.execute(table.insert().returning(table.c.id), [{"a": "x"}, {"a": "y"}]).all()
            return show([tuple(row) for row in returned]) + show(tuple(connection.execute(
                select(func.count(), func.max(table.c.id))).one()))

    @feature("unbuffered rows")
    def _():
        with made.connect().execution_options(stream_results=True, max_row_buffer=100) as connection:
            return sum(row[0] for row in connection.execute(text("SELECT seq FROM seq_1_to_20000")))

    @feature("error with state")
    def _():
        kinds = []
        for sql in ("SELEC", "SELECT * FROM nosuch", "INSERT INTO author (id) VALUES (1), (1)", "KILL 4294967295"):
            try:
                with made.begin() as connection:
                    run(connection, sql)
            except exc.DBAPIError as raised:
                kinds.append(f"{type(raised).__name__} {raised.orig.args[0]} disconnected {raised.connection_invalidated}")
        return ", ".join(kinds)

    made.dispose()


say("client", f"SQLAlchemy {sqlalchemy.__version__}, PyMySQL")
connecting()
tables()
every_statement(lambda: engine(isolation_level="AUTOCOMMIT").connect(), run)
