// SPDX-License-Identifier: MIT
// Rules on files, pipes, sockets and sleep.
#include "base/error.h"
#include "base/format.h"
#include "base/origin.h"
#include "base/share.h"
#include "merge/profile/profile_parts.h"
#include "merge/query/query_slices.h"
#include "merge/query/query_waits.h"
#include "merge/rules/evidence.h"
#include "merge/rules/file_work.h"

#include <stdio.h>

#define ON_CPU        (1u << METRIC_ON_CPU)
#define FILES         (1u << METRIC_OFF_FILE | 1u << METRIC_OFF_PIPE)
#define FAULTS        (1u << METRIC_OFF_FAULT)
#define PIPES         (1u << METRIC_OFF_PIPE)
#define NET           (1u << METRIC_OFF_NET)
#define WAITED_SHARE  0.5 // of the run, by the critical thread for others; of files, for the disk
#define CONNECTING_NS (20 * UINT64_C(1000000)) /* of CPU time: some 500 connections on loopback */
#define SLEEP         (1u << METRIC_OFF_SLEEP)

#define PLACE_SHARE   0.2 /* of what others work: less is no place to look at */

#define MANY_CALLS    1000
#define HELD_NS       (38 * UINT64_C(1000000)) /* Linux: TCP_DELACK_MIN, 40 ms, by a coarse timer */
#define HELD_END_NS   (50 * UINT64_C(1000000))
#define HELD_LEAST    10
#define HELD_SHARE    0.5     /* of all that was waited for sockets */
#define LARGE_BYTES   16384   /* copying that many takes several times as long as the call itself */
#define EVEN_READ     3200.0  /* bytes with which a call takes twice as long as without any */
#define EVEN_WRITE    12500.0 /* both as measured on Linux 6, ext4, in the page cache */
#define BUFFER_BYTES  65536.0 /* of a call, as advised */
#define FEW_BYTES     64      /* on average: less is no message, but a piece of one */
#define AT_ONCE_LEAST 3       /* threads: two may be a client and a server */
#define SHELL_SHARE   0.1     /* of the CPU time, by shells' own code */
#define SAME_SHARE    0.5 /* of what was waited for sockets: then it is the program's own work */

// CPU time of all threads in WHAT, as RULE counts it.
static uint64_t time_in(const struct evidence *e, const struct rule *rule, activity_set what)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < e->activities->time_count; i++) {
		const struct activity_time *time = &e->activities->times[i];
		if ((time->doing & what) && !(time->doing & rule->not_doing))
			sum += evidence_sum(time->ns, rule->metrics);
	}
	return sum;
}

// A shell has no buffer to set: it reads a pipe byte by byte, as who comes after it may read the
// rest.
static bool is_of_shell(const struct evidence *e)
{
	uint64_t ns = 0;

	for (size_t i = 0; i < e->functions->count; i++)
		if (origin_is_shell(e->functions->rows[i].module))
			ns += e->functions->rows[i].self;
	return share_of(ns, e->functions->all) >= SHELL_SHARE;
}

// The part of the time of calls with BYTES each that goes with a buffer of BUFFER_BYTES: there are
// fewer of them then, but as many bytes.
static double part_of_calls(double bytes, bool writes)
{
	double even = writes ? EVEN_WRITE : EVEN_READ;
	double now = even / (bytes > 1 ? bytes : 1) + 1, then = even / BUFFER_BYTES + 1;

	return now > then ? 1 - then / now : 0;
}

// Calls that are large on average are not what most of their time is spent on.
static enum measured measure_tiny(const struct evidence *e, const struct rule *rule,
                                  struct finding *finding)
{
	bool writes = time_in(e, rule, ACTIVITY(WRITE)) > time_in(e, rule, ACTIVITY(READ));
	uint64_t calls = writes ? e->run->write_calls : e->run->read_calls;
	uint64_t bytes = writes ? e->run->write_bytes : e->run->read_bytes;
	struct rule own = *rule;
	char fact[sizeof(finding->fact)];

