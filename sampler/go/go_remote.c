// SPDX-License-Identifier: MIT
#include "sampler/go/go_remote.h"

#include "base/clock.h"
#include "base/hash.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>

#define LISTED_MAX  (UINT64_C(1) << 28)
#define BATCH       32   // goroutines whose parts are read together: soon after one another
#define STACK_BYTES 1024 // of a stack that are read at once
#define WINDOWS_MAX 8    // of one stack
#define REASONS_MAX 255
#define STACK_MAX   (UINT64_C(1) << 31)
#define SLOTS       2048 // of the index of groups: more than GO_LOOKED_MAX

// runtime2.go: numbers that have been the same since Go 1.4.
enum {
	STATUS_RUNNABLE = 1,
	STATUS_RUNNING = 2,
	STATUS_CALL = 3,
	STATUS_WAITING = 4,
	STATUS_COPYING = 8,   // its stack grows
	STATUS_PREEMPTED = 9, // since Go 1.14
	STATUS_LEAKED = 10,   // it waits for what nobody holds any more; since Go 1.26
	STATUS_SCAN = 0x1000, // the collector of garbage reads its stack meanwhile
};

struct one {
	uint64_t at;     // of its g
	uint64_t weight; // goroutines that it stands for
	uint8_t g[GO_G_BYTES_MAX];
	uint8_t again[GO_G_BYTES_MAX];
	uint8_t stack[STACK_BYTES];
	uint64_t stack_at; // of these bytes
	uint32_t stack_bytes;
	struct go_group group;
};

struct go_room {
	uint64_t at[GO_LOOKED_MAX];
	uint64_t weights[GO_LOOKED_MAX];
	struct go_read reads[GO_LOOKED_MAX];
	struct one batch[BATCH];
	struct go_group groups[GO_LOOKED_MAX];
	size_t group_count;
	uint16_t slots[SLOTS]; // number of a group; 0: free
};

struct go_remote {
	struct go_layout layout;
	char (*reasons)[GO_REASON_MAX]; // NULL: not read yet
	uint32_t reason_count;
	bool is_known; // the offsets are right
	uint64_t random;
	uint64_t listed;
	uint32_t looked;
	go_read_function *read;
	void *context;
	struct go_room *room; // borrowed
};

struct go_room *go_room_new(void)
{
	return calloc(1, sizeof(struct go_room));
}

void go_room_free(struct go_room *room)
{
	free(room);
}

struct go_remote *go_remote_new(const struct go_layout *layout, uint64_t bias, struct go_room *room)
{
	struct go_remote *r = calloc(1, sizeof(*r));

	if (!r)
		return NULL;
	r->room = room;
	r->layout = *layout;
	r->layout.all_pointer += bias;
	r->layout.all_length += bias;
	r->layout.reasons += layout->reasons ? bias : 0;
	r->is_known = !layout->by_version;
	r->random = hash_mix(clock_now_ns() ^ (uintptr_t)r) | 1;
	return r;
}

void go_remote_free(struct go_remote *r)
{
	if (!r)
		return;
	free(r->reasons);
	free(r);
}

uint64_t go_remote_listed(const struct go_remote *r)
{
	return r->listed;
}

uint32_t go_remote_looked(const struct go_remote *r)
{
	return r->looked;
}

void go_read_process(void *context, struct go_read *reads, size_t count)
{
	enum {
		AT_ONCE = 64
	};
	struct iovec local[AT_ONCE], remote[AT_ONCE];

	for (size_t first = 0; first < count;) {
		size_t n = count - first < AT_ONCE ? count - first : AT_ONCE;
		for (size_t i = 0; i < n; i++) {
			struct go_read *r = &reads[first + i];
			r->done = false;
			local[i] = (struct iovec){ r->to, r->size };
			// NOLINTNEXTLINE(performance-no-int-to-ptr): in the other process
			remote[i] = (struct iovec){ (void *)(uintptr_t)r->address, r->size };
		}
		ssize_t got = process_vm_readv(*(const int *)context, local, n, remote, n, 0);
		size_t whole = 0;
		for (; whole < n && got >= (ssize_t)reads[first + whole].size; whole++) {
			got -= (ssize_t)reads[first + whole].size;
			reads[first + whole].done = true;
		}
		// It stops at what cannot be read: that one is left out.
		first += whole < n ? whole + 1 : n;
	}
}

