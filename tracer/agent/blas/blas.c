// SPDX-License-Identifier: MIT
/*
 * BLAS and LAPACK under all their names: Fortran's, CBLAS's and LAPACKE's, each
 * with 32-bit and 64-bit integers, and as the wheels of NumPy and SciPy rename
 * them. An op is called as its routine is in the form at hand, without what
 * tells the widths and the wheels apart: "dgemm", "cblas_dgemm",
 * "LAPACKE_dgesv_work".
 *
 * Whether there is any BLAS at all is answered as without us (see weak.c and wrap_dlsym.c), but for
 * weak references that constructors of a library use which is loaded later: who calls by such a one
 * calls NULL, and a mark of category "missing" says so.
 *
 * Libraries of 64-bit integers under the plain names (Debian's libblas64) are
 * taken for those of 32 bits: sizes from 1 << 31 on are not right then.
 *
 * The number of threads is a mark, named after the library and of category
 * "threads": when it is first called, and when a new call site finds another
 * number.
 */
#include "base/hash.h"
#include "tracer/agent/agent.h"
#include "tracer/agent/blas/blas_table.h"
#include "tracer/agent/op/detour.h"
#include "tracer/agent/provider.h"
#include "tracer/agent/python/python_callers.h"
#include "tracer/agent/table.h"
#include "tracer/agent/wrap/late.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#ifdef __x86_64__

#define SHAPE_MAX      5
#define NAME_MAX_BYTES 64
#define LIBRARIES_MAX  32

#define unlikely(x)    __builtin_expect(!!(x), 0)

struct routine {
	char name[20];
	char arguments[32];
	uint8_t level; // enum blas_level
	bool real;
};

#define ROUTINE(name, level, real, arguments) { #name, arguments, level, real },
static const struct routine routines[] = {
	BLAS_C_ROUTINES(ROUTINE)       //
	BLAS_ROUTINES(ROUTINE)         //
	BLAS_FORTRAN_ROUTINES(ROUTINE) //
	LAPACK_ROUTINES(ROUTINE)       //
};

enum {
#define ONE(name, level, real, arguments) 0,
#define COUNT(ROUTINES)                   sizeof((char[]){ ROUTINES(ONE) })
	C_ALONE = COUNT(BLAS_C_ROUTINES),
	BOTH = COUNT(BLAS_ROUTINES),
	FORTRAN_ALONE = COUNT(BLAS_FORTRAN_ROUTINES),
	LAPACKS = COUNT(LAPACK_ROUTINES),
	FORTRANS = BOTH + FORTRAN_ALONE + LAPACKS,
	CBLASES = C_ALONE + BOTH,
	STUBS = 4 * FORTRANS + 5 * CBLASES + 6 * LAPACKS
};

enum form {
	FORTRAN,
	CBLAS,
	LAPACKE,
	LAPACKE_WORK
};

// The order is that of the stubs.
static const struct family {
	char prefix[16], suffix[16];
	uint8_t form; // enum form
	bool wide;    // integers of 64 bits
	uint16_t first, count;
} families[] = {
	{ "", "_", FORTRAN, false, C_ALONE, FORTRANS },
	{ "", "_64_", FORTRAN, true, C_ALONE, FORTRANS },
	{ "scipy_", "_", FORTRAN, false, C_ALONE, FORTRANS },
	{ "scipy_", "_64_", FORTRAN, true, C_ALONE, FORTRANS },
	{ "cblas_", "", CBLAS, false, 0, CBLASES },
	{ "cblas_", "64_", CBLAS, true, 0, CBLASES },
	{ "cblas_", "_64", CBLAS, true, 0, CBLASES },
	{ "scipy_cblas_", "", CBLAS, false, 0, CBLASES },
	{ "scipy_cblas_", "64_", CBLAS, true, 0, CBLASES },
	{ "LAPACKE_", "", LAPACKE, false, CBLASES + FORTRAN_ALONE, LAPACKS },
	{ "LAPACKE_", "64_", LAPACKE, true, CBLASES + FORTRAN_ALONE, LAPACKS },
	{ "LAPACKE_", "_64", LAPACKE, true, CBLASES + FORTRAN_ALONE, LAPACKS },
	{ "LAPACKE_", "_work", LAPACKE_WORK, false, CBLASES + FORTRAN_ALONE, LAPACKS },
	{ "LAPACKE_", "_work64_", LAPACKE_WORK, true, CBLASES + FORTRAN_ALONE, LAPACKS },
	{ "LAPACKE_", "_work_64", LAPACKE_WORK, true, CBLASES + FORTRAN_ALONE, LAPACKS },
};

