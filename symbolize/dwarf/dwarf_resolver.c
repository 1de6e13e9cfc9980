// SPDX-License-Identifier: MIT
#include "symbolize/dwarf/dwarf_resolver.h"

#include "base/array.h"
#include "base/error.h"
#include "base/stop.h"
#include "base/strings.h"
#include "symbolize/dwarf/dwarf_units.h"
#include "symbolize/dwarf/inlines.h"
#include "symbolize/dwarf/line_program.h"
#include "symbolize/dwarf/split_dwarf.h"
#include "symbolize/dwarf/unit_values.h"
#include "symbolize/frame/demangle.h"

#include <dwarf.h>
#include <errno.h>
#include <limits.h>

#define INLINE_DEPTH_MAX 512

// What one look into a unit has shown of it, so that the next one is short.
struct unit_index {
	struct line_index lines;
	struct inline_index functions;
};

struct dwarf_resolver {
	struct dwarf_resolver_source source;
	struct dwarf_units *units;
	struct split_dwarf *split;
	struct unit_index **indexes; // by number of the unit; NULL before the first look
	struct unit *other;          // whose lines these are: one that holds declarations
	struct line_program *other_lines;
	bool is_split; // some unit that was asked for stands in another file
};

// The addresses of one unit, and what is found of them.
struct batch {
	struct unit *unit;
	struct unit *functions; // UNIT, or the split one that it stands for
	size_t count;
	uint64_t *addresses;
	uint32_t *places; // of each address in the caller's list
	uint32_t *scopes;
	struct line_row *rows;
	struct inlines inlines;
	struct line_program *lines; // may be NULL
};

struct owned {
	struct unit *unit;
	uint32_t place;
};

static struct dwarf_units *units_new(const struct dwarf_resolver_source *source, struct error *err)
{
	jmp_buf no_memory, *before = dwarf_file_set_escape(&no_memory);
	struct dwarf_units *units = NULL;

	if (setjmp(no_memory))
		error_set(err, ENOMEM, "could not read the debug information");
	else
		units = dwarf_units_new(source->dwarf, source->lowest_code, err);
	dwarf_file_set_escape(before);
	return units;
}

struct dwarf_resolver *dwarf_resolver_new(const struct dwarf_resolver_source *source,
                                          struct error *err)
{
	cleanup(dwarf_resolver) struct dwarf_resolver *r = calloc(1, sizeof(*r));

	if (!r) {
		error_set(err, ENOMEM, "could not read the debug information");
		return NULL;
	}
	r->source = *source;
	r->units = units_new(source, err);
	r->split = split_dwarf_new(source->dwarf, source->root, source->dwp_base);
	if (!r->units)
		return NULL;
	r->indexes = calloc(dwarf_file_unit_count(source->dwarf) + 1, sizeof(struct unit_index *));
	if (!r->split || !r->indexes) {
		error_set(err, ENOMEM, "could not read the debug information");
		return NULL;
	}
	return steal(r);
}

static void free_indexes(struct dwarf_resolver *r)
{
	for (size_t i = 0; r->indexes && i < dwarf_file_unit_count(r->source.dwarf); i++) {
		if (!r->indexes[i])
			continue;
		line_index_fini(&r->indexes[i]->lines);
		inline_index_fini(&r->indexes[i]->functions);
		free(r->indexes[i]);
	}
	free(r->indexes);
}

void dwarf_resolver_free(struct dwarf_resolver *r)
{
	if (!r)
		return;
	free_indexes(r);
	dwarf_units_free(r->units);
	split_dwarf_free(r->split);
	line_program_free(r->other_lines);
	free(r);
}

bool dwarf_resolver_is_split(const struct dwarf_resolver *r)
{
	return r->is_split;
}

const char *dwarf_resolver_trouble(const struct dwarf_resolver *r)
{
	if (dwarf_file_is_burnt(r->source.dwarf))
		return "its debug information is damaged";
	return split_dwarf_trouble(r->split);
}

