// SPDX-License-Identifier: MIT
/*
 * FFTW 3 in its four precisions. Plans are ops with the sizes they are made
 * for; so are executions, with what is executed behind the name: "fftw_execute
 * r2c". A plan of many transforms says so ("fftw_execute dft many"), and its
 * shape begins with how many there are.
 *
 * Fortran's own names (dfftw_) make plans through those of C, but execute them
 * by themselves.
 */
#include "tracer/agent/fftw/fftw.h"

#include "tracer/agent/agent.h"
#include "tracer/agent/op/definition.h"
#include "tracer/agent/op/detour.h"
#include "tracer/agent/provider.h"
#include "tracer/agent/python/python_callers.h"
#include "tracer/agent/table.h"
#include "tracer/agent/wrap/late.h"

#include <errno.h>
#include <stdio.h>

#ifdef __x86_64__

#define NAME_MAX_BYTES 64
#define SHAPE_MAX      (FFTW_DIMENSIONS_MAX + 1)

enum form {
	VALUES_1 = 1, /* the sizes are the first arguments */
	VALUES_2 = 2,
	VALUES_3 = 3,
	ARRAY,  /* rank, sizes */
	MANY,   /* rank, sizes, how many */
	GURU,   /* rank, iodims, how many's rank and iodims */
	GURU64, /* the same of 64 bits */
	EXECUTE,
	DESTROY,
	CLEANUP,
	THREADS
};

// Name, what is transformed (FFTW_KINDS: the plan knows), form, number of arguments.
#define PLANS(X)                                                                                   \
	X(plan_dft_1d, FFTW_DFT, VALUES_1, 5)                                                      \
	X(plan_dft_2d, FFTW_DFT, VALUES_2, 6)                                                      \
	X(plan_dft_3d, FFTW_DFT, VALUES_3, 7)                                                      \
	X(plan_dft, FFTW_DFT, ARRAY, 6)                                                            \
	X(plan_many_dft, FFTW_DFT, MANY, 13)                                                       \
	X(plan_guru_dft, FFTW_DFT, GURU, 8)                                                        \
	X(plan_guru_split_dft, FFTW_DFT, GURU, 9)                                                  \
	X(plan_guru64_dft, FFTW_DFT, GURU64, 8)                                                    \
	X(plan_guru64_split_dft, FFTW_DFT, GURU64, 9)                                              \
	X(plan_dft_r2c_1d, FFTW_R2C, VALUES_1, 4)                                                  \
	X(plan_dft_r2c_2d, FFTW_R2C, VALUES_2, 5)                                                  \
	X(plan_dft_r2c_3d, FFTW_R2C, VALUES_3, 6)                                                  \
	X(plan_dft_r2c, FFTW_R2C, ARRAY, 5)                                                        \
	X(plan_many_dft_r2c, FFTW_R2C, MANY, 12)                                                   \
	X(plan_guru_dft_r2c, FFTW_R2C, GURU, 7)                                                    \
	X(plan_guru_split_dft_r2c, FFTW_R2C, GURU, 8)                                              \
	X(plan_guru64_dft_r2c, FFTW_R2C, GURU64, 7)                                                \
	X(plan_guru64_split_dft_r2c, FFTW_R2C, GURU64, 8)                                          \
	X(plan_dft_c2r_1d, FFTW_C2R, VALUES_1, 4)                                                  \
	X(plan_dft_c2r_2d, FFTW_C2R, VALUES_2, 5)                                                  \
	X(plan_dft_c2r_3d, FFTW_C2R, VALUES_3, 6)                                                  \
	X(plan_dft_c2r, FFTW_C2R, ARRAY, 5)                                                        \
	X(plan_many_dft_c2r, FFTW_C2R, MANY, 12)                                                   \
	X(plan_guru_dft_c2r, FFTW_C2R, GURU, 7)                                                    \
	X(plan_guru_split_dft_c2r, FFTW_C2R, GURU, 8)                                              \
	X(plan_guru64_dft_c2r, FFTW_C2R, GURU64, 7)                                                \
	X(plan_guru64_split_dft_c2r, FFTW_C2R, GURU64, 8)                                          \
	X(plan_r2r_1d, FFTW_R2R, VALUES_1, 5)                                                      \
	X(plan_r2r_2d, FFTW_R2R, VALUES_2, 7)                                                      \
	X(plan_r2r_3d, FFTW_R2R, VALUES_3, 9)                                                      \
	X(plan_r2r, FFTW_R2R, ARRAY, 6)                                                            \
	X(plan_many_r2r, FFTW_R2R, MANY, 13)                                                       \
	X(plan_guru_r2r, FFTW_R2R, GURU, 8)                                                        \
	X(plan_guru64_r2r, FFTW_R2R, GURU64, 8)
