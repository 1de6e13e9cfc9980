// SPDX-License-Identifier: MIT
#include "tracer/agent/trace/trace_object.h"

#include "base/record.h"
#include "tracer/agent/agent.h"
#include "tracer/agent/loaded.h"
#include "tracer/agent/maps.h"
#include "tracer/agent/op/op.h"
#include "tracer/agent/system.h"
#include "tracer/agent/table.h"
#include "tracer/agent/trace/displace.h"
#include "tracer/agent/trace/intruders.h"
#include "tracer/agent/trace/object_file.h"
#include "tracer/agent/trace/pattern.h"
#include "tracer/agent/trace/shadow_stack.h"
#include "tracer/agent/trace/symbols.h"
#include "tracer/agent/trace/trace_calls.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

// Memory that a jump of 32 bits (2 GiB either way) reaches from all of an object: there stand the
// stubs of functions that --trace asks for. Any thread; not for handlers.

#ifndef MAP_FIXED_NOREPLACE
#define MAP_FIXED_NOREPLACE 0x100000
#endif

#define PAGE   ((uintptr_t)4096)
#define REACH  (UINT64_C(0x7fffffff) - ((uintptr_t)16 << 20)) // with room for mistakes
#define LOWEST ((uintptr_t)1 << 20)                           // the kernel keeps what lies below
#define APART  ((uintptr_t)1 << 20) // from a heap or a stack, which may grow
#define TRIES  8

struct search {
	uintptr_t start, end; // of the object
	size_t size;
	uintptr_t before; // where the mapping before ends
	uintptr_t below;  // only what lies below that is looked at
	uintptr_t found;  // the place nearest to the object; 0: none
};

static uintptr_t distance(const struct search *s, uintptr_t at)
{
	uintptr_t up = at + s->size > s->start ? at + s->size - s->start : s->start - at;
	uintptr_t down = s->end > at ? s->end - at : at - s->end;

	return up > down ? up : down;
}

// As high as can be in the gap below NEXT: heaps grow up from where it begins.
static void look(struct search *s, uintptr_t next, bool apart)
{
	uintptr_t top = next < s->below ? next : s->below;
	uintptr_t low = s->before > LOWEST ? s->before : LOWEST;

	if (apart)
		top = top > APART ? top - APART : 0;
	if (top < low || top - low < s->size)
		return;
	uintptr_t at = (top - s->size) & ~(PAGE - 1);
	// From far above, as near as the gap allows.
	if (at > s->end && at - s->end > REACH / 2 && low < s->end + REACH / 2)
		at = (s->end + REACH / 2) & ~(PAGE - 1);
	if (at < low || distance(s, at) > REACH)
		return;
	if (!s->found || distance(s, at) < distance(s, s->found))
		s->found = at;
}

static void visit(void *context, const struct map *map)
{
	struct search *s = context;

	look(s, map->start, strcmp(map->path, "[stack]") == 0);
	s->before = map->end;
}

