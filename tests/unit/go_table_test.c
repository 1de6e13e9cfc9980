// SPDX-License-Identifier: MIT
// On a table made by hand, of two functions, as Go 1.16, 1.18 and 1.20 write it.
#include "base/go_table.h"

#include "base/cleanup.h"
#include "tests/support/expect.h"

#include <stdlib.h>

#define TEXT 0x401000

struct made {
	uint8_t bytes[1024];
	size_t size;
};

static void put(struct made *m, uint64_t number, unsigned int size)
{
	memcpy(m->bytes + m->size, &number, size);
	m->size += size;
}

static size_t put_text(struct made *m, const char *text)
{
	size_t at = m->size;

	memcpy(m->bytes + m->size, text, strlen(text) + 1);
	m->size += strlen(text) + 1;
	return at;
}

static void put_record(struct made *m, unsigned int entry_size, uint64_t entry, uint32_t name,
                       uint32_t file, uint32_t line)
{
	put(m, entry, entry_size);
	put(m, name, 4);
	put(m, 0, 4); // args
	put(m, 0, 4); // deferreturn
	put(m, 1, 4); // pcsp
	put(m, file, 4);
	put(m, line, 4);
	put(m, 0, 4); // npcdata
	put(m, 0, 4); // unit
}

/*
 *	main.main   16 bytes: main.go:10, from 8 on an inlined call of list.go:3
 *	list.Add    16 bytes: list.go:7
 */
static struct made make(uint32_t magic, uint64_t text)
{
	bool old = magic == 0xfffffffa;
	unsigned int entry = old ? 8 : 4;
	uint64_t base = old ? TEXT : 0;
	struct made m = { 0 };

	put(&m, magic, 4);
	put(&m, 0, 2);
	put(&m, 1, 1); // quantum
	put(&m, 8, 1); // pointer
	put(&m, 2, 8); // functions
	put(&m, 2, 8); // files
	if (!old)
		put(&m, text, 8);
	size_t offsets = m.size;
	for (int i = 0; i < 5; i++)
		put(&m, 0, 8);

	uint64_t at[5];
	at[0] = m.size;
	put_text(&m, "");
	uint32_t main_name = (uint32_t)(put_text(&m, "main.main") - at[0]);
	uint32_t add_name = (uint32_t)(put_text(&m, "list.Add") - at[0]);
	at[1] = m.size;
	put(&m, 1, 4);
	put(&m, 9, 4);
	at[2] = m.size;
	put_text(&m, "");
	put_text(&m, "main.go");
	put_text(&m, "list.go");
	at[3] = m.size;
	// Of values -1 at first: twice the difference, or its complement's and 1.
	static const uint8_t steps[] = {
		0,                // no offset is 0
		2,  8,  2,  8, 0, // main: file 0, from 8 on file 1
		22, 8,  13, 8, 0, // main: line 10, from 8 on line 3
		4,  16, 0,        // Add: file 1
		16, 16, 0,        // Add: line 7
	};
	memcpy(m.bytes + m.size, steps, sizeof(steps));
	m.size += sizeof(steps);
	at[4] = m.size;
	uint64_t records = 5 * entry;
	uint64_t record = entry + 32;
	put(&m, base, entry);
	put(&m, records, entry);
	put(&m, base + 16, entry);
	put(&m, records + record, entry);
	put(&m, base + 32, entry);
	put_record(&m, entry, base, main_name, 1, 6);
	put_record(&m, entry, base + 16, add_name, 11, 14);
	for (int i = 0; i < 5; i++)
		memcpy(m.bytes + offsets + 8 * i, &at[i], 8);
	return m;
}

static const struct {
	uint64_t address;
	const char *function, *file, *declared;
	int line;
} expected[] = {
	{ TEXT - 1, NULL, NULL, NULL, 0 },
	{ TEXT, "main.main", "main.go", "main.go", 10 },
	{ TEXT + 7, "main.main", "main.go", "main.go", 10 },
	{ TEXT + 8, "main.main", "list.go", "main.go", 3 },
	{ TEXT + 15, "main.main", "list.go", "main.go", 3 },
	{ TEXT + 16, "list.Add", "list.go", "list.go", 7 },
	{ TEXT + 31, "list.Add", "list.go", "list.go", 7 },
	{ TEXT + 32, NULL, NULL, NULL, 0 },
};

