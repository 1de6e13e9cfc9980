// SPDX-License-Identifier: MIT
#include "tracer/agent/wrap/late.h"

#include "base/hash.h"
#include "tracer/agent/loaded.h"
#include "tracer/agent/loader.h"
#include "tracer/agent/maps.h"
#include "tracer/agent/op/definition.h"
#include "tracer/agent/op/detour.h"
#include "tracer/agent/op/op.h"
#include "tracer/agent/table.h"
#include "tracer/agent/wrap/wrap.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#ifdef __x86_64__

#define FUNCTIONS 128
#define HASHES    1024  // a power of two
#define UNBOUND   16384 // the same: places that were not bound
#define SPANS     16384

// NOLINTBEGIN(bugprone-reserved-identifier): the names are the linker's and libc's
extern const char __ehdr_start[] __attribute__((visibility("hidden")));
extern const char *gnu_get_libc_version(void) __attribute__((weak));
// NOLINTNEXTLINE(readability-redundant-declaration): weak here
extern struct r_debug _r_debug __attribute__((weak));
// NOLINTEND(bugprone-reserved-identifier)

static struct function {
	const char *name;
	uint64_t ours, real;
	uint32_t definers; // objects that define it
	bool wanted;       // this time
} functions[FUNCTIONS];
static uint32_t function_count;
static uint8_t by_hash[HASHES]; // number and 1
_Static_assert(FUNCTIONS <= UINT8_MAX, "by_hash");

// What the loader was going to bind: to be put back.
AGENT_TABLE static struct unbound {
	uint64_t *place;
	uint64_t value; // 0: it was bound since
} unbound[UNBOUND];
static uint32_t unbound_count;

// Mappings of files, which all places lie in, as they were at the last look, in order.
AGENT_TABLE static struct span {
	uint64_t start, end;
	uint32_t protection;
} spans[SPANS];
static uint32_t span_count;

static bool begun;  // the agent has joined a process, and was loaded for that
static bool active; // atomic: new objects are looked for

// What the loader had counted at the last look: changed under its locks.
static struct {
	uint64_t adds, subs;
	uint32_t seen; // objects, in its order
} last;

// One way through the objects.
struct walk {
	bool back;  // binds as it was
	bool stubs; // routines of libraries, too
	uint32_t from, count;
	uint64_t adds, subs;
	uint32_t strange, failed; // objects and places that stay as they are
	struct dl_phdr_info *info;
	struct loaded_span program;
	uint64_t page; // that is writable meanwhile; 0: none
	uint32_t page_protection;
};

static uint32_t hash_of(const char *name)
{
	uint32_t hash = 5381;

	for (const char *c = name; *c; c++)
		hash = hash * 33 + (unsigned char)*c;
	return hash;
}

// The entry of NAME, or the one where it belongs.
static uint8_t *entry_of(const char *name)
{
	uint32_t at = hash_of(name) % HASHES;

	while (by_hash[at] && strcmp(functions[by_hash[at] - 1].name, name) != 0)
		at = (at + 1) % HASHES;
	return &by_hash[at];
}

static struct function *find(const char *name)
{
	uint8_t number = *entry_of(name);

	return number ? &functions[number - 1] : NULL;
}

struct finder {
	const char *name;
	void *found;
};

static bool is_of_libc(const struct dl_phdr_info *info, const struct loaded *object)
{
	const char *name = loaded_name(object);

	return loaded_holds(info, (uintptr_t)gnu_get_libc_version) ||
	       (name && (strcmp(name, "libpthread.so.0") == 0 || strcmp(name, "libdl.so.2") == 0));
}

static int find_first(struct dl_phdr_info *info, size_t size, void *context)
{
	struct finder *finder = context;
	struct loaded loaded;

	(void)size;
	if (!loaded_of(info, &loaded) || !loaded_defines(&loaded, finder->name))
		return 0;
	if (is_of_libc(info, &loaded))
		finder->found = loaded_define(&loaded, finder->name);
	return 1;
}