#define EXECUTIONS(X)                                                                              \
	X(execute, FFTW_KINDS, EXECUTE, 1)                                                         \
	X(execute_dft, FFTW_DFT, EXECUTE, 3)                                                       \
	X(execute_split_dft, FFTW_DFT, EXECUTE, 5)                                                 \
	X(execute_dft_r2c, FFTW_R2C, EXECUTE, 3)                                                   \
	X(execute_split_dft_r2c, FFTW_R2C, EXECUTE, 4)                                             \
	X(execute_dft_c2r, FFTW_C2R, EXECUTE, 3)                                                   \
	X(execute_split_dft_c2r, FFTW_C2R, EXECUTE, 4)                                             \
	X(execute_r2r, FFTW_R2R, EXECUTE, 3)
#define OTHERS(X)                                                                                  \
	X(destroy_plan, FFTW_KINDS, DESTROY, 1)                                                    \
	X(cleanup, FFTW_KINDS, CLEANUP, 0)                                                         \
	X(plan_with_nthreads, FFTW_KINDS, THREADS, 1)

static const struct routine {
	char name[28];
	uint8_t kind;  // enum fftw_kind
	uint8_t form;  // enum form
	uint8_t count; // of arguments
} routines[] = {
#define ROUTINE(name, kind, form, count) { #name, kind, form, count },
	PLANS(ROUTINE) EXECUTIONS(ROUTINE) OTHERS(ROUTINE)
};

enum {
#define ONE(name, kind, form, count) 0,
	PLAN_COUNT = sizeof((char[]){ PLANS(ONE) }),
	EXECUTION_COUNT = sizeof((char[]){ EXECUTIONS(ONE) }),
	COUNT = sizeof(routines) / sizeof(routines[0]),
	STUBS = 4 * COUNT + 6 * EXECUTION_COUNT
};

// The order is that of the stubs.
static const struct family {
	char prefix[8], suffix[8];
	char op_prefix[8];
	bool fortran; // a plan is passed by its address
	uint16_t first, count;
} families[] = {
	{ "fftw_", "", "fftw_", false, 0, COUNT },
	{ "fftwf_", "", "fftwf_", false, 0, COUNT },
	{ "fftwl_", "", "fftwl_", false, 0, COUNT },
	{ "fftwq_", "", "fftwq_", false, 0, COUNT },
	{ "dfftw_", "_", "fftw_", true, PLAN_COUNT, EXECUTION_COUNT },
	{ "dfftw_", "__", "fftw_", true, PLAN_COUNT, EXECUTION_COUNT },
	{ "sfftw_", "_", "fftwf_", true, PLAN_COUNT, EXECUTION_COUNT },
	{ "sfftw_", "__", "fftwf_", true, PLAN_COUNT, EXECUTION_COUNT },
	{ "lfftw_", "_", "fftwl_", true, PLAN_COUNT, EXECUTION_COUNT },
	{ "lfftw_", "__", "fftwl_", true, PLAN_COUNT, EXECUTION_COUNT },
};

#define STUB(name, kind, form, count)       "detour_stub fftw_" #name "\n"
#define FLOAT_STUB(name, kind, form, count) "detour_stub fftwf_" #name "\n"
#define LONG_STUB(name, kind, form, count)  "detour_stub fftwl_" #name "\n"
#define QUAD_STUB(name, kind, form, count)  "detour_stub fftwq_" #name "\n"
#define D_STUB(name, kind, form, count)     "detour_stub dfftw_" #name "_\n"
#define D2_STUB(name, kind, form, count)    "detour_stub dfftw_" #name "__\n"
#define S_STUB(name, kind, form, count)     "detour_stub sfftw_" #name "_\n"
#define S2_STUB(name, kind, form, count)    "detour_stub sfftw_" #name "__\n"
#define L_STUB(name, kind, form, count)     "detour_stub lfftw_" #name "_\n"
#define L2_STUB(name, kind, form, count)    "detour_stub lfftw_" #name "__\n"

#define ALL(X)                              PLANS(X) EXECUTIONS(X) OTHERS(X)

detour_begin fftw_begin;
detour_end fftw_end;

