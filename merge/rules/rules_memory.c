// SPDX-License-Identifier: MIT
// Rules on memory: taking it, touching it for the first time, copying it.
#include "base/clock.h"
#include "base/origin.h"
#include "base/path.h"
#include "base/share.h"
#include "merge/rules/evidence.h"

#include <string.h>

#define ON_CPU        (1u << METRIC_ON_CPU)
#define MANAGED_SHARE 0.3              /* of the CPU time outside the kernel and the C library */
#define FAULT_NS      UINT64_C(300000) /* to clear a huge page of 2 MB takes about as long */

// Whether most of the time is an interpreter's: what it allocates is up to its own authors.
static bool runs_script(const struct evidence *e)
{
	const struct module_row *most = NULL;

	for (size_t i = 0; i < e->modules->count; i++) {
		const struct module_row *row = &e->modules->rows[i];
		if (!origin_is_libc(row->path) && (!most || row->part_ns > most->part_ns))
			most = row;
	}
	return most && origin_is_interpreter(most->path);
}

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
	enum measured measured = measure_doing(e, rule, finding);
	return measured == MEASURED && !finding->function && runs_script(e) ? MEASURED_NOTHING
	                                                                    : measured;
}

// Of all threads.
static uint64_t time_in_faults(const struct evidence *e, const struct rule *rule)
{
	uint64_t ns = 0;

	for (size_t i = 0; i < e->activities->time_count; i++) {
		const struct activity_time *time = &e->activities->times[i];
		if (time->doing & rule->doing && !(time->doing & rule->not_doing))
			ns += time->ns[METRIC_ON_CPU];
	}
	return ns;
}

static const struct rule_callee fresh_arrays[] = {
	{ "'__getitem__' of 'numpy.ndarray'",
	  "Indexing by an array or a mask copies the elements to new memory: use slices "
	  "(a[i:j:k]), which copy nothing, and for windows "
	  "numpy.lib.stride_tricks.sliding_window_view(); else take blocks of rows that fit the "
	  "cache, or use numpy.take() with out=." },
	{ "numpy", "Each array operation writes its result to fresh memory: compute in blocks of "
	           "rows that fit the cache, work in place (a -= b), or give NumPy's functions "
	           "out=; and avoid temporaries much larger than the result." },
	{ "ndarray", "Each array operation writes its result to fresh memory: compute in blocks "
	             "of rows that fit the cache, work in place (a -= b), or give out=." },
	{ NULL, NULL },
};

static const struct rule_callee ways_to_copy[] = {
	{ "std::operator+",
	  "a + b makes a new string, and s = s + x copies all of s each time: append "
	  "in place (s += x, append()), after a reserve() of the final size." },
	{ "::reserve",
	  "reserve() allocates exactly as much as it is asked for: called for a little more each "
	  "time, it copies all elements each time. Call it once with the final size, or not at all: "
	  "push_back() and insert() grow by a factor." },
	{ "runtime.concatstring",
	  "A string that grows by += is copied whole each time: use strings.Builder, with Grow() "
	  "for the final size, or collect the parts and join them once (strings.Join())." },
	{ "runtime.growslice", "append() copies all of a slice that is full: make([]T, 0, n) with "
	                       "the final size." },
	{ NULL, NULL },
};

// Its collector works in other threads, or in those that allocate.
static const struct rule_callee ways_to_allocate[] = {
	{ "encoding/json.",
	  "encoding/json goes by reflection, and makes each value anew: decode into a "
	  "struct that has the needed fields alone instead of map[string]any, keep "
	  "what was parsed, or use a generated decoder (easyjson) or sonic." },
	{ "runtime.",
	  "Go's allocator and collector take that time: make slices and maps with their "
	  "final size, reuse buffers (sync.Pool), and pass values where no pointer is "
	  "needed. GOGC=400 collects less often, for more memory." },
	{ "mmap",
	  "Each mmap() and munmap() changes the address space, and its pages fault anew: keep "
	  "a mapping for as long as it is used; read small files, or parts of large ones, "
	  "by pread(2) into a buffer." },
	{ NULL, NULL },
};

