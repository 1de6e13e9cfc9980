// SPDX-License-Identifier: MIT
#include "merge/scope/keys.h"

#include "base/array.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/path.h"
#include "merge/profile/profile_parts.h"
#include "merge/scope/kept.h"
#include "merge/scope/libc_frames.h"
#include "merge/scope/own_place.h"
#include "merge/table/cells.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint64_t hash_of(const struct key *key)
{
	uint64_t code = hash_pair((uint64_t)key->function << 32 | key->file, key->line);

	return hash_pair(code, (uint64_t)key->module << 8 | key->group);
}

static bool same(const struct key *a, const struct key *b)
{
	return a->group == b->group && a->function == b->function && a->module == b->module &&
	       a->file == b->file && a->line == b->line;
}

uint32_t key_table_add(struct key_table *table, const struct key *key)
{
	if (!table->index.slots && !hash_init(&table->index, 256))
		return 0;
	if (!hash_make_room(&table->index))
		return 0;

	uint32_t at = hash_start(&table->index, hash_of(key));
	for (; table->index.slots[at]; at = hash_next(&table->index, at)) {
		struct key *known = &table->keys[table->index.slots[at] - 1];
		if (same(known, key)) {
			known->inlined &= key->inlined;
			return table->index.slots[at];
		}
	}
	if (!array_reserve(&table->keys, &table->capacity, (size_t)table->count + 1))
		return 0;
	table->keys[table->count++] = *key;
	hash_insert(&table->index, at, hash_of(key), table->count);
	return table->count;
}

static void table_fini(struct key_table *table)
{
	free(table->keys);
	hash_fini(&table->index);
}

void keys_fini(struct keys *keys)
{
	table_fini(&keys->keys);
	table_fini(&keys->lines);
	free(keys->frames);
	free(keys->first);
	*keys = (struct keys){ 0 };
}

static struct key key_of_mark(const struct location *location, enum query_by by)
{
	switch (location->address) {
	case MARK_KERNEL:
		return (struct key){ .group = KEY_KERNEL, .kernel = true };
	case MARK_FAULT:
		return (struct key){ .group = KEY_FAULT, .kernel = true };
	case MARK_TRUNCATED:
		return (struct key){ .group = KEY_TRUNCATED };
	case MARK_SHORT:
		// The program, not the module in which the time was spent.
		return (struct key){ .group = KEY_SHORT,
			             .module = by == BY_MODULE ? 0 : location->module };
	case MARK_GIL:
		return (struct key){ .group = KEY_GIL };
	case MARK_OURS:
		return (struct key){ .group = KEY_OURS };
	case MARK_FOLDED:
		return (struct key){ .group = KEY_FOLDED };
	default:
		return (struct key){ .group = KEY_UNKNOWN };
	}
}

// The key of code that has no name; also of a module as a whole.
static struct key key_of_module(const struct profile *p, const struct location *location,
                                enum query_by by)
{
	enum key_group group = by == BY_MODULE ? KEY_MODULE : KEY_NAMELESS;

	if (location->kind == FRAME_MARK)
		return key_of_mark(location, by);
	if (location->kind == FRAME_PYTHON)
		return (struct key){ .group = KEY_PYTHON, .python = true };

	const struct module *module = profile_module(p, location->module);
	if (!module)
		return (struct key){ .group = KEY_NO_MODULE };
	switch (module->kind) {
	case MODULE_KERNEL:
		return (struct key){ .group = KEY_KERNEL, .kernel = true };
	case MODULE_JIT:
		return (struct key){ .group = KEY_JIT };
	case MODULE_MARK:
		return key_of_mark(location, by);
	default:
		return (struct key){ .group = group, .module = module->id };
	}
}

