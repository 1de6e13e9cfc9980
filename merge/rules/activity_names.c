// SPDX-License-Identifier: MIT
// Which names tell what is done. Leading underscores, and versions behind an @, do not count. A
// name that ends in * is a prefix; "re.py:compile" is a Python function of that file, and "re.py:*"
// any of them.
#include "merge/rules/activity.h"

#include "base/hash.h"
#include "base/op.h"

#include <pthread.h>
#include <string.h>

struct names {
	activity_set activity;
	const char *names; // separated by |
};

static const struct names table[] = {
	{ ACTIVITY(MUTEX),
	  "pthread_mutex_lock|pthread_mutex_timedlock|pthread_mutex_clocklock|lll_lock_wait*|"
	  "pthread_rwlock_*lock|sem_wait*|new_sem_wait*|sem_timedwait|PyThread_acquire_lock*|"
	  "GOMP_critical_*|GOMP_atomic_*|omp_set_lock*|omp_set_nest_lock*|omp_unset_lock*|"
	  "omp_unset_nest_lock*|kmpc_critical*|kmpc_end_critical*|"
	  "std::sys::*::mutex*|<std::sys::sync::mutex::*|std::sys::*::rwlock*|"
	  "<std::sys::sync::rwlock::*|{method 'acquire' of '_thread.lock' objects}|"
	  "{method 'acquire' of '_thread.RLock' objects}|"
	  "{method '__enter__' of '_thread.lock' objects}|"
	  "{method '__enter__' of '_thread.RLock' objects}" },
	{ ACTIVITY(CONDITION),
	  "pthread_cond_*wait*|pthread_cond_signal|pthread_cond_broadcast|threading.py:*wait|threading.py:*wait_for|"
	  "queue.py:*get|queue.py:*put|std::condition_variable::*|std::sync::mpmc::*|"
	  "<std::sync::mpmc::*|std::sync::mpsc::*|<std::sync::mpsc::*|std::thread::park*|"
	  "std::thread::Thread::unpark|<std::thread::thread::Thread>::*park|"
	  "std::sys::*::thread_parking::*|<std::sys::sync::thread_parking::*|"
	  "std::sys::*::condvar*|<std::sys::sync::condvar::*|crossbeam_channel::*|"
	  "<crossbeam_channel::*|runtime.chansend*|runtime.chanrecv*|runtime.selectgo" },
	{ ACTIVITY(SWITCH), "runtime.park_m|runtime.goready*|runtime.ready" },
	{ ACTIVITY(JOIN), "pthread_join|pthread_timedjoin_np|pthread_clockjoin*|"
	                  "std::thread::join*|thrd_join|threading.py:*join|"
	                  "threading.py:*_wait_for_tstate_lock" },
	{ ACTIVITY(BARRIER), "gomp_team_barrier*|gomp_barrier*|GOMP_barrier|GOMP_parallel_end|"
	                     "kmp_*barrier*|kmpc_barrier|pthread_barrier_wait|omp_*barrier*|"
	                     "gomp_team_end|gomp_thread_start" },
	{ ACTIVITY(CHUNK), "GOMP_loop_*_next|gomp_iter_*_next*|kmpc_dispatch_next*" },
	{ ACTIVITY(SPIN),
	  "pthread_spin_lock|gomp_*spin*|do_spin|kmp_wait_*|kmp_yield|"
	  "sched_yield|queued_spin_lock_slowpath|"
	  // Go's scheduler, while it looks for work; time.Sleep() does not come here.
	  "runtime.usleep*" },
	{ ACTIVITY(SYNC), "fsync|fdatasync|sync_file_range|syncfs|sync|msync|"
	                  "{built-in method posix.fsync}|{built-in method posix.fdatasync}" },
	{ ACTIVITY(READ),
	  "read|pread|pread64|readv|preadv|preadv64|libc_read|libc_pread*|ksys_read|"
	  "{built-in method posix.read}|recv|recvfrom|recvmsg|libc_recv*|read_builtin" },
	{ ACTIVITY(WRITE),
	  "write|pwrite|pwrite64|writev|pwritev|libc_write|libc_pwrite*|ksys_write|"
	  "{built-in method posix.write}|send|sendto|sendmsg|libc_send*|sendfile*|copy_file_range|splice" },
	{ ACTIVITY(SOCKET), "sock_read_iter|sock_write_iter|sock_sendmsg*|sock_recvmsg*|sys_sendto|"
	                    "sys_recvfrom|sys_sendmsg|sys_recvmsg|unix_stream_*|tcp_sendmsg*|"
	                    "tcp_recvmsg*|udp_sendmsg*|udp_recvmsg*" },
	{ ACTIVITY(CONNECT),
	  "connect|libc_connect|socket|getaddrinfo|gaih_inet*|getnameinfo|gethostbyname*|gethostbyaddr*|sys_connect|tcp_v4_connect|sock_close|sock_release|sock_alloc*|tcp_close*|"
	  "sys_socket|{method 'connect' of '_socket.socket' objects}|"
	  "{built-in method _socket.getaddrinfo}|{built-in method _socket.gethostbyname*|"
	  "{built-in method _socket.getnameinfo}" },
	{ ACTIVITY(LOOKUP),
	  "getaddrinfo|gaih_inet*|getnameinfo|gethostbyname*|gethostbyaddr*|"
	  "{built-in method _socket.getaddrinfo}|{built-in method _socket.gethostbyname*|"
	  "{built-in method _socket.getnameinfo}" },
	{ ACTIVITY(OPEN), "open|open64|openat|openat64|libc_open*|close|libc_close*|do_sys_openat2|"
	                  "filp_close|{built-in method posix.open}|{built-in method posix.close}|"
	                  "{built-in method io.open}" },
	{ ACTIVITY(OPEN) | ACTIVITY(LOOK),
	  "stat|stat64|fstat*|lstat*|newfstatat|statx|access|faccessat*|readlink|readlinkat|"
	  "getxattr|lgetxattr|fgetxattr|listxattr|llistxattr|vfs_statx|"
	  "{built-in method posix.stat}|{built-in method posix.lstat}" },
	{ ACTIVITY(OPEN) | ACTIVITY(LIST),
	  "readdir*|getdents*|opendir|iterate_dir|{built-in method posix.listdir}|"
	  "{built-in method posix.scandir}" },
	// Of an open() that makes a file, what the file system does for that.
	{ ACTIVITY(OPEN) | ACTIVITY(CREATE),
	  "creat|creat64|mkdir|mkdirat|mknod|mknodat|symlink|symlinkat|link|linkat|do_mkdirat|"
	  "vfs_create|ext4_create|xfs_generic_create|btrfs_create|btrfs_create_new_inode|"
	  "shmem_create|shmem_mknod|f2fs_create|nfs_create|ovl_create*|"
	  "{built-in method posix.mkdir}|{built-in method posix.symlink}|"
	  "{built-in method posix.link}" },
	{ ACTIVITY(OPEN) | ACTIVITY(REMOVE),
	  "unlink|unlinkat|rmdir|do_unlinkat|do_rmdir|{built-in method posix.unlink}|"
	  "{built-in method posix.remove}|{built-in method posix.rmdir}" },
	{ ACTIVITY(OPEN) | ACTIVITY(RENAME),
	  "rename|renameat|renameat2|do_renameat2|{built-in method posix.rename}|"
	  "{built-in method posix.replace}" },
	{ ACTIVITY(OPEN) | ACTIVITY(ATTRIBUTE),
	  "chmod|fchmod|fchmodat|chown|fchown|fchownat|lchown|utime|utimes|utimensat|futimens|"
	  "setxattr|lsetxattr|fsetxattr|truncate|truncate64|ftruncate|ftruncate64|"
	  "{built-in method posix.chmod}|{built-in method posix.chown}|"
	  "{built-in method posix.utime}" },
	{ ACTIVITY(USER),
	  "getpwuid*|getpwnam*|getgrgid*|getgrnam*|getgrouplist|initgroups|nss_files_getpw*|"
	  "nss_files_getgr*|{built-in method pwd.getpw*|{built-in method grp.getgr*" },
	{ ACTIVITY(ZONE), "tzset_internal*|tzfile_read*" },
	{ ACTIVITY(SLEEP), "nanosleep|clock_nanosleep*|usleep|sleep|thrd_sleep|libc_nanosleep|"
	                   "{built-in method time.sleep}|std::this_thread::sleep_*" },
	{ ACTIVITY(POLL),
	  "poll|ppoll|select|pselect*|epoll_wait|epoll_pwait*|libc_poll|libc_select*|"
	  "pause|libc_pause|sigsuspend|sigwait|sigwaitinfo|sigtimedwait|runtime.netpoll|"
	  "{method 'poll' of 'select.*|{built-in method select.*|accept|accept4|libc_accept*" },
	{ ACTIVITY(SIGNAL), "pause|libc_pause|sigsuspend|sigwait|sigwaitinfo|sigtimedwait" },
	{ ACTIVITY(SPAWN),
	  "fork|libc_fork|vfork|libc_vfork|posix_spawn*|spawni*|execve|execv*|popen|pclose|system|"
	  "do_system|wait4|waitpid|waitid|libc_wait*|libc_system|proc_open|"
	  "{built-in method _posixsubprocess.fork_exec}|{built-in method posix.waitpid}|"
	  "{built-in method posix.fork}|{built-in method posix.system}|"
	  "subprocess.py:*|{built-in method posix.posix_spawn*" },
	{ ACTIVITY(REAP), "pclose|wait4|waitpid|waitid|libc_wait*|subprocess.py:*wait|"
	                  "subprocess.py:*communicate|{built-in method posix.waitpid}" },
	{ ACTIVITY(THREAD), "pthread_create|libc_clone*|clone3|thrd_create|threading.py:*start|"
	                    "{built-in method _thread.start_new_thread}" },
	{ ACTIVITY(FAULT), "asm_exc_page_fault|exc_page_fault|do_user_addr_fault|handle_mm_fault|"
	                   "clear_page*|do_anonymous_page" },
	{ ACTIVITY(INTERRUPT), "asm_sysvec_*|asm_common_interrupt" },
	{ ACTIVITY(MAPPED), "filemap_fault|filemap_map_pages" },
	{ ACTIVITY(ALLOCATE),
	  "malloc|free|calloc|realloc|cfree|libc_malloc|libc_free|libc_calloc|libc_realloc|"
	  "int_malloc|int_free*|int_realloc|malloc_consolidate|unlink_chunk*|tcache_*|"
	  "operator new*|operator delete*|Znwm|Znam|ZdlPv*|ZdaPv*|memalign|posix_memalign|"
	  "aligned_alloc|je_*|tc_malloc|tc_free|mi_malloc*|mi_free*|sysmalloc*|systrim*|"
	  "mmap|mmap64|munmap|mremap|madvise|brk|sbrk|libc_brk|default_morecore|"
	  "runtime.mallocgc*|runtime.newobject|runtime.makeslice*|runtime.growslice*|"
	  "runtime.gcBgMarkWorker*|runtime.gcAssistAlloc*|runtime.bgsweep*|runtime.gcStart*" },
	{ ACTIVITY(RELEASE),
	  "free|cfree|libc_free|int_free*|operator delete*|ZdlPv*|ZdaPv*|tc_free|"
	  "mi_free*|munmap" },
	{ ACTIVITY(COPY),
	  "memcpy*|memmove*|mempcpy*|wmemcpy*|wmemmove*|copy_user_*|rep_movs_alternative|"
	  "copy_to_iter*|copy_from_iter*|copy_page_to_iter*|copy_page_from_iter*|"
	  "copy_folio_to_iter*|copy_folio_from_iter*|copyin|copyout|runtime.memmove" },
	{ ACTIVITY(FILL), "memset*|wmemset*|bzero|explicit_bzero|runtime.memclrNoHeapPointers*" },
	{ ACTIVITY(OBJECT), "<* as core::clone::Clone>::clone*" },
	// What these do themselves is to copy elements, where a clone of an Arc only counts.
	{ ACTIVITY(OBJECT) | ACTIVITY(COPY),
	  "alloc::slice::<impl *>::to_vec*|<[*]>::to_vec*|"
	  "<alloc::vec::Vec<* as core::clone::Clone>::clone*|"
	  "<alloc::string::String as core::clone::Clone>::clone*|"
	  "<alloc::boxed::Box<* as core::clone::Clone>::clone*|"
	  "<alloc::collections::* as core::clone::Clone>::clone*|"
	  "<std::collections::* as core::clone::Clone>::clone*|"
	  "<hashbrown::* as core::clone::Clone>::clone*" },
	{ ACTIVITY(STRING_END),
	  "strlen*|strcat*|strncat*|stpcpy*|strnlen*|rawmemchr*|wcslen*|core::str::count::*|"
	  "<core::str::iter::Char* as core::iter::traits::iterator::Iterator>::advance_by|"
	  "*std::__advance<std::_List_*|*std::__distance<std::_List_*|g_list_nth*|"
	  "g_list_length|g_list_append|g_slist_nth*|g_slist_length|g_slist_append" },
	{ ACTIVITY(CONCAT),
	  "PyUnicode_Append|PyUnicode_Concat|unicode_concatenate|PyBytes_Concat*|bytes_concat|"
	  "PyUnicode_AppendAndDel|resize_compact|unicode_resize" },
	{ ACTIVITY(POP), "{method 'pop' of 'list' objects}|list_pop*" },
	{ ACTIVITY(SHIFT),
	  "{method 'insert' of 'list' objects}|{method 'remove' of 'list' objects}|"
	  "{method 'index' of 'list' objects}|PySequence_Contains|list_contains|"
	  "PySequence_IterSearch|ins1|PyUnicode_RichCompare|"
	  "std::vector<*>::_M_erase(*|std::vector<*>::_M_insert_aux*|"
	  "std::__1::vector<*>::erase*|<alloc::vec::Vec<*>>::remove*|"
	  "alloc::vec::Vec<*>::remove*|v8::internal::Builtin_ArrayShift*|"
	  "v8::internal::Builtin_ArrayUnshift*|v8::internal::*ElementsAccessor*::Shift*|"
	  "Builtins_ArrayIncludes*|Builtins_ArrayIndexOf*|Builtins_ArrayPrototypeShift*" },
	{ ACTIVITY(THROW),
	  "cxa_throw|cxa_begin_catch|cxa_end_catch|cxa_rethrow|cxa_allocate_exception|"
	  "cxa_free_exception|gxx_personality*|Unwind_RaiseException*|Unwind_Find_FDE|"
	  "Unwind_Resume*|PyErr_SetObject|PyErr_Format*|PyErr_SetString|PyErr_SetNone|"
	  "PyTraceBack_Here|PyErr_NormalizeException|PyErr_CreateException|"
	  "PyErr_SetKeyError|PyErr_GivenExceptionMatches|PyErr_ExceptionMatches|"
	  "PyException_SetTraceback|PyErr_Fetch|PyErr_Restore|PyErr_SetRaisedException|"
	  "BaseException_*|KeyError_*|PyException_SetContext|PyException_GetContext" },
	{ ACTIVITY(REGEX),
	  "sre_compile.py:*|sre_parse.py:*|re/_compiler.py:*|re/_parser.py:*|regcomp|re_compile_*|"
	  "std::*::basic_regex*|std::basic_regex*|std::*regex*_Compiler*|std::__detail::_Compiler*|"
	  "std::__detail::_Scanner*|pcre2_compile*|pcre_compile*|regexp.MustCompile*|"
	  "regexp.Compile*|regexp.compile*|regexp/syntax.*|regex::*Regex*::new|"
	  "<regex::*Regex*>::new|regex::builders::*|regex_syntax::*|re2::RE2::RE2*|re2::RE2::Init*|"
	  "onig_new*|onig_compile*|Perl_re_op_compile|Perl_re_compile" },
	{ ACTIVITY(MATCH),
	  "{method 'match' of 're.Pattern' objects}|{method 'fullmatch' of 're.Pattern' objects}|"
	  "{method 'search' of 're.Pattern' objects}|{method 'findall' of 're.Pattern' objects}|"
	  "{method 'finditer' of 're.Pattern' objects}|{method 'split' of 're.Pattern' objects}|"
	  "{method 'sub' of 're.Pattern' objects}|{method 'subn' of 're.Pattern' objects}|"
	  "{method 'match' of 're.Scanner' objects}|{method 'search' of '_sre.SRE_Scanner' objects}|"
	  "regexec|re_search*|re_match*|bool std::__detail::__regex_algo_search*|"
	  "std::__detail::_Executor<*|pcre2_match_*|pcre2_jit_match_*|pcre2_dfa_match_*|pcre_exec|"
	  "pcre_dfa_exec|onig_search*|onig_match*|re2::RE2::DoMatch*|regex::regex::*::is_match*|"
	  "regex::regex::*::find*|regex_automata::meta::*::search*|Perl_regexec_flags|"
	  "regexp.(*Regexp).*|regexp.MatchString|regexp.Match" },
	{ ACTIVITY(STREAM),
	  "std::basic_istringstream*::basic_istringstream*|"
	  "std::basic_ostringstream*::basic_ostringstream*|"
	  "std::basic_stringstream*::basic_stringstream*|std::*istringstream*::~basic_*|"
	  "std::*ostringstream*::~basic_*|std::*stringstream*::~basic_*|"
	  "std::__cxx11::basic_*stringstream*::basic_*stringstream*" },
	{ ACTIVITY(SYNCED), "gnu_cxx::stdio_sync_filebuf<*" },
	{ ACTIVITY(EXTRACT),
	  "std::istream& std::istream::_M_extract<*|std::istream::operator>>*|std::num_get<*|"
	  "std::basic_istream<*::operator>>*|std::basic_istream<* std::operator>>*|"
	  "std::istream::_M_extract<*|std::basic_istream<* std::getline*|std::istream::get*" },
	// What std::vector calls where it cannot move bytes.
	{ ACTIVITY(RELOCATE), "*std::__uninitialized_move_if_noexcept*|"
	                      "*std::__1::__uninitialized_allocator_move_if_noexcept*" },
	{ ACTIVITY(REGROW),
	  "*vector<*::_M_realloc_insert*|*vector<*::_M_realloc_append*|"
	  "*vector<*::__push_back_slow_path*|*vector<*::__emplace_back_slow_path*" },
	{ ACTIVITY(SHARE),
	  "std::_Sp_counted_base*::_M_release*|std::_Sp_counted_base*::_M_add_ref*|"
	  "std::__shared_count*::__shared_count*|"
	  "std::__shared_count*::~__shared_count*|"
	  "std::__1::__shared_weak_count::__*|std::__1::__shared_count::__*" },
	{ ACTIVITY(SORT), "std::sort*|void std::sort*|std::__introsort_loop*|"
	                  "void std::__introsort_loop*|std::stable_sort*|void std::stable_sort*|"
	                  "void std::__adjust_heap*|qsort|qsort_r|msort_with_tmp*|"
	                  "std::__cxx11::list*::sort*|{built-in method builtins.sorted}|"
	                  "{method 'sort' of 'list' objects}|list_sort_impl*|PyList_Sort" },
	{ ACTIVITY(SORTS),
	  "qsort|qsort_r|msort_with_tmp*|std::__introsort_loop*|void std::__introsort_loop*|"
	  "void std::__insertion_sort*|void std::__final_insertion_sort*|"
	  "void std::__merge_sort_with_buffer*|core::slice::sort::*|sort.pdqsort*|"
	  "sort.insertionSort*|slices.pdqsort*|slices.insertionSort*" },
	{ ACTIVITY(PARSE),
	  "strtol*|strtoul*|strtod*|strtof*|strtoll*|strtoull*|atoi|atol|atof|sscanf|"
	  "isoc99_sscanf|isoc23_sscanf|isoc23_strto*|vsscanf*|timegm|strconv.Parse*|"
	  "strconv.Atoi|time.Parse|core::str::<impl str>::parse*|core::num::*from_str*|"
	  "alloc::str::*to_lowercase*|alloc::str::*to_uppercase*|<str*::to_lowercase|"
	  "<str*::to_uppercase|<str*::parse*|strings.ToLower|"
	  "strings.ToUpper|strings.Split|strings.genSplit|strings.Fields" },
	{ ACTIVITY(TREE), "std::_Rb_tree_increment*|std::_Rb_tree_decrement*|"
	                  "std::_Rb_tree_insert_and_rebalance*|std::_Rb_tree_rebalance_for_erase*|"
	                  "std::_Rb_tree<*|std::map<*|std::set<*|std::multimap<*|std::multiset<*|"
	                  "std::__1::__tree<*|std::__1::__tree_next_iter*|std::__1::map<*|"
	                  "std::__1::set<*|g_tree_search*|g_tree_lookup*|g_tree_insert*|"
	                  "g_tree_foreach*|g_tree_node_next|tsearch|tfind|tdelete|twalk*" },
	{ ACTIVITY(COLLATE), "strcoll*|wcscoll*|{built-in method _locale.strcoll}|"
	                     "std::collate<*>::do_compare*|std::__cxx11::collate<*>::do_compare*" },
	{ ACTIVITY(LINK), "dl_start*|dl_main|dl_relocate_object*|dl_lookup_symbol_x|do_lookup_x|"
	                  "dl_map_object*|dl_runtime_resolve*|dl_fixup|dl_open|dlopen*|"
	                  "dl_sysdep_start*|dl_init|Py_InitializeFromConfig|Py_InitializeEx" },
	{ ACTIVITY(PRELOAD), "do_preload|handle_preload_list|handle_preload" },
	{ ACTIVITY(FLOAT64),
	  "exp|exp1|exp2|exp_fma*|ieee754_exp*|log|log1p|log2|log10|log_fma*|ieee754_log*|pow|pow1|"
	  "pow_fma*|ieee754_pow*|sin|sin_fma*|cos|cos_fma*|sincos*|tan|tan_fma*|tanh|sinh|cosh|asin|"
	  "acos|atan|atan_fma*|atan2*|ieee754_atan2*|cbrt|erf|erfc|hypot|do_sin|do_cos|do_sincos|"
	  "fmod|lgamma|tgamma" },
	{ ACTIVITY(FORMAT),
	  "printf*|fprintf*|sprintf*|snprintf*|vprintf*|vfprintf*|vsprintf*|vsnprintf*|"
	  "asprintf*|vasprintf*|dprintf*|vdprintf*|core::fmt::*|alloc::fmt::*|"
	  "std::io::Write::write_fmt*|std::vformat*|std::__format::*|fmt::v*::*|"
	  "std::to_string*|std::__cxx11::to_string*|std::__1::to_string*" },
	{ ACTIVITY(SQL), "sqlite3_step|sqlite3Step|sqlite3VdbeExec" },
	{ ACTIVITY(SQL_NEXT), "sqlite3BtreeNext|btreeNext" },
	{ ACTIVITY(SQL_SEEK),
	  "sqlite3BtreeTableMoveto|sqlite3BtreeIndexMoveto|sqlite3BtreeMovetoUnpacked|"
	  "sqlite3BtreeInsert|sqlite3BtreeDelete|sqlite3VdbeSorter*" },
	{ ACTIVITY(EXECUTE), "{method 'execute' of 'sqlite3.Connection' objects}|"
	                     "{method 'execute' of 'sqlite3.Cursor' objects}" },
	{ ACTIVITY(RANDOM), "rand|random|drand48|lrand48|mrand48" },
	{ ACTIVITY(LOGGING), "logging/__init__.py:*" },
	{ ACTIVITY(DATE), "_strptime.py:*|strptime*|{built-in method strptime*|mktime*" },
	{ ACTIVITY(DEEPCOPY), "copy.py:*|dataclasses.py:asdict|dataclasses.py:_asdict_inner|"
	                      "dataclasses.py:astuple|dataclasses.py:_astuple_inner" },
	{ ACTIVITY(SERIALIZE),
	  "json/__init__.py:*|json/decoder.py:*|json/encoder.py:*|json/scanner.py:*|pickle.py:*|"
	  "copyreg.py:*|plistlib.py:*|tomllib/_parser.py:*|yaml/__init__.py:*|"
	  "multiprocessing/reduction.py:*dumps|multiprocessing/connection.py:*send|"
	  "multiprocessing/connection.py:*send_bytes|multiprocessing/connection.py:*recv|"
	  "multiprocessing/connection.py:*recv_bytes|{built-in method _pickle.*|"
	  "{method 'dump' of '_pickle.*|{method 'load' of '_pickle.*" },
	{ ACTIVITY(INSPECT), "inspect.py:*|linecache.py:*|traceback.py:*|"
	                     "torch::autograd::PyAnomalyMetadata::*" },
	{ ACTIVITY(EXACT), "fractions.py:*|statistics.py:*|_pydecimal.py:*" },
	// What is called for numbers of more than one of its digits.
	{ ACTIVITY(DIGITS),
	  "k_mul|k_lopsided_mul|x_mul|x_divrem|long_from_non_binary_base*|_gcd_lehmer" },
	// And for numbers of any length.
	{ ACTIVITY(DECIMAL), "long_to_decimal_string_internal*|long_from_string_base|int_pow" },
	{ ACTIVITY(COMPRESS),
	  "deflate|compress2|deflate_stored|deflate_fast|deflate_slow|deflate_medium|longest_match|"
	  "BZ2_bzCompress|BZ2_compressBlock|ZSTD_compress*|lzma_stream_buffer_encode|"
	  "{built-in method zlib.compress}|{method 'compress' of 'zlib*|"
	  "{method 'compress' of '_*|{method 'compress' of 'zstd*|LZ4_compress*" },
	{ ACTIVITY(INVERT), "linalg/linalg.py:inv|linalg/_linalg.py:inv|linalg/_basic.py:inv|"
	                    "{built-in method linalg_inv}|{method 'inverse' of 'torch*" },
	{ ACTIVITY(FROM_LIST), "{built-in method tensor}|torch::utils::tensor_ctor*" },
	{ ACTIVITY(CALLBACK), "asyncio/events.py:*_run" },
	{ ACTIVITY(ELEMENT), "{slot '__getitem__' of 'numpy.ndarray' objects}|"
	                     "{slot '__setitem__' of 'numpy.ndarray' objects}|"
	                     "{method 'item' of 'numpy.ndarray' objects}|array_subscript|"
	                     "array_assign_subscript|array_item" },
	// What NumPy does once a call, however long its arrays are; none of these runs through one.
	{ ACTIVITY(PREPARE),
	  "NpyIter_AdvancedNew|NpyIter_Deallocate|npyiter_*|PyArray_NewFromDescr*|array_dealloc|"
	  "PyArray_CanCastArrayTo|PyArray_CanCastSafely|PyArray_GetCastingImpl|get_bufsize_errmask|"
	  "npy_parse_arguments|PyArrayIdentityHash_GetItem|promote_and_get_*|"
	  "PyUFunc_DefaultLegacyInnerLoopSelector|PyUFunc_SimpleUniformOperationTypeResolver|"
	  "get_wrapped_legacy_ufunc_loop|typenum_fromtypeobj|gentype_alloc|"
	  "convert_ufunc_arguments|resolve_descriptors|PyArray_DiscoverDTypeAndShape*|"
	  "npy_get_floatstatus*|npy_clear_floatstatus*|PyArray_PromoteTypes|PyArray_ResultType|"
	  "PyArray_DescrFromType|PyArray_DescrFromScalar|PyArray_Return|PyArray_Scalar|"
	  "prepare_index|get_view_from_index|PyUFunc_HasOverride|PyUFunc_CheckOverride|"
	  "get_implementing_args_and_methods|PyArray_LookupSpecial*|reducelike_promote_and_resolve|"
	  "simple_legacy_resolve_descriptors|wrapped_legacy_resolve_descriptors" },
	{ ACTIVITY(CAST),
	  "{method 'astype' of 'numpy.ndarray' objects}|array_astype|aligned_contig_cast_*|"
	  "aligned_cast_*|contig_cast_*|cast_*_to_*" },
	{ ACTIVITY(HALF), "HALF_*|npy_half_to_*|npy_*_to_half|npy_halfbits_to_*|npy_*_to_halfbits|"
	                  "npy_floatbits_to_halfbits|npy_doublebits_to_halfbits" },
	{ ACTIVITY(NO_BLAS),
	  "BOOL_matmul*|BOOL_dot|BYTE_matmul*|BYTE_dot|UBYTE_matmul*|UBYTE_dot|"
	  "SHORT_matmul*|SHORT_dot|USHORT_matmul*|USHORT_dot|INT_matmul*|INT_dot|"
	  "UINT_matmul*|UINT_dot|LONG_matmul*|LONG_dot|ULONG_matmul*|ULONG_dot|"
	  "LONGLONG_matmul*|LONGLONG_dot|ULONGLONG_matmul*|ULONGLONG_dot|HALF_matmul*|"
	  "HALF_dot|LONGDOUBLE_matmul*|LONGDOUBLE_dot|*_matmul_inner_noblas" },
	{ ACTIVITY(OBJECTS),
	  "clear_object_strided_loop|OBJECT_*|PyUFunc_O_O*|PyUFunc_OO_O*|PyUFunc_On_Om|"
	  "aligned_strided_to_strided_object*|strided_to_strided_object*|any_to_object*|"
	  "aligned_object_to_*|get_*_to_object*|npy_ObjectM*|object_arrtype_*" },
	{ ACTIVITY(TRACE), "bdb.py:*|coverage/collector.py:*|trace.py:*|cProfile.py:*" },
	{ ACTIVITY(IMPORT), "<frozen importlib._bootstrap>:_find_and_load" },
	{ ACTIVITY(LOADER), "dataloader.py:*__next__|dataloader.py:*_next_data" },
	{ ACTIVITY(WORKER), "_utils/worker.py:_worker_loop" },
	// Where compilers begin. What the same files have for the code that was compiled, as
	// CompiledFxGraph.__call__, runs at every call.
	{ ACTIVITY(COMPILE),
	  "torch/_dynamo/convert_frame.py:*|torch/_inductor/compile_fx.py:*compile_fx*|"
	  "torch/_inductor/compile_fx.py:*_compiler*|torch/_inductor/graph.py:*compile*|"
	  "torch/_inductor/codecache.py:*compile*|torch/_inductor/codecache.py:*load*|"
	  "torch/_inductor/async_compile.py:*|torch/_inductor/cpp_builder.py:*|"
	  "torch/_inductor/cpu_vec_isa.py:*|torch/_inductor/compile_worker/subproc_pool.py:*|"
	  "torch/_inductor/compile_worker/__main__.py:*|"
	  "torch/_inductor/runtime/compile_tasks.py:*|"
	  "torch/_inductor/runtime/triton_heuristics.py:*precompile*|"
	  "torch/_inductor/runtime/triton_heuristics.py:*autotune_to_one_config|"
	  "torch/utils/cpp_extension.py:*|triton/compiler/compiler.py:*compile|"
	  "triton/runtime/jit.py:*compile*|triton/runtime/build.py:*|"
	  "jax/_src/compiler.py:*compile*|jax/_src/interpreters/mlir.py:lower_jaxpr_to_module|"
	  "numba/core/dispatcher.py:*compile*|numba/core/compiler.py:*|"
	  "numba/cuda/dispatcher.py:*compile*" },
};