static void batch_fini(struct batch *b)
{
	free(b->addresses);
	free(b->places);
	free(b->scopes);
	free(b->rows);
	inlines_fini(&b->inlines);
	line_program_free(b->lines);
}

static bool batch_init(struct batch *b, const struct owned *owned, size_t count,
                       const uint64_t *addresses, uint64_t lowest_code)
{
	*b = (struct batch){ .unit = owned->unit, .count = count };
	b->addresses = malloc(count * sizeof(*b->addresses));
	b->places = malloc(count * sizeof(*b->places));
	b->scopes = calloc(count, sizeof(*b->scopes));
	b->rows = calloc(count, sizeof(*b->rows));
	if (!b->addresses || !b->places || !b->scopes || !b->rows)
		return false;
	b->inlines.lowest_code = lowest_code;
	for (size_t i = 0; i < count; i++) {
		b->places[i] = owned[i].place;
		b->addresses[i] = addresses[owned[i].place];
	}
	return true;
}

static struct line_program *open_lines(const struct unit *unit)
{
	const struct dwarf_sections *sections = dwarf_file_sections(unit->file);
	struct line_sections lines = { sections->line, sections->str, sections->line_str };

	if (!unit->has_lines)
		return NULL;
	return line_program_new(&lines, unit->line_offset, unit->comp_dir, unit->name);
}

// NULL if there is no memory: then each look is as long as the first.
static struct unit_index *index_of(struct dwarf_resolver *r, const struct unit *unit)
{
	struct unit_index **index = &r->indexes[unit - dwarf_file_unit(r->source.dwarf, 0)];

	if (!*index)
		*index = calloc(1, sizeof(**index));
	return *index;
}

static void find_lines(struct dwarf_resolver *r, struct batch *b)
{
	b->lines = open_lines(b->unit);
	struct unit_index *index = index_of(r, b->unit);
	if (b->lines && index)
		line_program_set_index(b->lines, &index->lines);
	if (b->lines && dwarf_file_burn(r->source.dwarf, b->count))
		dwarf_file_burn(r->source.dwarf, line_program_run(b->lines, r->source.lowest_code,
		                                                  b->addresses, b->count, b->rows));
}

static bool find_functions(struct dwarf_resolver *r, struct batch *b)
{
	struct unit *unit = b->unit;

	if (split_dwarf_is_skeleton(unit)) {
		r->is_split = true;
		struct unit *split = split_dwarf_find(r->split, unit);
		unit = split ? split : unit;
	}
	b->functions = unit;
	struct unit_index *index = index_of(r, b->unit);
	b->inlines.index = index ? &index->functions : NULL;
	return inlines_find(&b->inlines, unit, b->addresses, b->count, b->scopes);
}

static const char *path_of(struct dwarf_resolver *r, const struct line_program *lines,
                           uint64_t file)
{
	char path[PATH_MAX];

	if (!lines || !line_program_path(lines, file, path, sizeof(path)))
		return NULL;
	return strings_get(r->source.paths, strings_add(r->source.paths, path));
}

// The declarations of other units, as link-time optimization and dwz make them, come in runs.
static const struct line_program *lines_of(struct dwarf_resolver *r, const struct batch *b,
                                           struct unit *unit)
{
	if (unit == b->functions)
		return b->lines;
	if (unit == r->other)
		return r->other_lines;
	line_program_free(r->other_lines);
	r->other = unit;
	r->other_lines = open_lines(unit);
	return r->other_lines;
}

static const char *declared_in(struct dwarf_resolver *r, const struct batch *b, struct scope *scope)
{
	const struct function_name *name = &scope->name;

	if (!scope->is_looked_up && name->decl_unit)
		scope->declared = path_of(r, lines_of(r, b, name->decl_unit), name->decl_file);
	scope->is_looked_up = true;
	return scope->declared;
}