	// Bytes of a message, one by one, are read as those of a file.
	if (calls >= MANY_CALLS && bytes / calls < FEW_BYTES)
		own.not_doing &= ~ACTIVITY(SOCKET);
	enum measured measured = measure_doing(e, &own, finding);
	if (measured != MEASURED)
		return measured;
	// What children have done may not be told; where copying is not seen either, nobody knows.
	bool whole = calls >= MANY_CALLS || (calls && e->totals.processes == 1);
	if (whole && bytes / calls >= LARGE_BYTES)
		return MEASURED_NOTHING;
	if (calls < MANY_CALLS)
		return e->run->kernel_stacks ? measured : MEASURED_NOTHING;
	finding->part = part_of_calls((double)bytes / (double)calls, writes);
	// What the calls could be fewer for is less than the rule is about.
	if (finding->part * finding->value < rule->threshold)
		return MEASURED_NOTHING;
	if (2 * time_in(e, &own, ACTIVITY(SOCKET)) > time_in(e, &own, rule->doing))
		finding_advise(
			finding,
			"Write a whole message with one call (writev(2), or one buffer for "
			"its parts) and read into a large buffer all that has arrived; where "
			"each message waits for the answer to the last, send several at "
			"once.");
	if (!finding->function && !writes && is_of_shell(e))
		finding_advise(finding,
		               "Bash and sh read a pipe byte by byte: read all lines with one "
		               "mapfile, redirect read from a file (`done < file`), or let one awk "
		               "process do the work of the loop.");
	snprintf(fact, sizeof(fact), "%s", finding->fact);
	return finding_say(finding, "%.320s; the run has %s %s times, %s byte%s on average", fact,
	                   writes ? "written" : "read", format_count(calls).text,
	                   format_count(bytes / calls).text, bytes / calls == 1 ? "" : "s");
}

// How many waits for sockets are as long as a receiver holds an acknowledgement back; 0 where they
// are not most of that time.
static uint32_t held_back(const struct evidence *e)
{
	const struct slice_query query = { .from_ns = e->query.from_ns,
		                           .to_ns = e->query.to_ns,
		                           .kinds = 1u << SLICE_WAIT };
	struct error err = { 0 };
	cleanup(slice_reader) struct slice_reader *reader =
		slice_reader_new(e->profile, &query, &err);
	uint64_t all = 0, held = 0;
	uint32_t count = 0;
	struct slice slice;

	while (reader && slice_reader_next_slice(reader, &slice, &err) > 0) {
		uint64_t ns = slice.end_ns - slice.begin_ns;
		if (slice.what != METRIC_OFF_NET)
			continue;
		all += ns;
		if (ns < HELD_NS || ns >= HELD_END_NS)
			continue;
		held += ns;
		count++;
	}
	return count >= HELD_LEAST && (double)held >= HELD_SHARE * (double)all ? count : 0;
}

// That it is the other end of a pipe, and no device, that is waited for.
static enum measured measure_wait(const struct evidence *e, const struct rule *rule,
                                  struct finding *finding)
{
	enum measured measured = measure_doing(e, rule, finding);
	char fact[sizeof(finding->fact)];
	uint64_t files = 0, pipes = 0, writes = 0;

	for (size_t i = 0; i < e->activities->time_count; i++) {
		const struct activity_time *time = &e->activities->times[i];
		if (time->doing & rule->not_doing)
			continue;
		files += evidence_sum(time->critical_ns, rule->metrics & ~PIPES);
		pipes += evidence_sum(time->critical_ns, PIPES);
		writes += time->doing & ACTIVITY(WRITE)
		                  ? evidence_sum(time->critical_ns, rule->metrics & ~PIPES)
		                  : 0;
	}
	if (measured == MEASURED && pipes <= files && 2 * writes > files)
		finding_advise(
			finding,
			"These are writes that wait for the device, as those to files opened "
			"with O_SYNC, O_DSYNC or O_DIRECT, or once too much written data is in "
			"memory: write in larger pieces, sync once for many (fdatasync(2) "
			"instead of O_DSYNC), or write in another thread.");
	if (measured != MEASURED || pipes <= files)
		return measured;
	finding_advise(finding,
	               "See what the process at the other end does: a pipe is empty, or full, "
	               "because that process is slower. If both are idle in turn, pass larger "
	               "pieces, or enlarge the pipe (fcntl(2), F_SETPIPE_SZ).");
	snprintf(fact, sizeof(fact), "%s", finding->fact);
	return finding_say(finding, "%.300s; mostly for pipes", fact);
}

// Wall time is resolved to the bins of the profile: a place may have a little more of it than time.
static uint64_t without(uint64_t all, uint64_t part)
{
	return all > part ? all - part : 0;
}

