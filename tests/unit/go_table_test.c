// SPDX-License-Identifier: MIT
// On a table made by hand, of three functions, as Go 1.16, 1.18 and 1.20 write it.
#include "base/go_table.h"

#include "base/cleanup.h"
#include "tests/support/expect.h"

#include <stdio.h>
#include <stdlib.h>

#define TEXT 0x401000

struct made {
	uint8_t bytes[1024];
	size_t size;
	uint8_t funcs[256]; // of its inlined calls
	size_t funcs_size;
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

// Which inlined call is where, and where these are; 0: there are none.
struct calls {
	uint32_t steps, tree;
};

static void put_record(struct made *m, uint32_t magic, uint64_t entry, uint32_t name, uint32_t file,
                       uint32_t line, struct calls calls)
{
	put(m, entry, magic == 0xfffffffa ? 8 : 4);
	put(m, name, 4);
	put(m, 0, 4); // args
	put(m, 0, 4); // deferreturn
	put(m, 1, 4); // pcsp
	put(m, file, 4);
	put(m, line, 4);
	put(m, 3, 4); // kinds of steps that follow
	put(m, 0, 4); // unit
	if (magic == 0xfffffff1)
		put(m, 0, 4); // first line
	put(m, 0, 3);
	put(m, 4, 1); // kinds of data that follow
	put(m, 0, 8);
	put(m, calls.steps, 4);
	put(m, UINT64_MAX, 8);
	put(m, UINT32_MAX, 4);
	put(m, calls.tree ? calls.tree : UINT32_MAX, 4);
}

// As struct inlinedCall of Go's runtime.
static void put_call(struct made *m, uint32_t magic, uint32_t name, uint32_t by)
{
	bool newer = magic == 0xfffffff1;

	m->funcs_size += newer ? 4 : 12;
	memcpy(m->funcs + m->funcs_size, &name, 4);
	memcpy(m->funcs + m->funcs_size + 4, &by, 4);
	m->funcs_size += newer ? 12 : 8;
}

/*
 *	main.main   16 bytes: main.go:10, from 8 on an inlined call of list.Add, list.go:3
 *	list.Add    16 bytes: list.go:7
 *	list.Sum    16 bytes: list.go:7, from 2 on an inlined call of list.Next at list.go:8, from 4
 *on of list.Each at main.go:10, by list.Next
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
	put(&m, 3, 8); // functions
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
	uint32_t sum_name = (uint32_t)(put_text(&m, "list.Sum") - at[0]);
	uint32_t next_name = (uint32_t)(put_text(&m, "list.Next") - at[0]);
	uint32_t each_name = (uint32_t)(put_text(&m, "list.Each") - at[0]);
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
		0,                        // no offset is 0
		2,  8,  2,  8,  0,        // main: file 0, from 8 on file 1
		22, 8,  13, 8,  0,        // main: line 10, from 8 on line 3
		4,  16, 0,                // Add: file 1
		16, 16, 0,                // Add: line 7
		0,  8,  2,  8,  0,        // main: from 8 on call 0
		4,  4,  1,  12, 0,        // Sum: file 1, from 4 on file 0
		16, 2,  2,  2,  4, 12, 0, // Sum: line 7, from 2 on line 8, from 4 on line 10
		0,  2,  2,  2,  2, 12, 0, // Sum: from 2 on call 0, from 4 on call 1
	};
	memcpy(m.bytes + m.size, steps, sizeof(steps));
	m.size += sizeof(steps);
	at[4] = m.size;
	uint64_t records = 7 * entry;
	uint64_t record = entry + 64 + (magic == 0xfffffff1 ? 4 : 0);
	for (uint64_t i = 0; i < 3; i++) {
		put(&m, base + 16 * i, entry);
		put(&m, records + record * i, entry);
	}
	put(&m, base + 48, entry);
	m.funcs_size = 8;
	put_call(&m, magic, add_name, 7);
	struct calls of_main = { 17, 8 }, of_sum = { 34, (uint32_t)m.funcs_size };
	put_call(&m, magic, next_name, 0);
	put_call(&m, magic, each_name, 2);
	put_record(&m, magic, base, main_name, 1, 6, of_main);
	put_record(&m, magic, base + 16, add_name, 11, 14, (struct calls){ 0 });
	put_record(&m, magic, base + 32, sum_name, 22, 27, of_sum);
	for (int i = 0; i < 5; i++)
		memcpy(m.bytes + offsets + 8 * i, &at[i], 8);
	return m;
}

// "main.main main.go:10 main.go": which function is where, and in which file it is declared.
static const struct {
	uint64_t address;
	const char *places, *inlined; // NULL: the same
} expected[] = {
	{ TEXT - 1, "", NULL },
	{ TEXT, "main.main main.go:10 main.go", NULL },
	{ TEXT + 7, "main.main main.go:10 main.go", NULL },
	{ TEXT + 8, "main.main list.go:3 main.go",
	  "list.Add list.go:3 list.go, main.main main.go:10 main.go" },
	{ TEXT + 15, "main.main list.go:3 main.go",
	  "list.Add list.go:3 list.go, main.main main.go:10 main.go" },
	{ TEXT + 16, "list.Add list.go:7 list.go", NULL },
	{ TEXT + 31, "list.Add list.go:7 list.go", NULL },
	{ TEXT + 32, "list.Sum list.go:7 list.go", NULL },
	{ TEXT + 34, "list.Sum list.go:8 list.go",
	  "list.Next list.go:8 list.go, list.Sum list.go:7 list.go" },
	{ TEXT + 47, "list.Sum main.go:10 list.go",
	  "list.Each main.go:10 main.go, list.Next list.go:8 list.go, list.Sum list.go:7 list.go" },
	{ TEXT + 48, "", NULL },
};

#define ROWS (sizeof(expected) / sizeof(expected[0]))

static const char *found(struct bytes table, uint64_t text, struct bytes funcs, uint64_t address)
{
	static char words[1024];
	struct go_place places[GO_INLINED_MAX];
	size_t used = 0, count = go_table_find(table, text, funcs, address, places);

	words[0] = '\0';
	for (size_t i = 0; i < count; i++)
		used += (size_t)snprintf(words + used, sizeof(words) - used, "%s%s %s:%d %s",
		                         i ? ", " : "", places[i].function,
		                         places[i].file ? places[i].file : "?", places[i].line,
		                         places[i].declared ? places[i].declared : "?");
	return words;
}

static void check(const struct made *m, uint64_t text, bool known, bool inlined)
{
	const struct bytes table = { m->bytes, m->size };
	const struct bytes funcs = { inlined ? m->funcs : NULL, inlined ? m->funcs_size : 0 };

	for (size_t i = 0; i < ROWS; i++) {
		const char *calls = inlined ? expected[i].inlined : NULL;
		const char *wanted = calls ? calls : expected[i].places;
		cr_expect(eq(str, (char *)found(table, text, funcs, expected[i].address),
		             (char *)(known ? wanted : "")),
		          "row %zu", i);
	}
}

Test(go_table, names_functions_and_lines_as_each_version_writes_them)
{
	static const uint32_t magics[] = { 0xfffffffa, 0xfffffff0, 0xfffffff1 };

	for (size_t i = 0; i < 3; i++) {
		struct made m = make(magics[i], TEXT);
		cr_expect(go_table_is_known((struct bytes){ m.bytes, m.size }));
		check(&m, 0, true, false);
	}
}

Test(go_table, tells_inlined_calls_apart_by_the_data_of_functions)
{
	static const uint32_t magics[] = { 0xfffffff0, 0xfffffff1 };

	for (size_t i = 0; i < 2; i++) {
		struct made m = make(magics[i], TEXT);
		const struct bytes table = { m.bytes, m.size };
		check(&m, 0, true, true);
		cr_expect(go_table_has(table, 0, (struct bytes){ m.funcs, m.funcs_size }));
		cr_expect(not(go_table_has(table, 0, (struct bytes){ m.funcs, 20 })));
		cr_expect(not(go_table_has(table, 0, (struct bytes){ m.funcs + 4, 60 })));
		cr_expect(not(go_table_has(table, 0, (struct bytes){ NULL, 0 })));
		// Calls that lead nowhere, or in a circle.
		for (size_t at = 8; at < m.funcs_size; at++)
			for (unsigned value = 0; value < 256; value += 5) {
				struct made bad = m;
				bad.funcs[at] = (uint8_t)value;
				for (size_t k = 0; k < ROWS; k++)
					found(table, 0, (struct bytes){ bad.funcs, bad.funcs_size },
					      expected[k].address);
			}
	}
}

Test(go_table, of_1_16_has_inlined_calls_elsewhere)
{
	struct made m = make(0xfffffffa, TEXT);
	const struct bytes table = { m.bytes, m.size };

	cr_expect(not(go_table_has(table, 0, (struct bytes){ m.funcs, m.funcs_size })));
	cr_expect(eq(str,
	             (char *)found(table, 0, (struct bytes){ m.funcs, m.funcs_size }, TEXT + 8),
	             "main.main list.go:3 main.go"));
}

Test(go_table, without_the_start_of_the_code_takes_the_callers)
{
	struct made m = make(0xfffffff1, 0);

	check(&m, TEXT, true, true);
	check(&m, 0, false, false);
}

Test(go_table, of_another_version_is_unknown)
{
	struct made m = make(0xfffffffb, TEXT);

	cr_expect(not(go_table_is_known((struct bytes){ m.bytes, m.size })));
	check(&m, TEXT, false, false);
	cr_expect(not(go_table_is_known((struct bytes){ NULL, 0 })));
}

Test(go_table, that_is_cut_off_is_not_left)
{
	struct made m = make(0xfffffff1, TEXT);

	for (size_t size = 0; size < m.size; size++) {
		cleanup_free uint8_t *cut = malloc(size + 1);
		memcpy(cut, m.bytes, size);
		for (size_t i = 0; i < ROWS; i++) {
			const char *words = found((struct bytes){ cut, size }, TEXT,
			                          (struct bytes){ cut, size }, expected[i].address);
			cr_expect(not(*words && !*expected[i].places), "%zu", size);
		}
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
