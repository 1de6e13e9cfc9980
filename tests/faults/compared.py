# SPDX-License-Identifier: MIT
"""Objects in order, by a comparison that dataclass() has made with exec()."""
import dataclasses
import operator
import sys

ROUNDS = 20
COUNT = 20_000


@dataclasses.dataclass(order=True)
class Order:
    price: int
    number: int


def rank(orders, key):
    orders.sort(key=key)  # fault: CPU-SORT


def check(orders):
    total = 0
    for place, order in enumerate(orders):
        total += place % 7 * (order.price % 11) + order.number % 5
        total ^= place * order.price % 13
    return total


def run(key):
    orders = [Order(0, number) for number in range(COUNT)]
    total = 0
    for round_ in range(1, ROUNDS):
        for order in orders:
            order.price = order.number * 7919 * round_ % 10007
        rank(orders, key)
        total += sum(check(orders[start:]) for start in range(4))
    print(total)


def healthy():
    run(operator.attrgetter("price", "number"))


if __name__ == "__main__":
    healthy() if sys.argv[1:] == ["healthy"] else run(None)
