"""Bounds on connections: when a bound is reached, the connection goes whose client does least."""

import socket
from dataclasses import dataclass, field

from partita.server.connections import LARGE, TRIM_EVERY, Connections, is_reset
from tests.peers import wait_until


@dataclass(eq=False)
class Connection:
    connections: Connections
    last_active: float
    waiting_since: float | None
    held: int = 0
    aborted: bool = field(default=False)

    def held_bytes(self) -> int:
        return self.held

    def abort(self) -> None:
        self.aborted = True


def opened(connections: Connections, count: int) -> list[Connection]:
    found = [Connection(connections, float(number), float(number)) for number in range(count)]
    for each in found:
        connections.add(each)
    return found


def numbers_aborted(found: list[Connection]) -> list[int]:
    return [number for number, each in enumerate(found) if each.aborted]


def test_connection_without_a_request_goes_first() -> None:
    connections = Connections(maximum=3)
    found = opened(connections, 3)
    connections.on_request(found[0])
    found += opened(connections, 1)
    assert numbers_aborted(found) == [1]


def test_connection_that_waits_longest_goes_next() -> None:
    connections = Connections(maximum=3)
    found = opened(connections, 3)
    for each in found:
        connections.on_request(each)
    found[0].waiting_since = None  # it is being answered
    found += opened(connections, 1)
    assert numbers_aborted(found) == [1]


def test_connection_goes_that_is_answered_longest_where_no_client_is_waited_for() -> None:
    connections = Connections(maximum=2)
    found = opened(connections, 2)
    for each in found:
        connections.on_request(each)
        each.waiting_since = None
    found += opened(connections, 1)
    assert numbers_aborted(found) == [0]


def test_removed_connection_makes_room() -> None:
    connections = Connections(maximum=2)
    found = opened(connections, 2)
    connections.remove(found[0])
    found += opened(connections, 1)
    assert numbers_aborted(found) == []


def test_memory_of_the_longest_waiting_is_freed() -> None:
    connections = Connections(max_buffered=10 * LARGE)
    found = opened(connections, 4)
    for each in found:
        each.held = 4 * LARGE
        connections.on_growth(each)
    assert numbers_aborted(found) == [0, 1]


def test_memory_of_requests_being_answered_is_not_freed() -> None:
    connections = Connections(max_buffered=10 * LARGE)
    found = opened(connections, 3)
    for each in found:
        each.held, each.waiting_since = 5 * LARGE, None
        connections.on_growth(each)
    assert numbers_aborted(found) == [2], "the one that grows goes, where no other waits for its client"


def test_reply_that_is_larger_than_the_bound_alone_is_sent() -> None:
    connections = Connections(max_buffered=10 * LARGE)
    found = opened(connections, 3)
    for each in found:
        each.held = 11 * LARGE
        connections.on_growth(each, is_reply=True)
    assert numbers_aborted(found) == [0, 1], "only those whose clients do not read"


def test_small_amounts_are_not_counted() -> None:
    connections = Connections(max_buffered=LARGE)
    found = opened(connections, 3)
    for each in found:
        each.held = LARGE - 1
        connections.on_growth(each)
    assert numbers_aborted(found) == []


def test_reset_of_a_connection_is_seen_without_reading() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        client = socket.create_connection(listener.getsockname())
        server, _ = listener.accept()
        with client, server:
            server.sendall(b"a reply")
            client.shutdown(socket.SHUT_WR)  # it may still read
            assert not is_reset(server)
            client.close()
            wait_until(lambda: is_reset(server))
        assert not is_reset(server)  # closed here


def test_memory_is_trimmed_after_much_was_released() -> None:
    trimmed = list[int]()
    connections = Connections(max_buffered=LARGE, trim_memory=lambda: trimmed.append(1))
    for number in range(4):
        (found,) = opened(connections, 1)
        found.held = TRIM_EVERY // 3
        connections.on_growth(found)
        assert found.aborted
        assert len(trimmed) == (number == 3)
