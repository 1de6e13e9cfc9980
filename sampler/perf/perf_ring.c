// SPDX-License-Identifier: MIT
#include "sampler/perf/perf_ring.h"

#include "base/error.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define KEPT_MAX    ((size_t)64 << 20) // of all rings
#define PIECE_BYTES ((size_t)128 << 10)
#define TURN_BYTES  ((size_t)64 << 10) // of a small ring that are kept without letting others on

#define CUT_FROM    ((size_t)256 << 10) // bytes that are kept of a ring: its samples are cut
#define CUT_ALL_BUT 16                  // one in so many
#define CUT_THERE   (CUT_STACK + 2048)  // bytes of a sample that are needed for that

struct perf_kept {
	struct perf_kept *next;
	size_t to; // of BYTES: records end here
	_Alignas(uint64_t) uint8_t bytes[PIECE_BYTES];
};

void perf_ring_init(struct perf_ring *ring, struct perf_event_mmap_page *page, uint64_t data_bytes)
{
	*ring = (struct perf_ring){
		.page = page,
		.data = (const uint8_t *)page + sysconf(_SC_PAGESIZE),
		.mask = data_bytes - 1,
		.head = page->data_tail,
		.tail = page->data_tail,
		.next_ns = UINT64_MAX,
	};
}

void perf_ring_fini(struct perf_ring *ring)
{
	for (struct perf_kept *piece; (piece = ring->kept_first);) {
		ring->kept_first = piece->next;
		free(piece);
	}
	ring->kept_last = NULL;
	ring->kept_from = ring->kept_added = ring->kept_taken = 0;
}

static void copy_out(const struct perf_ring *ring, uint64_t from, void *to, size_t size)
{
	uint64_t at = from & ring->mask;
	size_t to_end = ring->mask + 1 - at;
	size_t first = size < to_end ? size : to_end;

	memcpy(to, ring->data + at, first);
	memcpy((uint8_t *)to + first, ring->data, size - first);
}

// The oldest record that is kept, for the reader; NULL if there is none.
static const uint8_t *kept_record(struct perf_ring *ring)
{
	struct perf_kept *piece = __atomic_load_n(&ring->kept_first, __ATOMIC_ACQUIRE);

	while (piece) {
		struct perf_kept *next = __atomic_load_n(&piece->next, __ATOMIC_ACQUIRE);
		// Nothing is added to a piece once it has a next one.
		if (ring->kept_from < __atomic_load_n(&piece->to, __ATOMIC_ACQUIRE))
			return piece->bytes + ring->kept_from;
		if (!next)
			return NULL;
		free(piece);
		ring->kept_first = piece = next;
		ring->kept_from = 0;
	}
	return NULL;
}

static int damaged(struct perf_ring *ring, struct error *err, const char *what)
{
	ring->tail = ring->head;
	ring->next_ns = UINT64_MAX;
	return error_set(err, 0, "a ring of the kernel holds %s", what);
}

// The header of the record at tail, which must be there. False if it cannot be one.
static bool read_header(const struct perf_ring *ring, struct perf_event_header *header)
{
	uint64_t there = ring->head - ring->tail;

	if (there > ring->mask + 1 || there < sizeof(*header))
		return false;
	copy_out(ring, ring->tail, header, sizeof(*header));
	return header->size >= sizeof(*header) && header->size <= there && header->size % 8 == 0;
}

static void peek_kept(struct perf_ring *ring, const uint8_t *record)
{
	struct perf_event_header header;

	memcpy(&header, record, sizeof(header));
	memcpy(&ring->next_ns, record + perf_record_time_offset(&header), sizeof(ring->next_ns));
}

static int peek_time(struct perf_ring *ring, struct error *err)
{
	struct perf_event_header header;
	const uint8_t *kept = kept_record(ring);

	if (kept) {
		peek_kept(ring, kept);
		return 0;
	}
	ring->next_ns = UINT64_MAX;
	if (ring->tail == ring->head)
		return 0;
	if (ring->head - ring->tail > ring->mask + 1 || ring->head - ring->tail < sizeof(header))
		return damaged(ring, err, "more than fits in");
	size_t offset = read_header(ring, &header) ? perf_record_time_offset(&header) : 0;
	if (!offset)
		return damaged(ring, err, "a record of impossible size");
	copy_out(ring, ring->tail + offset, &ring->next_ns, sizeof(ring->next_ns));
	if (ring->next_ns == UINT64_MAX)
		return damaged(ring, err, "a record of impossible time");
	return 0;
}