void *late_find(const char *name)
{
	struct finder finder = { .name = name };

	loader_each(find_first, &finder);
	return finder.found;
}

void late_add_as(const char *name, const void *ours, const void *real)
{
	uint8_t *entry = entry_of(name);

	if (!late_has_begun() || !ours || !real || ours == real ||
	    (!*entry && function_count == FUNCTIONS))
		return;
	if (!*entry)
		*entry = (uint8_t)++function_count;
	functions[*entry - 1] = (struct function){ name, (uint64_t)(uintptr_t)ours,
		                                   (uint64_t)(uintptr_t)real, 0, true };
}

bool late_has_begun(void)
{
	return begun;
}

void late_begin(void)
{
	begun = wrap_is_late();
	for (uint32_t i = 0; i < function_count; i++)
		functions[i].wanted = false;
	// Libraries may have come and gone; but in a forked child all is as in its parent.
	if (!last.seen && unbound_count)
		memset(unbound, 0, sizeof(unbound));
	unbound_count = last.seen ? unbound_count : 0;
}

static bool is_any_wanted(void)
{
	for (uint32_t i = 0; i < function_count; i++)
		if (functions[i].wanted)
			return true;
	return detour_is_late(NULL);
}

void late_add(const char *name, const void *real)
{
	const struct loaded us = { (uintptr_t)__ehdr_start, _DYNAMIC, "" };

	if (late_has_begun())
		late_add_as(name, loaded_define(&us, name), real);
}

// ---------------------------------------------------------------------------------- one place

static void add_span(void *context, const struct map *map)
{
	(void)context;
	if (!map->inode || span_count == SPANS)
		return;
	struct span *before = span_count ? &spans[span_count - 1] : NULL;
	if (before && before->end == map->start && before->protection == map->protection)
		before->end = map->end;
	else
		spans[span_count++] = (struct span){ map->start, map->end, map->protection };
}

