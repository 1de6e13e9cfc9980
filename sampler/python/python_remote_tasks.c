// SPDX-License-Identifier: MIT
#include "sampler/python/python_remote_tasks.h"

#include "base/hash.h"
#include "sampler/python/python.h"

#include <string.h>

#define NONE             (-1)
#define INTERPRETERS_MAX 16
#define ENTRIES_MAX      (UINT64_C(1) << 16) // of a dictionary
#define SET_MAX          (UINT64_C(1) << 22) // places in it
#define STATES_MAX       4096
#define LIST_MAX         (UINT64_C(1) << 16) // tasks
#define LIST_PART        1024                // of them, whose pages are kept
#define TASK_WORDS       32                  // of a task that are searched
#define VALUES_MAX       8                   // attributes of a WeakSet that are looked at
#define CHAIN_MAX        64
#define TYPE_NAME        24
#define FRAME_BEFORE     (-2)
#define CODE_MAX         (INT64_C(1) << 30)
#define OPERANDS_MAX     (1 << 16)

// The same in all of these versions: PyModuleObject, PyDictObject, PySetObject, PyWeakReference,
// PyTypeObject, what wraps a coroutine, and futures.
#define MODULE_DICT   16
#define DICT_KEYS     32
#define DICT_VALUES   40
#define SET_MASK      32
#define SET_TABLE     40
#define SET_ENTRY     16
#define REFERENCE_TO  16
#define TYPE_NAME_AT  24
#define TYPE_SIZE     32
#define WRAPPED_AT    16
#define FUTURE_LOOP   16 // of asyncio's C code, tasks too
#define CALLBACK_AT   24
#define CALLBACKS_AT  40
#define NEW_KEYS      PYTHON_VERSION(11) // dictionaries have the sizes of their keys as powers of 2
#define KEYS_IN_FRONT PYTHON_VERSION(11) // and objects their values in front of themselves

// offsetof() of each version's own headers, as in base/python_layout.c.
static const struct tasks_layout {
	uint32_t version;
	int32_t interpreter_modules;
	int32_t coroutine_frame; // a pointer up to 3.10; the frame itself later
	int32_t coroutine_state; // -: suspended, 0: runs, +: over. Up to 3.9: nonzero: it runs;
	                         // from 3.15 on see enum frame_state
	int32_t frame_state;     // 3.10: the same, in the frame
	int32_t frame_top;       // up to 3.9 a pointer; later how many operands, or variables and
	                         // operands
} layouts[] = {
	{ PYTHON_VERSION(8), 56, 16, 24, NONE, 72 },
	{ PYTHON_VERSION(9), 856, 16, 24, NONE, 72 },
	{ PYTHON_VERSION(10), 856, 16, NONE, 108, 80 },
	{ PYTHON_VERSION(11), 888, 80, 75, NONE, 64 },
	{ PYTHON_VERSION(12), 944, 72, 67, NONE, 64 },
	{ PYTHON_VERSION(13), 0, 72, 67, NONE, 64 },
};

// Where _PyRuntime of 3.13 and later reports interpreter_modules, and that of 3.14 and 3.15 the
// rest.
#define MODULES_AT_3_13 88
#define MODULES_AT      96
#define OWN_LIMIT       (UINT64_C(1) << 20)
static const struct own_places {
	uint32_t version;
	int32_t frame_top, coroutine_frame, coroutine_state;
} own_places[] = {
	{ PYTHON_VERSION(14), 296, 680, 688 },
	{ PYTHON_VERSION(15), 360, 808, 816 },
};

// Of coroutines and generators, from 3.15 on.
#define NEW_STATES PYTHON_VERSION(15)
enum frame_state {
	STATE_AWAITS = 2, // is suspended in an await or a yield from
	STATE_AWAITS_LOCKED,
	STATE_RUNS,
	STATE_OVER
};

enum kind {
	KIND_OTHER = 1,
	KIND_COROUTINE, // and generators
	KIND_WRAPPER,
	KIND_SET
};

struct look {
	struct python_remote_tasks *t;
	struct python_remote_codes *codes;
	const struct python_remote_source *from;
	const struct tasks_layout *layout;
	const struct python_tasks_wanted *wanted;
};

static uint64_t word_at(const struct look *l, uint64_t address, int64_t offset)
{
	return remote_memory_word(l->from->memory, address + (uint64_t)offset);
}

