// SPDX-License-Identifier: MIT
#include "sampler/wait/probe.h"

#include "base/clock.h"
#include "base/module.h"
#include "base/stack.h"
#include "sampler/unwind/address_space.h"
#include "sampler/unwind/unwinder.h"
#include "tests/support/expect.h"
#include "tests/support/probe_run.h"

#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define STACK_BYTES ((size_t)32 << 10)
#define PATIENCE_NS (10 * NS_PER_SEC)

/* Looks until the child blocks where it was told to. */
static enum probe_result look_until(struct probe *p, const struct probe_run *child,
                                    enum metric cause, struct probe_view *view)
{
	uint64_t deadline = clock_now_ns() + PATIENCE_NS;
	enum probe_result result;

	do {
		usleep(2000);
		result = probe_look(p, child->pid, child->pid, true, view);
	} while ((result != PROBE_STACK || view->cause != cause) && clock_now_ns() < deadline);
	return result;
}

static const struct {
	const char *name;
	int number;
	enum metric cause;
} ways[] = {
	{ "futex", SYS_futex, METRIC_OFF_LOCK },
	{ "nanosleep", SYS_clock_nanosleep, METRIC_OFF_SLEEP },
	{ "pause", SYS_pause, METRIC_OFF_SLEEP },
	{ "old-frames", SYS_pause, METRIC_OFF_SLEEP },
	{ "pipe", SYS_read, METRIC_OFF_PIPE },
	{ "socket", SYS_read, METRIC_OFF_NET },
	{ "terminal", SYS_read, METRIC_OFF_PIPE },
	{ "eventfd", SYS_read, METRIC_OFF_PIPE },
	{ "timerfd", SYS_read, METRIC_OFF_SLEEP },
	{ "flock", SYS_flock, METRIC_OFF_LOCK },
	{ "wait", SYS_wait4, METRIC_OFF_CHILD },
	{ "poll", SYS_poll, METRIC_OFF_NET },
	{ "poll-nothing", SYS_poll, METRIC_OFF_SLEEP },
	{ "epoll", SYS_epoll_wait, METRIC_OFF_NET },
	{ "select-nothing", SYS_pselect6, METRIC_OFF_SLEEP },
};

Test(probe, a_blocked_thread_shows_its_call_its_cause_and_its_stack)
{
	cleanup(probe) struct probe *p = probe_new(STACK_BYTES, NULL);
	struct probe_run child;
	struct probe_view view;

	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
		probe_run_start(&child, PROBE_CHILD_O2, ways[i].name);
		uint64_t before = clock_now_ns();
		cr_expect(eq(int, (int)look_until(p, &child, ways[i].cause, &view), PROBE_STACK),
		          "%s", ways[i].name);
		cr_expect(eq(int, (int)view.cause, (int)ways[i].cause), "%s", ways[i].name);
		cr_expect(eq(i32, view.sample.syscall, ways[i].number), "%s", ways[i].name);
		cr_expect(gt(u32, view.sample.stack_bytes, 1024), "%s", ways[i].name);
		cr_expect(eq(int, (int)view.sample.kind, SAMPLE_PROBE));
		cr_expect(view.sample.has_user && !view.sample.has_rbp);
		cr_expect(view.from_ns >= before && view.until_ns > view.from_ns);
		probe_run_stop(&child);
	}
}

Test(probe, a_page_fault_that_waits_is_seen_without_a_system_call)
{
	cleanup(probe) struct probe *p = probe_new(STACK_BYTES, NULL);
	struct probe_run child;
	struct probe_view view;

	probe_run_start(&child, PROBE_CHILD_O2, "fault");
	enum probe_result result = look_until(p, &child, METRIC_OFF_FAULT, &view);
	if (probe_run_gave_up(&child))
		cr_skip("userfaultfd is not allowed here");
	cr_expect(eq(int, (int)result, PROBE_STACK));
	cr_expect(eq(i32, view.sample.syscall, -1));
	cr_expect(eq(int, (int)view.cause, METRIC_OFF_FAULT));
	probe_run_stop(&child);
}

Test(probe, a_stopped_thread_is_stopped_whatever_it_was_doing)
{
	cleanup(probe) struct probe *p = probe_new(STACK_BYTES, NULL);
	struct probe_run child;
	struct probe_view view;

	probe_run_start(&child, PROBE_CHILD_O2, "pipe");
	look_until(p, &child, METRIC_OFF_PIPE, &view);
	probe_run_pause(&child);
	cr_expect(eq(int, (int)look_until(p, &child, METRIC_OFF_STOPPED, &view), PROBE_STACK));
	cr_expect(eq(int, (int)view.cause, METRIC_OFF_STOPPED));
	probe_run_stop(&child);
}

Test(probe, a_running_thread_cannot_be_looked_at)
{
	cleanup(probe) struct probe *p = probe_new(STACK_BYTES, NULL);
	struct probe_run child;
	struct probe_view view;

	probe_run_start(&child, PROBE_CHILD_O2, "compute");
	for (int i = 0; i < 20; i++) {
		usleep(1000);
		cr_expect(eq(int, (int)probe_look(p, child.pid, child.pid, true, &view),
		             PROBE_RUNNING));
	}
	probe_run_stop(&child);
}

