// SPDX-License-Identifier: MIT
#include "sampler/python/python_remote_names.h"

#include "base/array.h"
#include "sampler/python/python.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NAMES_MAX    (1u << 16)
#define OPERANDS_MAX 64 // of one frame; what a call has for arguments lies above the callable
#define LOCALS_MAX   (1 << 16)
#define BASES_MAX    64
#define METHODS_MAX  512 // of one type
#define LOOKS        32  // until operands are looked at again: objects are freed
#define PART_BYTES   100 // of a name
#define NAME_BYTES   (2 * PART_BYTES + 32)
#define LOWEST       UINT64_C(0x1000)
#define HIGHEST      (UINT64_C(1) << 47)

// PyMethodDef: the same in all versions, as is what follows the head of these objects.
#define METHOD_NAME     0
#define METHOD_FUNCTION 8
#define METHOD_BYTES    32

// In words behind the head.
#define FUNCTION_METHOD   0 // PyCFunctionObject
#define FUNCTION_SELF     1
#define FUNCTION_MODULE   2
#define DESCRIPTOR_TYPE   0 // PyMethodDescrObject
#define DESCRIPTOR_METHOD 3
#define TYPE_NAME         1 // PyTypeObject, after its ob_size
#define TYPE_NUMBER       10
#define TYPE_SEQUENCE     11
#define TYPE_MAPPING      12
#define TYPE_METHODS      27
#define TYPE_BASE         30

// Functions of operators: where they stand in a type, or in what WITHIN of it leads to, in words.
static const struct slot {
	uint8_t within; // 0: in the type itself
	uint8_t at;
	const char *name; // NULL: comparisons
} slots[] = {
	{ 0, 14, "__call__" },
	{ TYPE_MAPPING, 1, "__getitem__" },
	{ TYPE_MAPPING, 2, "__setitem__" },
	{ TYPE_MAPPING, 0, "__len__" },
	{ TYPE_SEQUENCE, 3, "__getitem__" },
	{ TYPE_SEQUENCE, 5, "__setitem__" },
	{ TYPE_SEQUENCE, 0, "__len__" },
	{ TYPE_SEQUENCE, 1, "__add__" },
	{ TYPE_SEQUENCE, 2, "__mul__" },
	{ TYPE_SEQUENCE, 7, "__contains__" },
	{ 0, 23, NULL },
	{ 0, 25, "__iter__" },
	{ 0, 26, "__next__" },
	{ 0, 35, "__init__" },
	{ 0, 9, "__repr__" },
	{ 0, 15, "__str__" },
	{ 0, 13, "__hash__" },
	{ 0, 16, "__getattribute__" },
	{ 0, 17, "__setattr__" },
	{ 0, 32, "__get__" },
	{ TYPE_NUMBER, 0, "__add__" },
	{ TYPE_NUMBER, 1, "__sub__" },
	{ TYPE_NUMBER, 2, "__mul__" },
	{ TYPE_NUMBER, 3, "__mod__" },
	{ TYPE_NUMBER, 4, "__divmod__" },
	{ TYPE_NUMBER, 5, "__pow__" },
	{ TYPE_NUMBER, 6, "__neg__" },
	{ TYPE_NUMBER, 7, "__pos__" },
	{ TYPE_NUMBER, 8, "__abs__" },
	{ TYPE_NUMBER, 9, "__bool__" },
	{ TYPE_NUMBER, 10, "__invert__" },
	{ TYPE_NUMBER, 11, "__lshift__" },
	{ TYPE_NUMBER, 12, "__rshift__" },
	{ TYPE_NUMBER, 13, "__and__" },
	{ TYPE_NUMBER, 14, "__xor__" },
	{ TYPE_NUMBER, 15, "__or__" },
	{ TYPE_NUMBER, 16, "__int__" },
	{ TYPE_NUMBER, 18, "__float__" },
	{ TYPE_NUMBER, 19, "__iadd__" },
	{ TYPE_NUMBER, 20, "__isub__" },
	{ TYPE_NUMBER, 21, "__imul__" },
	{ TYPE_NUMBER, 22, "__imod__" },
	{ TYPE_NUMBER, 23, "__ipow__" },
	{ TYPE_NUMBER, 24, "__ilshift__" },
	{ TYPE_NUMBER, 25, "__irshift__" },
	{ TYPE_NUMBER, 26, "__iand__" },
	{ TYPE_NUMBER, 27, "__ixor__" },
	{ TYPE_NUMBER, 28, "__ior__" },
	{ TYPE_NUMBER, 29, "__floordiv__" },
	{ TYPE_NUMBER, 30, "__truediv__" },
	{ TYPE_NUMBER, 31, "__ifloordiv__" },
	{ TYPE_NUMBER, 32, "__itruediv__" },
	{ TYPE_NUMBER, 33, "__index__" },
	{ TYPE_NUMBER, 34, "__matmul__" },
	{ TYPE_NUMBER, 35, "__imatmul__" },
};

