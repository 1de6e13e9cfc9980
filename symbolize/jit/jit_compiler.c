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
	{ "node", "bottleneck --names, or node --perf-basic-prof, has them written" },
	{ "libjvm.so", "bottleneck --names (JDK 17 or later), or java "
	               "-XX:+UnlockDiagnosticVMOptions -XX:+DumpPerfMapAtExit, has them written" },
	{ "libtorch_cpu.so", "oneDNN writes it where ONEDNN_JIT_PROFILE=2" },
	{ "php", "bottleneck --names, or php -d opcache.jit_debug=16, has them written" },
	{ "libdnnl.so", "oneDNN writes it where ONEDNN_JIT_PROFILE=2" },
	{ "libcoreclr.so", "have it written by DOTNET_PerfMapEnabled=1" },
	{ "beam.smp", "have it written by erl +JPperf true" },
	{ "libruby", "have it written by ruby --yjit --yjit-perf=map (Ruby 3.3 or later)" },
	{ "ruby", "have it written by ruby --yjit --yjit-perf=map (Ruby 3.3 or later)" },
	{ "libjulia", "ENABLE_JITPROFILING=1 has them written by a Julia that was built with "
	              "USE_PERF_JITEVENTS=1" },
	{ "luajit", "LuaJIT writes none: luajit -jp shows where its time goes" },
	{ "libluajit", "LuaJIT writes none: luajit -jp shows where its time goes" },
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
	return "have its compiler write one of them";
}