#define FORTRAN_STUB(name, level, real, arguments)   "detour_stub " #name "_\n"
#define FORTRAN64_STUB(name, level, real, arguments) "detour_stub " #name "_64_\n"
#define WHEEL_STUB(name, level, real, arguments)     "detour_stub scipy_" #name "_\n"
#define WHEEL64_STUB(name, level, real, arguments)   "detour_stub scipy_" #name "_64_\n"
#define C_STUB(name, level, real, arguments)         "detour_stub cblas_" #name "\n"
#define C64_STUB(name, level, real, arguments)       "detour_stub cblas_" #name "64_\n"
#define C_64_STUB(name, level, real, arguments)      "detour_stub cblas_" #name "_64\n"
#define WHEEL_C_STUB(name, level, real, arguments)   "detour_stub scipy_cblas_" #name "\n"
#define WHEEL_C64_STUB(name, level, real, arguments) "detour_stub scipy_cblas_" #name "64_\n"
#define E_STUB(name, level, real, arguments)         "detour_stub LAPACKE_" #name "\n"
#define E64_STUB(name, level, real, arguments)       "detour_stub LAPACKE_" #name "64_\n"
#define E_64_STUB(name, level, real, arguments)      "detour_stub LAPACKE_" #name "_64\n"
#define WORK_STUB(name, level, real, arguments)      "detour_stub LAPACKE_" #name "_work\n"
#define WORK64_STUB(name, level, real, arguments)    "detour_stub LAPACKE_" #name "_work64_\n"
#define WORK_64_STUB(name, level, real, arguments)   "detour_stub LAPACKE_" #name "_work_64\n"

#define FORTRAN_STUBS(X)                             BLAS_ROUTINES(X) BLAS_FORTRAN_ROUTINES(X) LAPACK_ROUTINES(X)
#define C_STUBS(X)                                   BLAS_C_ROUTINES(X) BLAS_ROUTINES(X)

detour_begin blas_begin;
detour_end blas_end;

// clang-format off
DETOUR("blas",
       FORTRAN_STUBS(FORTRAN_STUB) FORTRAN_STUBS(FORTRAN64_STUB)
       FORTRAN_STUBS(WHEEL_STUB) FORTRAN_STUBS(WHEEL64_STUB)
       C_STUBS(C_STUB) C_STUBS(C64_STUB) C_STUBS(C_64_STUB)
       C_STUBS(WHEEL_C_STUB) C_STUBS(WHEEL_C64_STUB)
       LAPACK_ROUTINES(E_STUB) LAPACK_ROUTINES(E64_STUB) LAPACK_ROUTINES(E_64_STUB)
       LAPACK_ROUTINES(WORK_STUB) LAPACK_ROUTINES(WORK64_STUB) LAPACK_ROUTINES(WORK_64_STUB));
// clang-format on

extern const char blas_stubs[] __attribute__((visibility("hidden")));
AGENT_TABLE static struct detour_alias blas_aliases[DETOUR_ALIASES];
static struct detour_stubs blas_detour = { .first = blas_stubs,
	                                   .count = STUBS,
	                                   .aliases = blas_aliases };

// What a stub stands for, worked out at its first call; threads that do so at once agree.
struct stub {
	uint64_t known; // see detour_known()
	uint8_t ready;
	uint8_t rank;  // enum detour_rank
	uint8_t words; // of arguments on the stack
	uint8_t side;  // index of that argument, and 1; 0: none
	uint8_t work;  // the same, of the size of the first work space
	uint8_t count; // of the shape
	uint8_t shape[SHAPE_MAX];
	bool pointers, wide, lapack;
};
AGENT_TABLE static struct stub stubs[STUBS];