Test(probe, a_thread_that_is_gone_is_a_failure)
{
	cleanup(probe) struct probe *p = probe_new(STACK_BYTES, NULL);
	struct probe_run child;
	struct probe_view view;

	probe_run_start(&child, PROBE_CHILD_O2, "pause");
	probe_run_stop(&child);
	cr_expect(eq(int, (int)probe_look(p, child.pid, child.pid, false, &view), PROBE_FAILED));
}

Test(probe, near_the_end_of_the_stack_less_is_read)
{
	cleanup(probe) struct probe *p = probe_new((size_t)1 << 20, NULL);
	struct probe_run child;
	struct probe_view view;

	probe_run_start(&child, PROBE_CHILD_O2, "pause");
	cr_assert(eq(int, (int)look_until(p, &child, METRIC_OFF_SLEEP, &view), PROBE_STACK));
	cr_expect(lt(u32, view.sample.stack_bytes, 1 << 20));
	cr_expect(eq(u64, (view.sample.regs[DWARF_RSP] + view.sample.stack_bytes) % 4096, 0));
	probe_run_stop(&child);
}

static void map_code(struct address_space *space, struct modules *modules, pid_t pid)
{
	char path[64], line[1024], file[512];

	snprintf(path, sizeof(path), "/proc/%d/maps", pid);
	cleanup_fclose FILE *maps = fopen(path, "r");
	cr_assert(maps != NULL);
	while (fgets(line, sizeof(line), maps)) {
		unsigned long start, end, offset;
		char rights[8];
		if (sscanf(line, "%lx-%lx %7s %lx %*s %*s %511s", &start, &end, rights, &offset,
		           file) != 5 ||
		    rights[2] != 'x' || (file[0] != '/' && strcmp(file, "[vdso]") != 0))
			continue;
		struct module wanted = { .kind = file[0] == '/' ? MODULE_ELF : MODULE_VDSO,
			                 .path = file,
			                 .pid = pid,
			                 .fd = -1 };
		struct module *module = modules_add(modules, &wanted, NULL);
		cr_assert(module != NULL);
		cr_assert(address_space_map(space, start, end - start, offset, module->id));
	}
}

static bool reaches_main(const struct modules *modules, const struct probe_run *child,
                         const char *program, const struct frame *frames, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		const struct module *module = modules_get(modules, frames[i].module);
		if (module && strcmp(module->path, program) == 0 &&
		    frames[i].address > child->main_start && frames[i].address <= child->main_end)
			return true;
	}
	return false;
}

static void expect_main(const char *program)
{
	cleanup(probe) struct probe *p = probe_new(STACK_BYTES, NULL);
	struct probe_run child;
	struct probe_view view;
	struct frame frames[64];
	uint32_t flags;

	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
		cleanup(modules) struct modules *modules = modules_new();
		cleanup(address_space) struct address_space *space = address_space_new();
		cleanup(unwinder) struct unwinder *u = unwinder_new(modules, UNWIND_BY_TABLE, NULL);
		probe_run_start(&child, program, ways[i].name);
		look_until(p, &child, ways[i].cause, &view);
		map_code(space, modules, child.pid);
		size_t count =
			unwinder_unwind(u, space, &view.sample, child.pid, frames, 64, &flags);
		cr_expect(reaches_main(modules, &child, program, frames, count),
		          "%s: %zu frames, flags %x", ways[i].name, count, flags);
		probe_run_stop(&child);
	}
}

Test(probe, the_stack_reaches_main_without_frame_pointers)
{
	expect_main(PROBE_CHILD_O2);
}

Test(probe, the_stack_reaches_main_with_frame_pointers)
{
	expect_main(PROBE_CHILD_O0);
}

Test(probe, texts_of_the_kernel_are_parsed)
{
	struct probe_call call;

	cr_assert(probe_parse("0 0x3 0x4 0x1 0x5 0x0 0x6 0x7ffedcb9bbf8 0x7f8296a1b2ad\n", &call));
	cr_expect(eq(int, call.number, 0));
	cr_expect(eq(u64, call.arguments[0], 3));
	cr_expect(eq(u64, call.arguments[5], 6));
	cr_expect(eq(u64, call.sp, 0x7ffedcb9bbf8));
	cr_expect(eq(u64, call.pc, 0x7f8296a1b2ad));
	cr_assert(probe_parse("-1 0x7ffedcb9bbf8 0x7f8296a1b2ad\n", &call));
	cr_expect(eq(int, call.number, -1));
	cr_expect(eq(u64, call.pc, 0x7f8296a1b2ad));
}

Test(probe, other_texts_are_refused)
{
	static const char *const texts[] = {
		"",
		"running\n",
		"-1",
		"-1 0x1",
		"0 0x3",
		"-2 1 2",
		"-1 0x0 0x1\n",
		"-1 0x1 0x0\n",
		"0 1 2 3 4 5 6 7",
		"99999999999 1 2 3 4 5 6 7 8",
	};
	struct probe_call call;

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		cr_expect(not(probe_parse(texts[i], &call)), "\"%s\"", texts[i]);
}
