// SPDX-License-Identifier: MIT
#include "tests/gpu/fake_lane.h"

#include "tests/gpu/fake_clock.h"
#include "tests/gpu/fake_delivery.h"
#include "tests/gpu/fake_facts.h"
#include "tests/gpu/fake_settings.h"
#include "tests/gpu/record_kinds.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

struct fake_lane {
	pthread_mutex_t lock;
	struct fake_buffer buffer;
	bool is_taken;
	struct fake_lane *next;
};

static struct fake_lane device = { .lock = PTHREAD_MUTEX_INITIALIZER };
static struct fake_lane shared = { .lock = PTHREAD_MUTEX_INITIALIZER, .next = &device };
static struct fake_lane *lanes = &shared;
static pthread_mutex_t lanes_lock = PTHREAD_MUTEX_INITIALIZER;
static __thread struct fake_lane *mine;
static pthread_key_t key;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static atomic_size_t dropped, tried;

// A thread has ended: its lane, with what is in it, is the next new thread's.
static void leave(void *lane)
{
	pthread_mutex_lock(&lanes_lock);
	((struct fake_lane *)lane)->is_taken = false;
	pthread_mutex_unlock(&lanes_lock);
}

static void make_key(void)
{
	pthread_key_create(&key, leave);
}

static struct fake_lane *take(void)
{
	struct fake_lane *l;

	pthread_mutex_lock(&lanes_lock);
	for (l = lanes; l != &shared && l->is_taken; l = l->next)
		;
	if (l == &shared) {
		l = calloc(1, sizeof(*l));
		if (!l)
			abort();
		pthread_mutex_init(&l->lock, NULL);
		l->next = lanes;
		lanes = l;
	}
	l->is_taken = true;
	pthread_mutex_unlock(&lanes_lock);
	return l;
}

struct fake_lane *fake_lane_of_thread(void)
{
	if (fake_settings()->cuda < 1300)
		return &shared;
	if (!mine) {
		pthread_once(&once, make_key);
		mine = take();
		pthread_setspecific(key, mine);
	}
	return mine;
}

struct fake_lane *fake_lane_of_device(void)
{
	return &device;
}

static bool fits(const struct fake_buffer *b, size_t bytes)
{
	size_t limit = b->size;

	if (fake_faults()->short_bytes && fake_faults()->short_bytes < limit)
		limit = fake_faults()->short_bytes;
	if (b->records_max && b->records >= b->records_max)
		return false;
	return b->used + bytes <= limit;
}

static void lose_one(void)
{
	dropped++;
	fake_facts_dropped();
}

static void put(struct fake_lane *lane, const void *record, size_t bytes, uint32_t kind)
{
	struct fake_buffer *b = &lane->buffer;
	static const uint32_t padding;
	size_t needed = bytes + (fake_faults()->misaligned ? sizeof(padding) : 0);

	if (b->data && !fits(b, needed))
		fake_delivery_add(b);
	if (!b->data)
		fake_delivery_request(b);
	if (!b->data || !fits(b, needed)) {
		lose_one();
		return;
	}
	fake_buffer_put(b, record, bytes);
	if (fake_faults()->misaligned)
		fake_buffer_put(b, &padding, sizeof(padding));
	b->records++;
	fake_facts_record(kind);
}

static void put_strange(struct fake_lane *lane, uint32_t kind, uint32_t every)
{
	uint32_t record[RECORD_STRANGE_BYTES / sizeof(uint32_t)] = { kind };

	if (every && tried % every == 0)
		put(lane, record, sizeof(record), kind);
}

static void tell_times(uint8_t *record, const struct record_kind *kind)
{
	bool is_work = kind->kind == CUPTI_KIND_MEMCPY || kind->kind == CUPTI_KIND_MEMSET ||
	               kind->kind == CUPTI_KIND_CONCURRENT_KERNEL;

	for (size_t i = 0; i < kind->times; i++) {
		uint8_t *at = record + kind->times_at + i * sizeof(uint64_t);
		uint64_t ns;
		memcpy(&ns, at, sizeof(ns));
		ns = is_work && fake_faults()->zero_times ? 0 : fake_clock_told(ns);
		memcpy(at, &ns, sizeof(ns));
	}
}

void fake_lane_write(struct fake_lane *lane, const void *record, size_t bytes)
{
	uint8_t told[RECORD_MAX_BYTES] __attribute__((aligned(8))) = { 0 };
	uint32_t kind;

	memcpy(&kind, record, sizeof(kind));
	size_t size = record_bytes(kind, fake_settings()->cuda);
	if (!size)
		return; // that release does not tell of it
	memcpy(told, record, bytes < size ? bytes : size);
	tell_times(told, record_kind(kind));
	pthread_mutex_lock(&lane->lock);
	tried++;
	if (fake_faults()->drop && tried % fake_faults()->drop == 0)
		lose_one();
	else
		put(lane, told, size, kind);
	put_strange(lane, RECORD_STRANGE_KIND, fake_faults()->unknown_kind);
	put_strange(lane, RECORD_BAD_KIND, fake_faults()->bad_kind);
	pthread_mutex_unlock(&lane->lock);
}

static void for_each_buffer(void (*act)(struct fake_buffer *))
{
	pthread_mutex_lock(&lanes_lock);
	struct fake_lane *first = lanes;
	pthread_mutex_unlock(&lanes_lock);
	for (struct fake_lane *l = first; l; l = l->next) {
		pthread_mutex_lock(&l->lock);
		if (l->buffer.data)
			act(&l->buffer);
		pthread_mutex_unlock(&l->lock);
	}
}

static void add_if_used(struct fake_buffer *b)
{
	if (b->used)
		fake_delivery_add(b);
}

void fake_lanes_complete(void)
{
	for_each_buffer(add_if_used);
}

void fake_lanes_forget(void)
{
	for_each_buffer(fake_delivery_lose);
}

size_t fake_lanes_dropped(void)
{
	return atomic_exchange(&dropped, 0);
}