static bool read_at(const struct look *l, uint64_t address, void *to, size_t size)
{
	return remote_memory_read(l->from->memory, address, to, size);
}

static enum kind kind_of_name(const char *name)
{
	static const struct {
		const char *name;
		enum kind kind;
	} kinds[] = {
		{ "coroutine", KIND_COROUTINE },
		{ "generator", KIND_COROUTINE },
		{ "async_generator", KIND_COROUTINE },
		{ "coroutine_wrapper", KIND_WRAPPER },
		{ "async_generator_asend", KIND_WRAPPER },
		{ "async_generator_athrow", KIND_WRAPPER },
		{ "set", KIND_SET },
	};

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (strcmp(kinds[i].name, name) == 0)
			return kinds[i].kind;
	return KIND_OTHER;
}

// A static type stays where it is; others are KIND_OTHER, whatever comes to lie there.
static enum kind kind_of(const struct look *l, uint64_t object)
{
	uint64_t type =
		object && object % 8 == 0 ? word_at(l, object, l->from->layout->object_type) : 0;
	size_t slot = hash_mix(type) % (sizeof(l->t->kinds) / sizeof(l->t->kinds[0]));
	char name[TYPE_NAME] = "";

	if (!type || type % 8)
		return KIND_OTHER;
	if (l->t->kinds[slot].type == type)
		return (enum kind)l->t->kinds[slot].kind;
	uint64_t text = word_at(l, type, TYPE_NAME_AT);
	if (!text || !read_at(l, text, name, sizeof(name)) || !memchr(name, '\0', sizeof(name)))
		return KIND_OTHER;
	l->t->kinds[slot].type = type;
	l->t->kinds[slot].kind = kind_of_name(name);
	return kind_of_name(name);
}

// Dictionaries.

struct entries {
	uint64_t at, count;
	unsigned key, value, size; // of an entry
};

static bool find_entries(const struct look *l, uint64_t keys, struct entries *out)
{
	uint8_t head[40];

	if (!keys || keys % 8 || !read_at(l, keys, head, sizeof(head)))
		return false;
	if (l->from->layout->version >= NEW_KEYS) {
		uint8_t index_bits = head[9];
		bool general = head[10] == 0;
		if (index_bits > 32)
			return false;
		memcpy(&out->count, head + 24, 8);
		out->at = keys + 32 + (UINT64_C(1) << index_bits);
		out->key = general ? 8 : 0;
		out->size = general ? 24 : 16;
	} else {
		uint64_t size;
		memcpy(&size, head + 8, 8);
		memcpy(&out->count, head + 32, 8);
		out->at = keys + 40 + size * (size <= UINT8_MAX ? 1 : size <= UINT16_MAX ? 2 : 4);
		out->key = 8;
		out->size = 24;
	}
	out->value = out->key + 8;
	return out->count <= ENTRIES_MAX;
}

// What DICT has for KEY; 0: nothing.
static uint64_t dict_get(const struct look *l, uint64_t dict, const char *key)
{
	char text[PYTHON_REMOTE_TEXT];
	size_t length = strlen(key);
	struct entries e;

	if (!dict || !find_entries(l, word_at(l, dict, DICT_KEYS), &e))
		return 0;
	for (uint64_t i = 0; i < e.count; i++) {
		uint64_t name = word_at(l, e.at + i * e.size, e.key);
		if (name && word_at(l, name, l->from->layout->text_length) == length &&
		    python_remote_text(l->from, name, text) == length &&
		    memcmp(text, key, length) == 0)
			return word_at(l, e.at + i * e.size, e.value);
	}
	return 0;
}

// The first set among them; 0: there is none.
static uint64_t set_among(const struct look *l, uint64_t values, unsigned step)
{
	for (unsigned i = 0; values && i < VALUES_MAX; i++) {
		uint64_t value = word_at(l, values, (int64_t)i * step);
		if (kind_of(l, value) == KIND_SET)
			return value;
	}
	return 0;
}

static uint64_t set_in_dict(const struct look *l, uint64_t dict)
{
	uint64_t values = dict ? word_at(l, dict, DICT_VALUES) : 0;
	struct entries e;

	if (!dict || dict % 8)
		return 0;
	if (values)
		return set_among(
			l, values + (l->from->layout->version >= PYTHON_VERSION(13) ? 8 : 0), 8);
	return find_entries(l, word_at(l, dict, DICT_KEYS), &e)
	               ? set_among(l, e.at + e.value, e.size)
	               : 0;
}

