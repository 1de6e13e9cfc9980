// SPDX-License-Identifier: MIT
// Modules, locations, threads and call paths of one part.
#include "base/array.h"
#include "merge/join/merger_data.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SLOTS threads_slots_max(MERGER_THREADS) // of processes; of threads

static bool add_facts_of_module(struct merger *m, uint32_t from, uint32_t to)
{
	if (!profile_make_facts(m->profile))
		return false;
	if (from > m->part->fact_count)
		return true;
	const struct module_facts *facts = &m->part->facts[from - 1];
	struct module_facts *kept = &m->profile->facts[to - 1];
	// Where it was found on one host and not on another, the better one counts.
	if (kept->level >= facts->level && kept->level)
		return true;
	kept->level = facts->level;
	return merger_text(m, facts->source, &kept->source) &&
	       merger_text(m, facts->reason, &kept->reason) &&
	       merger_text(m, facts->remedy, &kept->remedy);
}

/*
 * A library is the same on all hosts if its build-id is. What the kernel and compilers of
 * machine code have put into memory has other addresses in each part, and goes by its names.
 */
bool merger_add_modules(struct merger *m)
{
	for (uint32_t id = 1; id <= modules_count(m->part->modules); id++) {
		struct module wanted = *modules_get(m->part->modules, id);
		wanted.fd = -1;
		if (wanted.build_id_size) {
			wanted.device = 0;
			wanted.inode = 0;
		}
		if (wanted.kind == MODULE_JIT) {
			wanted.pid = 0;
			wanted.path = "[jit]";
		}
		const struct module *module = modules_add(m->profile->modules, &wanted, NULL);
		if (!module || !add_facts_of_module(m, id, module->id))
			return false;
		m->modules[id - 1] = module->id;
	}
	return true;
}

// Numbers that only one part knows the meaning of.
static bool goes_by_name(const struct merger *m, const struct location *location)
{
	const struct module *module = modules_get(m->part->modules, location->module);

	if (location->kind == FRAME_PYTHON || location->kind == FRAME_MODULE)
		return true;
	return location->named && location->place_count && module &&
	       (module->kind == MODULE_KERNEL || module->kind == MODULE_JIT);
}

static uint64_t hash_of_places(const struct place *places, uint32_t count)
{
	uint64_t hash = count;

	for (uint32_t i = 0; i < count; i++) {
		hash = hash_pair(hash, (uint64_t)places[i].function << 32 | places[i].file);
		hash = hash_pair(hash, (uint64_t)places[i].line << 1 | places[i].inlined);
	}
	return hash;
}

static struct place *translate_places(struct merger *m, const struct location *location)
{
	struct place *places = calloc((size_t)location->place_count + 1, sizeof(*places));
	const struct place *from = locations_places(&m->part->locations, location);

	for (uint32_t i = 0; places && i < location->place_count; i++) {
		places[i] = from[i];
		if (merger_text(m, from[i].function, &places[i].function) &&
		    merger_text(m, from[i].file, &places[i].file) &&
		    merger_text(m, from[i].declared, &places[i].declared))
			continue;
		free(places);
		return NULL;
	}
	return places;
}

// A place that several parts have is in the loop that the first of them found.
static bool add_loop(struct merger *m, uint32_t id, const struct location *location)
{
	struct location *kept = &m->profile->locations.locations[id - 1];

	return kept->loop || merger_text(m, location->loop, &kept->loop);
}

static uint32_t add_location(struct merger *m, const struct location *location)
{
	struct locations *all = &m->profile->locations;
	struct frame frame = { location->address, merger_number(m->modules, location->module),
		               location->kind };

	if (location->kind == FRAME_OP)
		return locations_add(all,
		                     (struct frame){ m->ops[location->address - 1], 0, FRAME_OP });
	cleanup_free struct place *places = translate_places(m, location);
	if (!places)
		return 0;
	if (goes_by_name(m, location))
		frame.address = hash_of_places(places, location->place_count);
	uint32_t id = locations_add(all, frame);
	if (id && !add_loop(m, id, location))
		return 0;
	if (!id || !location->named)
		return id;
	// What needs no symbols is named from the start, but not yet by its name.
	const struct location *known = locations_get(all, id);
	if (known->named && (known->place_count || !location->place_count))
		return id;
	return locations_name(all, id, places, location->place_count) ? id : 0;
}

bool merger_add_locations(struct merger *m)
{
	const struct locations *from = &m->part->locations;

	for (uint32_t id = 1; id <= from->count; id++) {
		m->locations[id - 1] = add_location(m, locations_get(from, id));
		if (!m->locations[id - 1])
			return false;
	}
	return true;
}