// C has no namespaces: its names are whole.
static bool has_whole_names(const struct unit *unit)
{
	static const uint64_t whole[] = { DW_LANG_C89, DW_LANG_C,  DW_LANG_C99,
		                          DW_LANG_C11, DW_LANG_Go, DW_LANG_Mips_Assembler };

	for (size_t i = 0; i < sizeof(whole) / sizeof(whole[0]); i++)
		if (unit->language == whole[i])
			return true;
	return false;
}

static struct frame_found make_frame(struct dwarf_resolver *r, const struct batch *b,
                                     struct scope *scope)
{
	struct frame_found frame = { .is_bare = true, .unoptimized = b->functions->unoptimized };

	if (scope && scope->name.text) {
		const char *name = scope->name.text;
		frame.function = demangler_name(r->source.names, name, strlen(name));
		frame.declared = declared_in(r, b, scope);
		// Those of the linker are whole in every language.
		frame.is_bare = !has_whole_names(b->unit) && !scope->name.is_linkage;
		frame.start = has_whole_names(b->unit) ? scope->start : 0;
	}
	return frame;
}

// From the innermost scope outwards. The line of a frame is where its callee was called.
static bool add_chain(struct dwarf_resolver *r, struct batch *b, size_t index,
                      struct frames *frames)
{
	const struct line_row *row = &b->rows[index];
	uint32_t number = b->scopes[index];
	uint64_t file = row->file, line = row->line;
	bool known = row->known;

	if (!number && !known)
		return true;
	for (int depth = 0; depth < INLINE_DEPTH_MAX; depth++) {
		struct scope *scope = number ? &b->inlines.scopes[number - 1] : NULL;
		struct frame_found frame = make_frame(r, b, scope);
		frame.file = known ? path_of(r, b->lines, file) : NULL;
		frame.line = line <= INT_MAX ? (int)line : 0;
		if (!frames_add(frames, b->places[index], frame))
			return false;
		if (!scope || !scope->outer)
			break;
		file = scope->call_file;
		line = scope->call_line;
		known = true;
		number = scope->outer;
	}
	return true;
}

static bool run_batch(struct dwarf_resolver *r, struct batch *b, struct frames *frames)
{
	if (!unit_prepare(b->unit))
		return true;
	find_lines(r, b);
	if (!find_functions(r, b))
		return false;
	for (size_t i = 0; i < b->count; i++)
		if (!add_chain(r, b, i, frames))
			return false;
	return true;
}

static int by_unit(const void *a, const void *b)
{
	const struct owned *x = a, *y = b;

	if (x->unit != y->unit)
		return x->unit < y->unit ? -1 : 1; // units lie in one array
	return x->place < y->place ? -1 : x->place > y->place;
}

static bool run_all(struct dwarf_resolver *r, const uint64_t *addresses, size_t count,
                    struct frames *frames)
{
	cleanup_free struct owned *owned = calloc(count ? count : 1, sizeof(*owned));
	size_t found = 0;

	if (!owned)
		return false;
	for (size_t i = 0; i < count; i++) {
		struct unit *unit = dwarf_units_find(r->units, addresses[i]);
		if (unit)
			owned[found++] = (struct owned){ unit, (uint32_t)i };
	}
	qsort(owned, found, sizeof(*owned), by_unit);
	bool good = true;
	for (size_t i = 0, end; good && i < found && !stop_is_wanted(); i = end) {
		struct batch batch;
		for (end = i; end < found && owned[end].unit == owned[i].unit; end++)
			;
		good = batch_init(&batch, owned + i, end - i, addresses, r->source.lowest_code) &&
		       run_batch(r, &batch, frames);
		batch_fini(&batch);
	}
	return good;
}

int dwarf_resolver_run(struct dwarf_resolver *r, const uint64_t *addresses, size_t count,
                       struct frames *frames, struct error *err)
{
	jmp_buf no_memory, *before = dwarf_file_set_escape(&no_memory);
	bool good = !setjmp(no_memory) && run_all(r, addresses, count, frames);

	dwarf_file_set_escape(before);
	if (!good)
		return error_set(err, ENOMEM, "could not look up %zu addresses", count);
	return 0;
}
