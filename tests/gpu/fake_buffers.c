// SPDX-License-Identifier: MIT
#include "tests/gpu/fake_buffers.h"

#include "base/clock.h"
#include "tests/gpu/fake_clock.h"
#include "tests/gpu/fake_delivery.h"
#include "tests/gpu/fake_lane.h"
#include "tests/gpu/fake_settings.h"
#include "tests/gpu/record_kinds.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

struct pending {
	uint64_t done_ns;
	uint64_t order;
	size_t bytes;
	uint8_t record[RECORD_MAX_BYTES] __attribute__((aligned(8)));
};

// A heap: the record that is done first is at its top.
static struct {
	pthread_mutex_t lock;
	struct pending **items;
	size_t count, room;
	uint64_t order;
} waiting = { .lock = PTHREAD_MUTEX_INITIALIZER };

static struct {
	pthread_mutex_t lock;
	pthread_cond_t wake;
	_Atomic pid_t pid; // whose worker runs; 0: none
	_Atomic uint64_t period_ns;
} worker = { .lock = PTHREAD_MUTEX_INITIALIZER };

static bool is_before(const struct pending *a, const struct pending *b)
{
	return a->done_ns != b->done_ns ? a->done_ns < b->done_ns : a->order < b->order;
}

static void swap(size_t a, size_t b)
{
	struct pending *kept = waiting.items[a];

	waiting.items[a] = waiting.items[b];
	waiting.items[b] = kept;
}

static void sift_up(size_t at)
{
	for (; at && is_before(waiting.items[at], waiting.items[(at - 1) / 2]); at = (at - 1) / 2)
		swap(at, (at - 1) / 2);
}

static void sift_down(size_t at)
{
	for (size_t child; (child = 2 * at + 1) < waiting.count; at = child) {
		if (child + 1 < waiting.count &&
		    is_before(waiting.items[child + 1], waiting.items[child]))
			child++;
		if (!is_before(waiting.items[child], waiting.items[at]))
			return;
		swap(at, child);
	}
}

void fake_buffers_write_later(const void *record, size_t bytes, uint64_t done_ns)
{
	struct pending *p = malloc(sizeof(*p));

	if (!p)
		abort();
	p->done_ns = done_ns;
	p->bytes = bytes;
	memcpy(p->record, record, bytes);
	pthread_mutex_lock(&waiting.lock);
	p->order = waiting.order++;
	if (waiting.count == waiting.room) {
		waiting.room = waiting.room ? 2 * waiting.room : 1024;
		waiting.items = realloc(waiting.items, waiting.room * sizeof(*waiting.items));
		if (!waiting.items)
			abort();
	}
	waiting.items[waiting.count++] = p;
	sift_up(waiting.count - 1);
	pthread_mutex_unlock(&waiting.lock);
}

static struct pending *take_done(uint64_t now)
{
	struct pending *first = NULL;

	pthread_mutex_lock(&waiting.lock);
	if (waiting.count && waiting.items[0]->done_ns <= now) {
		first = waiting.items[0];
		waiting.items[0] = waiting.items[--waiting.count];
		sift_down(0);
	}
	pthread_mutex_unlock(&waiting.lock);
	return first;
}

// The device has not come to the record's end: CUPTI leaves what it does not know 0.
static void cut_ends(uint8_t *record)
{
	uint32_t kind;

	memcpy(&kind, record, sizeof(kind));
	const struct record_kind *known = record_kind(kind);
	if (known && known->times > 1)
		memset(record + known->times_at + sizeof(uint64_t), 0,
		       (known->times - 1) * sizeof(uint64_t));
}

// Records that are done by NOW are in the device's buffer afterwards.
static void write_done(uint64_t now, bool all)
{
	// One at a time, or the order of the records would be lost.
	static pthread_mutex_t one = PTHREAD_MUTEX_INITIALIZER;

	pthread_mutex_lock(&one);
	for (struct pending *p; (p = take_done(all ? UINT64_MAX : now));) {
		if (p->done_ns > now)
			cut_ends(p->record);
		fake_lane_write(fake_lane_of_device(), p->record, p->bytes);
		free(p);
	}
	pthread_mutex_unlock(&one);
}

void fake_buffers_write(const void *record, size_t bytes)
{
	fake_lane_write(fake_lane_of_thread(), record, bytes);
}

static void sleep_a_little(uint64_t deadline)
{
	uint64_t until = clock_now_ns() + NS_PER_MS;

	if (deadline && deadline < until)
		until = deadline;
	struct timespec t = { (time_t)(until / NS_PER_SEC), (long)(until % NS_PER_SEC) };
	pthread_mutex_lock(&worker.lock);
	pthread_cond_timedwait(&worker.wake, &worker.lock, &t);
	pthread_mutex_unlock(&worker.lock);
}

static void *work(void *unused)
{
	uint64_t flushed = clock_now_ns();

	(void)unused;
	pthread_setname_np(pthread_self(), "fake-cupti");
	fake_delivery_replay();
	for (;;) {
		uint64_t now = clock_now_ns();
		write_done(now, false);
		if (worker.period_ns && now - flushed >= worker.period_ns) {
			fake_lanes_complete();
			flushed = now;
		}
		fake_delivery_run();
		sleep_a_little(worker.period_ns ? flushed + worker.period_ns : 0);
	}
	return NULL;
}

static void start_worker(void)
{
	pthread_condattr_t monotonic;
	sigset_t all, old;
	pthread_t thread;

	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_cond_init(&worker.wake, &monotonic);
	pthread_condattr_destroy(&monotonic);
	// The program's signals are the program's.
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	if (!pthread_create(&thread, NULL, work, NULL)) {
		pthread_detach(thread);
		worker.pid = getpid();
	}
	pthread_sigmask(SIG_SETMASK, &old, NULL);
}

void fake_buffers_register(cupti_request *request, cupti_complete *complete)
{
	fake_delivery_set(request, complete);
	if (worker.pid != getpid())
		start_worker();
}

bool fake_buffers_are_registered(void)
{
	return fake_delivery_is_set();
}

void fake_buffers_promise_zeroed(bool are_zeroed)
{
	fake_delivery_promise_zeroed(are_zeroed);
}

void fake_buffers_flush_every(uint32_t ms)
{
	worker.period_ns = ms * NS_PER_MS;
}

bool fake_buffers_flush(bool forced)
{
	if (worker.pid != getpid())
		return false;
	if (fake_faults()->slow_flush_ms)
		fake_wait_until(clock_now_ns() + fake_faults()->slow_flush_ms * NS_PER_MS);
	write_done(clock_now_ns(), forced);
	fake_lanes_complete();
	fake_delivery_wait(&worker.wake);
	return true;
}

size_t fake_buffers_dropped(void)
{
	return fake_lanes_dropped();
}

void fake_buffers_finalize(void)
{
	fake_delivery_set(NULL, NULL);
	fake_lanes_forget();
}
