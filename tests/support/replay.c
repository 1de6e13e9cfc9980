// SPDX-License-Identifier: MIT
#include "tests/support/replay.h"

#include "base/clock.h"

#include <stdlib.h>
#include <string.h>

#define START_NS  (1000 * NS_PER_SEC)
#define SAMPLE_NS (NS_PER_SEC / 999)
#define WAITERS   500

static uint32_t draw(struct replay *r, uint32_t below)
{
	r->seed = r->seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (uint32_t)((r->seed >> 33) % below);
}

// The first ones more often, as in programs.
static uint32_t draw_skewed(struct replay *r, uint32_t below)
{
	return draw(r, 1 + draw(r, 1 + draw(r, below)));
}

static void add_thread(struct replay *r, uint32_t process, const char *name)
{
	struct thread_event event = { .process = process, .time_ns = r->now_ns, .name = name };

	event.thread = ++r->threads;
	event.tid = 1000 + r->threads;
	profile_add_thread(r->profile, &event);
}

static void add_process(struct replay *r, const char *command)
{
	struct process_event event = { .time_ns = r->now_ns, .command = command };

	event.process = ++r->processes;
	event.parent = event.process > 1;
	event.pid = 1000 + event.process;
	profile_add_process(r->profile, &event);
}

// COUNT frames of r->frames, innermost first. WAIT_NS: how long it was blocked; 0: a sample.
static void add_stack(struct replay *r, uint32_t thread, uint32_t count, uint64_t wait_ns)
{
	struct stack stack = { .thread = thread, .samples = 1, .count = count };

	stack.frames = r->frames;
	stack.metric = wait_ns ? METRIC_OFF_LOCK : METRIC_ON_CPU;
	stack.time_ns = r->now_ns - wait_ns;
	stack.duration_ns = wait_ns;
	stack.weight_ns = wait_ns ? wait_ns : SAMPLE_NS;
	profile_add_stack(r->profile, &stack);
	r->events++;
	r->given_ns += stack.weight_ns;
}

static struct frame caller(uint64_t address)
{
	return (struct frame){ .address = address, .module = 1, .kind = FRAME_RETURN };
}

static struct frame leaf(uint64_t address)
{
	return (struct frame){ .address = address, .module = 1, .kind = FRAME_EXACT };
}

// Writes DEPTH callers with BRANCHES ways each, outermost last, behind the first frame.
static void draw_callers(struct replay *r, uint32_t depth, uint32_t branches)
{
	for (uint32_t i = depth; i > 0; i--)
		r->frames[i] = caller(0x10000 + 0x100 * i + 8 * draw_skewed(r, branches));
}

static void begin_one(struct replay *r)
{
	add_process(r, "app");
	add_thread(r, 1, "app");
}

static void step_few(struct replay *r)
{
	draw_callers(r, 12, 2);
	r->frames[0] = leaf(0x1000 + 4 * draw_skewed(r, 64));
	add_stack(r, 1, 13, 0);
}

// Recursive descent over a random tree: hardly a path comes twice.
static void step_paths(struct replay *r)
{
	uint32_t depth = 8 + draw(r, 24);

	draw_callers(r, depth, 4);
	r->frames[0] = leaf(0x1000 + 4 * draw_skewed(r, 256));
	add_stack(r, 1, depth + 1, 0);
}

static void step_recursion(struct replay *r)
{
	uint32_t depth = 1 + draw(r, 900);

	for (uint32_t i = 1; i <= depth; i++)
		r->frames[i] = caller(0x10008 + 8 * (i % 7 == 0 && draw(r, 50) == 0));
	r->frames[0] = leaf(0x1000 + 4 * draw_skewed(r, 64));
	add_stack(r, 1, depth + 1, 0);
}

// Code that is thrown away every second and made again elsewhere.
static void step_jit(struct replay *r)
{
	uint64_t made = 0x100000 * ((r->now_ns - r->start_ns) / NS_PER_SEC);

	draw_callers(r, 10, 2);
	for (uint32_t i = 1; i < 4; i++)
		r->frames[i] = caller(0x40000000 + made + 16 * draw_skewed(r, 300));
	r->frames[0] = leaf(0x40000000 + made + 4 * draw_skewed(r, 4000));
	add_stack(r, 1, 11, 0);
}

static void begin_waiters(struct replay *r)
{
	add_process(r, "server");
	for (uint32_t i = 0; i < WAITERS; i++) {
		add_thread(r, 1, "worker");
		r->wake_ns[i] = r->now_ns + draw(r, 100 * NS_PER_MS);
	}
}

