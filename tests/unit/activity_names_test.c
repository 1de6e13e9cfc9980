// SPDX-License-Identifier: MIT
#include "merge/rules/activity.h"

#include <criterion/criterion.h>

struct expected {
	const char *function, *file;
	activity_set doing;
};

Test(activity_names, names_of_functions_tell_what_they_do)
{
	static const struct expected table[] = {
		{ "fsync", NULL, ACTIVITY(SYNC) },
		{ "__fsync", NULL, ACTIVITY(SYNC) },
		{ "memcpy@GLIBC_2.14", NULL, ACTIVITY(COPY) },
		{ "getdents64", NULL, ACTIVITY(OPEN) | ACTIVITY(LIST) },
		{ "openat64", NULL, ACTIVITY(OPEN) },
		{ "unlinkat", NULL, ACTIVITY(OPEN) | ACTIVITY(REMOVE) },
		{ "ext4_create", NULL, ACTIVITY(OPEN) | ACTIVITY(CREATE) },
		{ "fstatat64", NULL, ACTIVITY(OPEN) | ACTIVITY(LOOK) },
		{ "getpwuid_r", NULL, ACTIVITY(USER) },
		{ "__memmove_avx_unaligned_erms", NULL, ACTIVITY(COPY) },
		{ "___pthread_mutex_lock", NULL, ACTIVITY(MUTEX) },
		{ "pthread_cond_clockwait", NULL, ACTIVITY(CONDITION) },
		{ "operator new(unsigned long)", NULL, ACTIVITY(ALLOCATE) },
		{ "{built-in method time.sleep}", NULL, ACTIVITY(SLEEP) },
		{ "{built-in method builtins.sorted}", NULL, ACTIVITY(SORT) },
		{ "{method 'sort' of 'list' objects}", NULL, ACTIVITY(SORT) },
		{ "strcoll_l", NULL, ACTIVITY(COLLATE) },
		{ "strxfrm_l", NULL, 0 }, // makes keys that are compared as bytes
		{ "{method 'index' of 'list' objects}", NULL, ACTIVITY(SHIFT) },
		{ "{method 'count' of 'list' objects}", NULL, 0 },
		{ "{built-in method zlib.compress}", NULL, ACTIVITY(COMPRESS) },
		{ "{built-in method zlib.decompress}", NULL, 0 },
		{ "{method 'compress' of 'zlib.Compress' objects}", NULL, ACTIVITY(COMPRESS) },
		{ "{method 'compress' of 'numpy.ndarray' objects}", NULL, 0 },
		{ "{built-in method _pickle.loads}", NULL, ACTIVITY(SERIALIZE) },
		{ "{built-in method tensor}", NULL, ACTIVITY(FROM_LIST) },
		{ "_PyErr_SetObject", NULL, ACTIVITY(THROW) },
		{ "_PyBytes_Concat", NULL, ACTIVITY(CONCAT) },
		{ "_PyBytes_Resize", NULL, 0 }, // of pickle and read(), which grow by a factor
		{ "_int_malloc", NULL, ACTIVITY(ALLOCATE) },
		{ "std::sys::sync::mutex::futex::Mutex::lock_contended", NULL, ACTIVITY(MUTEX) },
		{ "<std::sys::sync::mutex::futex::Mutex>::lock", NULL, ACTIVITY(MUTEX) },
		{ "std::sync::mpmc::zero::Channel<T>::recv", NULL, ACTIVITY(CONDITION) },
		{ "std::sync::mpsc::SyncSender<T>::send", NULL, ACTIVITY(CONDITION) },
		{ "<std::thread::thread::Thread>::unpark", NULL, ACTIVITY(CONDITION) },
		{ "std::sync::atomic::AtomicUsize::load", NULL, 0 },
		{ "void std::__advance<std::_List_iterator<int>, long>", NULL,
		  ACTIVITY(STRING_END) },
		{ "void std::__advance<int*, long>", NULL, 0 },
		{ "<core::str::iter::Chars as core::iter::traits::iterator::Iterator>::advance_by",
		  NULL, ACTIVITY(STRING_END) },
		{ "<core::slice::iter::Iter<T> as core::iter::traits::iterator::Iterator>::advance_by",
		  NULL, 0 },
		{ "__tzfile_read", NULL, ACTIVITY(ZONE) },
	};

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
		cr_expect_eq(activity_of(table[i].function, table[i].file), table[i].doing, "%s",
		             table[i].function);
}

