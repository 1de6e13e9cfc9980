// SPDX-License-Identifier: MIT
// Findings on limits of memory.
#include "tests/unit/finding_fixture.h"

#include <criterion/criterion.h>
#include <string.h>

TestSuite(finding_memory, .init = begin, .fini = end);

static void limit_memory(uint64_t held, uint64_t kills, const char *contention)
{
	struct run run;

	end();
	begin();
	add(&f, 1, METRIC_ON_CPU, 1000, "main a.c:3 > work a.c:5");
	finish(1000, 2);
	run = *profile_run(f.profile);
	run.memory_group = "/app";
	run.memory_limit_bytes = 100 << 20;
	run.memory_held_bytes = held << 20;
	run.memory_kills = kills;
	run.memory_knows_stalls = contention != NULL;
	run.contention = contention;
	cr_assert(profile_set_run(f.profile, &run, NULL) == 0);
}

Test(finding_memory, the_limit_of_a_control_group)
{
	static const struct {
		uint64_t held, kills;
		int severity;
	} table[] = { { 90, 0, -1 },
		      { 91, 0, SEVERITY_WARN },
		      { 100, 0, SEVERITY_ERROR },
		      { 50, 1, SEVERITY_ERROR } };

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		limit_memory(table[i].held, table[i].kills, NULL);
		cleanup(findings) struct findings *findings = look(NULL);
		const struct finding *finding = finding_of(findings, "MEM-LIMIT");
		cr_expect_eq(finding ? (int)finding->severity : -1, table[i].severity, "row %zu",
		             i);
		cr_expect_eq(answer_of_rule(findings, "MEM-RECLAIM")->state, RULE_UNKNOWN);
	}
}

Test(finding_memory, waits_for_memory_that_is_reclaimed)
{
	limit_memory(50, 0, "1000000:0:0:0:50000");
	cleanup(findings) struct findings *silent = look(NULL);
	cr_expect_null(finding_of(silent, "MEM-RECLAIM"));
	limit_memory(50, 0, "1000000:0:0:0:60000");
	cleanup(findings) struct findings *fired = look(NULL);
	cr_expect(finding_of(fired, "MEM-RECLAIM") != NULL);
}

// Also where nobody may see the kernel's functions: then it is known how it was entered.
Test(finding_memory, page_faults_are_no_system_calls)
{
	static const struct {
		const char *stack, *id, *other, *advice;
	} table[] = {
		{ "main a.c:3 > fill a.c:9 > [fault]", "MEM-FAULT", "CPU-SYS", "Reuse memory" },
		{ "main a.c:3 > fill a.c:9 > asm_exc_page_fault@kernel", "MEM-FAULT", "CPU-SYS",
		  "Reuse memory" },
		{ "main a.c:3 > fill a.c:9 > [kernel]", "CPU-SYS", "MEM-FAULT", "system calls" },
	};

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		end();
		begin();
		add(&f, 1, METRIC_ON_CPU, 1000, table[i].stack);
		finish(1000, 2);
		cleanup(findings) struct findings *findings = look(NULL);
		const struct finding *finding = finding_of(findings, table[i].id);
		const struct finding *other = finding_of(findings, table[i].other);
		cr_assert_not_null(finding, "%s", table[i].stack);
		cr_expect_null(finding->covered, "%s", table[i].stack);
		cr_expect(!other || other->covered, "%s", table[i].stack);
		cr_expect(strstr(finding->advice, table[i].advice) != NULL, "%s", finding->advice);
		cr_expect_eq(finding->line, 9);
	}
}

Test(finding_memory, an_array_of_indices_takes_fresh_memory_for_what_a_slice_does_not)
{
	add(&f, 1, METRIC_ON_CPU, 1000,
	    "{windows a.py:9} > {slot$'__getitem__'$of$'numpy.ndarray'$objects}@libc > "
	    "asm_exc_page_fault@kernel");
	finish(1000, 2);
	cleanup(findings) struct findings *findings = look(NULL);
	const struct finding *finding = finding_of(findings, "MEM-FAULT");
	cr_assert_not_null(finding);
	cr_expect(strstr(finding->advice, "use slices") != NULL, "%s", finding->advice);
}

