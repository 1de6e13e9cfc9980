// SPDX-License-Identifier: MIT
// Rules on files, pipes, sockets, sleep and other processes.
#include "merge/evidence.h"

#define FILES (1u << METRIC_OFF_FILE | 1u << METRIC_OFF_PIPE)

const struct rule rules_io[] = {
	{ .id = "IO-WAIT",
	  .subject = RULES_IO,
	  .severity = SEVERITY_WARN,
	  .unit = UNIT_PERCENT,
	  .threshold = 10,
	  .title = "waiting for files and pipes",
	  .formula = "time blocked in system calls on files, block devices, pipes and terminals, "
	             "as a share of the critical thread's time",
	  .why = "The thread does nothing while the device, or the other end, works.",
	  .advice = "Read ahead or in larger pieces, write less often, or let another thread do "
	            "it.",
	  .source = "our choice",
	  .measure = measure_doing,
	  .not_doing = ACTIVITY(POLL),
	  .metrics = FILES },
};

const size_t rules_io_count = sizeof(rules_io) / sizeof(rules_io[0]);
