// SPDX-License-Identifier: MIT
/*
 * The memory of a sound interpreter, but for some words: python_remote has memory that is anything
 * at all, in which no mutation finds a dictionary, a set of tasks or a C function's name.
 *
 * An input: the version, how it is looked at, and changes, see struct change.
 */
#include "tests/fuzz/python_looks.h"

#include "base/python_layout.h"
#include "tests/support/python_image.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define BASE    UINT64_C(0x7f0000000000)
#define TID     4711u
#define OLDEST  8
#define NEWEST  15
#define TYPES   6 // of struct event_python
#define WORDS   (IMAGE_BYTES / 8)
#define CALLED  UINT64_C(0x7f00dead0000) // code of C functions
#define UNKNOWN (-1)

struct change {
	uint16_t word; // of those that are in use
	uint8_t how;
	uint8_t unused;
	int32_t value;
};

enum how {
	HOW_VALUE,
	HOW_SUM,     // the value is added
	HOW_POINTER, // to that byte of what is in use
	HOW_COPY,    // of that word
	HOW_BYTE,    // the lowest of its bytes becomes the value's
	HOWS
};

// What is sound.
static struct sound {
	struct image image;
	struct event_python event;
} sounds[NEWEST - OLDEST + 1];

static uint64_t characters(struct image *i, const char *text)
{
	uint64_t at = image_take(i, strlen(text) + 32);

	for (int32_t k = 0; text[k]; k++)
		image_poke(i, at, k, (uint8_t)text[k], 1);
	return at;
}

static uint64_t object(struct image *i, uint64_t type)
{
	uint64_t at = image_take(i, 288);

	image_poke(i, at, i->layout.object_type, type, 8);
	return at;
}

// The INDEXth word behind the head of an object.
static void put(struct image *i, uint64_t at, int32_t index, uint64_t value)
{
	image_poke(i, at, i->layout.object_type + 8 + 8 * index, value, 8);
}

static uint64_t type(struct sound *s, const char *name, uint64_t methods, uint64_t base)
{
	uint64_t at = object(&s->image, s->event.types.type);

	put(&s->image, at, 1, characters(&s->image, name));
	put(&s->image, at, 27, methods);
	put(&s->image, at, 30, base);
	return at;
}

static uint64_t method(struct image *i, const char *name, unsigned number)
{
	uint64_t at = image_take(i, 64);

	image_poke(i, at, 0, characters(i, name), 8);
	image_poke(i, at, 8, CALLED + number, 8);
	return at;
}

static uint64_t function_of(struct sound *s, uint64_t self, uint64_t module, uint64_t definition)
{
	uint64_t at = object(&s->image, s->event.types.function);

	put(&s->image, at, 0, definition);
	put(&s->image, at, 1, self);
	put(&s->image, at, 2, module);
	return at;
}

static uint64_t descriptor_of(struct sound *s, uint64_t of, uint64_t definition)
{
	uint64_t at = object(&s->image, s->event.types.method);

	put(&s->image, at, 0, of);
	put(&s->image, at, 3, definition);
	return at;
}

static uint64_t code(struct image *i, const char *name)
{
	return image_code(i, image_text(i, "a.py"), image_text(i, name), 10);
}

static void add_threads(struct sound *s)
{
	struct image *i = &s->image;
	uint64_t append = method(i, "append", 3), base = type(s, "list", append, 0);
	uint64_t mine = type(s, "mine", 0, base);
	const uint64_t operands[] = {
		0,
		function_of(s, object(i, s->event.types.module), image_text(i, "builtins"),
		            method(i, "len", 1)),
		descriptor_of(s, type(s, "re.Pattern", 0, 0), method(i, "sub", 2)),
		function_of(s, object(i, mine), 0, append),
		object(i, base),
	};

	for (uint32_t thread = 0; thread < 2; thread++) {
		image_frame(i, code(i, "outer"), 2);
		if (i->layout.frame_owner >= 0 && i->layout.version >= PYTHON_VERSION(12))
			image_shim(i);
		image_operands(i, code(i, "inner"), 3, operands, 5);
		image_thread(i, TID + thread);
	}
}

