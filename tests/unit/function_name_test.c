// SPDX-License-Identifier: MIT
#include "base/function_name.h"
#include "tests/support/expect.h"

#include <stdlib.h>
#include <string.h>

Test(function_name, a_bare_name_has_no_types)
{
	static const char *const rows[][2] = {
		{ "main", "main" },
		{ "bool a::less<int>(int, int) const", "a::less" },
		{ "std::basic_istream<char, std::char_traits<char> >& std::operator>><char, "
		  "std::char_traits<char>, std::allocator<char> >(std::basic_istream<char, "
		  "std::char_traits<char> >&, std::__cxx11::basic_string<char, "
		  "std::char_traits<char>, std::allocator<char> >&)",
		  "std::operator>>" },
		{ "a::run(int)::{lambda(auto)#1}::operator()(long) const",
		  "a::run::{lambda#1}::operator()" },
		{ "(anonymous namespace)::f(int)", "(anonymous namespace)::f" },
		{ "min_element<It<int*>, distances(const Graph&, int)::<lambda(int, int)> >",
		  "min_element" },
		{ "distances(const Graph&, int)::<lambda(int, int)>", "distances::<lambda>" },
		{ "<alloc::vec::Vec<T> as core::ops::Drop>::drop", "alloc::vec::Vec::drop" },
		{ "<std::io::Bytes<std::fs::File> as core::iter::Iterator>::next",
		  "std::io::Bytes::next" },
		{ "<std::path::Path>::join", "std::path::Path::join" },
		{ "<[u8] as core::fmt::Debug>::fmt", "::fmt" },
		{ "core::ptr::copy_nonoverlapping::<u8>", "core::ptr::copy_nonoverlapping" },
		{ "alloc::slice::<impl [T]>::to_vec", "alloc::slice::to_vec" },
		{ "a::run::<a::G>::{closure#1}", "a::run::{closure#1}" },
		{ "<a as b", "<a as b" },
		{ "pthread_cond_wait@@GLIBC_2.3.2", "pthread_cond_wait" },
		{ "memcpy@GLIBC_2.2.5", "memcpy" },
		{ "read@plt", "read@plt" },
		{ "<module>", "<module>" },
		{ "Points.<locals>.<genexpr>", "Points.<locals>.<genexpr>" },
		{ "{built-in method marshal.loads}", "marshal.loads" },
		{ "{method 'readall' of '_io.FileIO' objects}", "FileIO.readall" },
		{ "{slot '__sub__' of 'numpy.ndarray' objects}", "ndarray.__sub__" },
		{ "", "" },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char *bare = function_name_bare(rows[i][0]);
		cr_expect(eq(str, bare, (char *)rows[i][1]));
		free(bare);
	}
}

Test(function_name, brackets_of_one_kind_are_folded)
{
	char *types =
		function_name_fold("std::vector<int, std::less<int> >::at(map<a, b>)", '<', "*");
	char *parameters = function_name_fold("f(int (*)(long))::operator()(int)", '(', "*");
	char *python = function_name_fold("f.<locals>.<lambda>", '<', "*");
	char *rust = function_name_fold("<RawVec<T, A> as core::ops::Drop>::drop", '<', "*");

	cr_expect(eq(str, types, "std::vector<*>::at(map<*>)"));
	cr_expect(eq(str, parameters, "f(*)::operator()(*)"));
	cr_expect(eq(str, python, "f.<locals>.<lambda>"));
	cr_expect(eq(str, rust, "RawVec<*>::drop"));
	free(types);
	free(parameters);
	free(python);
	free(rust);
}

Test(function_name, parts_end_at_colons_outside_of_brackets)
{
	const char *name = "a<b::c>::d::operator<";

	name = function_name_part(name);
	cr_expect(eq(str, (char *)name, "::d::operator<"));
	name = function_name_part(name + 2);
	cr_expect(eq(str, (char *)name, "::operator<"));
	name = function_name_part(name + 2);
	cr_expect(eq(str, (char *)name, ""));
}
