# SPDX-License-Identifier: MIT
"""Statistics of each column of a table whose rows lie side by side."""
import sys

import numpy

ROWS, COLUMNS = 4_000, 4_096


def spread_of(sensors):
    total = 0.0
    for sensor in sensors:
        total += float(sensor.max())  # fault: CPU-STRIDE
    return total


if __name__ == "__main__":
    HEALTHY = sys.argv[1:] == ["healthy"]
    table = numpy.ones((ROWS, COLUMNS), dtype=numpy.float32)
    # The healthy one walks along memory, more often for the same time.
    sensors = table.reshape(COLUMNS, ROWS) if HEALTHY else table.T
    print({spread_of(sensors) for _ in range(60 if HEALTHY else 6)})