static bool read_one(struct go_remote *r, uint64_t address, void *to, size_t size)
{
	struct go_read one = { .address = address, .to = to, .size = size };

	if (size > UINT64_MAX - address)
		return false;
	r->read(r->context, &one, 1);
	return one.done;
}

static uint64_t draw(struct go_remote *r, uint64_t below)
{
	r->random ^= r->random << 13;
	r->random ^= r->random >> 7;
	r->random ^= r->random << 17;
	return r->random % below;
}

// The runtime's words for its reasons to wait.
static void read_reason(struct go_remote *r, uint64_t address, char *to)
{
	struct {
		uint64_t at, length;
	} text;
	size_t length;

	if (!read_one(r, address, &text, sizeof(text)) || !text.length ||
	    text.length >= GO_REASON_MAX)
		return;
	length = (size_t)text.length;
	if (!read_one(r, text.at, to, length))
		memset(to, 0, GO_REASON_MAX);
	for (size_t i = 0; i < length; i++)
		if (!isprint((unsigned char)to[i]))
			to[i] = '\0';
	to[length] = '\0';
}

static void read_reasons(struct go_remote *r)
{
	const struct go_layout *l = &r->layout;
	uint32_t count = l->reason_count < REASONS_MAX ? l->reason_count : REASONS_MAX;

	if (r->reasons || !l->reasons || !count)
		return;
	r->reasons = calloc(count, sizeof(*r->reasons));
	r->reason_count = r->reasons ? count : 0;
	for (uint32_t i = 0; i < r->reason_count; i++)
		read_reason(r, l->reasons + UINT64_C(16) * i, r->reasons[i]);
}

static uint64_t word_of(const uint8_t *g, int32_t offset)
{
	uint64_t word;

	if (offset < 0)
		return 0;
	memcpy(&word, g + offset, sizeof(word));
	return word;
}

static uint32_t status_of(const struct go_remote *r, const uint8_t *g)
{
	uint32_t status;

	memcpy(&status, g + r->layout.status, sizeof(status));
	return status & ~(uint32_t)STATUS_SCAN;
}

// Whether the list's first goroutine, which runs main, has number 1 where the layout says that.
static bool check_offsets(struct go_remote *r, uint64_t list)
{
	uint8_t g[GO_G_BYTES_MAX];
	uint64_t at;

	if (!r->is_known)
		r->is_known = read_one(r, list, &at, sizeof(at)) && at && at % 8 == 0 &&
		              read_one(r, at, g, r->layout.g_bytes) &&
		              word_of(g, r->layout.goid) == 1;
	return r->is_known;
}

// Which of the list are looked at. False: it cannot be read.
static bool choose(struct go_remote *r)
{
	struct go_room *room = r->room;
	uint64_t length, pointer;

	r->looked = 0;
	// The list is published before its length, and only grows.
	if (!read_one(r, r->layout.all_length, &length, sizeof(length)) || !length ||
	    length > LISTED_MAX || !read_one(r, r->layout.all_pointer, &pointer, sizeof(pointer)) ||
	    !pointer || pointer % sizeof(pointer) || pointer > UINT64_MAX - 8 * length ||
	    !check_offsets(r, pointer))
		return false;
	r->listed = length;
	uint32_t count = length < GO_LOOKED_MAX ? (uint32_t)length : GO_LOOKED_MAX;
	for (uint32_t i = 0; i < count; i++) {
		uint64_t low = length * i / count, high = length * (i + 1) / count;
		room->weights[i] = high - low;
		room->reads[i] =
			(struct go_read){ .address = pointer + 8 * (low + draw(r, high - low)),
			                  .to = &room->at[i],
			                  .size = sizeof(room->at[i]) };
	}
	if (count == length)
		// All of them, in one piece.
		return read_one(r, pointer, room->at, 8 * (size_t)count) && (r->looked = count);
	r->read(r->context, room->reads, count);
	for (uint32_t i = 0; i < count; i++)
		if (!room->reads[i].done)
			return false;
	r->looked = count;
	return true;
}

