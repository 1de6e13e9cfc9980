// SPDX-License-Identifier: MIT
#include "base/go_module.h"

#include "base/go_table.h"

#define TEXT   UINT64_C(0x28300)
#define SHARED UINT64_C(0x100000)
#define DATA   UINT64_C(0x200000)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

// First how many eighths of the rest .data.rel.ro and the data have, and whether there is an .init;
// what is left is .rela.dyn. The code is all of it.
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (!size)
		return 0;
	const struct bytes all = { data + 1, size - 1 };
	size_t shared = all.size * (data[0] & 7) / 8;
	size_t end = shared + (all.size - shared) * (data[0] >> 3 & 7) / 8;
	const struct go_section sections[] = {
		{ data[0] & 0x40 ? ".init" : ".other", 0x28000, all, false },
		{ ".text", TEXT, all, false },
		{ data[0] & 0x80 ? ".gopclntab" : ".data.rel.ro", SHARED,
		  bytes_slice(all, 0, shared), true },
		{ ".go.buildinfo", 0x1f0000, { 0 }, true },
		{ ".noptrdata", DATA, bytes_slice(all, shared, end), true },
		{ ".rela.dyn", 0x400, bytes_slice(all, end, all.size), false },
	};
	struct go_place places[GO_INLINED_MAX];
	struct go_module module;

	go_module_find_table(sections, 6, &module);
	go_module_find_rest(sections, 6, &module);
	size_t count =
		go_table_find(module.table, module.text, module.funcs, module.text + 64, places);
	// It is a part of its section.
	return (module.table.size &&
	        (module.table.size > shared || module.table_address < SHARED)) ||
	       count > GO_INLINED_MAX;
}
