// SPDX-License-Identifier: MIT
// Rules on loops of the user's own that no other rule explains, by what their machine code does
// (symbolize/loop/loop_fact.h).
#include "base/array.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/origin.h"
#include "base/path.h"
#include "base/rung.h"
#include "base/share.h"
#include "base/strings.h"
#include "merge/profile/profile_parts.h"
#include "merge/rules/evidence.h"
#include "symbolize/loop/loop_fact.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ON_CPU         (1u << METRIC_ON_CPU)
#define KB             1024
#define FAR_BYTES      256 /* of a stride: so wide ones are late in whatever cache */
#define CACHED_BYTES   (UINT64_C(32) << 20) /* of memory, that caches may hold */
#define TOGETHER_SHARE 0.1 // of the time that threads were on CPUs, two or more at once

// Whatever else is known of what a stack does explains it better.
#define EXPLAINED (~(ACTIVITIES_IN_LOOPS | ACTIVITIES_WITHIN | ACTIVITY(MOVED)))

struct loop_row {
	uint32_t loop;   // string: its fact
	uint32_t place;  // of the user's own, see struct activity_time
	uint32_t callee; // what that has called, in which the loop is; 0: the loop is its own
	uint64_t critical_ns, cpu_ns, most_ns; // the latter at that place
};

// Of the hot functions alone there are some; a damaged profile may hold any number.
#define LOOPS_MAX 256

struct loop_rows {
	struct loop_row *rows;
	size_t count, capacity;
	uint64_t critical_ns, cpu_ns;
	double queue_ns;
};

static void loop_rows_at_scope_end(struct loop_rows *loops)
{
	free(loops->rows);
}

static bool add_time(struct loop_rows *loops, const struct activity_time *time)
{
	size_t at = 0;

	loops->critical_ns += time->critical_ns[METRIC_ON_CPU];
	loops->queue_ns += time->queue_ns;
	loops->cpu_ns += time->ns[METRIC_ON_CPU];
	while (at < loops->count && loops->rows[at].loop != time->loop)
		at++;
	if (at == LOOPS_MAX)
		return true;
	if (at == loops->count) {
		if (!array_reserve(&loops->rows, &loops->capacity, loops->count + 1))
			return false;
		loops->rows[loops->count++] = (struct loop_row){ .loop = time->loop,
			                                         .place = time->place,
			                                         .callee = time->callee };
	}
	// A sample in what was inlined from the user's own code has called nothing.
	if (!loops->rows[at].callee)
		loops->rows[at].callee = time->callee;
	if (time->callee && time->ns[METRIC_ON_CPU] > loops->rows[at].most_ns) {
		loops->rows[at].most_ns = time->ns[METRIC_ON_CPU];
		loops->rows[at].place = time->place;
		loops->rows[at].callee = time->callee;
	}
	loops->rows[at].critical_ns += time->critical_ns[METRIC_ON_CPU];
	loops->rows[at].cpu_ns += time->ns[METRIC_ON_CPU];
	return true;
}

// The function of the line that FACT has: one that was inlined into it may be at the sample.
static const char *function_at(const struct profile *p, uint32_t loop, const struct loop_fact *fact)
{
	for (uint32_t id = 1; fact->file && id <= profile_locations(p)->count; id++) {
		const struct location *location = profile_location(p, id);
		const struct place *places = profile_places(p, location);
		for (uint32_t i = 0; location->loop == loop && i < location->place_count; i++)
			if (places[i].line == fact->line &&
			    strings_same(profile_string(p, places[i].file), fact->file))
				return profile_string(p, places[i].function);
	}
	return NULL;
}

// The function that a loop stands in: the innermost that is the user's own, or the file of code
// where it has no name.
static const char *function_of(const struct profile *p, uint32_t loop)
{
	const struct location *location = NULL;

	for (uint32_t id = 1; id <= profile_locations(p)->count && !location; id++)
		if (profile_location(p, id)->loop == loop)
			location = profile_location(p, id);
	const struct module *module = location ? profile_module(p, location->module) : NULL;
	const struct place *places = location ? profile_places(p, location) : NULL;
	for (uint32_t i = 0; places && i < location->place_count; i++) {
		const char *file = profile_string(p, places[i].file);
		const char *name = profile_string(p, places[i].function);
		if (name && (i + 1u == location->place_count ||
		             !origin_is_foreign(module ? module->path : NULL, file)))
			return name;
	}
	return module && module->path ? path_base(module->path) : "?";
}

