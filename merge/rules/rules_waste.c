// SPDX-License-Identifier: MIT
// Rules on work that need not be done: the same again, more of it than there is to do, or for
// something that was meant to be rare.
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/share.h"
#include "merge/profile/profile_parts.h"
#include "merge/rules/evidence.h"

#include <stdlib.h>
#include <string.h>

#define NEXT_SHARE    0.03 // of what statements take: most of a row's time is looking at its columns
#define SYNCED_PART   8    // 1 of so many parts of what streams take
#define GETATTR_SHARE 0.1  // of all time, in __getattr__() and what it calls
#define LONG_MATCH    100  // times as long as the interpreter's part of the call
#define MATCH_SAMPLES 10   // times evidence_least_ns(): fewer would show none of the interpreter
#define ON_CPU        (1u << METRIC_ON_CPU)

static const struct rule_callee moves[] = {
	{ "vector", "An element that leaves or enters a vector moves all that follow: use "
	            "std::deque for queues, swap with the last element and pop_back() "
	            "where order does not matter, and std::erase_if() to remove many." },
	{ "alloc::vec::Vec", "An element that leaves a Vec moves all that follow: use "
	                     "VecDeque for queues, swap_remove() where order does not "
	                     "matter, and retain() to remove many." },
	{ "Iterator::nth", "nth() and count() walk from the start at each call: iterate once "
	                   "(chars(), zip(), enumerate()), collect the characters into a Vec, or "
	                   "index as_bytes() where the text is ASCII." },
	{ "_List_", "A linked list is walked to each place in it: keep an iterator, or use a "
	            "vector." },
	{ "g_list_", "A GList is walked to each place in it, and to its end: keep a pointer into "
	             "it, prepend and reverse, or use a GPtrArray." },
	{ "sscanf", "sscanf() looks for the end of the whole text at each call: use "
	            "strtol(), strtod() or std::from_chars(), which stop behind the "
	            "number, or give it one line at a time." },
	{ "strlen", "Call strlen() once before the loop, and keep lengths beside strings: a "
	            "condition like i < strlen(s) walks the whole string each time." },
	{ "Shift", "shift() and unshift() move all that follow: walk the array by an index, or "
	           "reverse it once and use pop()." },
	{ "Builtins_ArrayIncludes", "includes() compares one element after another: look things up "
	                            "in a Set." },
	{ "Builtins_ArrayIndexOf", "indexOf() compares one element after another: keep a Map from "
	                           "element to position." },
	{ "'pop' of 'list'", "list.pop(0) moves all that follow: use collections.deque and its "
	                     "popleft(), or walk the list by an index." },
	{ "'insert' of 'list'", "list.insert() moves all that follow: use collections.deque and "
	                        "its appendleft(), or append() and sort or reverse once." },
	{ "'index' of 'list'", "list.index() compares one element after another: keep a dict "
	                       "from element to position." },
	{ "'remove' of 'list'", "list.remove() looks for the element and moves all that follow: "
	                        "use a dict or set, or build a new list of what stays." },
	{ NULL, NULL },
};

static const struct rule_callee ways_to_compile[] = {
	{ "regexp.", "Compile each pattern once: var re = regexp.MustCompile(...) outside of all "
	             "functions, which goroutines may share." },
	{ "regex::", "Compile each pattern once: static RE: LazyLock<Regex> = LazyLock::new(|| "
	             "Regex::new(...).unwrap()), which threads may share." },
	{ NULL, NULL },
};

// Where calls are seen to take no longer than the interpreter needs for them, none backtracks.
static const struct rule_callee ways_to_match[] = {
	{ "'re.Pattern'", "Look for a fixed word first where most texts do not match (in, "
	                  "str.find()); join several patterns to one (a|b), and match a whole "
	                  "text at once instead of line by line (re.M, finditer()); split by "
	                  "str.split() and compare by startswith() where that is enough." },
	{ "std::regex_",
	  "std::regex walks its automaton by a call for each node, and is many times slower than "
	  "other engines: use RE2, PCRE2 with its JIT, CTRE or "
	  "boost::regex, or look for a fixed word first (find(), memmem()); compare "
	  "by hand where the pattern is simple." },
	{ NULL, NULL },
};

