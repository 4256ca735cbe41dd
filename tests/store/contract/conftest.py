"""Where a peer differs from DynamoDB: the test is expected to fail there, and says so once it no longer does."""

import pytest

DEVIATIONS = {
    "test_steps_of_long_decimals_are_exact[moto": "moto adds numbers in 28 digits",
    "test_a_transaction_whose_reply_was_lost_is_done_once[moto": "moto ignores ClientRequestToken",
    "test_reading_reports_what_it_used[moto": "moto charges strong reads as eventual ones",
    "test_values_with_separators_never_meet[dynoxide-a]": "dynoxide's begins_with ignores case",
    "test_values_with_separators_never_meet[dynoxide-A]": "dynoxide's begins_with ignores case",
    "test_native_index_keys_of_several_attributes[dynoxide": "dynoxide has no index keys of several attributes",
}
SOMETIMES = {
    "test_of_two_answers_only_one_wins[moto": "moto parts a condition from its write",
    "test_update_decides_by_what_is_stored_and_loses_nothing[moto": "moto parts a condition from its write",
    "test_concurrent_children_leave_exact_counters[moto": "moto does not isolate transactions",
    "test_whatever_many_writers_do_keys_and_counters_say_what_is_stored[moto": "moto does not isolate transactions",
}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        for deviations, strict in ((DEVIATIONS, True), (SOMETIMES, False)):
            for name, reason in deviations.items():
                if item.name.startswith(name) and "contract" in item.path.parts:
                    item.add_marker(pytest.mark.xfail(reason=reason, strict=strict))
