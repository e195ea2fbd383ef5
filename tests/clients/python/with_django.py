"""Django on mysqlclient: migrations, introspection, objects, transactions, `inspectdb`."""

import datetime
import decimal
import io

import django
from django.conf import settings
from django.core.management import call_command

from report import AUTHORITY, HOST, PASSWORD, PORT, SCHEMA, SOCKET, STRANGER, USER, every_statement, feature, say, show

DATABASE = {
    "ENGINE": "django.db.backends.mysql", "NAME": SCHEMA, "USER": USER, "PASSWORD": PASSWORD, "HOST": HOST, "PORT": str(PORT),
    "OPTIONS": {"charset": "utf8mb4", "ssl_mode": "DISABLED"},
}


def trusting(authority):
    return {"charset": "utf8mb4", "ssl_mode": "VERIFY_IDENTITY", "ssl": {"ca": authority}}


settings.configure(
    DATABASES={
        "default": DATABASE,
        "kept": {**DATABASE, "CONN_MAX_AGE": None, "CONN_HEALTH_CHECKS": True},
        "tls": {**DATABASE, "OPTIONS": trusting(AUTHORITY)},
        "stranger": {**DATABASE, "OPTIONS": trusting(STRANGER)},
        "local": {**DATABASE, "HOST": SOCKET},
        "serializable": {**DATABASE, "OPTIONS": {**DATABASE["OPTIONS"], "isolation_level": "serializable"}},
        "wrong": {**DATABASE, "PASSWORD": "wrong"},
        "atomic": {**DATABASE, "AUTOCOMMIT": False},
    },
    INSTALLED_APPS=["django.contrib.contenttypes", "django.contrib.auth", "django.contrib.sessions"],
    USE_TZ=True, TIME_ZONE="UTC", SECRET_KEY="x", DEFAULT_AUTO_FIELD="django.db.models.BigAutoField",
)
django.setup()

from django.contrib.auth.models import Group, Permission, User  # noqa: E402
from django.contrib.sessions.backends.db import SessionStore  # noqa: E402
from django.db import IntegrityError, connection, connections, models, transaction  # noqa: E402


class Order(models.Model):
    number = models.CharField(max_length=20, unique=True)
    user = models.ForeignKey(User, on_delete=models.CASCADE)
    price = models.DecimalField(max_digits=12, decimal_places=2)
    about = models.JSONField(default=dict)
    data = models.BinaryField(null=True)
    at = models.DateTimeField(null=True)
    took = models.DurationField(null=True)

    class Meta:
        app_label = "shop"


def run(using, sql):
    with using.cursor() as cursor:
        cursor.execute(sql)
        parts = []
        while True:
            rows = cursor.fetchall() if cursor.description else None
            parts.append(f"ok {cursor.rowcount}" if rows is None else " ".join(show(row) for row in rows) or "no rows")
            if not cursor.nextset():
                return " + ".join(parts)


def error(raised):
    return f"{type(raised).__name__} {raised.args[0]}"


def connecting():
    feature("connect")(lambda: run(connections["default"], f"SELECT DATABASE() = '{SCHEMA}', @@sql_mode, @@tx_isolation"))
    feature("connect with a wrong password")(lambda: run(connections["wrong"], "SELECT 1"))
    feature("connect with TLS")(lambda: run(connections["tls"], "SELECT 1"))
    feature("connect with TLS of another authority")(lambda: run(connections["stranger"], "SELECT 1"))
    feature("connect by unix socket")(lambda: run(connections["local"], "SELECT 1"))
    feature("isolation level")(lambda: run(connections["serializable"], "SELECT @@tx_isolation"))
    feature("autocommit off")(lambda: run(connections["atomic"], "SELECT @@autocommit, @@in_transaction"))

    @feature("version in the greeting")
    def _():
        about = connection.features
        return (connection.mysql_is_mariadb, connection.mysql_version[:2], about.supports_json_field, about.has_native_uuid_field)

    @feature("ping after the connection was killed")
    def _():
        kept = connections["kept"]
        with kept.cursor() as cursor:
            cursor.execute("SELECT CONNECTION_ID()")
            number = cursor.fetchone()[0]
        run(connection, f"KILL {number}")
        kept.close_if_unusable_or_obsolete()
        # As at the start of a request: the connection is tried, and another one made.
        kept.health_check_done = False
        with kept.cursor() as cursor:
            cursor.execute("SELECT CONNECTION_ID()")
            return f"another connection: {cursor.fetchone()[0] != number}"