// How the page around ADDRESS may be used; PROT_NONE if that is not known.
static uint32_t protection_of(uint64_t address)
{
	uint32_t low = 0, high = span_count;

	while (low < high) {
		uint32_t middle = (low + high) / 2;
		if (spans[middle].end <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low < span_count && spans[low].start <= address ? spans[low].protection : PROT_NONE;
}

static void close_page(struct walk *w)
{
	if (w->page)
		mprotect((void *)(uintptr_t)w->page, (size_t)sysconf(_SC_PAGESIZE),
		         (int)w->page_protection);
	w->page = 0;
}

// Whether PLACE may be written to now.
static bool open_page(struct walk *w, const uint64_t *place)
{
	uint64_t size = (uint64_t)sysconf(_SC_PAGESIZE), address = (uint64_t)(uintptr_t)place;
	uint32_t protection = protection_of(address);

	if (w->page == (address & ~(size - 1)) || protection & PROT_WRITE)
		return true;
	close_page(w);
	if (protection != PROT_READ || !loaded_is_locked(w->info, (uintptr_t)place))
		return false;
	w->page = address & ~(size - 1);
	w->page_protection = protection;
	if (mprotect((void *)(uintptr_t)w->page, size, PROT_READ | PROT_WRITE) == 0)
		return true;
	w->page = 0;
	return false;
}

// The loader may bind it at the same time.
static bool put(struct walk *w, uint64_t *place, uint64_t from, uint64_t to)
{
	return open_page(w, place) &&
	       __atomic_compare_exchange_n(place, &from, to, false, __ATOMIC_RELEASE,
	                                   __ATOMIC_RELAXED);
}

// The entry of PLACE, or the one where it belongs; NULL: there is no room.
static struct unbound *unbound_of(const uint64_t *place)
{
	uint64_t hash = (uint64_t)(uintptr_t)place * UINT64_C(0x9e3779b97f4a7c15) >> 32;

	for (uint32_t i = 0; i < UNBOUND; i++) {
		struct unbound *u = &unbound[(hash + i) % UNBOUND];
		if (!u->place && unbound_count >= UNBOUND / 4 * 3)
			return NULL;
		if (!u->place || u->place == place)
			return u;
	}
	return NULL;
}

static bool remember(uint64_t *place, uint64_t value)
{
	struct unbound *u = unbound_of(place);

	if (!u || (!u->place && !value))
		return !value;
	unbound_count += !u->place;
	*u = (struct unbound){ place, value };
	return true;
}

// Condition variables changed in glibc 2.3.2: who was linked before gets other functions by these
// names.
static bool has_older(const char *name)
{
	return strncmp(name, "pthread_cond_", strlen("pthread_cond_")) == 0;
}

static void bind(struct walk *w, const struct function *f, uint64_t *place, bool lazy)
{
	uint64_t value = __atomic_load_n(place, __ATOMIC_RELAXED);
	bool is_bound = value == f->real;

	// A program at a fixed place that takes a function's address has an entry for it, which is
	// its address everywhere, and leads to where the program's own place does.
	if (!lazy && value - w->program.start < w->program.end - w->program.start)
		return;
	if (!f->wanted || value == f->ours || !value)
		return; // it is bound, or stands for what nobody has
	if (!is_bound && (!lazy || f->definers != 1 || has_older(f->name) ||
	                  !loaded_has_code(w->info, (uintptr_t)value))) {
		w->failed++;
		return;
	}
	if (!remember(place, is_bound ? 0 : value) || !put(w, place, value, f->ours))
		w->failed++;
}

// What the place held before, where it led to TARGET.
static void put_back(struct walk *w, uint64_t *place, uint64_t ours, uint64_t target)
{
	const struct unbound *u = unbound_of(place);

	put(w, place, ours, u && u->place && u->value ? u->value : target);
}

static void unbind(struct walk *w, const struct function *f, uint64_t *place)
{
	if (__atomic_load_n(place, __ATOMIC_RELAXED) == f->ours)
		put_back(w, place, f->ours, f->real);
}

// Routines of libraries, of which there may be several: ours forwards to what the very place held.

// Those of BLAS, LAPACK and FFTW look like this in all their forms.
static bool may_have_stub(const char *name)
{
	size_t length = strlen(name);

	return (name[0] == 'c' && name[1] == 'b') || (name[0] == 'L' && name[1] == 'A') ||
	       (name[0] == 's' && name[1] == 'c') || (name[0] == 'f' && name[1] == 'f') ||
	       (length && name[length - 1] == '_');
}

static const void *stub_of(const char *name)
{
	const struct loaded us = { (uintptr_t)__ehdr_start, _DYNAMIC, "" };
	const void *stub = may_have_stub(name) ? loaded_define(&us, name) : NULL;

	return stub && detour_is_late(stub) ? stub : NULL;
}

struct definers {
	const char *name;
	uint32_t count;
	void *found;
};

static int add_definer(struct dl_phdr_info *info, size_t size, void *context)
{
	struct definers *definers = context;
	struct loaded loaded;

	(void)size;
	if (loaded_holds(info, (uintptr_t)&functions) || !loaded_of(info, &loaded) ||
	    !loaded_defines(&loaded, definers->name))
		return 0;
	if (!definers->count++)
		definers->found = loaded_define(&loaded, definers->name);
	return 0;
}

static void bind_stub(struct walk *w, const char *name, uint64_t *place, bool lazy)
{
	const void *stub = stub_of(name);
	uint64_t value = __atomic_load_n(place, __ATOMIC_RELAXED), unbound_value = 0;
	struct definers definers = { .name = name };

	if (!value || detour_target((const void *)(uintptr_t)value))
		return; // nobody has it, or it is bound to us
	void *target = (void *)(uintptr_t)value;
	if (loaded_holds(w->info, (uintptr_t)value)) {
		unbound_value = value;
		if (lazy && loaded_has_code(w->info, (uintptr_t)value))
			loader_each(add_definer, &definers);
		target = definers.count == 1 ? definers.found : NULL;
	}
	void *ours = target ? detour_late(stub, target) : NULL;
	if (!ours || !remember(place, unbound_value) ||
	    !put(w, place, value, (uint64_t)(uintptr_t)ours))
		w->failed++;
}

static void unbind_stub(struct walk *w, uint64_t *place)
{
	uint64_t value = __atomic_load_n(place, __ATOMIC_RELAXED);
	void *target = detour_target((const void *)(uintptr_t)value);

	if (target)
		put_back(w, place, value, (uint64_t)(uintptr_t)target);
}

// ---------------------------------------------------------------------------------- all places

static bool is_wanted(void *context, const char *name)
{
	const struct walk *w = context;

	if (find(name))
		return true;
	return w->back ? may_have_stub(name) : w->stubs && stub_of(name);
}

static void visit_place(void *context, const char *name, uint64_t *place, bool lazy)
{
	struct walk *w = context;
	const struct function *f = find(name);

	if (!f && w->back)
		unbind_stub(w, place);
	else if (!f)
		bind_stub(w, name, place, lazy);
	else if (w->back)
		unbind(w, f, place);
	else
		bind(w, f, place, lazy);
}

static int count_definers(struct dl_phdr_info *info, size_t size, void *context)
{
	struct loaded loaded;

	(void)size;
	(void)context;
	if (loaded_holds(info, (uintptr_t)&functions) || !loaded_of(info, &loaded))
		return 0;
	for (uint32_t i = 0; i < function_count; i++)
		functions[i].definers += loaded_defines(&loaded, functions[i].name);
	return 0;
}

static int visit_object(struct dl_phdr_info *info, size_t size, void *context)
{
	struct walk *w = context;
	struct loaded loaded;

	(void)size;
	w->adds = info->dlpi_adds;
	w->subs = info->dlpi_subs;
	if (w->count++ < w->from || loaded_holds(info, (uintptr_t)&functions) ||
	    loaded_holds(info, (uintptr_t)_r_debug.r_brk) || !loaded_of(info, &loaded) ||
	    is_of_libc(info, &loaded))
		return 0;
	w->info = info;
	if (!loaded_references(info, &loaded, is_wanted, visit_place, w))
		w->strange++;
	close_page(w);
	return 0;
}

static bool read_spans(void)
{
	span_count = 0;
	return maps_each(add_span, NULL);
}

static int read_counts(struct dl_phdr_info *info, size_t size, void *context)
{
	struct walk *w = context;

	(void)size;
	w->adds = info->dlpi_adds;
	w->subs = info->dlpi_subs;
	w->program = loaded_span(info);
	return 1;
}

// The loader's locks are held. New objects come last; where some have gone, nobody knows which is
// where.
static struct walk bind_new(void)
{
	struct walk w = { .stubs = detour_is_late(NULL) };

	loader_each(read_counts, &w);
	bool same = last.seen && last.subs == w.subs;
	if (same && last.adds == w.adds)
		return w;
	w.from = same ? last.seen : 0;
	if (!read_spans())
		return w;
	for (uint32_t i = 0; i < function_count; i++)
		functions[i].definers = 0;
	loader_each(count_definers, NULL);
	loader_each(visit_object, &w);
	last.adds = w.adds;
	last.subs = w.subs;
	last.seen = w.count;
	return w;
}

// Under both locks, or not at all.
static bool take_loader(struct loader_lock *lock)
{
	if (!&_r_debug || !_r_debug.r_brk || !loader_lock_soon(lock))
		return false;
	if (lock->lock)
		return true;
	loader_unlock(lock);
	return false;
}

// Whom the loader looks for depends on who calls: so it is jumped to, and finds the program's own
// caller.
#define LOOK_AT(name)                                                                              \
	const void *late_real_##name __attribute__((visibility("hidden"), used));                  \
	extern const char late_##name[] __attribute__((visibility("hidden")));                     \
	__asm__(".pushsection .text\n"                                                             \
	        ".globl late_" #name "\n"                                                          \
	        ".hidden late_" #name "\n"                                                         \
	        ".type late_" #name ", @function\n"                                                \
	        "late_" #name ":\n"                                                                \
	        "	.cfi_startproc\n"                                                                \
	        "	endbr64\n"                                                                       \
	        "	pushq %rdi\n"                                                                    \
	        "	.cfi_adjust_cfa_offset 8\n"                                                      \
	        "	pushq %rsi\n"                                                                    \
	        "	.cfi_adjust_cfa_offset 8\n"                                                      \
	        "	pushq %rdx\n"                                                                    \
	        "	.cfi_adjust_cfa_offset 8\n"                                                      \
	        "	call late_look\n"                                                                \
	        "	popq %rdx\n"                                                                     \
	        "	.cfi_adjust_cfa_offset -8\n"                                                     \
	        "	popq %rsi\n"                                                                     \
	        "	.cfi_adjust_cfa_offset -8\n"                                                     \
	        "	popq %rdi\n"                                                                     \
	        "	.cfi_adjust_cfa_offset -8\n"                                                     \
	        "	jmpq *late_real_" #name "(%rip)\n"                                         \
	        "	.cfi_endproc\n"                                                                  \
	        ".size late_" #name ", . - late_" #name "\n"                                       \
	        ".popsection\n")
LOOK_AT(dlopen);
LOOK_AT(dlsym);
LOOK_AT(dlvsym);

static void add_loader(void)
{
	late_real_dlopen = late_find("dlopen");
	late_real_dlsym = late_find("dlsym");
	late_real_dlvsym = late_find("dlvsym");
	late_add_as("dlopen", late_dlopen, late_real_dlopen);
	late_add_as("dlsym", late_dlsym, late_real_dlsym);
	late_add_as("dlvsym", late_dlvsym, late_real_dlvsym);
}

void late_bind(void)
{
	struct loader_lock lock;
	char text[160];

	if (!late_has_begun() || !is_any_wanted())
		return;
	add_loader();
	wrap_add_seccomp();
	if (!take_loader(&lock)) {
		op_say("attached late: the loader was busy, so that allocations and locks are not "
		       "recorded");
		return;
	}
	last.seen = 0;
	struct walk w = bind_new();
	__atomic_store_n(&active, true, __ATOMIC_RELAXED);
	loader_unlock(&lock);
	if (!w.strange && !w.failed)
		return;
	snprintf(text, sizeof(text),
	         "attached late: %u references to recorded functions and %u libraries stay as they "
	         "were: what they call is not recorded",
	         w.failed, w.strange);
	op_say(text);
}

bool late_unbind(void)
{
	struct loader_lock lock;
	struct walk w = { .back = true };

	if (!last.seen)
		return true;
	__atomic_store_n(&active, false, __ATOMIC_RELAXED);
	if (!take_loader(&lock))
		return false;
	bool known = read_spans();
	if (known)
		loader_each(visit_object, &w);
	if (known)
		last.seen = 0;
	loader_unlock(&lock);
	return known;
}

void late_fork(void)
{
	__atomic_store_n(&active, false, __ATOMIC_RELAXED);
}

// The program opens an object or looks a symbol up: its code is about to be called.
void late_look(void) __attribute__((visibility("hidden"), used));
void late_look(void)
{
	struct loader_lock lock;
	int error = errno;

	if (!__atomic_load_n(&active, __ATOMIC_RELAXED) || !take_loader(&lock))
		return;
	if (__atomic_load_n(&active, __ATOMIC_RELAXED))
		bind_new();
	loader_unlock(&lock);
	errno = error;
}

#else

void late_begin(void)
{
}

bool late_has_begun(void)
{
	return false;
}

void *late_find(const char *name)
{
	(void)name;
	return NULL;
}

void late_add(const char *name, const void *real)
{
	(void)name;
	(void)real;
}

void late_add_as(const char *name, const void *ours, const void *real)
{
	(void)name;
	(void)ours;
	(void)real;
}

void late_bind(void)
{
}

bool late_unbind(void)
{
	return true;
}

void late_fork(void)
{
}

#endif
