// SPDX-License-Identifier: MIT
#include "merge/rules/compiling.h"

#include "base/array.h"
#include "base/error.h"
#include "merge/profile/profile_parts.h"
#include "merge/query/answer.h"
#include "merge/query/query.h"
#include "merge/query/query_wall.h"
#include "merge/rules/activity.h"
#include "merge/scope/scope.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

// Whose a Python function is, by a part of its file's path. What is in none, as torch/fx, works for
// who has called it.
static const struct {
	const char *folder, *name;
} compilers[] = {
	{ "/torch/_dynamo/", "Dynamo" },
	{ "/torch/_functorch/", "AOTAutograd" },
	{ "/torch/_inductor/", "Inductor" },
	{ "/torch/utils/cpp_extension.py", "C++ extensions" },
	{ "/triton/", "Triton" },
	{ "/jax/", "JAX" },
	{ "/numba/", "Numba" },
};

#define COMPILERS (sizeof(compilers) / sizeof(compilers[0]))
#define NOBODY    UINT32_MAX

static const char *const tools[] = {
	"cc",       "gcc",      "g++",       "c++",    "cpp",      "cc1",       "cc1plus",
	"clang",    "clang++",  "as",        "ld",     "collect2", "lto1",      "lto-wrapper",
	"ld.lld",   "ld.gold",  "ninja",     "cmake",  "make",     "nvcc",      "cicc",
	"ptxas",    "cudafe++", "fatbinary", "nvlink", "nvdisasm", "cuobjdump", "hipcc",
	"amdclang", "ccache",   "icpx",      "icx",
};

struct node_state {
	uint32_t slot;
	uint32_t who; // index into compilers; NOBODY: not known, or not inside
	bool inside, importing;
};

struct asking {
	const struct profile *profile;
	struct scope scope, wall;
	bool ranks;
	uint32_t critical;         // slot
	uint8_t *entries;          // [location - 1]: 1 a compiler begins, 2 an import does
	uint32_t *whose;           // [location - 1]: as struct node_state
	struct node_state *states; // [node - 1]
	bool *tool_threads;        // [slot - 1]
	uint64_t cpu_ns[COMPILERS + 1], wall_ns[COMPILERS + 1]; // the last: of nobody known
	uint64_t *tool_cpu_ns, *tool_wall_ns;                   // [process slot - 1]
	struct compiling *answer;
};

static void asking_at_scope_end(struct asking *a)
{
	scope_fini(&a->scope);
	scope_fini(&a->wall);
	free(a->entries);
	free(a->whose);
	free(a->states);
	free(a->tool_threads);
	free(a->tool_cpu_ns);
	free(a->tool_wall_ns);
}

void compiling_free(struct compiling *c)
{
	if (!c)
		return;
	free(c->rows);
	free(c);
}

static const struct place *python_place(const struct profile *p, const struct location *location)
{
	bool python = location->kind == FRAME_PYTHON && location->place_count;

	return python ? profile_places(p, location) : NULL;
}

static activity_set begins(const struct profile *p, const struct location *location)
{
	const struct place *place = python_place(p, location);
	const char *function = place ? profile_string(p, place->function) : NULL;

	return function ? activity_of(function, profile_string(p, place->file)) : 0;
}

// "x86_64-linux-gnu-g++-12" is "g++".
static bool is_tool(const char *command)
{
	const char *triplet = command ? strstr(command, "-linux-gnu-") : NULL;
	const char *name = triplet ? triplet + strlen("-linux-gnu-") : command;
	size_t length = name ? strcspn(name, "-") : 0;

	for (size_t i = 0; name && i < sizeof(tools) / sizeof(tools[0]); i++) {
		size_t tool = strlen(tools[i]);
		if (strcmp(name, tools[i]) == 0 ||
		    (length == tool && strncmp(name, tools[i], tool) == 0 &&
		     name[tool + 1] >= '0' && name[tool + 1] <= '9'))
			return true;
	}
	return false;
}

static bool is_shell(const char *command)
{
	return command && (strcmp(command, "sh") == 0 || strcmp(command, "bash") == 0 ||
	                   strcmp(command, "dash") == 0);
}

enum process_role {
	PROCESS_OTHER,
	PROCESS_COMPILES, // its own code does
	PROCESS_TOOL
};

// One more of those that others have started. False if there is none.
static bool spread(const struct profile *p, uint8_t *roles)
{
	const struct threads *t = profile_threads(p);
	bool found = false;

	for (size_t i = 0; i < t->process_count; i++) {
		const struct process_info *info = &t->processes[i];
		const char *command = profile_string(p, info->command);
		uint8_t parent = info->parent ? roles[info->parent - 1] : PROCESS_OTHER;
		uint8_t role = PROCESS_OTHER;
		if (parent == PROCESS_TOOL || (parent && is_tool(command)))
			role = PROCESS_TOOL;
		else if (parent && is_shell(command))
			role = PROCESS_COMPILES;
		if (roles[i] != PROCESS_OTHER || role == PROCESS_OTHER)
			continue;
		roles[i] = role;
		found = true;
	}
	return found;
}

