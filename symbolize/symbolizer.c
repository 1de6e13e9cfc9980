// SPDX-License-Identifier: MIT
#include "symbolize/symbolizer.h"

#include "base/array.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/kallsyms.h"
#include "base/stop.h"
#include "base/strings.h"
#include "symbolize/answers.h"
#include "symbolize/elf/debuginfod.h"
#include "symbolize/elf/section_cache.h"
#include "symbolize/elf_module.h"
#include "symbolize/frame/demangle.h"
#include "symbolize/jit/jit_module.h"
#include "symbolize/names_cache.h"

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>

// What is kept of a module, by its id.
struct known_module {
	uint32_t id;
	struct elf_module *elf;          // ELF and vDSO
	struct answers answers;          // of those; what else there is may change its mind
	struct debug_status status;      // the others
	char name[2 * BUILD_ID_MAX + 1]; // of the file that keeps the answers; "": none does
	struct stored_names *stored;     // what was in it; NULL: nothing
	size_t stored_count;
	uint64_t spent_ns; // on the others, of CPU time
	bool searched;     // for the package of its debug information
};

struct jitdump_path {
	pid_t pid;
	const char *path;
	int fd; // -1: by its path
};

// Symbols that were given out; they live as long as the symbolizer.
struct block {
	struct block *next;
	struct symbol symbols[];
};

struct symbolizer {
	struct symbolizer_options options;
	char *directories, *jit_directory, *kept_maps, *names_directory;
	char *sections;        // a directory in that of the names
	struct strings *paths; // and other texts that are given out
	struct demangler *names;
	struct debuginfod *debuginfod;
	struct error debuginfod_error;
	struct elf_module_context context;
	struct known_module *modules;
	size_t module_count, module_capacity;
	struct jitdump_path *dumps;
	size_t dump_count, dump_capacity;
	struct kallsyms *kernel, *own_kernel; // the second is NULL if somebody lends us his
	struct block *blocks;
};

static char *copy_or(const char *text, const char *otherwise)
{
	return strdup(text ? text : otherwise);
}

struct symbolizer *symbolizer_new(const struct symbolizer_options *options, struct error *err)
{
	cleanup(symbolizer) struct symbolizer *s = calloc(1, sizeof(*s));

	if (s) {
		s->options = *options;
		s->directories = copy_or(options->debug_directories, "/usr/lib/debug");
		s->jit_directory = copy_or(options->jit_directory, "/tmp");
		s->kept_maps = options->kept_maps ? strdup(options->kept_maps) : NULL;
		s->names_directory =
			options->names_directory ? strdup(options->names_directory) : NULL;
		if (options->names_directory &&
		    asprintf(&s->sections, "%s/sections", options->names_directory) < 0)
			s->sections = NULL; // then none are kept
		s->kernel = options->kernel_names;
		if (!s->kernel)
			s->kernel = s->own_kernel =
				kallsyms_new(options->kallsyms ? options->kallsyms : KALLSYMS_PATH);
		s->paths = strings_new();
		s->names = demangler_new();
	}
	if (!s || !s->directories || !s->kernel || !s->jit_directory || !s->paths || !s->names) {
		error_set(err, ENOMEM, "could not start the symbolizer");
		return NULL;
	}
	// Servers that cannot be asked are a line in the status of a module, no reason to stop.
	if (options->debuginfod)
		s->debuginfod = debuginfod_new(options->progress, options->progress_context,
		                               &s->debuginfod_error);
	s->context = (struct elf_module_context){ .debug_directories = s->directories,
		                                  .debuginfod = s->debuginfod,
		                                  .debuginfod_trouble = s->debuginfod_error.text,
		                                  .sections = s->sections,
		                                  .paths = s->paths,
		                                  .names = s->names };
	return steal(s);
}

// Answers depend on who gives them, too: on this program's own file.
static uint64_t own_key(void)
{
	struct stat st;

	if (stat("/proc/self/exe", &st) < 0)
		return 0;
	return hash_pair(hash_pair((uint64_t)st.st_size, (uint64_t)st.st_ino),
	                 hash_pair((uint64_t)st.st_mtim.tv_sec, (uint64_t)st.st_mtim.tv_nsec));
}

