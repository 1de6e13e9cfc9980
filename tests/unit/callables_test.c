// SPDX-License-Identifier: MIT
// C functions below Python ones: the test itself is the interpreter and the library.
#include "base/code.h"
#include "base/error.h"
#include "merge/profile/profile.h"
#include "merge/query/query_called.h"
#include "tests/support/expect.h"
#include "tests/unit/merge_fixture.h"

#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void call_machinery(void), sorted(void), sort(void), alone(void), jumper(void), behind(void);
void outer(void), shared(void), direct(void), after_direct(void);
void in_place(void), PyNumber_InPlaceAdd(void);
void after_inlined(void), after_named(void), after_pointer(void);
__asm__(".pushsection .text\n"
        ".macro function name\n"
        "	.globl \\name\n"
        "\\name:\n"
        "	.cfi_startproc\n"
        "	nop\n"
        "	nop\n"
        "	.cfi_endproc\n"
        ".endm\n"
        "	function call_machinery\n"
        "	function sorted\n"
        "	function sort\n"
        "	function alone\n"
        "	function behind\n"
        ".globl jumper\n"
        "jumper:\n"
        "	.cfi_startproc\n"
        "	.byte 0xe9\n"
        "	.long behind - . - 4\n"
        "	.cfi_endproc\n"
        "	nop\n"
        "	function shared\n"
        ".globl outer\n"
        "outer:\n"
        "	.cfi_startproc\n"
        "	.byte 0xe9\n"
        "	.long shared - . - 4\n"
        "	.cfi_endproc\n"
        "	nop\n"
        "	function PyNumber_InPlaceAdd\n"
        ".globl in_place\n"
        "in_place:\n"
        "	.cfi_startproc\n"
        "	.byte 0xe9\n"
        "	.long PyNumber_InPlaceAdd - . - 4\n"
        "	.cfi_endproc\n"
        "	nop\n"
        "without_a_name:\n"
        "	.cfi_startproc\n"
        "	.byte 0xe9\n"
        "	.long shared - . - 4\n"
        "	.cfi_endproc\n"
        "	nop\n"
        ".globl direct\n"
        "direct:\n"
        "	.cfi_startproc\n"
        "	.byte 0xe8\n"
        "	.long behind - . - 4\n"
        ".globl after_direct\n"
        "after_direct:\n"
        "	nop\n"
        "	.cfi_endproc\n"
        // What a pointer mostly leads to stands within its caller.
        ".globl promoting\n"
        "promoting:\n"
        "	.cfi_startproc\n"
        "	lea alone(%rip), %r13\n"
        "	cmp %r13, %rax\n"
        "	jne promoting\n"
        "	.byte 0xe8\n"
        "	.long call_machinery - . - 4\n"
        ".globl after_inlined\n"
        "after_inlined:\n"
        "	.byte 0xe8\n"
        "	.long sort - . - 4\n"
        ".globl after_named\n"
        "after_named:\n"
        "	call *%rax\n"
        ".globl after_pointer\n"
        "after_pointer:\n"
        "	nop\n"
        "	.cfi_endproc\n"
        "	function the_end\n"
        ".popsection\n");

struct where {
	uint64_t run_time, address, offset;
};

static int look(struct dl_phdr_info *info, size_t size, void *context)
{
	struct where *where = context;

	(void)size;
	where->address = where->run_time - info->dlpi_addr;
	for (size_t i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
		if (segment->p_type == PT_LOAD && where->address >= segment->p_vaddr &&
		    where->address - segment->p_vaddr < segment->p_memsz)
			where->offset = where->address - segment->p_vaddr + segment->p_offset;
	}
	return 1;
}

static struct where where_of(void (*function)(void))
{
	struct where where = { .run_time = (uint64_t)(uintptr_t)function };

	dl_iterate_phdr(look, &where);
	return where;
}

struct scene {
	struct fixture f;
	struct codes *codes;
	uint32_t module;
	struct frame python;
};

static void begin(struct scene *s)
{
	char path[4096] = "";
	struct code work = { "/w.py", "work", 1 };

	cr_assert(readlink("/proc/self/exe", path, sizeof(path) - 1) > 0);
	fixture_init(&s->f, NULL);
	s->codes = codes_new();
	profile_set_codes(s->f.profile, s->codes);
	s->python = frame_of_python(codes_add(s->codes, &work), 7);
	struct module module = { .kind = MODULE_ELF, .path = path, .fd = -1 };
	s->module = modules_add(s->f.modules, &module, NULL)->id;
}