// The set that the WeakSet at OBJECT has for its "data", which is its first attribute.
static uint64_t set_of(const struct look *l, uint64_t object)
{
	uint32_t version = l->from->layout->version;
	uint64_t found;

	if (version < KEYS_IN_FRONT)
		return set_in_dict(l, word_at(l, object, 16));
	uint64_t dict = word_at(l, object, -24);
	if (version == PYTHON_VERSION(11)) {
		found = set_among(l, word_at(l, object, -32), 8);
		return found ? found : set_in_dict(l, dict);
	}
	if (version == PYTHON_VERSION(12))
		return dict & 1 ? set_among(l, dict + 1, 8) : set_in_dict(l, dict);
	uint64_t type = word_at(l, object, l->from->layout->object_type);
	found = set_among(l, object + word_at(l, type, TYPE_SIZE) + 8, 8);
	return found ? found : set_in_dict(l, dict);
}

// Where the tasks are.

static const struct tasks_layout *layout_of(uint32_t version)
{
	for (size_t i = 0; i < sizeof(layouts) / sizeof(layouts[0]); i++)
		if (layouts[i].version == version)
			return &layouts[i];
	return NULL;
}

// False: it cannot be.
static bool read_offset(const struct look *l, uint64_t runtime, int32_t at, int32_t *out)
{
	uint64_t offset = word_at(l, runtime, at);

	*out = (int32_t)offset;
	return offset > 0 && offset < OWN_LIMIT;
}

static bool read_layout(const struct look *l, uint64_t runtime, struct tasks_layout *out)
{
	uint32_t version = l->from->layout->version;

	*out = (struct tasks_layout){ .version = version, .frame_state = NONE };
	for (size_t i = 0; i < sizeof(own_places) / sizeof(own_places[0]); i++)
		if (own_places[i].version == version)
			return read_offset(l, runtime, own_places[i].coroutine_frame,
			                   &out->coroutine_frame) &&
			       read_offset(l, runtime, own_places[i].coroutine_state,
			                   &out->coroutine_state) &&
			       read_offset(l, runtime, own_places[i].frame_top, &out->frame_top);
	return false;
}

static uint64_t modules_at(const struct look *l, uint64_t runtime)
{
	if (l->layout && l->layout->interpreter_modules)
		return (uint64_t)l->layout->interpreter_modules;
	return word_at(l, runtime,
	               l->from->layout->version == PYTHON_VERSION(13) ? MODULES_AT_3_13
	                                                              : MODULES_AT);
}

// The dictionary of asyncio.tasks; 0: no interpreter has imported it.
static uint64_t find_module(const struct look *l, uint64_t runtime)
{
	const struct python_layout *layout = l->from->layout;
	uint64_t modules = modules_at(l, runtime);
	uint64_t interpreter = word_at(l, runtime, layout->runtime_interpreters), module;

	if (!modules || modules > OWN_LIMIT)
		return 0;
	for (int i = 0; interpreter && i < INTERPRETERS_MAX; i++) {
		module = dict_get(l, word_at(l, interpreter, (int64_t)modules), "asyncio.tasks");
		if (module)
			return word_at(l, module, MODULE_DICT + (layout->object_type - 8));
		interpreter = word_at(l, interpreter, layout->interpreter_next);
	}
	return 0;
}

static bool has_own(const struct look *l)
{
	struct python_remote_tasks *t = l->t;
	const struct python_tasks_own *own = &t->own;

	if (!t->asked && l->wanted->find_own)
		t->asked = l->wanted->find_own(l->wanted->pid, &t->own);
	return t->asked && own->task.node < OWN_LIMIT && own->interpreter.head < OWN_LIMIT &&
	       own->thread.head < OWN_LIMIT && own->task.node && own->thread.head;
}

static enum python_tasks_found find_tasks(const struct look *l, uint64_t runtime)
{
	uint64_t module = find_module(l, runtime);

	if (!module)
		return PYTHON_TASKS_NONE;
	if (!l->layout || l->from->layout->free_threaded)
		return PYTHON_TASKS_UNKNOWN;
	if (l->layout->version >= PYTHON_VERSION(14))
		return has_own(l) ? PYTHON_TASKS_FOUND : PYTHON_TASKS_UNKNOWN;
	uint64_t set = dict_get(l, module, "_scheduled_tasks");
	l->t->set = set ? set : dict_get(l, module, "_all_tasks");
	return l->t->set ? PYTHON_TASKS_FOUND : PYTHON_TASKS_NONE; // it is being imported
}