// 0: it is not kept.
static uint64_t key_of(const struct known_module *known)
{
	uint64_t key = known->elf && known->name[0] ? elf_module_key(known->elf) : 0;
	uint64_t own = key ? own_key() : 0;

	return key && own ? hash_pair(key, own) : 0;
}

static bool names_path(const struct symbolizer *s, const struct known_module *known, char *path,
                       size_t size)
{
	return snprintf(path, size, "%s/%s", s->names_directory, known->name) < (int)size;
}

static void load_names(struct symbolizer *s, struct known_module *known)
{
	struct names_cache_facts facts;
	char path[PATH_MAX];

	if (!s->names_directory || !elf_module_name(known->elf, known->name, sizeof(known->name)))
		return;
	uint64_t key = key_of(known);
	if (!key || !names_path(s, known, path, sizeof(path)))
		return;
	known->stored = names_cache_read(path, key, &known->answers, &facts);
	known->stored_count = known->answers.count;
	if (known->stored)
		elf_module_remember(known->elf, &facts.status, facts.has_lines);
}

// Only what took longer to find than a file takes to be written and read is worth one, as a search
// for a package does.
#define WORTH_NS (2 * NS_PER_MS)

static bool save_names(const struct symbolizer *s, const struct known_module *known)
{
	char path[PATH_MAX];
	uint64_t worth_ns = s->options.names_worth_ns ? s->options.names_worth_ns : WORTH_NS;
	uint64_t key = known->searched || known->spent_ns >= worth_ns ? key_of(known) : 0;

	if (!key || known->answers.count == known->stored_count ||
	    !names_path(s, known, path, sizeof(path)))
		return false;
	struct names_cache_facts facts = { *elf_module_status(known->elf),
		                           elf_module_has_lines(known->elf) };
	names_cache_write(path, key, &known->answers, &facts);
	return true;
}

static void save_all_names(const struct symbolizer *s)
{
	bool saved = false, read = false;

	if (!s->names_directory || stop_is_wanted())
		return;
	mkdir(s->names_directory, 0700); // it may be there
	for (size_t i = 0; i < s->module_count; i++) {
		saved |= save_names(s, &s->modules[i]);
		read |= s->modules[i].elf && s->modules[i].spent_ns;
	}
	if (saved)
		names_cache_bound(s->names_directory, NAMES_CACHE_BYTES);
	if (read && s->sections) // what has been read may have left a section
		names_cache_bound(s->sections, SECTION_CACHE_BYTES);
}

void symbolizer_free(struct symbolizer *s)
{
	if (!s)
		return;
	save_all_names(s);
	for (size_t i = 0; i < s->module_count; i++) {
		elf_module_free(s->modules[i].elf);
		answers_fini(&s->modules[i].answers);
		stored_names_free(s->modules[i].stored);
	}
	while (s->blocks) {
		struct block *next = s->blocks->next;
		free(s->blocks);
		s->blocks = next;
	}
	free(s->modules);
	free(s->dumps);
	kallsyms_free(s->own_kernel);
	debuginfod_free(s->debuginfod);
	demangler_free(s->names);
	strings_free(s->paths);
	free(s->directories);
	free(s->jit_directory);
	free(s->kept_maps);
	free(s->names_directory);
	free(s->sections);
	free(s);
}

static struct known_module *find_module(struct symbolizer *s, uint32_t id)
{
	for (size_t i = 0; i < s->module_count; i++)
		if (s->modules[i].id == id)
			return &s->modules[i];
	return NULL;
}

static void report_progress(const struct symbolizer *s, const struct module *module)
{
	if (s->options.progress)
		s->options.progress(s->options.progress_context, module->path);
}

static struct known_module *get_module(struct symbolizer *s, const struct module *module,
                                       struct error *err)
{
	struct known_module *known = find_module(s, module->id);
	bool is_elf = module->kind == MODULE_ELF || module->kind == MODULE_VDSO;

