// SPDX-License-Identifier: MIT
#include "sampler/proc/proc_tree.h"

#include "base/array.h"
#include "sampler/proc/proc_stat.h"

#include <stdlib.h>

struct listing {
	struct proc_tree *tree;
	uint32_t pid, parent_pid;
	bool no_memory;
};

static bool is_blocked(uint32_t pid, uint32_t tid)
{
	char state = proc_stat_state(pid, tid);

	return state && state != 'R';
}

static void add_thread(void *context, uint32_t tid)
{
	struct listing *l = context;
	struct proc_tree *t = l->tree;

	if (tid == l->pid)
		return; // it is there already
	if (array_reserve(&t->threads, &t->capacity, t->count + 1))
		t->threads[t->count++] = (struct proc_tree_thread){ l->pid, tid, l->parent_pid,
			                                            is_blocked(l->pid, tid) };
	else
		l->no_memory = true;
}

static void add_process(struct listing *l, uint32_t pid, uint32_t parent_pid)
{
	struct proc_tree *t = l->tree;
	struct proc_stat stat;

	if (proc_tree_has(t, pid) || !proc_stat_read(pid, &stat) || stat.state == 'Z')
		return;
	l->pid = pid;
	l->parent_pid = parent_pid;
	if (!array_reserve(&t->threads, &t->capacity, t->count + 1)) {
		l->no_memory = true;
		return;
	}
	t->threads[t->count++] =
		(struct proc_tree_thread){ pid, pid, parent_pid, is_blocked(pid, pid) };
	proc_stat_threads(pid, add_thread, l);
}

static void add_child(void *context, uint32_t pid)
{
	struct listing *of = context, l = { .tree = of->tree };

	add_process(&l, pid, of->pid);
	of->no_memory |= l.no_memory;
}

// The list grows while it is walked: children of children come behind them.
bool proc_tree_list(struct proc_tree *tree, const pid_t *pids, size_t count)
{
	struct listing l = { .tree = tree };

	tree->count = 0;
	for (size_t i = 0; i < count; i++)
		add_process(&l, (uint32_t)pids[i], 0);
	for (size_t i = 0; i < tree->count; i++) {
		const struct proc_tree_thread thread = tree->threads[i];
		l.pid = thread.pid;
		proc_stat_children(thread.pid, thread.tid, add_child, &l);
	}
	return !l.no_memory;
}

void proc_tree_fini(struct proc_tree *tree)
{
	free(tree->threads);
	*tree = (struct proc_tree){ 0 };
}

bool proc_tree_has(const struct proc_tree *tree, uint32_t tid)
{
	for (size_t i = 0; i < tree->count; i++)
		if (tree->threads[i].tid == tid)
			return true;
	return false;
}