static void print_bytes(uint64_t bytes, char *buffer, size_t size)
{
	if (bytes >= KB && bytes % KB == 0)
		snprintf(buffer, size, "%" PRIu64 " KB", bytes / KB);
	else
		snprintf(buffer, size, "%" PRIu64 " byte%s", bytes, bytes == 1 ? "" : "s");
}

// What the loop does, after "a loop that".
static void describe_loop(const struct loop_fact *fact, char *buffer, size_t size)
{
	char bytes[40], more[40];

	print_bytes(fact->bytes, bytes, sizeof(bytes));
	switch (fact->kind) {
	case LOOP_WAIT:
		snprintf(buffer, size, "re-reads one memory address until it changes");
		break;
	case LOOP_CHASE:
		snprintf(buffer, size,
		         "takes each load's address from the result of the load before");
		break;
	case LOOP_DIVIDE:
		snprintf(buffer, size, "spends its time at %s",
		         fact->detail == DIVISOR_CONSTANT
		                 ? "integer divisions by a number that does not change in it"
		         : fact->detail == DIVISOR_VARIES
		                 ? "integer divisions"
		                 : "divisions or square roots and what waits for them");
		break;
	case LOOP_STRIDE:
		snprintf(buffer, size, "%s with a stride of %s",
		         fact->detail == ACCESS_STORE ? "stores" : "loads",
		         fact->bytes ? bytes : "a variable number of bytes");
		break;
	case LOOP_SEARCH:
		snprintf(buffer, size, "compares elements one by one, %s apart", bytes);
		break;
	case LOOP_COPY:
		snprintf(buffer, size, "%s memory %s at a time",
		         fact->detail == COPY_FILL ? "fills" : "copies", bytes);
		break;
	case LOOP_SUM:
		snprintf(buffer, size, "adds floating-point numbers to one sum, one at a time");
		break;
	case LOOP_SCALAR:
		snprintf(buffer, size, "computes with one %s at a time",
		         fact->detail ? "floating-point number" : "integer");
		break;
	case LOOP_SUBNORMAL:
		snprintf(buffer, size,
		         "had subnormal numbers (near zero) as operands in %" PRIu64
		         " %% of its samples",
		         fact->bytes);
		break;
	case LOOP_SHARED:
		snprintf(buffer, size, "%s %s%s",
		         fact->detail == SHARING_ATOMIC ? "updates memory atomically"
		                                        : "writes to memory",
		         fact->bytes ? bytes : "that another thread uses, too",
		         fact->bytes ? " from what another thread uses" : "");
		break;
	default:
		print_bytes(fact->detail, more, sizeof(more));
		snprintf(buffer, size, "uses vectors of %s on a CPU with vectors of %s", bytes,
		         more);
		break;
	}
}

static void take_place(const struct evidence *e, uint32_t index, const char **function,
                       struct loop_fact *fact)
{
	const struct activity_place *place = &e->activities->places[index];
	const char *name = profile_string(e->profile, place->function);

	if (!name)
		return;
	*function = name;
	fact->file = profile_string(e->profile, place->file);
	fact->line = place->line;
}

// Of NS of a loop, what is at other places than the one that is named: a loop of a library's
// template is wherever that is used.
static uint64_t at_other_places(const struct evidence *e, const struct loop_row *loop, uint64_t ns,
                                bool critical)
{
	uint64_t here = 0;

	for (size_t i = 0; i < e->activities->time_count; i++) {
		const struct activity_time *time = &e->activities->times[i];
		if (time->loop != loop->loop || time->place != loop->place)
			continue;
		here += critical ? time->critical_ns[METRIC_ON_CPU] : time->ns[METRIC_ON_CPU];
	}
	return ns > here ? ns - here : 0;
}