// Reads a g of each of COUNT to where PLACE says; those that cannot be read lose their address.
static void read_gs(struct go_remote *r, size_t count, size_t place)
{
	struct go_room *room = r->room;

	for (size_t i = 0; i < count; i++) {
		struct one *o = &room->batch[i];
		bool sound = o->at && o->at % 8 == 0 && o->at <= UINT64_MAX - GO_G_BYTES_MAX;
		room->reads[i] = (struct go_read){ .address = o->at,
			                           .to = (uint8_t *)o + place,
			                           .size = sound ? r->layout.g_bytes : 0 };
		o->at = sound ? o->at : 0;
	}
	r->read(r->context, room->reads, count);
	for (size_t i = 0; i < count; i++)
		if (!room->reads[i].done)
			room->batch[i].at = 0;
}

static const char *reason_of(const struct go_remote *r, const uint8_t *g)
{
	uint8_t reason = g[r->layout.reason];

	return reason < r->reason_count ? r->reasons[reason] : "";
}

// False: it has ended, or not begun.
static bool take_state(const struct go_remote *r, struct one *o)
{
	struct go_group *group = &o->group;

	*group = (struct go_group){ .reason = "", .goroutines = o->weight };
	switch (status_of(r, o->g)) {
	case STATUS_RUNNING:
	case STATUS_COPYING:
		group->state = GOROUTINE_RUNNING;
		break;
	case STATUS_RUNNABLE:
	case STATUS_PREEMPTED:
		group->state = GOROUTINE_RUNNABLE;
		break;
	case STATUS_CALL:
		group->state = GOROUTINE_IN_CALL;
		break;
	case STATUS_WAITING:
	case STATUS_LEAKED:
		group->state = GOROUTINE_WAITING;
		group->reason = reason_of(r, o->g);
		break;
	default:
		return false;
	}
	group->start = word_of(o->g, r->layout.start);
	return true;
}

// Where its own code has stopped; false: that is not known.
struct place {
	uint64_t sp, pc, bp, high;
};

static bool place_of(const struct go_remote *r, const struct one *o, struct place *place)
{
	const struct go_layout *l = &r->layout;
	bool call = o->group.state == GOROUTINE_IN_CALL;

	if (o->group.state == GOROUTINE_RUNNING)
		return false;
	// Where a call's frame pointer is not kept, the function that calls is all that is known.
	*place = (struct place){
		.sp = word_of(o->g, call ? l->call_sp : l->sp),
		.pc = word_of(o->g, call ? l->call_pc : l->pc),
		.bp = word_of(o->g, call ? l->call_bp : l->bp),
		.high = word_of(o->g, l->stack_high),
	};
	return place->pc && place->sp && place->sp % 8 == 0 && place->sp < place->high &&
	       place->high - place->sp <= STACK_MAX;
}

// What is wanted of the stack from FROM on.
static void want_stack(struct one *o, uint64_t from, uint64_t high)
{
	o->stack_at = from;
	o->stack_bytes = (uint32_t)(high - from < STACK_BYTES ? high - from : STACK_BYTES);
}

// Callers' frames by the frame pointers that Go's compiler keeps.
static void walk(struct go_remote *r, struct one *o, const struct place *place)
{
	struct go_group *group = &o->group;
	uint64_t bp = place->bp, least = place->sp;
	int windows = 1;

	group->frames[group->count++] = place->pc;
	while (group->count < GO_FRAMES_MAX) {
		uint64_t pair[2]; // the caller's frame pointer, the return address
		if (bp % 8 || bp < least || bp > place->high || place->high - bp < sizeof(pair))
			return;
		if (bp < o->stack_at || bp - o->stack_at + sizeof(pair) > o->stack_bytes) {
			if (windows++ == WINDOWS_MAX)
				return;
			want_stack(o, bp, place->high);
			if (!read_one(r, o->stack_at, o->stack, o->stack_bytes)) {
				group->count = 0;
				return;
			}
		}
		memcpy(pair, o->stack + (bp - o->stack_at), sizeof(pair));
		if (!pair[1])
			return;
		group->frames[group->count++] = pair[1];
		least = bp + sizeof(pair);
		bp = pair[0];
	}
}

