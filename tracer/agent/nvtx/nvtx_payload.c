// SPDX-License-Identifier: MIT
#include "tracer/agent/nvtx/nvtx_payload.h"

#include "base/hash.h"
#include "tracer/agent/store.h"
#include "tracer/agent/table.h"

#include <string.h>

#define ENTRIES_MAX 256
#define NESTED_MAX  4 // schemas within schemas

struct entry {
	uint64_t flags, type;
	uint64_t offset, length; // length of an array, or of a text
	uint64_t time_domain;    // of a time; 0: not known
	const char *name;        // NULL: none
};

struct schema {
	const struct nvtx_domain *domain;
	const char *name; // NULL: none
	uint64_t id, bytes;
	uint32_t count;
	struct entry entries[];
};

enum sort {
	OTHER, // not a number that we can tell
	UNSIGNED,
	SIGNED,
	REAL
};

static const struct number {
	uint8_t bytes, sort;
} numbers[NVTX_TYPE_TID64 + 1] = {
	[1] = { 1, SIGNED },    [2] = { 1, UNSIGNED }, // char, unsigned char, short …
	[3] = { 2, SIGNED },    [4] = { 2, UNSIGNED },  [5] = { 4, SIGNED },
	[6] = { 4, UNSIGNED },  [7] = { 8, SIGNED },    [8] = { 8, UNSIGNED },
	[9] = { 8, SIGNED },    [10] = { 8, UNSIGNED }, [11] = { 1, SIGNED }, // int8_t …
	[12] = { 1, UNSIGNED }, [13] = { 2, SIGNED },   [14] = { 2, UNSIGNED },
	[15] = { 4, SIGNED },   [16] = { 4, UNSIGNED }, [17] = { 8, SIGNED },
	[18] = { 8, UNSIGNED }, [19] = { 4, REAL },     [20] = { 8, REAL },
	[21] = { 16, OTHER },                                                   // long double
	[22] = { 8, UNSIGNED }, [23] = { 8, OTHER },                            // size, address
	[24] = { 4, UNSIGNED }, [25] = { 1, UNSIGNED }, [26] = { 2, UNSIGNED }, // characters
	[27] = { 4, UNSIGNED }, [32] = { 1, OTHER },    [33] = { 16, OTHER },
	[34] = { 16, OTHER },   [42] = { 2, OTHER },    [43] = { 4, REAL },
	[44] = { 8, REAL },     [45] = { 16, OTHER },   [50] = { 2, OTHER },
	[52] = { 4, OTHER },                         // small floats
	[68] = { 4, UNSIGNED }, [69] = { 4, OTHER }, // category, colour
	[70] = { 8, OTHER },    [71] = { 4, OTHER },    [72] = { 8, OTHER },
	[73] = { 4, OTHER },    [74] = { 8, OTHER }, // scope, pids, tids
};

AGENT_TABLE static struct table schemas;
static uint64_t next_id; // atomic

static uint64_t key_of(const struct nvtx_domain *domain, uint64_t id)
{
	return hash_pair(id, (uintptr_t)domain) | 1;
}

static const struct schema *find(const struct nvtx_domain *domain, uint64_t id)
{
	const struct schema *s = table_get(&schemas, key_of(domain, id));

	return s && s->domain == domain && s->id == id ? s : NULL;
}

static bool is_text(uint64_t type)
{
	return type == NVTX_TYPE_STRING || type == NVTX_TYPE_STRING_UTF8;
}

// Of one element; 0 if it is not known.
static uint64_t element_bytes(const struct nvtx_domain *domain, uint64_t type)
{
	if (type <= NVTX_TYPE_TID64)
		return numbers[type].bytes;
	if (is_text(type))
		return 1;
	if (type == NVTX_TYPE_REGISTERED)
		return sizeof(void *);
	const struct schema *nested = find(domain, type);
	return nested ? nested->bytes : 0;
}

static bool is_embedded_text(const struct entry *e)
{
	return is_text(e->type) && !(e->flags & NVTX_ENTRY_ELSEWHERE) && e->length;
}

static bool is_pointer(const struct entry *e)
{
	return e->flags & NVTX_ENTRY_POINTER || (is_text(e->type) && !is_embedded_text(e));
}

