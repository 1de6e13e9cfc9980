// SPDX-License-Identifier: MIT
#include "tracer/agent/op/names.h"

#include "base/hash.h"
#include "tracer/agent/system.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

#define PAGE       4096u
#define STEP_BYTES ((uint32_t)64 << 10)
#define COUNT_MAX  (NAMES_INDEX / 4 * 3)
#define APART      128u // bytes: no two are in one cache line

void names_start(struct names *n, void *memory, bool by_populate, uint32_t pid, uint64_t image_ns)
{
	struct protocol_names *file = memory;

	file->version = PROTOCOL_VERSION;
	file->pid = pid;
	file->image_ns = image_ns;
	n->by_populate = by_populate;
	n->reserved = sizeof(*file);
	n->ready = by_populate ? PAGE : (uint32_t)PROTOCOL_NAMES_BYTES;
	__atomic_store_n(&file->magic, PROTOCOL_NAMES_MAGIC, __ATOMIC_RELEASE);
	__atomic_store_n(&n->file, file, __ATOMIC_RELEASE);
}

// A forked child that lives for a moment pays for each page that it touches.
void names_abandon(struct names *n)
{
	const size_t part = NAMES_INDEX / NAMES_PARTS;

	if (!n->file)
		return;
	munmap(n->file, PROTOCOL_NAMES_BYTES);
	n->file = NULL;
	n->growing = 0;
	n->count = 0;
	for (uint32_t i = 0; i < NAMES_PARTS; i++)
		if (n->touched & 1u << i)
			memset(n->index + i * part, 0, part * sizeof(n->index[0]));
	n->touched = 0;
}

void names_detach(struct names *n)
{
	if (n->file)
		system_detach(n->file, PROTOCOL_NAMES_BYTES);
}

// Memory is asked for before it is touched: a full disk is no SIGBUS.
static bool grow(struct names *n, uint32_t end)
{
	int error = errno;
	bool grown = true;

	if (__atomic_exchange_n(&n->growing, 1, __ATOMIC_ACQUIRE))
		return false;
	while (n->ready < end && grown) {
		uint32_t next = (n->ready + STEP_BYTES) & ~(STEP_BYTES - 1);
		grown = madvise((char *)n->file + n->ready, next - n->ready, MADV_POPULATE_WRITE) ==
		        0;
		if (grown)
			__atomic_store_n(&n->ready, next, __ATOMIC_RELEASE);
	}
	__atomic_store_n(&n->growing, 0, __ATOMIC_RELEASE);
	errno = error;
	return grown;
}

static bool is_ready(struct names *n, uint32_t end)
{
	return end <= __atomic_load_n(&n->ready, __ATOMIC_ACQUIRE) || grow(n, end);
}

static bool take_room(struct names *n, uint32_t bytes, uint32_t *at)
{
	uint32_t now = __atomic_load_n(&n->reserved, __ATOMIC_RELAXED);

	do {
		if (bytes > PROTOCOL_NAMES_BYTES - now || !is_ready(n, now + bytes))
			return false;
	} while (!__atomic_compare_exchange_n(&n->reserved, &now, now + bytes, true,
	                                      __ATOMIC_RELAXED, __ATOMIC_RELAXED));
	*at = now;
	return true;
}

static size_t limit_of(enum op_provider provider)
{
	return provider == OP_GPU ? PROTOCOL_KERNEL_TEXT : PROTOCOL_NAME_TEXT;
}

// The entry takes a multiple of UNIT bytes.
static uint32_t append(struct names *n, const struct name *name, uint32_t unit)
{
	size_t length = strnlen(name->text, limit_of(name->provider));
	uint32_t bytes =
		(uint32_t)(sizeof(struct protocol_name) + length + 1 + unit - 1) & ~(unit - 1);
	uint32_t at;

	if (!take_room(n, bytes, &at))
		return 0;
	struct protocol_name *entry = (struct protocol_name *)((char *)n->file + at);
	entry->domain = name->domain;
	entry->category = name->category;
	entry->provider = (uint8_t)name->provider;
	memcpy(entry + 1, name->text, length); // the memory is zeroed
	__atomic_store_n(&entry->bytes, bytes, __ATOMIC_RELEASE);
	return at / 8;
}