int perf_rings_look(struct perf_rings *set, struct error *err)
{
	int result = 0;

	if (set->small)
		return 0; // next_small() looks
	pthread_mutex_lock(&set->lock);
	for (size_t i = 0; i < set->count; i++) {
		struct perf_ring *ring = &set->rings[i];
		ring->head = __atomic_load_n(&ring->page->data_head, __ATOMIC_ACQUIRE);
		if (ring->next_ns == UINT64_MAX && ring != set->given && peek_time(ring, err) < 0)
			result = -1;
	}
	pthread_mutex_unlock(&set->lock);
	return result;
}

static int give_back(struct perf_rings *set, struct error *err)
{
	struct perf_ring *ring = set->given;

	if (!ring)
		return 0;
	set->given = NULL;
	if (set->given_kept) {
		ring->kept_from += set->given_bytes;
		__atomic_store_n(&ring->kept_taken, ring->kept_taken + set->given_bytes,
		                 __ATOMIC_RELAXED);
	} else {
		ring->tail += set->given_bytes;
		__atomic_store_n(&ring->page->data_tail, ring->tail, __ATOMIC_RELEASE);
	}
	return peek_time(ring, err);
}

// The sample at tail, which is copied to RECORD, without most of its stack. 0: as it is.
static size_t cut_sample(struct perf_ring *ring, const struct perf_event_header *header,
                         uint8_t *record, uint32_t short_bytes)
{
	size_t size = header->size;
	uint64_t used;

	// What holds more is there to be whole.
	if (!short_bytes || header->type != PERF_RECORD_SAMPLE || size < CUT_THERE ||
	    size > short_bytes + CUT_THERE - CUT_STACK || ring->cut++ % CUT_ALL_BUT == 0)
		return 0;
	copy_out(ring, ring->tail, record, CUT_THERE);
	copy_out(ring, ring->tail + size - sizeof(used), &used, sizeof(used));
	return perf_record_cut(&ring->format, record, CUT_THERE, size, used, CUT_STACK);
}

// What is damaged stays: it is reported when its turn comes. SHORT_BYTES: see struct perf_rings; 0:
// it is not cut.
static bool keep_record(struct perf_ring *ring, struct perf_kept *piece, uint32_t short_bytes)
{
	struct perf_event_header header;
	uint64_t time_ns;

	if (!read_header(ring, &header) || !perf_record_time_offset(&header) ||
	    PIECE_BYTES - piece->to < header.size)
		return false;
	uint8_t *record = piece->bytes + piece->to;
	size_t size = cut_sample(ring, &header, record, short_bytes);
	if (!size) {
		copy_out(ring, ring->tail, record, header.size);
		memcpy(record, &header, sizeof(header)); // whatever has become of it
		size = perf_record_shorten(&ring->format, record);
	}
	memcpy(&time_ns, record + perf_record_time_offset(&header), sizeof(time_ns));
	if (time_ns == UINT64_MAX)
		return false;
	piece->to += size;
	ring->tail += header.size;
	return true;
}

static size_t kept_bytes(const struct perf_ring *ring)
{
	return __atomic_load_n(&ring->kept_added, __ATOMIC_RELAXED) -
	       __atomic_load_n(&ring->kept_taken, __ATOMIC_RELAXED);
}

/*
 * A piece of what is in RING, of TURN bytes or a little more, and what the ring will be once
 * it is kept. NULL if there is nothing to keep or no room. Without the lock: others may make the
 * same, and keep it first. Then it is of no use, and may hold anything.
 */
