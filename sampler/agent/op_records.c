// SPDX-License-Identifier: MIT
#include "sampler/agent/op_records.h"

#include "base/array.h"
#include "base/hash.h"
#include "base/record_gpu.h"

#include <stdio.h>
#include <string.h>

#define STALLS_MAX 128

struct known {
	uint32_t pid, name;
	uint64_t image_ns;
	uint32_t op;             /* id; 0: the entry is free */
	struct op_counts counts; /* of RECORD_OP_COUNT, as told so far */
};

struct op_records {
	struct ops *ops;
	struct known *known; /* [id - 1] of the index */
	size_t count, capacity;
	struct hash index;
	uint64_t nameless;
	struct gpu_pc_stall stalls[STALLS_MAX]; /* of the last RECORD_GPU_PC */
	char notes[1024];
};

struct op_records *op_records_new(struct ops *ops)
{
	struct op_records *r = calloc(1, sizeof(*r));

	if (!r || !hash_init(&r->index, 64)) {
		free(r);
		return NULL;
	}
	r->ops = ops;
	return r;
}

void op_records_free(struct op_records *r)
{
	if (!r)
		return;
	free(r->known);
	hash_fini(&r->index);
	free(r);
}

static uint64_t hash_of(uint32_t pid, uint64_t image_ns, uint32_t name)
{
	return hash_pair((uint64_t)pid << 32 | name, image_ns);
}

// The slot of the name, or the free one where it belongs.
static uint32_t slot_of(const struct op_records *r, uint32_t pid, uint64_t image_ns, uint32_t name)
{
	uint32_t at;

	for (at = hash_start(&r->index, hash_of(pid, image_ns, name)); r->index.slots[at];
	     at = hash_next(&r->index, at)) {
		const struct known *known = &r->known[r->index.slots[at] - 1];
		if (known->pid == pid && known->name == name && known->image_ns == image_ns)
			break;
	}
	return at;
}

static struct known *find(const struct op_records *r, uint32_t pid, uint64_t image_ns,
                          uint32_t name)
{
	uint32_t id = r->index.slots[slot_of(r, pid, image_ns, name)];

	return id ? &r->known[id - 1] : NULL;
}

static const char *text_of(const struct op_records *r, const struct record *record,
                           uint64_t image_ns, uint32_t name)
{
	const struct known *known = name ? find(r, record->pid, image_ns, name) : NULL;
	const struct op *op = known ? ops_get(r->ops, known->op) : NULL;

	return op ? op->name : "";
}

static void learn(struct op_records *r, const struct record_op_name *name, uint64_t image_ns)
{
	uint32_t pid = name->head.pid;
	struct op wanted = {
		.provider = name->provider,
		.domain = text_of(r, &name->head, image_ns, name->domain),
		.category = text_of(r, &name->head, image_ns, name->category),
		.name = (const char *)(name + 1),
	};

	if (find(r, pid, image_ns, name->name) || !hash_make_room(&r->index) ||
	    !array_reserve(&r->known, &r->capacity, r->count + 1))
		return;
	const struct op *op = ops_add(r->ops, &wanted);
	if (!op)
		return;
	r->known[r->count++] = (struct known){
		.pid = pid, .name = name->name, .image_ns = image_ns, .op = op->id
	};
	hash_insert(&r->index, slot_of(r, pid, image_ns, name->name),
	            hash_of(pid, image_ns, name->name), (uint32_t)r->count);
}

// Entries keep their places only while nothing is dropped: what stays is put in anew.
void op_records_forget(struct op_records *r, uint32_t pid)
{
	size_t kept = 0;

	for (size_t i = 0; i < r->count; i++)
		if (r->known[i].pid != pid)
			r->known[kept++] = r->known[i];
	if (kept == r->count)
		return;
	r->count = kept;
	hash_clear(&r->index);
	for (size_t i = 0; i < kept; i++) {
		const struct known *known = &r->known[i];
		uint32_t at = slot_of(r, known->pid, known->image_ns, known->name);
		hash_insert(&r->index, at, hash_of(known->pid, known->image_ns, known->name),
		            (uint32_t)i + 1);
	}
}

uint64_t op_records_nameless(const struct op_records *r)
{
	return r->nameless;
}

static uint32_t op_of(struct op_records *r, const struct record *record, uint64_t image_ns,
                      uint32_t name)
{
	const struct known *known = find(r, record->pid, image_ns, name);

	r->nameless += !known;
	return known ? known->op : 0;
}

static bool is_call(const struct op *op)
{
	const struct provider *provider = provider_get(op->provider);

	return provider && provider->is_call;
}

