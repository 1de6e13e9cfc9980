// SPDX-License-Identifier: MIT
#include "base/code.h"
#include "tests/support/expect.h"

#include <stdio.h>
#include <string.h>

Test(code, equal_functions_have_one_number)
{
	cleanup(codes) struct codes *c = codes_new();
	char file[] = "train.py";
	uint32_t id = codes_add(c, &(struct code){ file, "forward", 88 });

	cr_expect(eq(u32, id, 1));
	cr_expect(eq(u32, codes_add(c, &(struct code){ "train.py", "forward", 88 }), id));
	cr_expect(ne(u32, codes_add(c, &(struct code){ "train.py", "forward", 90 }), id));
	cr_expect(ne(u32, codes_add(c, &(struct code){ "train.py", "backward", 88 }), id));
	cr_expect(ne(u32, codes_add(c, &(struct code){ "test.py", "forward", 88 }), id));
	file[0] = 'b';
	cr_expect(eq(str, (char *)codes_get(c, id)->file, "train.py"));
}

Test(code, numbers_stay_when_there_are_many)
{
	cleanup(codes) struct codes *c = codes_new();
	char name[32];

	for (uint32_t i = 1; i <= 5000; i++) {
		snprintf(name, sizeof(name), "f%u", i);
		cr_assert(eq(u32, codes_add(c, &(struct code){ "a.py", name, i }), i));
	}
	cr_expect(eq(str, (char *)codes_get(c, 777)->name, "f777"));
	cr_expect(eq(u32, codes_get(c, 5000)->first_line, 5000));
	cr_expect(codes_get(c, 5001) == NULL);
	cr_expect(codes_get(c, 0) == NULL);
}

Test(code, a_call_stands_for_all_that_lead_to_it)
{
	cleanup(codes) struct codes *c = codes_new();
	uint32_t outer = codes_add_call(c, 0, frame_of_python(1, 10));
	uint32_t step = codes_add_call(c, outer, frame_of_python(2, 20));

	cr_expect(eq(u32, outer, 1));
	cr_expect(eq(u32, codes_add_call(c, outer, frame_of_python(2, 20)), step));
	cr_expect(ne(u32, codes_add_call(c, outer, frame_of_python(2, 21)), step));
	cr_expect(ne(u32, codes_add_call(c, 0, frame_of_python(2, 20)), step));
	cr_expect(eq(u32, codes_get_call(c, step)->caller, outer));
	cr_expect(eq(u32, frame_python_line(codes_get_call(c, step)->frame), 20));
	cr_expect(codes_get_call(c, 0) == NULL);
	cr_expect(codes_get_call(c, 5) == NULL);
}
