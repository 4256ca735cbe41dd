"""The pytest plugin, in a pytest run inside this one."""

import subprocess
import sys

import pytest

from partita import connect
from tests.timing import shortest

pytestmark = pytest.mark.slow

MILLISECOND = 0.001

TABLE = """
    def make_table(client):
        client.create_table(
            TableName="notes",
            KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}],
            AttributeDefinitions=[{"AttributeName": "pk", "AttributeType": "S"}],
            BillingMode="PAY_PER_REQUEST",
        )
"""


def test_engine_is_created_and_closed_within_a_millisecond() -> None:
    assert shortest(lambda: connect("memory:").close(), MILLISECOND, attempts=50) < MILLISECOND


def test_backend_fixture_takes_less_than_a_millisecond(pytester: pytest.Pytester) -> None:
    """The setup of a test with the fixture, less that of one without: processor time, the shortest of fifty."""
    pytester.makepyfile(
        """
        import time, pytest

        TIMES = {"bare": [], "partita": []}

        @pytest.fixture
        def begun():
            return time.thread_time()

        @pytest.fixture
        def nothing():
            yield

        @pytest.mark.parametrize("number", range(50))
        def test_bare(begun, nothing, number):
            TIMES["bare"].append(time.thread_time() - begun)

        @pytest.mark.parametrize("number", range(50))
        def test_partita(begun, partita_backend, number):
            TIMES["partita"].append(time.thread_time() - begun)

        def test_difference():
            bare, ours = (min(TIMES[name]) for name in ("bare", "partita"))
            assert ours - bare < 0.001
        """
    )
    pytester.runpytest_subprocess("-p", "no:cacheprovider", "-p", "no:xdist").assert_outcomes(passed=101)


def test_each_test_has_an_empty_engine(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        TABLE
        + """
    import pytest
    from partita.dynamodb.requests import ListTables

    @pytest.mark.parametrize("number", [1, 2])
    def test_tables(partita_backend, partita_client, number):
        assert partita_backend.call(ListTables()).table_names == []
        make_table(partita_client)
        assert partita_backend.call(ListTables()).table_names == ["notes"]
    """
    )
    pytester.runpytest_inprocess().assert_outcomes(passed=2)


def test_clients_of_the_code_under_test_use_the_engine(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        TABLE
        + """
    import boto3

    def code_under_test():
        boto3.resource("dynamodb").Table("notes").put_item(Item={"pk": "a"})

    def test_code(partita_boto3, partita_resource):
        make_table(partita_boto3.client("dynamodb"))
        code_under_test()
        assert partita_resource.Table("notes").scan()["Items"] == [{"pk": "a"}]
    """
    )
    pytester.runpytest_inprocess().assert_outcomes(passed=1)


def test_clock_fixture_moves_time(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        TABLE
        + """
    def test_expiry(partita_clock, partita_client):
        make_table(partita_client)
        partita_client.update_time_to_live(
            TableName="notes", TimeToLiveSpecification={"Enabled": True, "AttributeName": "until"}
        )
        until = {"N": str(int(partita_clock.now.timestamp()) + 60)}
        partita_client.put_item(TableName="notes", Item={"pk": {"S": "a"}, "until": until})
        partita_clock.move(59)
        assert partita_client.scan(TableName="notes")["Count"] == 1
        partita_clock.move(2)
        assert partita_client.scan(TableName="notes")["Count"] == 0
    """
    )
    pytester.runpytest_inprocess().assert_outcomes(passed=1)


def test_fixtures_are_listed_with_descriptions(pytester: pytest.Pytester) -> None:
    listed = pytester.runpytest_inprocess("--fixtures")
    listed.stdout.fnmatch_lines(["partita_backend*", "*An empty DynamoDB engine in this process, for one test."])


def test_unused_plugin_imports_nothing() -> None:
    code = """if True:
        import pytest, sys
        before = set(sys.modules)
        import partita.pytest_plugin
        print(sorted(set(sys.modules) - before))
        """
    loaded = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout.strip()
    layers = ("base", "design", "operation", "service", "storage", "store")
    errors = ["partita.errors", *(f"partita.errors.{layer}_error{'s' * (layer != 'base')}" for layer in layers)]
    others = ["partita.pytest_plugin", "partita.setting_rules", "partita.store", "partita.store.settings"]
    assert loaded == str(["partita", "partita.connect", *errors, *others])
