// SPDX-License-Identifier: MIT
// Rules on memory: taking it, touching it for the first time, copying it.
#include "merge/rules/evidence.h"

#define ON_CPU (1u << METRIC_ON_CPU)

// It begins where memory is taken, even if giving it back takes longer.
static enum measured measure_churn(const struct evidence *e, const struct rule *rule,
                                   struct finding *finding)
{
	struct rule taking = *rule;
	struct finding begin = { .rule = rule };

	taking.not_doing |= ACTIVITY(RELEASE);
	measure_doing(e, &taking, &begin);
	if (begin.row_count)
		finding_add(finding, &begin.rows[0]);
	return measure_doing(e, rule, finding);
}

const struct rule rules_memory[] = {
	{ .id = "MEM-CHURN",
	  .subject = RULES_MEMORY,
	  .severity = SEVERITY_WARN,
	  .unit = UNIT_PERCENT,
	  .threshold = 20,
	  .within = { "CPU-SYS" },
	  .title = "memory is taken and given back all the time",
	  .formula = "CPU time in malloc, free, new, delete, mmap and munmap, as a share of the "
	             "critical thread's time, or of all CPU time",
	  .why = "It is spent on book-keeping, and what is fresh is not in the caches.",
	  .advice = "Take it once outside of the loop and use it again; reserve() what will be "
	            "needed; see where: bottleneck report --sort mem --by line.",
	  .source = "our choice",
	  .measure = measure_churn,
	  .doing = ACTIVITY(ALLOCATE),
	  .not_doing = ACTIVITY(FAULT) | ACTIVITY(THROW) | ACTIVITY(REGEX) | ACTIVITY(LINK) |
	               ACTIVITY(IMPORT),
	  .metrics = ON_CPU },
	{ .id = "MEM-FAULT",
	  .subject = RULES_MEMORY,
	  .severity = SEVERITY_WARN,
	  .unit = UNIT_PERCENT,
	  .threshold = 15,
	  .within = { "CPU-SYS", "MEM-CHURN" },
	  .title = "memory is touched for the first time",
	  .formula = "CPU time in page faults, but for those of mapped files, as a share of the "
	             "critical thread's time, or of all CPU time",
	  .why = "The kernel finds and clears a page at each first touch, which takes longer than "
	         "most work on it.",
	  .advice = "Use memory again in place of fresh one; ask for huge pages (madvise with "
	            "MADV_HUGEPAGE) where much is needed at once.",
	  .source = "our choice",
	  .measure = measure_doing,
	  .doing = ACTIVITY(FAULT),
	  .not_doing = ACTIVITY(MAPPED) | ACTIVITY(LINK) | ACTIVITY(IMPORT),
	  .metrics = ON_CPU },
	{ .id = "MEM-COPY",
	  .subject = RULES_MEMORY,
	  .severity = SEVERITY_WARN,
	  .unit = UNIT_PERCENT,
	  .threshold = 25,
	  .title = "memory is copied all the time",
	  .formula =
	          "CPU time in memcpy and memmove, with the page faults there, as a share of the "
	          "critical thread's time, or of all CPU time",
	  .why = "Nothing is worked out by a copy.",
	  .advice = "Pass a reference or a view; move in place of copying; grow a buffer by a "
	            "factor, or take all of it at once.",
	  .source = "our choice",
	  .measure = measure_doing,
	  .doing = ACTIVITY(COPY),
	  .not_doing = ACTIVITY(READ) | ACTIVITY(WRITE) | ACTIVITY(CONCAT) | ACTIVITY(SHIFT) |
	               ACTIVITY(STRING_END) | ACTIVITY(LINK) | ACTIVITY(IMPORT),
	  .metrics = ON_CPU },
};

const size_t rules_memory_count = sizeof(rules_memory) / sizeof(rules_memory[0]);