// [process slot - 1]; NULL if there is no memory.
static uint8_t *roles_of_processes(const struct profile *p)
{
	const struct threads *t = profile_threads(p);
	const struct paths *paths = profile_paths(p);
	const struct locations *locations = profile_locations(p);
	uint8_t *roles = calloc(t->process_count + 1, sizeof(*roles));
	cleanup_free bool *entries = calloc((size_t)locations->count + 1, sizeof(*entries));
	cleanup_free uint32_t *slots = calloc((size_t)paths->count + 1, sizeof(*slots));
	bool any = false;

	if (!roles || !entries || !slots) {
		free(roles);
		return NULL;
	}
	for (uint32_t i = 0; i < locations->count; i++) {
		entries[i] = begins(p, &locations->locations[i]) & ACTIVITY(COMPILE) ? true : false;
		any |= entries[i];
	}
	// Callers come before their callees.
	for (uint32_t id = 1; any && id <= paths->count; id++) {
		const struct path_node *node = profile_node(p, id);
		slots[id - 1] = node->parent ? slots[node->parent - 1] : node->location;
		const struct thread_info *thread = threads_get(t, slots[id - 1]);
		if (node->parent && entries[node->location - 1] && thread && thread->process)
			roles[thread->process - 1] = PROCESS_COMPILES;
	}
	while (any && spread(p, roles))
		;
	return roles;
}

static bool *threads_of(const struct profile *p, const uint8_t *roles)
{
	const struct threads *t = profile_threads(p);
	bool *answer = calloc(t->thread_count + 1, sizeof(*answer));

	for (size_t i = 0; answer && i < t->thread_count; i++) {
		uint32_t process = t->threads[i].process;
		answer[i] = process && roles[process - 1] == PROCESS_TOOL;
	}
	return answer;
}

bool *compiling_threads(const struct profile *p)
{
	cleanup_free uint8_t *roles = roles_of_processes(p);

	return roles ? threads_of(p, roles) : NULL;
}

static uint32_t whose(const struct profile *p, const struct location *location)
{
	const struct place *place = python_place(p, location);
	const char *file = place ? profile_string(p, place->file) : NULL;

	for (uint32_t i = 0; file && i < COMPILERS; i++)
		if (strstr(file, compilers[i].folder))
			return i;
	return NOBODY;
}

static void take_locations(struct asking *a)
{
	const struct locations *locations = profile_locations(a->profile);

	for (uint32_t i = 0; i < locations->count; i++) {
		activity_set doing = begins(a->profile, &locations->locations[i]);
		a->entries[i] = (uint8_t)((doing & ACTIVITY(COMPILE) ? 1u : 0u) |
		                          (doing & ACTIVITY(IMPORT) ? 2u : 0u));
		a->whose[i] = whose(a->profile, &locations->locations[i]);
	}
}

static void take_state(struct asking *a, uint32_t id)
{
	const struct path_node *node = profile_node(a->profile, id);
	struct node_state *state = &a->states[id - 1];

	if (!node->parent) {
		*state = (struct node_state){ .slot = node->location, .who = NOBODY };
		return;
	}
	*state = a->states[node->parent - 1];
	state->inside |= a->entries[node->location - 1] & 1;
	state->importing |= a->entries[node->location - 1] & 2;
	if (a->whose[node->location - 1] != NOBODY)
		state->who = a->whose[node->location - 1];
}

// NS of node ID, to whom it belongs; false if that is no compiler.
static void give(struct asking *a, uint32_t id, uint64_t ns, bool wall)
{
	const struct node_state *state = &a->states[id - 1];
	const struct thread_info *thread = profile_thread(a->profile, state->slot);
	uint32_t who = state->who == NOBODY ? COMPILERS : state->who;
	bool tool = a->tool_threads[state->slot - 1] && thread;

	if (tool)
		(wall ? a->tool_wall_ns : a->tool_cpu_ns)[thread->process - 1] += ns;
	else if (state->inside && !state->importing)
		(wall ? a->wall_ns : a->cpu_ns)[who] += ns;
	else
		return;
	*(wall ? &a->answer->wall_ns : &a->answer->cpu_ns) += ns;
}

