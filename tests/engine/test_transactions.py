"""TransactWriteItems and TransactGetItems: all or nothing, once for each token, with cancellation reasons."""

import pytest

from tests.engine.shorthand import Json
from tests.engine.tables import Bench, index, plain, problems_of

TOKEN = "a-token"


@pytest.fixture
def notes(anywhere: Bench) -> str:
    anywhere.table("other", "pk:S")
    return anywhere.table("notes", "pk:S", index("byGroup", "g:S"))


def put(key: str, **item: object) -> Json:
    return {"Put": {"TableName": "notes", "Item": plain({"pk": key, **item})}}


def check(key: str, condition: str, **more: object) -> Json:
    return {
        "ConditionCheck": {
            "TableName": "notes",
            "Key": plain({"pk": key}),
            "ConditionExpression": condition,
            **more,
        }
    }


def update(key: str, expression: str, **values: object) -> Json:
    body: Json = {"TableName": "notes", "Key": plain({"pk": key}), "UpdateExpression": expression}
    if values:
        body["ExpressionAttributeValues"] = plain({f":{name}": each for name, each in values.items()})
    return {"Update": body}


def delete(key: str) -> Json:
    return {"Delete": {"TableName": "notes", "Key": plain({"pk": key})}}


def test_all_kinds_of_actions_run_in_one_transaction(anywhere: Bench, notes: str) -> None:
    anywhere.put("notes", pk="old", g="x")
    anywhere.put("notes", pk="counted", n=1)
    actions = [
        put("new", g="x"),
        delete("old"),
        update("counted", "SET n = n + :one", one=1),
        check("none", "attribute_not_exists(pk)"),
        {"Put": {"TableName": "other", "Item": plain({"pk": "new"})}},
    ]
    assert anywhere.ok("TransactWriteItems", TransactItems=actions) == {}
    assert {row["pk"]["S"] for row in anywhere.rows("notes")} == {"new", "counted"}
    assert anywhere.get("notes", pk="counted") == plain({"pk": "counted", "n": 2})
    assert anywhere.rows("notes", "byGroup") == [plain({"pk": "new", "g": "x"})]
    assert problems_of(anywhere.engine) == []


def test_failed_condition_cancels_the_transaction_with_reasons(anywhere: Bench, notes: str) -> None:
    anywhere.put("notes", pk="there", x="1")
    actions = [
        put("new"),
        check("there", "attribute_not_exists(pk)", ReturnValuesOnConditionCheckFailure="ALL_OLD"),
        check("there2", "attribute_exists(pk)", ReturnValuesOnConditionCheckFailure="ALL_OLD"),
        delete("other"),
    ]
    answer = anywhere.failed("TransactWriteItems", TransactItems=actions)
    assert answer.code == "TransactionCanceledException"
    assert answer.message == (
        "Transaction cancelled, please refer cancellation reasons for specific reasons "
        "[None, ConditionalCheckFailed, ConditionalCheckFailed, None]"
    )
    failed = {"Code": "ConditionalCheckFailed", "Message": "The conditional request failed"}
    assert answer.body["CancellationReasons"] == [
        {"Code": "None"},
        failed | {"Item": plain({"pk": "there", "x": "1"})},
        failed,
        {"Code": "None"},
    ]
    assert anywhere.get("notes", pk="new") is None


def test_cancellation_reason_has_the_item_only_on_request(anywhere: Bench, notes: str) -> None:
    anywhere.put("notes", pk="there")
    answer = anywhere.failed("TransactWriteItems", TransactItems=[check("there", "attribute_not_exists(pk)")])
    assert "Item" not in answer.body["CancellationReasons"][0]


@pytest.mark.parametrize(
    ("action", "message"),
    [
        (update("text", "SET x = x + :one", one=1), "An operand in the update expression has an incorrect data type"),
        (update("text", "SET y.z = :one", one=1),
         "The document path provided in the update expression is invalid for update"),
        (update("text", "SET y = z"), "The provided expression refers to an attribute that does not exist in the item"),
        (update("text", "SET y = :big", big="x" * 400 * 1024),
         "Item size to update has exceeded the maximum allowed size"),
    ],
)  # fmt: skip
def test_failing_update_is_a_cancellation_reason(anywhere: Bench, notes: str, action: Json, message: str) -> None:
    """API reference, TransactWriteItems, cancellation reasons."""
    anywhere.put("notes", pk="text", x="text")
    answer = anywhere.failed("TransactWriteItems", TransactItems=[put("new"), action])
    assert answer.code == "TransactionCanceledException"
    assert answer.body["CancellationReasons"] == [{"Code": "None"}, {"Code": "ValidationError", "Message": message}]
    assert anywhere.get("notes", pk="new") is None


@pytest.mark.parametrize(
    ("actions", "error"),
    [
        ([put("a"), delete("a")], "Transaction request cannot include multiple operations on one item"),
        ([put("a"), check("a", "attribute_exists(pk)")],
         "Transaction request cannot include multiple operations on one item"),
        ([{}], "Invalid Request: TransactWriteRequest should contain Delete or Put or Update request"),
        ([put("a") | delete("b")], "TransactItems can only contain one of Check, Put, Update or Delete"),
        ([], ("1 validation error detected: Value '[]' at 'transactItems' failed to satisfy constraint: Member must "
         "have length greater than or equal to 1")),
    ],
)  # fmt: skip
def test_invalid_transaction_is_rejected(anywhere: Bench, notes: str, actions: list[Json], error: str) -> None:
    assert anywhere.error("TransactWriteItems", TransactItems=actions) == f"ValidationException: {error}"
    assert anywhere.rows("notes") == []