static struct perf_kept *make_piece(const struct perf_ring *ring, size_t most, size_t turn,
                                    uint32_t short_bytes, struct perf_ring *then)
{
	size_t kept = kept_bytes(ring);

	*then = (struct perf_ring){
		.page = ring->page, .data = ring->data, .mask = ring->mask, .format = ring->format
	};
	then->cut = __atomic_load_n(&ring->cut, __ATOMIC_RELAXED);
	then->tail = __atomic_load_n(&ring->tail, __ATOMIC_ACQUIRE);
	then->head = __atomic_load_n(&ring->page->data_head, __ATOMIC_ACQUIRE);
	struct perf_kept *piece =
		kept < most && then->tail != then->head ? malloc(sizeof(*piece)) : NULL;
	if (!piece)
		return NULL;
	piece->next = NULL;
	piece->to = 0;
	while (then->tail != then->head && piece->to < turn &&
	       keep_record(then, piece, kept > CUT_FROM ? short_bytes : 0))
		;
	if (!piece->to) {
		free(piece);
		return NULL;
	}
	struct perf_kept *shrunk = realloc(piece, offsetof(struct perf_kept, bytes) + piece->to);
	return shrunk ? shrunk : piece;
}

// With the lock. False if another one was first; PIECE is still the caller's then.
static bool add_piece(struct perf_ring *ring, struct perf_kept *piece, uint64_t from,
                      const struct perf_ring *then)
{
	if (ring->tail != from)
		return false;
	struct perf_kept *last = ring->kept_last;
	ring->kept_last = piece;
	__atomic_store_n(&ring->kept_added, ring->kept_added + piece->to, __ATOMIC_RELAXED);
	__atomic_store_n(&ring->cut, then->cut, __ATOMIC_RELAXED);
	ring->head = then->head;
	__atomic_store_n(&ring->tail, then->tail, __ATOMIC_RELEASE);
	__atomic_store_n(&ring->page->data_tail, then->tail, __ATOMIC_RELEASE);
	__atomic_store_n(last ? &last->next : &ring->kept_first, piece, __ATOMIC_RELEASE);
	return true;
}

// All that is in it.
static void keep_records(struct perf_ring *ring, size_t most)
{
	struct perf_ring then;
	struct perf_kept *piece;

	while ((piece = make_piece(ring, most, PIECE_BYTES, 0, &then)))
		add_piece(ring, piece, ring->tail, &then);
}

// No record of it is out. What samples of switches and wakeups may cost is what their rings hold.
static void relieve(struct perf_ring *ring, size_t most)
{
	uint64_t head = __atomic_load_n(&ring->page->data_head, __ATOMIC_ACQUIRE);

	if (head - ring->tail <= ring->mask / 2 || ring->format.switches || ring->format.wakeup)
		return;
	keep_records(ring, most);
	const uint8_t *kept = kept_record(ring);
	if (kept)
		peek_kept(ring, kept);
}

static void relieve_all(struct perf_rings *set)
{
	for (size_t i = 0; i < set->count; i++)
		if (&set->rings[i] != set->given)
			relieve(&set->rings[i], KEPT_MAX / set->count);
}

// One turn. The lock is held for a moment only: who has it may have to wait for a CPU with it.
static void keep_small(struct perf_rings *set, struct perf_ring *ring)
{
	uint64_t from = __atomic_load_n(&ring->tail, __ATOMIC_ACQUIRE);
	struct perf_ring then;
	struct perf_kept *piece =
		make_piece(ring, KEPT_MAX / set->count, TURN_BYTES, set->short_bytes, &then);

	if (!piece)
		return;
	pthread_mutex_lock(&set->lock);
	bool added = add_piece(ring, piece, from, &then);
	pthread_mutex_unlock(&set->lock);
	if (!added)
		free(piece);
}

static void relieve_small(struct perf_rings *set)
{
	for (size_t i = 0; i < set->count; i++) {
		struct perf_ring *ring = &set->rings[i];
		uint64_t head = __atomic_load_n(&ring->page->data_head, __ATOMIC_ACQUIRE);
		uint64_t tail = __atomic_load_n(&ring->tail, __ATOMIC_RELAXED);
		if (head - tail > ring->mask / 4 && !ring->format.switches && !ring->format.wakeup)
			keep_small(set, ring);
	}
}

static bool has_kept(const struct perf_rings *set)
{
	for (size_t i = 0; i < set->count; i++)
		if (kept_bytes(&set->rings[i]))
			return true;
	return false;
}

double perf_rings_kept(const struct perf_rings *set)
{
	size_t most = 0;

	for (size_t i = 0; i < set->count; i++)
		if (kept_bytes(&set->rings[i]) > most)
			most = kept_bytes(&set->rings[i]);
	return (double)most * (double)set->count / (double)KEPT_MAX;
}