static uint64_t entry_bytes(const struct nvtx_domain *domain, const struct entry *e)
{
	uint64_t length =
		(e->flags & NVTX_ENTRY_ARRAY) == NVTX_ENTRY_ARRAY_FIXED || is_embedded_text(e)
			? e->length
			: 1;
	uint64_t bytes;

	if (is_pointer(e))
		return sizeof(void *);
	return __builtin_mul_overflow(element_bytes(domain, e->type), length, &bytes) ? 0 : bytes;
}

// Where an entry lies that the program has not said it of, as a C compiler would lay it.
static uint64_t natural_offset(const struct nvtx_domain *domain, const struct entry *e,
                               uint64_t end, uint64_t packed)
{
	uint64_t align = is_pointer(e) ? sizeof(void *) : element_bytes(domain, e->type);

	if (align > 8 && e->type > NVTX_TYPE_TID64)
		align = 8; // a nested struct; what is in it is not looked at
	if (packed && packed < align)
		align = packed;
	return align ? (end + align - 1) / align * align : end;
}

static uint64_t time_domain_of(const struct nvtx_semantics *s)
{
	for (; s; s = s->next)
		if (s->id == NVTX_SEMANTIC_TIME && s->size >= sizeof(struct nvtx_semantics_time))
			return ((const struct nvtx_semantics_time *)s)->time_domain;
	return 0;
}

static bool is_time(const struct entry *e)
{
	return (e->flags & NVTX_ENTRY_TIME) && !(e->flags & NVTX_ENTRY_ELSEWHERE);
}

static void copy_entries(struct schema *s, const struct nvtx_schema *given)
{
	uint64_t packed = given->fields & NVTX_SCHEMA_ALIGNMENT ? given->alignment : 0;
	uint64_t end = 0;

	for (uint32_t i = 0; i < s->count; i++) {
		const struct nvtx_schema_entry *from = &given->entries[i];
		struct entry *to = &s->entries[i];
		*to = (struct entry){
			.flags = from->flags,
			.type = from->type,
			.offset = from->offset,
			.length = from->detail,
			.time_domain = time_domain_of(from->semantics),
			.name = from->name ? store_text(from->name, PROTOCOL_NAME_TEXT) : NULL,
		};
		if (!to->offset && i > 0)
			to->offset = natural_offset(s->domain, to, end, packed);
		end = to->offset + entry_bytes(s->domain, to);
	}
	s->bytes = given->fields & NVTX_SCHEMA_BYTES ? given->bytes : end;
}

static const char *copy_name(bool given, const char *name)
{
	return given && name ? store_text(name, PROTOCOL_NAME_TEXT) : NULL;
}

static struct schema *new_schema(const struct nvtx_domain *domain, uint64_t id, uint32_t count)
{
	struct schema *s = store_take(sizeof(*s) + count * sizeof(struct entry));

	if (!s)
		return NULL;
	s->domain = domain;
	s->id = id;
	s->count = count;
	return s;
}

void nvtx_payload_register_as(const struct nvtx_domain *domain, const struct nvtx_schema *given,
                              uint64_t id)
{
	const uint64_t needed = NVTX_SCHEMA_TYPE | NVTX_SCHEMA_ENTRIES | NVTX_SCHEMA_COUNT;
	// The entries of the others do not all lie one behind the other.
	bool readable = (given->fields & needed) == needed && given->entries &&
	                (given->type == NVTX_SCHEMA_STATIC || given->type == NVTX_SCHEMA_DYNAMIC) &&
	                given->count <= ENTRIES_MAX;
	struct schema *s = new_schema(domain, id, readable ? (uint32_t)given->count : 0);

	if (!s)
		return;
	s->name = copy_name(given->fields & NVTX_SCHEMA_NAME, given->name);
	if (readable)
		copy_entries(s, given);
	else if (given->fields & NVTX_SCHEMA_BYTES)
		s->bytes = given->bytes;
	table_put(&schemas, key_of(domain, id), s);
}

// An enum's value is a number like any other.
void nvtx_payload_register_enum_as(const struct nvtx_domain *domain, const struct nvtx_enum *e,
                                   uint64_t id)
{
	static const uint8_t types[] = { [1] = 12, [2] = 14, [4] = 16, [8] = 18 };
	size_t bytes = e->fields & NVTX_ENUM_BYTES ? e->bytes : sizeof(int);
	struct schema *s = new_schema(domain, id, 1);

	if (!s)
		return;
	s->entries[0].type = bytes < sizeof(types) ? types[bytes] : 0;
	s->bytes = bytes;
	table_put(&schemas, key_of(domain, id), s);
}

