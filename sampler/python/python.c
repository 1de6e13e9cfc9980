// SPDX-License-Identifier: MIT
#include "sampler/python/python.h"

#include "base/array.h"
#include "base/cleanup.h"
#include "base/foreign_file.h"
#include "base/hash.h"
#include "base/module.h"
#include "base/origin.h"
#include "base/python_lines.h"
#include "base/python_scope.h"
#include "sampler/python/python_remote.h"
#include "sampler/unwind/address_space.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define OBJECTS_MAX (1u << 20) // numbers come from the target
#define NUMBERS_MAX (1u << 16) // of chains, of modules
#define LINES       2048       // that are remembered
#define ANCHORED    0x030b     // the first version that leaves them on the stack
#define QUALIFIED   0x030b     // the first version whose code objects say what they are in
#define SOURCE_MAX  (4u << 20) // bytes of a file
#define MAKES_CODE  0x030c     // the first version that may run code that it has made itself
#define ENTRY_CALLS 2          // functions of the interpreter at most, from its loop to such code

struct python_object {
	uint32_t code; // id in the registry; 0: never told
	uint32_t version, first_line;
	uint32_t table_size;
	uint8_t *table; // owned
};

// Places come again: their lines are worked out once.
struct python_line_memory {
	struct {
		uint32_t object;
		int32_t instruction;
		uint32_t line;
		bool known;
	} lines[LINES];
};

static void forget_objects(struct python_objects *o)
{
	// Of numbers that come from the target most may stand for nothing.
	for (uint32_t i = 0; i < o->count; i++)
		if (o->objects[i].table)
			free(o->objects[i].table);
	free(o->objects);
}

void python_fini(struct python *p)
{
	forget_objects(&p->told);
	forget_objects(&p->read);
	free(p->chains.ids);
	free(p->modules.ids);
	free(p->lines);
	python_remote_free(p->remote);
	*p = (struct python){ 0 };
}

void python_begin(struct python *p, const struct event_python *event)
{
	p->samples = event->samples;
	p->version = event->version;
	p->eval_start = event->eval_start;
	p->eval_end = event->eval_end;
	p->runtime = event->runtime;
	p->code_type = event->code_type;
	p->types = event->types;
}

void python_fork(const struct python *parent, struct python *child)
{
	if (child->version)
		return;
	child->version = parent->version;
	child->in_file = parent->in_file;
	child->eval_start = parent->eval_start;
	child->eval_end = parent->eval_end;
	child->runtime = parent->runtime;
	child->code_type = parent->code_type;
	child->types = parent->types;
}

// Code objects.

static struct python_object *make_room(struct python_objects *o, uint32_t number)
{
	if (number >= OBJECTS_MAX || !array_reserve(&o->objects, &o->capacity, number + 1))
		return NULL;
	if (number >= o->count) {
		memset(o->objects + o->count, 0, (number + 1 - o->count) * sizeof(*o->objects));
		o->count = number + 1;
	}
	return &o->objects[number];
}

// NULL: nothing better than NAME is known, or no memory.
static char *qualify(const char *file, const char *name, uint32_t first_line)
{
	const struct foreign_rules rules = { .max_bytes = SOURCE_MAX };
	struct stat st;

	if (*file != '/' || *name == '<')
		return NULL;
	cleanup_close int fd = foreign_open(file, &rules, &st, NULL);
	cleanup_free char *text = fd >= 0 ? malloc((size_t)st.st_size + 1) : NULL;
	ssize_t size = text ? read(fd, text, (size_t)st.st_size) : -1;
	return size > 0 ? python_qualified_name(text, (size_t)size, first_line, name) : NULL;
}

// What exec() made has no place, and is nothing that the user has written. Where the program itself
// is such a text, nobody can tell them apart.
static const char *file_of(const struct python *p, const char *file)
{
	return p->in_file && strcmp(file, "<string>") == 0 ? ORIGIN_MADE : file;
}

static uint32_t name_code(const struct python *p, struct codes *codes,
                          const struct event_python_code *event)
{
	cleanup_free char *file = strndup(event->file, event->file_bytes);
	cleanup_free char *name = strndup(event->name, event->name_bytes);

	if (!file || !name)
		return 0;
	cleanup_free char *qualified =
		event->version < QUALIFIED ? qualify(file, name, event->first_line) : NULL;
	return codes_add(codes, &(struct code){ file_of(p, file), qualified ? qualified : name,
	                                        event->first_line });
}