// FIRST is that of the first row.
static void add_rows(const struct evidence *e, struct loop_rows *loops, bool critical,
                     struct finding *finding, struct loop_fact *first)
{
	uint64_t whole = critical ? loops->critical_ns : loops->cpu_ns;

	for (int row = 0; row < FINDING_ROWS; row++) {
		uint64_t most = 0;
		size_t best = 0;
		for (size_t i = 0; i < loops->count; i++) {
			const struct loop_row *loop = &loops->rows[i];
			uint64_t ns = critical ? loop->critical_ns : loop->cpu_ns;
			if (ns <= most)
				continue;
			most = ns;
			best = i;
		}
		struct loop_fact fact;
		if (!most ||
		    !loop_fact_parse(profile_string(e->profile, loops->rows[best].loop), &fact))
			return;
		const char *function = function_at(e->profile, loops->rows[best].loop, &fact);
		if (!function)
			function = function_of(e->profile, loops->rows[best].loop);
		// A loop of a library's template has the place that has called it.
		if (!fact.file && loops->rows[best].place != ACTIVITY_NO_PLACE) {
			take_place(e, loops->rows[best].place, &function, &fact);
			if (!row)
				finding->elsewhere_ns =
					at_other_places(e, &loops->rows[best], most, critical);
		}
		finding_add(finding,
		            &(struct finding_row){
				    .function = function,
				    .file = fact.file,
				    .line = (int)fact.line,
				    .callee = profile_string(e->profile, loops->rows[best].callee),
				    .ns = most,
				    .share = share_of(most, whole) });
		if (!row)
			*first = fact;
		loops->rows[best].critical_ns = loops->rows[best].cpu_ns = 0;
	}
}

// What steps on by a line or two of cache is late only where the caches do not hold it all.
static bool fits_caches(const struct evidence *e, const struct activity_time *time)
{
	struct loop_fact fact;

	return e->run->peak_rss_bytes < CACHED_BYTES &&
	       loop_fact_parse(profile_string(e->profile, time->loop), &fact) &&
	       fact.kind == LOOP_STRIDE && !fact.measured && fact.bytes < FAR_BYTES;
}

static bool is_of(const struct evidence *e, const struct rule *rule,
                  const struct activity_time *time)
{
	return time->loop && time->doing & rule->doing && !(time->doing & rule->not_doing) &&
	       !fits_caches(e, time);
}

// "std::_Hashtable<…>", "std::unordered_map<…>", "absl::…hash_map<…>".
static bool is_hash_table(const char *callee)
{
	return callee && (strstr(callee, "unordered_") || strstr(callee, "_Hashtable") ||
	                  strstr(callee, "hash_map") || strstr(callee, "hash_set"));
}

// "{method 'sum' of 'numpy.ndarray' objects}", "aten::sum".
static bool of_array(const char *callee)
{
	return callee && (strstr(callee, "numpy") || strstr(callee, "ndarray") ||
	                  strstr(callee, "torch") || strstr(callee, "aten::"));
}

static bool is_python(const char *file)
{
	size_t length = file ? strlen(file) : 0;

	return length > 3 && strcmp(file + length - 3, ".py") == 0;
}

