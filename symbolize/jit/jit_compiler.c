// SPDX-License-Identifier: MIT
#include "symbolize/jit/jit_compiler.h"

#include "base/module.h"
#include "base/path.h"

#include <stdio.h>
#include <string.h>

// What the manuals of each say, and was tried for the first four.
static const struct compiler {
	const char *file; // the first letters of its name
	const char *remedy;
	const char *by_us; // what goes before it; NULL: --names does not help
} compilers[] = {
	{ "node", "run node --perf-basic-prof", "profile with --names, or " },
	{ "libjvm.so", "run java -XX:+UnlockDiagnosticVMOptions -XX:+DumpPerfMapAtExit",
	  "profile with --names (JDK 17 or later), or " },
	{ "libtorch_cpu.so", "set ONEDNN_JIT_PROFILE=2 for oneDNN", NULL },
	{ "php", "run php -d opcache.jit_debug=16", "profile with --names, or " },
	{ "libdnnl.so", "set ONEDNN_JIT_PROFILE=2 for oneDNN", NULL },
	{ "libcoreclr.so", "set DOTNET_PerfMapEnabled=1", NULL },
	{ "beam.smp", "run erl +JPperf true", NULL },
	{ "libruby", "run ruby --yjit --yjit-perf (Ruby 3.3 or later)", NULL },
	{ "ruby", "run ruby --yjit --yjit-perf (Ruby 3.3 or later)", NULL },
	{ "libjulia",
	  "set ENABLE_JITPROFILING=1, with a Julia that was built with "
	  "USE_PERF_JITEVENTS=1",
	  NULL },
	{ "luajit", "use luajit -jp, LuaJIT's own profiler: it writes no names for others", NULL },
	{ "libluajit", "use luajit -jp, LuaJIT's own profiler: it writes no names for others",
	  NULL },
};

static int has(const struct modules *modules, const char *file)
{
	for (uint32_t id = 1; id <= modules_count(modules); id++) {
		const char *path = modules_get(modules, id)->path;
		if (path && strncmp(path_base(path), file, strlen(file)) == 0)
			return 1;
	}
	return 0;
}

void jit_compiler_remedy(const struct modules *modules, bool used, char *text, size_t size)
{
	const struct compiler *c = compilers, *end = c + sizeof(compilers) / sizeof(*c);

	while (c < end && !has(modules, c->file))
		c++;
	if (c == end)
		snprintf(text, size, "have its compiler write a perf map or a jitdump");
	else
		snprintf(text, size, "%s%s", c->by_us && !used ? c->by_us : "", c->remedy);
}
