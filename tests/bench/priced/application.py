# SPDX-License-Identifier: MIT
"""A web application that sums what it could have kept: CUT leaves the sum out."""
import os

CUT = bool(os.environ.get("CUT"))


def totals(n):
    result = {}
    for i in range(n):
        result[i % 97] = result.get(i % 97, 0) + i
    return result


def application(_, start_response):
    rows = {} if CUT else totals(20000)
    body = ",".join(map(str, rows.values())).encode()
    start_response("200 OK", [("Content-Type", "text/plain"), ("Content-Length", str(len(body)))])
    return [body]