// clang-format off
DETOUR("fftw",
       ALL(STUB) ALL(FLOAT_STUB) ALL(LONG_STUB) ALL(QUAD_STUB)
       EXECUTIONS(D_STUB) EXECUTIONS(D2_STUB) EXECUTIONS(S_STUB) EXECUTIONS(S2_STUB)
       EXECUTIONS(L_STUB) EXECUTIONS(L2_STUB));
// clang-format on

extern const char fftw_stubs[] __attribute__((visibility("hidden")));
AGENT_TABLE static struct detour_alias fftw_aliases[DETOUR_ALIASES];
static struct detour_stubs fftw_detour = { .first = fftw_stubs,
	                                   .count = STUBS,
	                                   .aliases = fftw_aliases };

// Above those of BLAS.
#define NUMBER(index) (UINT32_C(0x8000) + (uint32_t)(index))

struct stub {
	uint64_t known[FFTW_KINDS + 1][2]; // see detour_known()
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

static void read_array(struct fftw_shape *shape, uint64_t rank, uint64_t array)
{
	const int *sizes = (const int *)array;

	if (rank > FFTW_DIMENSIONS_MAX || array < 4096)
		return;
	shape->count = (uint8_t)rank;
	for (uint64_t i = 0; i < rank; i++)
		shape->dimensions[i] = sizes[i] > 0 ? (uint64_t)sizes[i] : 0;
}

// The size is the first of the three numbers of an iodim.
static uint64_t iodim_size(uint64_t array, bool wide, uint64_t index)
{
	int64_t size =
		wide ? ((const int64_t *)array)[3 * index] : ((const int32_t *)array)[3 * index];

	return size > 0 ? (uint64_t)size : 0;
}

static void read_guru(struct fftw_shape *shape, const struct detour_call *call, bool wide)
{
	uint64_t rank = (uint32_t)call->integers[0], sizes = call->integers[1];
	uint64_t batch_rank = (uint32_t)call->integers[2], batches = call->integers[3];

	// A rank of INT_MAX says that there is nothing to do.
	if (rank > FFTW_DIMENSIONS_MAX || batch_rank > FFTW_DIMENSIONS_MAX ||
	    (rank && sizes < 4096) || (batch_rank && batches < 4096))
		return;
	shape->count = (uint8_t)rank;
	for (uint64_t i = 0; i < rank; i++)
		shape->dimensions[i] = iodim_size(sizes, wide, i);
	for (uint64_t i = 0; i < batch_rank; i++)
		shape->batch *= iodim_size(batches, wide, i);
}

// Of a plan that is being made.
static struct fftw_shape read_shape(const struct routine *routine, const struct detour_call *call)
{
	struct fftw_shape shape = { .batch = 1, .kind = routine->kind };
	int batch = (int)call->integers[2];

