// SPDX-License-Identifier: MIT
/*
 * itt_target [PART…]: calls ITT in every way that the agent knows; what it should say of each part
 * is in itt/PART.txt. Ends with 1 if a call returns what it should not.
 */
#include "tests/ops/itt_shim.h"

#include <errno.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

static const id none;
static int failures;

static void expect(const char *what, bool holds)
{
	if (holds)
		return;
	fprintf(stderr, "not so: %s\n", what);
	failures++;
}
#define EXPECT(condition) expect(#condition, condition)

static void tasks(void)
{
	domain *one = itt_domain_create("one"), *two = itt_domain_create("two");
	string *outer = itt_string_handle_create("outer"),
	       *inner = itt_string_handle_create("inner");

	errno = 77;
	CALL(task_begin, one, none, none, outer);
	CALL(task_begin, two, none, none, inner);
	CALL(task_begin, one, none, none, inner);
	CALL(task_end, two);
	CALL(task_end, one);
	CALL(task_end, one);
	CALL(task_end, one); // one too many
	CALL(task_begin, NULL, none, none, NULL);
	CALL(task_begin, one, none, none, &(string){ .text = NULL });
	CALL(task_end, one);
	CALL(task_end, NULL);
	CALL(task_begin_ex, one, NULL, 0, none, none, outer);
	CALL(task_begin_ex, one, &one, 5, none, none, outer); // another clock
	CALL(task_end_ex, one, NULL, 0);
	EXPECT(errno == 77);
}

__attribute__((visibility("default"))) void exported_function(void)
{
}

static void hidden_function(void)
{
}

// A function without a name is called by its place, which changes: only that it is there is told.
static void functions(void)
{
	domain *d = itt_domain_create("functions");
	id work = { 5, 6, 0 };

	CALL(task_begin_fn, d, none, none, (void *)exported_function);
	CALL(task_end, d);
	if (getenv("HIDDEN")) {
		CALL(task_begin_fn, d, none, none, (void *)hidden_function);
		CALL(task_end, d);
		CALL(task_begin_fn, d, none, none, NULL);
		CALL(task_end, d);
	}
	CALL(task_begin_overlapped, d, work, none, itt_string_handle_create("overlapped"));
	CALL(task_end_overlapped, d, work);
	EXPECT(itt_detach == NULL); // what the agent does not have costs nothing
}

static domain *shared;

static void *end_elsewhere(void *which)
{
	CALL(task_end_overlapped, shared, *(id *)which);
	return NULL;
}

static void overlaps(void)
{
	id first = { 1, 0, 0 }, second = { 2, 0, 0 };
	pthread_t thread;

	shared = itt_domain_create("overlaps");
	CALL(task_begin_overlapped, shared, first, none, itt_string_handle_create("first"));
	CALL(task_begin_overlapped, shared, second, none, itt_string_handle_create("second"));
	CALL(region_begin, shared, first, none, itt_string_handle_create("region"));
	CALL(task_end_overlapped, shared, first);
	CALL(task_end_overlapped, shared, first); // again
	CALL(region_end, shared, first);
	pthread_create(&thread, NULL, end_elsewhere, &second);
	pthread_join(thread, NULL);
}

static void frames(void)
{
	domain *d = itt_domain_create("game");
	id first = { 1, 0, 0 };
	unsigned long long now = itt_get_timestamp ? itt_get_timestamp() : 0;

	CALL(frame_begin_v3, d, NULL);
	CALL(frame_begin_v3, d, &first);
	CALL(frame_end_v3, d, NULL);
	CALL(frame_end_v3, d, &first);
	CALL(frame_submit_v3, d, NULL, now, now + 1000000);
	CALL(frame_submit_v3, d, NULL, now, UINT64_MAX);
	CALL(frame_submit_v3, d, NULL, now, now - 1); // not the truth
	EXPECT(now != 0);
}

