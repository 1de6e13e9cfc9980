// SPDX-License-Identifier: MIT
#include "symbolize/jit/jit_compiler.h"

#include "base/module.h"
#include "base/path.h"

#include <string.h>

// What the manuals of each say, and was tried for the first three.
static const struct compiler {
	const char *file; // the first letters of its name
	const char *remedy;
} compilers[] = {
	{ "node", "have it written by node --perf-basic-prof" },
	{ "libjvm.so", "have it written by java -XX:+UnlockDiagnosticVMOptions "
	               "-XX:+DumpPerfMapAtExit (JDK 17)" },
	{ "libtorch_cpu.so", "oneDNN writes it where ONEDNN_JIT_PROFILE=2" },
	{ "libdnnl.so", "oneDNN writes it where ONEDNN_JIT_PROFILE=2" },
	{ "libcoreclr.so", "have it written by DOTNET_PerfMapEnabled=1" },
	{ "beam.smp", "have it written by erl +JPperf true" },
	{ "libruby", "have it written by ruby --yjit --yjit-perf" },
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