static struct key key_of(const struct profile *p, const struct location *location,
                         const struct place *place, enum query_by by)
{
	struct key code = {
		.group = KEY_CODE,
		.module = location->module,
		.kernel = profile_is_kernel(p, location),
		.python = location->kind == FRAME_PYTHON,
		.called = location->kind == FRAME_CALLED_EXACT ||
		          location->kind == FRAME_CALLED_RETURN,
	};

	if (by == BY_MODULE || !place || !(by == BY_FILE ? place->file : place->function))
		return key_of_module(p, location, by);
	code.file = place->file;
	if (by == BY_FILE) {
		code.module = 0; // a header is one file, whoever includes it
		return code;
	}
	code.function = place->function;
	code.inlined = place->inlined;
	if (by == BY_LINE) {
		code.line = place->line;
		// Lambdas and comprehensions stand in the line that makes them.
		if (code.python && place->file)
			code.function = 0;
	} else if (place->declared)
		code.file = place->declared; // its lines may be in others, too
	return code;
}

// GLOB against TEXT and everything that follows a slash in it: "src/*" means any src/.
static bool matches(const char *glob, const char *text)
{
	while (text) {
		if (fnmatch(glob, text, 0) == 0)
			return true;
		text = strchr(text, '/');
		text = text ? text + 1 : NULL;
	}
	return false;
}

static const char *path_of(const struct profile *p, const struct location *location)
{
	const struct module *module = profile_module(p, location->module);

	return module ? module->path : NULL;
}

static bool is_user_code(const struct profile *p, const char *glob, const struct location *location,
                         const struct place *place)
{
	const char *file = place ? profile_string(p, place->file) : NULL;

	if (strcmp(glob, QUERY_OWN_CODE) == 0)
		return file && !place_is_foreign(p, location, place);
	return matches(glob, file) || matches(glob, path_of(p, location));
}

static bool is_interpreter(const struct location *location)
{
	return location->kind == FRAME_INTERPRETER_EXACT ||
	       location->kind == FRAME_INTERPRETER_RETURN;
}

static void match_frame(const struct profile *p, const struct query *query,
                        const struct location *location, const struct place *place,
                        struct key_frame *frame)
{
	frame->hidden = is_interpreter(location) && !query->interpreter;
	if (query->hide) {
		// A function's name may hold slashes in its types: only the whole of it counts.
		const char *name = place ? profile_string(p, place->function) : NULL;
		frame->hidden |= matches(query->hide, path_of(p, location)) ||
		                 (name && fnmatch(query->hide, name, 0) == 0);
	}
	frame->ours = location_is_mark(location, MARK_OURS);
	if (query->user_code)
		frame->user = is_user_code(p, query->user_code, location, place);
}

static bool add_op(struct keys *keys, bool with_lines, const struct location *location,
                   struct key_frame *frame)
{
	struct key key = { .group = KEY_OP, .module = (uint32_t)location->address };

	*frame = (struct key_frame){ .key = key_table_add(&keys->keys, &key) };
	if (with_lines)
		frame->line = key_table_add(&keys->lines, &key);
	return frame->key && (frame->line || !with_lines);
}

// The first module of code that a process made, if there are several. Node starts a process for
// each CPU, and the same source is compiled in each: it stays one function.
static uint32_t find_shared_jit(const struct profile *p)
{
	uint32_t first = 0;
	const struct module *module;

	for (uint32_t id = 1; (module = profile_module(p, id)); id++) {
		if (module->kind != MODULE_JIT)
			continue;
		if (first)
			return first;
		first = id;
	}
	return 0;
}

static void share_jit(const struct keys *keys, struct key *key)
{
	const struct module *module = keys->shared_jit && key->group == KEY_CODE
	                                      ? profile_module(keys->profile, key->module)
	                                      : NULL;

	if (!module || module->kind != MODULE_JIT)
		return;
	key->module = keys->shared_jit;
	key->shared = true;
}

static bool add_frame(struct keys *keys, const struct query *query, bool with_lines,
                      const struct location *location, const struct place *place,
                      struct key_frame *frame)
{
	const struct profile *p = keys->profile;
	struct key key = key_of(p, location, place, query->by);

	share_jit(keys, &key);
	*frame = (struct key_frame){ .key = key_table_add(&keys->keys, &key) };
	if (with_lines) {
		struct key line = key_of(p, location, place, BY_LINE);
		share_jit(keys, &line);
		frame->line = key_table_add(&keys->lines, &line);
	}
	match_frame(p, query, location, place, frame);
	return frame->key && (frame->line || !with_lines);
}