// What the other threads work, if they keep CPUs busy, or want to, for most of the time that the
// critical one spends in WAITS (bits): then one of them may be who is waited for; 0 if not so. MOST
// is what they do most in code of the user's own; NULL: hardly anything.
static uint64_t work_of_others(const struct evidence *e, uint32_t waits,
                               const struct activity_time **most)
{
	const uint32_t work = ON_CPU | 1u << METRIC_OFF_RUNNABLE;
	uint64_t waited = 0, worked = 0, most_ns = 0;

	*most = NULL;
	for (size_t i = 0; i < e->activities->time_count; i++) {
		const struct activity_time *time = &e->activities->times[i];
		uint64_t others = without(evidence_sum(time->ns, work),
		                          evidence_sum(time->critical_ns, work));
		waited += evidence_sum(time->critical_ns, waits);
		worked += others;
		if (time->place == ACTIVITY_NO_PLACE || others <= most_ns)
			continue;
		*most = time;
		most_ns = others;
	}
	if ((double)most_ns < PLACE_SHARE * (double)worked)
		*most = NULL;
	return (double)worked >= SAME_SHARE * (double)waited ? worked : 0;
}

// Advises to look at what others do, if that may be what is waited for in WAITS; behind FIRST,
// which may be "".
static void advise_on_others(const struct evidence *e, uint32_t waits, const char *first,
                             struct finding *finding)
{
	const struct activity_time *most;
	uint64_t worked = work_of_others(e, waits, &most);
	char where[300] = "";

	if (!worked)
		return;
	if (most) {
		const struct activity_place *place = &e->activities->places[most->place];
		const struct strings *texts = profile_strings(e->profile);
		const char *function = strings_get(texts, place->function);
		finding_place(function ? function : "?", strings_get(texts, place->file),
		              (int)place->line, where, sizeof(where));
	} else {
		evidence_program(e, ON_CPU, where, sizeof(where));
	}
	finding_advise(finding,
	               "%.150s%sOther threads of the run work for %.2f s%s%.180s: if this thread "
	               "waits for them, speed that up%s.",
	               first, *first ? " " : "", (double)worked / 1e9, *where ? ", most in " : "",
	               where, most ? "" : "; bottleneck report --by thread shows them");
}

// How many threads at once wait so, on average, while the critical one, or the run, does.
static double waiting_at_once(const struct evidence *e, const struct rule *rule)
{
	uint64_t all = 0, critical = 0;

	for (size_t i = 0; i < e->activities->time_count; i++) {
		const struct activity_time *time = &e->activities->times[i];
		if (time->doing & rule->not_doing)
			continue;
		all += evidence_sum(time->ns, rule->metrics);
		critical += evidence_sum(time->critical_ns, rule->metrics);
	}
	return critical ? (double)all / (double)critical : 0;
}

// The critical thread's CPU time in opening and closing connections; 0: there were few of them.
static uint64_t connecting(const struct evidence *e)
{
	uint64_t ns = 0;

	for (size_t i = 0; i < e->activities->time_count; i++) {
		const struct activity_time *time = &e->activities->times[i];
		const activity_set others = ACTIVITY(LOOKUP) | ACTIVITY(IMPORT) | ACTIVITY(LINK);
		if (time->doing & ACTIVITY(CONNECT) && !(time->doing & others))
			ns += time->critical_ns[METRIC_ON_CPU];
	}
	return ns >= CONNECTING_NS ? ns : 0;
}

static enum measured measure_net(const struct evidence *e, const struct rule *rule,
                                 struct finding *finding)
{
	enum measured measured = measure_doing(e, rule, finding);
	char fact[sizeof(finding->fact)];