#define CRITICAL_ADVICE                                                                            \
	"Each thread enters the critical section in turn, once for each piece of work: let each "  \
	"thread compute with its own copy, which OpenMP combines at the end of the loop "          \
	"(reduction(+:sum), reduction(+:counts[:N])); use #pragma omp atomic for a single "        \
	"variable; or do more for each entry."

#define CHANNEL_ADVICE                                                                             \
	"Each value that goes through a channel takes a lock, and without a buffer mostly a "      \
	"switch of goroutines: send slices of many values, or spans of an index, and give the "    \
	"channel a buffer (make(chan T, 100))."

static const struct rule_callee ways_to_lock[] = {
	{ "runtime.chan", CHANNEL_ADVICE },
	{ "runtime.selectgo", CHANNEL_ADVICE },
	{ "GOMP_critical", CRITICAL_ADVICE },
	{ "GOMP_atomic", CRITICAL_ADVICE },
	{ "kmpc_critical", CRITICAL_ADVICE },
	{ "kmpc_end_critical", CRITICAL_ADVICE },
	{ NULL, NULL },
};

// On CPUs, at one place.
struct sql_time {
	uint64_t all, next, seek;
	uint32_t callee;
};

// By place; NULL if there is no memory.
static struct sql_time *time_of_statements(const struct evidence *e)
{
	const struct activities *a = e->activities;
	struct sql_time *places = calloc(a->place_count + 1, sizeof(*places));

	for (size_t i = 0; places && i < a->time_count; i++) {
		const struct activity_time *time = &a->times[i];
		if (time->place == ACTIVITY_NO_PLACE || !(time->doing & ACTIVITY(SQL)))
			continue;
		struct sql_time *place = &places[time->place];
		uint64_t ns = time->ns[METRIC_ON_CPU];
		place->all += ns;
		place->next += time->doing & ACTIVITY(SQL_NEXT) ? ns : 0;
		place->seek += time->doing & ACTIVITY(SQL_SEEK) ? ns : 0;
		place->callee = time->callee ? time->callee : place->callee;
	}
	return places;
}

// A statement that an index serves spends its time on the way down a tree; one that has none, on
// the way from each row to the next.
static bool scans(const struct sql_time *place)
{
	return place->next > place->seek && (double)place->next >= NEXT_SHARE * (double)place->all;
}

static enum measured measure_scan(const struct evidence *e, const struct rule *rule,
                                  struct finding *finding)
{
	const struct activities *a = e->activities;
	cleanup_free struct sql_time *places = time_of_statements(e);
	uint64_t cpu_ns = 0, critical_ns = 0;
	double queue_ns = 0;
	size_t best = 0;

	if (!places)
		return finding_lacks(finding, "there is no memory");
	for (size_t i = 0; i < a->time_count; i++) {
		const struct activity_time *time = &a->times[i];
		if (time->place == ACTIVITY_NO_PLACE || !(time->doing & rule->doing) ||
		    !scans(&places[time->place]))
			continue;
		cpu_ns += evidence_sum(time->ns, rule->metrics);
		critical_ns += evidence_sum(time->critical_ns, rule->metrics);
		queue_ns += time->queue_ns;
		if (!scans(&places[best]) || places[time->place].all > places[best].all)
			best = time->place;
	}
	if (cpu_ns < evidence_least_ns(e) || !cpu_ns)
		return MEASURED_NOTHING;
	evidence_weigh(e, critical_ns, cpu_ns, ns_whole(queue_ns), finding);
	finding->value = 100 * finding->share;
	const struct activity_place *at = &a->places[best];
	const char *function = profile_string(e->profile, at->function);
	finding_add(finding, &(struct finding_row){
				     .function = function ? function : "?",
				     .file = profile_string(e->profile, at->file),
				     .line = (int)at->line,
				     .callee = profile_string(e->profile, places[best].callee),
				     .ns = places[best].all,
				     .share = (double)places[best].all / (double)cpu_ns,
			     });
	char whole[120], place[300];
	finding_place(finding->function, finding->file, finding->line, place, sizeof(place));
	return finding_say(finding, "%s: %.0f %% of %s, most in %s", rule->title, finding->value,
	                   evidence_whole(e, finding, whole, sizeof(whole)), place);
}

// What reads from other streams, as from files, goes by no buffer of stdio's.
static enum measured measure_synced(const struct evidence *e, const struct rule *rule,
                                    struct finding *finding)
{
	uint64_t synced = 0, all = 0;