static bool makes_arrays(const struct finding *finding)
{
	const char *callee = finding->row_count ? finding->rows[0].callee : NULL;

	for (const struct rule_callee *c = fresh_arrays; callee && c->callee; c++)
		if (strstr(callee, c->callee))
			return true;
	return false;
}

// Whether a good part of the time is a runtime's that has a heap of its own, and the code's that it
// made.
static bool has_managed_heap(const struct evidence *e)
{
	static const char *const runtimes[] = { "libjvm.so", "node", "libnode.so",
		                                "libcoreclr.so" };
	uint64_t ns = 0, all = 0;
	bool found = false;

	for (size_t i = 0; i < e->modules->count; i++) {
		const struct module_row *row = &e->modules->rows[i];
		const char *name = path_base(row->path);
		bool named = false;
		// What clears pages and copies objects works for the others.
		if (origin_is_libc(row->path) || strcmp(row->path, "[kernel]") == 0)
			continue;
		all += row->part_ns;
		for (size_t n = 0; n < sizeof(runtimes) / sizeof(runtimes[0]); n++)
			named |= strncmp(name, runtimes[n], strlen(runtimes[n])) == 0 &&
			         strchr(".", name[strlen(runtimes[n])]);
		found |= named;
		ns += named || origin_is_jit(row->path) ? row->part_ns : 0;
	}
	return found && share_of(ns, all) >= MANAGED_SHARE;
}

static enum measured measure_fill(const struct evidence *e, const struct rule *rule,
                                  struct finding *finding)
{
	enum measured measured = measure_doing(e, rule, finding);

	if (measured == MEASURED && has_managed_heap(e))
		finding_advise(finding,
		               "The runtime clears each object that it makes: make fewer and "
		               "smaller ones. A string that grows by += in a loop is a new one "
		               "each time: StringBuilder in Java and C#, join() in JavaScript.");
	return measured;
}

// Without the kernel's functions, an interrupt that comes to code looks as a page fault of that: on
// a busy machine they take their part, too, but the faults are counted. And pages of mapped files
// are not distinguished from fresh memory.
static enum measured measure_faults(const struct evidence *e, const struct rule *rule,
                                    struct finding *finding)
{
	if (!e->run->kernel_stacks && time_in_faults(e, rule) > FAULT_NS * e->run->page_faults)
		return MEASURED_NOTHING;
	enum measured measured = measure_doing(e, rule, finding);

	if (measured == MEASURED && has_managed_heap(e))
		finding_advise(finding,
		               "The runtime's heap grows: give it its size at the start (java "
		               "-Xms4g -XX:+AlwaysPreTouch, node --max-semi-space-size=64), and "
		               "make fewer objects that live shortly.");
	else if (measured == MEASURED && !e->run->kernel_stacks && !makes_arrays(finding))
		finding_advise(finding,
		               "Reuse memory instead of allocating it anew (malloc() maps large "
		               "blocks each time: mallopt(3), M_MMAP_THRESHOLD and "
		               "M_TRIM_THRESHOLD); use huge pages (madvise with MADV_HUGEPAGE) for "
		               "large blocks. If the memory is a mapped file: MAP_POPULATE, or "
		               "read(2) in large blocks.");
	return measured;
}

// What copies of objects allocate is given back elsewhere: of all that is, their part of what was
// taken.
// Python's functions that make one array or table of several: pandas.concat(), NumPy's
// concatenate() and append().
static bool joins_arrays(const struct finding *finding)
{
	static const char *const names[] = { "concat", "append", "vstack", "hstack" };
	const char *callee = finding->row_count ? finding->rows[0].callee : NULL;
	const char *end = finding->file ? strrchr(finding->file, '.') : NULL;

	if (!callee || !end || strcmp(end, ".py") != 0)
		return false;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strcmp(callee, names[i]) == 0)
			return true;
	return strstr(callee, "concatenate") != NULL;
}