// Coroutines.

// What a coroutine was found doing.
struct coroutine {
	uint64_t at;
	enum python_task_state state; // RUNNING, or WAITING: suspended, or not begun
	bool over;
	uint64_t frame, code, awaited; // AWAITED: 0: nothing of which more is known
	int32_t instruction;
};

static uint64_t top_operand(const struct look *l, uint64_t frame, uint64_t code)
{
	const struct python_layout *layout = l->from->layout;
	uint64_t operands;
	int32_t top;

	if (l->layout->version <= PYTHON_VERSION(9)) {
		uint64_t end = word_at(l, frame, l->layout->frame_top);
		operands = word_at(l, frame, layout->frame_operands);
		return end > operands && end - operands < OPERANDS_MAX ? word_at(l, end, -8) : 0;
	}
	top = (int32_t)word_at(l, frame, l->layout->frame_top);
	if (l->layout->version == PYTHON_VERSION(10)) {
		operands = word_at(l, frame, layout->frame_operands);
		return top > 0 && top < OPERANDS_MAX ? word_at(l, operands, 8 * ((int64_t)top - 1))
		                                     : 0;
	}
	// With the cells of variables, which come before the operands.
	if (l->layout->version >= PYTHON_VERSION(14)) {
		uint64_t end = word_at(l, frame, l->layout->frame_top);
		// From 3.15 on what is iterated over has one more above it.
		uint64_t depth = l->layout->version >= PYTHON_VERSION(15) ? 16 : 8;
		operands = frame + (uint64_t)layout->frame_locals +
		           8 * (word_at(l, code, layout->code_locals) & UINT32_MAX);
		return end >= operands + depth && end - operands < OPERANDS_MAX
		               ? word_at(l, end - depth, 0) & ~PYTHON_TAG_BITS
		               : 0;
	}
	int32_t locals = (int32_t)word_at(l, code, layout->code_locals);
	return top > locals && top < OPERANDS_MAX
	               ? word_at(l, frame, layout->frame_locals + 8 * ((int64_t)top - 1))
	               : 0;
}

static int32_t instruction_of(const struct look *l, uint64_t frame, uint64_t code)
{
	const struct python_layout *layout = l->from->layout;
	uint64_t value = word_at(l, frame, layout->frame_instruction);

	if (layout->code_start >= 0) {
		int64_t place = (int64_t)(value - code - (uint64_t)layout->code_start);
		return place >= FRAME_BEFORE && place < CODE_MAX ? (int32_t)place : FRAME_BEFORE;
	}
	int32_t last = (int32_t)value;
	return layout->version >= PYTHON_VERSION(10) && last > 0 && last < CODE_MAX ? last * 2
	                                                                            : last;
}

// -: suspended, 0: runs, +: over. AWAITS: it may be in an await.
static int state_of(uint32_t version, int8_t state, bool *awaits)
{
	*awaits = true;
	if (version <= PYTHON_VERSION(9))
		return state ? 0 : -1;
	if (version < NEW_STATES)
		return state;
	*awaits = state == STATE_AWAITS || state == STATE_AWAITS_LOCKED;
	return state == STATE_RUNS ? 0 : state >= STATE_OVER ? 1 : -1;
}

static bool read_coroutine(const struct look *l, uint64_t at, struct coroutine *out)
{
	const struct tasks_layout *layout = l->layout;
	bool has_frame = layout->version <= PYTHON_VERSION(10);
	int8_t raw = 0;
	bool awaits;

	*out = (struct coroutine){ .at = at };
	out->frame = has_frame ? word_at(l, at, layout->coroutine_frame)
	                       : at + (uint64_t)layout->coroutine_frame;
	out->over = !out->frame;
	if (out->over)
		return true;
	if (!read_at(l,
	             layout->frame_state >= 0 ? out->frame + (uint64_t)layout->frame_state
	                                      : at + (uint64_t)layout->coroutine_state,
	             &raw, 1))
		return false;
	int state = state_of(layout->version, raw, &awaits);
	out->over = state > 0;
	out->state = state ? PYTHON_TASK_WAITING : PYTHON_TASK_RUNNING;
	if (out->over)
		return true;
	out->code = word_at(l, out->frame, l->from->layout->frame_code) & ~PYTHON_TAG_BITS;
	if (!out->code)
		return false;
	out->instruction = instruction_of(l, out->frame, out->code);
	out->awaited = state && awaits ? top_operand(l, out->frame, out->code) : 0;
	return true;
}