	if (known)
		return known;
	if (!array_reserve(&s->modules, &s->module_capacity, s->module_count + 1)) {
		error_set(err, ENOMEM, "could not open \"%s\"", module->path);
		return NULL;
	}
	known = &s->modules[s->module_count];
	*known = (struct known_module){ .id = module->id };
	if (is_elf && !(known->elf = elf_module_new(module, &s->context, err)))
		return NULL;
	s->module_count++;
	if (known->elf)
		load_names(s, known);
	known->searched = known->elf && !known->stored && elf_module_advise(known->elf);
	return known;
}

static void open_kernel(struct symbolizer *s, struct debug_status *status)
{
	struct error err;

	if (kallsyms_load(s->kernel, &err) < 0) {
		error_message(&err, status->reason, sizeof(status->reason));
	} else if (kallsyms_are_hidden(s->kernel)) {
		snprintf(status->reason, sizeof(status->reason),
		         "the kernel hides the addresses of its functions");
		snprintf(
			status->remedy, sizeof(status->remedy),
			"sysctl kernel.kptr_restrict=0 kernel.perf_event_paranoid=1, or run as root");
	} else {
		status->level = DEBUG_SYMBOLS;
		snprintf(status->source, sizeof(status->source), "%s", kallsyms_path(s->kernel));
	}
}

static int resolve_kernel(struct symbolizer *s, struct debug_status *status,
                          const uint64_t *addresses, size_t count, struct frames *frames,
                          struct error *err)
{
	*status = (struct debug_status){ 0 };
	open_kernel(s, status);
	for (size_t i = 0; i < count; i++) {
		const char *name = kallsyms_find(s->kernel, addresses[i]);
		struct frame_found frame = { .function = name };
		if (name && !frames_add(frames, i, frame))
			return error_set(err, ENOMEM, "could not look up kernel addresses");
	}
	return 0;
}

// Its path is NULL if none is known.
static struct jitdump_path dump_of(const struct symbolizer *s, pid_t pid)
{
	for (size_t i = s->dump_count; i > 0; i--)
		if (s->dumps[i - 1].pid == pid)
			return s->dumps[i - 1];
	return (struct jitdump_path){ .fd = -1 };
}

static int find_frames(struct symbolizer *s, const struct module *module,
                       struct known_module *known, const uint64_t *addresses, size_t count,
                       struct frames *frames, struct error *err)
{
	struct jitdump_path dump = dump_of(s, module->pid);
	struct jit_search search = { .pid = module->pid,
		                     .inner_pid = module->inner_pid,
		                     .born_ns = module->born_ns,
		                     .place = module->fd,
		                     .user = module->user_known ? module->user : geteuid(),
		                     .directory = s->jit_directory,
		                     .kept = s->kept_maps,
		                     .dump = dump.path,
		                     .dump_fd = dump.fd,
		                     .paths = s->paths,
		                     .names = s->names };

	switch (module->kind) {
	case MODULE_ELF:
	case MODULE_VDSO:
		return elf_module_resolve(known->elf, addresses, count, frames, err);
	case MODULE_KERNEL:
		return resolve_kernel(s, &known->status, addresses, count, frames, err);
	case MODULE_JIT:
		return jit_module_resolve(&search, addresses, count, frames, &known->status, err);
	case MODULE_MARK:
		break;
	}
	return 0;
}

// Hands the frames out as chains of symbols.
static int give_chains(struct symbolizer *s, const struct frames *frames,
                       struct symbol_chain *chains, struct error *err)
{
	struct block *block = malloc(sizeof(*block) + frames->count * sizeof(struct symbol));

	if (!block)
		return error_set(err, ENOMEM, "could not keep %zu symbols", frames->count);
	block->next = s->blocks;
	s->blocks = block;
	for (size_t i = 0; i < frames->address_count; i++) {
		struct symbol *symbols = block->symbols + frames->first[i];
		uint32_t count = frames->counts[i];
		for (uint32_t k = 0; k < count; k++) {
			const struct frame_found *frame = &frames->items[frames->first[i] + k];
			symbols[k] = (struct symbol){ frame->function, frame->file,
				                      frame->line,     k + 1 < count,
				                      frame->declared, frame->unoptimized };
		}
		chains[i] = (struct symbol_chain){ count, count ? symbols : NULL };
	}
	return 0;
}