// Advice that the rule's own does not cover.
static void advise(const struct loop_fact *fact, struct finding *finding)
{
	if (fact->kind == LOOP_CHASE && is_hash_table(finding->rows[0].callee))
		finding_advise(
			finding,
			"The loop walks the chains of a hash table: if they are long "
			"(bucket_size()), use a hash function that spreads the keys (no plain "
			"XOR of members) and more buckets (reserve()); if they are short, a "
			"table with open addressing takes fewer loads.");
	if (fact->kind == LOOP_DIVIDE && fact->detail == DIVISOR_CONSTANT)
		finding_advise(finding,
		               "The divisor does not change in the loop: make it a compile-time "
		               "constant or a power of two, multiply by its reciprocal "
		               "(libdivide), or replace the remainder by a counter that wraps.");
	if (fact->kind == LOOP_DIVIDE && fact->detail == DIVISOR_VARIES)
		finding_advise(finding,
		               "Use 32-bit operands where they are enough (64-bit division takes "
		               "several times as long on many CPUs), or replace the division by "
		               "subtraction, shifts or a table.");
	if (fact->kind == LOOP_STRIDE &&
	    (of_array(finding->rows[0].callee) || is_python(finding->file)))
		finding_advise(
			finding,
			"The array is not contiguous along the axis that is walked: reduce it "
			"by one call with axis=0 instead of column by column, keep it the "
			"other way round (the axis that is walked last; order=\"F\"), or copy "
			"it once: numpy.ascontiguousarray(a.T), tensor.contiguous(). Products of "
			"matrices of whole numbers (a @ b, dot()) walk so, too: multiply them as "
			"floating-point numbers (astype(float)), which BLAS does.");
	if (fact->kind == LOOP_SUBNORMAL && of_array(finding->rows[0].callee))
		finding_advise(
			finding,
			"Find out where the values decay to (they should end at 0), scale the data, "
			"or set what is below 1e-300 (1e-37 for float32) to 0. In PyTorch: "
			"torch.set_flush_denormal(True) in each thread; for NumPy a C extension "
			"that sets FTZ and DAZ (_mm_setcsr(_mm_getcsr() | 0x8040)).");
	if (fact->kind == LOOP_SHARED && fact->bytes)
		finding_advise(
			finding,
			"The threads' data only lies side by side (false sharing): give each "
			"thread's a cache line of its own (alignas(64), padding, an array "
			"for each thread), or let each thread compute in local variables "
			"and store once at the end.");
	if (fact->kind == LOOP_COPY && fact->detail == COPY_FILL)
		finding_advise(finding,
		               "Call memset() or std::fill() instead; drop volatile, which "
		               "keeps the compiler from doing so.");
}

// Samples with stacks of the kernel have no vector registers: what the numbers were is not known.
static void advise_on_subnormals(const struct evidence *e, const struct rule *rule,
                                 const struct loop_fact *fact, struct finding *finding)
{
	bool floating = (fact->kind == LOOP_DIVIDE && !fact->detail) || fact->kind == LOOP_SUM ||
	                (fact->kind == LOOP_SCALAR && fact->detail);

	if (!floating || e->run->rung != RUNG_PERF_KERNEL)
		return;
	finding_advise(finding,
	               "%.300s If the numbers decay toward 0, subnormal ones may be why: profile "
	               "with --rung user, which looks at them.",
	               rule->advice);
}

// As measure_doing(), by loop.
static enum measured measure_loop(const struct evidence *e, const struct rule *rule,
                                  struct finding *finding)
{
	cleanup(loop_rows) struct loop_rows loops = { 0 };
	char place[300], what[160], whole[120];
	struct loop_fact fact = { 0 };

	for (size_t i = 0; i < e->activities->time_count; i++)
		if (is_of(e, rule, &e->activities->times[i]) &&
		    !add_time(&loops, &e->activities->times[i]))
			return finding_lacks(finding, "there is no memory");
	if ((loops.critical_ns > loops.cpu_ns ? loops.critical_ns : loops.cpu_ns) <
	    evidence_least_ns(e))
		return MEASURED_NOTHING;
	evidence_weigh(e, loops.critical_ns, loops.cpu_ns, ns_whole(loops.queue_ns), finding);
	add_rows(e, &loops, !finding->of_cpu, finding, &fact);
	if (!finding->row_count)
		return MEASURED_NOTHING;
	finding->value = 100 * finding->share;
	finding_place(finding->function, finding->file, finding->line, place, sizeof(place));
	describe_loop(&fact, what, sizeof(what));
	advise(&fact, finding);
	advise_on_subnormals(e, rule, &fact, finding);
	if (fact.kind == LOOP_SUBNORMAL && fact.detail > 10)
		finding->part = 1 - 10 / (double)fact.detail;
	return finding_say(finding, "%s: %.0f %% of %s, most in a loop of %s that %s", rule->title,
	                   finding->value, evidence_whole(e, finding, whole, sizeof(whole)), place,
	                   what);
}

// Threads that take turns take nothing from each other.
static enum measured measure_sharing(const struct evidence *e, const struct rule *rule,
                                     struct finding *finding)
{
	uint64_t busy = e->parallel.one_ns + e->parallel.more_ns;

