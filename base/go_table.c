// SPDX-License-Identifier: MIT
#include "base/go_table.h"

#define MAGIC_1_16 UINT32_C(0xfffffffa)
#define MAGIC_1_18 UINT32_C(0xfffffff0)
#define MAGIC_1_20 UINT32_C(0xfffffff1)

// Go's src/runtime/symtab.go: pcHeader, and what its offsets lead to.
//
//	functions:  { entry, offset from here of a record } ..., entry of what follows the last
//	record:     entry, name, args, deferreturn, pcsp, pcfile, pcln, npcdata, unit ...
//	steps:      pairs of differences, of a value and of an address: one sequence a function
struct table {
	struct bytes names, units, files, steps, functions;
	uint64_t count, text;
	unsigned int pointer;    // bytes
	unsigned int quantum;    // of addresses
	unsigned int entry;      // bytes of the entry of a function
	unsigned int call_bytes; // of an inlined call in FUNCS; 0: these are elsewhere
	bool relative;           // entries are counted from TEXT
};

// Go's src/runtime/symtab.go: inlinedCall.
//
//	1.18:  { parent u16, kind u8, u8, file, line, name, instruction of the calling line }
//	1.20:  { kind u8, 3 bytes, name, instruction of the calling line, first line }
#define CALL_1_18      20 // bytes
#define CALL_1_20      16

#define STEPS_OF_CALLS 2 // PCDATA_InlTreeIndex
#define DATA_OF_CALLS  3 // FUNCDATA_InlTree
#define NO_TREE        UINT32_MAX
#define CALLS_MAX      (1 << 20) // of one function
#define CALLS_ENOUGH   64        // to know them by

#define STEPS_MAX      (1 << 20) // of one function: a damaged table has no end

static bool open_table(struct bytes bytes, struct table *t)
{
	struct cursor c = cursor_at(bytes, 0);
	uint32_t magic = cursor_u32(&c);
	uint16_t padding = cursor_u16(&c);
	uint64_t offsets[5];

	*t = (struct table){ 0 };
	t->quantum = cursor_u8(&c);
	t->pointer = cursor_u8(&c);
	if ((magic != MAGIC_1_16 && magic != MAGIC_1_18 && magic != MAGIC_1_20) || padding ||
	    !t->quantum || (t->pointer != 4 && t->pointer != 8))
		return false;
	t->count = cursor_number(&c, t->pointer);
	cursor_number(&c, t->pointer); // files
	t->relative = magic != MAGIC_1_16;
	t->call_bytes = magic == MAGIC_1_20 ? CALL_1_20 : magic == MAGIC_1_18 ? CALL_1_18 : 0;
	if (t->relative)
		t->text = cursor_number(&c, t->pointer);
	t->entry = t->relative ? 4 : t->pointer;
	for (int i = 0; i < 5; i++)
		offsets[i] = cursor_number(&c, t->pointer);
	t->names = bytes_slice(bytes, offsets[0], bytes.size);
	t->units = bytes_slice(bytes, offsets[1], bytes.size);
	t->files = bytes_slice(bytes, offsets[2], bytes.size);
	t->steps = bytes_slice(bytes, offsets[3], bytes.size);
	t->functions = bytes_slice(bytes, offsets[4], bytes.size);
	return !c.bad && t->count && t->count < t->functions.size / 2 / t->entry;
}

bool go_table_is_known(struct bytes table)
{
	struct table t;

	return open_table(table, &t);
}

static uint64_t number_at(struct bytes bytes, uint64_t offset, unsigned int size)
{
	struct cursor c = cursor_at(bytes, offset);

	return cursor_number(&c, size);
}

static uint64_t entry_of(const struct table *t, uint64_t index)
{
	uint64_t entry = number_at(t->functions, index * 2 * t->entry, t->entry);

	return t->relative ? t->text + entry : entry;
}

static struct cursor record_of(const struct table *t, uint64_t index)
{
	return cursor_at(t->functions,
	                 number_at(t->functions, index * 2 * t->entry + t->entry, t->entry));
}

// The function that holds ADDRESS; COUNT if there is none.
static uint64_t find_function(const struct table *t, uint64_t address)
{
	uint64_t low = 0, high = t->count;

	if (address < entry_of(t, 0) || address >= entry_of(t, t->count))
		return t->count;
	while (high - low > 1) {
		uint64_t middle = low + (high - low) / 2;
		if (entry_of(t, middle) <= address)
			low = middle;
		else
			high = middle;
	}
	return low;
}

// The value that holds at DISTANCE from the function's entry. -1: there is none.
static int64_t value_at(const struct table *t, uint32_t offset, uint64_t distance)
{
	struct cursor c = cursor_at(t->steps, offset);
	uint64_t at = 0;
	int64_t value = -1;

	if (!offset)
		return -1;
	for (int step = 0; !c.bad && step < STEPS_MAX; step++) {
		uint64_t difference = cursor_uleb(&c);
		if (!difference && step)
			return -1;
		value = (int64_t)((uint64_t)value +
		                  (difference & 1 ? ~(difference >> 1) : difference >> 1));
		at += cursor_uleb(&c) * t->quantum;
		if (!c.bad && distance < at)
			return value;
	}
	return -1;
}

static const char *file_of(const struct table *t, uint32_t unit, int64_t number)
{
	if (number < 0 || number > UINT32_MAX)
		return NULL;
	uint64_t offset = number_at(t->units, ((uint64_t)unit + (uint64_t)number) * 4, 4);
	const char *file = offset == UINT32_MAX ? NULL : bytes_string(t->files, offset);
	return file && *file ? file : NULL;
}

