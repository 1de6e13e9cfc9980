// SPDX-License-Identifier: MIT
#include "base/go_function.h"

#include "tests/support/expect.h"

Test(go_function, the_package_is_the_path_up_to_the_first_dot_behind_it)
{
	cr_expect(go_function_is_of("runtime.gopark", "runtime"));
	cr_expect(go_function_is_of("net/http.(*conn).serve", "net/http"));
	cr_expect(go_function_is_of("github.com/a/b.c.d", "github.com/a/b"));
	cr_expect(go_function_is_of("sync.OnceFunc[go.shape.func(net/http.X)]", "sync"));
	cr_expect(not(go_function_is_of("runtime/debug.FreeOSMemory", "runtime")));
	cr_expect(not(go_function_is_of("runtimes.x", "runtime")));
	cr_expect(not(go_function_is_of("", "runtime")));
	cr_expect(not(go_function_is_of("main", "main")));
}

Test(go_function, its_own_library_is_known_by_the_first_part_of_the_path)
{
	static const struct {
		const char *name;
		bool standard;
	} rows[] = {
		{ "time.Sleep", true },
		{ "internal/poll.(*FD).Read", true },
		{ "vendor/golang.org/x/net/http2.x", true },
		{ "main.main", false },
		{ "main.time.Sleep", false },
		{ "github.com/net/http.Get", false },
		{ "netshop/cart.Total", false },
		{ "runtime_lookalike", false },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		cr_expect(eq(int, go_function_is_standard(rows[i].name), rows[i].standard), "%s",
		          rows[i].name);
}

Test(go_function, closures_and_wrappers_are_known_by_their_last_part)
{
	cr_expect(go_function_is_closure("main.main.func1"));
	cr_expect(go_function_is_closure("main.(*Cart).Total.func12.3"));
	cr_expect(not(go_function_is_closure("main.function1")));
	cr_expect(not(go_function_is_closure("main.func")));
	cr_expect(go_function_is_wrapper("main.main.gowrap1"));
	cr_expect(not(go_function_is_wrapper("main.gowrapper")));
	cr_expect(not(go_function_is_wrapper("main.main.func1")));
}

Test(go_function, a_title_has_no_brackets_and_is_cut)
{
	char title[16];

	go_function_title("sync.(*Mutex).Lock", title, sizeof(title));
	cr_expect(eq(str, title, "sync.Mutex.Lock"));
	go_function_title("sync.(*WaitGroup).Wait", title, sizeof(title));
	cr_expect(eq(str, title, "sync.WaitGroup."));
}
