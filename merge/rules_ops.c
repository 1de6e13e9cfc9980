// SPDX-License-Identifier: MIT
// Rules on ops.
#include "merge/evidence.h"

#include <string.h>

#define ON_CPU      (1u << METRIC_ON_CPU)
#define LOADER_NAME "enumerate(DataLoader)"

static const struct op_row *first_of(const struct op_rows *ops, const char *prefix)
{
	for (size_t i = 0; i < ops->count; i++)
		if (strncmp(ops->rows[i].name, prefix, strlen(prefix)) == 0)
			return &ops->rows[i];
	return NULL;
}

// What the training thread waits for its next batch, be it for workers or for its own work.
static enum measured measure_loader(const struct evidence *e, const struct rule *rule,
                                    struct finding *finding)
{
	const struct op_row *row = first_of(e->ops, LOADER_NAME);
	char place[300];

	(void)rule;
	if (!row)
		return MEASURED_NOTHING;
	evidence_weigh(e, row->total_ns, 0, finding);
	finding->value = 100 * finding->share;
	finding_add(finding, &(struct finding_row){
				     .function = row->function ? row->function : row->name,
				     .file = row->file,
				     .line = row->line,
				     .callee = row->name,
				     .ns = row->total_ns,
				     .share = finding->share,
				     .calls = row->calls,
			     });
	finding_place(finding->function, row->file, row->line, place, sizeof(place));
	return finding_say(finding, "waiting for the next batch: %.0f %% of the time, in %s",
	                   finding->value, place);
}

static uint64_t calls_of_tiny(const struct op_rows *ops)
{
	uint64_t calls = 0;

	for (size_t i = 0; i < ops->count; i++)
		if (op_is_tiny(&ops->rows[i]))
			calls += ops->rows[i].calls;
	return calls;
}

// Of tiny ops what is around each call counts as well: all of the lines that call them.
static enum measured measure_tiny(const struct evidence *e, const struct rule *rule,
                                  struct finding *finding)
{
	const struct rule whole = { .title = rule->title,
		                    .metrics = ON_CPU,
		                    .whole_places = rule->doing };
	uint64_t calls = calls_of_tiny(e->ops);

	if (!calls)
		return MEASURED_NOTHING;
	enum measured measured = measure_doing(e, &whole, finding);
	if (finding->row_count)
		finding->rows[0].calls = calls;
	return measured;
}

// Half the bytes, and twice as many numbers in a register.
static enum measured measure_double(const struct evidence *e, const struct rule *rule,
                                    struct finding *finding)
{
	enum measured measured = measure_doing(e, rule, finding);

	finding->saving_ns /= 2;
	return measured;
}

const struct rule rules_ops[] = {
	{ .id = "OP-LOADER",
	  .subject = RULES_OPS,
	  .severity = SEVERITY_WARN,
	  .unit = UNIT_PERCENT,
	  .threshold = 5,
	  .title = "waiting for the next batch",
	  .formula = "time in the next() of PyTorch's DataLoader, as a share of the critical "
	             "thread's time",
	  .why = "The model does nothing until its input is there.",
	  .advice = "DataLoader(num_workers=...) prepares batches beside the training; decode once "
	            "and keep the result; do less for each sample.",
	  .source = "TensorBoard's plugin and XProf: input above 5 % of the step",
	  .within = { "PY-INTERP", "IO-WAIT", "CPU-SYS", "MEM-COPY" },
	  .measure = measure_loader },
	{ .id = "OP-TINY",
	  .subject = RULES_OPS,
	  .severity = SEVERITY_WARN,
	  .unit = UNIT_PERCENT,
	  .threshold = 20,
	  .title = "tiny ops",
	  .formula =
	          "CPU time of the lines that call ops of less than 10 us on average, 10000 times "
	          "and more, as a share of the critical thread's time, or of all CPU time where "
	          "that is more",
	  .why = "To call an op takes longer than what it does.",
	  .advice = "Do many at once: whole arrays or batches in place of elements, a fused or "
	            "compiled function, plain code for a handful of numbers.",
	  .source = "our choice",
	  .within = { "PY-INTERP", "CPU-SYS" },
	  .measure = measure_tiny,
	  .doing = ACTIVITY(TINY),
	  .metrics = ON_CPU },
	{ .id = "OP-COPY",
	  .subject = RULES_OPS,
	  .severity = SEVERITY_WARN,
	  .unit = UNIT_PERCENT,
	  .threshold = 10,
	  .title = "copying tensors",
	  .formula =
	          "CPU time in PyTorch's ops that copy (copy_, clone, contiguous, to), as a share "
	          "of the critical thread's time, or of all CPU time where that is more",
	  .why = "The copy holds nothing new, only another layout, type or place.",
	  .advice = "Keep the layout and the type that the ops want from the beginning, work on "
	            "views, and write into what is there (out=, add_()).",
	  .source = "our choice",
	  .within = { "MEM-COPY", "MEM-FAULT" },
	  .measure = measure_doing,
	  .doing = ACTIVITY(TENSORS),
	  .metrics = ON_CPU },
	{ .id = "OP-DOUBLE",
	  .subject = RULES_OPS,
	  .severity = SEVERITY_INFO,
	  .unit = UNIT_PERCENT,
	  .threshold = 30,
	  .title = "linear algebra in double precision",
	  .formula = "CPU time in BLAS and LAPACK calls on double precision, as a share of the "
	             "critical thread's time, or of all CPU time where that is more",
	  .why = "Single precision takes half of the time and half of the memory.",
	  .advice =
	          "If 7 digits are enough, use float32: numpy's dtype=, the s... functions of BLAS. "
	          "That saves half of it at most.",
	  .source = "our choice",
	  .within = { "PY-INTERP" },
	  .measure = measure_double,
	  .doing = ACTIVITY(DOUBLE),
	  .metrics = ON_CPU },
};

const size_t rules_ops_count = sizeof(rules_ops) / sizeof(rules_ops[0]);