static const char tensor_joins[] = "aten::cat|aten::stack";
// What they copy is part of how they compute.
static const char tensor_algebra[] =
	"aten::conv*|aten::_conv*|aten::slow_conv*|aten::_slow_conv*|aten::thnn_conv*|"
	"aten::mkldnn_conv*|aten::mkldnn_linear*|aten::_nnpack*|aten::mm|aten::bmm|aten::addmm|"
	"aten::baddbmm|aten::matmul|aten::linear";
static const char tensor_copies[] = "aten::copy_|aten::_to_copy|aten::clone|aten::contiguous";

// Python's files are recognized by the ends of their paths.
static bool ends_with(const char *text, const char *end, size_t length)
{
	size_t size = strlen(text);

	if (size < length || strncmp(text + size - length, end, length) != 0)
		return false;
	return size == length || text[size - length - 1] == '/';
}

static bool matches(const char *pattern, size_t length, const char *text, size_t text_length)
{
	const char *star = memchr(pattern, '*', length);

	if (!star)
		return length == text_length && memcmp(pattern, text, length) == 0;
	size_t head = (size_t)(star - pattern), rest = length - head - 1;
	if (text_length < head || memcmp(pattern, text, head) != 0)
		return false;
	if (!rest)
		return true;
	for (const char *at = text + head, *end = text + text_length;; at++) {
		// No pattern has two stars in a row.
		at = memchr(at, star[1], (size_t)(end - at));
		if (!at)
			return false;
		if (matches(star + 1, rest, at, (size_t)(end - at)))
			return true;
	}
}