static uint64_t unwrap(const struct look *l, uint64_t object)
{
	enum kind kind = kind_of(l, object);

	if (kind == KIND_WRAPPER)
		object = word_at(l, object, WRAPPED_AT);
	return kind == KIND_COROUTINE || kind_of(l, object) == KIND_COROUTINE ? object : 0;
}

static bool add_frame(const struct look *l, struct python_task *task, const struct coroutine *c)
{
	uint32_t number = python_remote_code(l->codes, l->from, c->code);

	if (!number)
		return false;
	task->frames[task->count++] =
		(struct python_frame){ .code = number, .instruction = c->instruction };
	return true;
}

static void read_chain(const struct look *l, struct python_task *task,
                       const struct coroutine *first)
{
	struct coroutine c = *first;
	uint64_t next = unwrap(l, c.awaited);

	for (int i = 0; next && i < CHAIN_MAX && task->count < PYTHON_TASK_FRAMES; i++) {
		if (!read_coroutine(l, next, &c) || c.over || c.state == PYTHON_TASK_RUNNING ||
		    !add_frame(l, task, &c)) {
			task->cut = true;
			return;
		}
		next = unwrap(l, c.awaited);
	}
}

// It has not gone on meanwhile.
static bool is_still(const struct look *l, const struct coroutine *before, uint64_t waiter_at,
                     uint64_t waiter)
{
	struct remote_memory *m = l->from->memory;
	struct coroutine now;

	remote_memory_begin(m, m->read, m->context);
	return word_at(l, waiter_at, 0) == waiter && read_coroutine(l, before->at, &now) &&
	       !now.over && now.state == before->state && now.code == before->code &&
	       now.instruction == before->instruction && now.awaited == before->awaited;
}

// Tasks.

static uint64_t coroutine_in(const struct look *l, uint64_t task)
{
	if (!l->t->coroutine_at)
		for (int64_t i = 3; i < TASK_WORDS; i++)
			if (kind_of(l, word_at(l, task, 8 * i)) == KIND_COROUTINE) {
				l->t->coroutine_at = (int32_t)(8 * i);
				break;
			}
	uint64_t found = l->t->coroutine_at ? word_at(l, task, l->t->coroutine_at) : 0;
	return kind_of(l, found) == KIND_COROUTINE ? found : 0;
}

// Whether the future at WAITER has come, so that the step of the TASK which waits for it is
// scheduled: it drops its callbacks then. Both are of asyncio's C code if they have their loop at
// one place.
static bool is_done(const struct look *l, uint64_t task, uint64_t waiter)
{
	return word_at(l, waiter, FUTURE_LOOP) == word_at(l, task, FUTURE_LOOP) &&
	       !word_at(l, waiter, CALLBACK_AT) && !word_at(l, waiter, CALLBACKS_AT);
}

static bool read_task(const struct look *l, uint64_t at, struct python_task *task)
{
	uint64_t coroutine = coroutine_in(l, at);
	struct coroutine c;

	*task = (struct python_task){ .address = at };
	if (!coroutine || !read_coroutine(l, coroutine, &c) || c.over || !add_frame(l, task, &c))
		return false;
	// The future that it waits for is the word in front of its coroutine.
	uint64_t waiter_at = at + (uint64_t)l->t->coroutine_at - 8;
	uint64_t waiter = word_at(l, waiter_at, 0);
	task->state = c.state == PYTHON_TASK_RUNNING      ? PYTHON_TASK_RUNNING
	              : waiter && !is_done(l, at, waiter) ? PYTHON_TASK_WAITING
	                                                  : PYTHON_TASK_READY;
	if (task->state != PYTHON_TASK_WAITING)
		return true;
	read_chain(l, task, &c);
	if (!task->cut && is_still(l, &c, waiter_at, waiter))
		return true;
	task->count = 1;
	task->cut = true;
	return true;
}

