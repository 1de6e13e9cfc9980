// SPDX-License-Identifier: MIT
#include "base/known_calls.h"

#include "tests/support/expect.h"

#include <string.h>

Test(known_calls, advice_is_about_what_is_called)
{
	static const struct {
		const char *function, *says; // NULL: nothing
	} rows[] = {
		{ "strcmp", "hash table" },
		{ "__strcmp_avx2", "hash table" },
		{ "__strcmp_evex", "more buckets" },
		{ "__memcmp_evex_movbe", "hash table" },
		{ "__strncasecmp_l_avx2", NULL },
		{ "__strlen_evex", "once before the loop" },
		{ "strlen@plt", "once before the loop" },
		{ "__strstr_sse2_unaligned", "where the last match ended" },
		{ "memmem", "where the last match ended" },
		{ "__ieee754_pow_fma", "before the loop" },
		{ "__strchr_avx2", "where the last search ended" },
		{ "std::find<char const*>(char const*)", "std::unordered_set" },
		{ "int* std::__find_if<int*, pred>(int*, int*)", "std::unordered_set" },
		{ "std::finder(int)", NULL },
		{ "std::_Hashtable<int>::_M_find_before_node(int)", "spreads the keys" },
		{ "std::__detail::_Mod_range_hashing::operator()(unsigned long) const",
		  "spreads the keys" },
		{ "genfromtxt", "numpy.loadtxt()" },
		{ "torch::autograd::THPVariable_one_hot", "embedding()" },
		{ "{built-in method torch._C._nn.one_hot}", "embedding()" },
		{ "numpy.random._generator.Generator.choice", "numpy.cumsum(p)" },
		{ "{method 'choice' of 'numpy.random.mtrand.RandomState' objects}",
		  "searchsorted" },
		{ "my numpy.random._generator.Generator.choice", NULL },
		{ "std::_Rb_tree<int>::find(int)", "std::unordered_map" },
		{ "{method 'index' of 'list' objects}", "a set" },
		{ "list_contains", "a set" },
		{ "v8::internal::Builtin_JsonParse(int, unsigned long*)", "Parse each document" },
		{ "vectorize.__call__", "array operations" },
		{ "DataFrame.iterrows", "whole columns" },
		{ "iterrows", "whole columns" },
		{ "DataFrame.__init__", "one frame of all" },
		{ "{built-in method builtins.eval}", "keep the code" },
		{ "{built-in method builtins.exec}", "keep the code" },
		{ "pformat", "check the level first" },
		{ "PrettyPrinter.pformat", "check the level first" },
		{ "Series.__getitem__", "whole columns" },
		{ "concat", "join them once" },
		{ "DataFrame.applymap", NULL },
		{ "_iLocIndexer.__setitem__", "a whole column once" },
		{ "{built-in method builtins.format}", "log.debug" },
		{ "{built-in method builtins.formatted}", NULL },
		{ "{method 'insert' of 'list' objects}", "collections.deque" },
		{ "fgetc", "getline()" },
		{ "_IO_putc", "putc_unlocked()" },
		{ "encoding/json.Unmarshal", "map[string]any" },
		{ "DictReader.__next__", "csv.reader()" },
		{ "std::collections::hash::map::HashMap<u64, u32>::entry", "rustc-hash" },
		{ "Template.substitute", "f-strings" },
		{ "_BaseNetwork.__contains__", "network.netmask" },
		{ "safe_load", "CSafeLoader" },
		{ "ABCMeta.__instancecheck__", "concrete types" },
		{ "{built-in method _hashlib.pbkdf2_hmac}", "made to be slow" },
		{ "runtime.chanrecv2", "slices of many values" },
		{ "runtime.chanrecv3", NULL },
		{ "std::random_device::random_device()", "static thread_local" },
		{ "std::__cxx11::to_string[abi:cxx11](int)", "check the level" },
		{ "vsnprintf", "check the level" },
		{ "strcmp_all", NULL },
		{ "lookup", NULL },
		{ "___", NULL },
		{ "", NULL },
		{ NULL, NULL },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const char *advice = known_advice_of_call(rows[i].function);
		const char *name = rows[i].function ? rows[i].function : "NULL";
		cr_expect_eq(advice != NULL, rows[i].says != NULL, "%s", name);
		if (advice && rows[i].says)
			cr_expect(strstr(advice, rows[i].says) != NULL, "%s: %s", name, advice);
	}
}

Test(known_calls, what_passes_calls_on)
{
	cr_expect(known_passes_on("Builtins_CEntry_Return1_ArgvOnStack_BuiltinExit"));
	cr_expect(known_passes_on("Builtins_InterpreterEntryTrampoline"));
	cr_expect(!known_passes_on("Builtins_ArrayIncludesSmi"));
	cr_expect(!known_passes_on("lookup"));
}

Test(known_calls, an_interpreter_has_a_profiler_of_its_language)
{
	static const struct {
		const char *module, *says;
	} rows[] = {
		{ "/usr/lib/libruby-3.1.so.3.1", "rbspy" },
		{ "/usr/bin/ruby3.1", "rbspy" },
		{ "/usr/bin/php8.2", "Excimer" },
		{ "/usr/bin/lua5.4", "debug.sethook" },
		{ "/usr/lib/liblua5.4.so.0", "sethook" },
		{ "/usr/bin/luajit", "-jp" },
		{ "/usr/lib/libluajit-5.1.so.2", "-jp" },
		{ "/usr/bin/perl", "NYTProf" },
		{ "/usr/lib/R/lib/libR.so", "Rprof" },
		{ "/bin/bash", "PS4" },
		{ "/usr/bin/sort", NULL },
		{ "", NULL },
		{ NULL, NULL },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const char *profiler = known_profiler_of(rows[i].module);
		const char *name = rows[i].module ? rows[i].module : "NULL";
		cr_expect_eq(profiler != NULL, rows[i].says != NULL, "%s", name);
		if (profiler && rows[i].says)
			cr_expect(strstr(profiler, rows[i].says) != NULL, "%s", name);
	}
}

Test(known_calls, an_interpreter_whose_compiler_names_functions_has_the_command)
{
	static const struct {
		const char *module, *says;
	} rows[] = {
		{ "/usr/bin/php8.2", "bottleneck --names php -d opcache.enable_cli=1 " },
		{ "/usr/sbin/php-fpm8.2", NULL },
		{ "/usr/lib/libruby-3.1.so.3.1.2", NULL },
		{ "/usr/lib/libruby-3.3.so.3.3.8", "bottleneck ruby --yjit --yjit-perf SCRIPT." },
		{ "/opt/lib/libruby.so.4.0", NULL },
		{ "/usr/bin/ruby3.4", "--yjit-perf" },
		{ "/usr/bin/perl", NULL },
		{ "", NULL },
		{ NULL, NULL },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const char *command = known_jit_of(rows[i].module);
		const char *name = rows[i].module ? rows[i].module : "NULL";
		cr_expect_eq(command != NULL, rows[i].says != NULL, "%s", name);
		if (command && rows[i].says)
			cr_expect(strstr(command, rows[i].says) != NULL, "%s", name);
	}
}