def models_of_the_project():
    @feature("migrations")
    def _():
        out = io.StringIO()
        call_command("migrate", verbosity=1, stdout=out, no_color=True)
        with connection.schema_editor() as editor:
            editor.create_model(Order)
            field = models.CharField(max_length=9, default="né", db_index=True)
            field.set_attributes_from_name("kind")
            editor.add_field(Order, field)
            editor.remove_field(Order, field)
        return f"{out.getvalue().count('OK')} migrations, then " + ", ".join(sorted(connection.introspection.table_names()))

    @feature("reflection")
    def _():
        out = io.StringIO()
        call_command("inspectdb", "shop_order", "auth_user", stdout=out, no_color=True)
        with connection.cursor() as cursor:
            keys = connection.introspection.get_constraints(cursor, "shop_order")
        shown = sorted((key["columns"], key["primary_key"], key["unique"], key["foreign_key"]) for key in keys.values())
        return f"{show(out.getvalue())} {shown}"

    @feature("objects")
    def _():
        group = Group.objects.create(name="é")
        group.permissions.set(Permission.objects.filter(codename__startswith="add_"))
        users = User.objects.bulk_create([User(username=f"user {n}") for n in range(300)], batch_size=100)
        user = User.objects.get(username="user 7")
        user.groups.add(group)
        made = Order.objects.create(
            number="né 👍", user=user, price=decimal.Decimal("12.50"), about={"a": [1, None, "é"]}, data=b"\x00\xff'",
            at=datetime.datetime(2026, 11, 23, 1, 2, 3, 456789, tzinfo=datetime.timezone.utc), took=datetime.timedelta(hours=30),
        )
        Order.objects.filter(pk=made.pk).update(price=models.F("price") * 2)
        made.refresh_from_db()
        found = Order.objects.filter(about__a__0=1, user__groups__name="é").select_related("user").get()
        again, is_new = Order.objects.update_or_create(number="né 👍", defaults={"user": users[0] if users[0].pk else user})
        total = Order.objects.aggregate(models.Sum("price"), models.Count("id"))
        deleted = User.objects.filter(username__regex="^user [1-9]$").delete()
        return f"{show([found.user.username, made.price, made.about, bytes(made.data), made.at, made.took])} {is_new} {total} {deleted}"

    @feature("transaction by call")
    def _():
        user = User.objects.get(username="user 77")
        seen = []
        with transaction.atomic():
            Order.objects.create(number="1", user=user, price=1)
            try:
                with transaction.atomic():
                    Order.objects.create(number="1", user=user, price=1)
            except IntegrityError as raised:
                seen.append(error(raised).split(" ")[0] + f" {raised.args[0]}")
            transaction.on_commit(lambda: seen.append("committed"))
            locked = Order.objects.select_for_update(skip_locked=True).filter(number="1").count()
        try:
            with transaction.atomic():
                Order.objects.all().delete()
                raise KeyError
        except KeyError:
            return (seen, locked, Order.objects.count())

    @feature("sessions of users")
    def _():
        store = SessionStore()
        store["basket"] = ["né"]
        store.save()
        return (SessionStore(session_key=store.session_key)["basket"], SessionStore().exists("nosuch"))

    @feature("fixtures")
    def _():
        out = io.StringIO()
        call_command("dumpdata", "auth.group", "--natural-foreign", stdout=out)
        return out.getvalue()

    @feature("unbuffered rows")
    def _():
        return sum(len(user.username) for user in User.objects.order_by("pk").iterator(chunk_size=50))


say("client", f"Django {django.get_version()}, mysqlclient")
connecting()
models_of_the_project()


def opened():
    made = connection.copy()
    made.connect()
    return made


every_statement(opened, run)
