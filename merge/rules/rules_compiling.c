// SPDX-License-Identifier: MIT
// Rules on compilers that a program runs while it runs.
#include "merge/rules/compiling.h"
#include "merge/rules/evidence.h"

#include "base/error.h"
#include "base/share.h"

#include <stdio.h>
#include <string.h>

#define PARTS_MAX     4                   // compilers that are named
#define PART_SHARE    0.01                // of the time; what takes less is not named
#define FEW_COMPILING UINT64_C(300000000) // ns: what takes less is nobody's concern

// "Inductor 30 %, cc1plus 20 %": of what the finding's value is of.
static void name_parts(const struct compiling *c, bool by_cpu, uint64_t all_ns, char *text,
                       size_t size)
{
	size_t used = 0;
	int parts = 0;

	text[0] = '\0';
	for (size_t i = 0; i < c->count && parts < PARTS_MAX && used < size; i++) {
		const struct compiling_row *row = &c->rows[i];
		double share = share_of(by_cpu ? row->cpu_ns : row->wall_ns, all_ns);
		if (share < PART_SHARE)
			continue;
		used += (size_t)snprintf(text + used, size - used, "%s%.40s %.0f %%",
		                         parts++ ? ", " : "", row->name, 100 * share);
	}
}

static enum measured measure_compiling(const struct evidence *e, const struct rule *rule,
                                       struct finding *finding)
{
	struct error err;
	cleanup(compiling) struct compiling *c = query_compiling(e->profile, &e->query, &err);
	char parts[200], place[300] = "", whole[120];

	if (!c)
		return finding_lacks(finding, "there is no memory");
	if (!c->count)
		return MEASURED_NOTHING;
	enum measured measured = measure_doing(e, rule, finding);
	if (measured != MEASURED)
		return measured;
	if (finding->saving_ns < FEW_COMPILING)
		return MEASURED_NOTHING;
	bool of_all = finding->of_cpu && !finding->of_run;
	name_parts(c, finding->of_cpu, of_all ? c->all_cpu_ns : evidence_run_ns(e), parts,
	           sizeof(parts));
	if (finding->function)
		finding_place(finding->function, finding->file, finding->line, place,
		              sizeof(place));
	return finding_say(finding, "compiling took %.0f %% of %s%s%s%s%s%s", finding->value,
	                   evidence_whole(e, finding, whole, sizeof(whole)), *parts ? " (" : "",
	                   parts, *parts ? ")" : "", *place ? ", most begun by " : "", place);
}

const struct rule rules_compiling[] = {
	{ .id = "PY-COMPILE",
	  .subject = RULES_PYTHON,
	  .severity = SEVERITY_WARN,
	  .unit = UNIT_PERCENT,
	  .threshold = 10,
	  .whole_run = true,
	  .narrows = true,
	  .within = { "WARM-INIT", "PY-INTERP", "IO-WAIT", "CPU-SYS", "PY-IMPORT" },
	  .title = "compiling code at run time",
	  .formula = "time in torch.compile's compilers (Dynamo, AOTAutograd, Inductor, Triton), "
	             "those of JAX, Numba and C++ extensions, and in the programs that they start "
	             "(cc1plus, ninja, ptxas), waiting or not, without imports, as a share of the "
	             "critical thread's time",
	  .why = "Compilation is paid at the first call, and again for each new shape or type.",
	  .advice = "Keep the compiler's cache between runs (TORCHINDUCTOR_CACHE_DIR, "
	            "TRITON_CACHE_DIR, Numba's cache=True), mark dimensions that vary as dynamic, "
	            "and leave the first calls out of the measurement (--from-steady).",
	  .source = "our choice",
	  .measure = measure_compiling,
	  .doing = ACTIVITY(COMPILE),
	  .not_doing = ACTIVITY(IMPORT),
	  .metrics = ((1u << METRIC_COUNT) - 1) & ~(1u << METRIC_OFF_RUNNABLE) },
};

const size_t rules_compiling_count = sizeof(rules_compiling) / sizeof(rules_compiling[0]);