static void read_stacks(struct go_remote *r, size_t count)
{
	struct go_room *room = r->room;
	struct place places[BATCH];
	bool known[BATCH];

	for (size_t i = 0; i < count; i++) {
		struct one *o = &room->batch[i];
		known[i] = o->at && place_of(r, o, &places[i]);
		if (known[i])
			want_stack(o, places[i].sp, places[i].high);
		room->reads[i] = (struct go_read){ .address = known[i] ? o->stack_at : 0,
			                           .to = o->stack,
			                           .size = known[i] ? o->stack_bytes : 0 };
	}
	r->read(r->context, room->reads, count);
	for (size_t i = 0; i < count; i++)
		known[i] = known[i] && room->reads[i].done; // walks read, too
	for (size_t i = 0; i < count; i++)
		if (known[i])
			walk(r, &room->batch[i], &places[i]);
}

// Whether it has not run while its stack was read.
static bool is_as_before(const struct go_remote *r, const struct one *o)
{
	const struct go_layout *l = &r->layout;
	const int32_t same[] = { l->goid, l->sp, l->pc, l->bp, l->call_sp, l->call_pc, l->call_bp };

	if (!o->at || status_of(r, o->g) != status_of(r, o->again))
		return false;
	for (size_t i = 0; i < sizeof(same) / sizeof(same[0]); i++)
		if (word_of(o->g, same[i]) != word_of(o->again, same[i]))
			return false;
	return true;
}

static uint64_t hash_of(const struct go_group *g)
{
	uint64_t hash = hash_pair((uint64_t)g->state, g->start);

	hash = hash_pair(hash, (uintptr_t)g->reason);
	for (uint32_t i = 0; i < g->count; i++)
		hash = hash_pair(hash, g->frames[i]);
	return hash;
}

static bool is_same(const struct go_group *a, const struct go_group *b)
{
	return a->state == b->state && a->start == b->start && a->reason == b->reason &&
	       a->count == b->count &&
	       memcmp(a->frames, b->frames, a->count * sizeof(a->frames[0])) == 0;
}

static void add(struct go_room *room, const struct go_group *more)
{
	size_t slot = hash_of(more) % SLOTS;

	for (; room->slots[slot]; slot = (slot + 1) % SLOTS) {
		struct go_group *group = &room->groups[room->slots[slot] - 1];
		if (is_same(group, more)) {
			group->goroutines += more->goroutines;
			return;
		}
	}
	room->groups[room->group_count++] = *more;
	room->slots[slot] = (uint16_t)room->group_count;
}

static void look_at(struct go_remote *r, size_t first, size_t count)
{
	struct go_room *room = r->room;

	for (size_t i = 0; i < count; i++) {
		room->batch[i].at = room->at[first + i];
		room->batch[i].weight = room->weights[first + i];
	}
	read_gs(r, count, offsetof(struct one, g));
	for (size_t i = 0; i < count; i++)
		if (room->batch[i].at && !take_state(r, &room->batch[i]))
			room->batch[i].at = 0;
	read_stacks(r, count);

	bool seen[BATCH];
	for (size_t i = 0; i < count; i++)
		seen[i] = room->batch[i].at != 0;
	read_gs(r, count, offsetof(struct one, again));
	for (size_t i = 0; i < count; i++) {
		struct one *o = &room->batch[i];
		if (!seen[i])
			continue;
		if (!is_as_before(r, o))
			o->group.count = 0;
		add(room, &o->group);
	}
}

const struct go_group *go_remote_pass(struct go_remote *r, go_read_function *read, void *context,
                                      size_t *count)
{
	struct go_room *room = r->room;

	r->read = read;
	r->context = context;
	room->group_count = 0;
	memset(room->slots, 0, sizeof(room->slots));
	if (!choose(r))
		return NULL;
	read_reasons(r);
	for (uint32_t first = 0; first < r->looked; first += BATCH)
		look_at(r, first, r->looked - first < BATCH ? r->looked - first : BATCH);
	*count = room->group_count;
	return room->groups;
}