// KEY: VALUE.
static uint64_t dictionary(struct image *i, const char *key, uint64_t value)
{
	bool sized_by_powers = i->layout.version >= PYTHON_VERSION(11);
	uint64_t keys = image_take(i, 128), at = image_take(i, 64);
	int32_t entry = (sized_by_powers ? 32 : 40) + 8;

	if (sized_by_powers)
		image_poke(i, keys, 9, 3, 1);
	else
		image_poke(i, keys, 8, 8, 8);
	image_poke(i, keys, sized_by_powers ? 24 : 32, 1, 8);
	image_poke(i, keys, entry + 8, image_text(i, key), 8);
	image_poke(i, keys, entry + 16, value, 8);
	image_poke(i, at, 32, keys, 8);
	return at;
}

// Where coroutines have their frames and states, in this version: sampler/python/.
struct places {
	int32_t modules, frame, state, frame_state, top;
};

// What _PyRuntime has at OFFSET.
static int32_t reported(const struct image *i, int32_t offset)
{
	int32_t value;

	memcpy(&value, i->bytes + (i->runtime - i->base) + offset, sizeof(value));
	return value;
}

static struct places places_of(const struct image *i)
{
	static const struct places all[] = {
		{ 56, 16, 24, UNKNOWN, 72 },   { 856, 16, 24, UNKNOWN, 72 },
		{ 856, 16, UNKNOWN, 108, 80 }, { 888, 80, 75, UNKNOWN, 64 },
		{ 944, 72, 67, UNKNOWN, 64 },  { 0, 72, 67, UNKNOWN, 64 },
	};
	if (i->layout.version == PYTHON_VERSION(14))
		return (struct places){ reported(i, 96), reported(i, 680), reported(i, 688),
			                UNKNOWN, reported(i, 296) };
	if (i->layout.version == PYTHON_VERSION(15))
		return (struct places){ reported(i, 96), reported(i, 808), reported(i, 816),
			                UNKNOWN, reported(i, 360) };
	struct places places = all[i->layout.version - PYTHON_VERSION(OLDEST)];
	if (!places.modules)
		places.modules = reported(i, 88);
	return places;
}

// Suspended, where it awaits AWAITED.
static uint64_t coroutine(struct sound *s, uint64_t kind, const char *name, uint64_t awaited)
{
	struct image *i = &s->image;
	const struct python_layout *l = &i->layout;
	struct places places = places_of(i);
	bool has_pointer = l->version <= PYTHON_VERSION(10);
	uint64_t at = object(i, kind), its_code = code(i, name), operands = image_take(i, 64);
	uint64_t frame = has_pointer ? image_take(i, 512) : at + (uint64_t)places.frame;

	if (has_pointer)
		image_poke(i, at, places.frame, frame, 8);
	if (places.frame_state >= 0)
		image_poke(i, frame, places.frame_state, 0xff, 1);
	else if (l->version >= PYTHON_VERSION(11))
		image_poke(i, at, places.state, l->version >= PYTHON_VERSION(15) ? 2 : 0xff, 1);
	image_poke(i, frame, l->frame_code, its_code, 8);
	if (l->code_start >= 0)
		image_poke(i, frame, l->frame_instruction, its_code + (uint64_t)l->code_start + 4,
		           8);
	if (l->frame_operands >= 0)
		image_poke(i, frame, l->frame_operands, operands, 8);
	if (l->version <= PYTHON_VERSION(9))
		image_poke(i, frame, places.top, operands + 8, 8);
	else if (l->version >= PYTHON_VERSION(14))
		image_poke(i, frame, places.top,
		           frame + (uint64_t)l->frame_locals +
		                   (l->version >= PYTHON_VERSION(15) ? 16 : 8),
		           8);
	else
		image_poke(i, frame, places.top, 1, 4);
	image_poke(i, has_pointer ? operands : frame, has_pointer ? 0 : l->frame_locals, awaited,
	           8);
	return at;
}