// SIZE bytes (rounded up to pages), readable and writable, near [START, END). NULL if there is no
// room. The caller unmaps it.
static void *near_map(uintptr_t start, uintptr_t end, size_t size)
{
	struct search s = { .start = start, .end = end, .below = UINTPTR_MAX };

	s.size = (size + PAGE - 1) & ~(PAGE - 1);
	for (int i = 0; i < TRIES; i++) {
		s.before = s.found = 0;
		if (!maps_each(visit, &s) || !s.found)
			return NULL;
		// Not by mmap(), which counts what the program takes.
		void *memory =
			(void *)syscall(SYS_mmap, s.found, s.size, PROT_READ | PROT_WRITE,
		                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
		if (memory == (void *)s.found)
			return memory;
		// Taken meanwhile, or a kernel before 4.17, to which the address is but a wish.
		if (memory != MAP_FAILED)
			syscall(SYS_munmap, memory, s.size);
		s.below = s.found;
	}
	return NULL;
}

#ifdef __x86_64__

#define PAGE       ((uintptr_t)4096)
#define LINE       64u // of a cache: what lies in one is stored at once
#define STUB_ENTRY 11  // push $number; jmp *enter(%rip)
#define STUB_BYTES 112
#define ENTER      16 // bytes before the first stub: where trace_enter is
#define NAMES_STEP ((size_t)64 << 10)
#define HOOK_ROOM  16 // a function of the loader's is aligned so

_Static_assert(STUB_ENTRY + DISPLACE_BYTES <= STUB_BYTES, "a stub's room");

struct found {
	uint64_t address, size; // as the file has it
	const char *name;       // kept
	uint32_t number;        // in trace_functions
	uint8_t pattern;
	uint8_t reason; // enum patch_reason
	bool shared;    // with us
	uint8_t jump[DISPLACE_JUMP];
	uint32_t entry;
};

// NOLINTNEXTLINE(bugprone-reserved-identifier): the names are the linker's
extern const char __ehdr_start[] __attribute__((visibility("hidden")));

// One object at a time. What we stand in front of, we call for the program.
AGENT_TABLE static struct found found[TRACE_FUNCTIONS];
static uint32_t found_count, beyond[PATTERNS_MAX];
static bool of_libc;  // the object is libc
static uint32_t used; // of trace_functions, those that have ever been used
static char *names;   // room for names, that is never given back
static size_t names_left;

static const char *keep_name(const char *name)
{
	size_t size = strlen(name) + 1;

	if (size > names_left) {
		void *memory = mmap(NULL, NAMES_STEP, PROT_READ | PROT_WRITE,
		                    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (memory == MAP_FAILED)
			return NULL;
		names = memory;
		names_left = NAMES_STEP;
	}
	char *kept = memcpy(names, name, size);
	names += size;
	names_left -= size;
	return kept;
}

// Functions that cannot return by way of us: they return twice, take their return address for
// something else, or are called in ways of their own.
static const char *const special_names[] = {
	// without a caller
	"_start",
	"_init",
	"_fini",
	"_dl_relocate_static_pie",
	"__restore_rt",
	"__start_context",
	"clone",
	"__clone",
	"clone3",
	"__clone3",
	// change stacks, or leave them
	"longjmp",
	"_longjmp",
	"siglongjmp",
	"__longjmp",
	"__libc_longjmp",
	"__libc_siglongjmp",
	"__longjmp_chk",
	"____longjmp_chk",
	"setcontext",
	"swapcontext",
	"makecontext",
	"__morestack",
	// look for who called them
	"dlopen",
	"dlmopen",
	"dlsym",
	"dlvsym",
	"__libc_dlopen_mode",
	"__libc_dlsym",
	"__libc_dlvsym",
	"mcount",
	"_mcount",
	"__fentry__",
	// keep registers that others need not
	"__tls_get_addr",
	"__tls_get_addr_slow",
};

// In any part of the name; the last ones are greenlet's.
static const char *const special_parts[] = { "setjmp",     "getcontext", "savectx",      "vfork",
	                                     "slp_switch", "g_switch",   "g_initialstub" };

static const char *const special_prefixes[] = {
	"_Unwind_", "_dl_runtime_", "_dl_tlsdesc",    "__x86_",          "__llvm_retpoline",
	"__asan_",  "__hwasan_",    "__lsan_",        "__msan_",         "__tsan_",
	"__ubsan_", "__sanitizer_", "__interceptor_", "___interceptor_",
};

static bool is_special(const char *symbol)
{
	for (size_t i = 0; i < sizeof(special_names) / sizeof(special_names[0]); i++)
		if (strcmp(symbol, special_names[i]) == 0)
			return true;
	for (size_t i = 0; i < sizeof(special_parts) / sizeof(special_parts[0]); i++)
		if (strstr(symbol, special_parts[i]))
			return true;
	for (size_t i = 0; i < sizeof(special_prefixes) / sizeof(special_prefixes[0]); i++)
		if (strncmp(symbol, special_prefixes[i], strlen(special_prefixes[i])) == 0)
			return true;
	return false;
}

static struct found *find(uint64_t address)
{
	for (uint32_t i = found_count; i > 0; i--)
		if (found[i - 1].address == address)
			return &found[i - 1];
	return NULL;
}

static void add(const struct symbol *symbol, int pattern, const char *name)
{
	const struct loaded us = { (uintptr_t)__ehdr_start, _DYNAMIC, "" };

	if (find(symbol->address))
		return; // another name of the same
	if (found_count == TRACE_FUNCTIONS) {
		beyond[pattern]++;
		return;
	}
	const char *kept = keep_name(name);
	if (!kept)
		return;
	found[found_count++] = (struct found){
		.address = symbol->address,
		.size = symbol->size,
		.name = kept,
		.pattern = (uint8_t)pattern,
		.reason = is_special(symbol->name) ? PATCH_SPECIAL : PATCH_DONE,
		.shared = of_libc && !loaded_define(&us, symbol->name),
	};
}

static void search(const struct trace_patcher *p, const struct symbols *symbols, const char *path)
{
	char name[PATTERN_NAME_BYTES];
	struct symbol symbol;

	found_count = 0;
	memset(beyond, 0, sizeof(beyond));
	for (size_t i = 0; i < symbols->count; i++) {
		if (!symbols_function(symbols, i, &symbol))
			continue;
		int pattern = patterns_match(p->patterns, path, symbol.name, name);
		if (pattern >= 0)
			add(&symbol, pattern, name);
	}
}

// One that a library that is gone had is used again. 0 if there are none.
static uint32_t take_number(void)
{
	for (uint32_t i = 1; i <= used; i++)
		if (!trace_functions[i].body)
			return i;
	return used < TRACE_FUNCTIONS ? ++used : 0;
}

static void fill_stub(uint8_t *stub, const uint8_t *enter, uint32_t number)
{
	int32_t distance = (int32_t)(enter - (stub + STUB_ENTRY));

	stub[0] = 0x68; // push
	memcpy(stub + 1, &number, 4);
	stub[5] = 0xff; // jmp *
	stub[6] = 0x25;
	memcpy(stub + 7, &distance, 4);
}

static void fill_jump(struct found *f, uint64_t from, const uint8_t *stub)
{
	int32_t distance = (int32_t)((uint64_t)stub - (from + DISPLACE_JUMP));

	f->jump[0] = 0xe9;
	memcpy(f->jump + 1, &distance, 4);
}

struct patching {
	const struct trace_patcher *patcher;
	const struct dl_phdr_info *info;
	struct symbols symbols;
	struct object_file file; // of the object itself
	uint8_t *stubs;
	uint32_t stub_count;
};

// What lies between its end and the next function is padding, if it looks like it.
static size_t room_of(const struct patching *p, const struct found *f)
{
	uint64_t next = symbols_next(&p->symbols, f->address);
	size_t room = next - f->address < 2 * PAGE ? next - f->address : f->size;

	if (f->size >= HOOK_ROOM || room < f->size)
		return f->size;
	return symbols_code(p->file.bytes, p->file.size, f->address, room) ? room : f->size;
}

static struct displace_function function_of(const struct patching *p, const struct found *f)
{
	return (struct displace_function){
		.code = (const uint8_t *)(p->info->dlpi_addr + f->address),
		.address = p->info->dlpi_addr + f->address,
		.size = f->size,
		.room = f->size < HOOK_ROOM ? room_of(p, f) : f->size,
		.shadowed = shadow_stack_is_on(),
	};
}

static bool is_as_in_file(const struct patching *p, const struct found *f)
{
	const uint8_t *code = symbols_code(p->file.bytes, p->file.size, f->address, f->size);

	return code && memcmp(code, (const void *)(p->info->dlpi_addr + f->address), f->size) == 0;
}

static enum patch_reason prepare(struct patching *p, struct found *f, struct displace *d)
{
	struct displace_function function = function_of(p, f);
	uint8_t *stub = p->stubs + ENTER + (size_t)p->stub_count * STUB_BYTES;

	if (!f->size)
		return PATCH_UNKNOWN;
	if (!is_as_in_file(p, f))
		return PATCH_CHANGED;
	enum patch_reason reason = displace(&function, (uint64_t)stub + STUB_ENTRY, d);
	if (reason != PATCH_DONE)
		return reason;
	uint64_t at = function.address + d->entry;
	if (!p->patcher->safe && (!d->whole || at % LINE + 8 > LINE))
		return PATCH_BUSY;
	if (!(f->number = take_number()))
		return PATCH_MANY;
	p->stub_count++;
	fill_stub(stub, p->stubs, f->number);
	memcpy(stub + STUB_ENTRY, d->code, d->size);
	fill_jump(f, at, stub);
	f->entry = d->entry;
	trace_functions[f->number] = (struct trace_function){ .body = stub + STUB_ENTRY,
		                                              .name = f->name,
		                                              .shared = f->shared };
	return PATCH_DONE;
}

// What is displaced of each, where nothing stands against it so far.
static void measure(const struct patching *p, struct intruded *list)
{
	for (uint32_t i = 0; i < found_count; i++) {
		const struct found *f = &found[i];
		struct displace_function function = function_of(p, f);
		struct displace d = { 0 };
		list[i] = (struct intruded){ .address = f->address, .size = f->size };
		if (f->reason != PATCH_DONE || !is_as_in_file(p, f) ||
		    displace(&function, function.address, &d) != PATCH_DONE)
			continue;
		list[i].entry = d.entry;
		list[i].length = d.length;
	}
}

static void leave_intruded(const struct patching *p)
{
	AGENT_TABLE static struct intruded list[TRACE_FUNCTIONS];

	measure(p, list);
	for (int i = 0; i < p->info->dlpi_phnum; i++) {
		const ElfW(Phdr) *segment = &p->info->dlpi_phdr[i];
		if (segment->p_type != PT_LOAD ||
		    (segment->p_flags & (PF_X | PF_R)) != (PF_X | PF_R))
			continue;
		struct intruder_code code = {
			.bytes = (const uint8_t *)(p->info->dlpi_addr + segment->p_vaddr),
			.address = segment->p_vaddr,
			.size = segment->p_filesz,
		};
		intruders_find(&code, &p->symbols, list, found_count);
	}
	for (uint32_t i = 0; i < found_count; i++)
		if (list[i].intruded)
			found[i].reason = PATCH_LOOPS;
}

static void add_rows(struct patch_row *rows, const struct displace *d)
{
	rows[0] = (struct patch_row){ 0, (uint16_t)d->entry, 0, 0 };
	rows[1] = (struct patch_row){ 5, (uint16_t)d->entry, 8, 0 }; // behind the push
	for (uint32_t i = 0; i < d->row_count; i++) {
		rows[2 + i] = d->rows[i];
		rows[2 + i].at = (uint16_t)(rows[2 + i].at + STUB_ENTRY);
	}
}

static bool tell(const struct patching *p, const struct found *f, const struct displace *d,
                 enum patch_reason reason, uint32_t size)
{
	bool done = reason == PATCH_DONE;
	uint32_t rows = done ? d->row_count + 2 : 0;
	size_t name_bytes = strlen(f->name) + 1;
	size_t bytes = record_align(sizeof(struct record_patch) + rows * sizeof(struct patch_row) +
	                            name_bytes);
	struct lane *lane = op_take_lane();
	struct record_patch *record = lane ? (struct record_patch *)agent_reserve(
						     p->patcher->agent, lane, RECORD_PATCH, bytes)
	                                   : NULL;

	if (record) {
		record->function = p->info->dlpi_addr + f->address;
		record->start = done ? (uint64_t)trace_functions[f->number].body - STUB_ENTRY : 0;
		record->slots = (uint64_t)trace_slots;
		record->slots_size = TRACE_SLOTS_BYTES;
		record->size = size;
		record->row_count = (uint16_t)rows;
		record->pattern = f->pattern;
		record->reason = (uint8_t)reason;
		struct patch_row *row = (struct patch_row *)(record + 1);
		if (done)
			add_rows(row, d);
		memcpy(row + rows, f->name, name_bytes);
		lane_commit(lane, &record->head, bytes);
	}
	if (lane)
		op_give_lane();
	return record != NULL;
}

static void free_number(struct found *f)
{
	trace_functions[f->number].body = NULL;
	f->number = 0;
}

// Who hears of it knows where the function is before it is there.
static void prepare_all(struct patching *p)
{
	for (uint32_t i = 0; i < found_count; i++) {
		struct found *f = &found[i];
		struct displace d = { 0 };
		if (f->reason == PATCH_DONE)
			f->reason = (uint8_t)prepare(p, f, &d);
		if (f->reason == PATCH_DONE)
			memcpy(p->stubs, &(const void *){ trace_enter }, sizeof(void *));
		uint32_t size = STUB_ENTRY + (uint32_t)d.size;
		if (!tell(p, f, &d, f->reason, size) && f->number)
			free_number(f);
	}
	for (uint8_t i = 0; i < PATTERNS_MAX; i++)
		if (beyond[i])
			tell(p, &(struct found){ .name = "", .pattern = i }, NULL, PATCH_MANY,
			     beyond[i]);
}

static void store(uint8_t *at, const uint8_t jump[DISPLACE_JUMP])
{
	uint64_t word;

	if ((uintptr_t)at % LINE + sizeof(word) > LINE) {
		memcpy(at, jump, DISPLACE_JUMP);
		return;
	}
	memcpy(&word, at, sizeof(word));
	memcpy(&word, jump, DISPLACE_JUMP);
	__asm__ volatile("movq %1, %0" : "=m"(*(uint64_t *)(void *)at) : "r"(word) : "memory");
}

static bool segment_of(const struct dl_phdr_info *info, uintptr_t address, uintptr_t *start,
                       size_t *size)
{
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];
		uintptr_t low = info->dlpi_addr + p->p_vaddr;
		if (p->p_type != PT_LOAD || address - low >= p->p_memsz)
			continue;
		*start = low & ~(PAGE - 1);
		*size = low + p->p_memsz - *start;
		return (p->p_flags & (PF_X | PF_R)) == (PF_X | PF_R);
	}
	return false;
}

