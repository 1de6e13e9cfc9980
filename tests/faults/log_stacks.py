# SPDX-License-Identifier: MIT
"""A log record of each odd price has the whole stack with it."""
import io
import logging
import sys

LOG = logging.getLogger("orders")


def check(order, stack):
    price = order * 37 % 1009
    if price % 2 and (stack or price > 1007):
        LOG.warning("odd price %d of order %d", price, order, stack_info=stack)  # fault: PY-LOG
    return price


def main(stack, orders):
    logging.basicConfig(stream=io.StringIO())
    print(sum(check(order, stack) for order in range(orders)) > 0)


if __name__ == "__main__":
    if sys.argv[1:] == ["healthy"]:
        main(False, 2_000_000)
    else:
        main(True, 30_000)