static void marks(void)
{
	domain *d = itt_domain_create("marks");
	uint64_t u64 = 1ull << 33;
	int64_t s64[2] = { -1, 7 };
	uint32_t u32 = 4000000000u;
	int32_t s32 = -5;
	uint16_t u16 = 65535;
	int16_t s16 = -3;
	float real32[2] = { 0.5f, 1.5f };
	double real = 0.125;
	static uint64_t many[100];
	const struct {
		int type;
		size_t count;
		void *data;
		const char *key;
	} values[] = { { ITT_U64, 1, &u64, "u64" },
		       { ITT_S64, 2, s64, "s64" },
		       { ITT_U32, 1, &u32, "u32" },
		       { ITT_S32, 1, &s32, "s32" },
		       { ITT_U16, 1, &u16, "u16" },
		       { ITT_S16, 1, &s16, "s16" },
		       { ITT_FLOAT, 2, real32, "float" },
		       { ITT_DOUBLE, 1, &real, "double" },
		       { 0, 1, &u64, "unknown" },
		       { 9, 1, &u64, "newer" },
		       { ITT_U64, 1, NULL, "without data" },
		       { ITT_U64, 100, many, "many" } };

	CALL(task_begin, d, none, none, itt_string_handle_create("task"));
	CALL(marker, d, none, itt_string_handle_create("marker"), 3);
	for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++)
		CALL(metadata_add, d, none, itt_string_handle_create(values[i].key), values[i].type,
		     values[i].count, values[i].data);
	CALL(metadata_str_add, d, none, itt_string_handle_create("file"), "a.c and more", 3);
	CALL(metadata_str_add, d, none, itt_string_handle_create("file"), "whole", 0);
	CALL(metadata_str_add, d, none, NULL, NULL, 0);
	CALL(pause);
	CALL(resume);
	CALL(resume); // one too many
	CALL(counter_inc_v3, d, itt_string_handle_create("counter"));
	CALL(task_end, d);
	EXPECT(itt_api_version && strncmp(itt_api_version(), "ITT-API-Version 3", 17) == 0);
}

static void counters(void)
{
	domain *d = itt_domain_create("counted");
	string *bytes = itt_string_handle_create("bytes");
	uint64_t whole = 1ull << 40;
	double real = 2.5;
	void *plain = itt_counter_create("plain", "counted");
	void *alone = itt_counter_create("alone", NULL);
	void *typed = itt_counter_create_typed("typed", "counted", ITT_DOUBLE);
	void *newer = itt_counter_create_v3 ? itt_counter_create_v3(d, "newer", ITT_U64) : NULL;

	EXPECT(plain && alone && typed && newer && plain != newer);
	CALL(counter_inc, plain);
	CALL(counter_inc_delta, plain, 9);
	CALL(counter_dec, plain);
	CALL(counter_dec_delta, plain, 10); // below zero
	CALL(counter_inc, alone);
	CALL(counter_set_value, typed, &real);
	CALL(counter_inc, typed); // not of that type
	CALL(counter_set_value_ex, newer, NULL, 0, &whole);
	CALL(counter_set_value_ex, newer, &whole, 5, &whole); // another clock
	CALL(counter_set_value_v3, newer, &whole);
	CALL(counter_set_value, newer, NULL);
	CALL(counter_inc, NULL);
	CALL(counter_inc, &real); // nobody's
	CALL(counter_inc_v3, d, bytes);
	CALL(counter_inc_delta_v3, d, bytes, 4095);
	CALL(counter_dec_v3, d, bytes);
	CALL(counter_dec_delta_v3, d, bytes, 95);
	EXPECT(itt_counter_create("plain", "counted") == plain);
}

static void events(void)
{
	int load = itt_event_create("load and more", 4), parse = itt_event_create("parse", 5);

	EXPECT(load && parse && load != parse);
	EXPECT(itt_event_start(load) == 0);
	CALL(event_start, parse);
	CALL(event_end, load); // each nests by itself
	CALL(event_end, parse);
	CALL(event_end, parse); // one too many
	CALL(event_start, 77);
	CALL(event_start, 0);
	EXPECT(itt_event_create("load", 4) == load);
}

static void *be_named(void *d)
{
	CALL(thread_set_name, "worker");
	CALL(task_begin, d, none, none, itt_string_handle_create("left open"));
	return NULL;
}

static void threads(void)
{
	pthread_t thread;

	CALL(thread_set_name, "main thread");
	CALL(thread_set_name, NULL);
	pthread_create(&thread, NULL, be_named, itt_domain_create("threads"));
	pthread_join(thread, NULL);
}

static void forks(void)
{
	domain *d = itt_domain_create("family");
	string *work = itt_string_handle_create("work");
	id whole = { 1, 2, 0 };
	int status = 1;

	CALL(task_begin_overlapped, d, whole, none, itt_string_handle_create("whole"));
	CALL(task_begin, d, none, none, work);
	pid_t child = fork();
	if (child == 0) {
		CALL(task_end_overlapped, d, whole); // not the child's
		CALL(task_end, d);
		CALL(task_begin, d, none, none, work);
		CALL(task_end, d);
		_exit(0);
	}
	waitpid(child, &status, 0);
	EXPECT(status == 0);
	CALL(task_end, d);
	CALL(task_end_overlapped, d, whole);
}

static const struct part {
	const char *name;
	void (*run)(void);
} parts[] = {
	{ "tasks", tasks },   { "functions", functions }, { "overlaps", overlaps },
	{ "frames", frames }, { "marks", marks },         { "threads", threads },
	{ "forks", forks },   { "counters", counters },   { "events", events },
};

int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++)
		for (size_t j = 0; j < sizeof(parts) / sizeof(parts[0]); j++)
			if (strcmp(argv[i], parts[j].name) == 0)
				parts[j].run();
	return failures != 0;
}