	switch ((enum form)routine->form) {
	case VALUES_1:
	case VALUES_2:
	case VALUES_3:
		shape.count = routine->form;
		for (int i = 0; i < shape.count; i++)
			shape.dimensions[i] = (uint32_t)call->integers[i];
		break;
	case MANY:
		shape.batch = batch > 0 ? (uint64_t)batch : 0;
		read_array(&shape, (uint32_t)call->integers[0], call->integers[1]);
		break;
	case ARRAY:
		read_array(&shape, (uint32_t)call->integers[0], call->integers[1]);
		break;
	default:
		read_guru(&shape, call, routine->form == GURU64);
	}
	return shape;
}

static uint16_t list_shape(const struct fftw_shape *shape, uint64_t values[SHAPE_MAX])
{
	uint16_t count = 0;

	if (shape->count && shape->batch != 1)
		values[count++] = shape->batch;
	for (int i = 0; i < shape->count; i++)
		values[count++] = shape->dimensions[i];
	return count;
}

static uint32_t find_name(struct op_thread *t, uint64_t index, const struct fftw_shape *shape)
{
	static const char *const kinds[] = { " dft", " r2c", " c2r", " r2r", "" };
	const struct routine *routine;
	const struct family *family = family_of(index, &routine);
	bool many = routine->form == EXECUTE && shape->count && shape->batch != 1;
	uint64_t *known = &stubs[index].known[shape->kind][many];
	uint32_t id = detour_known(known, t);
	char text[NAME_MAX_BYTES];

	if (id)
		return id;
	snprintf(text, sizeof(text), "%s%s%s%s", family->op_prefix, routine->name,
	         routine->kind == FFTW_KINDS ? kinds[shape->kind] : "", many ? " many" : "");
	id = op_name(t, OP_FFTW, 0, text);
	detour_know(known, t, id);
	return id;
}

static __attribute__((noinline)) void *find_target(uint64_t index, const uint64_t *frame)
{
	const struct routine *routine;
	const struct family *family = family_of(index, &routine);
	char name[NAME_MAX_BYTES];
	int error = errno;

	snprintf(name, sizeof(name), "%s%s%s", family->prefix, routine->name, family->suffix);
	void *target = definition_find(name, frame[1]);
	if (target)
		definition_remember(NUMBER(index), frame[1], target);
	errno = error;
	return target;
}

// A mark: the library, and how many threads its next plans are for.
static void tell_threads(const void *target, uint64_t threads, const uint64_t *frame)
{
	struct name category = { .provider = OP_FFTW, .text = "threads" };
	char path[1024];
	struct name name = { .provider = OP_FFTW, .text = path };
	struct op_details details = { OP_DETAIL_UNSIGNED, 1, &threads };

	if (!definition_path(target, path, sizeof(path)))
		return;
	struct op_thread *t = op_enter();
	if (!t)
		return;
	name.category = op_name_in(t, &category);
	op_mark(t, op_name_in(t, &name), detour_here(frame), &details);
	op_leave(t);
}

static void begin_op(struct op_thread *t, uint64_t index, const struct fftw_shape *shape,
                     const uint64_t *frame)
{
	uint64_t values[SHAPE_MAX + 1]; // and who calls
	struct op_details details = { OP_DETAIL_SHAPE, list_shape(shape, values), values };

	python_callers_tell(t, &details, values);
	detour_open(t, DETOUR_FFTW, find_name(t, index, shape), frame,
	            details.count ? &details : NULL);
}

// What is no op of its own.
static bool note_other(const struct routine *routine, const struct detour_call *call,
                       const void *target, const uint64_t *frame)
{
	switch ((enum form)routine->form) {
	case DESTROY:
		fftw_plan_remove(call->integers[0]);
		return true;
	case CLEANUP:
		fftw_plan_remove_all();
		return true;
	case THREADS:
		tell_threads(target, (uint32_t)call->integers[0], frame);
		return true;
	default:
		return false;
	}
}

static uint64_t plan_of(const struct family *family, const struct detour_call *call)
{
	uint64_t plan = call->integers[0];

	if (!family->fortran)
		return plan;
	return plan < 4096 ? 0 : *(const uint64_t *)plan;
}

struct detour_way fftw_begin(uint64_t index, struct detour_call *call, const uint64_t *frame)
{
	struct detour_alias *alias = detour_resolve(&fftw_detour, &index);
	struct detour_way way = { alias ? alias->target
		                        : definition_recall(NUMBER(index), frame[1]),
		                  -1 };
	const struct routine *routine;
	const struct family *family = family_of(index, &routine);
	struct fftw_shape shape = { .kind = routine->kind };

	if (!way.target)
		way.target = find_target(index, frame);
	if (!way.target || !op_is_on(OP_FFTW) || detour_hides(DETOUR_FFTW, frame) ||
	    note_other(routine, call, way.target, frame))
		return way;
	if (routine->form == EXECUTE)
		fftw_plan_find(plan_of(family, call), &shape);
	else
		shape = read_shape(routine, call);
	struct op_thread *t = op_enter();
	if (!t)
		return way;
	begin_op(t, index, &shape, frame);
	op_leave(t);
	way.words = routine->count > 6 ? routine->count - 6 : 0;
	return way;
}

void fftw_end(uint64_t index, struct detour_call *call, const uint64_t *frame)
{
	const struct routine *routine;

	detour_resolve(&fftw_detour, &index);
	family_of(index, &routine);
	detour_close(frame);
	if (routine->form == EXECUTE)
		return;
	struct fftw_shape shape = read_shape(routine, call);
	if (shape.count)
		fftw_plan_add(call->result[0], &shape);
}

// As for BLAS. Plans may have been destroyed, and others have come to lie there, while nobody
// looked: those that are there already have no kind and no shape.
static void start(struct agent *a)
{
	if (!late_has_begun())
		return;
	fftw_detour.late = a->config.ops & (1u << OP_FFTW);
	definition_forget();
	fftw_plan_remove_all();
	for (uint32_t i = 0; i < DETOUR_ALIASES; i++)
		__atomic_store_n(&fftw_aliases[i].told, 0, __ATOMIC_RELAXED);
}

#endif

const struct agent_provider fftw_provider = {
#ifdef __x86_64__
	.start = start,
	.stubs = &fftw_detour,
#endif
};