static void end(struct scene *s)
{
	fixture_fini(&s->f);
	codes_free(s->codes);
}

static void name(struct scene *s, void (*function)(void), const char *text)
{
	const struct python_name_event event = { s->module, where_of(function).offset, text };

	profile_add_python_name(s->f.profile, &event);
}

// KIND returns within FUNCTION, or is interrupted there.
static struct frame in(const struct scene *s, void (*function)(void), enum frame_kind kind)
{
	return (struct frame){ where_of(function).address + 1, s->module, kind };
}

static void spend(struct scene *s, uint64_t ms, const struct frame *frames, uint32_t count)
{
	profile_add_stack(s->f.profile, &(struct stack){ .thread = 1,
	                                                 .metric = METRIC_ON_CPU,
	                                                 .time_ns = s->f.now_ns,
	                                                 .weight_ns = ms * MS,
	                                                 .samples = 1,
	                                                 .count = count,
	                                                 .frames = frames });
}

static const char *rows(struct scene *s)
{
	const struct query query = { .by = BY_FUNCTION };

	name_all(&s->f);
	return ask(&s->f, &query);
}

Test(callables, the_outermost_function_below_python_is_what_it_has_called)
{
	struct scene s;

	begin(&s);
	name(&s, sorted, "{built-in method builtins.sorted}");
	name(&s, sort, "{method 'sort' of 'list' objects}");
	const struct frame frames[] = { in(&s, sort, FRAME_INTERPRETER_EXACT),
		                        in(&s, sorted, FRAME_INTERPRETER_RETURN),
		                        in(&s, call_machinery, FRAME_INTERPRETER_RETURN),
		                        s.python };
	spend(&s, 5, frames, 4);
	cr_expect(eq(str, (char *)rows(&s), "{built-in method builtins.sorted} 5/5, work 0/5"));
	end(&s);
}

Test(callables, who_goes_on_adding_finds_the_tree_as_it_was)
{
	struct scene s;

	begin(&s);
	name(&s, sorted, "{built-in method builtins.sorted}");
	const struct frame frames[] = { in(&s, sorted, FRAME_INTERPRETER_EXACT), s.python };
	for (int i = 0; i < 3; i++) {
		spend(&s, 1, frames, 2);
		spend(&s, 1, frames + 1, 1);
		rows(&s);
	}
	cr_expect(eq(str, (char *)rows(&s), "work 3/6, {built-in method builtins.sorted} 3/3"));
	end(&s);
}

Test(callables, a_function_that_no_python_function_calls_keeps_its_own_name)
{
	struct scene s;

	begin(&s);
	name(&s, sorted, "{built-in method builtins.sorted}");
	const struct frame frames[] = { in(&s, sorted, FRAME_EXACT) };
	spend(&s, 5, frames, 1);
	cr_expect(rows(&s)[0] == '[', "%s", rows(&s));
	end(&s);
}

Test(callables, a_library_without_lines_works_for_its_function)
{
	struct scene s;

	begin(&s);
	name(&s, sorted, "{method 'sort' of 'numpy.ndarray' objects}");
	const struct frame frames[] = { in(&s, alone, FRAME_EXACT), in(&s, sorted, FRAME_RETURN),
		                        s.python };
	spend(&s, 5, frames, 3);
	cr_expect(eq(str, (char *)rows(&s),
	             "{method 'sort' of 'numpy.ndarray' objects} 5/5, work 0/5"));
	end(&s);
}

Test(callables, a_function_with_several_names_has_none)
{
	struct scene s;

	begin(&s);
	name(&s, sorted, "{built-in method torch.a}");
	name(&s, sorted, "");
	const struct frame frames[] = { in(&s, sorted, FRAME_INTERPRETER_EXACT), s.python };
	spend(&s, 5, frames, 2);
	cr_expect(eq(str, (char *)rows(&s), "work 5/5"));
	end(&s);
}

Test(callables, a_function_that_jumps_is_known_by_where_it_jumps_to)
{
	struct scene s;

	begin(&s);
	name(&s, jumper, "{method 'replace' of 'str' objects}");
	const struct frame frames[] = { in(&s, behind, FRAME_INTERPRETER_EXACT), s.python };
	spend(&s, 5, frames, 2);
	cr_expect(eq(str, (char *)rows(&s), "{method 'replace' of 'str' objects} 5/5, work 0/5"));
	end(&s);
}

