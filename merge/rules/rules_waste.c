// SPDX-License-Identifier: MIT
// Rules on work that need not be done: the same again, more of it than there is to do, or for
// something that was meant to be rare.
#include "merge/rules/evidence.h"

#define ON_CPU (1u << METRIC_ON_CPU)

const struct rule rules_waste[] = {
	{ .id = "CPU-REGEX",
	  .subject = RULES_CPU,
	  .severity = SEVERITY_WARN,
	  .unit = UNIT_PERCENT,
	  .threshold = 10,
	  .title = "compiling regular expressions",
	  .formula = "CPU time in the compilers of regular expressions, as a share of the critical "
	             "thread's time, or of all CPU time where that is more",
	  .why = "To compile a pattern takes far longer than to match a line with it.",
	  .advice = "Compile each pattern once, outside of the loop, and keep it: re.compile(), a "
	            "static std::regex. Python's re module keeps the last 512 only.",
	  .source = "our choice",
	  .measure = measure_doing,
	  .within = { "CPU-SYS", "PY-INTERP", "MEM-CHURN", "MEM-COPY" },
	  .doing = ACTIVITY(REGEX),
	  .metrics = ON_CPU },
	{ .id = "CPU-THROW",
	  .subject = RULES_CPU,
	  .severity = SEVERITY_WARN,
	  .unit = UNIT_PERCENT,
	  .threshold = 10,
	  .title = "throwing exceptions",
	  .formula =
	          "CPU time in the runtime's functions that make, throw and catch exceptions, as a "
	          "share of the critical thread's time, or of all CPU time where that is more",
	  .why = "An exception costs a microsecond and more: it is made for what is rare.",
	  .advice = "Ask first, or return what went wrong: find() in place of at(), dict.get(), "
	            "std::optional, an error code.",
	  .source = "our choice",
	  .measure = measure_doing,
	  .within = { "CPU-SYS", "PY-INTERP", "MEM-CHURN", "MEM-COPY" },
	  .doing = ACTIVITY(THROW),
	  .not_doing = ACTIVITY(DEEPCOPY), // of their own
	  .metrics = ON_CPU },
	{ .id = "CPU-STREAM",
	  .subject = RULES_CPU,
	  .severity = SEVERITY_WARN,
	  .unit = UNIT_PERCENT,
	  .threshold = 15,
	  .within = { "MEM-CHURN", "MEM-COPY" },
	  .title = "making string streams",
	  .formula = "CPU time in the constructors and destructors of C++'s string streams, as a "
	             "share of the critical thread's time, or of all CPU time",
	  .why = "Each stream takes a copy of the text and looks up its locale: that costs more than "
	         "to read or write a number.",
	  .advice = "Read numbers by std::from_chars and write them by std::to_chars, or keep one "
	            "stream and give it new text: str(), clear().",
	  .source = "our choice",
	  .measure = measure_doing,
	  .doing = ACTIVITY(STREAM),
	  .metrics = ON_CPU },
	{ .id = "CPU-SHARED",
	  .subject = RULES_CPU,
	  .severity = SEVERITY_WARN,
	  .unit = UNIT_PERCENT,
	  .threshold = 20,
	  .title = "counting owners of shared pointers",
	  .formula = "CPU time in counting the owners of std::shared_ptr, without what it takes to "
	             "free the last one's, as a share of the critical thread's time, or of all CPU "
	             "time",
	  .why = "Each copy is an atomic addition, and one at its end: threads that copy the same "
	         "pointer take its memory from each other each time.",
	  .advice = "Pass what it points to by reference (const T &), or the pointer itself by "
	            "const reference; move it where it is handed over; copy once for each thread.",
	  .source = "our choice",
	  .measure = measure_doing,
	  .doing = ACTIVITY(SHARE),
	  .not_doing = ACTIVITY(RELEASE) | ACTIVITY(ALLOCATE),
	  .metrics = ON_CPU },
	{ .id = "CPU-SORT",
	  .subject = RULES_CPU,
	  .severity = SEVERITY_INFO,
	  .unit = UNIT_PERCENT,
	  .threshold = 30,
	  .title = "sorting",
	  .formula =
	          "CPU time in C's, C++'s and Python's functions that sort, without comparisons of the "
	          "user's own that are not inlined, as a share of the critical thread's time, or "
	          "of all CPU time",
	  .why = "To sort what was in order but for one element costs as much as to sort all of it.",
	  .advice =
	          "Sort once, when all of it is there; insert at its place (std::lower_bound, "
	          "Python's bisect), use a heap (heapq), or std::nth_element where one element is asked for.",
	  .source = "our choice",
	  .measure = measure_doing,
	  .doing = ACTIVITY(SORT),
	  .metrics = ON_CPU },
	{ .id = "CPU-COMPRESS",
	  .subject = RULES_CPU,
	  .severity = SEVERITY_INFO,
	  .unit = UNIT_PERCENT,
	  .threshold = 30,
	  .title = "compressing",
	  .formula = "CPU time in compressing data (zlib, bzip2, zstd, lz4), as a share of the "
	             "critical thread's time, or of all CPU time where that is more",
	  .why = "zlib's level 9 takes several times as long as level 1, for some percent less.",
	  .advice = "Take a lower level (gzip and zipfile of Python have 9 and 6 by default), or "
	            "zstd, which is faster at the same size; compress beside the work, in threads.",
	  .source = "our choice",
	  .measure = measure_doing,
	  .within = { "PY-INTERP" },
	  .doing = ACTIVITY(COMPRESS),
	  .metrics = ON_CPU },
	{ .id = "CPU-QUADRATIC",
	  .subject = RULES_CPU,
	  .severity = SEVERITY_WARN,
	  .unit = UNIT_PERCENT,
	  .threshold = 20,
	  .title = "work that grows with what is there already",
	  .formula = "CPU time in looking for the ends of strings, in adding to a string that is "
	             "copied for that, and in searching and shifting lists, as a share of the "
	             "critical thread's time, or of all CPU time where that is more",
	  .why = "Each step takes longer than the one before: twice the data take four times as "
	         "long.",
	  .advice = "Remember the end of the string, collect the parts and join them once, use a "
	            "set or a dict to look things up, and collections.deque for queues.",
	  .source = "our choice",
	  .measure = measure_doing,
	  .within = { "CPU-SYS", "PY-INTERP", "MEM-COPY", "MEM-FAULT" },
	  .doing = ACTIVITY(STRING_END) | ACTIVITY(CONCAT) | ACTIVITY(SHIFT),
	  .not_doing = ACTIVITY(REGEX),
	  .metrics = ON_CPU },
	{ .id = "CPU-SPIN",
	  .subject = RULES_CPU,
	  .severity = SEVERITY_WARN,
	  .unit = UNIT_PERCENT,
	  .threshold = 10,
	  .title = "waiting with a CPU",
	  .formula =
	          "CPU time in spin locks and sched_yield(), as a share of the critical thread's "
	          "time, or of all CPU time where that is more",
	  .why = "The CPU that asks again and again is missing where the work is done.",
	  .advice =
	          "Wait for the event itself: a condition variable, a semaphore, a futex, join().",
	  .source = "our choice",
	  .measure = measure_doing,
	  .within = { "CPU-SYS", "CPU-IMBALANCE" },
	  .doing = ACTIVITY(SPIN),
	  .not_doing = ACTIVITY(BARRIER) | ACTIVITY(BLAS),
	  .metrics = ON_CPU,
	  // Threads of libraries spin for a while before they sleep, by no choice of the user.
	  .placed = true },
	{ .id = "CPU-WAKE",
	  .subject = RULES_CPU,
	  .severity = SEVERITY_WARN,
	  .unit = UNIT_PERCENT,
	  .threshold = 20,
	  .within = { "CPU-SYS", "CPU-OVERSUB" },
	  .title = "taking locks and waking threads",
	  .formula = "CPU time in locks and condition variables, in the kernel or not, as a share "
	             "of the critical thread's time, or of all CPU time where that is more; not "
	             "waiting for them",
	  .why = "To put a thread to sleep and to wake it takes some microseconds of two CPUs, more "
	         "than a small piece of work; threads that are woken together wait for one lock.",
	  .advice = "Wake one thread for one piece of work (notify_one(), pthread_cond_signal()), "
	            "not all; hand over several pieces at once; take a lock once for many of them; "
	            "start no more threads than there are CPUs.",
	  .source = "our choice",
	  .measure = measure_doing,
	  .doing = ACTIVITY(MUTEX) | ACTIVITY(CONDITION),
	  .not_doing = ACTIVITY(GIL) | ACTIVITY(JOIN) | ACTIVITY(BARRIER) | ACTIVITY(IMPORT) |
	               ACTIVITY(LINK) | ACTIVITY(SPAWN),
	  .metrics = ON_CPU,
	  .placed = true },
	{ .id = "CPU-DOUBLE",
	  .subject = RULES_CPU,
	  .severity = SEVERITY_INFO,
	  .unit = UNIT_PERCENT,
	  .threshold = 30,
	  .title = "mathematics in double precision",
	  .formula = "CPU time in exp, log, pow, sin and their like of double, as a share of the "
	             "critical thread's time, or of all CPU time",
	  .why = "Those of float take half as long, and compilers can do four to sixteen of them at "
	         "once.",
	  .advice =
	          "If seven digits will do, use float and expf(), logf(), powf(); -ffast-math (or "
	          "-O3 with libmvec) does several at once. Small whole powers are "
	          "multiplications, polynomials Horner's rule.",
	  .source = "our choice",
	  .measure = measure_doing,
	  .doing = ACTIVITY(FLOAT64),
	  .not_doing = ACTIVITY(PYTHON),
	  .metrics = ON_CPU },
};

const size_t rules_waste_count = sizeof(rules_waste) / sizeof(rules_waste[0]);