Test(activity_names, python_functions_are_known_by_their_files)
{
	static const struct expected table[] = {
		{ "_compile", "/usr/lib/python3.11/re/_compiler.py", ACTIVITY(REGEX) },
		{ "_compile", "/home/me/_compiler.pyx", 0 },
		{ "_compile", "/home/me/my_compiler.py", 0 },
		{ "Condition.wait", "/usr/lib/python3.11/threading.py", ACTIVITY(CONDITION) },
		{ "wait", "/usr/lib/python3.8/threading.py", ACTIVITY(CONDITION) },
		{ "wait", "/home/me/wait.py", 0 },
		{ "read", "/home/me/read.py", 0 },
		{ "info", "/usr/lib/python3.11/logging/__init__.py", ACTIVITY(LOGGING) },
		{ "info", "/home/me/app/__init__.py", 0 },
		{ "_find_and_load", "<frozen importlib._bootstrap>", ACTIVITY(IMPORT) },
		{ "_find_and_load", "<frozen importlib._bootstrap_external>", 0 },
		// The last of the table: all patterns are indexed.
		{ "CUDADispatcher.compile", "/opt/numba/cuda/dispatcher.py", ACTIVITY(COMPILE) },
		{ "CUDADispatcher.compile", "numba/cuda/dispatcher.py", ACTIVITY(COMPILE) },
		{ "CUDADispatcher.compile", "/opt/cuda/dispatcher.py", 0 },
	};

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
		cr_expect_eq(activity_of(table[i].function, table[i].file), table[i].doing, "%s %s",
		             table[i].file, table[i].function);
}

Test(activity_names, others_tell_nothing)
{
	static const char *const names[] = { "", "main", "work", "fsyncer", "my_malloc", "reader" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		cr_expect_eq(activity_of(names[i], NULL), 0, "%s", names[i]);
}

Test(activity_names, kinds_beyond_the_sixty_fourth_are_kinds_of_their_own)
{
	activity_set import = activity_of("_find_and_load", "<frozen importlib._bootstrap>");

	cr_expect(import == ACTIVITY(IMPORT));
	cr_expect(import >> 64, "it needs more than a word");
	for (int kind = 0; kind < 64; kind++)
		cr_expect(!(import & (activity_set)1 << kind), "%d", kind);
	cr_expect(!(import & (ACTIVITY(LOADER) | ACTIVITY(WORKER))));
}

#define STRING "std::__cxx11::basic_string<char, std::char_traits<char> >"

Test(activity_names, copies_of_objects_take_one_of_their_own_class)
{
	static const struct expected table[] = {
		{ "Road::Road(Road const&)", NULL, ACTIVITY(OBJECT) },
		{ "a::List<int, b<c> >::List(a::List<int, b<c> > const&)", NULL, ACTIVITY(OBJECT) },
		{ STRING "::basic_string(" STRING " const&)", NULL,
		  ACTIVITY(OBJECT) | ACTIVITY(COPY) },
		{ "a::Road::operator=(a::Road const&)", NULL, ACTIVITY(OBJECT) },
		{ "a::Road::operator=(a::Road&&)", NULL, ACTIVITY(MOVED) },
		{ "a::Road::Road(a::Road&&)", NULL, ACTIVITY(MOVED) },
		{ "a::Road::Road(a::Tree&&)", NULL, 0 },
		{ "Road::Road(Road&&)", NULL, ACTIVITY(MOVED) },
		{ "Road::Road(Path const&)", NULL, 0 },
		{ "Road::Road(Road const&, int)", NULL, 0 },
		{ "Road::~Road()", NULL, 0 },
		{ "Road::add(Road const&)", NULL, 0 },
		{ "::", NULL, 0 },
		{ "::(", NULL, 0 },
		{ "a<b>::(a<b> const&)", NULL, 0 },
		{ "<alloc::vec::Vec<i32> as core::clone::Clone>::clone", NULL,
		  ACTIVITY(OBJECT) | ACTIVITY(COPY) },
		{ "<alloc::sync::Arc<i32> as core::clone::Clone>::clone", NULL, ACTIVITY(OBJECT) },
		{ "std::shared_ptr<int>::shared_ptr(std::shared_ptr<int> const&)", NULL,
		  ACTIVITY(OBJECT) },
	};

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
		cr_expect_eq(activity_of(table[i].function, table[i].file), table[i].doing, "%s",
		             table[i].function);
}
