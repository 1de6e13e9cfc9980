# SPDX-License-Identifier: MIT
"""Five million calls as a trace: all are there, and memory does not grow with their number.

SLICES names the program that makes such profiles; ctest sets it.
"""
import json
import os
import subprocess

from harness import BOTTLENECK, Case, main

SLICES = os.environ.get("SLICES", "build/tests/slices")
MANY = 5_000_000
FEW = 500_000
MIB = 1 << 20


class Long(Case):
    def made(self, count):
        name = self.path(f"{count}.bneck")
        subprocess.run([SLICES, str(count), name], check=True, stdout=subprocess.DEVNULL)
        return name

    def peak(self, *arguments):
        """Bytes that bottleneck report had in memory at once."""
        pid = os.fork()
        if pid == 0:
            os.environ.update(self.environment())
            null = os.open(os.devnull, os.O_RDWR)
            for stream in range(3):
                os.dup2(null, stream)
            os.execv(BOTTLENECK, [BOTTLENECK, "report", *arguments])
        _, status, usage = os.wait4(pid, 0)
        self.assertEqual(status, 0)
        return usage.ru_maxrss * 1024

    def test_all_are_written_and_memory_is_that_of_the_file(self):
        peaks, sizes = {}, {}
        for count in (FEW, MANY):
            profile = self.made(count)
            sizes[count] = os.path.getsize(profile)
            trace = self.path("trace.json")
            peaks[count] = self.peak("--export", f"chrome={trace}", "--max-events", "0", profile)
            read = self.peak("--export", "collapsed", profile)
            # Beyond what reading the file takes there are a few blocks.
            self.assertLess(peaks[count] - read, 24 * MIB, f"{count}: {peaks} {read}")
        events = 0
        with open(trace, encoding="utf-8") as lines:
            for line in lines:
                if line.startswith('  {"ph":"X"') and '"cat":"cpu_op"' in line:
                    json.loads(line + "}")
                    events += 1
        self.assertEqual(events, MANY)
        self.assertGreater(os.path.getsize(trace), 20 * peaks[MANY] // 10)
        print(f"{MANY} calls: {sizes[MANY] / MANY:.1f} bytes of the profile each, "
              f"{peaks[MANY] / MIB:.0f} MiB of memory for a trace of "
              f"{os.path.getsize(trace) / MIB:.0f} MiB")


if __name__ == "__main__":
    main()
