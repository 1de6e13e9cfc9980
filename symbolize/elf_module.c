// SPDX-License-Identifier: MIT
#include "symbolize/elf_module.h"

#include "base/error.h"
#include "base/go_module.h"
#include "base/go_table.h"
#include "base/hash.h"
#include "base/origin.h"
#include "base/strings.h"
#include "symbolize/dwarf/dwarf_resolver.h"
#include "symbolize/elf/debug_file.h"
#include "symbolize/elf/debug_package.h"
#include "symbolize/elf/debuginfod.h"
#include "symbolize/elf/elf_symbols.h"
#include "symbolize/elf/jump_names.h"
#include "symbolize/elf/mapped_file.h"
#include "symbolize/frame/demangle.h"
#include "symbolize/symbolizer.h"

#include <errno.h>

struct elf_module {
	const struct elf_module_context *context;
	char *path; // as its process sees it
	char root[MAPPED_ROOT_BYTES];
	struct elf_file *elf;     // NULL if it cannot be opened
	struct elf_file *debug;   // separate debug file
	struct elf_file *alt;     // of dwz
	struct elf_file *minimal; // .gnu_debugdata
	struct dwarf_file *dwarf, *alt_dwarf;
	struct dwarf_resolver *resolver;
	char debug_path[PATH_MAX];
	char alt_why[256]; // why ALT is missing, if it should be there
	bool is_opened;    // all of it: MINIMAL and what comes of DWARF, too
	struct go_module go;
	bool go_is_whole; // all of it was looked for
	bool is_fetched;  // DEBUG is a server's
	bool has_lines;   // some address that was asked for had one
	struct debug_status status;
};

void elf_module_free(struct elf_module *m)
{
	if (!m)
		return;
	dwarf_resolver_free(m->resolver);
	dwarf_file_free(m->dwarf);
	dwarf_file_free(m->alt_dwarf);
	elf_file_close(m->minimal);
	elf_file_close(m->alt);
	elf_file_close(m->debug);
	elf_file_close(m->elf);
	free(m->path);
	free(m);
}

const struct debug_status *elf_module_status(const struct elf_module *m)
{
	return &m->status;
}

static void set_text(char *field, const char *text)
{
	snprintf(field, sizeof(((struct debug_status *)0)->reason), "%.255s", text);
}

static struct debug_search search_of(const struct elf_module *m)
{
	return (struct debug_search){ m->path, m->root, m->context->debug_directories };
}

static void fetch_debug(struct elf_module *m, struct bytes build_id)
{
	struct error err = { 0 };

	if (!m->debug && *m->context->debuginfod_trouble)
		set_text(m->status.reason, m->context->debuginfod_trouble);
	if (m->debug || !m->context->debuginfod || !build_id.size)
		return;
	cleanup_close int fd = debuginfod_fetch(m->context->debuginfod, build_id, m->path, &err);
	m->debug = fd >= 0 ? elf_file_open_fd(fd, &err) : NULL;
	m->is_fetched = m->debug != NULL;
	if (m->debug)
		snprintf(m->debug_path, sizeof(m->debug_path), "debuginfod");
	else
		set_text(m->status.reason, err.text);
}

static bool has_dwarf(const struct elf_file *elf)
{
	return elf_file_find(elf, ".debug_info") || elf_file_find(elf, ".zdebug_info");
}

static void open_debug(struct elf_module *m, const struct module *module)
{
	struct debug_search search = search_of(m);
	char *why = m->status.reason;
	size_t size = sizeof(m->status.reason);

	if (!m->elf) {
		// Gone or replaced; but the debug file of what ran may be there.
		struct bytes id = { module->build_id, module->build_id_size };
		char ignored[256] = "";
		m->debug =
			debug_file_find_by_id(id, &search, m->debug_path, ignored, sizeof(ignored));
		fetch_debug(m, id);
	} else if (!has_dwarf(m->elf)) {
		m->debug = debug_file_find(m->elf, &search, m->debug_path, why, size);
		fetch_debug(m, elf_file_build_id(m->elf));
	}
}