static bool add_location(struct keys *keys, const struct query *query, unsigned wanted,
                         const struct location *location, struct key_frame *frames)
{
	const struct place *places = profile_places(keys->profile, location);
	bool with_lines = wanted & KEYS_LINES;

	if (location->kind == FRAME_OP)
		return add_op(keys, with_lines, location, frames);
	if (!location->place_count)
		return add_frame(keys, query, with_lines, location, NULL, frames);
	for (uint32_t i = 0; i < location->place_count; i++)
		if (!add_frame(keys, query, with_lines, location,
		               &places[location->place_count - 1 - i], &frames[i]))
			return false;
	return true;
}

static uint32_t frame_count(const struct location *location, unsigned wanted)
{
	if (location->kind == FRAME_OP)
		return (wanted & KEYS_OPS) != 0;
	if (!(wanted & KEYS_CODE))
		return 0;
	return location->place_count ? location->place_count : 1;
}

static bool table_copy(const struct key_table *from, struct key_table *to)
{
	size_t slots = from->index.slots ? 2 * ((size_t)from->index.mask + 1) : 0;

	*to = (struct key_table){ .count = from->count, .capacity = from->count };
	to->index = from->index;
	to->index.slots = NULL;
	if (slots && !(to->index.slots = malloc(slots * sizeof(*to->index.slots))))
		return false;
	if (slots)
		memcpy(to->index.slots, from->index.slots, slots * sizeof(*to->index.slots));
	if (from->count && !(to->keys = malloc(from->count * sizeof(*to->keys))))
		return false;
	if (from->count)
		memcpy(to->keys, from->keys, from->count * sizeof(*to->keys));
	return true;
}

// A copy of its own for each: queries add keys, and hide frames. False if there is no memory.
static bool keys_copy(const struct keys *from, struct keys *to)
{
	uint32_t locations = profile_locations(from->profile)->count;
	size_t frames = (size_t)from->first[locations] + 1, firsts = (size_t)locations + 1;

	*to = (struct keys){ .profile = from->profile,
		             .shared_jit = from->shared_jit,
		             .kept = from };
	to->first = malloc(firsts * sizeof(*to->first));
	to->frames = malloc(frames * sizeof(*to->frames));
	if (to->first && to->frames && table_copy(&from->keys, &to->keys) &&
	    table_copy(&from->lines, &to->lines)) {
		memcpy(to->first, from->first, firsts * sizeof(*to->first));
		memcpy(to->frames, from->frames, frames * sizeof(*to->frames));
		return true;
	}
	keys_fini(to);
	return false;
}

static void release_keys(void *keys)
{
	keys_fini(keys);
	free(keys);
}

static void keep(const struct kept_key *key, struct keys *keys)
{
	cleanup_free struct keys *copy = key->works ? malloc(sizeof(*copy)) : NULL;

	if (!copy || !keys_copy(keys, copy))
		return;
	if (kept_add(key, copy, release_keys))
		keys->kept = steal(copy);
	else
		keys_fini(copy);
}

static const char *text_or_none(const char *text)
{
	return text ? text : "\n";
}

static int sort_out(struct keys *keys, const struct profile *p, const struct query *query,
                    unsigned wanted, struct error *err)
{
	const struct locations *l = profile_locations(p);
	size_t frames = 0;

	*keys = (struct keys){ .profile = p, .shared_jit = find_shared_jit(p) };
	for (uint32_t i = 0; i < l->count; i++)
		frames += frame_count(&l->locations[i], wanted);
	keys->first = calloc((size_t)l->count + 1, sizeof(*keys->first));
	keys->frames = calloc(frames + 1, sizeof(*keys->frames));
	cleanup_free bool *libc = libc_frames(p);
	bool ok = keys->first && keys->frames && libc;
	for (uint32_t i = 0; ok && i < l->count; i++) {
		uint32_t count = frame_count(&l->locations[i], wanted);
		keys->first[i + 1] = keys->first[i] + count;
		struct key_frame *own = keys->frames + keys->first[i];
		ok = !count || add_location(keys, query, wanted, &l->locations[i], own);
		for (uint32_t k = 0; k < count && libc[i]; k++)
			own[k].hidden = true;
	}
	if (ok)
		return 0;
	keys_fini(keys);
	return error_set(err, ENOMEM, "could not rank the profile");
}