static bool is_in(const struct found *f, uintptr_t base, uintptr_t start, size_t size)
{
	return f->number && base + f->address - start < size;
}

static void write_jumps(const struct patching *p, uintptr_t start, size_t size)
{
	const int executable = PROT_READ | PROT_EXEC;
	uintptr_t base = p->info->dlpi_addr;
	bool open = mprotect((void *)start, size, executable | PROT_WRITE) == 0;

	for (uint32_t i = 0; i < found_count; i++) {
		struct found *f = &found[i];
		if (!is_in(f, base, start, size))
			continue;
		if (open) {
			store((uint8_t *)(base + f->address + f->entry), f->jump);
			f->number = 0; // seen to
			continue;
		}
		free_number(f);
		tell(p, f, NULL, PATCH_LOCKED, 0);
	}
	if (open)
		mprotect((void *)start, size, executable);
}

static void write_all(const struct patching *p)
{
	uintptr_t start;
	size_t size;

	for (uint32_t i = 0; i < found_count; i++) {
		struct found *f = &found[i];
		if (!f->number)
			continue;
		if (segment_of(p->info, p->info->dlpi_addr + f->address, &start, &size)) {
			write_jumps(p, start, size);
		} else {
			free_number(f);
			tell(p, f, NULL, PATCH_LOCKED, 0);
		}
	}
}