def test_transaction_may_have_a_hundred_actions(anywhere: Bench, notes: str) -> None:
    actions = [put(f"{number:03}") for number in range(101)]
    anywhere.ok("TransactWriteItems", TransactItems=actions[:100])
    assert len(anywhere.rows("notes")) == 100
    answer = anywhere.failed("TransactWriteItems", TransactItems=actions)
    assert answer.code == "ValidationException"
    assert answer.message.endswith("Member must have length less than or equal to 100")


def test_transaction_may_have_four_megabytes(anywhere: Bench, notes: str) -> None:
    actions = [put(f"{number:03}", x="x" * 390 * 1024) for number in range(11)]
    anywhere.ok("TransactWriteItems", TransactItems=actions[:10])
    assert anywhere.failed("TransactWriteItems", TransactItems=actions).code == "ValidationException"
    assert len(anywhere.rows("notes")) == 10


def test_missing_table_rejects_the_transaction(anywhere: Bench, notes: str) -> None:
    actions = [put("a"), {"Delete": {"TableName": "missing", "Key": plain({"pk": "a"})}}]
    assert anywhere.failed("TransactWriteItems", TransactItems=actions).code == "ResourceNotFoundException"
    assert anywhere.rows("notes") == []


# Tokens --------------------------------------------------------------------------------------------------------


def test_repeated_token_has_no_effect(anywhere: Bench, notes: str) -> None:
    anywhere.put("notes", pk="counted", n=0)
    body: Json = {"TransactItems": [update("counted", "ADD n :one", one=1)], "ClientRequestToken": TOKEN}
    for _ in range(3):
        anywhere.ok("TransactWriteItems", **body)
    assert anywhere.get("notes", pk="counted") == plain({"pk": "counted", "n": 1})


def test_token_with_another_request_is_rejected(anywhere: Bench, notes: str) -> None:
    anywhere.ok("TransactWriteItems", TransactItems=[put("a")], ClientRequestToken=TOKEN)
    answer = anywhere.failed("TransactWriteItems", TransactItems=[put("b")], ClientRequestToken=TOKEN)
    assert answer.code == "IdempotentParameterMismatchException"
    assert anywhere.get("notes", pk="b") is None


def test_token_expires_after_ten_minutes(anywhere: Bench, notes: str) -> None:
    anywhere.put("notes", pk="counted", n=0)
    body: Json = {"TransactItems": [update("counted", "ADD n :one", one=1)], "ClientRequestToken": TOKEN}
    anywhere.ok("TransactWriteItems", **body)
    anywhere.clock.now += 599
    anywhere.ok("TransactWriteItems", **body)
    assert anywhere.get("notes", pk="counted") == plain({"pk": "counted", "n": 1})
    anywhere.clock.now += 2
    anywhere.ok("TransactWriteItems", **body)
    assert anywhere.get("notes", pk="counted") == plain({"pk": "counted", "n": 2})


def test_token_of_a_cancelled_transaction_may_be_used_again(anywhere: Bench, notes: str) -> None:
    body: Json = {"TransactItems": [check("a", "attribute_exists(pk)"), put("b")], "ClientRequestToken": TOKEN}
    assert anywhere.failed("TransactWriteItems", **body).code == "TransactionCanceledException"
    anywhere.put("notes", pk="a")
    anywhere.ok("TransactWriteItems", **body)
    assert anywhere.get("notes", pk="b") is not None


def test_token_survives_a_restart(filed: Bench) -> None:
    filed.table("notes", "pk:S")
    filed.put("notes", pk="counted", n=0)
    body: Json = {"TransactItems": [update("counted", "ADD n :one", one=1)], "ClientRequestToken": TOKEN}
    filed.ok("TransactWriteItems", **body)
    filed.reopen()
    filed.ok("TransactWriteItems", **body)
    assert filed.get("notes", pk="counted") == plain({"pk": "counted", "n": 1})


def test_maintenance_drops_old_tokens(anywhere: Bench, notes: str) -> None:
    for number in range(450):
        anywhere.ok("TransactWriteItems", TransactItems=[put(str(number))], ClientRequestToken=f"token-{number}")
    storage = anywhere.engine._context.storage
    assert storage.totals("tokens").rows == 450
    anywhere.clock.now += 300
    anywhere.ok("TransactWriteItems", TransactItems=[put("young")], ClientRequestToken="young")
    anywhere.clock.now += 400
    anywhere.settle()
    assert storage.totals("tokens").rows == 1


# Reading -------------------------------------------------------------------------------------------------------


def get(key: str, **more: object) -> Json:
    return {"Get": {"TableName": "notes", "Key": plain({"pk": key}), **more}}


def test_items_are_returned_in_the_order_of_the_request(anywhere: Bench, notes: str) -> None:
    anywhere.put("notes", pk="a", x=1)
    anywhere.put("notes", pk="b", x=2)
    answer = anywhere.ok("TransactGetItems", TransactItems=[get("b"), get("none"), get("a", ProjectionExpression="x")])
    assert answer == {"Responses": [{"Item": plain({"pk": "b", "x": 2})}, {}, {"Item": plain({"x": 1})}]}


def test_invalid_key_is_a_cancellation_reason(anywhere: Bench, notes: str) -> None:
    wrong = {"Get": {"TableName": "notes", "Key": plain({"x": "a"})}}
    answer = anywhere.failed("TransactGetItems", TransactItems=[get("a"), wrong])
    assert answer.code == "TransactionCanceledException"
    assert [reason["Code"] for reason in answer.body["CancellationReasons"]] == ["None", "ValidationError"]


def test_duplicate_item_is_rejected(anywhere: Bench, notes: str) -> None:
    assert anywhere.error("TransactGetItems", TransactItems=[get("a"), get("a")]) == (
        "ValidationException: Transaction request cannot include multiple operations on one item"
    )