// A function by its record.
struct function {
	uint64_t start, end;
	uint32_t name, file, line, unit;
	uint32_t tree;  // offset in FUNCS of its inlined calls; NO_TREE: there are none
	uint32_t calls; // steps: which of these is at an address
};

static bool read_function(const struct table *t, uint64_t index, struct function *f)
{
	struct cursor c = record_of(t, index);
	uint32_t fields[8]; // from the name on

	cursor_skip(&c, t->entry);
	for (int i = 0; i < 8; i++)
		fields[i] = cursor_u32(&c);
	*f = (struct function){ .start = entry_of(t, index),
		                .end = entry_of(t, index + 1),
		                .name = fields[0],
		                .file = fields[4],
		                .line = fields[5],
		                .unit = fields[7],
		                .tree = NO_TREE };
	if (c.bad || !t->call_bytes)
		return !c.bad;
	cursor_skip(&c, t->call_bytes == CALL_1_20 ? 7 : 3); // up to the number of its data
	uint32_t steps = fields[6], data = cursor_u8(&c);
	if (steps <= STEPS_OF_CALLS || data <= DATA_OF_CALLS)
		return true;
	cursor_skip(&c, UINT64_C(4) * STEPS_OF_CALLS);
	f->calls = cursor_u32(&c);
	cursor_skip(&c, UINT64_C(4) * (steps - STEPS_OF_CALLS - 1 + DATA_OF_CALLS));
	f->tree = cursor_u32(&c);
	if (c.bad)
		f->tree = NO_TREE;
	return true;
}

static void find_line(const struct table *t, const struct function *f, uint64_t address,
                      struct go_place *place)
{
	uint64_t distance = address - f->start;
	int64_t row = value_at(t, f->line, distance);

	place->file = file_of(t, f->unit, value_at(t, f->file, distance));
	place->line = place->file && row > 0 && row < INT32_MAX ? (int)row : 0;
}

static bool find_place(const struct table *t, uint64_t address, struct function *f,
                       struct go_place *place)
{
	uint64_t index = find_function(t, address);

	if (index == t->count || !read_function(t, index, f))
		return false;
	const char *name = bytes_string(t->names, f->name);
	if (!name || !*name)
		return false;
	place->function = name;
	place->declared = file_of(t, f->unit, value_at(t, f->file, 0));
	find_line(t, f, address, place);
	return true;
}

// Call NUMBER of the tree of F: who is called, and an instruction of the line that calls. False: it
// cannot be.
static bool read_call(const struct table *t, const struct function *f, struct bytes funcs,
                      int64_t number, const char **name, uint64_t *by)
{
	bool newer = t->call_bytes == CALL_1_20;
	struct cursor c = cursor_at(funcs, f->tree + (uint64_t)number * t->call_bytes);

	cursor_skip(&c, newer ? 4 : 12);
	uint32_t at = cursor_u32(&c), distance = cursor_u32(&c);
	// Names stand one behind the other.
	*name = !c.bad && at < t->names.size && (!at || !t->names.data[at - 1])
	                ? bytes_string(t->names, at)
	                : NULL;
	*by = f->start + distance;
	return *name && **name && *by < f->end;
}

// With the start of the code, where the table leaves that to the loader. False: it is not known.
static bool open_with_text(struct bytes bytes, uint64_t text, struct table *t)
{
	if (!open_table(bytes, t))
		return false;
	if (t->relative && !t->text)
		t->text = text;
	return !t->relative || t->text;
}

size_t go_table_find(struct bytes table, uint64_t text, struct bytes funcs, uint64_t address,
                     struct go_place places[GO_INLINED_MAX])
{
	struct go_place outermost = { 0 }, place;
	struct function f;
	struct table t;
	size_t count = 0;

	if (!open_with_text(table, text, &t) || !find_place(&t, address, &f, &outermost))
		return 0;
	place = outermost;
	while (f.tree != NO_TREE && count + 1 < GO_INLINED_MAX) {
		int64_t number = value_at(&t, f.calls, address - f.start);
		if (number < 0 || number > CALLS_MAX ||
		    !read_call(&t, &f, funcs, number, &place.function, &address))
			break;
		place.declared = place.file;
		places[count++] = place;
		find_line(&t, &f, address, &place);
	}
	outermost.file = place.file;
	outermost.line = place.line;
	places[count++] = outermost;
	return count;
}

bool go_table_has(struct bytes table, uint64_t text, struct bytes funcs)
{
	struct table t;
	unsigned int found = 0;

	if (!open_with_text(table, text, &t) || !t.call_bytes)
		return false;
	for (uint64_t i = 0; i < t.count && found < CALLS_ENOUGH; i++) {
		struct function f;
		const char *name;
		uint64_t by;
		if (!read_function(&t, i, &f) || f.tree == NO_TREE)
			continue;
		if (!read_call(&t, &f, funcs, 0, &name, &by))
			return false;
		found++;
	}
	return found > 0;
}

bool go_table_function(struct bytes table, uint64_t text, const char *name, uint64_t *start,
                       uint64_t *end)
{
	struct table t;

	if (!open_with_text(table, text, &t))
		return false;
	for (uint64_t i = 0; i < t.count; i++) {
		struct cursor c = record_of(&t, i);
		cursor_skip(&c, t.entry);
		const char *own = bytes_string(t.names, cursor_u32(&c));
		if (c.bad || !own || strcmp(own, name) != 0)
			continue;
		*start = entry_of(&t, i);
		*end = entry_of(&t, i + 1);
		return *start < *end;
	}
	return false;
}