static const struct family *family_of(uint64_t index, const struct routine **routine)
{
	const struct family *family = families;

	for (; index >= family->count; family++)
		index -= family->count;
	*routine = &routines[family->first + index];
	return family;
}

// The name of the function, or of its op.
static void name_of(char name[NAME_MAX_BYTES], uint64_t index, bool as_op)
{
	const struct routine *routine;
	const struct family *family = family_of(index, &routine);
	static const char *const op_prefixes[] = { "", "cblas_", "LAPACKE_", "LAPACKE_" };
	static const char *const op_suffixes[] = { "", "", "", "_work" };

	snprintf(name, NAME_MAX_BYTES, "%s%s%s", as_op ? op_prefixes[family->form] : family->prefix,
	         routine->name, as_op ? op_suffixes[family->form] : family->suffix);
}

// Whether an argument is passed among the integers and pointers, or at all.
static bool is_integer(const struct routine *routine, enum form form, char argument)
{
	if (form == FORTRAN)
		return argument != 'e';
	if (form == CBLAS)
		return !(argument == 'r' || (argument == 's' && routine->real));
	return argument != 'o' && !(form == LAPACKE && (argument == 'w' || argument == 'l')) &&
	       !(form == LAPACKE_WORK && argument == 'e');
}

static void add_argument(struct stub *stub, char argument, unsigned index)
{
	if (argument == 'N' && stub->count < SHAPE_MAX)
		stub->shape[stub->count++] = (uint8_t)index;
	else if (argument == 'S')
		stub->side = (uint8_t)(index + 1);
	else if (argument == 'l' && !stub->work)
		stub->work = (uint8_t)(index + 1);
}

static void prepare(uint64_t index)
{
	const struct routine *routine;
	const struct family *family = family_of(index, &routine);
	static const uint8_t ranks[] = { DETOUR_VECTOR, DETOUR_VECTOR, DETOUR_MATRIX,
		                         DETOUR_LAPACK };
	struct stub stub = { .pointers = family->form == FORTRAN,
		             .wide = family->wide,
		             .rank = ranks[routine->level],
		             .lapack = routine->level == LAPACK };
	unsigned count = family->form != FORTRAN && routine->level != BLAS_1; // order or layout

	for (const char *argument = routine->arguments; *argument; argument++)
		if (is_integer(routine, (enum form)family->form, *argument))
			add_argument(&stub, *argument, count++);
	for (const char *argument = routine->arguments; *argument && stub.pointers; argument++)
		count += *argument == 't' || *argument == 'S'; // hidden lengths
	stub.words = (uint8_t)(count > 6 ? count - 6 : 0);
	stub.known = stubs[index].known;
	stubs[index] = stub;
	__atomic_store_n(&stubs[index].ready, 1, __ATOMIC_RELEASE);
}

// Zero for what cannot be a dimension, and for a pointer that cannot be one.
static uint64_t read_dimension(const struct stub *stub, uint64_t argument)
{
	int64_t value;

	if (!stub->pointers)
		value = stub->wide ? (int64_t)argument : (int32_t)argument;
	else if (argument < 4096)
		value = 0;
	else
		value = stub->wide ? *(const int64_t *)argument : *(const int32_t *)argument;
	return value > 0 ? (uint64_t)value : 0;
}

static bool is_right(const struct stub *stub, uint64_t argument)
{
	if (stub->pointers)
		return argument >= 4096 && (*(const char *)argument | ' ') == 'r';
	return stub->lapack ? ((char)argument | ' ') == 'r' : (int)argument == 142; // CblasRight
}

