// SPDX-License-Identifier: MIT
#include "tracer/agent/python/python_runtime.h"

#include "tracer/agent/loaded.h"
#include "tracer/agent/loader.h"
#include "tracer/agent/old_glibc.h"
#include "tracer/agent/system.h"

#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <link.h>
#include <stddef.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define NAMES_READ        4096   // of the sections' names
#define INTERPRETER_BYTES 524288 // of code: half of what a CPython without its modules has

struct search {
	const char *name;
	char path[512]; // of the object that has it
};

static int visit(struct dl_phdr_info *info, size_t size, void *context)
{
	struct search *search = context;
	struct loaded object;

	(void)size;
	if (!loaded_of(info, &object) || !loaded_define(&object, search->name) ||
	    strlen(object.path) >= sizeof(search->path))
		return 0;
	strcpy(search->path, object.path);
	return 1;
}

// dlsym() would allocate what it has to say of a name that is not there, and leave it to the
// target's next dlerror().
static bool is_defined(struct search *search, const char *name)
{
	*search = (struct search){ .name = name };
	return loader_each(visit, search) != 0;
}

// It may have been loaded for somebody alone (RTLD_LOCAL, as plugins are). It stays, if it did so
// far.
static void *open_definer(const struct search *search)
{
	return search->path[0] ? loader_open(search->path, RTLD_LAZY | RTLD_NOLOAD) : RTLD_DEFAULT;
}

static uint32_t parse_number(const char **text)
{
	uint32_t number = 0;

	for (; **text >= '0' && **text <= '9'; ++*text)
		number = number * 10 + (uint32_t)(**text - '0');
	return number;
}

// "3.8.18 (default, …"
static uint32_t parse_version(const char *text)
{
	uint32_t major = parse_number(&text);

	if (*text++ != '.')
		return 0;
	return major << 8 | (parse_number(&text) & 0xff);
}

static uint32_t version_of(void *object, uintptr_t runtime)
{
	uint32_t version = python_layout_version((const uint8_t *)runtime);
	const unsigned long *number = dlsym(object, "Py_Version"); // 3.11
	const char *(*text)(void) = (const char *(*)(void))dlsym(object, "Py_GetVersion");

	if (version)
		return version;
	if (number)
		return (uint32_t)(*number >> 16);
	return text ? parse_version(text()) : 0;
}

static bool choose_layout(struct python_runtime *r, uint32_t version)
{
	// _PyRuntime is larger than what is read of it, in each version that has the cookie.
	if (python_layout_version((const uint8_t *)r->runtime))
		return python_layout_read((const uint8_t *)r->runtime, PYTHON_LAYOUT_BYTES,
		                          &r->layout);
	return python_layout_of(version, &r->layout);
}

static void find_eval(struct python_runtime *r, void *object)
{
	const ElfW(Sym) *symbol = NULL;
	Dl_info info;
	void *eval = dlsym(object, "_PyEval_EvalFrameDefault");

	if (!eval || !dladdr1 || !dladdr1(eval, &info, (void **)&symbol, RTLD_DL_SYMENT) ||
	    !symbol || !symbol->st_size)
		return;
	r->eval_start = (uintptr_t)eval;
	r->eval_end = r->eval_start + symbol->st_size;
}

static bool find_functions(struct python_runtime *r, void *object)
{
	bool by_list = r->layout.version >= PYTHON_VERSION(15); // see python_threads.c

	r->current = (void *(*)(void))dlsym(object, "_PyThreadState_UncheckedGet");
	r->own_outside = (void *(*)(void))dlsym(object, "PyGILState_GetThisThreadState");
	r->own = by_list ? NULL : r->own_outside;
	r->code_type = (uintptr_t)dlsym(object, "PyCode_Type");
	return (r->current || r->layout.thread_status >= 0) && r->own_outside && r->code_type;
}

static enum python_found find_in(struct python_runtime *out, void *object, const char **why)
{
	struct python_runtime r = { .object = object,
		                    .runtime = (uintptr_t)dlsym(object, "_PyRuntime") };

	if (!r.runtime)
		return PYTHON_NOT_THERE;
	if (!choose_layout(&r, version_of(object, r.runtime))) {
		*why = "this version of Python is not known (3.8 to 3.15 are): its frames are not "
		       "available, native stacks only";
		return PYTHON_REFUSED;
	}
	if (!find_functions(&r, object)) {
		*why = "this Python exports no functions: its frames are not available, native stacks "
		       "only";
		return PYTHON_REFUSED;
	}
	find_eval(&r, object);
	*out = r;
	return PYTHON_FOUND;
}

static bool read_at(int fd, void *to, size_t size, uint64_t offset)
{
	return syscall(SYS_pread64, fd, to, size, offset) == (long)size;
}

static bool has_section(int fd, const char *name)
{
	char names[NAMES_READ];
	Elf64_Ehdr head;
	Elf64_Shdr section;

	if (!read_at(fd, &head, sizeof(head), 0) || memcmp(head.e_ident, ELFMAG, SELFMAG) != 0 ||
	    !read_at(fd, &section, sizeof(section),
	             head.e_shoff + (uint64_t)head.e_shstrndx * sizeof(section)))
		return false;
	size_t size = section.sh_size < sizeof(names) ? section.sh_size : sizeof(names);
	return read_at(fd, names, size, section.sh_offset) &&
	       memmem(names, size, name, strlen(name) + 1);
}

// Executable bytes of the first object, which is the program.
static int add_code(struct dl_phdr_info *info, size_t size, void *context)
{
	(void)size;
	for (int i = 0; i < info->dlpi_phnum; i++)
		if (info->dlpi_phdr[i].p_type == PT_LOAD && info->dlpi_phdr[i].p_flags & PF_X)
			*(size_t *)context += info->dlpi_phdr[i].p_memsz;
	return 1;
}

// Whether the program's code is large enough for an interpreter: the smallest have twice as much.
static bool is_large(void)
{
	size_t code = 0;

	loader_each(add_code, &code);
	return code >= INTERPRETER_BYTES;
}

// The program has an interpreter in it, from 3.10 on, and exports nothing of it.
static bool is_hidden(void)
{
	static bool asked; // once: a program does not change
	int error = errno;

	if (__atomic_exchange_n(&asked, true, __ATOMIC_RELAXED) || !is_large())
		return false;
	int fd = system_open("/proc/self/exe", O_RDONLY, 0);
	bool hidden = fd >= 0 && has_section(fd, ".PyRuntime");
	if (fd >= 0)
		system_close(fd);
	errno = error;
	return hidden;
}

enum python_found python_runtime_find(struct python_runtime *out, const char **why)
{
	struct search search;

	if (!is_defined(&search, "_PyRuntime")) {
		if (is_hidden()) {
			*why = "the program has a Python in it that exports no functions: its frames "
			       "are not available, native stacks only";
			return PYTHON_REFUSED;
		}
		if (!is_defined(&search, "PyPy_Version") &&
		    !is_defined(&search, "pypy_execute_source"))
			return PYTHON_NOT_THERE;
		*why = "this Python is a PyPy: its frames are not available, native stacks only";
		return PYTHON_REFUSED;
	}
	void *object = open_definer(&search);
	if (!object && search.path[0])
		return PYTHON_NOT_THERE;
	enum python_found found = find_in(out, object, why);
	if (dlerror)
		dlerror(); // of names that only other versions have
	return found;
}