static void refuse_all(const struct patching *p, enum patch_reason reason)
{
	for (uint32_t i = 0; i < found_count; i++)
		tell(p, &found[i], NULL, reason, 0);
}

static void patch_found(struct patching *p, struct trace_object *object)
{
	size_t bytes = ENTER + (size_t)found_count * STUB_BYTES;

	if (!found_count)
		return;
	p->stubs = near_map(object->start, object->end, bytes);
	if (!p->stubs) {
		refuse_all(p, PATCH_FAR);
		return;
	}
	object->stubs = p->stubs;
	object->stub_bytes = bytes;
	leave_intruded(p);
	prepare_all(p);
	if (mprotect(p->stubs, bytes, PROT_READ | PROT_EXEC) == 0) {
		write_all(p);
		return;
	}
	for (uint32_t i = 0; i < found_count; i++)
		if (found[i].number)
			free_number(&found[i]);
	refuse_all(p, PATCH_LOCKED);
}

void trace_object_patch(const struct trace_patcher *patcher, const struct dl_phdr_info *info,
                        const char *path, struct trace_object *object)
{
	struct patching p = { .patcher = patcher, .info = info, .file = object_file_map(path) };
	struct object_file debug = { NULL, 0 };
	struct symbols of_debug;
	char debug_file[256];

	of_libc = loaded_holds(info, (uintptr_t)&getpid);
	if (!p.file.bytes || object_file_is_go(&p.file)) {
		object_file_unmap(&p.file);
		return;
	}
	bool known = symbols_open(&p.symbols, p.file.bytes, p.file.size);
	if (!(known && p.symbols.all) &&
	    object_file_debug_path(info, debug_file, sizeof(debug_file))) {
		debug = object_file_map(debug_file);
		if (debug.bytes && symbols_open(&of_debug, debug.bytes, debug.size) &&
		    of_debug.all) {
			p.symbols = of_debug;
			known = true;
		}
	}
	if (known) {
		search(patcher, &p.symbols, path);
		patch_found(&p, object);
	}
	object_file_unmap(&debug);
	object_file_unmap(&p.file);
}