static int look_up(struct symbolizer *s, const struct module *module, struct known_module *known,
                   const uint64_t *addresses, size_t count, struct symbol_chain *chains,
                   struct error *err)
{
	uint64_t start_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
	struct frames frames;
	int result = -1;

	if (!frames_init(&frames, count))
		error_set(err, ENOMEM, "could not look up %zu addresses", count);
	else if (find_frames(s, module, known, addresses, count, &frames, err) == 0)
		result = give_chains(s, &frames, chains, err);
	frames_fini(&frames);
	known->spent_ns += clock_ns(CLOCK_THREAD_CPUTIME_ID) - start_ns;
	if (result == 0 && known->elf) {
		// Where there is no memory to remember, it is looked up again.
		for (size_t i = 0; i < count; i++)
			if (!answers_add(&known->answers, addresses[i], chains[i]))
				break;
	}
	return result;
}

// Some of the addresses have been asked before: looks up the others.
static int look_up_rest(struct symbolizer *s, const struct module *module,
                        struct known_module *known, const uint64_t *addresses, size_t count,
                        struct symbol_chain *chains, struct error *err)
{
	cleanup_free uint64_t *rest = malloc(count * sizeof(*rest));
	cleanup_free struct symbol_chain *found = calloc(count, sizeof(*found));
	size_t missing = 0;

	if (!rest || !found)
		return error_set(err, ENOMEM, "could not look up %zu addresses", count);
	for (size_t i = 0; i < count; i++)
		if (!answers_find(&known->answers, addresses[i]))
			rest[missing++] = addresses[i];
	if (missing && look_up(s, module, known, rest, missing, found, err) < 0)
		return -1;
	for (size_t i = 0, k = 0; i < count; i++) {
		if (k < missing && rest[k] == addresses[i])
			chains[i] = found[k++];
		else
			chains[i] = *answers_find(&known->answers, addresses[i]);
	}
	return 0;
}

static int stopped(struct error *err)
{
	return error_set(err, ECANCELED, "not all functions have their names");
}

int symbolizer_resolve(struct symbolizer *s, const struct module *module, const uint64_t *addresses,
                       size_t count, struct symbol_chain *chains, struct error *err)
{
	if (stop_is_wanted())
		return stopped(err);
	report_progress(s, module);
	struct known_module *known = get_module(s, module, err);
	if (!known)
		return -1;
	int failed = count && known->answers.count
	                     ? look_up_rest(s, module, known, addresses, count, chains, err)
	                     : look_up(s, module, known, addresses, count, chains, err);
	return !failed && stop_is_wanted() ? stopped(err) : failed;
}

int symbolizer_variables(struct symbolizer *s, const struct module *module,
                         const uint64_t *addresses, size_t count, struct variable *variables,
                         struct error *err)
{
	if (stop_is_wanted())
		return stopped(err);
	report_progress(s, module);
	struct known_module *known = get_module(s, module, err);
	memset(variables, 0, count * sizeof(*variables));
	if (!known)
		return -1;
	return known->elf ? elf_module_variables(known->elf, addresses, count, variables, err) : 0;
}

void symbolizer_set_progress(struct symbolizer *s,
                             void (*progress)(void *context, const char *what), void *context)
{
	s->options.progress = progress;
	s->options.progress_context = context;
}

int symbolizer_set_jitdump(struct symbolizer *s, pid_t pid, const char *path, int fd)
{
	const char *known = dump_of(s, pid).path;
	const char *copy = strings_get(s->paths, strings_add(s->paths, path));

	if (known && known == copy)
		return 0;
	if (!copy || !array_reserve(&s->dumps, &s->dump_capacity, s->dump_count + 1))
		return -1;
	s->dumps[s->dump_count++] = (struct jitdump_path){ pid, copy, fd };
	return 0;
}

bool symbolizer_keeps_maps(const struct symbolizer *s)
{
	return s->kept_maps != NULL;
}

const char *symbolizer_sections(const struct symbolizer *s)
{
	return s->sections;
}

const struct debug_status *symbolizer_debug_status(struct symbolizer *s,
                                                   const struct module *module)
{
	static const struct debug_status unknown;
	const struct known_module *known = find_module(s, module->id);

	if (!known)
		return &unknown;
	return known->elf ? elf_module_status(known->elf) : &known->status;
}
