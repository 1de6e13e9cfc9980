// SPDX-License-Identifier: MIT
#include "tests/support/expect.h"
#include "tracer/agent/config.h"

#include <stddef.h>

Test(agent_config, texts_give_numbers_and_defaults)
{
	static const struct {
		const char *text;
		uint32_t frequency_hz, stack_bytes;
	} rows[] = {
		{ NULL, 999, 32768 },
		{ "", 999, 32768 },
		{ "hz=99,stack=8192", 99, 8192 },
		{ "stack=8192", 999, 8192 },
		{ "colour=red,hz=250", 250, 32768 },
		{ "hz=", 999, 32768 },
		{ "hz=x,stack=4096", 999, 4096 },
		{ "hz=0,stack=0", 0, 256 },
		{ "hz=99999999999999999999,stack=99999999999999999999", 100000, 65528 },
		{ "stack=1001", 999, 1000 },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct config config = config_parse(rows[i].text);
		cr_expect(eq(u32, config.frequency_hz, rows[i].frequency_hz), "\"%s\"",
		          rows[i].text);
		cr_expect(eq(u32, config.stack_bytes, rows[i].stack_bytes), "\"%s\"", rows[i].text);
	}
}

Test(agent_config, the_collectors_namespace_is_any_inode)
{
	cr_expect(eq(u32, config_parse("pidns=4026531836").pid_namespace, 4026531836u));
	cr_expect(eq(u32, config_parse("hz=99,pidns=4294967295").pid_namespace, UINT32_MAX));
	cr_expect(eq(u32, config_parse("hz=99").pid_namespace, 0));
	cr_expect(eq(u32, config_parse("pidns=1,filters=2").filters, 2));
	cr_expect(eq(u32, config_parse("pidns=1").filters, UINT32_MAX), "unknown");
}

Test(agent_config, the_collector_says_how_it_counts_processes_and_time)
{
	struct config config = config_parse("pidns=1,collector=4711,zero=1795960000,zerons=12");

	cr_expect(eq(u32, config.collector, 4711));
	cr_expect(eq(u64, config.zero_ns, UINT64_C(1795960000000000012)));
	cr_expect(eq(u32, config_parse("pidns=1").collector, 0), "unknown");
}

Test(agent_config, all_ticks_are_told_unless_only_those_in_the_kernel_are_asked_for)
{
	cr_expect(not(config_parse("hz=99").kernel_only));
	cr_expect(not(config_parse("kernel=0").kernel_only));
	cr_expect(config_parse("hz=99,kernel=1,ops=6").kernel_only);
}

Test(agent_config, ops_and_allocations_are_off_unless_asked_for)
{
	struct config silent = config_parse("hz=99"), asked = config_parse("ops=6,malloc=4096");

	cr_expect(eq(u32, silent.ops, 0));
	cr_expect(eq(u32, silent.malloc_bytes, 0));
	cr_expect(not(silent.waits));
	cr_expect(config_parse("waits=1").waits);
	cr_expect(eq(u32, asked.ops, 6));
	cr_expect(eq(u32, asked.malloc_bytes, 4096));
}

Test(agent_config, python_has_a_rate_of_its_own)
{
	struct config config = config_parse("hz=0,stack=4096,kernel=0,python=999,ops=6");

	cr_expect(eq(u32, config.frequency_hz, 0));
	cr_expect(eq(u32, config.python_hz, 999));
	cr_expect(eq(u32, config_parse("hz=99").python_hz, 0));
	cr_expect(eq(u32, config_parse("python=99999999").python_hz, 100000));
}