// The file that has the DWARF; NULL if none has.
static struct elf_file *dwarf_of(const struct elf_module *m)
{
	struct elf_file *elf = m->debug && has_dwarf(m->debug) ? m->debug : m->elf;

	return elf && has_dwarf(elf) ? elf : NULL;
}

static void find_alt(struct elf_module *m)
{
	struct elf_file *elf = dwarf_of(m);
	struct debug_search search = search_of(m);

	if (!elf)
		return;
	if (elf == m->debug && m->debug_path[0] == '/')
		search.path = m->debug_path;
	m->alt = debug_file_find_alt(elf, &search, m->alt_why, sizeof(m->alt_why));
}

static int open_alt(struct elf_module *m, struct error *err)
{
	if (!m->alt)
		return 0;
	elf_file_keep_in(m->alt, m->context->sections);
	struct dwarf_sections sections = dwarf_sections_of(m->alt, "");
	m->alt_dwarf = dwarf_file_new(&sections, err);
	if (!m->alt_dwarf)
		return -1;
	dwarf_file_set_alt(m->dwarf, m->alt_dwarf);
	return 0;
}

static int open_dwarf(struct elf_module *m, struct error *err)
{
	struct elf_file *elf = dwarf_of(m);

	if (!elf)
		return 0;
	struct dwarf_sections sections = dwarf_sections_of(elf, "");
	m->dwarf = dwarf_file_new(&sections, err);
	if (!m->dwarf || open_alt(m, err) < 0)
		return -1;
	struct dwarf_resolver_source source = {
		.dwarf = m->dwarf,
		.lowest_code = elf_file_lowest_code(elf),
		.root = m->root,
		.dwp_base = m->path,
		.paths = m->context->paths,
		.names = m->context->names,
	};
	m->resolver = dwarf_resolver_new(&source, err);
	return m->resolver ? 0 : -1;
}

static bool has_symbols(const struct elf_file *elf, const char *table)
{
	return elf && elf_file_find(elf, table) != NULL;
}

// The user's own: where he can compile again. Everything else came in a package.
static bool is_own_file(const char *path)
{
	static const char *const system[] = { "/usr/", "/lib",   "/bin/", "/sbin/",
		                              "/opt/", "/snap/", "/nix/" };

	if (strncmp(path, "/usr/local/", 11) == 0)
		return true;
	for (size_t i = 0; i < sizeof(system) / sizeof(system[0]); i++)
		if (strncmp(path, system[i], strlen(system[i])) == 0)
			return false;
	return path[0] == '/';
}

// Wheels come stripped, and nobody but their makers can compile them again.
static bool is_of_wheel(const char *path)
{
	return strstr(path, "/site-packages/") || strstr(path, "/dist-packages/");
}

// True if it was searched for.
static bool set_remedy(struct elf_module *m)
{
	bool searched = false;
	char package[160];

	// What a script does is none of its interpreter's functions.
	if (origin_is_interpreter(m->path) && !is_own_file(m->path))
		set_text(m->status.remedy, DEBUG_REMEDY_SCRIPT);
	else if (is_of_wheel(m->path) && is_own_file(m->path))
		set_text(m->status.remedy, "a wheel: use a build with debug information");
	else if (is_own_file(m->path))
		set_text(m->status.remedy, "compile with -g");
	else if ((searched = true) &&
	         debug_package_find(m->root, m->path, package, sizeof(package)))
		snprintf(m->status.remedy, sizeof(m->status.remedy),
		         "apt install %s, or use --debuginfod", package);
	else if (m->path[0] == '/')
		set_text(m->status.remedy,
		         "install its debug symbols (-dbgsym, -debuginfo), or use "
		         "--debuginfod");
	return searched;
}