bool perf_rings_relieve(struct perf_rings *set)
{
	if (set->small) {
		relieve_small(set);
		return has_kept(set);
	}
	pthread_mutex_lock(&set->lock);
	relieve_all(set);
	pthread_mutex_unlock(&set->lock);
	return has_kept(set);
}

static struct perf_ring *oldest(const struct perf_rings *set)
{
	struct perf_ring *best = NULL;

	for (size_t i = 0; i < set->count; i++)
		if (!best || set->rings[i].next_ns < best->next_ns)
			best = &set->rings[i];
	return best;
}

static const struct perf_event_header *give_kept(struct perf_rings *set, struct perf_ring *ring,
                                                 const uint8_t *kept)
{
	const struct perf_event_header *record = (const void *)kept;

	ring->next_ns = UINT64_MAX;
	set->given = ring;
	set->given_bytes = record->size;
	set->given_kept = true;
	return record;
}

static const struct perf_event_header *next(struct perf_rings *set, uint64_t until_ns,
                                            struct perf_ring **from, struct error *err)
{
	if (give_back(set, err) < 0)
		return NULL;
	// Looking at all of them takes as long as they are many.
	if (set->count && set->passed++ % set->count == 0)
		relieve_all(set);

	struct perf_ring *ring = oldest(set);
	if (!ring || ring->next_ns == UINT64_MAX || ring->next_ns > until_ns)
		return NULL;
	*from = ring;
	const uint8_t *kept = kept_record(ring);
	if (kept)
		return give_kept(set, ring, kept);
	set->given_kept = false;

	const uint8_t *record = ring->data + (ring->tail & ring->mask);
	struct perf_event_header header;
	copy_out(ring, ring->tail, &header, sizeof(header));
	if ((ring->tail & ring->mask) + header.size > ring->mask + 1) {
		copy_out(ring, ring->tail, set->wrapped, header.size);
		record = set->wrapped;
	}
	ring->next_ns = UINT64_MAX;
	set->given = ring;
	set->given_bytes = header.size;
	return (const struct perf_event_header *)(const void *)record;
}

// The time of the oldest record of a small ring. What is in the ring is kept first.
static int peek_small(struct perf_rings *set, struct perf_ring *ring, struct error *err)
{
	const uint8_t *kept = kept_record(ring);
	int result = 0;

	ring->next_ns = UINT64_MAX;
	if (!kept && __atomic_load_n(&ring->page->data_head, __ATOMIC_ACQUIRE) !=
	                     __atomic_load_n(&ring->tail, __ATOMIC_RELAXED)) {
		keep_small(set, ring);
		kept = kept_record(ring);
		if (!kept) { // it is damaged, or there is no memory
			pthread_mutex_lock(&set->lock);
			ring->head = __atomic_load_n(&ring->page->data_head, __ATOMIC_ACQUIRE);
			result = peek_time(ring, err);
			pthread_mutex_unlock(&set->lock);
			kept = kept_record(ring);
		}
		if (!kept && result == 0 && ring->next_ns != UINT64_MAX)
			result = error_set(err, ENOMEM, "could not keep a record of the kernel");
	}
	if (kept)
		peek_kept(ring, kept);
	return result;
}

static const struct perf_event_header *next_small(struct perf_rings *set, uint64_t until_ns,
                                                  struct perf_ring **from, struct error *err)
{
	if (set->given) {
		set->given->kept_from += set->given_bytes;
		__atomic_store_n(&set->given->kept_taken, set->given->kept_taken + set->given_bytes,
		                 __ATOMIC_RELAXED);
		set->given = NULL;
	}
	for (size_t i = 0; i < set->count; i++)
		if (set->rings[i].next_ns == UINT64_MAX && peek_small(set, &set->rings[i], err) < 0)
			return NULL;
	struct perf_ring *ring = oldest(set);
	if (!ring || ring->next_ns == UINT64_MAX || ring->next_ns > until_ns)
		return NULL;
	*from = ring;
	return give_kept(set, ring, kept_record(ring));
}

const struct perf_event_header *perf_rings_next(struct perf_rings *set, uint64_t until_ns,
                                                struct perf_ring **from, struct error *err)
{
	if (set->small)
		return next_small(set, until_ns, from, err);
	pthread_mutex_lock(&set->lock);
	const struct perf_event_header *record = next(set, until_ns, from, err);
	pthread_mutex_unlock(&set->lock);
	return record;
}