	for (size_t i = 0; i < e->activities->time_count; i++) {
		const struct activity_time *time = &e->activities->times[i];
		if (!(time->doing & rule->doing) || time->doing & rule->not_doing)
			continue;
		all += time->ns[METRIC_ON_CPU];
		synced += time->doing & ACTIVITY(SYNCED) ? time->ns[METRIC_ON_CPU] : 0;
	}
	return SYNCED_PART * synced < all ? MEASURED_NOTHING : measure_doing(e, rule, finding);
}

// Whether one is only there to find out that an attribute is none of the class's, so that Python
// calls its __getattr__(): that takes time, too, and more than its own is within it.
static bool is_before_getattr(const struct evidence *e)
{
	static const char name[] = "__getattr__";
	uint64_t ns = 0;

	for (size_t i = 0; i < e->functions->count; i++) {
		const char *function = e->functions->rows[i].name;
		size_t length = function ? strlen(function) : 0;
		if (length >= strlen(name) && strcmp(function + length - strlen(name), name) == 0)
			ns += e->functions->rows[i].total;
	}
	return share_of(ns, e->functions->all) >= GETATTR_SHARE;
}

static enum measured measure_throw(const struct evidence *e, const struct rule *rule,
                                   struct finding *finding)
{
	enum measured measured = measure_doing(e, rule, finding);

	if (measured == MEASURED && is_before_getattr(e))
		finding_advise(finding,
		               "Python raises an AttributeError before each call of __getattr__(), "
		               "and drops it: set the attributes on the instance or define "
		               "properties and methods for them, or look each up once and keep "
		               "it.");
	return measured;
}

// One call for one text: the others go on through all of it.
static bool is_single_match(const char *callee)
{
	return callee && strstr(callee, "'re.Pattern'") &&
	       (strstr(callee, "'match'") || strstr(callee, "'fullmatch'") ||
	        strstr(callee, "'search'"));
}

// Whether a line of Python's waits for each match so long that what the interpreter does to call
// for it is not to be seen: an engine that goes through a line of text once does not take that
// long.
static bool matches_long(const struct evidence *e, const struct finding *finding)
{
	uint64_t interpreter = 0, matching = 0;

	if (!finding->row_count || !is_single_match(finding->rows[0].callee))
		return false;
	for (size_t i = 0; i < e->activities->time_count; i++) {
		const struct activity_time *time = &e->activities->times[i];
		if (time->place == ACTIVITY_NO_PLACE ||
		    !evidence_is_place(e, time->place, finding->function, finding->file))
			continue;
		if (time->doing & ACTIVITY(MATCH))
			matching += time->ns[METRIC_ON_CPU];
		else if (time->doing & ACTIVITY(PYTHON))
			interpreter += time->ns[METRIC_ON_CPU];
	}
	return matching >= MATCH_SAMPLES * evidence_least_ns(e) &&
	       matching >= LONG_MATCH * interpreter;
}

static enum measured measure_match(const struct evidence *e, const struct rule *rule,
                                   struct finding *finding)
{
	enum measured measured = measure_doing(e, rule, finding);

	if (measured == MEASURED && matches_long(e, finding))
		finding_advise(finding,
		               "Each match takes long, as one that backtracks: look for a "
		               "repetition within a repetition, as in (\\w+\\s?)*, and for two "
		               "neighbours that match the same text, and write them so that one "
		               "way to match is left; or use an engine that does not backtrack "
		               "(RE2, Rust's regex, grep).");
	return measured;
}

// Go's scheduler works on stacks of its own, for whichever goroutine.
static enum measured measure_wakes(const struct evidence *e, const struct rule *rule,
                                   struct finding *finding)
{
	enum measured measured = measure_doing(e, rule, finding);
	const char *callee = finding->row_count ? finding->rows[0].callee : NULL;

	if (measured != MEASURED || !callee || strncmp(callee, "runtime.", 8) != 0)
		return measured;
	for (size_t i = 0; i < e->activities->time_count; i++) {
		const struct activity_time *time = &e->activities->times[i];
		if (time->doing & ACTIVITY(SWITCH) && time->place == ACTIVITY_NO_PLACE)
			finding->elsewhere_ns += time->critical_ns[METRIC_ON_CPU];
	}
	return measured;
}