static void drop_detail(struct event_op *op, uint16_t what)
{
	op->details++;
	op->detail &= (uint16_t)~what;
	if (!--op->detail_count)
		op->detail = OP_DETAIL_NONE;
}

static void take_weight(struct event_op *op)
{
	op->weight = 1;
	if (!(op->detail & OP_DETAIL_WEIGHT) || !op->detail_count)
		return;
	uint64_t word = op->details[0];
	op->weight = (double)(uint32_t)word / OP_WEIGHT_ONE;
	op->window = (uint32_t)(word >> 32);
	if (op->weight < 1 || !op->window)
		op->weight = 1;
	drop_detail(op, OP_DETAIL_WEIGHT);
}

// What is called is of one kind whoever calls it.
static void take_callers(struct event_op *op)
{
	op->python = (op->detail & OP_DETAIL_PYTHON) != 0;
	op->detail &= (uint16_t)~OP_DETAIL_PYTHON;
	if (!(op->detail & OP_DETAIL_CALLED) || !op->detail_count)
		return;
	op->chain = (uint32_t)op->details[0];
	op->forward = (uint32_t)(op->details[0] >> 32);
	drop_detail(op, OP_DETAIL_CALLED);
}

// It says which call this is, not what it is on.
static void take_correlation(struct event_op *op)
{
	if (op->detail != OP_DETAIL_CORRELATION)
		return;
	op->correlation = op->detail_count ? (uint32_t)op->details[0] : 0;
	op->detail_count = 0;
}

// Copies and sets wait unless they are called otherwise.
static bool waits(const struct op *op)
{
	if (op->provider != OP_CUDA)
		return false;
	return strstr(op->name, "Synchronize") ||
	       ((strstr(op->name, "Memcpy") || strstr(op->name, "Memset")) &&
	        !strstr(op->name, "Async"));
}

static bool take_begin(struct op_records *r, const struct record_op_begin *begin, uint64_t image_ns,
                       struct event *event)
{
	event->op = (struct event_op){
		.op = op_of(r, &begin->head, image_ns, begin->name),
		.flags = begin->head.flags,
		.stack = begin->stack,
		.caller = begin->caller,
		.detail = begin->detail,
		.detail_count = begin->detail_count,
		.details = (const uint64_t *)(begin + 1),
	};
	const struct op *op = ops_get(r->ops, event->op.op);
	if (!op)
		return false;
	take_weight(&event->op);
	take_callers(&event->op);
	take_correlation(&event->op);
	event->op.domain = op->domain_id;
	event->op.call = is_call(op) && !event->op.python;
	event->op.waits = waits(op);
	event->op.told = event->op.call && op->provider == OP_TRACE;
	event->op.forwards = op->provider == OP_TORCH;
	return true;
}

static bool take_end(struct op_records *r, const struct record_op_end *end, uint64_t image_ns,
                     struct event *event)
{
	event->op_end = (struct event_op_end){
		.op = op_of(r, &end->head, image_ns, end->name),
		.flags = end->head.flags,
		.begin_tid = end->begin_tid,
		.begin_ns = end->begin_ns,
		.self_ns = end->self_ns,
		.allocated_bytes = end->allocated_bytes,
		.freed_bytes = end->freed_bytes,
		.self_allocated_bytes = end->self_allocated_bytes,
		.self_freed_bytes = end->self_freed_bytes,
	};
	if (end->head.flags & OP_ON_DEVICES)
		event->op_end.devices = *(const struct op_device_bytes *)(end + 1);
	return event->op_end.op != 0;
}

static bool take_site(struct op_records *r, const struct record_op_site *site, uint64_t image_ns,
                      struct event *event)
{
	event->op_site.op = op_of(r, &site->head, image_ns, site->name);
	const struct op *op = ops_get(r->ops, event->op_site.op);
	event->op_site.cuda = op && op->provider == OP_CUDA;
	event->op_site.stack = site->stack;
	event->op_site.caller = site->caller;
	event->op_site.at = (struct event_sample){
		.has_user = true,
		.has_rbp = true,
		.stack = (const uint8_t *)(site + 1),
		.stack_bytes = site->stack_bytes,
		.syscall = -1,
	};
	memcpy(event->op_site.at.regs, site->regs, sizeof(site->regs));
	return true;
}

static uint64_t all_of(const struct op_counts *counts)
{
	return counts->calls + counts->marks;
}

static struct op_counts since(const struct op_counts *now, const struct op_counts *before)
{
	return (struct op_counts){
		.calls = now->calls - before->calls,
		.timeless = now->timeless - before->timeless,
		.marks = now->marks - before->marks,
		.total_ns = now->total_ns - before->total_ns,
		.sum_ns = now->sum_ns - before->sum_ns,
		.self_ns = now->self_ns - before->self_ns,
	};
}