void python_remote_names_fini(struct python_remote_names *n)
{
	free(n->names);
	hash_fini(&n->index);
	*n = (struct python_remote_names){ 0 };
}

static uint64_t type_of(const struct python_remote_source *from, uint64_t object)
{
	return remote_memory_word(from->memory, object + (uint64_t)from->layout->object_type);
}

static uint64_t member(const struct python_remote_source *from, uint64_t object, unsigned index)
{
	return remote_memory_word(from->memory,
	                          object + (uint64_t)from->layout->object_type + 8 + 8 * index);
}

static uint32_t half_at(const struct python_remote_source *from, uint64_t address, int32_t offset)
{
	return (uint32_t)remote_memory_word(from->memory, address + (uint64_t)offset);
}

// Names of C functions and of types are printable ASCII. False: this is none.
static bool read_part(const struct python_remote_source *from, uint64_t address,
                      char out[PART_BYTES])
{
	for (size_t i = 0; address && i < PART_BYTES; i++) {
		if (!remote_memory_read(from->memory, address + i, out + i, 1))
			return false;
		if (!out[i])
			return i > 0;
		if (out[i] <= ' ' || out[i] > '~')
			return false;
	}
	return false;
}

static bool is_subtype(const struct python_remote_source *from, uint64_t type, uint64_t of)
{
	for (int i = 0; type && type != of && i < BASES_MAX; i++)
		type = member(from, type, TYPE_BASE);
	return type && type == of;
}

static bool defines(const struct python_remote_source *from, uint64_t type, uint64_t method)
{
	uint64_t first = member(from, type, TYPE_METHODS);

	if (!first || method < first || (method - first) % METHOD_BYTES ||
	    (method - first) / METHOD_BYTES >= METHODS_MAX)
		return false;
	for (uint64_t at = first; at < method; at += METHOD_BYTES)
		if (!remote_memory_word(from->memory, at + METHOD_NAME))
			return false;
	return true;
}

// TYPE or one of its bases; 0: none of them.
static uint64_t find_definer(const struct python_remote_source *from, uint64_t type,
                             uint64_t method)
{
	for (int i = 0; type && i < BASES_MAX; i++) {
		if (defines(from, type, method))
			return type;
		type = member(from, type, TYPE_BASE);
	}
	return 0;
}

static bool name_method(const struct python_remote_source *from, uint64_t type, const char *method,
                        char out[NAME_BYTES])
{
	char name[PART_BYTES];

	if (!read_part(from, member(from, type, TYPE_NAME), name))
		return false;
	snprintf(out, NAME_BYTES, "{method '%s' of '%s' objects}", method, name);
	return true;
}

static bool name_built_in(const struct python_remote_source *from, uint64_t module,
                          const char *method, char out[NAME_BYTES])
{
	char text[PYTHON_REMOTE_TEXT];
	size_t length = module ? python_remote_text(from, module, text) : 0;

	if (length > PART_BYTES)
		return false;
	snprintf(out, NAME_BYTES, "{built-in method %.*s%s%s}", (int)length, text,
	         length ? "." : "", method);
	return true;
}