// "file.py:function"; NULL if PATTERN is no such.
static const char *colon_of(const char *pattern, size_t length)
{
	const char *colon = memchr(pattern, ':', length);
	bool python = colon && colon - pattern > 3 && memcmp(colon - 3, ".py", 3) == 0;
	bool frozen = colon && colon > pattern && colon[-1] == '>';

	return python || frozen ? colon : NULL;
}

static bool is_in(const char *names, const char *name)
{
	size_t name_length = strlen(name);

	for (const char *at = names; *at;) {
		size_t length = (size_t)(strchrnul(at, '|') - at);
		if (matches(at, length, name, name_length))
			return true;
		at += length + (at[length] == '|');
	}
	return false;
}

// The patterns of the table. A report asks for the same few thousand functions again and again, and
// most patterns are sorted out by the first letter, or for a function of Python by its file.
#define PATTERNS_MAX 1024
#define BUCKETS      256 // of each kind

struct pattern {
	const char *text;
	uint16_t length, file_length; // the latter of "file.py" in "file.py:function"; 0: none
	uint16_t next;                // in the bucket, + 1
	activity_set activity;
};

static struct pattern_index {
	struct pattern patterns[PATTERNS_MAX];
	uint16_t count;
	uint16_t names[BUCKETS], files[BUCKETS]; // the first + 1
} patterns;