// Counts come as they stand; what has come since is told.
static bool take_count(struct op_records *r, const struct record_op_count *count, uint64_t image_ns,
                       struct event *event)
{
	struct known *known = find(r, count->head.pid, image_ns, count->name);

	if (!known || all_of(&count->counts) <= all_of(&known->counts))
		return false;
	event->op_count = (struct event_op_count){
		.op = known->op,
		.counts = since(&count->counts, &known->counts),
	};
	known->counts = count->counts;
	return true;
}

static bool take_alloc(const struct record_alloc *alloc, struct event *event)
{
	event->alloc.address = alloc->address;
	event->alloc.bytes = alloc->bytes;
	event->alloc.weight_bytes = alloc->weight_bytes;
	event->alloc.untracked = (alloc->head.flags & ALLOC_UNTRACKED) != 0;
	event->alloc.at = (struct event_sample){
		.has_user = true,
		.has_rbp = true,
		.stack = (const uint8_t *)(alloc + 1),
		.stack_bytes = alloc->stack_bytes,
		.syscall = -1,
		.python = alloc->head.flags & ALLOC_PYTHON
		                  ? (const struct python_chain *)((const char *)(alloc + 1) +
		                                                  record_align(alloc->stack_bytes))
		                  : NULL,
	};
	memcpy(event->alloc.at.regs, alloc->regs, sizeof(alloc->regs));
	return true;
}

static bool take_memory(const struct record_memory *memory, struct event *event)
{
	event->memory = (struct event_memory){
		.allocations = memory->allocations,
		.frees = memory->frees,
		.allocated_bytes = memory->allocated_bytes,
		.freed_bytes = memory->freed_bytes,
		.allocations_variance = memory->allocations_variance,
		.bytes_variance = memory->bytes_variance,
	};
	return true;
}

static bool take_patch(const struct record_patch *patch, struct event *event)
{
	const struct patch_row *rows = (const struct patch_row *)(patch + 1);

	event->patch = (struct event_patch){
		.function = patch->function,
		.start = patch->start,
		.slots = patch->slots,
		.slots_size = patch->slots_size,
		.size = patch->size,
		.row_count = patch->row_count,
		.pattern = patch->pattern,
		.reason = (enum patch_reason)patch->reason,
		.rows = rows,
		.name = (const char *)(rows + patch->row_count),
	};
	return true;
}

static bool take_wait(const struct record_wait *wait, struct event *event)
{
	event->wait = (struct event_wait){
		.kind = wait->kind,
		.flags = wait->head.flags,
		.begin_ns = wait->begin_ns,
		.address = wait->address,
		.made_at = wait->made_at,
		.count = wait->count,
		.parts = (const struct wait_part *)(wait + 1),
	};
	return true;
}

// What stands for an activity that has no name of its own.
static uint32_t op_called(struct op_records *r, const char *kind, const char *name)
{
	struct op wanted = { .provider = OP_GPU, .domain = kind, .category = "", .name = name };
	const struct op *op = ops_add(r->ops, &wanted);

	return op ? op->id : 0;
}

static const char *memory_name(uint8_t kind)
{
	static const char *const names[] = {
		[GPU_MEMORY_UNKNOWN] = "memory",       [GPU_MEMORY_PAGEABLE] = "pageable",
		[GPU_MEMORY_PINNED] = "pinned",        [GPU_MEMORY_DEVICE] = "device",
		[GPU_MEMORY_ARRAY] = "array",          [GPU_MEMORY_MANAGED] = "managed",
		[GPU_MEMORY_DEVICE_STATIC] = "device", [GPU_MEMORY_MANAGED_STATIC] = "managed",
	};

	return names[kind < sizeof(names) / sizeof(names[0]) ? kind : GPU_MEMORY_UNKNOWN];
}

static uint32_t op_of_copy(struct op_records *r, const struct record_gpu_copy *copy)
{
	char name[64];

	snprintf(name, sizeof(name), "copy %s to %s%s", memory_name(copy->from),
	         memory_name(copy->to), copy->kind == GPU_COPY_PEER ? " of another GPU" : "");
	return op_called(r, "copy", name);
}

static uint32_t op_of_gpu(struct op_records *r, const struct record *record, uint64_t image_ns)
{
	uint32_t name;

	switch (record->type) {
	case RECORD_GPU_KERNEL:
		name = ((const struct record_gpu_kernel *)record)->name;
		name = name ? op_of(r, record, image_ns, name) : 0;
		return name ? name : op_called(r, "", "[kernel without a name]");
	case RECORD_GPU_COPY:
		return op_of_copy(r, (const struct record_gpu_copy *)record);
	case RECORD_GPU_SET:
		return op_called(r, "set", "set memory");
	case RECORD_GPU_GRAPH:
		return op_called(r, "graph", "CUDA graph");
	default:
		return 0;
	}
}