	if (share_of(e->parallel.more_ns, busy) < TOGETHER_SHARE)
		return MEASURED_NOTHING;
	return measure_loop(e, rule, finding);
}

const struct rule rules_loops[] = {
	{ .id = "CPU-LINE",
	  .subject = RULES_CPU,
	  .severity = SEVERITY_WARN,
	  .unit = UNIT_PERCENT,
	  .threshold = 20,
	  .title = "threads write to the same cache line",
	  .formula =
	          "CPU time in loops that store to the same address all the time, "
	          "where samples of another thread of the process show that it stores to the same "
	          "64 bytes there, as a share of the critical thread's time, or of all CPU time; only "
	          "where two threads and more are on CPUs at once for 10 % of the time",
	  .why = "A cache line can be written by one CPU at a time: it goes back and forth between "
	         "them, some 50 to 200 ns each way.",
	  .advice =
	          "Count in a local variable of each thread and add it to the shared one once, at "
	          "the end or every thousand times; or keep one per thread, each in a cache "
	          "line of its own (alignas(64)), and add them up when they are read.",
	  .source = "our choice",
	  .part = 0.5,
	  .part_from = "our choice: without the others a store takes a tenth and less, but other "
	               "work of the loop remains",
	  .measure = measure_sharing,
	  .doing = ACTIVITY_OF_LOOP(SHARED),
	  .metrics = ON_CPU },
	{ .id = "CPU-SUBNORMAL",
	  .subject = RULES_CPU,
	  .severity = SEVERITY_WARN,
	  .unit = UNIT_PERCENT,
	  .threshold = 10,
	  .title = "arithmetic on subnormal numbers",
	  .formula =
	          "CPU time in loops, and functions without one, in a fifth of whose samples or "
	          "more a register of their floating-point operations held a subnormal number "
	          "(below 2.2e-308 for double, 1.2e-38 for float), in threads that neither take "
	          "them for zero nor set results to it, on a CPU that computes more slowly with "
	          "them, as a share of the critical thread's time, or of all CPU time; looked at "
	          "where the program's own timers sample it (--rung agent)",
	  .why = "Many CPUs compute with subnormal numbers in microcode: some 150 cycles an "
	         "operation instead of 4. They come from values that decay toward zero: filters, "
	         "reverb, diffusion, momentum, products of probabilities.",
	  .advice =
	          "Set FTZ and DAZ in each thread (_mm_setcsr(_mm_getcsr() | 0x8040); -ffast-math "
	          "at the link step does so for the main thread), set values below a small "
	          "limit to 0, or scale the data (logarithms of probabilities).",
	  .source = "our choice",
	  .part = 0.9,
	  .part_from = "what operations of these kinds take with such numbers on this CPU, as "
	               "measured when the report is made",
	  .measure = measure_loop,
	  .doing = ACTIVITY_OF_LOOP(SUBNORMAL),
	  .metrics = ON_CPU },
	{ .id = "CPU-CHASE",
	  .subject = RULES_CPU,
	  .severity = SEVERITY_INFO,
	  .unit = UNIT_PERCENT,
	  .threshold = 25,
	  .title = "dependent loads",
	  .formula = "CPU time in loops of the user's own in which a load takes its address from "
	             "what it returned in the iteration before (linked lists, trees, hash chains, "
	             "tables of states), and which no other rule explains, as a share of the "
	             "critical thread's time, or of all CPU time",
	  .why = "Each load waits for the one before, so the CPU works on one at a time: 4 to 5 "
	         "cycles if the data is in the first cache, some 200 if it is in memory.",
	  .advice = "Walk less: remember where a walk ended (a pointer to the last element), make "
	            "chains shorter (more buckets, a balanced tree). Or keep the elements in an "
	            "array (std::vector, a hash table with open addressing) or side by side.",
	  .source = "our choice",
	  .part = 0.5,
	  .part_from = "our choice: an array with the same elements often takes half the time or "
	               "less",
	  .measure = measure_loop,
	  .doing = ACTIVITY_OF_LOOP(CHASE),
	  .not_doing = EXPLAINED,
	  .otherwise = true,
	  .metrics = ON_CPU },
	{ .id = "CPU-STRIDE",
	  .subject = RULES_CPU,
	  .severity = SEVERITY_WARN,
	  .unit = UNIT_PERCENT,
	  .threshold = 25,
	  .title = "strided memory access",
	  .formula =
	          "CPU time in loops in which an address moves by 256 bytes or more each time, or "
	          "by more than 64 where samples show that the loop waits for it and the process "
	          "has 32 MB or more, by the code or by what registers held at the samples, while "
	          "the loop uses an eighth of that or less, as a share of the critical thread's time, or of all "
	          "CPU time; of libraries' loops only where a register holds the step, as for "
	          "arrays of the caller's; longer loops only where the samples are at these "
	          "accesses",
	  .why = "Each access uses a few bytes of a cache line of 64, and steps of 4 KB and more "
	         "also need a new page each time.",
	  .advice =
	          "Swap the loops so that the innermost one walks along memory (rows in C, columns "
	          "in Fortran), work in blocks that fit the cache, or store what is used together "
	          "side by side (one array a field, a transposed copy).",
	  .source = "our choice",
	  .part = 0.5,
	  .part_from = "our choice: in order, the same work often takes half the time or less",
	  .measure = measure_loop,
	  .doing = ACTIVITY_OF_LOOP(STRIDE),
	  .not_doing = EXPLAINED,
	  .otherwise = true,
	  .metrics = ON_CPU },
	{ .id = "CPU-DIV",
	  .subject = RULES_CPU,
	  .severity = SEVERITY_INFO,
	  .unit = UNIT_PERCENT,
	  .threshold = 25,
	  .title = "divisions",
	  .formula =
	          "CPU time in loops of the user's own whose samples are at instructions that "
	          "divide or take a square root, as a share of the critical thread's time, or of "
	          "all CPU time",
	  .why = "A division takes 10 to 40 cycles, a multiplication 3 to 5, and the next division "
	         "can hardly start before.",
	  .advice =
	          "Multiply by the reciprocal, computed once outside the loop; divide once at the "
	          "end; compare squares instead of roots; or use float where 7 digits are enough "
	          "(-ffast-math replaces divisions by reciprocals).",
	  .source = "our choice",
	  .part = 0.5,
	  .part_from = "our choice: a multiplication takes a fifth of a division's time, and the "
	               "rest of the loop stays",
	  .measure = measure_loop,
	  .doing = ACTIVITY_OF_LOOP(DIVIDE),
	  .not_doing = EXPLAINED,
	  .otherwise = true,
	  .metrics = ON_CPU },
	{ .id = "CPU-SEARCH",
	  .subject = RULES_CPU,
	  .severity = SEVERITY_INFO,
	  .unit = UNIT_PERCENT,
	  .threshold = 25,
	  .title = "linear search",
	  .formula = "CPU time in loops of the user's own that read elements one after another, "
	             "store nothing, and end by what they have read, as a share of the critical "
	             "thread's time, or of all CPU time",
	  .why = "A search takes as long as the data is large, and compilers do not vectorize loops "
	         "that end by what they read.",
	  .advice =
	          "Look things up in a hash table, or in a sorted array by bisection (bsearch(), "
	          "std::lower_bound); for bytes call memchr() or strlen(), which compare 16 to 64 "
	          "at a time; or remember where the search ended.",
	  .source = "our choice",
	  .part = 0.5,
	  .part_from =
	          "our choice: a lookup takes next to no time, a vectorized search some of that time",
	  .measure = measure_loop,
	  .doing = ACTIVITY_OF_LOOP(SEARCH),
	  .not_doing = EXPLAINED,
	  .otherwise = true,
	  .metrics = ON_CPU },
	{ .id = "CPU-COPY",
	  .subject = RULES_CPU,
	  .severity = SEVERITY_INFO,
	  .unit = UNIT_PERCENT,
	  .threshold = 25,
	  .title = "copying memory element by element",
	  .formula =
	          "CPU time in loops of the user's own that copy or fill memory 8 bytes at a time "
	          "or less, and do nothing else, as a share of the critical thread's time, or of "
	          "all CPU time",
	  .why = "memcpy() and memset() move 16 to 64 bytes at a time.",
	  .advice = "Call memcpy(), memmove() or std::copy() instead, or build with -O2 or more, "
	            "where compilers do; drop volatile, which keeps them from it.",
	  .source = "our choice",
	  .part = 0.5,
	  .part_from = "our choice: the memory that the copy touches takes its time, too",
	  .measure = measure_loop,
	  .doing = ACTIVITY_OF_LOOP(COPY),
	  .not_doing = EXPLAINED,
	  .otherwise = true,
	  .metrics = ON_CPU },
	{ .id = "CPU-SUM",
	  .subject = RULES_CPU,
	  .severity = SEVERITY_INFO,
	  .unit = UNIT_PERCENT,
	  .threshold = 25,
	  .title = "floating-point sum in one chain",
	  .formula = "CPU time in loops of the user's own that add one floating-point number after "
	             "another to the same sum and do little else, as a share of the critical "
	             "thread's time, or of all CPU time",
	  .why = "Each addition waits for the one before (3 to 5 cycles), and compilers must keep "
	         "the order of the additions, so the sum is not vectorized.",
	  .advice = "Build with -O3 -ffast-math (or -fassociative-math -fno-signed-zeros "
	            "-fno-trapping-math), use #pragma omp simd reduction(+:sum), or add to four or "
	            "more sums in turn; the result changes in its last digits.",
	  .source = "our choice",
	  .part = 0.5,
	  .part_from =
	          "our choice: four sums at once take a quarter of the time where the data is in "
	          "the cache",
	  .measure = measure_loop,
	  .doing = ACTIVITY_OF_LOOP(SUM),
	  .not_doing = EXPLAINED,
	  .otherwise = true,
	  .metrics = ON_CPU },
	{ .id = "CPU-SCALAR",
	  .subject = RULES_CPU,
	  .severity = SEVERITY_INFO,
	  .unit = UNIT_PERCENT,
	  .threshold = 25,
	  .title = "loop that is not vectorized",
	  .formula = "CPU time in loops of the user's own without calls and branches that compute "
	             "with one element at a time, though the next ones are beside it in memory, as "
	             "a share of the critical thread's time, or of all CPU time",
	  .why = "Vector instructions compute with 2 to 16 elements at once.",
	  .advice = "Build with -O3 (gcc before 12 vectorizes nothing at -O2), promise that arrays "
	            "do not overlap (restrict, #pragma GCC ivdep, #pragma omp simd), and see why "
	            "not: -fopt-info-vec-missed, -Rpass-missed=loop-vectorize.",
	  .source = "our choice",
	  .part = 0.5,
	  .part_from =
	          "vectors of two elements; not what memory takes, nor what wider vectors save",
	  .measure = measure_loop,
	  .doing = ACTIVITY_OF_LOOP(SCALAR),
	  .not_doing = EXPLAINED,
	  .otherwise = true,
	  .metrics = ON_CPU },
	{ .id = "CPU-NARROW",
	  .subject = RULES_CPU,
	  .severity = SEVERITY_INFO,
	  .unit = UNIT_PERCENT,
	  .threshold = 25,
	  .title = "vectors narrower than the CPU's",
	  .formula = "CPU time in loops of the user's own that compute with vectors of 16 bytes on "
	             "a CPU that has wider ones, as a share of the critical thread's time, or of "
	             "all CPU time",
	  .why = "The program was built for the oldest x86-64 CPU; with wider vectors a loop whose "
	         "data is in the cache takes half as long.",
	  .advice =
	          "Build with -march=native, or -march=x86-64-v3 for CPUs since 2013, or give the "
	          "function versions for several CPUs: "
	          "__attribute__((target_clones(\"avx2\",\"default\"))).",
	  .source = "our choice",
	  .part = 0.4,
	  .part_from = "our choice: half of the time where the data is in the cache, else nothing",
	  .measure = measure_loop,
	  .doing = ACTIVITY_OF_LOOP(NARROW),
	  .not_doing = EXPLAINED,
	  .otherwise = true,
	  .metrics = ON_CPU },
};

const size_t rules_loops_count = sizeof(rules_loops) / sizeof(rules_loops[0]);