	if (measured != MEASURED || finding->value <= rule->threshold)
		return measured;
	uint32_t count = held_back(e);
	uint64_t connecting_ns = count ? 0 : connecting(e);
	if (connecting_ns) {
		char first[150];
		snprintf(first, sizeof(first),
		         "The thread takes %.2f s of CPU time to open connections: keep them and "
		         "send more than one request through each (a session, a pool).",
		         (double)connecting_ns / 1e9);
		finding_advise(finding, "%s %s", first, rule->advice);
		advise_on_others(e, NET, first, finding);
		return measured;
	}
	if (!count) {
		double at_once = waiting_at_once(e, rule);
		if (at_once >= AT_ONCE_LEAST)
			finding_advise(finding,
			               "Some %.0f threads wait at once already. Ask for less: put "
			               "several requests into one, keep answers. More threads help "
			               "as long as the other side is not busy: profile that.",
			               at_once);
		advise_on_others(e, NET, "", finding);
		return measured;
	}
	finding_advise(
		finding,
		"A receiver delays acknowledgements for as long, while the sender holds small "
		"segments back (Nagle's algorithm): write each message with one call (writev(2), a "
		"buffer), or set TCP_NODELAY. If the other side does take so long, send several "
		"requests at once.");
	snprintf(fact, sizeof(fact), "%s", finding->fact);
	return finding_say(finding, "%.300s; %s waits of some 40 ms", fact,
	                   format_count(count).text);
}

// Who waits while the rest of the run works is not idle: make(1) waits so for its compilers.
static enum measured measure_idle(const struct evidence *e, const struct rule *rule,
                                  struct finding *finding)
{
	const struct activity_time *most;

	if (work_of_others(e, rule->metrics, &most))
		return MEASURED_NOTHING;
	enum measured measured = measure_doing(e, rule, finding);
	// Nothing is faster for it: requests come when they come.
	finding->saving_ns = finding->saving_margin_ns = 0;
	return measured;
}

static const struct {
	activity_set doing;
	const char *advice;
} on_files[] = {
	{ ACTIVITY(CREATE), "Put many small pieces of data into one file, an archive or a database "
	                    "(SQLite) instead of a file each." },
	{ ACTIVITY(REMOVE), "Keep temporary data in memory, or in one file that is emptied "
	                    "(ftruncate(2)) instead of removed and created anew." },
	{ ACTIVITY(LOOK), "Ask for a file's attributes once and keep the answer; readdir() and "
	                  "os.scandir() give a file's type without stat()." },
	{ ACTIVITY(LIST), "List a directory once, and keep the result." },
	{ ACTIVITY(ATTRIBUTE),
	  "Set attributes when a file is made (the mode of open(), umask), and "
	  "later only where they differ." },
};

// Reads or writes that are small on average, as of files of a few KB each.
static void add_calls(const struct evidence *e, struct finding *finding)
{
	const struct run *run = e->run;
	bool writes = run->write_calls && 2 * run->write_bytes > run->read_bytes;
	uint64_t calls = writes ? run->write_calls : run->read_calls;
	uint64_t bytes = writes ? run->write_bytes : run->read_bytes;
	char fact[sizeof(finding->fact)];

	if (calls < MANY_CALLS || bytes / calls >= LARGE_BYTES || bytes / calls < FEW_BYTES)
		return;
	snprintf(fact, sizeof(fact), "%s", finding->fact);
	finding_say(finding, "%.300s; the run has %s %s times, %s bytes on average", fact,
	            writes ? "written" : "read", format_count(calls).text,
	            format_count(bytes / calls).text);
}

// What a directory holds comes from the disk but once.
static enum measured measure_open(const struct evidence *e, const struct rule *rule,
                                  struct finding *finding)
{
	struct rule own = *rule;
	char title[120];
	enum measured measured = measure_doing(e, rule, finding);
	uint64_t waited = 0, all = 0;

	if (measured != MEASURED || finding->value <= rule->threshold)
		return measured;
	activity_set most = file_work_title(e, rule, finding, title, sizeof(title));
	own.title = title;
	finding_describe(e, &own, finding);
	if (!finding->function)
		add_calls(e, finding);
	for (size_t i = 0; finding->function && i < sizeof(on_files) / sizeof(on_files[0]); i++)
		if (on_files[i].doing & most)
			finding_advise(finding, "%s", on_files[i].advice);
	for (size_t i = 0; i < e->activities->time_count; i++) {
		const struct activity_time *time = &e->activities->times[i];
		if (!(time->doing & rule->doing) || time->doing & rule->not_doing)
			continue;
		waited += evidence_sum(time->critical_ns, FILES | FAULTS);
		all += evidence_sum(time->critical_ns, FILES | FAULTS | ON_CPU);
	}
	// What changes a directory waits for the disk in a second run, too.
	const activity_set changes =
		ACTIVITY(CREATE) | ACTIVITY(REMOVE) | ACTIVITY(RENAME) | ACTIVITY(ATTRIBUTE);
	if (!(most & changes) && (double)waited > WAITED_SHARE * (double)all)
		finding_advise(
			finding,
			"Most of the time is spent waiting for the disk: profile a second run first, "
			"which finds directories in memory. Or look up fewer files.");
	return measured;
}

