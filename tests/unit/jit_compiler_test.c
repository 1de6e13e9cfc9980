// SPDX-License-Identifier: MIT
#include "symbolize/jit/jit_compiler.h"

#include "base/module.h"
#include "tests/support/expect.h"

#include <string.h>

static const char *remedy_with(const char *path, bool used, char text[256])
{
	cleanup(modules) struct modules *modules = modules_new();
	struct module libc = { .kind = MODULE_ELF, .path = "/usr/lib/libc.so.6", .fd = -1 };
	struct module other = { .kind = MODULE_ELF, .path = path, .fd = -1 };

	modules_add(modules, &libc, NULL);
	modules_add(modules, &other, NULL);
	jit_compiler_remedy(modules, used, text, 256);
	return text;
}

Test(jit_compiler, is_known_by_the_files_that_a_program_has_mapped)
{
	static const struct {
		const char *path, *part;
	} rows[] = {
		{ "/usr/bin/node", "--names, or run node --perf-basic-prof" },
		{ "/usr/lib/jvm/lib/server/libjvm.so", "DumpPerfMapAtExit" },
		{ "/venv/lib/python3.12/site-packages/torch/lib/libtorch_cpu.so",
		  "ONEDNN_JIT_PROFILE=2" },
		{ "/usr/lib/libdnnl.so.2", "ONEDNN_JIT_PROFILE=2" },
		{ "/usr/bin/php8.2", "opcache.jit_debug=16" },
		{ "/usr/lib/libruby.so.3.4", "--yjit-perf" },
		{ "/opt/julia/lib/libjulia.so.1", "ENABLE_JITPROFILING=1" },
		{ "/usr/bin/luajit", "luajit -jp" },
		{ "/usr/lib/node/libz.so.1", "its compiler" },
		{ "/home/me/app", "its compiler" },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char text[256];
		const char *remedy = remedy_with(rows[i].path, false, text);
		cr_expect(strstr(remedy, rows[i].part) != NULL, "%s: %s", rows[i].path, remedy);
	}
}

Test(jit_compiler, is_not_asked_again_for_what_did_not_help)
{
	char text[256];

	cr_expect(eq(str, (char *)remedy_with("/usr/bin/node", false, text),
	             "profile with --names, or run node --perf-basic-prof"));
	cr_expect(eq(str, (char *)remedy_with("/usr/bin/node", true, text),
	             "run node --perf-basic-prof"));
}
