// SPDX-License-Identifier: MIT
#include "merge/table/threads.h"

#include "base/array.h"

#include <stdlib.h>
#include <string.h>

static bool aliases_init(struct aliases *a)
{
	*a = (struct aliases){ 0 };
	return hash_init(&a->index, 64);
}

static void aliases_fini(struct aliases *a)
{
	free(a->aliases);
	hash_fini(&a->index);
}

bool threads_init(struct threads *t, uint32_t limit)
{
	*t = (struct threads){ .limit = limit };
	return aliases_init(&t->process_aliases) && aliases_init(&t->thread_aliases);
}

void threads_fini(struct threads *t)
{
	free(t->processes);
	free(t->threads);
	aliases_fini(&t->process_aliases);
	aliases_fini(&t->thread_aliases);
}

static struct alias *find_alias(const struct aliases *a, uint32_t number)
{
	uint32_t at = hash_start(&a->index, hash_mix(number));

	for (; a->index.slots[at]; at = hash_next(&a->index, at))
		if (a->aliases[a->index.slots[at] - 1].number == number)
			return &a->aliases[a->index.slots[at] - 1];
	return NULL;
}

static void index_alias(struct aliases *a, uint32_t id)
{
	uint64_t hash = hash_mix(a->aliases[id - 1].number);
	uint32_t at = hash_start(&a->index, hash);

	while (a->index.slots[at])
		at = hash_next(&a->index, at);
	hash_insert(&a->index, at, hash, id);
}

// Takes the dead ones out, so that the table is as large as what is alive.
static void drop_dead(struct aliases *a)
{
	size_t count = 0;

	hash_clear(&a->index);
	for (size_t i = 0; i < a->count; i++) {
		if (!a->aliases[i].number)
			continue;
		a->aliases[count++] = a->aliases[i];
		index_alias(a, (uint32_t)count);
	}
	a->count = count;
}

static bool set_alias(struct aliases *a, uint32_t number, uint32_t slot)
{
	struct alias *known = find_alias(a, number);

	if (known) {
		known->slot = slot;
		return true;
	}
	if (a->count > 64 && a->live * 2 < a->count)
		drop_dead(a);
	if (!hash_make_room(&a->index))
		return false;
	if (!array_reserve(&a->aliases, &a->capacity, a->count + 1))
		return false;
	a->aliases[a->count++] = (struct alias){ number, slot };
	a->live++;
	index_alias(a, (uint32_t)a->count);
	return true;
}

// The dead entry stays in the index, under number 0, until drop_dead().
static void end_alias(struct aliases *a, uint32_t number)
{
	struct alias *known = number ? find_alias(a, number) : NULL;

	if (known) {
		known->number = 0;
		a->live--;
	}
}

static uint32_t find_slot(const struct aliases *a, uint32_t number)
{
	const struct alias *known = number ? find_alias(a, number) : NULL;

	return known ? known->slot : 0;
}

uint32_t threads_process_slot(const struct threads *t, uint32_t number)
{
	if (number <= t->limit)
		return number && number <= t->process_count && t->processes[number - 1].merged
		               ? number
		               : 0;
	return find_slot(&t->process_aliases, number);
}

uint32_t threads_slot(const struct threads *t, uint32_t number)
{
	if (number <= t->limit)
		return number && number <= t->thread_count && t->threads[number - 1].merged ? number
		                                                                            : 0;
	return find_slot(&t->thread_aliases, number);
}

uint32_t threads_main(const struct threads *t, uint32_t number)
{
	uint32_t process = threads_process_slot(t, number);

	for (uint32_t i = 0; process && i < t->thread_count; i++)
		if (t->threads[i].process == process)
			return i + 1;
	return 0;
}

// Makes the slots 1..COUNT exist, empty.
static bool grow_processes(struct threads *t, size_t count)
{
	if (count <= t->process_count)
		return true;
	if (!array_reserve(&t->processes, &t->process_capacity, count))
		return false;
	memset(t->processes + t->process_count, 0,
	       (count - t->process_count) * sizeof(*t->processes));
	t->process_count = count;
	return true;
}

static bool grow_threads(struct threads *t, size_t count)
{
	if (count <= t->thread_count)
		return true;
	if (!array_reserve(&t->threads, &t->thread_capacity, count))
		return false;
	memset(t->threads + t->thread_count, 0, (count - t->thread_count) * sizeof(*t->threads));
	t->thread_count = count;
	return true;
}

// A thread can rename itself without end: so many names are kept, then there is one for all.
#define NAMES_MAX (1u << 18)

static uint32_t intern(struct strings *strings, const char *name)
{
	return strings_add(strings, strings_count(strings) < NAMES_MAX ? name : "[another name]");
}

// Once there is a slot for all the others, a new name is not even kept.
static bool is_named(const struct strings *strings, uint32_t id, uint32_t name, const char *text)
{
	return name ? id == name : id && strcmp(strings_get(strings, id), text) == 0;
}

// The next slot for a name, or that of all the others where there are too many names. 0: no memory.
static uint32_t shared_process(struct threads *t, struct strings *strings, const char *command)
{
	uint32_t name = t->others_process ? 0 : intern(strings, command);

	for (size_t slot = (size_t)t->limit + 1; slot <= t->process_count; slot++)
		if (is_named(strings, t->processes[slot - 1].command, name, command))
			return (uint32_t)slot;
	if (t->others_process)
		return t->others_process;
	size_t slot = (t->process_count > t->limit ? t->process_count : t->limit) + 1;
	if (slot >= threads_slots_max(t->limit))
		name = strings_add(strings, "[other processes]");
	if (!name || !grow_processes(t, slot))
		return 0;
	t->processes[slot - 1].command = t->processes[slot - 1].title = name;
	if (slot >= threads_slots_max(t->limit))
		t->others_process = (uint32_t)slot;
	return (uint32_t)slot;
}