void trace_object_forget(struct trace_object *object)
{
	const uint8_t *stubs = object->stubs;

	if (!stubs)
		return;
	for (uint32_t i = 1; i <= used; i++)
		if ((uintptr_t)trace_functions[i].body - (uintptr_t)stubs < object->stub_bytes)
			trace_functions[i].body = NULL;
	syscall(SYS_munmap, object->stubs, object->stub_bytes);
	object->stubs = NULL;
}

bool trace_object_hook(const struct dl_phdr_info *info, uintptr_t address)
{
	const uint8_t *code = (const uint8_t *)address;
	struct displace_function f = { .code = code,
		                       .address = address,
		                       .room = HOOK_ROOM,
		                       .shadowed = shadow_stack_is_on() };
	struct found hook = { .address = address };
	struct displace d;
	uintptr_t start;
	size_t size;

	// All that it does is to return.
	while (f.size < HOOK_ROOM && code[f.size] != 0xc3)
		f.size++;
	f.size++;
	if (!segment_of(info, address, &start, &size))
		return false;
	uint8_t *stubs = near_map(start, start + size, ENTER + STUB_BYTES);
	if (!stubs)
		return false;
	memcpy(stubs, &(const void *){ trace_enter }, sizeof(void *));
	uint8_t *stub = stubs + ENTER;
	bool done = displace(&f, (uint64_t)stub + STUB_ENTRY, &d) == PATCH_DONE;
	if (done) {
		fill_stub(stub, stubs, 0);
		memcpy(stub + STUB_ENTRY, d.code, d.size);
		fill_jump(&hook, address + d.entry, stub);
		done = mprotect(stubs, ENTER + STUB_BYTES, PROT_READ | PROT_EXEC) == 0 &&
		       mprotect((void *)start, size, PROT_READ | PROT_WRITE | PROT_EXEC) == 0;
	}
	if (!done) {
		syscall(SYS_munmap, stubs, ENTER + STUB_BYTES);
		return false;
	}
	trace_functions[0].body = stub + STUB_ENTRY;
	store((uint8_t *)address + d.entry, hook.jump);
	mprotect((void *)start, size, PROT_READ | PROT_EXEC);
	return true;
}

#endif
