// SPDX-License-Identifier: MIT
#include "tests/gpu/fake_delivery.h"

#include "base/cleanup.h"
#include "tests/gpu/fake_buffers.h"
#include "tests/gpu/fake_facts.h"
#include "tests/gpu/fake_settings.h"
#include "tests/gpu/record_kinds.h"
#include "tests/gpu/saved_buffers.h"

#include <string.h>

#define HELD_MAX  4096
#define SUM_PRIME 16777619u

__thread bool fake_in_callback;

static struct {
	pthread_mutex_t lock;
	pthread_cond_t done;
	cupti_request *request;
	cupti_complete *complete;
	bool is_zeroed;
	struct fake_buffer *first, *last;
	size_t queued, waiters;
	bool is_delivering;
	bool has_to_replay;
	// What the client has lent us: he must not hand it out again.
	struct {
		const uint8_t *data;
		size_t size;
	} held[HELD_MAX];
	size_t held_count;
} d = { .lock = PTHREAD_MUTEX_INITIALIZER, .done = PTHREAD_COND_INITIALIZER };

void fake_delivery_set(cupti_request *request, cupti_complete *complete)
{
	pthread_mutex_lock(&d.lock);
	d.has_to_replay = request && fake_settings()->replay && !d.request;
	d.request = request;
	d.complete = complete;
	pthread_mutex_unlock(&d.lock);
}

bool fake_delivery_is_set(void)
{
	return d.complete != NULL;
}

void fake_delivery_promise_zeroed(bool are_zeroed)
{
	d.is_zeroed = are_zeroed;
}

static void hold(const struct fake_buffer *b)
{
	pthread_mutex_lock(&d.lock);
	for (size_t i = 0; i < d.held_count; i++)
		if (b->data < d.held[i].data + d.held[i].size && d.held[i].data < b->data + b->size)
			fake_violation("buffer %p: overlaps one that is not yet back",
			               (void *)b->data);
	if (d.held_count < HELD_MAX) {
		d.held[d.held_count].data = b->data;
		d.held[d.held_count++].size = b->size;
	}
	pthread_mutex_unlock(&d.lock);
}

static void release(const uint8_t *data)
{
	pthread_mutex_lock(&d.lock);
	for (size_t i = 0; i < d.held_count; i++)
		if (d.held[i].data == data) {
			d.held[i] = d.held[--d.held_count];
			break;
		}
	pthread_mutex_unlock(&d.lock);
}

static void check_new(const struct fake_buffer *b)
{
	if ((uintptr_t)b->data % CUPTI_BUFFER_ALIGNMENT)
		fake_violation("buffer %p: not aligned to %d", (void *)b->data,
		               CUPTI_BUFFER_ALIGNMENT);
	if (b->size < RECORD_MAX_BYTES)
		fake_violation("buffer %p: %zu bytes hold no record", (void *)b->data, b->size);
	if (!d.is_zeroed) {
		memset(b->data, 0, b->size);
	} else if (b->size && (b->data[0] || memcmp(b->data, b->data + 1, b->size - 1))) {
		fake_violation("buffer %p: not zeroed, as was promised", (void *)b->data);
	}
}

void fake_delivery_request(struct fake_buffer *out)
{
	*out = (struct fake_buffer){ 0 };
	if (!d.request)
		return;
	fake_in_callback = true;
	d.request(&out->data, &out->size, &out->records_max);
	fake_in_callback = false;
	if (!out->data)
		return;
	check_new(out);
	hold(out);
}

// FNV's step on words: whoever writes into a buffer that is lent is seen.
static uint32_t add_up(uint32_t sum, const uint8_t *bytes, size_t size)
{
	for (size_t i = 0; i + sizeof(uint32_t) <= size; i += sizeof(uint32_t)) {
		uint32_t word;
		memcpy(&word, bytes + i, sizeof(word));
		sum = (sum ^ word) * SUM_PRIME;
	}
	return sum;
}