// What the other threads did meanwhile: slept at places of the user's own, or anything else.
struct others {
	uint64_t sleep_ns, most_ns, rest_ns;
	uint32_t place; // that sleeps most
};

static struct others look_at_others(const struct evidence *e, const struct rule *rule)
{
	const uint32_t idle = SLEEP | 1u << METRIC_OFF_LOCK | 1u << METRIC_OFF_RUNNABLE;
	const struct activities *a = e->activities;
	struct others others = { .place = ACTIVITY_NO_PLACE };

	for (size_t i = 0; i < a->time_count; i++) {
		const struct activity_time *time = &a->times[i];
		uint64_t ns =
			without(time->ns[METRIC_OFF_SLEEP], time->critical_ns[METRIC_OFF_SLEEP]);
		others.rest_ns += evidence_sum(time->ns, ~idle & ((1u << METRIC_COUNT) - 1));
		if (time->place == ACTIVITY_NO_PLACE || time->doing & rule->not_doing)
			continue;
		others.sleep_ns += ns;
		if (ns <= others.most_ns)
			continue;
		others.most_ns = ns;
		others.place = time->place;
	}
	return others;
}

// Who sleeps until others are done has to wait for them all the same: what is lost is the time in
// which nobody works.
static void weigh_beside_others(const struct evidence *e, const struct rule *rule,
                                struct finding *finding)
{
	const struct activity_time *most;

	if (!work_of_others(e, SLEEP, &most))
		return;
	advise_on_others(e, SLEEP, rule->advice, finding);
	if (!e->parallel.all_ns || e->parallel.none_ns >= finding->saving_ns)
		return;
	finding->saving_ns = e->parallel.none_ns;
	finding->saving_margin_ns = 0;
}

// Where nothing else happens, who sleeps is who the critical thread waits for.
static enum measured measure_sleep(const struct evidence *e, const struct rule *rule,
                                   struct finding *finding)
{
	uint64_t waited = e->activities->critical_ns[METRIC_OFF_LOCK];
	struct others others = look_at_others(e, rule);
	char thread[80], place[300];

	if ((double)waited < WAITED_SHARE * (double)e->wall_ns || others.sleep_ns < waited / 2 ||
	    others.rest_ns > others.sleep_ns / 2 || others.place == ACTIVITY_NO_PLACE) {
		enum measured measured = measure_doing(e, rule, finding);
		if (measured == MEASURED && finding->value > rule->threshold)
			weigh_beside_others(e, rule, finding);
		return measured;
	}
	const struct activity_place *at = &e->activities->places[others.place];
	const char *function = profile_string(e->profile, at->function);
	evidence_weigh(e, others.sleep_ns < waited ? others.sleep_ns : waited, 0, 0, finding);
	finding->value = 100 * finding->share;
	finding_add(finding, &(struct finding_row){
				     .function = function ? function : "?",
				     .file = profile_string(e->profile, at->file),
				     .line = (int)at->line,
				     .ns = others.most_ns,
				     .share = (double)others.most_ns / (double)others.sleep_ns,
			     });
	finding_place(finding->function, finding->file, finding->line, place, sizeof(place));
	return finding_say(finding,
	                   "%s waits for a thread that sleeps: %.0f %% of the time%s, most in %s",
	                   evidence_thread(e, thread, sizeof(thread)), finding->value,
	                   evidence_queue(e), place);
}

static const struct rule_callee ways_to_close[] = {
	{ "close",
	  "Keep files open instead of opening and closing them each time. Where all "
	  "descriptors are closed before exec(), call close_range(3, ~0U, 0) once, or open "
	  "them with O_CLOEXEC." },
	{ NULL, NULL },
};

static const struct rule_callee ways_to_receive[] = {
	{ "recv", "Receive all that has arrived into a large buffer (64 KB) and take the messages "
	          "out of it, instead of a few bytes a call. Where messages are small because they "
	          "were sent so, put several into one, or send the next before the answer to the "
	          "last has arrived." },
	{ NULL, NULL },
};