// What go_module.h asks of the file.
static size_t go_sections(const struct elf_module *m, struct go_section sections[GO_SECTIONS_MAX])
{
	size_t count = 0;

	for (size_t i = 0; i < elf_file_section_count(m->elf) && count < GO_SECTIONS_MAX; i++) {
		const struct elf_section *s = elf_file_section(m->elf, i);
		if (s->flags & SHF_ALLOC && (s->type == SHT_PROGBITS || s->type == SHT_RELA))
			sections[count++] = (struct go_section){ s->name, s->address,
				                                 elf_file_contents(m->elf, s),
				                                 s->flags & SHF_WRITE };
	}
	return count;
}

static void find_go_table(struct elf_module *m)
{
	struct go_section sections[GO_SECTIONS_MAX];

	if (m->elf && elf_file_is_64(m->elf))
		go_module_find_table(sections, go_sections(m, sections), &m->go);
}

static void find_go_rest(struct elf_module *m)
{
	struct go_section sections[GO_SECTIONS_MAX];

	m->go_is_whole = true;
	go_module_find_rest(sections, go_sections(m, sections), &m->go);
}

static void set_status(struct elf_module *m)
{
	struct debug_status *status = &m->status;
	const char *source = m->path;

	if (m->is_opened ? m->resolver && dwarf_file_unit_count(m->dwarf) : dwarf_of(m) != NULL) {
		status->level = DEBUG_LINES;
		source = m->debug && m->debug_path[0] ? m->debug_path : m->path;
	} else if (m->go.table.size) {
		status->level = DEBUG_LINES;
	} else if (has_symbols(m->elf, ".symtab") || m->minimal) {
		status->level = DEBUG_SYMBOLS;
	} else if (has_symbols(m->debug, ".symtab")) {
		status->level = DEBUG_SYMBOLS;
		source = m->debug_path;
	} else if (m->elf && elf_symbols_has_functions(m->elf, ".dynsym")) {
		status->level = DEBUG_DYNAMIC;
	} else {
		status->level = DEBUG_NONE;
		source = "";
	}
	set_text(status->source, source);
	if (status->level == DEBUG_LINES) {
		if (m->debug)
			status->reason[0] = '\0'; // why another one was not taken
		return;
	}
	if (m->elf && *elf_file_trouble(m->elf))
		set_text(status->reason, elf_file_trouble(m->elf));
	else if (!*status->reason)
		set_text(status->reason, "no debug information");
	if (m->is_opened && !*status->remedy)
		set_remedy(m); // what was there has proved to be of no use
}

bool elf_module_advise(struct elf_module *m)
{
	return m->status.level != DEBUG_LINES && !*m->status.remedy && set_remedy(m);
}

struct elf_module *elf_module_new(const struct module *module,
                                  const struct elf_module_context *context, struct error *err)
{
	cleanup(elf_module) struct elf_module *m = calloc(1, sizeof(*m));
	struct error why = { 0 };

	if (m)
		m->path = strdup(module->path);
	if (!m || !m->path) {
		error_set(err, ENOMEM, "could not open \"%s\"", module->path);
		return NULL;
	}
	m->context = context;
	m->elf = mapped_file_open(module, m->root, &why);
	if (!m->elf) {
		char message[256];
		set_text(m->status.reason, error_message(&why, message, sizeof(message)));
		set_text(m->status.remedy, *why.hint ? "profile again" : "");
	}
	if (module->kind == MODULE_ELF) {
		open_debug(m, module);
		find_alt(m);
		if (!dwarf_of(m))
			find_go_table(m);
	}
	set_status(m);
	return steal(m);
}

// What takes time, and is done when the first address is asked for.
static int open_all(struct elf_module *m, struct error *err)
{
	if (m->is_opened)
		return 0;
	m->is_opened = true;
	if (m->elf)
		elf_file_keep_in(m->elf, m->context->sections);
	if (m->debug)
		elf_file_keep_in(m->debug, m->context->sections);
	if (m->elf)
		m->minimal = debug_file_open_minimal(m->elf);
	if (open_dwarf(m, err) < 0)
		return -1;
	set_status(m);
	return 0;
}