static void step_waiters(struct replay *r)
{
	for (uint32_t i = 0; i < WAITERS; i++) {
		if (r->wake_ns[i] > r->now_ns)
			continue;
		uint64_t wait_ns = NS_PER_MS + draw(r, 99 * NS_PER_MS);
		r->now_ns = r->wake_ns[i] > r->now_ns ? r->wake_ns[i] : r->now_ns;
		draw_callers(r, 8, 1);
		r->frames[0] = leaf(0x2000 + 16 * draw(r, 4));
		add_stack(r, i + 1, 9, wait_ns);
		r->wake_ns[i] = r->now_ns + wait_ns;
	}
	draw_callers(r, 12, 2);
	r->frames[0] = leaf(0x1000 + 4 * draw_skewed(r, 64));
	add_stack(r, 1 + draw(r, WAITERS), 13, 0);
}

// A build: a process every few milliseconds, a hundred names.
static void step_processes(struct replay *r)
{
	char name[16];

	if (draw(r, 4) == 0) {
		struct thread_end end = { .thread = r->threads, .time_ns = r->now_ns };
		profile_end_thread(r->profile, &end);
		profile_end_process(r->profile, r->processes, r->now_ns);
		snprintf(name, sizeof(name), "tool%u", draw(r, 100));
		add_process(r, name);
		add_thread(r, r->processes, name);
	}
	draw_callers(r, 12, 2);
	r->frames[0] = leaf(0x1000 + 4 * draw_skewed(r, 256));
	add_stack(r, r->threads, 13, 0);
}

const struct replay_load replay_loads[] = {
	{ "few", "some thousand paths", begin_one, step_few },
	{ "paths", "hardly a path comes twice", begin_one, step_paths },
	{ "recursion", "up to 900 deep", begin_one, step_recursion },
	{ "jit", "code that comes and goes", begin_one, step_jit },
	{ "waiters", "500 threads that wait", begin_waiters, step_waiters },
	{ "processes", "250 processes a second", begin_one, step_processes },
};
const size_t replay_load_count = sizeof(replay_loads) / sizeof(replay_loads[0]);

static const struct replay_load *find_load(const char *name)
{
	for (size_t i = 0; i < replay_load_count; i++)
		if (strcmp(replay_loads[i].name, name) == 0)
			return &replay_loads[i];
	return NULL;
}

struct replay *replay_new(const char *load, const struct profile_limits *limits)
{
	struct module app = { .kind = MODULE_ELF, .path = "/usr/bin/app", .fd = -1 };
	struct run run = { .command = "app", .start_ns = START_NS, .frequency_hz = 999 };
	struct replay *r = calloc(1, sizeof(*r));

	*r = (struct replay){ .load = find_load(load), .now_ns = START_NS, .start_ns = START_NS };
	r->modules = modules_new();
	r->profile = profile_new(r->modules, limits, NULL);
	modules_add(r->modules, &app, NULL);
	profile_set_run(r->profile, &run, NULL);
	r->load->begin(r);
	return r;
}

void replay_free(struct replay *r)
{
	if (!r)
		return;
	profile_free(r->profile);
	modules_free(r->modules);
	free(r);
}

void replay_run(struct replay *r, uint64_t until_ns)
{
	while (r->now_ns - r->start_ns < until_ns) {
		r->load->step(r);
		r->now_ns += SAMPLE_NS;
	}
}

static size_t hash_size(const struct hash *h)
{
	return ((size_t)h->mask + 1) * sizeof(*h->slots);
}

static size_t slice_bytes(const struct slices *s)
{
	size_t bytes = s->capacity * sizeof(*s->blocks);

	for (uint32_t i = 0; i < s->count; i++)
		bytes += s->blocks[i].size;
	return bytes;
}

size_t replay_bytes(const struct replay *r)
{
	const struct profile *p = r->profile;
	const struct threads *t = &p->threads;

	return p->paths.capacity * sizeof(*p->paths.nodes) + hash_size(&p->paths.index) +
	       p->cells.capacity * sizeof(*p->cells.cells) + hash_size(&p->cells.index) +
	       p->locations.capacity * sizeof(*p->locations.locations) +
	       hash_size(&p->locations.index) +
	       p->locations.place_capacity * sizeof(*p->locations.places) +
	       t->process_capacity * sizeof(*t->processes) +
	       t->thread_capacity * sizeof(*t->threads) +
	       t->process_aliases.capacity * sizeof(struct alias) +
	       hash_size(&t->process_aliases.index) +
	       t->thread_aliases.capacity * sizeof(struct alias) +
	       hash_size(&t->thread_aliases.index) + slice_bytes(&p->slices);
}