#define ROWS (sizeof(expected) / sizeof(expected[0]))

static const char *shown(const char *text)
{
	return text ? text : "(none)";
}

static void check(const struct made *m, uint64_t text, bool known)
{
	const struct bytes table = { m->bytes, m->size };
	uint64_t addresses[ROWS];
	struct go_place places[ROWS];

	for (size_t i = 0; i < ROWS; i++)
		addresses[i] = expected[i].address;
	go_table_find(table, text, addresses, ROWS, places);
	for (size_t i = 0; i < ROWS; i++) {
		const struct go_place *place = &places[i];
		cr_expect(eq(str, (char *)shown(place->function),
		             (char *)shown(known ? expected[i].function : NULL)),
		          "row %zu", i);
		cr_expect(eq(str, (char *)shown(place->file),
		             (char *)shown(known ? expected[i].file : NULL)),
		          "row %zu", i);
		cr_expect(eq(str, (char *)shown(place->declared),
		             (char *)shown(known ? expected[i].declared : NULL)),
		          "row %zu", i);
		cr_expect(eq(int, place->line, known ? expected[i].line : 0), "row %zu", i);
	}
}

Test(go_table, names_functions_and_lines_as_each_version_writes_them)
{
	static const uint32_t magics[] = { 0xfffffffa, 0xfffffff0, 0xfffffff1 };

	for (size_t i = 0; i < 3; i++) {
		struct made m = make(magics[i], TEXT);
		cr_expect(go_table_is_known((struct bytes){ m.bytes, m.size }));
		check(&m, 0, true);
	}
}

Test(go_table, without_the_start_of_the_code_takes_the_callers)
{
	struct made m = make(0xfffffff1, 0);

	check(&m, TEXT, true);
	check(&m, 0, false);
}

Test(go_table, of_another_version_is_unknown)
{
	struct made m = make(0xfffffffb, TEXT);

	cr_expect(not(go_table_is_known((struct bytes){ m.bytes, m.size })));
	check(&m, TEXT, false);
	cr_expect(not(go_table_is_known((struct bytes){ NULL, 0 })));
}

Test(go_table, that_is_cut_off_is_not_left)
{
	struct made m = make(0xfffffff1, TEXT);

	for (size_t size = 0; size < m.size; size++) {
		cleanup_free uint8_t *cut = malloc(size + 1);
		struct go_place places[ROWS];
		uint64_t addresses[ROWS];
		for (size_t i = 0; i < ROWS; i++)
			addresses[i] = expected[i].address;
		memcpy(cut, m.bytes, size);
		go_table_find((struct bytes){ cut, size }, TEXT, addresses, ROWS, places);
		for (size_t i = 0; i < ROWS; i++)
			cr_expect(not(places[i].function && !expected[i].function), "%zu", size);
	}
}

Test(go_table, finds_functions_by_their_names)
{
	struct made m = make(0xfffffff1, 0);
	const struct bytes table = { m.bytes, m.size };
	uint64_t start = 0, end = 0;

	cr_expect(go_table_function(table, TEXT, "list.Add", &start, &end));
	cr_expect(eq(u64, start, TEXT + 16));
	cr_expect(eq(u64, end, TEXT + 32));
	cr_expect(not(go_table_function(table, TEXT, "list.Remove", &start, &end)));
	cr_expect(not(go_table_function(table, 0, "list.Add", &start, &end)));
	for (size_t size = 0; size < m.size; size++)
		if (go_table_function((struct bytes){ m.bytes, size }, TEXT, "list.Add", &start,
		                      &end))
			cr_expect(eq(u64, start, TEXT + 16), "%zu", size);
}
