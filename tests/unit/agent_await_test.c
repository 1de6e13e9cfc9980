// SPDX-License-Identifier: MIT
#include "tests/support/expect.h"
#include "tracer/agent/python/await_objects.h"
#include "tracer/agent/python/await_sums.h"
#include "tracer/agent/python/python_runtime.h"

#include <stdio.h>
#include <string.h>

#define WORDS 6

// Objects as CPython lays them out: a head of two words, and words behind it.
struct object {
	uintptr_t references;
	const void *type;
	uintptr_t words[WORDS];
};

static struct python_runtime runtime;
static struct object cfunction_type, method_type, function_type, task_type, step_type, slot_type;
static struct object *attribute; // what every object has, whatever it is called
static int errors_cleared;

static py_object of(struct object *o)
{
	return (py_object)(void *)o;
}

static void increase(py_object o)
{
	((struct object *)(void *)o)->references++;
}

static void decrease(py_object o)
{
	((struct object *)(void *)o)->references--;
}

static void clear_error(void)
{
	errors_cleared++;
}

static py_object get_attribute(py_object o, py_object name)
{
	(void)o, (void)name;
	if (attribute)
		increase(of(attribute));
	return of(attribute);
}

static py_object intern(const char *text)
{
	(void)text;
	return of(&task_type);
}

static void name_type(struct object *type, const char *name)
{
	type->words[1] = (uintptr_t)name;
}

static void begin(void)
{
	runtime.layout.object_type = offsetof(struct object, type);
	python_api_runtime = &runtime;
	python_api.Py_IncRef = increase;
	python_api.Py_DecRef = decrease;
	python_api.PyErr_Clear = clear_error;
	python_api.PyObject_GetAttr = get_attribute;
	python_api.PyUnicode_InternFromString = intern;
	python_api.PyCFunction_Type = (char *)&cfunction_type;
	python_api.PyMethod_Type = (char *)&method_type;
	python_api.PyFunction_Type = (char *)&function_type;
	name_type(&task_type, "_asyncio.Task");
	name_type(&step_type, "TaskStepMethWrapper");
	name_type(&slot_type, "member_descriptor");
	cr_assert(await_sums_start() && await_objects_start());
}

TestSuite(agent_await, .init = begin);

Test(agent_await, the_step_of_a_task_is_known_by_what_is_called)
{
	struct object task = { .type = &task_type };
	struct python_method wakeup = { "task_wakeup", NULL, 0, NULL };
	struct python_method cancel = { "cancel", NULL, 0, NULL };
	struct object call = { .type = &cfunction_type,
		               .words = { (uintptr_t)&cancel, (uintptr_t)&task } };

	cr_expect(eq(ptr, await_task_of(of(&call)), NULL));
	call.words[0] = (uintptr_t)&wakeup;
	cr_expect(eq(ptr, (void *)await_task_of(of(&call)), (void *)&task));
	cr_expect(eq(u64, task.references, 1));
	// What another one has by such a name is none.
	struct object list_type = { 0 }, list = { .type = &list_type };
	struct python_method other = { "wakeup", NULL, 0, NULL };
	name_type(&list_type, "list");
	call.words[0] = (uintptr_t)&other;
	call.words[1] = (uintptr_t)&list;
	cr_expect(eq(ptr, await_task_of(of(&call)), NULL));
	cr_expect(eq(u64, list.references, 0));
}

Test(agent_await, the_task_of_a_step_is_its_first_word_where_it_says_the_same)
{
	static struct object task = { .type = &task_type }, other = { .type = &task_type };
	struct object step = { .type = &step_type, .words = { (uintptr_t)&task } };

	attribute = &task;
	cr_expect(eq(ptr, (void *)await_task_of(of(&step)), (void *)&task));
	attribute = &other; // is not asked again
	cr_expect(eq(ptr, (void *)await_task_of(of(&step)), (void *)&task));
	cr_expect(eq(u64, task.references, 2));
	cr_expect(eq(u64, other.references, 0));
}

Test(agent_await, a_step_whose_first_word_is_another_is_asked_each_time)
{
	static struct object task = { .type = &task_type }, other = { .type = &task_type };
	struct object step = { .type = &step_type, .words = { (uintptr_t)&other } };

	attribute = &task;
	for (uint64_t i = 1; i <= 2; i++) {
		cr_expect(eq(ptr, (void *)await_task_of(of(&step)), (void *)&task));
		cr_expect(eq(u64, task.references, i));
	}
}