const struct rule rules_io[] = {
	{ .id = "IO-WAIT",
	  .subject = RULES_IO,
	  .severity = SEVERITY_WARN,
	  .unit = UNIT_PERCENT,
	  .threshold = 10,
	  .title = "waiting for files and pipes",
	  .formula =
	          "time blocked in system calls on files, block devices, pipes and terminals, as a "
	          "share of the critical thread's time; without the program's start and looking "
	          "up files, and of the user's own code if there is any",
	  .why = "The thread is idle while the device, or the other end of the pipe, works.",
	  .advice = "Profile a second run first: it finds in memory what this one read from disk. "
	            "Read ahead (posix_fadvise, a reader thread) or in larger pieces, or keep the "
	            "data in memory.",
	  .source = "our choice",
	  .measure = measure_wait,
	  .not_doing = ACTIVITY(POLL) | ACTIVITY(SPAWN) | ACTIVITY(LINK) | ACTIVITY(IMPORT) |
	               ACTIVITY(OPEN), // a rule of its own
	  .metrics = FILES,
	  .placed = true },
	{ .id = "IO-FAULT",
	  .subject = RULES_IO,
	  .severity = SEVERITY_WARN,
	  .unit = UNIT_PERCENT,
	  .threshold = 10,
	  .title = "waiting on page faults",
	  .formula =
	          "time blocked in page faults, most of which read a page of a mapped file, or one "
	          "that was swapped out, from disk, as a share of the critical thread's time; "
	          "without the program's start, and of the user's own code if there is any",
	  .why = "The thread is idle until the page is in memory, and each fault waits for one "
	         "read.",
	  .advice = "Profile a second run first: it finds in memory what this one read from disk. "
	            "Have a mapped file read ahead (madvise(2) with MADV_WILLNEED, MAP_POPULATE), "
	            "or read it with read(2) in large pieces; where memory was swapped out, use "
	            "less of it.",
	  .source = "our choice",
	  .measure = measure_doing,
	  .not_doing = ACTIVITY(SPAWN) | ACTIVITY(LINK) | ACTIVITY(IMPORT) | ACTIVITY(OPEN),
	  .metrics = FAULTS,
	  .placed = true },
	{ .id = "IO-SYNC",
	  .subject = RULES_IO,
	  .severity = SEVERITY_WARN,
	  .unit = UNIT_PERCENT,
	  .threshold = 10,
	  .within = { "IO-WAIT", "CPU-SYS" },
	  .title = "waiting for fsync",
	  .formula =
	          "time in fsync, fdatasync, sync_file_range and msync, waiting or not, as a share "
	          "of the critical thread's time",
	  .why = "Each fsync waits for the device, which is thousands of times slower than the "
	         "write itself.",
	  .advice = "Sync once for many writes: group them, or put them into one transaction.",
	  .source = "our choice",
	  .measure = measure_doing,
	  .doing = ACTIVITY(SYNC) },
	{ .id = "IO-TINY",
	  .subject = RULES_IO,
	  .severity = SEVERITY_WARN,
	  .unit = UNIT_PERCENT,
	  .threshold = 25,
	  .within = { "CPU-SYS", "IO-MESSAGES" },
	  .title = "many small reads or writes",
	  .formula =
	          "CPU time of system calls that read or write, without the copies of the "
	          "data, as a share of the critical thread's time, or of all CPU time; not that "
	          "of sockets, where the kernel's functions are seen, unless the run's reads, or "
	          "its writes, are of less than 64 bytes on average, by /proc/PID/io; not where "
	          "they are of 16 KB and more, or so large that a buffer of 64 KB would save less "
	          "than the threshold (a read of 3 KB, and a write of 12 KB, takes twice as long as one "
	          "of nothing), or nothing tells how large they are",
	  .why = "A system call costs about as much as copying a few kilobytes; with a few bytes "
	         "per call, most of the time is overhead.",
	  .advice = "Use a buffer of some 64 KB for reads and writes (BufReader and BufWriter in "
	            "Rust, setvbuf(3)), and do not flush it after each line ('\\n' instead of "
	            "std::endl).",
	  .source = "our choice",
	  .measure = measure_tiny,
	  .inside = true,
	  .doing = ACTIVITY(READ) | ACTIVITY(WRITE),
	  .not_doing = ACTIVITY(COPY) | ACTIVITY(SYNC) | ACTIVITY(IMPORT) | ACTIVITY(LINK) |
	               ACTIVITY(SPAWN) | ACTIVITY(SOCKET),
	  .metrics = ON_CPU },
	{ .id = "IO-OPEN",
	  .subject = RULES_IO,
	  .severity = SEVERITY_WARN,
	  .unit = UNIT_PERCENT,
	  .threshold = 20,
	  .within = { "CPU-SYS" },
	  .title = "looking up and opening files",
	  .formula =
	          "time in open, close, stat, readdir, mkdir, unlink, rename, chmod and their like, "
	          "as a share of the critical thread's time, or of all CPU time",
	  .why = "Each of these calls walks the path through the file system, and what it changes "
	         "there takes longer than small files take to read or write.",
	  .advice = "Keep files open, list a directory once, and cache the result.",
	  .by_callee = ways_to_close,
	  .source = "our choice",
	  .measure = measure_open,
	  .inside = true,
	  .doing = ACTIVITY(OPEN),
	  .not_doing = ACTIVITY(SYNC) | ACTIVITY(IMPORT) | ACTIVITY(LINK) | ACTIVITY(SPAWN) |
	               ACTIVITY(CONNECT) },
	{ .id = "IO-SLEEP",
	  .subject = RULES_IO,
	  .severity = SEVERITY_WARN,
	  .unit = UNIT_PERCENT,
	  .threshold = 10,
	  .title = "sleeping",
	  .formula =
	          "time in sleep, usleep, nanosleep and their like, as a share of the critical "
	          "thread's time; where that waits for other threads, and they sleep most of the "
	          "time, of theirs; threads that work for half of that time are named, and "
	          "what it could save is no more than the time in which no thread of the run was "
	          "on a CPU",
	  .why = "A sleep ends after a fixed time, however early its reason is over.",
	  .advice = "Wait for the event itself: a condition variable, a future, poll(2) with a "
	            "timeout, inotify(7); in a shell, wait.",
	  .source = "our choice",
	  .measure = measure_sleep,
	  .not_doing = ACTIVITY(POLL) | ACTIVITY(SPIN),
	  .metrics = SLEEP },
	{ .id = "IO-NET",
	  .subject = RULES_IO,
	  .severity = SEVERITY_WARN,
	  .unit = UNIT_PERCENT,
	  .threshold = 10,
	  .title = "waiting for the network",
	  .formula =
	          "time blocked in receiving from, sending to and connecting sockets, as a share "
	          "of the critical thread's time; threads that work for half of that time are "
	          "named",
	  .why = "The thread is idle until the other side answers.",
	  .advice = "Send several requests at once: in parallel, in batches, or pipelined.",
	  .source = "our choice",
	  .measure = measure_net,
	  .not_doing = ACTIVITY(POLL) | ACTIVITY(SPAWN) | ACTIVITY(LOADER),
	  .metrics = NET },
	{ .id = "IO-MESSAGES",
	  .subject = RULES_IO,
	  .severity = SEVERITY_WARN,
	  .unit = UNIT_PERCENT,
	  .threshold = 25,
	  .within = { "CPU-SYS" },
	  .title = "many small messages over sockets",
	  .formula =
	          "CPU time in sending to sockets and receiving from them, less what it takes to "
	          "copy the data, as a share of the critical thread's time, or of all CPU time; "
	          "only where the kernel's functions are seen",
	  .why = "Each message passes through the whole network stack and wakes a receiver, which "
	         "costs more than copying a few kilobytes.",
	  .advice = "Put several requests into one message, or send the next before the answer to "
	            "the last has arrived; between processes of one machine, use shared memory.",
	  .by_callee = ways_to_receive,
	  .source = "our choice",
	  .measure = measure_doing,
	  .doing = ACTIVITY(SOCKET),
	  .not_doing = ACTIVITY(COPY) | ACTIVITY(CONNECT) | ACTIVITY(IMPORT) | ACTIVITY(SPAWN),
	  .metrics = ON_CPU },
	{ .id = "IO-CONNECT",
	  .subject = RULES_IO,
	  .severity = SEVERITY_WARN,
	  .unit = UNIT_PERCENT,
	  .threshold = 20,
	  .within = { "CPU-SYS", "IO-NET" },
	  .title = "opening connections",
	  .formula =
	          "time in looking up hosts, in making sockets and in connecting and closing them, "
	          "waiting or not, as a share of the critical thread's time, or of all CPU time",
	  .why = "A new connection costs both sides more than a request does, and over a network "
	         "one round trip before the first byte.",
	  .advice = "Keep connections open and reuse them: a session, a pool, keep-alive.",
	  .source = "our choice",
	  .measure = measure_doing,
	  .doing = ACTIVITY(CONNECT),
	  .not_doing = ACTIVITY(IMPORT) | ACTIVITY(LINK) },
	{ .id = "IO-LOOKUP",
	  .subject = RULES_IO,
	  .severity = SEVERITY_WARN,
	  .unit = UNIT_PERCENT,
	  .threshold = 15,
	  .within = { "IO-CONNECT", "IO-OPEN", "CPU-SYS", "IO-NET", "IO-WAIT" },
	  .title = "looking up host names",
	  .formula = "time in getaddrinfo, gethostbyname and their like, waiting or not, as a "
	             "share of the critical thread's time, or of all CPU time",
	  .why = "Each lookup reads the resolver's files anew and may ask a name server: the C "
	         "library keeps no answer.",
	  .advice = "Look a name up once and keep the address for later connections, or keep "
	            "the connection; where names must be looked up often, run a caching "
	            "resolver (nscd, systemd-resolved).",
	  .source = "our choice",
	  .measure = measure_doing,
	  .doing = ACTIVITY(LOOKUP),
	  .not_doing = ACTIVITY(IMPORT) | ACTIVITY(LINK) },
	{ .id = "IO-USER",
	  .subject = RULES_IO,
	  .severity = SEVERITY_WARN,
	  .unit = UNIT_PERCENT,
	  .threshold = 15,
	  .within = { "IO-OPEN", "IO-TINY", "IO-NET", "IO-WAIT", "CPU-SYS" },
	  .title = "looking up users and groups",
	  .formula = "time in getpwuid, getpwnam, getgrgid and their like, waiting or not, as a "
	             "share of the critical thread's time, or of all CPU time",
	  .why = "Each lookup opens and reads /etc/passwd or /etc/group anew, or asks a server that "
	         "nsswitch.conf names: the C library keeps no answer.",
	  .advice =
	          "Keep the names and numbers that were looked up, in a table by uid or gid; where "
	          "users come from a server, run a cache (sssd, nscd).",
	  .source = "our choice",
	  .measure = measure_doing,
	  .doing = ACTIVITY(USER),
	  .not_doing = ACTIVITY(IMPORT) | ACTIVITY(LINK) },
	{ .id = "IO-ZONE",
	  .subject = RULES_IO,
	  .severity = SEVERITY_WARN,
	  .unit = UNIT_PERCENT,
	  .threshold = 15,
	  .within = { "IO-OPEN", "CPU-SYS" },
	  .title = "looking up the time zone",
	  .formula = "time in the functions by which localtime(), mktime() and strftime() find out "
	             "whether the time zone has changed, as a share of the critical thread's time, "
	             "or of all CPU time",
	  .why = "Without the variable TZ, the C library looks at /etc/localtime at each call.",
	  .advice = "Set TZ for the program (TZ=:/etc/localtime), which ends these looks; or call "
	            "tzset() once and then localtime_r(), or convert once per second and keep the "
	            "text.",
	  .source = "our choice",
	  .measure = measure_doing,
	  .doing = ACTIVITY(ZONE),
	  .not_doing = ACTIVITY(IMPORT) | ACTIVITY(LINK) },
	{ .id = "IO-IDLE",
	  .subject = RULES_IO,
	  .severity = SEVERITY_INFO,
	  .unit = UNIT_PERCENT,
	  .threshold = 50,
	  .title = "waiting for requests",
	  .formula =
	          "time blocked in poll, select, epoll and accept, and in waiting for signals, as a "
	          "share of the critical thread's time; only where the rest of the run works "
	          "for less than half of that time; it has no price",
	  .why = "A server without requests is not slow; a client that waits is.",
	  .advice = "If it should not be idle, profile the side that should send or answer.",
	  .source = "our choice",
	  .measure = measure_idle,
	  .doing = ACTIVITY(POLL),
	  .metrics = NET | SLEEP },
};

const size_t rules_io_count = sizeof(rules_io) / sizeof(rules_io[0]);
