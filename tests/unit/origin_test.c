// SPDX-License-Identifier: MIT
#include "base/origin.h"

#include <criterion/criterion.h>

Test(origin, of_the_user)
{
	cr_expect(!origin_is_foreign("/home/u/app", "/home/u/main.c"));
	cr_expect(!origin_is_foreign("/usr/local/bin/app", NULL));
	cr_expect(!origin_is_foreign(NULL, "/home/u/train.py"));
	cr_expect(!origin_is_foreign(NULL, "<string>"));
	cr_expect(!origin_is_foreign("/home/u/build/libsolver.so", "solver.cc"));
	cr_expect(!origin_is_foreign("[jit 4711]", "/home/u/app.js"));
	cr_expect(!origin_is_foreign("[jit]", "/home/u/app.js"));
}

Test(origin, of_the_system)
{
	cr_expect(origin_is_foreign(NULL, NULL));
	cr_expect(origin_is_foreign("[kernel]", NULL));
	cr_expect(origin_is_foreign("/home/u/app", "/usr/local/go/src/runtime/proc.go"));
	cr_expect(origin_is_foreign("/home/u/app",
	                            "/home/u/go/pkg/mod/gopkg.in/yaml.v3@v3.0.1/yaml.go"));
	cr_expect(origin_is_foreign("[jit 4711]", NULL));
	cr_expect(origin_is_foreign("[jit 4711]", "node:internal/modules/cjs/loader"));
	cr_expect(origin_is_foreign("[jit 4711]", "/home/u/node_modules/left-pad/index.js"));
	cr_expect(origin_is_foreign("/home/u/bottleneck/libbottleneck-agent.so", "op.c"));
	cr_expect(origin_is_foreign(NULL, "<__array_function__ internals>"));
	cr_expect(origin_is_foreign("/usr/lib/x86_64-linux-gnu/libc.so.6",
	                            "./nptl/pthread_create.c"));
	cr_expect(origin_is_foreign("/home/u/app", "/usr/include/c++/12/bits/stl_algo.h"));
}

Test(origin, of_runtimes)
{
	cr_expect(origin_is_foreign("/usr/bin/node", NULL));
	cr_expect(origin_is_foreign("/home/u/.nvm/versions/node/v18.19.0/bin/node", "node.cc"));
	cr_expect(origin_is_foreign("/usr/bin/perl5.36.0", NULL));
	cr_expect(origin_is_foreign("/opt/python/bin/python3.13t", NULL));
	cr_expect(!origin_is_foreign("/usr/local/bin/node_exporter", NULL));
	cr_expect(!origin_is_foreign("/home/u/node", NULL));
}

Test(origin, of_interpreters)
{
	static const char *const interpreters[] = {
		"/usr/bin/perl",
		"/usr/lib/x86_64-linux-gnu/libperl.so.5.36.0",
		"/usr/lib/x86_64-linux-gnu/libruby-3.1.so.3.1.2",
		"/usr/bin/php8.2",
		"/usr/bin/lua5.4",
		"/usr/lib/R/lib/libR.so",
		"/usr/lib/x86_64-linux-gnu/libtcl8.6.so",
		"/usr/lib/x86_64-linux-gnu/libguile-3.0.so.1.5.0",
		"/usr/bin/mawk",
		"/usr/bin/bash",
	};
	static const char *const others[] = {
		NULL,
		"/usr/bin/python3.11", // whose functions are recorded
		"/usr/bin/ssh",
		"/usr/bin/luac5.4",
		"/usr/lib/x86_64-linux-gnu/libRNG.so.1",
		"/usr/lib/x86_64-linux-gnu/libshout.so.3",
		"/home/u/sh",
	};

	for (size_t i = 0; i < sizeof(interpreters) / sizeof(interpreters[0]); i++)
		cr_expect(origin_is_interpreter(interpreters[i]), "%s", interpreters[i]);
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		cr_expect(!origin_is_interpreter(others[i]), "%s", others[i] ? others[i] : "NULL");
	cr_expect(origin_is_shell("/bin/sh") && origin_is_shell("/usr/bin/bash"));
	cr_expect(!origin_is_shell("/usr/bin/mawk") && !origin_is_shell(NULL));
}

Test(origin, of_python)
{
	static const char *const files[] = {
		"<frozen importlib._bootstrap>",
		"<__array_function__ internals>",
		"/usr/lib/python3.11/json/encoder.py",
		"/home/u/.pyenv/versions/3.12.1/lib/python3.12/re/_parser.py",
		"/home/u/venv/lib/python3.12/site-packages/numpy/core/numeric.py",
	};
	static const char *const modules[] = {
		"/home/u/.pyenv/versions/3.12.1/bin/python3.12",
		"/opt/conda/envs/ml/bin/python3.10",
		"/opt/python/libpython3.13.so.1.0",
		"/home/u/venv/lib/python3.12/site-packages/numpy/core/_multiarray_umath.so",
	};

	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++)
		cr_expect(origin_is_foreign(NULL, files[i]), "%s", files[i]);
	for (size_t i = 0; i < sizeof(modules) / sizeof(modules[0]); i++)
		cr_expect(origin_is_foreign(modules[i], "object.c"), "%s", modules[i]);
}

Test(origin, of_programs_of_the_system)
{
	cr_expect(origin_is_installed("/usr/bin/make"));
	cr_expect(origin_is_installed("/bin/sh"));
	cr_expect(origin_is_installed("/usr/lib/gcc/x86_64-linux-gnu/12/cc1plus"));
	cr_expect(!origin_is_installed("/usr/lib/x86_64-linux-gnu/libz.so.1"));
	cr_expect(!origin_is_installed("/usr/lib/python3/dist-packages/tool/bin/tool"));
	cr_expect(!origin_is_installed("/home/u/usr/bin/make"));
	cr_expect(!origin_is_installed("/usr/local/bin/app"));
	cr_expect(!origin_is_installed(NULL));
}

Test(origin, of_pythons_interpreter)
{
	cr_expect(origin_is_python("/usr/bin/python3.11"));
	cr_expect(origin_is_python("/opt/lib/libpython3.13.so.1.0"));
	cr_expect(!origin_is_python("/usr/lib/python3/dist-packages/numpy/core/_multiarray.so"));
	cr_expect(!origin_is_python(NULL));
}

Test(origin, of_openmp)
{
	cr_expect(origin_is_openmp("/usr/lib/x86_64-linux-gnu/libgomp.so.1.0.0"));
	cr_expect(origin_is_openmp("/home/u/site-packages/torch/lib/libgomp-a34b3233.so.1"));
	cr_expect(origin_is_openmp("/opt/intel/lib/libiomp5.so"));
	cr_expect(origin_is_openmp("libomp.so.5"));
	cr_expect(!origin_is_openmp("/usr/lib/libm.so.6"));
	cr_expect(!origin_is_openmp("/home/u/libgomp/app"));
	cr_expect(!origin_is_openmp(NULL));
}
