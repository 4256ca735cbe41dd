"""Large requests wait as bytes, and are decoded and executed in turns of their own."""

import asyncio
import json
import threading
import zlib
from collections.abc import Callable
from typing import Any

import pytest

from partita.dynamodb.requests import Request
from partita.http.asgi import Message
from partita.http.request_body import decompressed
from partita.server import protocol_app
from partita.server.dispatch import LARGE, Dispatcher
from partita.server.large_requests import Execute, LargeRequests
from partita.server.protocol_app import MAX_DECOMPRESSIONS, Application
from partita.server.turns import Turns

PUT = b"DynamoDB_20120810.PutItem"


async def pass_turns() -> None:
    for _ in range(20):
        await asyncio.sleep(0)


def test_requests_in_progress_are_bounded_by_their_bytes() -> None:
    async def run() -> None:
        requests, executing = LargeRequests(Turns(), max_bytes=10), dict[str, Callable[[], None]]()

        def request(name: str) -> Callable[[], Execute]:
            return lambda: lambda finish: executing.update({name: finish})

        for name, size in {"a": 4, "b": 6, "c": 1, "d": 30, "e": 5, "f": 5}.items():
            requests.add(size, request(name))
        await pass_turns()
        assert list(executing) == ["a", "b"]
        executing.pop("a")()
        await pass_turns()
        assert list(executing) == ["b", "c"]
        executing.pop("b")()
        await pass_turns()
        assert list(executing) == ["c"]  # d is larger than the bound, and waits until it is alone
        executing.pop("c")()
        await pass_turns()
        assert list(executing) == ["d"]
        executing.pop("d")()
        await pass_turns()
        assert list(executing) == ["e", "f"]

    asyncio.run(run())


def test_other_callbacks_run_between_decoding_and_execution() -> None:
    async def run() -> list[str]:
        order: list[str] = []
        loop = asyncio.get_running_loop()

        def decode() -> Execute:
            order.append("decoded")
            loop.call_soon(order.append, "short")
            return execute

        def execute(finish: Callable[[], None]) -> None:
            order.append("executed")
            finish()

        class Busy(Turns):
            def timed(self, work: Callable[[], Any]) -> Any:
                result = work()
                self._spent += 1.0
                return result

        LargeRequests(Busy()).add(1, decode)
        await pass_turns()
        return order

    assert asyncio.run(run()) == ["decoded", "short", "executed"]


class Slow:
    """A backend that waits with its answers until a test releases them."""

    def __init__(self) -> None:
        self.started: list[Callable[[Any, BaseException | None], None]] = []

    def is_nonblocking(self, request: Request[Any]) -> bool:
        return False

    def call_nonblocking(self, request: Request[Any]) -> Any:
        raise NotImplementedError

    def start(self, request: Request[Any], done: Callable[[Any, BaseException | None], None]) -> None:
        self.started.append(done)

    async def call(self, request: Request[Any]) -> Any:
        raise NotImplementedError


def large_put(size: int = LARGE) -> bytes:
    return json.dumps({"TableName": "t", "Item": {"pk": {"S": "x" * size}}}).encode()


def test_large_request_is_not_decoded_while_others_are_in_progress() -> None:
    async def run() -> None:
        backend, answers = Slow(), list[int]()
        dispatcher = Dispatcher(backend)
        for _ in range(3):
            assert dispatcher.dispatch(PUT, large_put(600_000), lambda reply: answers.append(reply[0])) is None
        await pass_turns()
        assert len(backend.started) == 1
        for number in range(3):
            backend.started[number]({}, None)
            await pass_turns()
            assert len(backend.started) == min(3, number + 2)
        assert answers == [200, 200, 200]

    asyncio.run(run())


def test_invalid_and_unwanted_large_requests_make_room() -> None:
    async def run() -> None:
        backend, answers = Slow(), list[int]()
        dispatcher = Dispatcher(backend)
        dispatcher.dispatch(PUT, b"[" * 2_000_000, lambda reply: answers.append(reply[0]))
        dispatcher.dispatch(PUT, large_put(2_000_000), lambda reply: answers.append(reply[0]), lambda: False)
        dispatcher.dispatch(b"DynamoDB_20120810.Nothing", large_put(), lambda reply: answers.append(reply[0]))
        dispatcher.dispatch(PUT, large_put(), lambda reply: answers.append(reply[0]))
        await pass_turns()
        assert answers == [400, 400]
        assert len(backend.started) == 1

    asyncio.run(run())


def test_error_of_the_backend_makes_room() -> None:
    class Failing(Slow):
        def start(self, request: Request[Any], done: Callable[[Any, BaseException | None], None]) -> None:
            super().start(request, done)
            if len(self.started) == 1:
                raise RuntimeError("unexpected")

    async def run() -> None:
        backend, answers = Failing(), list[int]()
        dispatcher = Dispatcher(backend)
        for _ in range(2):
            dispatcher.dispatch(PUT, large_put(2_000_000), lambda reply: answers.append(reply[0]))
        await pass_turns()
        assert answers == [500]
        assert len(backend.started) == 2

    asyncio.run(run())


class Running(Slow):
    """The same as a backend that an application opens."""

    def __init__(self) -> None:
        super().__init__()
        self.arrived: asyncio.Queue[Callable[[Any, BaseException | None], None]] = asyncio.Queue()

    def start(self, request: Request[Any], done: Callable[[Any, BaseException | None], None]) -> None:
        super().start(request, done)
        self.arrived.put_nowait(done)

    async def close(self) -> None:
        pass


async def compressed_put(application: Application, body: bytes, statuses: list[int]) -> None:
    async def receive() -> Message:
        return {"type": "http.request", "body": zlib.compress(body, 9), "more_body": False}

    async def send(message: Message) -> None:
        if message["type"] == "http.response.start":
            statuses.append(message["status"])

    headers = [(b"x-amz-target", PUT), (b"content-encoding", b"deflate")]
    scope = {"type": "http", "method": "POST", "path": "/", "query_string": b"", "headers": headers}
    await application(scope, receive, send)


def test_few_bodies_that_were_compressed_are_in_memory_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """A body of 300 bytes may decompress to megabytes: not on the event loop, and only two until they are answered."""
    on_loop = list[int]()

    def noting(body: bytes, encodings: list[bytes], maximum: int) -> bytes:
        plain = decompressed(body, encodings, maximum)
        if threading.current_thread() is threading.main_thread():
            on_loop.append(len(plain))
        return plain

    async def run() -> None:
        backend, statuses = Running(), list[int]()
        opened, ending = asyncio.Event(), asyncio.Event()

        async def open_backend() -> Running:
            return backend

        async def receive() -> Message:
            if opened.is_set():
                await ending.wait()
            opened.set()
            return {}

        async def send(message: Message) -> None:
            pass

        application = Application(open_backend, lambda dispatcher: None)
        lifespan = asyncio.ensure_future(application({"type": "lifespan"}, receive, send))
        await opened.wait()
        await pass_turns()
        bodies = [large_put(300_000)] * 5 + [large_put(10)]
        puts = [asyncio.ensure_future(compressed_put(application, body, statuses)) for body in bodies]
        for number in range(len(bodies)):
            answer = await backend.arrived.get()
            await pass_turns()
            assert len(backend.started) <= 1 + MAX_DECOMPRESSIONS + number
            answer({}, None)
        await asyncio.gather(*puts)
        assert statuses == [200] * len(bodies)
        ending.set()
        await lifespan

    monkeypatch.setattr(protocol_app, "decompressed", noting)
    asyncio.run(run())
    assert on_loop == [len(large_put(10))]