uint64_t elf_module_key(const struct elf_module *m)
{
	struct bytes id = m->elf ? elf_file_build_id(m->elf) : (struct bytes){ 0 };
	uint64_t key = hash_bytes(id.data, id.size);

	// What was split off into files of its own is not among those that are looked at here.
	if (!id.size || m->is_fetched)
		return 0;
	if (m->resolver &&
	    (dwarf_resolver_is_split(m->resolver) || *dwarf_resolver_trouble(m->resolver)))
		return 0;
	key = hash_pair(key, m->debug ? elf_file_image(m->debug).size : 0);
	return hash_pair(key, m->alt ? elf_file_image(m->alt).size : 0);
}

bool elf_module_name(const struct elf_module *m, char *name, size_t size)
{
	struct bytes id = m->elf ? elf_file_build_id(m->elf) : (struct bytes){ 0 };

	if (!id.size || size < 2 * id.size + 1)
		return false;
	for (size_t i = 0; i < id.size; i++)
		snprintf(name + 2 * i, size - 2 * i, "%02x", id.data[i]);
	return true;
}

bool elf_module_has_lines(const struct elf_module *m)
{
	return m->has_lines;
}

void elf_module_remember(struct elf_module *m, const struct debug_status *status, bool has_lines)
{
	m->status = *status;
	m->has_lines = has_lines;
}

static int find_symbols(struct elf_module *m, bool data, const uint64_t *addresses, size_t count,
                        struct symbol_name *names)
{
	const struct {
		struct elf_file *elf;
		const char *table;
	} tables[] = {
		{ m->elf, ".symtab" },
		{ m->debug, ".symtab" },
		{ m->minimal, ".symtab" },
		{ m->elf, ".dynsym" },
	};

	if (m->elf && !data)
		elf_symbols_find_plt(m->elf, addresses, count, names);
	for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++)
		if (tables[i].elf && (data ? elf_symbols_find_data
		                           : elf_symbols_find)(tables[i].elf, tables[i].table,
		                                               addresses, count, names) < 0)
			return -1;
	return m->status.level == DEBUG_DYNAMIC && !data
	               ? jump_names_find(m->elf, addresses, count, names)
	               : 0;
}

static const char *readable(struct elf_module *m, const struct symbol_name *name)
{
	const char *text = demangler_name(m->context->names, name->text, name->length);

	if (!text || !name->is_plt)
		return text;
	cleanup_free char *stub = NULL;
	if (asprintf(&stub, "%s@plt", text) < 0)
		return NULL;
	// Does not begin like a mangled name any more, or is one that we leave as it is.
	return demangler_name(m->context->names, stub, strlen(stub));
}

static bool is_mangled(const struct symbol_name *name)
{
	return name->length > 2 && name->text[0] == '_' &&
	       (name->text[1] == 'Z' || name->text[1] == 'R');
}

// The address's outermost frame; NULL if it has none.
static struct frame_found *outermost(struct frames *frames, size_t place)
{
	uint32_t count = frames->counts[place];

	return count ? &frames->items[frames->first[place] + count - 1] : NULL;
}

static bool wants_symbol(struct frames *frames, size_t place)
{
	const struct frame_found *frame = outermost(frames, place);

	return !frame || !frame->function || frame->is_bare;
}

// The compiler's copy of a function is still that function: DWARF names them alike.
static void strip_clone(struct symbol_name *name)
{
	static const char *const clones[] = { ".constprop.", ".isra.", ".part.",
		                              ".cold",       ".llvm.", ".lto_priv." };

	for (size_t i = 0; i < sizeof(clones) / sizeof(clones[0]); i++) {
		const char *at = memmem(name->text, name->length, clones[i], strlen(clones[i]));
		if (at)
			name->length = (uint32_t)(at - name->text);
	}
}