int keys_init(struct keys *keys, const struct profile *p, const struct query *query,
              unsigned wanted, struct error *err)
{
	const struct kept_key key =
		kept_key(p, "keys %u %d %d %zu %s%s", wanted, query->by, query->interpreter,
	                 strlen(text_or_none(query->hide)), text_or_none(query->hide),
	                 text_or_none(query->user_code));
	const struct keys *kept = kept_find(&key);

	if (kept && keys_copy(kept, keys))
		return 0;
	if (sort_out(keys, p, query, wanted, err) < 0)
		return -1;
	keep(&key, keys);
	return 0;
}

// "[too short to sample: cc1]": what ran in it is unknown, which program it was is not.
static const char *short_name(const struct module *program, struct strings *texts)
{
	cleanup_free char *text = NULL;

	if (!program)
		return KEY_SHORT_NAME "]";
	if (asprintf(&text, KEY_SHORT_NAME ": %s]", path_base(program->path)) < 0) {
		text = NULL;
		return NULL;
	}
	return strings_get(texts, strings_add(texts, text));
}

// "[libfoo.so]"; a path that is in brackets already stays as it is.
static const char *bracketed(const char *path, struct strings *texts)
{
	const char *base = path_base(path);
	cleanup_free char *text = NULL;

	if (base[0] == '[')
		return base;
	if (asprintf(&text, "[%s]", base) < 0) {
		text = NULL;
		return NULL;
	}
	return strings_get(texts, strings_add(texts, text));
}

static const char *name_of_op(const struct profile *p, uint32_t id)
{
	const struct op *op = profile_op(p, id);

	return op ? op->name : "[unknown op]";
}

const char *key_task_name(const struct profile *p, uint32_t text)
{
	const char *name = profile_string(p, text);

	return name && *name ? name : "[no name]";
}

const char *key_name(const struct profile *p, const struct key *key, struct strings *texts)
{
	static const char *const fixed[] = {
		[KEY_KERNEL] = "[kernel]",           [KEY_JIT] = "[jit]",
		[KEY_NO_MODULE] = "[unknown]",       [KEY_TRUNCATED] = "[callers missing]",
		[KEY_UNKNOWN] = KEY_UNKNOWN_NAME,    [KEY_FOLDED] = "[folded]",
		[KEY_NO_OP] = "[outside ops]",       [KEY_PYTHON] = "[python]",
		[KEY_HIDDEN] = "[hidden]",           [KEY_OUTSIDE] = KEY_OUTSIDE_NAME,
		[KEY_GIL] = "[waiting for the GIL]", [KEY_OURS] = KEY_OURS_NAME,
		[KEY_FAULT] = "[page fault]",
	};
	const struct process_info *process;

	switch ((enum key_group)key->group) {
	case KEY_CODE:
		return profile_string(p, key->function ? key->function : key->file);
	case KEY_MODULE:
		return profile_module(p, key->module)->path;
	case KEY_NAMELESS:
		return bracketed(profile_module(p, key->module)->path, texts);
	case KEY_SHORT:
		return short_name(profile_module(p, key->module), texts);
	case KEY_OP:
		return name_of_op(p, key->module);
	case KEY_THREAD:
		return key_task_name(p, profile_thread(p, key->module)->name);
	case KEY_PROCESS:
		process = profile_process(p, key->module);
		return key_task_name(p, process ? process->title : 0);
	default:
		return fixed[key->group];
	}
}

const char *key_module(const struct profile *p, const struct key *key)
{
	if (key->group != KEY_CODE && key->group != KEY_MODULE && key->group != KEY_NAMELESS)
		return NULL;
	const struct module *module = profile_module(p, key->module);
	return key->shared ? "[jit]" : module ? module->path : NULL;
}