// FUNCTION is one of a module, or bound to an object or a class: that one's type has it then.
static bool name_function(const struct python_remote_source *from, uint64_t function,
                          uint64_t definition, const char *method, char out[NAME_BYTES])
{
	uint64_t self = member(from, function, FUNCTION_SELF);
	uint64_t type = self ? type_of(from, self) : 0;

	if (!self || is_subtype(from, type, from->python->types.module))
		return name_built_in(from, member(from, function, FUNCTION_MODULE), method, out);
	uint64_t definer = find_definer(from, type, definition);
	if (definer)
		return name_method(from, definer, method, out);
	return is_subtype(from, type, from->python->types.type) &&
	       find_definer(from, self, definition) && name_built_in(from, 0, method, out);
}

// What stands at OBJECT. False: no C function that has a name.
static bool read_name(const struct python_remote_source *from, uint64_t object, uint64_t *address,
                      char out[NAME_BYTES])
{
	const struct python_types *types = &from->python->types;
	uint64_t type = type_of(from, object);
	bool is_function = type && (type == types->function || type == types->c_method);
	bool is_method = type && (type == types->method || type == types->class_method);
	char method[PART_BYTES];

	if (!is_function && !is_method)
		return false;
	uint64_t definition =
		member(from, object, is_function ? FUNCTION_METHOD : DESCRIPTOR_METHOD);
	*address = remote_memory_word(from->memory, definition + METHOD_FUNCTION);
	if (!*address ||
	    !read_part(from, remote_memory_word(from->memory, definition + METHOD_NAME), method))
		return false;
	if (is_function)
		return name_function(from, object, definition, method, out);
	return type == types->method
	               ? name_method(from, member(from, object, DESCRIPTOR_TYPE), method, out)
	               : name_built_in(from, 0, method, out);
}

// NULL: no memory.
static struct remote_name *entry_of(struct python_remote_names *n, uint64_t address)
{
	uint64_t hashed = hash_mix(address);
	uint32_t at;

	if ((!n->index.slots && !hash_init(&n->index, 64)) || !hash_make_room(&n->index))
		return NULL;
	for (at = hash_start(&n->index, hashed); n->index.slots[at]; at = hash_next(&n->index, at))
		if (n->names[n->index.slots[at] - 1].address == address)
			return &n->names[n->index.slots[at] - 1];
	if (n->count == NAMES_MAX || !array_reserve(&n->names, &n->capacity, n->count + 1))
		return NULL;
	n->names[n->count++] = (struct remote_name){ .address = address };
	hash_insert(&n->index, at, hashed, n->count);
	return &n->names[n->count - 1];
}

// All functions of a library that makes them at run time begin in one place.
static void add(struct python_remote_names *n, uint64_t address, const char *name,
                const struct python_name_sink *sink)
{
	uint32_t known = n->count;
	struct remote_name *entry = entry_of(n, address);
	uint64_t text = hash_bytes(name, strlen(name)) | 1;

	if (!entry)
		return;
	bool is_new = n->count > known;
	if (!is_new && (!entry->text || entry->text == text))
		return;
	entry->text = is_new ? text : 0;
	sink->tell(sink->context, address, is_new ? name : "");
}

static uint64_t slot_of(const struct python_remote_source *from, uint64_t type,
                        const struct slot *slot)
{
	if (!slot->within)
		return member(from, type, slot->at);
	uint64_t within = member(from, type, slot->within);
	return within ? remote_memory_word(from->memory, within + UINT64_C(8) * slot->at) : 0;
}

// Which of TYPE and its bases has FUNCTION first.
static uint64_t find_slot_definer(const struct python_remote_source *from, uint64_t type,
                                  const struct slot *slot, uint64_t function)
{
	for (int i = 0; i < BASES_MAX; i++) {
		uint64_t base = member(from, type, TYPE_BASE);
		if (!base || slot_of(from, base, slot) != function)
			return type;
		type = base;
	}
	return type;
}