static bool give_name(struct elf_module *m, struct frames *frames, size_t place,
                      struct symbol_name *name)
{
	struct frame_found *frame = outermost(frames, place);

	if (!name->text || (frame && frame->function && !is_mangled(name)))
		return true;
	if (frame)
		strip_clone(name);
	const char *text = readable(m, name);
	if (!text)
		return false;
	if (frame)
		frame->function = text;
	else
		return frames_add(frames, place, (struct frame_found){ .function = text });
	return true;
}

// What DWARF does not name, the symbol tables may; and they have the whole name of a bare one.
static int add_symbols(struct elf_module *m, const uint64_t *addresses, size_t count,
                       struct frames *frames)
{
	cleanup_free uint64_t *wanted = malloc((count + 1) * sizeof(*wanted));
	cleanup_free uint32_t *places = malloc((count + 1) * sizeof(*places));
	size_t found = 0;

	if (!wanted || !places)
		return -1;
	for (size_t i = 0; i < count; i++) {
		if (!wants_symbol(frames, i))
			continue;
		places[found] = (uint32_t)i;
		wanted[found++] = addresses[i];
	}
	cleanup_free struct symbol_name *names = calloc(found + 1, sizeof(*names));
	if (!names || (found && find_symbols(m, false, wanted, found, names) < 0))
		return -1;
	for (size_t i = 0; i < found; i++)
		if (!give_name(m, frames, places[i], &names[i]))
			return -1;
	return 0;
}

/*
 * A name that begins with an underscore may be what the C library calls a function
 * among its own: "__GI___libc_malloc" of what everyone knows as "malloc".
 */
static bool may_have_alias(const struct frame_found *frame)
{
	return frame && frame->start && frame->function && frame->function[0] == '_';
}

static int by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

static size_t sort_starts(uint64_t *starts, size_t count)
{
	size_t kept = 0;

	qsort(starts, count, sizeof(*starts), by_value);
	for (size_t i = 0; i < count; i++)
		if (!kept || starts[kept - 1] != starts[i])
			starts[kept++] = starts[i];
	return kept;
}

// Of the names of one function's start the best, in place of what DWARF calls it. The compiler may
// have split the function and inlined a part of it into the rest, which has its name then.
static bool give_alias(struct elf_module *m, struct frames *frames, size_t place,
                       struct symbol_name *name)
{
	struct frame_found *frame = outermost(frames, place);
	const char *internal = frame->function;

	if (!name->text || name->is_plt || name->start != frame->start || is_mangled(name))
		return true;
	strip_clone(name);
	const char *text = readable(m, name);
	if (!text)
		return false;
	for (struct frame_found *f = &frames->items[frames->first[place]]; f <= frame; f++)
		if (f->function && strcmp(f->function, internal) == 0)
			f->function = text;
	return true;
}

static int add_aliases(struct elf_module *m, struct frames *frames)
{
	cleanup_free uint64_t *starts = malloc((frames->address_count + 1) * sizeof(*starts));
	size_t found = 0;

	for (size_t i = 0; starts && i < frames->address_count; i++)
		if (may_have_alias(outermost(frames, i)))
			starts[found++] = outermost(frames, i)->start;
	if (!starts || !found)
		return starts ? 0 : -1;
	found = sort_starts(starts, found);
	cleanup_free struct symbol_name *names = calloc(found, sizeof(*names));
	if (!names || find_symbols(m, false, starts, found, names) < 0)
		return -1;
	for (size_t i = 0; i < frames->address_count; i++) {
		struct frame_found *frame = outermost(frames, i);
		if (!may_have_alias(frame))
			continue;
		uint64_t *at = bsearch(&frame->start, starts, found, sizeof(*starts), by_value);
		if (!give_alias(m, frames, i, &names[at - starts]))
			return -1;
	}
	return 0;
}

