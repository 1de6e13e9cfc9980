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
	unsigned int pointer; // bytes
	unsigned int quantum; // of addresses
	unsigned int entry;   // bytes of the entry of a function
	bool relative;        // entries are counted from TEXT
};

#define STEPS_MAX (1 << 20) // of one function: a damaged table has no end

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

static void find_place(const struct table *t, uint64_t address, struct go_place *place)
{
	uint64_t index = find_function(t, address);
	struct cursor c;
	uint32_t fields[8]; // from the name on

	if (index == t->count)
		return;
	c = record_of(t, index);
	cursor_skip(&c, t->entry);
	for (int i = 0; i < 8; i++)
		fields[i] = cursor_u32(&c);
	if (c.bad)
		return;
	uint32_t file = fields[4], line = fields[5], unit = fields[7];
	uint64_t distance = address - entry_of(t, index);
	const char *name = bytes_string(t->names, fields[0]);
	if (!name || !*name)
		return;
	int64_t row = value_at(t, line, distance);
	place->function = name;
	place->file = file_of(t, unit, value_at(t, file, distance));
	place->declared = file_of(t, unit, value_at(t, file, 0));
	place->line = place->file && row > 0 && row < INT32_MAX ? (int)row : 0;
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

void go_table_find(struct bytes table, uint64_t text, const uint64_t *addresses, size_t count,
                   struct go_place *places)
{
	struct table t;

	memset(places, 0, count * sizeof(*places));
	if (!open_with_text(table, text, &t))
		return;
	for (size_t i = 0; i < count; i++)
		find_place(&t, addresses[i], &places[i]);
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