void fake_buffer_put(struct fake_buffer *b, const void *bytes, size_t size)
{
	memcpy(b->data + b->used, bytes, size);
	b->sum = add_up(b->sum, bytes, size);
	b->used += size;
}

void fake_delivery_add(struct fake_buffer *b)
{
	struct fake_buffer *full = malloc(sizeof(*full));

	if (!full)
		abort();
	*full = *b;
	full->next = NULL;
	*b = (struct fake_buffer){ 0 };
	pthread_mutex_lock(&d.lock);
	if (d.last)
		d.last->next = full;
	else
		d.first = full;
	d.last = full;
	d.queued++;
	pthread_mutex_unlock(&d.lock);
}

void fake_delivery_lose(struct fake_buffer *b)
{
	release(b->data);
	*b = (struct fake_buffer){ 0 };
}

static struct fake_buffer *unlink_last(void)
{
	struct fake_buffer *before = NULL, *b = d.first;

	for (; b->next; b = b->next)
		before = b;
	d.last = before;
	if (before)
		before->next = NULL;
	else
		d.first = NULL;
	return b;
}

// Out of order needs two; the last one comes alone when somebody waits for it.
static struct fake_buffer *take(void)
{
	struct fake_buffer *b = NULL;

	pthread_mutex_lock(&d.lock);
	bool is_held_back = fake_faults()->disorder && d.queued < 2 && !d.waiters;
	if (d.first && !is_held_back) {
		if (fake_faults()->disorder) {
			b = unlink_last();
		} else {
			b = d.first;
			d.first = b->next;
			if (!d.first)
				d.last = NULL;
		}
		d.queued--;
	}
	d.is_delivering = b != NULL;
	if (!d.is_delivering)
		pthread_cond_broadcast(&d.done);
	pthread_mutex_unlock(&d.lock);
	return b;
}

static void deliver(struct fake_buffer *b)
{
	size_t valid = b->used;

	if (b->sum != add_up(0, b->data, b->used))
		fake_violation("buffer %p: written to before it was back", (void *)b->data);
	release(b->data);
	if (!d.complete)
		return;
	if (fake_faults()->garbage)
		valid = b->size + 4096;
	fake_in_callback = true;
	if (fake_faults()->null_buffer)
		d.complete(NULL, 0, NULL, 0, 0);
	fake_facts_delivered(b->records);
	d.complete(NULL, 0, b->data, b->size, valid);
	fake_in_callback = false;
}

void fake_delivery_run(void)
{
	for (struct fake_buffer *b; (b = take());) {
		deliver(b);
		free(b);
	}
}

void fake_delivery_wait(pthread_cond_t *wake)
{
	pthread_mutex_lock(&d.lock);
	d.waiters++;
	pthread_cond_signal(wake);
	while (d.first || d.is_delivering || d.has_to_replay)
		pthread_cond_wait(&d.done, &d.lock);
	d.waiters--;
	pthread_mutex_unlock(&d.lock);
}

static void replay(const char *path)
{
	// Names of the replayed kernels are told of as long as the process lives.
	static struct saved_buffers *saved;
	struct error err = { 0 };

	saved = saved_buffers_read(path, &err);
	if (!saved)
		fake_violation("%s", err.text);
	for (size_t i = 0; saved && i < saved_buffers_count(saved); i++) {
		struct saved_buffer from = saved_buffers_get(saved, i);
		struct fake_buffer to;
		fake_delivery_request(&to);
		if (!to.data || to.size < from.bytes) {
			fake_facts_dropped();
			continue;
		}
		fake_buffer_put(&to, from.data, from.bytes);
		to.records = from.records;
		fake_delivery_add(&to);
	}
}

void fake_delivery_replay(void)
{
	if (!d.has_to_replay)
		return;
	replay(fake_settings()->replay);
	pthread_mutex_lock(&d.lock);
	d.has_to_replay = false;
	pthread_mutex_unlock(&d.lock);
}
