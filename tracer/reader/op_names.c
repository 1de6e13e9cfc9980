// SPDX-License-Identifier: MIT
#include "tracer/reader/op_names.h"

#include "base/array.h"
#include "tracer/protocol.h"
#include "tracer/reader/owners.h"

#include <string.h>

#define CHAIN_MAX 3 // a name, its domain, its category: these have none

struct entry {
	bool told;
	uint64_t told_of; // calls and marks
};

struct op_names {
	const struct protocol_names *file;
	size_t size;
	struct owner_claim claim;
	struct entry *entries; // [id]
	size_t entry_count, entry_capacity;
};

// A copy that the target cannot change under our eyes.
struct name_copy {
	struct protocol_name head;
	char text[PROTOCOL_KERNEL_TEXT + 8];
	size_t length;
};

struct op_names *op_names_new(const void *memory, size_t size)
{
	const struct protocol_names *file = memory;

	if (size != PROTOCOL_NAMES_BYTES ||
	    __atomic_load_n(&file->magic, __ATOMIC_ACQUIRE) != PROTOCOL_NAMES_MAGIC ||
	    file->version != PROTOCOL_VERSION)
		return NULL;
	struct op_names *n = calloc(1, sizeof(*n));
	if (!n)
		return NULL;
	n->file = file;
	n->size = size;
	n->claim = (struct owner_claim){
		.pid = file->pid,
		.image_ns = file->image_ns,
		.namespaces = { file->pid_namespace, 0 }, // no times are in there
	};
	return n;
}

void op_names_free(struct op_names *n)
{
	if (!n)
		return;
	free(n->entries);
	free(n);
}

void op_names_claim(const struct op_names *n, struct owner_claim *claim)
{
	*claim = n->claim;
}

uint64_t op_names_refused(const struct op_names *n)
{
	return __atomic_load_n(&n->file->refused, __ATOMIC_RELAXED);
}

static bool copy_name(const struct op_names *n, uint32_t id, struct name_copy *copy)
{
	size_t at = (size_t)id * 8;

	if (at < sizeof(struct protocol_names) || at > n->size - sizeof(copy->head))
		return false;
	const struct protocol_name *entry =
		(const struct protocol_name *)((const char *)n->file + at);
	uint32_t bytes = __atomic_load_n(&entry->bytes, __ATOMIC_ACQUIRE);
	copy->head = *entry;
	copy->head.bytes = bytes;
	if (bytes <= sizeof(copy->head) || bytes % 8 || bytes > n->size - at ||
	    bytes - sizeof(copy->head) > sizeof(copy->text))
		return false;
	size_t room = bytes - sizeof(copy->head);
	memcpy(copy->text, entry + 1, room);
	copy->length = strnlen(copy->text, room);
	return copy->length < room;
}

static struct entry *entry_of(struct op_names *n, uint32_t id)
{
	if (!array_reserve(&n->entries, &n->entry_capacity, (size_t)id + 1))
		return NULL;
	if (id >= n->entry_count) {
		memset(n->entries + n->entry_count, 0,
		       (id + 1 - n->entry_count) * sizeof(*n->entries));
		n->entry_count = id + 1;
	}
	return &n->entries[id];
}

static void tell_one(const struct name_copy *copy, uint32_t id, const struct record *head,
                     op_names_visit *visit, void *context)
{
	union {
		struct record_op_name name;
		char bytes[sizeof(struct record_op_name) + sizeof(copy->text)];
	} record = { .name = {
			     .head = *head,
			     .name = id,
			     .domain = copy->head.domain,
			     .category = copy->head.category,
			     .provider = copy->head.provider,
		     } };

	record.name.head.type = RECORD_OP_NAME;
	record.name.head.flags = 0;
	record.name.head.size = (uint32_t)record_align(sizeof(record.name) + copy->length + 1);
	memcpy(&record.name + 1, copy->text, copy->length + 1);
	visit(context, &record.name.head);
}

static void tell(struct op_names *n, uint32_t id, const struct record *head, unsigned depth,
                 op_names_visit *visit, void *context)
{
	struct name_copy copy;
	struct entry *entry;

	if (id < n->entry_count && n->entries[id].told)
		return;
	if (!id || depth == CHAIN_MAX || !copy_name(n, id, &copy) || !(entry = entry_of(n, id)))
		return;
	entry->told = true;
	tell(n, copy.head.domain, head, depth + 1, visit, context);
	tell(n, copy.head.category, head, depth + 1, visit, context);
	tell_one(&copy, id, head, visit, context);
}

void op_names_tell(struct op_names *n, uint32_t id, const struct record *head,
                   op_names_visit *visit, void *context)
{
	tell(n, id, head, 0, visit, context);
}

static void tell_count(struct op_names *n, uint32_t id, const struct name_copy *copy, uint32_t pid,
                       uint64_t now_ns, op_names_visit *visit, void *context)
{
	struct record_op_count count = {
		.head = { sizeof(count), RECORD_OP_COUNT, 0, pid, pid, now_ns },
		.counts = copy->head.counts,
		.name = id,
	};
	struct entry *entry = entry_of(n, id);
	uint64_t all = count.counts.calls + count.counts.marks;

	if (!entry || entry->told_of == all)
		return;
	op_names_tell(n, id, &count.head, visit, context);
	n->entries[id].told_of = all;
	visit(context, &count.head);
}

void op_names_tell_counts(struct op_names *n, uint32_t pid, uint64_t now_ns, op_names_visit *visit,
                          void *context)
{
	struct name_copy copy;

	for (uint32_t id = sizeof(struct protocol_names) / 8; copy_name(n, id, &copy);
	     id += copy.head.bytes / 8)
		if (copy.head.counts.calls || copy.head.counts.marks)
			tell_count(n, id, &copy, pid, now_ns, visit, context);
}