static bool fill(const struct python *p, struct python_object *object, struct codes *codes,
                 const struct event_python_code *event)
{
	uint8_t *table = malloc((size_t)event->table_bytes + 1);
	if (!table)
		return false;
	memcpy(table, event->table, event->table_bytes);
	*object = (struct python_object){
		.code = name_code(p, codes, event),
		.version = event->version,
		.first_line = event->first_line,
		.table_size = event->table_bytes,
		.table = table,
	};
	return object->code != 0;
}

uint32_t python_code_of(const struct python *p, uint32_t number)
{
	return number < p->told.count ? p->told.objects[number].code : 0;
}

bool python_add_code(struct python *p, struct codes *codes, const struct event_python_code *event)
{
	struct python_object *object = make_room(&p->told, event->code);

	if (!object || object->code)
		return event->code >= OBJECTS_MAX || object;
	return fill(p, object, codes, event);
}

uint32_t python_add_read(struct python *p, struct codes *codes,
                         const struct event_python_code *event)
{
	uint32_t number = p->read.count;
	struct python_object *object = make_room(&p->read, number);

	return object && fill(p, object, codes, event) ? number | PYTHON_READ : 0;
}

// NULL: it was never told.
static const struct python_object *object_of(const struct python *p, uint32_t number)
{
	const struct python_objects *o = number & PYTHON_READ ? &p->read : &p->told;

	number &= ~PYTHON_READ;
	return number < o->count && o->objects[number].code ? &o->objects[number] : NULL;
}

static uint32_t line_of(struct python *p, const struct python_object *object, uint32_t number,
                        int32_t instruction)
{
	size_t slot = hash_pair(number, (uint32_t)instruction) % LINES;

	if (!p->lines)
		p->lines = calloc(1, sizeof(*p->lines));
	if (p->lines && p->lines->lines[slot].known && p->lines->lines[slot].object == number &&
	    p->lines->lines[slot].instruction == instruction)
		return p->lines->lines[slot].line;
	uint32_t line = python_line(object->version, object->table, object->table_size,
	                            object->first_line, instruction);
	if (p->lines) {
		p->lines->lines[slot].object = number;
		p->lines->lines[slot].instruction = instruction;
		p->lines->lines[slot].line = line;
		p->lines->lines[slot].known = true;
	}
	return line;
}

struct frame python_frame_at(struct python *p, const struct python_frame *frame)
{
	const struct python_object *object = object_of(p, frame->code);

	if (!object)
		return frame_of_python(0, 0);
	return frame_of_python(object->code, line_of(p, object, frame->code, frame->instruction));
}

// Chains of callers.

static uint32_t *make_number(struct python_numbers *n, uint32_t number)
{
	if (number >= NUMBERS_MAX || !array_reserve(&n->ids, &n->capacity, number + 1))
		return NULL;
	for (; n->count <= number; n->count++)
		n->ids[n->count] = 0;
	return &n->ids[number];
}

static uint32_t id_of(const struct python_numbers *n, uint32_t number)
{
	return number < n->count ? n->ids[number] : 0;
}

bool python_name_module(struct python *p, struct codes *codes,
                        const struct event_torch_module *event)
{
	uint32_t *known = make_number(&p->modules, event->number);

	if (!known)
		return event->number >= NUMBERS_MAX;
	if (*known)
		return codes_name_module(codes, *known, event->name);
	*known = codes_add_module(codes, event->name);
	return *known != 0;
}

// CALL, or the call of the module that frame INDEX is the call of.
static uint32_t add_module(const struct python *p, struct codes *codes, uint32_t call,
                           const struct event_python_chain *event, uint32_t index)
{
	for (uint32_t i = 0; i < event->module_count; i++) {
		uint32_t module = id_of(&p->modules, event->modules[i].module);
		if (event->modules[i].frame == index && module)
			return codes_add_call(codes, call, frame_of_module(module));
	}
	return call;
}

bool python_add_chain(struct python *p, struct codes *codes, const struct event_python_chain *event)
{
	uint32_t *known = make_number(&p->chains, event->number);
	uint32_t call = 0;

	if (!known || *known)
		return event->number >= NUMBERS_MAX || known;
	for (uint32_t i = event->chain->count; i > 0; i--) {
		call = add_module(p, codes, call, event, i - 1);
		call = codes_add_call(codes, call,
		                      python_frame_at(p, &event->chain->frames[i - 1]));
		if (!call)
			return false;
	}
	*known = call;
	return true;
}

uint32_t python_chain_of(const struct python *p, uint32_t number)
{
	return id_of(&p->chains, number);
}

// Places.