// Of what was linked in, perhaps only parts that do not run were compiled with -g.
static void note_lines(struct elf_module *m, const struct frames *frames)
{
	if (m->status.level != DEBUG_LINES)
		return;
	for (size_t i = 0; i < frames->count && !m->has_lines; i++)
		m->has_lines = frames->items[i].line > 0;
	const char *trouble = m->resolver ? dwarf_resolver_trouble(m->resolver) : "";
	if (!*trouble && m->alt_why[0])
		trouble = m->alt_why;
	if (!*trouble && !m->has_lines && frames->address_count)
		trouble = "no debug information for the code that ran";
	set_text(m->status.reason, trouble);
	m->status.remedy[0] = '\0';
	if (!m->has_lines && frames->address_count)
		set_remedy(m);
}

static const char *keep(struct elf_module *m, const char *text)
{
	return text ? strings_get(m->context->paths, strings_add(m->context->paths, text)) : NULL;
}

static bool add_go_frame(struct elf_module *m, const struct go_place *place, size_t address,
                         struct frames *frames)
{
	struct frame_found frame = {
		.function =
			demangler_name(m->context->names, place->function, strlen(place->function)),
		.file = keep(m, place->file),
		.line = place->line,
		.declared = keep(m, place->declared),
	};

	return frame.function && (!place->file || frame.file) &&
	       (!place->declared || frame.declared) && frames_add(frames, address, frame);
}

// Where there is no DWARF, Go's runtime has names and lines in a table of its own.
static int add_go(struct elf_module *m, const uint64_t *addresses, size_t count,
                  struct frames *frames)
{
	struct go_place places[GO_INLINED_MAX];

	if (!m->go_is_whole)
		find_go_rest(m);
	for (size_t i = 0; i < count; i++) {
		size_t calls = frames->counts[i] ? 0
		                                 : go_table_find(m->go.table, m->go.text,
		                                                 m->go.funcs, addresses[i], places);
		for (size_t k = 0; k < calls; k++)
			if (!add_go_frame(m, &places[k], i, frames))
				return -1;
	}
	return 0;
}

int elf_module_resolve(struct elf_module *m, const uint64_t *addresses, size_t count,
                       struct frames *frames, struct error *err)
{
	if (open_all(m, err) < 0)
		return -1;
	if (m->resolver && dwarf_resolver_run(m->resolver, addresses, count, frames, err) < 0)
		return -1;
	if ((m->go.table.size && add_go(m, addresses, count, frames) < 0) ||
	    add_symbols(m, addresses, count, frames) < 0 || add_aliases(m, frames) < 0)
		return error_set(err, ENOMEM, "could not look up names in \"%s\"", m->path);
	note_lines(m, frames);
	return 0;
}

// What compilers number: "counter.0" is "counter" of some function.
static void strip_number(struct symbol_name *name)
{
	uint32_t length = name->length;

	while (length && name->text[length - 1] >= '0' && name->text[length - 1] <= '9')
		length--;
	if (length > 1 && length < name->length && name->text[length - 1] == '.')
		name->length = length - 1;
}

int elf_module_variables(struct elf_module *m, const uint64_t *addresses, size_t count,
                         struct variable *variables, struct error *err)
{
	cleanup_free struct symbol_name *names = calloc(count + 1, sizeof(*names));

	if (open_all(m, err) < 0)
		return -1;
	if (!names || find_symbols(m, true, addresses, count, names) < 0)
		return error_set(err, ENOMEM, "could not look up names in \"%s\"", m->path);
	for (size_t i = 0; i < count; i++) {
		if (!names[i].text)
			continue;
		strip_clone(&names[i]);
		strip_number(&names[i]);
		variables[i] = (struct variable){ .name = readable(m, &names[i]),
			                          .file = names[i].file,
			                          .offset = addresses[i] - names[i].start };
		if (!variables[i].name)
			return error_set(err, ENOMEM, "could not look up names in \"%s\"", m->path);
	}
	return 0;
}
