// SPDX-License-Identifier: MIT
#include "tracer/agent/python/await_sums.h"

#include "base/clock.h"
#include "base/hash.h"
#include "base/record.h"
#include "tracer/agent/agent.h"
#include "tracer/agent/op/op.h"

#include <string.h>
#include <sys/mman.h>
#include <time.h>

#define ROOM_NS     (200 * NS_PER_MS) // for room in the ring, at the end
#define RECORD_ROOM ((size_t)4 << 10)
#define PLACES_ROOM ((size_t)8 << 10) // of a row

struct sums *await_sums;
static bool lacking; // atomic

bool await_sums_start(void)
{
	if (!await_sums) {
		void *memory = mmap(NULL, sizeof(*await_sums), PROT_READ | PROT_WRITE,
		                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
		await_sums = memory == MAP_FAILED ? NULL : memory;
	}
	return await_sums != NULL;
}

void await_sums_lack(void)
{
	__atomic_store_n(&lacking, true, __ATOMIC_RELAXED);
}

bool await_sums_are_lacking(void)
{
	return __atomic_load_n(&lacking, __ATOMIC_RELAXED);
}

// Places.

static void copy_text(char *to, size_t size, const char *from)
{
	size_t length = strlen(from);

	if (length >= size)
		length = size - 1;
	// Not in the middle of a character.
	while (length && from[length] && ((unsigned char)from[length] & 0xc0) == 0x80)
		length--;
	memcpy(to, from, length);
	to[length] = '\0';
}

static uint32_t place_slot(uintptr_t key, uint32_t line, bool begins)
{
	uint64_t hashed = hash_pair(key, (uint64_t)line << 1 | begins);
	uint32_t at = (uint32_t)hashed % (2 * SUMS_PLACES_MAX), number;

	for (; (number = await_sums->place_slots[at]) != 0; at = (at + 1) % (2 * SUMS_PLACES_MAX)) {
		const struct sums_place *p = &await_sums->places[number - 1];
		if (p->key == key && p->line == line && p->begins == begins)
			break;
	}
	return at;
}

uint32_t await_sums_find(uintptr_t key, uint32_t line, bool begins)
{
	return await_sums->place_slots[place_slot(key, line, begins)];
}

uint32_t await_sums_add_place(uintptr_t key, uint32_t line, bool begins, const char *name,
                              const char *file)
{
	if (await_sums->place_count == SUMS_PLACES_MAX) {
		await_sums_lack();
		return 0;
	}
	struct sums_place *p = &await_sums->places[await_sums->place_count++];
	p->key = key;
	p->line = line;
	p->begins = begins;
	copy_text(p->name, SUMS_NAME_BYTES, name);
	copy_text(p->file, SUMS_FILE_BYTES, file);
	await_sums->place_slots[place_slot(key, line, begins)] = await_sums->place_count;
	return await_sums->place_count;
}

// Rows.

static bool is_same(const struct sums_row *row, enum await_kind kind, const uint16_t *places,
                    uint32_t count)
{
	return row->kind == kind && row->place_count == count &&
	       memcmp(row->places, places, count * sizeof(*places)) == 0;
}

uint32_t await_sums_row(enum await_kind kind, const uint16_t *places, uint32_t count)
{
	uint64_t hashed = hash_mix(kind);
	uint32_t number;

	for (uint32_t i = 0; i < count; i++)
		hashed = hash_pair(hashed, places[i]);
	uint32_t at = (uint32_t)hashed % (2 * SUMS_ROWS_MAX);
	for (; (number = await_sums->row_slots[at]) != 0; at = (at + 1) % (2 * SUMS_ROWS_MAX))
		if (is_same(&await_sums->rows[number - 1], kind, places, count))
			return number;
	if (await_sums->row_count == SUMS_ROWS_MAX) {
		await_sums_lack();
		return 0;
	}
	struct sums_row *row = &await_sums->rows[await_sums->row_count++];
	row->kind = (uint8_t)kind;
	row->place_count = (uint8_t)count;
	memcpy(row->places, places, count * sizeof(*places));
	await_sums->row_slots[at] = await_sums->row_count;
	return await_sums->row_count;
}

uint32_t await_sums_row_of(uint16_t coroutine, enum await_kind kind)
{
	struct sums_place *p = await_sums_place(coroutine);

	if (!p->rows[kind])
		p->rows[kind] = await_sums_row(kind, &coroutine, 1);
	return p->rows[kind];
}

// What is reported to the collector.

// What is owed counts for the chain that was read last.
static void settle(void)
{
	for (uint32_t i = 0; i < await_sums->place_count; i++) {
		struct sums_place *p = &await_sums->places[i];
		if (p->owed_count)
			await_sums_add(p->last_wait, p->owed_count, p->owed_ns, 0);
		p->owed_ns = p->owed_count = 0;
	}
}

static size_t put_place(char *to, const struct sums_place *p)
{
	size_t name_bytes = strlen(p->name) + 1, file_bytes = strlen(p->file) + 1;

	memcpy(to, &p->line, sizeof(p->line));
	memcpy(to + sizeof(p->line), p->name, name_bytes);
	memcpy(to + sizeof(p->line) + name_bytes, p->file, file_bytes);
	return sizeof(p->line) + name_bytes + file_bytes;
}

static bool tell_row(const struct agent *a, struct lane *lane, struct sums_row *row)
{
	uint64_t room[PLACES_ROOM / sizeof(uint64_t)];
	char *places = (char *)room;
	size_t bytes = 0;

	for (uint32_t i = 0; i < row->place_count; i++)
		bytes += put_place(places + bytes, &await_sums->places[row->places[i] - 1]);
	size_t size = record_align(sizeof(struct record_python_await) + bytes);
	// A refusal would count as a lost record; but this one only comes later.
	if (lane_room(lane) < RECORD_ROOM + size)
		return false;
	struct record_python_await *record =
		(struct record_python_await *)agent_reserve(a, lane, RECORD_PYTHON_AWAIT, size);
	if (!record)
		return false;
	record->count = row->count - row->told_count;
	record->ns = row->ns - row->told_ns;
	record->longest_ns = row->longest_ns;
	record->kind = row->kind;
	record->place_count = row->place_count;
	memcpy(record + 1, places, bytes);
	lane_commit(lane, &record->head, size);
	row->told_count = row->count;
	row->told_ns = row->ns;
	return true;
}

static bool tell(const struct agent *a, struct sums_row *row)
{
	if (row->count == row->told_count && row->ns == row->told_ns)
		return true;
	struct lane *lane = op_take_lane();
	bool done = lane && tell_row(a, lane, row);
	if (lane)
		op_give_lane();
	return done;
}

void await_sums_tell(const struct agent *a, bool last)
{
	struct timespec moment = { 0, NS_PER_MS };
	uint64_t until_ns = clock_now_ns() + ROOM_NS;

	settle();
	for (uint32_t i = 0; i < await_sums->row_count; i++)
		while (!tell(a, &await_sums->rows[i])) {
			if (!last || clock_now_ns() > until_ns)
				return;
			nanosleep(&moment, NULL);
		}
}

void await_sums_fork(void)
{
	for (uint32_t i = 0; i < await_sums->row_count; i++) {
		struct sums_row *row = &await_sums->rows[i];
		row->count = row->ns = row->longest_ns = row->told_count = row->told_ns = 0;
	}
	for (uint32_t i = 0; i < await_sums->place_count; i++)
		await_sums->places[i].owed_ns = await_sums->places[i].owed_count =
			await_sums->places[i].libraries = 0;
	lacking = false;
}
