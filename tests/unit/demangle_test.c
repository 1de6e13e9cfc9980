// SPDX-License-Identifier: MIT
#include "symbolize/frame/demangle.h"
#include "tests/support/expect.h"

#include <string.h>

Test(demangle, names_are_as_people_wrote_them)
{
	static const struct {
		const char *mangled, *readable;
	} rows[] = {
		{ "main", "main" },
		{ "", "" },
		{ "_ZN2ns3addEii", "ns::add(int, int)" },
		{ "_ZNSt6vectorIiSaIiEE9push_backEOi",
		  "std::vector<int, std::allocator<int> >::push_back(int&&)" },
		{ "_ZZ4mainENKUlvE_clEv", "main::{lambda()#1}::operator()() const" },
		{ "_ZN4core3fmt9Formatter3pad17h0123456789abcdefE", "core::fmt::Formatter::pad" },
		{ "_ZN3app4main28_$u7b$$u7b$closure$u7d$$u7d$17h0123456789abcdefE",
		  "app::main::{{closure}}" },
		{ "_RNvCs15kBYyAo9fc_7mycrate7example", "mycrate::example" },
		{ "gopkg.in/yaml%2ev3.(*decoder).scalar", "gopkg.in/yaml.v3.(*decoder).scalar" },
		{ "main.(*Cart).Total", "main.(*Cart).Total" },
		{ "main.Sum[go.shape.int_0]", "main.Sum[go.shape.int_0]" },
		{ "a%2", "a%2" },
		{ "a.b%2", "a.b%2" },
		{ "a.b%zz%00%0a", "a.b%zz%00%0a" },
		{ "_Zwhatever", "_Zwhatever" },
		{ "__pyx_pw_3mod_5func", "mod.func" },
		{ "__pyx_pf_3mod_func", "mod.func" },
		{ "__pyx_pf_3mod_4func", "mod.func" },
		{ "__pyx_f_3mod_func", "mod.func" },
		{ "__pyx_f_3mod_func.isra.0", "mod.func" },
		{ "__pyx_pw_3pkg_3mod_1func", "pkg.mod.func" },
		{ "__pyx_pw_3mod_3get_x", "mod.get_x" },
		{ "__pyx_pf_3mod_4get_x_y", "mod.get_x_y" },
		{ "__pyx_pw_3mod_3Cls_1get", "mod.Cls.get" },
		{ "__pyx_pf_3mod_3Cls_2get", "mod.Cls.get" },
		{ "__pyx_pf_3mod_3cls___init__", "mod.cls.__init__" },
		{ "__pyx_f_3pkg_3mod_3Cls_get", "pkg.mod.Cls.get" },
		{ "__pyx_gb_3mod_2items", "mod.items" },
		{ "__pyx_pw_3mod_", "__pyx_pw_3mod_" },
		{ "__pyx_pw_9mod_1f", "__pyx_pw_9mod_1f" },
		{ "__pyx_f_", "__pyx_f_" },
		{ "__pyx_tp_new_3mod_Cls", "__pyx_tp_new_3mod_Cls" },
		{ "_Z", "_Z" },
	};
	cleanup(demangler) struct demangler *d = demangler_new();

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const char *name = demangler_name(d, rows[i].mangled, strlen(rows[i].mangled));
		cr_expect(eq(str, (char *)name, (char *)rows[i].readable), "%s", rows[i].mangled);
	}
}

Test(demangle, a_name_is_worked_out_once)
{
	cleanup(demangler) struct demangler *d = demangler_new();
	const char *first = demangler_name(d, "_Z3fitv", 7);

	for (int i = 0; i < 1000; i++) {
		char other[32];
		int length = snprintf(other, sizeof(other), "_Z4f%03dv", i);
		cr_assert(demangler_name(d, other, (size_t)length) != NULL);
	}
	cr_expect(eq(ptr, (void *)demangler_name(d, "_Z3fitv", 7), (void *)first));
}

Test(demangle, only_the_given_length_is_the_name)
{
	cleanup(demangler) struct demangler *d = demangler_new();

	cr_expect(eq(str, (char *)demangler_name(d, "_Z3fitv@@V1", 7), "fit()"));
}

Test(demangle, a_long_template_name_is_still_made_readable)
{
	cleanup(demangler) struct demangler *d = demangler_new();
	char name[2400] = "_Z1fIN";

	// f<word::word::…>: longer than the library takes by itself.
	for (int i = 0; i < 40; i++)
		sprintf(name + strlen(name), "50x%049d", i);
	strcat(name, "EEvv");
	const char *readable = demangler_name(d, name, strlen(name));
	cr_expect(ne(int, strncmp(readable, "_Z", 2), 0), "%.40s", readable);
	cr_expect(gt(sz, strlen(readable), 2000));
}

Test(demangle, a_name_that_would_fill_the_memory_is_left_as_it_is)
{
	cleanup(demangler) struct demangler *d = demangler_new();
	char name[512] = "_Z1fSt4pairIiiE";
	static const char digits[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";

	// Each pair doubles the one before by a substitution, 18 times over.
	for (int i = 0; i < 18; i++)
		sprintf(name + strlen(name), "St4pairIS%c_S%c_E", digits[2 * i], digits[2 * i]);
	const char *readable = demangler_name(d, name, strlen(name));
	cr_expect(eq(str, (char *)readable, name));
}