Test(agent_await, the_offset_of_a_slot_is_only_taken_from_its_descriptor)
{
	struct {
		const char *name;
		int type;
		intptr_t offset;
	} member = { "_callback", 6, 24 };
	struct object type = { 0 };
	static struct object slot;
	slot = (struct object){ .type = &slot_type, .words = { 0, 0, 0, (uintptr_t)&member } };

	attribute = &slot;
	cr_expect(eq(i64, await_slot_of(of(&type), AWAIT_TEXT_CALLBACK), 24));
	member.name = "_args";
	cr_expect(eq(i64, await_slot_of(of(&type), AWAIT_TEXT_CALLBACK), 0));
	member.name = "_callback";
	slot.type = &task_type;
	cr_expect(eq(i64, await_slot_of(of(&type), AWAIT_TEXT_CALLBACK), 0));
	attribute = NULL;
	errors_cleared = 0;
	cr_expect(eq(i64, await_slot_of(of(&type), AWAIT_TEXT_CALLBACK), 0));
	cr_expect(eq(int, errors_cleared, 1));
}

Test(agent_await, rows_are_one_for_each_kind_and_chain)
{
	uint16_t first = (uint16_t)await_sums_add_place(1, 10, true, "fetch", "/a.py");
	uint16_t second = (uint16_t)await_sums_add_place(1, 12, false, "fetch", "/a.py");
	const uint16_t chain[] = { first, second }, back[] = { second, first };
	uint32_t row = await_sums_row(AWAIT_WAIT, chain, 2);

	cr_expect(first && second && first != second);
	cr_expect(eq(u32, await_sums_find(1, 12, false), second));
	cr_expect(eq(u32, await_sums_find(1, 12, true), 0));
	cr_expect(eq(u32, await_sums_row(AWAIT_WAIT, chain, 2), row));
	cr_expect(ne(u32, await_sums_row(AWAIT_WAIT, back, 2), row));
	cr_expect(ne(u32, await_sums_row(AWAIT_WAIT, chain, 1), row));
	cr_expect(ne(u32, await_sums_row(AWAIT_DELAY, chain, 2), row));
	cr_expect(
		eq(u32, await_sums_row_of(first, AWAIT_RUN), await_sums_row_of(first, AWAIT_RUN)));
	await_sums_add(row, 2, 30, 20);
	await_sums_add(row, 1, 5, 5);
	await_sums_add(0, 1, 1, 1); // no room
	cr_expect(eq(u64, await_sums->rows[row - 1].count, 3));
	cr_expect(eq(u64, await_sums->rows[row - 1].ns, 35));
	cr_expect(eq(u64, await_sums->rows[row - 1].longest_ns, 20));
	await_sums_fork();
	cr_expect(eq(u64, await_sums->rows[row - 1].ns, 0));
	cr_expect(eq(u32, await_sums_row(AWAIT_WAIT, chain, 2), row));
}

Test(agent_await, a_text_that_is_too_long_ends_between_characters)
{
	char name[2 * SUMS_NAME_BYTES] = "a";

	for (size_t i = 1; i + 2 < sizeof(name); i += 2)
		memcpy(name + i, "\xc3\xa9", 2);
	uint32_t number = await_sums_add_place(1, 1, false, name, "");
	const char *kept = await_sums_place(number)->name;
	cr_expect(eq(sz, strlen(kept), SUMS_NAME_BYTES - 1));
	name[0] = '\xc3';
	name[1] = '\xa9';
	for (size_t i = 2; i + 2 < sizeof(name); i += 2)
		memcpy(name + i, "\xc3\xa9", 2);
	kept = await_sums_place(await_sums_add_place(1, 2, false, name, ""))->name;
	cr_expect(eq(sz, strlen(kept), SUMS_NAME_BYTES - 2));
}

Test(agent_await, what_finds_no_room_is_said)
{
	for (uintptr_t i = 1; i <= SUMS_PLACES_MAX; i++)
		cr_assert(await_sums_add_place(i, 1, false, "f", "f.py"));
	cr_expect(not(await_sums_are_lacking()));
	cr_expect(eq(u32, await_sums_add_place(1, 2, false, "f", "f.py"), 0));
	cr_expect(await_sums_are_lacking());
	cr_expect(eq(u32, await_sums_find(SUMS_PLACES_MAX, 1, false), SUMS_PLACES_MAX));
}