struct weave {
	struct python *python;
	const struct python_chain *chain;
	const struct python_native *native;
	struct python_stack *out;
	uint32_t interpreter; // module; 0 if unknown
	uint64_t bias;        // of the interpreter's code
	size_t at;            // the native frame that comes next
	uint32_t next;        // and the Python frame
	uint32_t innermost;   // the first of those
};

static void put(struct weave *w, struct frame frame, uint64_t sp)
{
	struct python_stack *out = w->out;

	if (out->count == STACK_MAX_FRAMES)
		return;
	out->sps[out->count] = sp;
	out->frames[out->count++] = frame;
}

static bool is_interpreter(const struct weave *w, size_t at)
{
	return w->interpreter && w->native->frames[at].module == w->interpreter;
}

// In anonymous memory, as the code that the interpreter makes.
static bool is_made(const struct weave *w, size_t at)
{
	const struct python_native *native = w->native;

	if (w->python->version < MAKES_CODE || at >= native->count ||
	    native->frames[at].kind == FRAME_MARK)
		return false;
	const struct module *module =
		native->modules ? modules_get(native->modules, native->frames[at].module) : NULL;
	return module && module->kind == MODULE_JIT;
}

// The interpreter's JIT compiler runs a function in place of its loop, which END holds: the frames
// [first, returned) are of its code. Code that other compilers have made is called by their own.
static size_t find_compiled(const struct weave *w, size_t end, size_t *first)
{
	size_t at = end;

	for (unsigned i = 0; i < ENTRY_CALLS && at > w->at && is_interpreter(w, at - 1); i++)
		at--;
	for (*first = at; *first > w->at && is_made(w, *first - 1);)
		--*first;
	return at;
}

// The native frames up to, and without, END.
static void put_native(struct weave *w, size_t end)
{
	for (; w->at < end; w->at++)
		put(w, w->native->frames[w->at], w->native->sps[w->at]);
}

static void put_other_native(struct weave *w, size_t end)
{
	for (; w->at < end; w->at++)
		if (!is_interpreter(w, w->at))
			put(w, w->native->frames[w->at], w->native->sps[w->at]);
}

// What a Python function has called: the innermost, or one whose callee calls Python again, as a
// key function's of sorted(). CALL: END is a call of the interpreter.
static void put_called(struct weave *w, size_t end, bool call)
{
	size_t first = end, compiled = call ? find_compiled(w, end, &first) : end;

	for (; w->at < end; w->at++) {
		struct frame frame = w->native->frames[w->at];
		if (is_interpreter(w, w->at) || (w->at >= first && w->at < compiled))
			frame.kind = frame.kind == FRAME_EXACT ? FRAME_INTERPRETER_EXACT
			                                       : FRAME_INTERPRETER_RETURN;
		put(w, frame, w->native->sps[w->at]);
	}
}

// By how many functions of the interpreter most calls have gone so far.
static size_t usual_call(const struct python *p)
{
	size_t most = PYTHON_PLAIN_CALL;

	for (size_t i = PYTHON_PLAIN_CALL; i > 0; i--)
		most = p->calls[i] > p->calls[most] ? i : most;
	return most;
}

// Up to 3.10 each call of a Python function by another goes by some functions of the interpreter.
// Where there are more of them than usual, one may be a C function that was called.
static bool is_plain_call(const struct weave *w, size_t end)
{
	size_t count = 0;

	for (size_t i = w->at; i < end; i++)
		count += is_interpreter(w, i);
	if (w->python->version >= ANCHORED || count > PYTHON_PLAIN_CALL)
		return false;
	w->python->calls[count]++;
	return count <= usual_call(w->python);
}

static bool is_eval(const struct weave *w, size_t at)
{
	const struct frame *frame = &w->native->frames[at];
	uint64_t address = frame_lookup_address(*frame) + w->bias;

	return is_interpreter(w, at) && address >= w->python->eval_start &&
	       address < w->python->eval_end;
}

// A Python function that was left before the frames were read, as generators are all the time,
// stood among the innermost native frames: its time is not that of the C function that called it.
static bool has_left(const struct weave *w, size_t end)
{
	for (size_t i = w->at; w->native->earlier && w->next == w->innermost && i < end; i++)
		if (is_eval(w, i))
			return true;
	return false;
}

// The native frames between the last Python frame and the next one, which END holds.
static void put_between(struct weave *w, size_t end)
{
	if (!has_left(w, end) && (w->next == w->innermost || !is_plain_call(w, end)))
		put_called(w, end, true);
	else
		put_other_native(w, end);
}