// As select.epoll's __exit__, which goes on in a function that importing calls, too.
Test(callables, but_not_if_it_is_called_from_where_it_was_not_by_pointer)
{
	struct scene s;

	begin(&s);
	name(&s, jumper, "{method '__exit__' of 'select.epoll' objects}");
	struct frame caller = in(&s, after_direct, FRAME_INTERPRETER_RETURN);
	caller.address--; // where the call returns to
	const struct frame frames[] = { in(&s, behind, FRAME_INTERPRETER_EXACT), caller, s.python };
	spend(&s, 5, frames, 3);
	cr_expect(eq(str, (char *)rows(&s), "work 5/5"));
	end(&s);
}

// The rows where a function without a name that compares with alone's address returns to AFTER,
// from CALLEE.
static const char *rows_within(struct scene *s, void (*callee)(void), void (*after)(void))
{
	begin(s);
	name(s, alone, "{method 'match' of 're.Pattern' objects}");
	name(s, sort, "{method 'sort' of 'list' objects}");
	struct frame caller = in(s, after, FRAME_INTERPRETER_RETURN);
	caller.address--; // where the call returns to
	const struct frame frames[] = { in(s, callee, FRAME_INTERPRETER_EXACT), caller, s->python };
	spend(s, 5, frames, 3);
	return rows(s);
}

// As re's match() in Ubuntu's Python 3.10.
Test(callables, a_function_that_was_put_into_its_caller_is_known_by_a_comparison)
{
	struct scene s;

	cr_expect(eq(str, (char *)rows_within(&s, call_machinery, after_inlined),
	             "{method 'match' of 're.Pattern' objects} 5/5, work 0/5"));
	end(&s);
	cr_expect(eq(str, (char *)rows_within(&s, sort, after_named),
	             "{method 'sort' of 'list' objects} 5/5, work 0/5"));
	end(&s);
	cr_expect(eq(str, (char *)rows_within(&s, call_machinery, after_pointer), "work 5/5"));
	end(&s);
}

Test(callables, but_not_if_another_function_jumps_there_too)
{
	struct scene s;

	begin(&s);
	name(&s, outer, "{method 'outer' of 'numpy.ufunc' objects}");
	const struct frame frames[] = { in(&s, shared, FRAME_INTERPRETER_EXACT), s.python };
	spend(&s, 5, frames, 2);
	cr_expect(eq(str, (char *)rows(&s), "work 5/5"));
	end(&s);
}

// "s += x" calls it by a table of pointers, and operator.iadd() ends with a jump to it.
Test(callables, but_not_if_the_interpreter_calls_it_for_an_operator)
{
	struct scene s;

	begin(&s);
	name(&s, in_place, "{built-in method _operator.iadd}");
	const struct frame frames[] = { in(&s, PyNumber_InPlaceAdd, FRAME_INTERPRETER_EXACT),
		                        s.python };
	s.f.symbolizer.code = calloc(1, sizeof(*s.f.symbolizer.code));
	s.f.symbolizer.count = s.f.symbolizer.capacity = 1;
	*s.f.symbolizer.code = (struct fake_code){
		.module = s.module,
		.address = frames[0].address,
		.symbols = { { .function = strdup("PyNumber_InPlaceAdd") } },
		.count = 1,
	};
	spend(&s, 5, frames, 2);
	cr_expect(eq(str, (char *)rows(&s), "work 5/5"));
	end(&s);
}

Test(callables, but_not_if_that_leads_to_functions_with_names)
{
	struct scene s;

	begin(&s);
	name(&s, jumper, "{method '__call__' of 'thing' objects}");
	name(&s, sort, "{method 'sort' of 'list' objects}");
	const struct frame frames[] = { in(&s, sort, FRAME_INTERPRETER_EXACT),
		                        in(&s, behind, FRAME_INTERPRETER_RETURN), s.python };
	spend(&s, 5, frames, 3);
	cr_expect(eq(str, (char *)rows(&s), "{method 'sort' of 'list' objects} 5/5, work 0/5"));
	end(&s);
}

static struct python_calls_event calls_of(const struct scene *s, uint64_t calls, uint64_t recursive,
                                          bool first)
{
	return (struct python_calls_event){ .function = { frame_python_code(s->python), NULL },
		                            .calls = calls,
		                            .recursive = recursive,
		                            .first = first };
}

