# SPDX-License-Identifier: MIT
"""Each trade is written into an audit trail, with all that hangs on it."""
import dataclasses
import sys

TRADES = 40_000  # CPython 3.13 copies them four times as fast as 3.11


@dataclasses.dataclass
class Party:
    name: str
    limits: dict


@dataclasses.dataclass
class Trade:
    price: int
    volume: int
    buyer: Party
    tags: list


def trades():
    buyer = Party("bank", {"day": 100, "night": 10})
    return (Trade(i % 90, i % 7, buyer, ["auto", "matched"]) for i in range(TRADES))


def faulty():
    total = 0
    for trade in trades():
        row = dataclasses.asdict(trade)  # fault: PY-DEEPCOPY
        total += row["price"] * row["volume"]
    print(total)


def healthy():
    print(sum(trade.price * trade.volume for trade in trades()))


if __name__ == "__main__":
    healthy() if sys.argv[1:] == ["healthy"] else faulty()