static uint32_t shared_thread(struct threads *t, struct strings *strings, uint32_t process,
                              const char *text)
{
	uint32_t name = t->others_thread ? 0 : intern(strings, text);

	for (size_t slot = (size_t)t->limit + 1; slot <= t->thread_count; slot++)
		if (t->threads[slot - 1].process == process &&
		    is_named(strings, t->threads[slot - 1].name, name, text))
			return (uint32_t)slot;
	if (t->others_thread)
		return t->others_thread;
	size_t slot = (t->thread_count > t->limit ? t->thread_count : t->limit) + 1;
	if (slot >= threads_slots_max(t->limit))
		name = strings_add(strings, "[other threads]");
	if (!name || !grow_threads(t, slot))
		return 0;
	t->threads[slot - 1].name = name;
	t->threads[slot - 1].process = process;
	if (slot >= threads_slots_max(t->limit))
		t->others_thread = (uint32_t)slot;
	return (uint32_t)slot;
}

static void join_process(struct process_info *info, uint32_t parent,
                         const struct process_event *event)
{
	if (!info->merged++) {
		info->parent = parent;
		info->pid = event->pid;
		info->start_ns = event->time_ns;
	}
	info->end_ns = 0;
}

bool threads_add_process(struct threads *t, struct strings *strings,
                         const struct process_event *event)
{
	uint32_t was = threads_process_slot(t, event->process);
	uint32_t slot = event->process;

	if (!event->process)
		return false;
	if (event->process > t->limit) {
		// By its command: after an exec that is another one.
		slot = shared_process(t, strings, event->command);
		if (!slot || !set_alias(&t->process_aliases, event->process, slot))
			return false;
	} else {
		uint32_t command = intern(strings, event->command);
		if (!command || !grow_processes(t, slot))
			return false;
		uint32_t title = event->title ? intern(strings, event->title) : command;
		if (!title)
			return false;
		t->processes[slot - 1].command = command;
		t->processes[slot - 1].title = title;
	}
	if (was == slot)
		return true;
	if (was)
		t->processes[was - 1].merged--;
	t->processes_seen += !was;
	join_process(&t->processes[slot - 1], threads_process_slot(t, event->parent), event);
	return true;
}

void threads_end_process(struct threads *t, uint32_t process, uint64_t time_ns)
{
	uint32_t slot = threads_process_slot(t, process);

	if (slot)
		t->processes[slot - 1].end_ns = time_ns;
	end_alias(&t->process_aliases, process);
}

static void join_thread(struct thread_info *info, uint32_t process,
                        const struct thread_event *event)
{
	if (!info->merged++) {
		info->process = process;
		info->tid = event->tid;
		info->start_ns = event->time_ns;
	}
	info->end_ns = 0;
}

bool threads_add_thread(struct threads *t, struct strings *strings,
                        const struct thread_event *event)
{
	uint32_t was = threads_slot(t, event->thread);
	uint32_t process = threads_process_slot(t, event->process);
	uint32_t slot = event->thread;

	if (!event->thread)
		return false;
	if (event->thread > t->limit) {
		slot = shared_thread(t, strings, process, event->name);
		if (!slot || !set_alias(&t->thread_aliases, event->thread, slot))
			return false;
	} else {
		uint32_t name = intern(strings, event->name);
		if (!name || !grow_threads(t, slot))
			return false;
		t->threads[slot - 1].name = name;
	}
	if (was == slot)
		return true;
	// It has another name, and so another slot; what it did before stays where it is.
	if (was)
		t->threads[was - 1].merged--;
	t->threads_seen += !was;
	join_thread(&t->threads[slot - 1], process, event);
	return true;
}

void threads_hide(struct threads *t, uint32_t number)
{
	uint32_t slot = threads_slot(t, number);
	struct thread_info *info = slot ? &t->threads[slot - 1] : NULL;

	if (!info)
		return;
	t->threads_seen--;
	if (--info->merged == 0)
		*info = (struct thread_info){ 0 };
}

static void forget_end(struct thread_info *info)
{
	memset(info->ns, 0, sizeof(info->ns));
	info->gil_held_ns = info->gil_waited_ns = 0;
}

bool threads_end_thread(struct threads *t, const struct thread_end *end)
{
	uint32_t slot = threads_slot(t, end->thread);

	if (!slot)
		return false;
	struct thread_info *info = &t->threads[slot - 1];
	if (info->ended < info->merged)
		info->ended++;
	else
		forget_end(info); // it ends again: the last word counts
	for (int i = 0; i < METRIC_COUNT; i++)
		info->ns[i] += end->ns[i];
	info->gil_held_ns += end->gil_held_ns;
	info->gil_waited_ns += end->gil_waited_ns;
	info->estimated |= !end->exact;
	info->end_ns = end->time_ns;
	end_alias(&t->thread_aliases, end->thread);
	return true;
}

uint32_t threads_first(const struct threads *t)
{
	uint32_t first = 0;

	for (uint32_t slot = 1; slot <= t->thread_count; slot++) {
		if (!thread_is_apart(threads_get(t, slot)))
			continue;
		if (threads_get(t, slot)->process == 1)
			return slot;
		first = first ? first : slot;
	}
	return first;
}