static uint64_t weak_set(struct sound *s, uint64_t task)
{
	struct image *i = &s->image;
	uint64_t set = object(i, type(s, "set", 0, 0)), table = image_take(i, 8 * 16);
	uint64_t reference = image_take(i, 64), attributes;
	uint64_t at = object(i, type(s, "WeakSet", 0, 0)); // behind the zeros of a name

	image_poke(i, reference, 16, task, 8);
	image_poke(i, table, 16, reference, 8);
	image_poke(i, set, 24, 1, 8);
	image_poke(i, set, 32, 7, 8);
	image_poke(i, set, 40, table, 8);
	attributes = dictionary(i, "data", set);
	if (i->layout.version < PYTHON_VERSION(11))
		image_poke(i, at, 16, attributes, 8);
	else
		image_poke(i, at, -24, attributes, 8);
	return at;
}

static void add_tasks(struct sound *s)
{
	struct image *i = &s->image;
	uint64_t kind = type(s, "coroutine", 0, 0), wrapper = type(s, "coroutine_wrapper", 0, 0);
	uint64_t inner = coroutine(s, kind, "sleep", 0), wrapped = object(i, wrapper);
	uint64_t task = image_take(i, 512), module = image_take(i, 64);

	image_poke(i, wrapped, 16, inner, 8);
	image_poke(i, task, 80, image_take(i, 64), 8); // waits for that
	image_poke(i, task, 16, task, 8);
	image_poke(i, task, 88, coroutine(s, kind, "work", wrapped), 8);
	if (i->layout.version >= PYTHON_VERSION(14)) { // in a list: python_looks.c says where
		image_poke(i, i->interpreter, 48, task + 16, 8);
		image_poke(i, task, 16, i->interpreter + 48, 8);
	}
	image_poke(i, module, 16 + (i->layout.object_type - 8),
	           dictionary(i, "_scheduled_tasks", weak_set(s, task)), 8);
	image_poke(i, i->interpreter, places_of(i).modules, dictionary(i, "asyncio.tasks", module),
	           8);
}

static void make(struct sound *s, uint32_t version)
{
	struct image *i = &s->image;

	image_init(i, version, BASE);
	s->event = (struct event_python){
		.version = version,
		.runtime = i->runtime,
		.code_type = i->code_type,
		.types = { object(i, 0), object(i, 0), object(i, 0), object(i, 0), object(i, 0) },
	};
	add_threads(s);
	add_tasks(s);
}

static void apply(struct image *i, const struct change *change)
{
	int32_t words = (int32_t)(i->used / 8), word = change->word % words;
	uint64_t at, value = (uint64_t)(int64_t)change->value;

	memcpy(&at, i->bytes + 8 * word, 8);
	switch (change->how % HOWS) {
	case HOW_SUM:
		value += at;
		break;
	case HOW_POINTER:
		value = i->base + (uint32_t)change->value % i->used;
		break;
	case HOW_COPY:
		memcpy(&value, i->bytes + 8 * ((uint32_t)change->value % (uint32_t)words), 8);
		break;
	case HOW_BYTE:
		value = (at & ~UINT64_C(0xff)) | (value & 0xff);
		break;
	default:
		break;
	}
	memcpy(i->bytes + 8 * word, &value, 8);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static uint8_t bytes[IMAGE_BYTES];
	struct change change;

	if (!sounds[0].image.bytes)
		for (uint32_t minor = OLDEST; minor <= NEWEST; minor++)
			make(&sounds[minor - OLDEST], PYTHON_VERSION(minor));
	if (size < 2)
		return 0;
	const struct sound *s = &sounds[data[0] % (NEWEST - OLDEST + 1)];
	struct image image = s->image;
	image.bytes = bytes;
	memcpy(bytes, s->image.bytes, image.used);
	for (size_t at = 2; at + sizeof(change) <= size; at += sizeof(change)) {
		memcpy(&change, data + at, sizeof(change));
		apply(&image, &change);
	}
	python_looks(&s->event, TID + data[1] % 3, image_read, &image);
	return 0;
}