// The Python frames of one call of the interpreter, which has SP.
static void put_python(struct weave *w, uint64_t sp)
{
	const struct python_frame *frames = w->chain->frames;
	bool last = false;

	while (!last && w->next < w->chain->count) {
		last = frames[w->next].anchor != 0;
		put(w, python_frame_at(w->python, &frames[w->next]), sp);
		w->next++;
	}
}

static bool holds(const struct python_native *native, size_t at, uint64_t address)
{
	if (native->frames[at].kind == FRAME_MARK || !native->sps[at] || at + 1 == native->count)
		return false;
	return address >= native->sps[at] && address < native->sps[at + 1];
}

// The anchor of the call whose innermost frame is FRAME; 0: it has none.
static uint64_t anchor_from(const struct weave *w, uint32_t frame)
{
	for (uint32_t i = frame; i < w->chain->count; i++)
		if (w->chain->frames[i].anchor)
			return w->chain->frames[i].anchor;
	return 0;
}

static size_t find_anchor(const struct weave *w, uint64_t anchor)
{
	const struct python_native *native = w->native;

	for (size_t i = w->at; i < native->count; i++)
		if (holds(native, i, anchor))
			return i;
	return native->count;
}

// Calls of the interpreter that the thread has made since the native frames were taken have none of
// them. If one does that has made these calls, the Python frames of that come first.
static void drop_later_calls(struct weave *w)
{
	for (uint32_t i = 0; w->native->earlier && i < w->chain->count; i++) {
		uint64_t anchor = anchor_from(w, i);
		bool first = i == 0 || w->chain->frames[i - 1].anchor;
		if (!first || !anchor || find_anchor(w, anchor) == w->native->count)
			continue;
		w->next = w->innermost = i;
		return;
	}
}

static void place_by_anchors(struct weave *w)
{
	drop_later_calls(w);
	while (w->next < w->chain->count) {
		uint64_t anchor = anchor_from(w, w->next);
		size_t at = anchor ? find_anchor(w, anchor) : w->native->count;
		if (at == w->native->count)
			return;
		put_between(w, at);
		put_python(w, w->native->sps[at]);
		w->at = at + 1;
		// What names the function to perf (-X perf): it is known here.
		while (is_made(w, w->at))
			w->at++;
	}
}

static size_t count_evals(const struct weave *w)
{
	size_t count = 0;

	for (size_t i = 0; i < w->native->count; i++)
		count += is_eval(w, i);
	return count;
}

// One call for each function. One more is entering, or leaving.
static void place_by_calls(struct weave *w)
{
	size_t evals = count_evals(w);
	size_t extra = evals > w->chain->count ? evals - w->chain->count : 0;

	for (size_t i = 0; i < w->native->count && w->next < w->chain->count; i++) {
		if (!is_eval(w, i))
			continue;
		if (extra) {
			extra--;
			continue;
		}
		put_between(w, i);
		put(w, python_frame_at(w->python, &w->chain->frames[w->next++]), w->native->sps[i]);
		w->at = i + 1;
	}
}

static void find_interpreter(struct weave *w)
{
	struct mapping *mapping = address_space_find(w->native->space, w->python->eval_start);

	if (!w->python->eval_start || !mapping)
		return;
	w->interpreter = mapping->module;
	w->bias = mapping->has_bias ? mapping->bias : 0;
}

static bool is_cut(const struct python_native *native)
{
	return native->count && native->frames[native->count - 1].kind == FRAME_MARK;
}

// What found no place stands where the native stack was cut, or else above all of it.
static void put_rest(struct weave *w)
{
	size_t end = w->native->count - is_cut(w->native);

	if (!w->chain->count)
		put_native(w, end);
	else if (w->next == w->innermost && !has_left(w, end))
		put_called(w, end, false);
	else
		put_other_native(w, end);
	for (; w->next < w->chain->count; w->next++)
		put(w, python_frame_at(w->python, &w->chain->frames[w->next]), 0);
	w->out->whole = w->chain->count && !(w->chain->flags & PYTHON_CUT);
	if (!w->out->whole)
		put_native(w, w->native->count);
}

void python_place(struct python *p, const struct python_chain *chain,
                  const struct python_native *native, struct python_stack *out)
{
	struct weave w = { .python = p, .chain = chain, .native = native, .out = out };

	out->count = 0;
	find_interpreter(&w);
	if (p->version >= ANCHORED)
		place_by_anchors(&w);
	else if (w.interpreter)
		place_by_calls(&w);
	put_rest(&w);
}