static uint64_t choose_id(bool given, uint64_t id)
{
	if (given && id)
		return id;
	return NVTX_SCHEMA_DYNAMIC_FIRST + __atomic_add_fetch(&next_id, 1, __ATOMIC_RELAXED);
}

uint64_t nvtx_payload_register(const struct nvtx_domain *domain, const struct nvtx_schema *schema)
{
	uint64_t id = choose_id(schema->fields & NVTX_SCHEMA_ID, schema->id);

	nvtx_payload_register_as(domain, schema, id);
	return id;
}

uint64_t nvtx_payload_register_enum(const struct nvtx_domain *domain, const struct nvtx_enum *e)
{
	uint64_t id = choose_id(e->fields & NVTX_ENUM_ID, e->id);

	nvtx_payload_register_enum_as(domain, e, id);
	return id;
}

static uint64_t bits_of(double real)
{
	uint64_t bits;

	memcpy(&bits, &real, sizeof(bits));
	return bits;
}

// Values of one event are all of one kind: where real ones come together with whole ones, real.
static void make_real(struct nvtx_event *event)
{
	for (uint32_t i = 0; i < event->count; i++)
		event->values[i] =
			bits_of(event->kind == OP_DETAIL_SIGNED ? (double)(int64_t)event->values[i]
		                                                : (double)event->values[i]);
	event->kind = OP_DETAIL_DOUBLE;
}

static uint64_t as_real(enum sort sort, uint64_t value)
{
	if (sort == REAL)
		return value;
	return bits_of(sort == SIGNED ? (double)(int64_t)value : (double)value);
}

static void add(struct nvtx_event *event, enum sort sort, uint64_t value)
{
	if (event->count == OP_DETAILS_MAX)
		return;
	if (sort == REAL && event->kind != OP_DETAIL_DOUBLE)
		make_real(event);
	if (event->kind == OP_DETAIL_DOUBLE)
		value = as_real(sort, value);
	else if (sort == SIGNED || event->kind == OP_DETAIL_NONE)
		event->kind = sort == SIGNED ? OP_DETAIL_SIGNED : OP_DETAIL_UNSIGNED;
	event->values[event->count++] = value;
}

static uint64_t load(const char *at, struct number number)
{
	uint64_t value = 0;
	float real;

	memcpy(&value, at, number.bytes);
	if (number.sort == REAL && number.bytes == sizeof(real)) {
		memcpy(&real, at, sizeof(real));
		return bits_of(real);
	}
	if (number.sort == SIGNED && number.bytes < 8) {
		int unused = 64 - 8 * number.bytes;
		value = (uint64_t)((int64_t)(value << unused) >> unused);
	}
	return value;
}

static void add_numbers(struct nvtx_event *event, uint64_t type, const char *at, uint64_t length)
{
	struct number number = numbers[type];

	if (number.sort == OTHER || (type == NVTX_TYPE_CHAR && length > 1)) // a text
		return;
	for (uint64_t i = 0; i < length && event->count < OP_DETAILS_MAX; i++)
		add(event, number.sort, load(at + i * number.bytes, number));
}

static void read_message(struct nvtx_event *event, const struct entry *e, const char *at)
{
	const void *pointer;

	if (event->text || event->string)
		return;
	memcpy(&pointer, at, sizeof(pointer));
	if (e->type == NVTX_TYPE_REGISTERED)
		event->string = nvtx_string_of(pointer);
	else if (is_text(e->type))
		event->text = pointer;
}

// Embedded texts may lack their end, and are not looked at.
static void read_entry(struct nvtx_event *event, const struct entry *e, const char *at)
{
	uint32_t category;

	if (is_time(e))
		return;
	if (e->flags & NVTX_ENTRY_MESSAGE && !is_embedded_text(e)) {
		read_message(event, e, at);
	} else if (e->type == NVTX_TYPE_CATEGORY && !(e->flags & NVTX_ENTRY_ELSEWHERE)) {
		memcpy(&category, at, sizeof(category));
		event->category = category;
	} else if (e->type <= NVTX_TYPE_TID64 && !(e->flags & NVTX_ENTRY_ELSEWHERE)) {
		add_numbers(event, e->type, at, e->flags & NVTX_ENTRY_ARRAY ? e->length : 1);
	}
}

