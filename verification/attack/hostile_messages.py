"""Random messages that a decoder accepts, made fast: valid types, mostly meaningful values."""

import random
from collections.abc import Callable
from typing import Any

import msgspec

from protocol.framing import ProtocolError, decode, encode
from protocol.messages import REGISTRY
from protocol.messages.message_base import Message

WORDS = (
    "", "t", "t-0", "broker-0", "broker-1", "session-0", "client-0", "az-0", "__consumer_offsets", "/", "//",
    "/brokers", "/brokers/ids", "/brokers/ids/0", "/brokers/topics/t", "/brokers/topics/t/partitions/0/state",
    "/controller", "/controller_epoch", "/isr_change_notification", "/config/topics/t", "/admin/delete_topics/t",
    "/a/b/", "a/b", "g",
    "acks", "retries", "linger.ms", "enable.auto.commit", "looking", "following", "leading", "open", "close",
    "operations", "diff", "snap", "trunc", "created", "deleted", "changed", "children", "x" * 300, "\x00", "\x1b[2J",
    "é\u202e", "99999999999999999999", "-1", "{}", "null",
)  # fmt: skip
NUMBERS = (
    -(2**63), -(2**53), -(2**31) - 1, -(2**31), -1000, -102, -3, -2, -1, 0, 1, 2, 3, 5, 100, 1000, 30_000, 2**31 - 1,
    2**31, 2**32, 2**53, 2**62, 2**63 - 1,
)  # fmt: skip
FLOATS = (-1e308, -1.0, -0.0, 0.0, 1e-9, 0.5, 1.0, 10.0, 1e6, 1e308, float("inf"), float("nan"))


class Messages:
    """`any()`: of any type. `batches`: bytes that a records field may have."""

    def __init__(self, chance: random.Random, batches: list[bytes]) -> None:
        self._chance = chance
        self._batches = batches
        self._makers: dict[type, Callable[[], Any]] = {}
        self.types = [REGISTRY[place] for place in sorted(REGISTRY)]

    def any(self) -> Message:
        return self.of(self._chance.choice(self.types))

    def of(self, message: type[Message]) -> Message:
        """One that survives the way over the wire: a value out of the type's range is drawn again."""
        while True:
            made = self._make(message)
            try:
                return decode(encode(made)[4:]).message
            except (ProtocolError, OverflowError):
                continue

    def _make(self, cls: type) -> Any:
        maker = self._makers.get(cls)
        if maker is None:
            self._makers[cls] = lambda: None
            maker = self._makers[cls] = self._maker(msgspec.inspect.type_info(cls))
        return maker()

    def _maker(self, kind: msgspec.inspect.Type) -> Callable[[], Any]:
        chance = self._chance
        inspect = msgspec.inspect
        match kind:
            case inspect.Metadata(type=inner):
                return self._maker(inner)
            case inspect.BoolType():
                return lambda: chance.random() < 0.5
            case inspect.IntType(ge=low, le=high):
                allowed = [n for n in NUMBERS if (low is None or n >= low) and (high is None or n <= high)]
                allowed += [n for n in (low, high) if n is not None]
                return lambda: chance.choice(allowed) if chance.random() < 0.7 else chance.randrange(8)
            case inspect.FloatType(ge=low, le=high):
                fitting = [n for n in FLOATS if (low is None or n >= low) and (high is None or n <= high)]
                return lambda: chance.choice(fitting)
            case inspect.StrType(max_length=longest):
                words = [word for word in WORDS if longest is None or len(word) <= longest]
                return lambda: chance.choice(words)
            case inspect.BytesType():
                return self._bytes
            case inspect.NoneType():
                return lambda: None
            case inspect.ListType(item_type=item):
                one = self._maker(item)
                return lambda: [one() for _ in range(chance.choice((0, 1, 1, 1, 2, 3)))]
            case inspect.VarTupleType(item_type=item):
                one = self._maker(item)
                return lambda: tuple(one() for _ in range(chance.choice((0, 1, 2))))
            case inspect.TupleType(item_types=items):
                all_of = [self._maker(item) for item in items]
                return lambda: tuple(make() for make in all_of)
            case inspect.DictType(key_type=key, value_type=value):
                keys, values = self._maker(key), self._maker(value)
                return lambda: {keys(): values() for _ in range(chance.choice((0, 0, 1, 2)))}
            case inspect.UnionType(types=types):
                makers = [self._maker(one) for one in types]
                return lambda: chance.choice(makers)()  # noqa: PLW0108
            case inspect.LiteralType(values=literals):
                return lambda: chance.choice(literals)
            case inspect.StructType(cls=cls, fields=fields):
                made = [(field.encode_name, self._maker(field.type), field.required) for field in fields]
                names = [field.name for field in fields]

                def struct() -> Any:
                    given = {
                        name: make()
                        for name, (_, make, required) in zip(names, made, strict=True)
                        if required or chance.random() < 0.6
                    }
                    return cls(**given)

                return struct
        raise AssertionError(f"no values for {kind}")

    def _bytes(self) -> bytes:
        chance = self._chance
        which = chance.random()
        if which < 0.6 and self._batches:
            batch = bytearray(chance.choice(self._batches))
            if chance.random() < 0.5 and batch:
                for _ in range(chance.choice((1, 2, 8))):
                    batch[chance.randrange(len(batch))] = chance.randrange(256)
            if chance.random() < 0.2:
                batch = batch[: chance.randrange(len(batch) + 1)]
            return bytes(batch)
        if which < 0.8:
            return chance.choice(WORDS).encode()
        return chance.randbytes(chance.choice((0, 1, 30, 200)))