// LAPACK's way to ask how much work space a call would need: lwork = -1. No work is done.
static bool is_query(const struct stub *stub, const struct detour_call *call, const uint64_t *frame)
{
	uint64_t argument = stub->work ? detour_argument(call, frame, stub->work - 1u) : 0;

	if (!stub->pointers)
		return stub->wide ? argument == UINT64_MAX : (int32_t)argument == -1;
	return argument >= 4096 && *(const int32_t *)argument == -1;
}

static uint16_t read_shape(const struct stub *stub, const struct detour_call *call,
                           const uint64_t *frame, uint64_t shape[SHAPE_MAX + 1])
{
	uint16_t count = stub->count;

	for (uint16_t i = 0; i < count; i++)
		shape[i] = read_dimension(stub, detour_argument(call, frame, stub->shape[i]));
	if (!stub->side || count < 2)
		return count;
	bool right = is_right(stub, detour_argument(call, frame, stub->side - 1u));
	shape[count] = shape[right];
	return count + 1;
}

static uint32_t find_name(struct op_thread *t, uint64_t index)
{
	char text[NAME_MAX_BYTES];

	name_of(text, index, true);
	uint32_t id = op_name(t, stubs[index].lapack ? OP_LAPACK : OP_BLAS, 0, text);
	detour_know(&stubs[index].known, t, id);
	return id;
}

typedef int thread_getter(void);

// Where routines have been found, and what tells how many threads are used there.
static struct library {
	uint64_t path;      // atomic: a hash; 0: free
	uint32_t looked;    // atomic: definition_forgotten() and 1 when GET was looked for
	thread_getter *get; // atomic; NULL: it does not tell
	uint64_t told;      // as detour_know() keeps it: by this process
} libraries[LIBRARIES_MAX];

static struct library *find_library(const char *path)
{
	uint64_t wanted = hash_bytes(path, strlen(path)) | 1;

	for (unsigned i = 0; i < LIBRARIES_MAX; i++) {
		uint64_t known = __atomic_load_n(&libraries[i].path, __ATOMIC_RELAXED);
		if (!known && __atomic_compare_exchange_n(&libraries[i].path, &known, wanted, false,
		                                          __ATOMIC_RELAXED, __ATOMIC_RELAXED))
			known = wanted;
		if (known == wanted)
			return &libraries[i];
	}
	return NULL;
}

static thread_getter *find_getter(const void *target)
{
	static const char getters[][40] = {
		"openblas_get_num_threads",       "openblas_get_num_threads64_",
		"scipy_openblas_get_num_threads", "scipy_openblas_get_num_threads64_",
		"bli_thread_get_num_threads",     "MKL_Get_Max_Threads",
	};
	thread_getter *get = NULL;

	for (size_t i = 0; i < sizeof(getters) / sizeof(getters[0]) && !get; i++)
		get = (thread_getter *)definition_near(target, getters[i]);
	return get;
}

// How many threads the library uses; 0: it does not say.
static int thread_count(struct library *library, const void *target)
{
	uint32_t now = definition_forgotten() + 1;

	if (__atomic_load_n(&library->looked, __ATOMIC_ACQUIRE) != now) {
		__atomic_store_n(&library->get, find_getter(target), __ATOMIC_RELAXED);
		__atomic_store_n(&library->looked, now, __ATOMIC_RELEASE);
	}
	thread_getter *get = __atomic_load_n(&library->get, __ATOMIC_RELAXED);
	return get ? get() : 0;
}

static void mark(struct op_thread *t, const char *category, const char *text, const uint64_t *frame,
                 const struct op_details *details)
{
	struct name kind = { .provider = OP_BLAS, .text = category };
	struct name name = { .provider = OP_BLAS, .text = text };

	name.category = op_name_in(t, &kind);
	op_mark(t, op_name_in(t, &name), detour_here(frame), details);
}

