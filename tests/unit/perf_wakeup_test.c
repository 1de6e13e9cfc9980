// SPDX-License-Identifier: MIT
#include "sampler/perf/perf_record.h"
#include "sampler/perf/perf_storm.h"
#include "sampler/perf/perf_wakeup.h"
#include "tests/support/expect.h"

#include <string.h>

// As the kernel writes it.
static const char text[] =
	"name: sched_waking\n"
	"ID: 375\n"
	"format:\n"
	"\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
	"\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n"
	"\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n"
	"\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n"
	"\n"
	"\tfield:char comm[16];\toffset:8;\tsize:16;\tsigned:0;\n"
	"\tfield:pid_t pid;\toffset:24;\tsize:4;\tsigned:1;\n"
	"\tfield:int prio;\toffset:28;\tsize:4;\tsigned:1;\n"
	"\tfield:int target_cpu;\toffset:32;\tsize:4;\tsigned:1;\n"
	"\n"
	"print fmt: \"comm=%s pid=%d\", REC->comm, REC->pid\n";

static bool parse(const char *from, struct perf_wakeup_format *format)
{
	return perf_wakeup_parse(from, strlen(from), format);
}

Test(perf_wakeup, the_text_says_where_the_woken_one_is)
{
	struct perf_wakeup_format f;

	cr_assert(parse(text, &f));
	cr_expect(eq(u64, f.id, 375));
	cr_expect(eq(u32, f.pid_offset, 24));
	cr_expect(f.has_flags);
	cr_expect(eq(u32, f.flags_offset, 2));
}

Test(perf_wakeup, another_text_is_none)
{
	struct perf_wakeup_format f;
	static const char *const others[] = {
		"",
		"ID: 375\n",
		"ID: 0\n\tfield:pid_t pid;\toffset:24;\tsize:4;\tsigned:1;\n",
		"\tfield:pid_t pid;\toffset:24;\tsize:4;\tsigned:1;\n",
		"ID: 375\n\tfield:pid_t pid;\toffset:24;\tsize:8;\tsigned:1;\n",
		"ID: 375\n\tfield:pid_t pid;\toffset:99999;\tsize:4;\tsigned:1;\n",
		"ID: 375\n\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n",
		"ID: 375\n\tfield:pid_t pid",
		"ID: 375\n\tfield:pid_t pid;\n",
	};

	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		cr_expect(!parse(others[i], &f), "%s", others[i]);
	cr_expect(!perf_wakeup_parse(text, sizeof(text), &f), "it has no NUL");
}

static bool read_raw(size_t size, uint8_t flags, struct event_waking *waking)
{
	struct perf_wakeup_format f;
	uint8_t raw[36] = { 0 };
	uint32_t tid = 4711;

	raw[2] = flags;
	memcpy(raw + 24, &tid, 4);
	cr_assert(parse(text, &f));
	return perf_wakeup_read(&f, raw, size, waking);
}

Test(perf_wakeup, who_wakes_is_a_thread_unless_it_was_interrupted)
{
	static const struct {
		uint8_t flags;
		enum woken_by by;
	} cases[] = { { 0x00, WOKEN_BY_THREAD },    { 0x01, WOKEN_BY_THREAD },
		      { 0x24, WOKEN_BY_THREAD },    { 0x81, WOKEN_BY_THREAD },
		      { 0x09, WOKEN_BY_INTERRUPT }, { 0x18, WOKEN_BY_INTERRUPT },
		      { 0x40, WOKEN_BY_INTERRUPT }, { 0x10, WOKEN_AFTER_INTERRUPT } };

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct event_waking waking;
		cr_assert(read_raw(36, cases[i].flags, &waking));
		cr_expect(eq(u32, waking.tid, 4711));
		cr_expect(eq(int, (int)waking.by, (int)cases[i].by), "flags %#x", cases[i].flags);
	}
}

Test(perf_wakeup, a_record_that_is_too_short_tells_nothing)
{
	struct event_waking waking;

	for (size_t size = 0; size < 28; size++)
		cr_expect(!read_raw(size, 0, &waking), "%zu", size);
	cr_expect(read_raw(28, 0, &waking));
}

Test(perf_wakeup, without_its_flags_nobody_is_taken_for_the_waker)
{
	struct perf_wakeup_format f;
	uint8_t raw[8] = { 0 };
	struct event_waking waking;

	cr_assert(parse("ID: 7\n\tfield:pid_t pid;\toffset:4;\tsize:4;\tsigned:1;\n", &f));
	cr_expect(!f.has_flags);
	cr_assert(perf_wakeup_read(&f, raw, sizeof(raw), &waking));
	cr_expect(eq(int, (int)waking.by, WOKEN_BY_INTERRUPT));
}

struct sample {
	struct perf_event_header header;
	uint64_t id;
	uint32_t pid, tid;
	uint64_t time;
	uint32_t size;
	uint8_t raw[36];
};

static enum perf_verdict decode(uint32_t raw_size, struct event *event)
{
	static struct perf_wakeup_format wakeup;
	struct perf_format format = { .kernel = true, .wakeup = &wakeup };
	struct sample sample = { .header = { .type = PERF_RECORD_SAMPLE,
		                             .size = sizeof(struct sample) },
		                 .id = 9,
		                 .pid = 10,
		                 .tid = 11,
		                 .time = 500,
		                 .size = raw_size };
	uint32_t woken = 12;

	cr_assert(parse(text, &wakeup));
	memcpy(sample.raw + 24, &woken, 4);
	cr_expect(eq(sz, perf_record_shorten(&format, (uint8_t *)&sample), sizeof(sample)));
	return perf_record_decode(&format, &sample, sizeof(sample), event);
}

Test(perf_wakeup, a_record_has_the_waker_and_who_is_woken)
{
	struct event e;

	cr_assert(eq(int, decode(36, &e), PERF_RECORD_EVENT));
	cr_expect(eq(int, (int)e.type, RECORD_WAKING));
	cr_expect(eq(u32, e.pid, 10));
	cr_expect(eq(u32, e.tid, 11));
	cr_expect(eq(u64, e.time_ns, 500));
	cr_expect(eq(u32, e.waking.tid, 12));
	cr_expect(eq(int, (int)e.waking.by, WOKEN_BY_THREAD));
	cr_expect(eq(int, decode(20, &e), PERF_RECORD_SKIP), "of another kernel");
	cr_expect(eq(int, decode(37, &e), PERF_RECORD_DAMAGED));
}

Test(perf_wakeup, a_storm_pauses_until_its_budget_is_back)
{
	const struct perf_storm_budget budget = { .burst = 100, .per_second = 1000 };
	struct perf_storm s = { 0 };

	cr_expect(eq(int, perf_storm_look(&s, &budget, NS_PER_SEC), PERF_STORM_SAME));
	perf_storm_charge(&s, 100);
	cr_expect(eq(int, perf_storm_look(&s, &budget, NS_PER_SEC), PERF_STORM_SAME));
	perf_storm_charge(&s, 51);
	cr_expect(eq(int, perf_storm_look(&s, &budget, NS_PER_SEC + NS_PER_MS), PERF_STORM_PAUSE));
	cr_expect(eq(int, perf_storm_look(&s, &budget, NS_PER_SEC + 149 * NS_PER_MS),
	             PERF_STORM_SAME));
	cr_expect(eq(int, perf_storm_look(&s, &budget, NS_PER_SEC + 151 * NS_PER_MS),
	             PERF_STORM_GO_ON));
	cr_expect(eq(u64, s.paused_ns, 150 * NS_PER_MS));
}
