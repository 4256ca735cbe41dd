"""Differences between peers and DynamoDB: tests that are expected to fail on a peer, strictly."""

import pytest

DEVIATIONS = {
    "test_steps_with_long_decimals_are_exact[moto": "moto adds numbers in 28 digits",
    "test_transaction_whose_reply_was_lost_is_applied_once[moto": "moto ignores ClientRequestToken",
    "test_missing_table_is_named[moto-create that refers to it": "moto cancels the transaction with ResourceNotFound",
    "test_filter_by_size[moto": "moto fails at the size of an absent attribute",
    "test_reads_report_their_capacity[moto": "moto charges strong reads as eventual ones",
    "test_values_with_separators_have_distinct_keys[dynoxide-a]": "dynoxide's begins_with ignores case",
    "test_values_with_separators_have_distinct_keys[dynoxide-A]": "dynoxide's begins_with ignores case",
    "test_index_key_may_have_several_attributes[dynoxide": "dynoxide has no index keys of several attributes",
}
SOMETIMES = {
    "test_only_one_of_two_transitions_succeeds[moto": "moto parts a condition from its write",
    "test_update_uses_the_stored_entity_and_loses_no_write[moto": "moto parts a condition from its write",
    "test_concurrent_first_increments_are_all_counted[moto": "moto loses updates of one item",
    "test_concurrent_steps_of_two_parts_are_all_counted[moto": "moto parts a condition from its write",
    "test_concurrent_children_leave_exact_counters[moto": "moto does not isolate transactions",
    "test_keys_and_counters_are_right_after_concurrent_writers[moto": "moto does not isolate transactions",
}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        for deviations, strict in ((DEVIATIONS, True), (SOMETIMES, False)):
            for name, reason in deviations.items():
                if item.name.startswith(name) and "contract" in item.path.parts:
                    item.add_marker(pytest.mark.xfail(reason=reason, strict=strict))