static bool is_of_known_length(const struct entry *e)
{
	uint64_t array = e->flags & NVTX_ENTRY_ARRAY;

	return is_pointer(e) || !array || array == NVTX_ENTRY_ARRAY_FIXED;
}

static void read_schema(struct nvtx_event *event, const struct schema *s, const char *data,
                        uint64_t bytes, int depth)
{
	for (uint32_t i = 0; i < s->count && is_of_known_length(&s->entries[i]); i++) {
		const struct entry *e = &s->entries[i];
		uint64_t size = entry_bytes(s->domain, e);
		if (!size || e->offset > bytes || size > bytes - e->offset)
			continue;
		const struct schema *nested =
			e->type >= NVTX_SCHEMA_STATIC_FIRST ? find(s->domain, e->type) : NULL;
		if (!nested)
			read_entry(event, e, data + e->offset);
		else if (depth < NESTED_MAX && !(e->flags & NVTX_ENTRY_ELSEWHERE))
			read_schema(event, nested, data + e->offset, size, depth + 1);
	}
}

void nvtx_payload_read(struct nvtx_event *event, const struct nvtx_domain *domain,
                       const struct nvtx_payload *payloads, size_t count)
{
	for (size_t i = 0; payloads && i < count; i++) {
		const struct nvtx_payload *p = &payloads[i];
		const struct schema *s = find(domain, p->schema);
		uint64_t bytes = s && p->bytes == SIZE_MAX ? s->bytes : p->bytes;
		if (p->data && s)
			read_schema(event, s, p->data, bytes, 0);
		else if (p->data && p->schema && p->schema <= NVTX_TYPE_TID64 &&
		         numbers[p->schema].bytes && bytes != SIZE_MAX)
			add_numbers(event, p->schema, p->data, bytes / numbers[p->schema].bytes);
		if (s && s->name && !event->text && !event->string)
			event->text = s->name;
	}
}

uint64_t nvtx_payload_bytes(const struct nvtx_domain *domain, uint64_t schema)
{
	return element_bytes(domain, schema);
}

const char *nvtx_payload_part(const struct nvtx_domain *domain, uint64_t schema, uint32_t index,
                              uint32_t count)
{
	const struct schema *s = find(domain, schema);
	const char *name = NULL;
	uint32_t at = 0;

	for (uint32_t i = 0; s && i < s->count; i++) {
		if (is_time(&s->entries[i]))
			continue;
		if (at++ == index)
			name = s->entries[i].name;
	}
	return at == count ? name : NULL;
}

static void read_time(struct nvtx_times *times, const struct entry *e, int64_t time)
{
	bool ends = (e->flags & NVTX_ENTRY_EVENT) == NVTX_ENTRY_END;
	// Of two that do not say what they are, the first one begins it.
	bool second = !(e->flags & NVTX_ENTRY_EVENT) && times->has_begin;

	if (ends || second) {
		times->end = time;
		times->has_end = true;
	} else {
		times->begin = time;
		times->has_begin = true;
	}
	if (e->time_domain)
		times->time_domain = e->time_domain;
}

static void read_times(struct nvtx_times *times, const struct schema *s, const char *data,
                       uint64_t bytes)
{
	for (uint32_t i = 0; i < s->count; i++) {
		const struct entry *e = &s->entries[i];
		int64_t time;
		if (!is_time(e) || e->type > NVTX_TYPE_TID64 ||
		    numbers[e->type].bytes != sizeof(time) || e->offset > bytes ||
		    sizeof(time) > bytes - e->offset)
			continue;
		memcpy(&time, data + e->offset, sizeof(time));
		read_time(times, e, time);
	}
}

void nvtx_payload_times(struct nvtx_times *times, const struct nvtx_domain *domain,
                        const struct nvtx_payload *payloads, size_t count)
{
	*times = (struct nvtx_times){ 0 };
	for (size_t i = 0; payloads && i < count; i++) {
		const struct schema *s = find(domain, payloads[i].schema);
		if (s && payloads[i].data)
			read_times(times, s, payloads[i].data,
			           payloads[i].bytes == SIZE_MAX ? s->bytes : payloads[i].bytes);
	}
}