static enum measured measure_copies(const struct evidence *e, const struct rule *rule,
                                    struct finding *finding)
{
	uint64_t taken = 0, copied = 0, given = 0;

	for (size_t i = 0; i < e->activities->time_count; i++) {
		const struct activity_time *time = &e->activities->times[i];
		uint64_t ns = time->critical_ns[METRIC_ON_CPU];
		if (time->doing & ACTIVITY(RELEASE))
			given += ns;
		else if (time->doing & ACTIVITY(ALLOCATE))
			taken += ns;
		if (!(~time->doing & (ACTIVITY(OBJECT) | ACTIVITY(ALLOCATE))) &&
		    !(time->doing & ACTIVITY(RELEASE)))
			copied += ns;
	}
	finding->elsewhere_ns = ns_whole(share_of(copied, taken) * (double)given);
	enum measured measured = measure_doing(e, rule, finding);
	if (measured == MEASURED && joins_arrays(finding))
		finding_advise(finding,
		               "Joining in a loop copies each time all that is there already: "
		               "collect the pieces in a list and join them once behind the loop "
		               "(pandas.concat(pieces), numpy.concatenate(pieces)), or allocate "
		               "the final size first and fill it.");
	return measured;
}

// What is moved leaves nothing to give back but the block, whatever that takes.
static enum measured measure_regrowth(const struct evidence *e, const struct rule *rule,
                                      struct finding *finding)
{
	uint64_t copied = 0, given = 0;

	for (size_t i = 0; i < e->activities->time_count; i++) {
		const struct activity_time *time = &e->activities->times[i];
		uint64_t ns = time->ns[METRIC_ON_CPU];
		copied += time->doing & ACTIVITY(RECOPY) ? ns : 0;
		given += time->doing & ACTIVITY(REFREE) ? ns : 0;
	}
	return copied < given ? MEASURED_NOTHING : measure_doing(e, rule, finding);
}

// Page cache does not count: it goes as soon as there is need.
static enum measured measure_limit(const struct evidence *e, const struct rule *rule,
                                   struct finding *finding)
{
	const struct run *run = e->run;
	const char *group = run->memory_group ? run->memory_group : "?";
	unsigned long long kills = run->memory_kills;

	(void)rule;
	if (!run->memory_limit_bytes)
		return MEASURED_NOTHING;
	finding->value = percent_of(run->memory_held_bytes, run->memory_limit_bytes);
	if (kills) {
		finding->value = 100;
		return finding_say(finding,
		                   "the kernel killed %llu process%s, out of memory: control group "
		                   "%.200s is limited to %.0f MiB",
		                   kills, kills == 1 ? "" : "es", group,
		                   (double)run->memory_limit_bytes / 1048576);
	}
	return finding_say(finding,
	                   "memory peaked at %.0f of %.0f MiB, the limit of control group "
	                   "%.200s (%.0f %%, without page cache)",
	                   (double)run->memory_held_bytes / 1048576,
	                   (double)run->memory_limit_bytes / 1048576, group, finding->value);
}

static enum measured measure_reclaim(const struct evidence *e, const struct rule *rule,
                                     struct finding *finding)
{
	const struct run *run = e->run;
	uint64_t stalled_ns = e->contention.stalled_ns;

	(void)rule;
	if (!run->memory_limit_bytes)
		return MEASURED_NOTHING;
	if (!run->memory_knows_stalls)
		return finding_lacks(finding, "the memory limit's group has no memory.pressure");
	finding->value = percent_of(stalled_ns, e->wall_ns);
	finding->share = share_of(stalled_ns, e->wall_ns);
	finding->saving_ns = stalled_ns;
	return finding_say(finding,
	                   "threads waited for memory reclaim for %.0f %% of wall time: "
	                   "control group %.200s is limited to %.0f MiB",
	                   finding->value, run->memory_group ? run->memory_group : "?",
	                   (double)run->memory_limit_bytes / 1048576);
}