// What an interpreter allocates for a script is up to its own authors.
Test(finding_memory, allocations_of_an_interpreter_are_nothing_to_change)
{
	for (int own = 0; own < 2; own++) {
		end();
		begin();
		add(&f, 1, METRIC_ON_CPU, 600, "main@bash > execute_command@bash");
		add(&f, 1, METRIC_ON_CPU, 400,
		    own ? "main a.c:3 > make a.c:20 > malloc@libc"
		        : "main@bash > expand_word@bash > malloc@libc");
		finish(1000, 2);
		cleanup(findings) struct findings *findings = look(NULL);
		cr_expect_eq(finding_of(findings, "MEM-CHURN") != NULL, own == 1);
	}
}

// What a copy constructor allocates is asked for by who copies, not at the line of the class.
Test(finding_memory, a_copy_of_an_object_is_charged_to_who_copies)
{
	add(&f, 1, METRIC_ON_CPU, 600,
	    "main a.c:3 > score a.c:9 > List::List(List$const&)@libc > Road::Road(Road$const&) a.h:8 > "
	    "malloc@libc");
	add(&f, 1, METRIC_ON_CPU, 400, "main a.c:3 > work a.c:5");
	finish(1000, 2);
	cleanup(findings) struct findings *findings = look(NULL);
	const struct finding *copy = finding_of(findings, "MEM-COPY");
	cr_assert(copy != NULL);
	cr_expect_eq(copy->line, 9);
	cr_expect_float_eq(copy->value, 60, 0.01);
	cr_expect(strstr(copy->fact, "which calls List::List") != NULL, "%s", copy->fact);
	cr_expect_null(finding_of(findings, "MEM-CHURN"));
}

#define GROWS                                                                                      \
	"main a.c:3 > add a.c:9 > std::vector<Road>::emplace_back<int>@libc > "                    \
	"void$std::vector<Road>::_M_realloc_insert<int>@libc > "

// Elements that a vector copies as it grows are freed at the line of their class.
Test(finding_memory, a_vector_that_copies_its_elements_as_it_grows)
{
	add(&f, 1, METRIC_ON_CPU, 300,
	    GROWS "Road*$std::__uninitialized_move_if_noexcept_a<Road*>@libc > "
	          "Road::Road(Road$const&) a.h:8 > malloc@libc");
	add(&f, 1, METRIC_ON_CPU, 200, GROWS "Road::~Road() a.h:2 > free@libc");
	add(&f, 1, METRIC_ON_CPU, 200,
	    "main a.c:3 > clear a.c:15 > Road::~Road() a.h:2 > free@libc");
	add(&f, 1, METRIC_ON_CPU, 300, "main a.c:3 > work a.c:5");
	finish(1000, 2);
	cleanup(findings) struct findings *findings = look(NULL);
	const struct finding *growth = finding_of(findings, "MEM-REGROW");
	cr_assert(growth != NULL);
	cr_expect_eq(growth->line, 9);
	cr_expect_float_eq(growth->value, 50, 0.01);
	const struct finding *copy = finding_of(findings, "MEM-COPY");
	cr_assert(copy != NULL);
	cr_assert(copy->covered != NULL);
	cr_expect_str_eq(copy->covered->id, "MEM-REGROW");
}

// Nor does the one element that it is given make a copy of all, whose constructor may copy.
Test(finding_memory, a_vector_that_moves_its_elements_does_not_copy_them)
{
	add(&f, 1, METRIC_ON_CPU, 300,
	    GROWS "Road*$std::__uninitialized_move_if_noexcept_a<Road*>@libc > "
	          "Road::Road(Road&&) a.h:8");
	add(&f, 1, METRIC_ON_CPU, 200, GROWS "Road::Road(Road$const&) a.h:8 > malloc@libc");
	add(&f, 1, METRIC_ON_CPU, 200, GROWS "Road::~Road() a.h:2 > free@libc");
	add(&f, 1, METRIC_ON_CPU, 300, "main a.c:3 > work a.c:5");
	finish(1000, 2);
	cleanup(findings) struct findings *findings = look(NULL);
	cr_expect(finding_of(findings, "MEM-REGROW") == NULL);
}

