// SPDX-License-Identifier: MIT
// What every format shows of the memory of GPUs.
#include "tests/support/expect.h"
#include "tests/unit/fake_profile.h"
#include "tests/unit/fake_units.h"
#include "tests/unit/made_section.h"

TestSuite(sections_devices, .init = made_begin, .fini = made_end);

static struct device_row rows[] = {
	{ .device = "cuda:0",
	  .command = "train",
	  .pid = 4711,
	  .peak_bytes = MB(40),
	  .peak_reserved_bytes = MB(64),
	  .last_bytes = MB(2),
	  .capacity_bytes = MB(80) },
	{ .device = "cuda:1", .command = "", .pid = 4712, .peak_bytes = 1 },
};

static struct profile *profile(void)
{
	struct profile *p = fake_profile();

	p->devices = (struct device_rows){ .rows = rows, .count = 2 };
	return p;
}

Test(sections_devices, people_see_peaks_and_what_there_is_by_process)
{
	cr_expect_str_eq(made_text(made_section(profile(), READER_TEXT, section_device_memory)),
	                 "GPU memory of PyTorch: peaks of the whole run; exact\n"
	                 "41943040 | 67108864 | 2097152 | 83886080 | cuda:0 | train (4711)\n"
	                 "1 | 0 | 0 | ? | cuda:1 |  (4712)\n");
}

Test(sections_devices, programs_get_name_and_number_of_the_process)
{
	made_view.top = 1;
	cr_expect_str_eq(made_text(made_section(profile(), READER_SHEET, section_device_memory)),
	                 "GPU memory of PyTorch: peaks of the whole run; exact\n"
	                 "cuda:0 | train | 4711 | 41943040 | 67108864 | 2097152 | 83886080\n"
	                 "cuda:1 | ? | 4712 | 1 | 0 | 0 | ?\n");
}

Test(sections_devices, without_any_there_is_nothing_to_show)
{
	cr_expect_eq(made_section(fake_profile(), READER_TEXT, section_device_memory)->shown,
	             false);
}
