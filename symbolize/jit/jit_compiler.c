// SPDX-License-Identifier: MIT
#include "symbolize/jit/jit_compiler.h"

#include "base/module.h"
#include "base/path.h"

#include <string.h>

// What the manuals of each say, and was tried for the first four.
static const struct compiler {
	const char *file; // the first letters of its name
	const char *remedy;
} compilers[] = {
	{ "node", "profile with --names, or run node --perf-basic-prof" },
	{ "libjvm.so", "profile with --names (JDK 17 or later), or run java "
	               "-XX:+UnlockDiagnosticVMOptions -XX:+DumpPerfMapAtExit" },
	{ "libtorch_cpu.so", "set ONEDNN_JIT_PROFILE=2 for oneDNN" },
	{ "php", "profile with --names, or run php -d opcache.jit_debug=16" },
	{ "libdnnl.so", "set ONEDNN_JIT_PROFILE=2 for oneDNN" },
	{ "libcoreclr.so", "set DOTNET_PerfMapEnabled=1" },
	{ "beam.smp", "run erl +JPperf true" },
	{ "libruby", "run ruby --yjit --yjit-perf (Ruby 3.3 or later)" },
	{ "ruby", "run ruby --yjit --yjit-perf (Ruby 3.3 or later)" },
	{ "libjulia", "set ENABLE_JITPROFILING=1, with a Julia that was built with "
	              "USE_PERF_JITEVENTS=1" },
	{ "luajit", "use luajit -jp, LuaJIT's own profiler: it writes no names for others" },
	{ "libluajit", "use luajit -jp, LuaJIT's own profiler: it writes no names for others" },
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

const char *jit_compiler_remedy(const struct modules *modules)
{
	for (size_t i = 0; i < sizeof(compilers) / sizeof(compilers[0]); i++)
		if (has(modules, compilers[i].file))
			return compilers[i].remedy;
	return "have its compiler write a perf map or a jitdump";
}