const struct rule rules_memory[] = {
	{ .id = "MEM-CHURN",
	  .subject = RULES_MEMORY,
	  .severity = SEVERITY_WARN,
	  .unit = UNIT_PERCENT,
	  .threshold = 20,
	  .within = { "CPU-SYS" },
	  .title = "allocating and freeing memory",
	  .formula =
	          "CPU time in malloc, free, new, delete, mmap, munmap and Go's allocator and "
	          "collector, but for copies of objects, as a share of the critical thread's time, or of all CPU time",
	  .why = "The time goes to the allocator's bookkeeping, and fresh memory is not in the "
	         "caches.",
	  .advice = "Allocate once outside the loop and reuse; reserve() the final size; see "
	            "where: bottleneck report --sort mem --by line.",
	  .by_callee = ways_to_allocate,
	  .source = "our choice",
	  .measure = measure_churn,
	  .inside = true,
	  .doing = ACTIVITY(ALLOCATE),
	  .not_doing = ACTIVITY(FAULT) | ACTIVITY(THROW) | ACTIVITY(REGEX) | ACTIVITY(LINK) |
	               ACTIVITY(IMPORT) | ACTIVITY(OBJECT),
	  .metrics = ON_CPU },
	{ .id = "MEM-FAULT",
	  .subject = RULES_MEMORY,
	  .severity = SEVERITY_WARN,
	  .unit = UNIT_PERCENT,
	  .threshold = 15,
	  .within = { "CPU-SYS", "MEM-CHURN" },
	  .title = "page faults on fresh memory",
	  .formula =
	          "CPU time in page faults, but for those of mapped files, as a share of the "
	          "critical thread's time, or of all CPU time; where the kernel's functions are "
	          "not seen, kernel time at instructions of compiled code that makes no system "
	          "calls itself, with the page faults of mapped files, if the run has had enough "
	          "page faults to explain it (0.3 ms each)",
	  .why = "The kernel finds and clears a page at each first touch, which takes longer than "
	         "most work on it.",
	  .advice = "Reuse memory instead of allocating it anew (malloc() maps large blocks each "
	            "time: mallopt(3), M_MMAP_THRESHOLD and M_TRIM_THRESHOLD); use huge pages "
	            "(madvise with MADV_HUGEPAGE) for large blocks.",
	  .by_callee = fresh_arrays,
	  .source = "our choice",
	  .measure = measure_faults,
	  .inside = true,
	  .doing = ACTIVITY(FAULT),
	  .not_doing = ACTIVITY(MAPPED) | ACTIVITY(LINK) | ACTIVITY(IMPORT),
	  .metrics = ON_CPU },
	{ .id = "MEM-COPY",
	  .subject = RULES_MEMORY,
	  .severity = SEVERITY_WARN,
	  .unit = UNIT_PERCENT,
	  .threshold = 25,
	  .title = "copying memory",
	  .formula =
	          "CPU time in memcpy and memmove, with the page faults there, in copying C++'s and "
	          "Rust's containers and strings, and in allocating "
	          "memory for copies of C++'s and Rust's objects, but for copies within linear "
	          "algebra and convolutions, as a share of the critical thread's time, or of all "
	          "CPU time",
	  .why = "A copy computes nothing.",
	  .advice = "Pass a reference or a view; move instead of copying; grow a buffer by a "
	            "factor, or allocate its final size at once.",
	  .source = "our choice",
	  .by_callee = ways_to_copy,
	  .measure = measure_copies,
	  .inside = true,
	  .doing = ACTIVITY(COPY),
	  .not_doing = ACTIVITY(READ) | ACTIVITY(WRITE) | ACTIVITY(CONCAT) | ACTIVITY(SHIFT) |
	               ACTIVITY(STRING_END) | ACTIVITY(LINK) | ACTIVITY(IMPORT) | ACTIVITY(BLAS),
	  .metrics = ON_CPU },
	{ .id = "MEM-REGROW",
	  .subject = RULES_MEMORY,
	  .severity = SEVERITY_WARN,
	  .unit = UNIT_PERCENT,
	  .threshold = 15,
	  .within = { "MEM-COPY", "MEM-CHURN", "MEM-FAULT", "CPU-SYS" },
	  .title = "copying a vector's elements as it grows",
	  .formula =
	          "CPU time in copy constructors that std::vector calls for the elements that it "
	          "has when its block is full, and in freeing the old ones, as a share of the "
	          "critical thread's time, or of all CPU time",
	  .why = "A vector moves its elements to a larger block only if that cannot throw: else it "
	         "copies each of them, with all that it has allocated, and frees the old one.",
	  .advice = "Declare the move constructor of the elements noexcept, or leave it to the "
	            "compiler (= default; a destructor or copy constructor of one's own takes it "
	            "away): the vector then moves them. And reserve() the final size where it is "
	            "known.",
	  .source = "our choice",
	  .measure = measure_regrowth,
	  .inside = true,
	  .doing = ACTIVITY(RECOPY) | ACTIVITY(REFREE),
	  .not_doing = ACTIVITY(LINK),
	  .metrics = ON_CPU },
	{ .id = "MEM-FILL",
	  .subject = RULES_MEMORY,
	  .severity = SEVERITY_WARN,
	  .unit = UNIT_PERCENT,
	  .threshold = 25,
	  .title = "clearing memory",
	  .formula = "CPU time in memset() and its like, without the page faults there and without "
	             "what allocators clear, as a share of the critical thread's time, or of all "
	             "CPU time",
	  .why = "Memory that is written next, or of which a few bytes are used, need not be "
	         "cleared.",
	  .advice =
	          "Clear only what is used: no \"= {0}\" for a large array that is filled next, no "
	          "memset() of a whole buffer for a short message; keep one that is clear, and "
	          "clear again what was written.",
	  .source = "our choice",
	  .measure = measure_fill,
	  .inside = true,
	  .doing = ACTIVITY(FILL),
	  .not_doing = ACTIVITY(FAULT) | ACTIVITY(ALLOCATE) | ACTIVITY(COPY) | ACTIVITY(BLAS) |
	               ACTIVITY(REGEX) | ACTIVITY(LINK) | ACTIVITY(IMPORT),
	  .metrics = ON_CPU },
	{ .id = "MEM-LIMIT",
	  .subject = RULES_MEMORY,
	  .severity = SEVERITY_WARN,
	  .unit = UNIT_PERCENT,
	  .threshold = 90,
	  .severe = 99,
	  .whole_run = true,
	  .title = "memory close to the limit of a control group",
	  .formula =
	          "anonymous and shared memory in use at most, as a share of the memory limit of "
	          "the program's control group or one around it; 100 if processes were killed",
	  .why = "At the limit the kernel swaps and reclaims while threads wait, and then kills a "
	         "process.",
	  .advice = "Raise the limit (memory.max of the control group, --memory of a container, "
	            "resources.limits.memory of Kubernetes), or use less memory at once.",
	  .source = "our choice",
	  .measure = measure_limit },
	{ .id = "MEM-RECLAIM",
	  .subject = RULES_MEMORY,
	  .severity = SEVERITY_WARN,
	  .unit = UNIT_PERCENT,
	  .threshold = 5,
	  .severe = 20,
	  .title = "waiting for memory reclaim",
	  .formula = "time for which some thread of the control group waited for memory "
	             "(memory.pressure), as a share of wall time, where a limit of memory is set",
	  .why = "The control group is at its limit: each allocation waits until other memory has "
	         "been reclaimed, and reclaimed file pages are read again.",
	  .advice = "Raise the limit (memory.max), use less memory at once, or read files in "
	            "smaller parts.",
	  .source = "our choice",
	  .measure = measure_reclaim },
};

const size_t rules_memory_count = sizeof(rules_memory) / sizeof(rules_memory[0]);