// "solver", or, where ranks are apart, "solver [rank 3]", or "solver [profile 3]".
static uint32_t name_of_process(struct merger *m, uint32_t command)
{
	const struct run *run = &m->part->run;
	const char *name = strings_get(m->part->strings, command);
	bool by_rank = run->has_rank && !m->plan.by_place;
	char text[256];

	// Those of ranks have their names.
	if (!merger_is_apart(m) || (m->part->ranks.count && !m->plan.by_place))
		return strings_add(m->profile->strings, name);
	snprintf(text, sizeof(text), "%.200s [%s %u]", name ? name : "?",
	         by_rank ? "rank" : "profile", by_rank ? run->rank : m->profile->ranks.count);
	return strings_add(m->profile->strings, text);
}

static void join_times(uint64_t *start, uint64_t *end, uint64_t part_start, uint64_t part_end,
                       bool first)
{
	if (first || part_start < *start)
		*start = part_start;
	if (first || (*end && (!part_end || part_end > *end)))
		*end = part_end;
}

static bool add_process(struct merger *m, uint32_t slot)
{
	struct threads *t = &m->profile->threads;
	const struct process_info *from = &m->part->threads.processes[slot - 1];
	uint32_t name = name_of_process(m, from->command);
	uint32_t to = name ? merger_slots_take(&m->process_slots, m->parts + 1, 0, name, SLOTS) : 0;

	if (!to)
		return false;
	if (to > t->process_count) {
		if (!array_reserve(&t->processes, &t->process_capacity, to))
			return false;
		t->processes[t->process_count++] =
			(struct process_info){ .pid = from->pid, .command = name, .title = name };
	}
	struct process_info *info = &t->processes[to - 1];
	join_times(&info->start_ns, &info->end_ns, merger_time(m, from->start_ns),
	           merger_time(m, from->end_ns), !info->merged);
	info->merged += from->merged;
	m->processes[slot - 1] = to;
	return true;
}

static void join_thread(struct merger *m, struct thread_info *info, const struct thread_info *from)
{
	join_times(&info->start_ns, &info->end_ns, merger_time(m, from->start_ns),
	           merger_time(m, from->end_ns), !info->merged);
	info->merged += from->merged;
	info->ended += from->ended;
	info->estimated |= from->estimated;
	for (int metric = 0; metric < METRIC_COUNT; metric++)
		info->ns[metric] += from->ns[metric];
	info->gil_held_ns += from->gil_held_ns;
	info->gil_waited_ns += from->gil_waited_ns;
}

static bool add_thread(struct merger *m, uint32_t slot)
{
	struct threads *t = &m->profile->threads;
	const struct thread_info *from = &m->part->threads.threads[slot - 1];
	uint32_t process = merger_number(m->processes, from->process), name;

	if (!merger_text(m, from->name, &name))
		return false;
	uint32_t to = merger_slots_take(&m->thread_slots, m->parts + 1, process, name, SLOTS);
	if (!to)
		return false;
	if (to > t->thread_count) {
		if (!array_reserve(&t->threads, &t->thread_capacity, to))
			return false;
		t->threads[t->thread_count++] =
			(struct thread_info){ .process = process, .tid = from->tid, .name = name };
	}
	join_thread(m, &t->threads[to - 1], from);
	m->threads[slot - 1] = to;
	return true;
}

bool merger_add_threads(struct merger *m)
{
	const struct threads *from = &m->part->threads;
	struct threads *to = &m->profile->threads;

	for (uint32_t slot = 1; slot <= from->process_count; slot++)
		if (!add_process(m, slot))
			return false;
	for (uint32_t slot = 1; slot <= from->process_count; slot++) {
		struct process_info *info = &to->processes[m->processes[slot - 1] - 1];
		if (!info->parent && from->processes[slot - 1].parent <= from->process_count)
			info->parent =
				merger_number(m->processes, from->processes[slot - 1].parent);
	}
	for (uint32_t slot = 1; slot <= from->thread_count; slot++)
		if (!add_thread(m, slot))
			return false;
	to->processes_seen += from->processes_seen;
	to->threads_seen += from->threads_seen;
	return true;
}

bool merger_add_nodes(struct merger *m)
{
	const struct paths *from = &m->part->paths;
	struct profile *p = m->profile;

	for (uint32_t id = 1; id <= from->count; id++) {
		const struct path_node *node = paths_node(from, id);
		uint32_t *to = &m->nodes[id - 1];
		if (node->parent)
			*to = paths_child(&p->paths, m->nodes[node->parent - 1],
			                  m->locations[node->location - 1]);
		else
			*to = paths_child(&p->paths, 0, m->threads[node->location - 1]);
		if (!*to)
			return false;
	}
	p->held = m->nodes; // room for their times may be made by folding others
	p->held_count = from->count;
	return true;
}