static uint16_t *bucket_of_name(const char *name)
{
	return &patterns.names[(unsigned char)*name];
}

static uint16_t *bucket_of_file(const char *path, size_t length)
{
	const char *slash = memrchr(path, '/', length);
	const char *name = slash ? slash + 1 : path;

	return &patterns.files[hash_bytes(name, length - (size_t)(name - path)) % BUCKETS];
}

static void add_pattern(const char *text, size_t length, activity_set activity)
{
	const char *colon = colon_of(text, length);
	size_t file_length = colon ? (size_t)(colon - text) : 0;
	uint16_t *bucket = colon ? bucket_of_file(text, file_length) : bucket_of_name(text);

	if (patterns.count == PATTERNS_MAX)
		return; // a test asks for the last ones
	patterns.patterns[patterns.count++] = (struct pattern){
		text, (uint16_t)length, (uint16_t)file_length, *bucket, activity,
	};
	*bucket = patterns.count;
}

static void index_patterns(void)
{
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
		for (const char *at = table[i].names; *at;) {
			size_t length = (size_t)(strchrnul(at, '|') - at);
			add_pattern(at, length, table[i].activity);
			at += length + (at[length] == '|');
		}
}

static activity_set find_names(const uint16_t *bucket, const char *name, size_t length)
{
	activity_set found = 0;

	for (uint16_t at = *bucket; at; at = patterns.patterns[at - 1].next) {
		const struct pattern *p = &patterns.patterns[at - 1];
		if (matches(p->text, p->length, name, length))
			found |= p->activity;
	}
	return found;
}