const struct rule rules_waste[] = {
	{ .id = "CPU-REGEX",
	  .subject = RULES_CPU,
	  .severity = SEVERITY_WARN,
	  .unit = UNIT_PERCENT,
	  .threshold = 10,
	  .title = "compiling regular expressions",
	  .formula = "CPU time in the compilers of regular expressions, as a share of the critical "
	             "thread's time, or of all CPU time where that is more",
	  .why = "Compiling a pattern takes far longer than matching a line with it.",
	  .advice = "Compile each pattern once, outside the loop, and keep it: re.compile(), a "
	            "static std::regex. Python's re module caches only the last 512.",
	  .by_callee = ways_to_compile,
	  .source = "our choice",
	  .measure = measure_doing,
	  .within = { "CPU-SYS", "PY-INTERP", "MEM-CHURN", "MEM-COPY" },
	  .doing = ACTIVITY(REGEX),
	  .metrics = ON_CPU },
	{ .id = "CPU-MATCH",
	  .subject = RULES_CPU,
	  .severity = SEVERITY_INFO,
	  .unit = UNIT_PERCENT,
	  .threshold = 40,
	  .within = { "PY-INTERP", "MEM-COPY", "CPU-FLAT" },
	  .title = "matching regular expressions",
	  .formula = "CPU time in matching text against regular expressions (Python's re, regexec, "
	             "std::regex, PCRE, RE2, Rust's regex), without compiling them, as a share of "
	             "the critical thread's time, or of all CPU time",
	  .why = "An engine walks through the text character by character; one that backtracks "
	         "may do so exponentially often where a text does not match.",
	  .advice = "Look for a fixed word first where most texts do not match (in, find(), "
	            "memmem()); join several patterns to one (a|b); or use an engine that is "
	            "faster (RE2, Rust's regex, PCRE2 with its JIT). If a match takes much longer "
	            "than its text is long, some repetition within a repetition backtracks.",
	  .by_callee = ways_to_match,
	  .source = "our choice",
	  .measure = measure_match,
	  .doing = ACTIVITY(MATCH),
	  .not_doing = ACTIVITY(REGEX) | ACTIVITY(IMPORT),
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
	  .why = "An exception costs a microsecond and more; exceptions are meant for rare cases.",
	  .advice = "Check first, or return the error: find() instead of at(), dict.get(), "
	            "std::optional, an error code.",
	  .source = "our choice",
	  .measure = measure_throw,
	  .within = { "CPU-SYS", "PY-INTERP", "MEM-CHURN", "MEM-COPY" },
	  .doing = ACTIVITY(THROW),
	  .not_doing = ACTIVITY(DEEPCOPY), // of their own
	  .metrics = ON_CPU },
	{ .id = "CPU-CIN",
	  .subject = RULES_CPU,
	  .severity = SEVERITY_WARN,
	  .unit = UNIT_PERCENT,
	  .threshold = 20,
	  .title = "standard streams of C++ kept in step with stdio",
	  .formula =
	          "CPU time of std::cin, std::cout and their like, where an eighth of it and more "
	          "is in the buffer that goes through C's stdin and stdout (stdio_sync_filebuf), "
	          "without the system calls, as a share of the critical thread's time, or of all "
	          "CPU time where that is more",
	  .why = "So that printf() and std::cout may be mixed, the streams have no buffer of their "
	         "own: std::cin calls getc() and ungetc() for each character.",
	  .advice =
	          "Call std::ios::sync_with_stdio(false) and std::cin.tie(nullptr) before the first "
	          "input or output, if the program does not mix them with stdio's functions; write "
	          "\"\\n\" instead of std::endl; or read all input at once (fread(), "
	          "std::from_chars()).",
	  .source = "our choice",
	  .part = 0.7,
	  .part_from = "our choice: with a buffer of its own std::cin takes a fifth of the time",
	  .measure = measure_synced,
	  .within = { "CPU-FORMAT" },
	  .doing = ACTIVITY(SYNCED) | ACTIVITY(EXTRACT),
	  .not_doing = ACTIVITY(WRITE) | ACTIVITY(READ) | ACTIVITY(LINK),
	  .metrics = ON_CPU },
	{ .id = "CPU-STREAM",
	  .subject = RULES_CPU,
	  .severity = SEVERITY_WARN,
	  .unit = UNIT_PERCENT,
	  .threshold = 15,
	  .within = { "MEM-CHURN", "MEM-COPY" },
	  .title = "creating string streams",
	  .formula = "CPU time in the constructors and destructors of C++'s string streams, as a "
	             "share of the critical thread's time, or of all CPU time",
	  .why = "Each stream copies its text and looks up its locale, which costs more than "
	         "reading or writing a number.",
	  .advice = "Use std::from_chars and std::to_chars, or keep one stream and give it new "
	            "text: str(), clear().",
	  .source = "our choice",
	  .measure = measure_doing,
	  .doing = ACTIVITY(STREAM),
	  .metrics = ON_CPU },
	{ .id = "CPU-SHARED",
	  .subject = RULES_CPU,
	  .severity = SEVERITY_WARN,
	  .unit = UNIT_PERCENT,
	  .threshold = 20,
	  .title = "reference counts of shared pointers",
	  .formula = "CPU time in counting the owners of std::shared_ptr, without what it takes to "
	             "free the last one's, as a share of the critical thread's time, or of all CPU "
	             "time",
	  .why = "Each copy is an atomic increment, and later a decrement; threads that copy the "
	         "same pointer take its cache line from each other each time.",
	  .advice = "Pass what it points to by reference (const T &), or the pointer itself by "
	            "const reference; move it to hand it over; copy it once per thread.",
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
	  .within = { "PY-INTERP" },
	  .title = "sorting",
	  .formula = "CPU time in C's, C++'s and Python's functions that sort, without comparisons "
	             "of the user's own that are not inlined, as a share of the critical thread's "
	             "time, or of all CPU time",
	  .why = "Sorting a sequence that is in order except for one element costs as much as "
	         "sorting everything. In Python, each comparison of objects calls their __lt__.",
	  .advice = "Sort once, when the data is complete, in Python by a key (key=), which is "
	            "asked once for each element; insert in order (std::lower_bound, Python's "
	            "bisect), use a heap (heapq), or std::nth_element for a single element.",
	  .source = "our choice",
	  .measure = measure_doing,
	  .doing = ACTIVITY(SORT),
	  .metrics = ON_CPU },
	{ .id = "CPU-KEY",
	  .subject = RULES_CPU,
	  .severity = SEVERITY_WARN,
	  .unit = UNIT_PERCENT,
	  .threshold = 20,
	  .within = { "CPU-SORT", "CPU-FORMAT", "MEM-CHURN", "MEM-COPY" },
	  .title = "working out keys in the comparison of a sort",
	  .formula = "CPU time in which a comparison of the user's own, called by functions of C, "
	             "C++, Rust or Go that sort, parses numbers or dates, formats, splits or "
	             "lowers text, matches regular expressions, or allocates memory, as a share of "
	             "the critical thread's time, or of all CPU time",
	  .why = "To sort n elements takes some n log2(n) comparisons, and each works out two keys: "
	         "that is 34 times for each of 100,000 elements.",
	  .advice = "Work out the key of each element once before, keep it beside the element, and "
	            "compare the keys; in Rust sort_by_cached_key().",
	  .source = "our choice",
	  .measure = measure_doing,
	  .doing = ACTIVITY(KEY),
	  .metrics = ON_CPU },
	{ .id = "CPU-TREE",
	  .subject = RULES_CPU,
	  .severity = SEVERITY_INFO,
	  .unit = UNIT_PERCENT,
	  .threshold = 40,
	  .within = { "CPU-FLAT" },
	  .title = "walking search trees (std::map, std::set)",
	  .formula =
	          "CPU time in std::map, std::set, GLib's GTree and tsearch(), without comparisons "
	          "of the user's own that are not inlined and without allocating and freeing, as a "
	          "share of the critical thread's time, or of all CPU time",
	  .why = "Each step goes to another node, which is a cache miss once the tree is larger "
	         "than the caches.",
	  .advice =
	          "Where elements are looked up by key and their order is not needed, use "
	          "std::unordered_map with reserve(). Where the tree is built once and then walked "
	          "or searched, use a sorted std::vector (std::lower_bound): its neighbours are in "
	          "one cache line.",
	  .source = "our choice",
	  .measure = measure_doing,
	  .doing = ACTIVITY(TREE),
	  .not_doing = ACTIVITY(ALLOCATE) | ACTIVITY(OBJECT) | ACTIVITY(FAULT),
	  .metrics = ON_CPU },
	{ .id = "CPU-COLLATE",
	  .subject = RULES_CPU,
	  .severity = SEVERITY_WARN,
	  .unit = UNIT_PERCENT,
	  .threshold = 20,
	  .within = { "CPU-SORT" },
	  .title = "comparing text by the rules of a locale",
	  .formula = "CPU time in strcoll(), wcscoll() and their like, as a share of the critical "
	             "thread's time, or of all CPU time where that is more",
	  .why = "Each comparison decodes both texts and looks up the weights of their characters, "
	         "which takes ten times as long as comparing bytes and more.",
	  .advice = "Where byte order is acceptable, set LC_ALL=C for the program (LC_ALL=C sort; "
	            "what sort, join and comm exchange needs the same order), or compare with "
	            "strcmp(). Otherwise make a key of each text once, with strxfrm(), and compare "
	            "the keys.",
	  .source = "our choice",
	  .measure = measure_doing,
	  .doing = ACTIVITY(COLLATE),
	  .metrics = ON_CPU },
	{ .id = "CPU-RANDOM",
	  .subject = RULES_CPU,
	  .severity = SEVERITY_WARN,
	  .unit = UNIT_PERCENT,
	  .threshold = 25,
	  .title = "random numbers of the C library",
	  .formula =
	          "CPU time in rand(), random(), drand48() and their like, and waiting for their "
	          "lock, as a share of the critical thread's time, or of all CPU time where "
	          "that is more",
	  .why = "They have one state for all threads: each call of rand() or random() takes a "
	         "lock, whose cache line threads take from each other.",
	  .advice = "Give each thread its own generator: rand_r(3), random_r(3), drand48_r(3), a "
	            "std::minstd_rand or std::mt19937 that is thread_local, or a few lines of "
	            "xorshift, which the compiler inlines.",
	  .source = "our choice",
	  .measure = measure_doing,
	  .within = { "CPU-LOCK", "CPU-WAKE", "CPU-SYS" },
	  .doing = ACTIVITY(RANDOM),
	  .metrics = ON_CPU | 1u << METRIC_OFF_LOCK },
	{ .id = "CPU-FORMAT",
	  .subject = RULES_CPU,
	  .severity = SEVERITY_INFO,
	  .unit = UNIT_PERCENT,
	  .threshold = 30,
	  .title = "formatting text",
	  .formula = "CPU time in printf, snprintf, Rust's core::fmt and their like, without the "
	             "system calls that write, as a share of the critical thread's time, or of "
	             "all CPU time where that is more",
	  .why = "Each call reads its format anew, and a floating-point number with a fixed count "
	         "of digits is worked out exactly: some 0.1 to 1 us per value.",
	  .advice = "Where the text may be dropped, as a debug message is, check the level before "
	            "it is formatted. Else write numbers with std::to_chars() or, in Rust, the "
	            "crates itoa and ryu, or store them in binary.",
	  .source = "our choice",
	  .measure = measure_doing,
	  .doing = ACTIVITY(FORMAT),
	  .not_doing = ACTIVITY(WRITE) | ACTIVITY(SYNC) | ACTIVITY(LINK) | ACTIVITY(IMPORT),
	  .metrics = ON_CPU },
	{ .id = "CPU-SCAN",
	  .subject = RULES_CPU,
	  .severity = SEVERITY_WARN,
	  .unit = UNIT_PERCENT,
	  .threshold = 50,
	  .title = "table scans in SQLite",
	  .formula = "CPU time of SQLite's statements at lines where SQLite spends 3 % of the time "
	             "and more on going from row to row, and less on going from key to key, as a "
	             "share of the critical thread's time, or of all CPU time where that is "
	             "more; only where the symbols of SQLite's own functions are found",
	  .why = "A statement without a fitting index reads all rows of its table, each time that "
	         "it runs.",
	  .advice = "Ask EXPLAIN QUERY PLAN: where it says SCAN for a table of which few rows are "
	            "wanted, CREATE INDEX on the columns of WHERE or JOIN; or ask for all rows "
	            "with one statement instead of one by one.",
	  .source = "our choice",
	  .measure = measure_scan,
	  .doing = ACTIVITY(SQL),
	  .metrics = ON_CPU },
	{ .id = "CPU-COMPRESS",
	  .subject = RULES_CPU,
	  .severity = SEVERITY_INFO,
	  .unit = UNIT_PERCENT,
	  .threshold = 30,
	  .title = "compression",
	  .formula = "CPU time in compressing data (zlib, bzip2, zstd, lz4), as a share of the "
	             "critical thread's time, or of all CPU time where that is more",
	  .why = "zlib's level 9 takes several times as long as level 1, for a few percent less "
	         "size.",
	  .advice = "Use a lower level (the defaults of Python's gzip and zipfile are 9 and 6), "
	            "or zstd, which is faster at the same size; compress in other threads.",
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
	  .title = "quadratic work",
	  .formula =
	          "CPU time in looking for the ends of strings, in walking to a place in a string "
	          "of characters of several bytes or in a linked list, in adding to a string that is "
	          "copied for that, and in searching and shifting lists and vectors, as a share of the "
	          "critical thread's time, or of all CPU time where that is more",
	  .why = "Each step takes longer than the one before: twice the data takes four times as "
	         "long.",
	  .advice = "Remember the end of the string, collect parts and join them once, look "
	            "things up in a set or dict, and use collections.deque for queues.",
	  .source = "our choice",
	  .by_callee = moves,
	  .measure = measure_doing,
	  .within = { "CPU-SYS", "PY-INTERP", "MEM-COPY", "MEM-FAULT", "MEM-CHURN" },
	  .doing = ACTIVITY(STRING_END) | ACTIVITY(CONCAT) | ACTIVITY(SHIFT),
	  .not_doing = ACTIVITY(REGEX),
	  .metrics = ON_CPU },
	{ .id = "CPU-SPIN",
	  .subject = RULES_CPU,
	  .severity = SEVERITY_WARN,
	  .unit = UNIT_PERCENT,
	  .threshold = 10,
	  .title = "busy waiting",
	  .formula =
	          "CPU time in spin locks, in sched_yield(), and in loops of the user's own that only "
	          "re-read one memory address until it changes, as a share of the critical thread's "
	          "time, or of all CPU time where that is more",
	  .why = "The spinning CPU is missing where the work is done.",
	  .advice = "Wait for the event itself: a condition variable, a semaphore, a futex, "
	            "join().",
	  .source = "our choice",
	  .measure = measure_doing,
	  .within = { "CPU-SYS", "CPU-IMBALANCE" },
	  .doing = ACTIVITY(SPIN) | ACTIVITY_OF_LOOP(WAIT),
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
	  .title = "waking threads and handing over locks",
	  .formula =
	          "CPU time in locks, condition variables and Go's channels, in the kernel or not, "
	          "as a share of the critical thread's time, or of all CPU time where that is "
	          "more; not waiting for them",
	  .why = "Putting a thread to sleep and waking it takes microseconds of two CPUs, more "
	         "than a small piece of work; threads that are woken together contend for one "
	         "lock.",
	  .advice = "Wake one thread per piece of work (notify_one(), pthread_cond_signal()), not "
	            "all; hand over several pieces at once, through a queue or channel that has "
	            "room for them; take a lock once for many of them; "
	            "start no more threads than there are CPUs.",
	  .by_callee = ways_to_lock,
	  .source = "our choice",
	  .measure = measure_wakes,
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
	  .title = "math functions in double precision",
	  .formula = "CPU time in exp, log, pow, sin and their like of double, as a share of the "
	             "critical thread's time, or of all CPU time",
	  .why = "Single precision takes half as long, and compilers vectorize it 4 to 16 wide.",
	  .advice = "If 7 digits are enough, use float and expf(), logf(), powf(); -ffast-math "
	            "(or -O3 with libmvec) vectorizes the calls. Replace small integer powers by "
	            "multiplications, polynomials by Horner's rule.",
	  .source = "our choice",
	  .part = 0.5,
	  .part_from = "functions of float take half as long; not what vectors of them save",
	  .measure = measure_doing,
	  .doing = ACTIVITY(FLOAT64),
	  .not_doing = ACTIVITY(PYTHON),
	  .metrics = ON_CPU },
};

const size_t rules_waste_count = sizeof(rules_waste) / sizeof(rules_waste[0]);