// The library, and its number of threads, if it has not been told.
static void tell_threads(const void *target, const uint64_t *frame)
{
	char path[1024];
	struct library *library =
		definition_path(target, path, sizeof(path)) ? find_library(path) : NULL;
	int threads = library ? thread_count(library, target) : 0;
	struct op_thread *t = threads > 0 ? op_enter() : NULL;

	if (!t)
		return;
	if (detour_known(&library->told, t) != (uint32_t)threads) {
		uint64_t value = (uint64_t)threads;
		struct op_details details = { OP_DETAIL_UNSIGNED, 1, &value };
		detour_know(&library->told, t, (uint32_t)threads);
		mark(t, "threads", path, frame, &details);
	}
	op_leave(t);
}

// The program is about to call NULL, since it has believed that we are the library.
static void tell_missing(const char *name, const uint64_t *frame)
{
	struct op_thread *t = op_enter();

	if (!t)
		return;
	mark(t, "missing", name, frame, NULL);
	op_leave(t);
}

static __attribute__((noinline)) void *find_target(uint64_t index, const uint64_t *frame)
{
	char name[NAME_MAX_BYTES];
	int error = errno;

	if (!stubs[index].ready)
		prepare(index);
	name_of(name, index, false);
	void *target = definition_find(name, frame[1]);
	if (target)
		definition_remember((uint32_t)index, frame[1], target);
	else
		tell_missing(name, frame);
	if (target && op_is_on(OP_BLAS))
		tell_threads(target, frame);
	errno = error;
	return target;
}

static __attribute__((noinline)) void *take_target(struct detour_alias *alias,
                                                   const uint64_t *frame)
{
	int error = errno;

	if (!stubs[alias->stub].ready)
		prepare(alias->stub);
	if (!__atomic_exchange_n(&alias->told, 1, __ATOMIC_RELAXED) && op_is_on(OP_BLAS))
		tell_threads(alias->target, frame);
	errno = error;
	return alias->target;
}

struct detour_way blas_begin(uint64_t index, struct detour_call *call, const uint64_t *frame)
{
	struct detour_alias *alias = detour_resolve(&blas_detour, &index);
	struct stub *stub = &stubs[index];
	uint64_t shape[SHAPE_MAX + 3]; // and who calls, and what it stands for
	struct detour_way way = { NULL, -1 };

	way.target = unlikely(alias) ? take_target(alias, frame)
	                             : definition_recall((uint32_t)index, frame[1]);
	if (unlikely(!way.target))
		way.target = find_target(index, frame);
	// Without a target the caller has called NULL, but for us.
	if (!way.target || detour_hides((enum detour_rank)stub->rank, frame) ||
	    (stub->work && is_query(stub, call, frame)) ||
	    !op_is_on(stub->lapack ? OP_LAPACK : OP_BLAS))
		return way;
	struct op_thread *t = op_enter();
	if (!t)
		return way;
	uint32_t weight = stub->lapack ? 1 : op_thin(&t->thin, op_allowed() / 2);
	if (!weight) {
		op_leave(t);
		return way;
	}
	uint16_t count = read_shape(stub, call, frame, shape);
	struct op_details details = { OP_DETAIL_SHAPE, count, shape };
	python_callers_tell(t, &details, shape);
	if (unlikely(weight > 1))
		op_weigh(&details, shape, weight);
	uint32_t name = detour_known(&stub->known, t);
	detour_open(t, (enum detour_rank)stub->rank, name ? name : find_name(t, index), frame,
	            details.count ? &details : NULL);
	op_leave(t);
	way.words = stub->words;
	return way;
}

void blas_end(uint64_t index, struct detour_call *call, const uint64_t *frame)
{
	(void)index;
	(void)call;
	detour_close(frame);
}

// A process that has loaded us late may have closed libraries that were asked the last time.
static void start(struct agent *a)
{
	if (!late_has_begun())
		return;
	blas_detour.late = a->config.ops & (1u << OP_BLAS | 1u << OP_LAPACK);
	definition_forget();
	for (uint32_t i = 0; i < DETOUR_ALIASES; i++)
		__atomic_store_n(&blas_aliases[i].told, 0, __ATOMIC_RELAXED);
}

#endif

const struct agent_provider blas_provider = {
#ifdef __x86_64__
	.start = start,
	.stubs = &blas_detour,
#endif
};