// As add(): a function that stands behind several operators of one type has the name of the first.
static void add_slot(struct python_remote_names *n, uint64_t address, uint64_t type,
                     const char *name, const struct python_name_sink *sink)
{
	uint32_t known = n->count;
	struct remote_name *entry = entry_of(n, address);

	if (!entry || (n->count == known && entry->type == type))
		return;
	bool is_new = n->count > known;
	if (is_new)
		entry->type = type;
	else if (!entry->text)
		return;
	entry->text = is_new ? hash_bytes(name, strlen(name)) | 1 : 0;
	sink->tell(sink->context, address, is_new ? name : "");
}

// The interpreter's own are named by its symbols, and stand behind what Python's classes define.
static void look_at_type(struct python_remote_names *n, const struct python_remote_source *from,
                         uint64_t type, const struct python_name_sink *sink)
{
	const struct python_types *types = &from->python->types;
	uint64_t *seen = &n->types[hash_mix(type) % PYTHON_REMOTE_TYPES];
	char part[PART_BYTES], name[NAME_BYTES];

	if (!type || *seen == type || !types->code_end ||
	    !is_subtype(from, type_of(from, type), types->type))
		return;
	*seen = type;
	for (size_t i = 0; i < sizeof(slots) / sizeof(slots[0]); i++) {
		uint64_t function = slot_of(from, type, &slots[i]);
		if (function < LOWEST || function >= HIGHEST ||
		    (function >= types->code_start && function < types->code_end))
			continue;
		uint64_t definer = find_slot_definer(from, type, &slots[i], function);
		if (!read_part(from, member(from, definer, TYPE_NAME), part))
			continue;
		if (slots[i].name)
			snprintf(name, sizeof(name), "{slot '%s' of '%s' objects}", slots[i].name,
			         part);
		else
			snprintf(name, sizeof(name), "{comparison of '%s' objects}", part);
		add_slot(n, function, definer, name, sink);
	}
}

static bool was_seen(struct python_remote_names *n, uint64_t object)
{
	uint64_t *seen = &n->seen[hash_mix(object) % PYTHON_REMOTE_SEEN];

	if (*seen == object)
		return true;
	*seen = object;
	return false;
}

// Where the operands of FRAME lie; how many there may be.
static uint32_t find_operands(const struct python_remote_source *from, uint64_t frame,
                              uint64_t code, uint64_t *first)
{
	const struct python_layout *l = from->layout;
	uint32_t count = half_at(from, code, l->code_operands);

	if (l->frame_operands >= 0) {
		*first = remote_memory_word(from->memory, frame + (uint64_t)l->frame_operands);
	} else {
		uint32_t locals = half_at(from, code, l->code_locals);
		if (locals > LOCALS_MAX)
			return 0;
		*first = frame + (uint64_t)l->frame_locals + 8 * (uint64_t)locals;
	}
	return count < OPERANDS_MAX ? count : OPERANDS_MAX;
}

void python_remote_names_look(struct python_remote_names *n,
                              const struct python_remote_source *from, uint64_t frame,
                              uint64_t code, const struct python_name_sink *sink)
{
	uint64_t operands[OPERANDS_MAX], first, address;
	uint32_t count = find_operands(from, frame, code, &first);
	char name[NAME_BYTES];

	if (!from->python->types.function || !count ||
	    !remote_memory_read(from->memory, first, operands, count * sizeof(*operands)))
		return;
	if (n->looks++ % LOOKS == 0)
		memset(n->seen, 0, sizeof(n->seen));
	for (uint32_t i = 0; i < count; i++) {
		uint64_t object = operands[i] & ~PYTHON_TAG_BITS;
		if (object < LOWEST || object >= HIGHEST || was_seen(n, object))
			continue;
		if (read_name(from, object, &address, name)) {
			add(n, address, name, sink);
			continue;
		}
		uint64_t type = type_of(from, object);
		look_at_type(n, from, type, sink);
		if (type && is_subtype(from, type, from->python->types.type))
			look_at_type(n, from, object, sink); // a class, which is called
	}
}