static uint32_t add(struct names *n, const struct name *name)
{
	uint32_t id =
		__atomic_load_n(&n->count, __ATOMIC_RELAXED) < COUNT_MAX ? append(n, name, 8) : 0;

	if (id)
		__atomic_fetch_add(&n->count, 1, __ATOMIC_RELAXED);
	return id;
}

static bool is_called(const struct names *n, uint32_t id, const struct name *name)
{
	const struct protocol_name *entry = names_entry(n, id);

	return entry->provider == name->provider && entry->domain == name->domain &&
	       strncmp(names_text(n, id), name->text, limit_of(name->provider)) == 0;
}

static uint32_t refuse(struct names *n)
{
	__atomic_fetch_add(&n->file->refused, 1, __ATOMIC_RELAXED);
	return 0;
}

// Before it is: another thread may fork in between.
static void touch(struct names *n, uint32_t slot)
{
	uint32_t bit = 1u << slot / (NAMES_INDEX / NAMES_PARTS);

	if (!(__atomic_load_n(&n->touched, __ATOMIC_RELAXED) & bit))
		__atomic_fetch_or(&n->touched, bit, __ATOMIC_SEQ_CST);
}

uint32_t names_id(struct names *n, const struct name *name)
{
	size_t length = strnlen(name->text, limit_of(name->provider));
	uint64_t hashed = hash_pair(hash_bytes(name->text, length), name->domain) + name->provider;

	for (uint32_t at = (uint32_t)hashed;; at++) {
		uint32_t *slot = &n->index[at % NAMES_INDEX];
		uint32_t id = __atomic_load_n(slot, __ATOMIC_ACQUIRE);
		if (!id) {
			uint32_t added = add(n, name);
			if (!added)
				return refuse(n);
			touch(n, at % NAMES_INDEX);
			if (__atomic_compare_exchange_n(slot, &id, added, false, __ATOMIC_ACQ_REL,
			                                __ATOMIC_ACQUIRE))
				return added;
		}
		// Another thread may have added the same name, or another one, just now.
		if (is_called(n, id, name))
			return id;
	}
}

void names_count(struct names *n, uint32_t id, const struct op_counts *counts)
{
	struct op_counts *sums = &((struct protocol_name *)names_entry(n, id))->counts;

	__atomic_fetch_add(&sums->timeless, counts->timeless, __ATOMIC_RELAXED);
	__atomic_fetch_add(&sums->total_ns, counts->total_ns, __ATOMIC_RELAXED);
	__atomic_fetch_add(&sums->sum_ns, counts->sum_ns, __ATOMIC_RELAXED);
	__atomic_fetch_add(&sums->self_ns, counts->self_ns, __ATOMIC_RELAXED);
	__atomic_fetch_add(&sums->marks, counts->marks, __ATOMIC_RELAXED);
	__atomic_fetch_add(&sums->calls, counts->calls, __ATOMIC_RELAXED);
}

uint32_t names_twin(struct names *n, uint32_t id)
{
	const struct protocol_name *entry = names_entry(n, id);
	struct name name = { entry->provider, entry->domain, entry->category, names_text(n, id) };

	// The other half is for names that are new. Readers take no entry beyond the longest
	// name's.
	if (__atomic_load_n(&n->reserved, __ATOMIC_RELAXED) > PROTOCOL_NAMES_BYTES / 2 ||
	    strlen(name.text) > PROTOCOL_NAME_TEXT - APART)
		return 0;
	return append(n, &name, APART);
}

static void add_alone(uint64_t *sum, uint64_t value)
{
	__atomic_store_n(sum, __atomic_load_n(sum, __ATOMIC_RELAXED) + value, __ATOMIC_RELAXED);
}

void names_count_alone(struct names *n, uint32_t twin, const struct op_counts *counts)
{
	struct op_counts *sums = &((struct protocol_name *)names_entry(n, twin))->counts;

	add_alone(&sums->timeless, counts->timeless);
	add_alone(&sums->total_ns, counts->total_ns);
	add_alone(&sums->sum_ns, counts->sum_ns);
	add_alone(&sums->self_ns, counts->self_ns);
	add_alone(&sums->marks, counts->marks);
	add_alone(&sums->calls, counts->calls);
}