static void take_cells(struct asking *a, uint32_t id)
{
	const struct scope *scope = &a->scope, *wall = a->ranks ? &a->wall : &a->scope;
	uint32_t slot = a->states[id - 1].slot;

	if (!scope->threads[slot - 1])
		return;
	for (uint32_t i = scope->first_cell[id - 1]; i < scope->first_cell[id]; i++) {
		const struct cell *cell = &scope->table->cells[scope->cells[i]];
		if (scope_metric(cell) != METRIC_ON_CPU)
			continue;
		a->answer->all_cpu_ns += scope_ns(scope, cell);
		give(a, id, scope_ns(scope, cell), false);
	}
	if (!a->ranks && slot != a->critical)
		return;
	for (uint32_t i = wall->first_cell[id - 1]; i < wall->first_cell[id]; i++) {
		const struct cell *cell = &wall->table->cells[wall->cells[i]];
		uint64_t ns = scope_ns(wall, cell);
		// Others are to blame for that.
		if (scope_metric(cell) == METRIC_OFF_RUNNABLE)
			continue;
		a->answer->all_wall_ns += ns;
		give(a, id, ns, true);
	}
}

static bool prepare(struct asking *a, const struct query *query, struct error *err)
{
	const struct profile *p = a->profile;
	struct query of_wall = *query;
	struct wall_account wall;
	struct account account;

	of_wall.of = QUERY_WALL;
	if (query_wall_account(p, query, &wall, err) < 0 || query_account(p, &account, err) < 0 ||
	    scope_init(&a->scope, p, query, err) < 0 ||
	    (wall.ranks && scope_init(&a->wall, p, &of_wall, err) < 0))
		return false;
	a->ranks = wall.ranks;
	a->critical = account.slot;
	cleanup_free uint8_t *roles = roles_of_processes(p);
	size_t locations = (size_t)profile_locations(p)->count + 1;
	size_t processes = profile_threads(p)->process_count + 1;
	a->entries = calloc(locations, sizeof(*a->entries));
	a->whose = calloc(locations, sizeof(*a->whose));
	a->states = calloc((size_t)profile_paths(p)->count + 1, sizeof(*a->states));
	a->tool_threads = roles ? threads_of(p, roles) : NULL;
	a->tool_cpu_ns = calloc(processes, sizeof(*a->tool_cpu_ns));
	a->tool_wall_ns = calloc(processes, sizeof(*a->tool_wall_ns));
	if (a->entries && a->whose && a->states && a->tool_threads && a->tool_cpu_ns &&
	    a->tool_wall_ns)
		return true;
	error_set(err, ENOMEM, "could not look for compilers");
	return false;
}

static void add_row(struct compiling *c, const char *name, uint32_t processes, uint64_t cpu_ns,
                    uint64_t wall_ns)
{
	size_t i = 0;

	if (!cpu_ns && !wall_ns)
		return;
	while (i < c->count &&
	       (!processes != !c->rows[i].processes || compare_names(c->rows[i].name, name) != 0))
		i++;
	if (i == c->count)
		c->rows[c->count++] = (struct compiling_row){ .name = name };
	c->rows[i].processes += processes;
	c->rows[i].cpu_ns += cpu_ns;
	c->rows[i].wall_ns += wall_ns;
}

static int compare_rows(const void *a, const void *b)
{
	const struct compiling_row *left = a, *right = b;

	if (left->wall_ns != right->wall_ns)
		return left->wall_ns < right->wall_ns ? 1 : -1;
	if (left->cpu_ns != right->cpu_ns)
		return left->cpu_ns < right->cpu_ns ? 1 : -1;
	return compare_names(left->name, right->name);
}

static bool fill_rows(struct asking *a)
{
	const struct threads *t = profile_threads(a->profile);
	struct compiling *c = a->answer;

	c->rows = calloc(COMPILERS + 1 + t->process_count, sizeof(*c->rows));
	if (!c->rows)
		return false;
	for (size_t i = 0; i <= COMPILERS; i++)
		add_row(c, i < COMPILERS ? compilers[i].name : "other compilers", 0, a->cpu_ns[i],
		        a->wall_ns[i]);
	for (size_t i = 0; i < t->process_count; i++) {
		const char *command = profile_string(a->profile, t->processes[i].command);
		add_row(c, command ? command : "?", t->processes[i].merged, a->tool_cpu_ns[i],
		        a->tool_wall_ns[i]);
	}
	qsort(c->rows, c->count, sizeof(*c->rows), compare_rows);
	return true;
}

struct compiling *query_compiling(const struct profile *p, const struct query *query,
                                  struct error *err)
{
	cleanup(compiling) struct compiling *answer = calloc(1, sizeof(*answer));
	cleanup(asking) struct asking a = { .profile = p, .answer = answer };

	if (!answer) {
		error_set(err, ENOMEM, "could not look for compilers");
		return NULL;
	}
	if (!prepare(&a, query, err))
		return NULL;
	take_locations(&a);
	for (uint32_t id = 1; id <= profile_paths(p)->count; id++) {
		take_state(&a, id);
		take_cells(&a, id);
	}
	if (fill_rows(&a))
		return steal(answer);
	error_set(err, ENOMEM, "could not look for compilers");
	return NULL;
}