Test(callables, calls_that_were_counted_are_the_rows)
{
	struct scene s;
	const struct query query = { .by = BY_FUNCTION };
	struct error err;
	struct totals totals;

	begin(&s);
	spend(&s, 5, &s.python, 1);
	const struct python_calls_event first = calls_of(&s, 3, 2, true);
	const struct python_calls_event more = calls_of(&s, 4, 1, false);
	profile_add_python_calls(s.f.profile, &first);
	profile_add_python_calls(s.f.profile, &more);
	name_all(&s.f);
	cleanup(rows) struct rows *answer = query_run(s.f.profile, &query, &err);
	cr_assert(eq(sz, answer->count, 1));
	cr_expect(eq(u64, answer->rows[0].calls, 7));
	cr_expect(eq(u64, answer->rows[0].recursive, 3));
	query_totals(s.f.profile, &totals);
	cr_expect(eq(u64, totals.uncounted, 1));
	profile_add_python_calls(s.f.profile, &(struct python_calls_event){ .last = true });
	query_totals(s.f.profile, &totals);
	cr_expect(eq(u64, totals.uncounted, 0));
	end(&s);
}

Test(callables, names_and_counts_come_back_from_the_file)
{
	struct scene s;
	struct error err;
	char path[] = "/tmp/callables_test.XXXXXX";
	const struct query query = { .by = BY_FUNCTION, .sort = SORT_TOTAL };

	begin(&s);
	name(&s, sorted, "{built-in method builtins.sorted}");
	const struct frame frames[] = { in(&s, sorted, FRAME_INTERPRETER_EXACT), s.python };
	const struct python_calls_event calls = calls_of(&s, 3, 1, true);
	const struct python_calls_event of_c = {
		.function = { .name = "{built-in method builtins.sorted}" }, .calls = 2
	};
	const struct python_calls_event by_work = {
		.function = of_c.function, .caller = calls.function, .has_caller = true, .calls = 2
	};
	spend(&s, 5, frames, 2);
	profile_add_python_calls(s.f.profile, &calls);
	profile_add_python_calls(s.f.profile, &of_c);
	profile_add_python_calls(s.f.profile, &by_work);
	name_all(&s.f);
	close(mkstemp(path));
	cr_assert(eq(int, profile_write(s.f.profile, path, &err), 0), "%s", err.text);
	cleanup(profile) struct profile *read = profile_read(path, &err);
	unlink(path);
	cr_assert(read != NULL, "%s", err.text);
	cleanup(rows) struct rows *answer = query_run(read, &query, &err);
	cr_expect(eq(str, (char *)rows_text(answer),
	             "{built-in method builtins.sorted} 5/5, work 0/5"));
	cr_expect(answer->rows[0].called);
	cr_expect(eq(u64, answer->rows[0].calls, 2));
	cr_expect(eq(u64, answer->rows[1].calls, 3));
	cr_expect(eq(u64, answer->rows[1].recursive, 1));
	const struct query all = { 0 };
	cleanup(called_rows) struct called_rows *called =
		query_called(read, &all, CALLED_BY_SELF, &err);
	cr_assert(eq(sz, called->count, 2));
	cr_expect(eq(u64, called->calls, 5));
	cr_expect(eq(u64, called->primitive, 4));
	cr_expect(eq(str, (char *)called->rows[0].name, "{built-in method builtins.sorted}"));
	cr_expect(called->rows[0].file == NULL);
	cr_expect(eq(u64, called->rows[0].self_ns, called->rows[1].total_ns));
	cr_expect(eq(u64, called->rows[1].self_ns, 0));
	cr_expect(eq(str, (char *)called->rows[1].file, "/w.py"));
	cr_expect(eq(u32, called->rows[1].line, 1));
	cr_assert(eq(sz, called->edge_count, 1));
	cr_expect(eq(sz, called->edges[0].caller, 1));
	cr_expect(eq(sz, called->edges[0].callee, 0));
	cr_expect(eq(u64, called->edges[0].calls, 2));
	cr_expect(eq(u64, called->edges[0].total_ns, called->rows[0].total_ns));
	cr_expect(eq(sz, called->rows[0].callers_end, 1));
	cr_expect(eq(sz, called->rows[1].callers_end, 0));
	struct totals totals;
	query_totals(read, &totals);
	cr_expect(eq(u64, totals.uncounted, 1));
	end(&s);
}