static activity_set find_in_file(const char *name, const char *file, size_t file_length)
{
	size_t length = strlen(name);
	activity_set found = 0;

	for (uint16_t at = *bucket_of_file(file, file_length); at;
	     at = patterns.patterns[at - 1].next) {
		const struct pattern *p = &patterns.patterns[at - 1];
		size_t head = p->file_length + (size_t)1;
		if (ends_with(file, p->text, p->file_length) &&
		    matches(p->text + head, p->length - head, name, length))
			found |= p->activity;
	}
	return found;
}

// The first C in NAME that is in no brackets; NULL if there is none.
static const char *outside_brackets(const char *name, const char *end, char c)
{
	int depth = 0;

	for (const char *at = name; at < end; at++) {
		if (*at == c && !depth)
			return at;
		depth += (*at == '<') - (*at == '>');
	}
	return NULL;
}

// "a::list<int>::list(a::list<int> const&)", "a::b::operator=(a::b const&)": a copy constructor or
// assignment, whether somebody has written it or the compiler. BY_REFERENCE is how its parameter
// ends.
static bool makes_of_object(const char *name, size_t length, const char *by_reference)
{
	static const char assigns[] = "operator=";
	const char *end = name + length, *open = outside_brackets(name, end, '(');
	const char *member = name, *own = name, *colon;

	if (!open)
		return false;
	while ((colon = outside_brackets(member, open, ':')) && colon[1] == ':') {
		own = member;
		member = colon + 2;
	}
	if (member == name)
		return false;
	size_t class_length = (size_t)(member - 2 - name), size = (size_t)(open - member);
	const char *bracket = memchr(own, '<', (size_t)(member - 2 - own));
	size_t own_length = (size_t)((bracket ? bracket : member - 2) - own);
	bool constructs = size == own_length && memcmp(member, own, size) == 0;
	bool assigned = size == strlen(assigns) && memcmp(member, assigns, size) == 0;
	size_t left = length - (size_t)(open + 1 - name);
	return (constructs || assigned) && left >= class_length + strlen(by_reference) &&
	       memcmp(open + 1, name, class_length) == 0 &&
	       memcmp(open + 1 + class_length, by_reference, strlen(by_reference)) == 0;
}