static void look_at_set(const struct look *l, uint64_t data)
{
	struct remote_memory *m = l->from->memory;
	uint64_t mask = word_at(l, data, SET_MASK), table = word_at(l, data, SET_TABLE);
	uint64_t used = word_at(l, data, SET_MASK - 8), step = used / (PYTHON_TASKS_LOOKED / 2) + 1;
	uint64_t next = hash_mix(++l->t->drawn) % step, live = 0;
	uint64_t entries[REMOTE_PAGE / 8], looked = 0;
	struct python_task task;

	if (mask >= SET_MAX || !table)
		return;
	for (uint64_t i = 0; i <= mask && looked < PYTHON_TASKS_LOOKED;
	     i += sizeof(entries) / SET_ENTRY) {
		uint64_t count = mask + 1 - i;
		if (count > sizeof(entries) / SET_ENTRY)
			count = sizeof(entries) / SET_ENTRY;
		remote_memory_begin(m, m->read, m->context);
		if (!read_at(l, table + i * SET_ENTRY, entries, count * SET_ENTRY))
			return;
		for (uint64_t k = 0; k < count; k++) {
			if (!entries[2 * k] || live++ != next)
				continue;
			next += step;
			looked++;
			remote_memory_begin(m, m->read, m->context);
			if (!read_task(l, word_at(l, entries[2 * k], REFERENCE_TO), &task))
				continue;
			task.tasks = step;
			l->wanted->tell(l->wanted->context, &task);
		}
	}
}

// The tasks of the list whose head is at HEAD: their number, of which so many are in OUT.
static uint64_t list_tasks(const struct look *l, uint64_t head, uint64_t *out, uint64_t count)
{
	struct remote_memory *m = l->from->memory;
	uint64_t node = word_at(l, head, 0);

	for (uint64_t i = 0; node && node != head && count < LIST_MAX; i++, count++) {
		if (i % LIST_PART == 0)
			remote_memory_begin(m, m->read, m->context);
		// Of more than there is room for each takes the place of an earlier one, by chance.
		uint64_t at = count < PYTHON_TASKS_LOOKED
		                      ? count
		                      : hash_mix(count + ++l->t->drawn) % (count + 1);
		if (at < PYTHON_TASKS_LOOKED)
			out[at] = node - l->t->own.task.node;
		node = word_at(l, node, 0);
	}
	return count;
}

static void look_at_lists(const struct look *l, uint64_t runtime)
{
	const struct python_layout *layout = l->from->layout;
	struct remote_memory *m = l->from->memory;
	uint64_t tasks[PYTHON_TASKS_LOOKED], count = 0;
	uint64_t interpreter = word_at(l, runtime, layout->runtime_interpreters);
	struct python_task task;

	for (int i = 0; interpreter && i < INTERPRETERS_MAX; i++) {
		uint64_t state = word_at(l, interpreter, layout->interpreter_threads);
		count = list_tasks(l, interpreter + l->t->own.interpreter.head, tasks, count);
		for (int k = 0; state && k < STATES_MAX; k++) {
			count = list_tasks(l, state + l->t->own.thread.head, tasks, count);
			state = word_at(l, state, layout->thread_next);
		}
		interpreter = word_at(l, interpreter, layout->interpreter_next);
	}
	uint64_t looked = count < PYTHON_TASKS_LOOKED ? count : PYTHON_TASKS_LOOKED;
	for (uint64_t i = 0; i < looked; i++) {
		remote_memory_begin(m, m->read, m->context);
		if (!read_task(l, tasks[i], &task))
			continue;
		// Parts that add up to all.
		task.tasks = count * (i + 1) / looked - count * i / looked;
		l->wanted->tell(l->wanted->context, &task);
	}
}

enum python_tasks_found python_remote_tasks_look(struct python_remote_tasks *t,
                                                 struct python_remote_codes *codes,
                                                 const struct python_remote_source *from,
                                                 uint64_t runtime,
                                                 const struct python_tasks_wanted *wanted)
{
	struct look l = { t, codes, from, layout_of(from->layout->version), wanted };
	struct tasks_layout own;
	enum python_tasks_found found;

	if (!l.layout && read_layout(&l, runtime, &own))
		l.layout = &own;
	if (!t->set && !t->asked && (found = find_tasks(&l, runtime)) != PYTHON_TASKS_FOUND)
		return found;
	if (t->asked) {
		look_at_lists(&l, runtime);
		return PYTHON_TASKS_FOUND;
	}
	uint64_t data = set_of(&l, t->set);
	if (!data)
		return PYTHON_TASKS_NONE;
	look_at_set(&l, data);
	return PYTHON_TASKS_FOUND;
}