// Copies of elements are written by code of the library's own that is inlined in the container's.
// Leading underscores do not count: a "<" begins an op here.
Test(finding_memory, a_copy_of_a_container_is_all_that_its_library_does_for_it)
{
	static const struct {
		const char *function;
		bool copies;
	} table[] = {
		{ "std::vector<int>::vector(std::vector<int>$const&)", true },
		{ "std::list<int>::operator=(std::list<int>$const&)", true },
		{ "std::map<int>::map(std::map<int>&&)", false },
		{ "std::shared_ptr<int>::shared_ptr(std::shared_ptr<int>$const&)", false },
		{ "std::pair<int>::pair(std::pair<int>$const&)", false },
		{ "_<alloc::vec::Vec<T>$as$core::clone::Clone>::clone", true },
		{ "_<alloc::string::String$as$core::clone::Clone>::clone", true },
		{ "alloc::slice::<impl$[T]>::to_vec", true },
		{ "_<alloc::sync::Arc<T>$as$core::clone::Clone>::clone", false },
	};

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		char stack[200];
		end();
		begin();
		snprintf(stack, sizeof(stack), "main a.c:3 > pass a.c:9 > %s@libc > store@libc",
		         table[i].function);
		add(&f, 1, METRIC_ON_CPU, 600, stack);
		add(&f, 1, METRIC_ON_CPU, 400, "main a.c:3 > work a.c:5");
		finish(1000, 2);
		cleanup(findings) struct findings *findings = look(NULL);
		const struct finding *copy = finding_of(findings, "MEM-COPY");
		cr_expect_eq(copy != NULL, table[i].copies, "%s", table[i].function);
		cr_expect(!copy || copy->line == 9);
	}
}

// Half of what is allocated is for copies: so is half of what is freed, wherever that is.
Test(finding_memory, copies_are_priced_with_their_part_of_what_is_freed)
{
	uint64_t highest[2] = { 0 };

	for (int i = 0; i < 2; i++) {
		end();
		begin();
		for (unsigned ms = 0; ms < 300; ms++)
			add(&f, 1, METRIC_ON_CPU, 1,
			    "main a.c:3 > pass a.c:9 > "
			    "_<alloc::vec::Vec<T>$as$core::clone::Clone>::clone@libc > malloc@libc");
		for (unsigned ms = 0; ms < 300; ms++)
			add(&f, 1, METRIC_ON_CPU, 1, "main a.c:3 > make a.c:15 > malloc@libc");
		for (unsigned ms = 0; ms < 400; ms++)
			add(&f, 1, METRIC_ON_CPU, 1,
			    i ? "main a.c:3 > drop a.c:20 > free@libc"
			      : "main a.c:3 > drop a.c:20");
		finish(1000, 2);
		cleanup(findings) struct findings *findings = look(NULL);
		const struct finding *copy = finding_of(findings, "MEM-COPY");
		cr_assert(copy != NULL);
		cr_expect_eq(copy->saving_ns, 300 * MS);
		highest[i] = copy->saving_high_ns;
	}
	cr_expect_float_eq((double)(highest[1] - highest[0]) / MS, 200, 2);
}

// Without the kernel's functions, kernel time at an instruction that is no system call is a fault.
Test(finding_memory, faults_are_known_without_the_functions_of_the_kernel)
{
	static const struct {
		const char *stack;
		bool fault;
	} table[] = {
		{ "main a.c:3 > !blend a.c:12 > [kernel]", true },
		{ "main a.c:3 > blend a.c:12 > !__memset_avx2_unaligned_erms@libc > [kernel]",
		  true },
		{ "main a.c:3 > blend a.c:12 > !__memcpy_avx_unaligned@libc > [kernel]", true },
		{ "main a.c:3 > blend a.c:12 > !ioctl@libc > [kernel]", false },
		{ "main a.c:3 > !Syscall6 asm_linux_amd64.s:36 > [kernel]", false },
		{ "main a.c:3 > !syscall > [kernel]", false },
		{ "main a.c:3 > blend a.c:12 > [kernel]", false },
	};

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		end();
		begin();
		add(&f, 1, METRIC_ON_CPU, 600, table[i].stack);
		add(&f, 1, METRIC_ON_CPU, 400, "main a.c:3 > work a.c:5");
		finish(1000, 2);
		struct run run = *profile_run(f.profile);
		run.kernel_stacks = false;
		run.page_faults = 100000;
		cr_assert(profile_set_run(f.profile, &run, NULL) == 0);
		cleanup(findings) struct findings *findings = look(NULL);
		const struct finding *finding = finding_of(findings, "MEM-FAULT");
		cr_expect_eq(finding != NULL, table[i].fault, "%s", table[i].stack);
		if (finding)
			cr_expect(strstr(finding->advice, "mapped file") != NULL);
	}
}

