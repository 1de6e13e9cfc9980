// SPDX-License-Identifier: MIT
// Half of the input is .debug_line, the rest .debug_str and .debug_line_str.
#include "symbolize/dwarf/line_program.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const uint64_t addresses[] = { 0, 0x1000, 0x1004, 0x1139, 0x2000, UINT64_MAX };
	struct bytes all = { data, size };
	struct line_sections sections = { all, bytes_slice(all, size / 2, size),
		                          bytes_slice(all, size / 2, size) };
	struct line_row rows[6];
	char path[256];

	for (uint64_t lowest = 0; lowest <= 0x1000; lowest += 0x1000) {
		cleanup(line_program) struct line_program *p =
			line_program_new(&sections, 0, lowest ? "/src" : NULL, "a.c");
		if (!p)
			return 0;
		line_program_run(p, lowest, addresses, 6, rows);
		for (uint64_t file = 0; file < 8; file++)
			line_program_path(p, file, path, sizeof(path));
	}
	return 0;
}