// Containers of C++'s library, whose copies copy all elements.
static bool is_container(const char *name)
{
	static const char *const containers[] = { "vector<",   "basic_string<", "deque<",
		                                  "list<",     "forward_list<", "map<",
		                                  "multimap<", "set<",          "multiset<",
		                                  "unordered_" };

	if (strncmp(name, "std::", 5) != 0)
		return false;
	name += 5;
	// Its versions are in namespaces of their own.
	if (strncmp(name, "__cxx11::", 9) == 0)
		name += 9;
	else if (strncmp(name, "__1::", 5) == 0)
		name += 5;
	for (size_t i = 0; i < sizeof(containers) / sizeof(containers[0]); i++)
		if (strncmp(name, containers[i], strlen(containers[i])) == 0)
			return true;
	return false;
}

activity_set activity_of(const char *function, const char *file)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	size_t end = file ? strlen(file) : 0;
	const char *name = function;

	pthread_once(&once, index_patterns);
	if (end > 3 && (strcmp(file + end - 3, ".py") == 0 || file[0] == '<'))
		return find_in_file(name, file, end);
	while (*name == '_')
		name++;
	size_t length = strcspn(name, "@");
	activity_set found = find_names(bucket_of_name("*"), name, length);
	if (*name != '*')
		found |= find_names(bucket_of_name(name), name, length);
	if (makes_of_object(name, length, " const&)"))
		found |= ACTIVITY(OBJECT) | (is_container(name) ? ACTIVITY(COPY) : 0);
	if (makes_of_object(name, length, "&&)"))
		found |= ACTIVITY(MOVED);
	return found;
}

activity_set activity_of_op(const struct op *op)
{
	const char *name = strncmp(op->name, "cblas_", 6) == 0 ? op->name + 6 : op->name;
	bool algebra = op->provider == OP_BLAS || op->provider == OP_LAPACK;

	if (op->provider == OP_PYTHON)
		return strcmp(op->name, "garbage collection") == 0 ? ACTIVITY(GC) : 0;
	if (algebra && (name[0] == 'd' || name[0] == 'z'))
		return ACTIVITY(BLAS) | ACTIVITY(DOUBLE);
	if (op->provider == OP_TORCH && is_in(tensor_joins, op->name))
		return ACTIVITY(JOINED);
	if (op->provider == OP_TORCH && is_in(tensor_copies, op->name))
		return ACTIVITY(TENSORS);
	algebra |= op->provider == OP_TORCH && is_in(tensor_algebra, op->name);
	return algebra ? ACTIVITY(BLAS) : 0;
}