// Nobody can call mallopt() for a heap that a runtime manages.
Test(finding_memory, faults_of_a_managed_heap_are_the_runtimes)
{
	for (int managed = 0; managed <= 1; managed++) {
		end();
		begin();
		add(&f, 1, METRIC_ON_CPU, 200, managed ? "collect@jvm" : "main a.c:3 > fill a.c:9");
		add(&f, 1, METRIC_ON_CPU, 400,
		    managed ? "collect@jvm > memset@libc" : "main a.c:3 > fill a.c:9");
		add(&f, 1, METRIC_ON_CPU, 400,
		    managed ? "collect@jvm > asm_exc_page_fault@kernel"
		            : "main a.c:3 > fill a.c:9 > asm_exc_page_fault@kernel");
		finish(1000, 2);
		cleanup(findings) struct findings *findings = look(NULL);
		const struct finding *finding = finding_of(findings, "MEM-FAULT");
		cr_assert_not_null(finding);
		cr_expect_eq(strstr(finding->advice, "mallopt") == NULL, managed, "%s",
		             finding->advice);
	}
}

Test(finding_memory, clearing_of_a_managed_heap_is_the_runtimes)
{
	for (int managed = 0; managed <= 1; managed++) {
		end();
		begin();
		add(&f, 1, METRIC_ON_CPU, 600, managed ? "make@jvm" : "main a.c:3 > fill a.c:9");
		add(&f, 1, METRIC_ON_CPU, 400,
		    managed ? "make@jvm > memset@libc" : "main a.c:3 > fill a.c:9 > memset@libc");
		finish(1000, 2);
		cleanup(findings) struct findings *findings = look(NULL);
		const struct finding *finding = finding_of(findings, "MEM-FILL");
		cr_assert_not_null(finding);
		cr_expect_eq(strstr(finding->advice, "StringBuilder") != NULL, managed, "%s",
		             finding->advice);
	}
}

// Interrupts of a busy machine come to any code.
Test(finding_memory, interrupts_are_no_page_faults)
{
	for (uint64_t faults = 1000; faults <= 3000; faults += 2000) {
		end();
		begin();
		add(&f, 1, METRIC_ON_CPU, 600, "main a.c:3 > !blend a.c:12 > [kernel]");
		add(&f, 1, METRIC_ON_CPU, 400, "main a.c:3 > work a.c:5");
		finish(1000, 2);
		struct run run = *profile_run(f.profile);
		run.kernel_stacks = false;
		run.page_faults = faults;
		cr_assert(profile_set_run(f.profile, &run, NULL) == 0);
		cleanup(findings) struct findings *findings = look(NULL);
		cr_expect_eq(finding_of(findings, "MEM-FAULT") != NULL, faults == 3000);
	}
}

Test(finding_memory, who_joins_arrays_piece_by_piece_is_advised_to_do_so_once)
{
	static const struct {
		const char *stack;
		bool joins;
	} table[] = {
		{ "{collect a.py:8} > {concat /usr/lib/python3.11/pandas/core/reshape/concat.py:70} "
		  "> memcpy@libc",
		  true },
		{ "{collect a.py:8} > {built-in$method$numpy.concatenate}@libc > memcpy@libc",
		  true },
		{ "{collect a.py:8} > {copy /usr/lib/python3.11/pandas/core/generic.py:70} > "
		  "memcpy@libc",
		  false },
		{ "collect a.c:8 > concat@libc > memcpy@libc", false },
	};

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		end();
		begin();
		add(&f, 1, METRIC_ON_CPU, 600, table[i].stack);
		add(&f, 1, METRIC_ON_CPU, 400, "main a.c:3 > work a.c:5");
		finish(1000, 2);
		cleanup(findings) struct findings *findings = look(NULL);
		const struct finding *finding = finding_of(findings, "MEM-COPY");
		cr_assert(finding != NULL, "row %zu", i);
		cr_expect_eq(strstr(finding->advice, "join them once") != NULL, table[i].joins,
		             "row %zu: %s", i, finding->advice);
	}
}