static bool take_gpu(struct op_records *r, const struct record *record, uint64_t image_ns,
                     struct event *event)
{
	event->gpu = (struct event_gpu){ .op = op_of_gpu(r, record, image_ns), .record = record };
	return true;
}

static bool take_pc(struct op_records *r, const struct record_gpu_pc *pc, uint64_t image_ns,
                    struct event *event)
{
	const struct gpu_stall *stalls = (const struct gpu_stall *)(pc + 1);
	uint32_t count = pc->stall_count < STALLS_MAX ? pc->stall_count : STALLS_MAX;

	for (uint32_t i = 0; i < count; i++)
		r->stalls[i] =
			(struct gpu_pc_stall){ text_of(r, &pc->head, image_ns, stalls[i].reason),
			                       stalls[i].samples };
	event->gpu_pc = (struct gpu_pc_event){
		.cubin_crc = pc->cubin_crc,
		.offset = pc->offset,
		.function = text_of(r, &pc->head, image_ns, pc->function),
		.stall_count = count,
		.stalls = r->stalls,
	};
	return true;
}

static bool take_pc_sum(const struct record_gpu_pc_sum *sum, struct event *event)
{
	event->gpu_pc_sum = (struct gpu_pc_sum_event){ sum->samples, sum->dropped, sum->other };
	return true;
}

// Whether one of the lines of NOTES is TEXT.
static bool is_noted(const char *notes, const char *text)
{
	size_t length = strlen(text);

	for (const char *at = notes; (at = strstr(at, text)); at++)
		if ((at == notes || at[-1] == '\n') && (at[length] == '\n' || !at[length]))
			return true;
	return false;
}

static void keep_note(struct op_records *r, const struct record_note *note)
{
	const char *text = (const char *)(note + 1);
	size_t used = strlen(r->notes);

	if (*text && !is_noted(r->notes, text) && used + strlen(text) + 2 <= sizeof(r->notes))
		snprintf(r->notes + used, sizeof(r->notes) - used, "%s%s", used ? "\n" : "", text);
}

bool op_records_take(struct op_records *r, const struct record *record, uint64_t image_ns,
                     struct event *event)
{
	event->type = record->type;
	event->given = false;
	event->pid = record->pid;
	event->tid = record->tid;
	event->time_ns = record->time_ns;
	switch (record->type) {
	case RECORD_OP_NAME:
		learn(r, (const struct record_op_name *)record, image_ns);
		return false;
	case RECORD_THREAD:
		event->given = (record->flags & THREAD_GIVEN) != 0;
		event->name = (const char *)((const struct record_name *)record + 1);
		return event->given; // comm comes from those who take the samples
	case RECORD_OP_BEGIN:
	case RECORD_OP_MARK:
		return take_begin(r, (const struct record_op_begin *)record, image_ns, event);
	case RECORD_OP_END:
		return take_end(r, (const struct record_op_end *)record, image_ns, event);
	case RECORD_OP_SITE:
		return take_site(r, (const struct record_op_site *)record, image_ns, event);
	case RECORD_OP_COUNT:
		return take_count(r, (const struct record_op_count *)record, image_ns, event);
	case RECORD_ALLOC:
		return take_alloc((const struct record_alloc *)record, event);
	case RECORD_FREE:
		event->freed = ((const struct record_free *)record)->address;
		return true;
	case RECORD_MEMORY:
		return take_memory((const struct record_memory *)record, event);
	case RECORD_BIRTH:
		event->birth = ((const struct record_birth *)record)->start;
		return true;
	case RECORD_WAIT:
		return take_wait((const struct record_wait *)record, event);
	case RECORD_PATCH:
		return take_patch((const struct record_patch *)record, event);
	case RECORD_GPU_KERNEL ... RECORD_GPU_GAP:
	case RECORD_GPU_MANAGED:
		return take_gpu(r, record, image_ns, event);
	case RECORD_GPU_PC:
		return take_pc(r, (const struct record_gpu_pc *)record, image_ns, event);
	case RECORD_GPU_PC_SUM:
		return take_pc_sum((const struct record_gpu_pc_sum *)record, event);
	case RECORD_NOTE:
		keep_note(r, (const struct record_note *)record);
		return false;
	default:
		return false;
	}
}

const char *op_records_note(const struct op_records *r)
{
	return r->notes;
}
