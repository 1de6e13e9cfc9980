// SPDX-License-Identifier: MIT
#include "tests/unit/merge_fixture.h"

#include "base/array.h"
#include "base/error.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#define STRINGS_MAX 65536

void fixture_init(struct fixture *f, const struct profile_limits *limits)
{
	*f = (struct fixture){ .modules = modules_new(), .now_ns = 1000 * MS };
	f->profile = profile_new(f->modules, limits, NULL);
	cr_assert(f->profile != NULL);
	f->ops = ops_new();
	profile_set_ops(f->profile, f->ops);
	f->codes = codes_new();
	profile_set_codes(f->profile, f->codes);
	f->symbolizer.status =
		(struct debug_status){ .level = DEBUG_LINES, .source = "/app.debug" };
	add_process(f, 1, 100, "app");
	add_thread(f, 1, 1, 100, "main");
}

void fixture_fini(struct fixture *f)
{
	for (size_t i = 0; i < f->symbolizer.count; i++)
		for (uint32_t s = 0; s < f->symbolizer.code[i].count; s++) {
			free((char *)f->symbolizer.code[i].symbols[s].function);
			free((char *)f->symbolizer.code[i].symbols[s].file);
			free((char *)f->symbolizer.code[i].symbols[s].declared);
		}
	free(f->symbolizer.code);
	profile_free(f->profile);
	modules_free(f->modules);
	ops_free(f->ops);
	codes_free(f->codes);
}

void add_process(struct fixture *f, uint32_t process, uint32_t pid, const char *command)
{
	profile_add_process(f->profile, &(struct process_event){ .process = process,
	                                                         .pid = pid,
	                                                         .time_ns = f->now_ns,
	                                                         .command = command });
}

void add_thread(struct fixture *f, uint32_t thread, uint32_t process, uint32_t tid,
                const char *name)
{
	profile_add_thread(f->profile, &(struct thread_event){ .thread = thread,
	                                                       .process = process,
	                                                       .tid = tid,
	                                                       .time_ns = f->now_ns,
	                                                       .name = name });
}

static uint32_t module_called(struct fixture *f, const char *name)
{
	static const struct {
		const char *name, *path;
		enum module_kind kind;
	} known[] = {
		{ "app", "/usr/bin/app", MODULE_ELF },
		{ "app2", "/tmp/build.17/app", MODULE_ELF },
		{ "libc", "/lib/libc.so.6", MODULE_ELF },
		{ "bash", "/usr/bin/bash", MODULE_ELF },
		{ "libgomp", "/lib/libgomp.so.1", MODULE_ELF },
		{ "vdso", "[vdso]", MODULE_VDSO },
		{ "kernel", "[kernel]", MODULE_KERNEL },
		{ "jit", "[jit 100]", MODULE_JIT },
		{ "jvm", "/usr/lib/jvm/lib/server/libjvm.so", MODULE_ELF },
		{ "numpy", "/usr/lib/python3/dist-packages/numpy/core/_multiarray_umath.so",
		  MODULE_ELF },
		{ "ld", "/lib/ld-linux-x86-64.so.2", MODULE_ELF },
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		struct module wanted = { .kind = known[i].kind, .path = known[i].path, .fd = -1 };
		if (strcmp(known[i].name, name) == 0)
			return modules_add(f->modules, &wanted, NULL)->id;
	}
	cr_assert(false, "no module is called %s", name);
	return 0;
}

// "name file:line declared", of which the latter may be missing.
static struct symbol symbol_of(const char *text)
{
	char function[64] = "", file[64] = "", declared[64] = "";
	int line = 0;
	struct symbol symbol = { 0 };

	symbol.unoptimized = text[0] == '%';
	cr_assert(sscanf(text + symbol.unoptimized, "%63s %63[^:]:%d %63s", function, file, &line,
	                 declared) >= 1);
	for (char *at = function; (at = strchr(at, '$')); *at = ' ')
		;
	if (strcmp(function, "?") != 0)
		symbol.function = strdup(function);
	if (*file)
		symbol.file = strdup(file);
	if (*declared)
		symbol.declared = strdup(declared);
	symbol.line = line;
	return symbol;
}

static struct fake_code *new_code(struct fixture *f, const char *text)
{
	struct symbolizer *s = &f->symbolizer;

	cr_assert(array_reserve(&s->code, &s->capacity, s->count + 1));
	struct fake_code *code = &s->code[s->count++];
	*code = (struct fake_code){ .address = 0x1000 + 16 * s->count };
	snprintf(code->text, sizeof(code->text), "%s", text);
	char *module = strchr(code->text, '@');
	code->module = module_called(f, module ? module + 1 : "app");
	char copy[sizeof(code->text)];
	snprintf(copy, sizeof(copy), "%.*s",
	         module ? (int)(module - code->text) : (int)strlen(text), code->text);
	for (char *save, *part = strtok_r(copy, "|", &save); part && copy[0] != '?';
	     part = strtok_r(NULL, "|", &save)) {
		if (code->count)
			code->symbols[code->count - 1].inlined = true;
		code->symbols[code->count++] = symbol_of(part);
	}
	return code;
}

void add_span(struct fixture *f, uint32_t thread, uint64_t from_ms, uint64_t to_ms,
              enum thread_state state, enum thread_state next)
{
	const struct span_event span = { .thread = thread,
		                         .from_ns = from_ms * MS,
		                         .to_ns = to_ms * MS,
		                         .state = state,
		                         .next = next,
		                         .cause = METRIC_OFF_LOCK };

	profile_take(f->profile, &(struct sampled){ .kind = SAMPLED_SPAN, .span = &span });
}

uint32_t op_called(struct fixture *f, const char *name)
{
	const char *colon = strchr(name, ':');
	char domain[64] = "";
	struct op wanted = { .provider = OP_NVTX, .domain = domain, .category = "", .name = name };

	if (colon) {
		snprintf(domain, sizeof(domain), "%.*s", (int)(colon - name), name);
		wanted.name = colon + 1;
	}
	return ops_add(f->ops, &wanted)->id;
}

static struct frame op_frame(struct fixture *f, const char *text)
{
	char name[64];

	snprintf(name, sizeof(name), "%.*s", (int)strlen(text) - 2, text + 1);
	return (struct frame){ op_called(f, name), 0, FRAME_OP };
}

static struct frame python_frame(struct fixture *f, const char *text)
{
	char name[64], file[128];
	unsigned line;

	cr_assert(sscanf(text, "{%63s %127[^:]:%u}", name, file, &line) == 3);
	return frame_of_python(codes_add(f->codes, &(struct code){ file, name, 1 }), line);
}

static struct frame interpreter_frame(struct frame frame)
{
	frame.kind = frame.kind == FRAME_EXACT ? FRAME_INTERPRETER_EXACT : FRAME_INTERPRETER_RETURN;
	return frame;
}

static struct frame frame_of(struct fixture *f, const char *text, bool innermost)
{
	static const struct {
		const char *text;
		uint64_t mark;
	} marks[] = { { "[kernel]", MARK_KERNEL },   { "[cut]", MARK_TRUNCATED },
		      { "[unknown]", MARK_UNKNOWN }, { "[short]", MARK_SHORT },
		      { "[gil]", MARK_GIL },         { "[ours]", MARK_OURS },
		      { "[fault]", MARK_FAULT } };

	for (size_t i = 0; i < sizeof(marks) / sizeof(marks[0]); i++)
		if (strcmp(text, marks[i].text) == 0)
			return (struct frame){ marks[i].mark, 0, FRAME_MARK };
	if (text[0] == '<')
		return op_frame(f, text);
	// "{method$'sub'$of$'re.Pattern'$objects}@libc" is a C function by Python's name for it.
	if (text[0] == '{' && strncmp(text, "{method$", 8) != 0 &&
	    strncmp(text, "{slot$", 6) != 0 && strncmp(text, "{built-in$", 10) != 0)
		return python_frame(f, text);
	if (text[0] == '~')
		return interpreter_frame(frame_of(f, text + 1, innermost));
	if (text[0] == '!')
		return frame_of(f, text + 1, true);
	if (strcmp(text, "?") == 0)
		return (struct frame){ 0x7777, 0, FRAME_EXACT };
	struct fake_code *code = NULL;
	for (size_t i = 0; i < f->symbolizer.count && !code; i++)
		if (strcmp(f->symbolizer.code[i].text, text) == 0)
			code = &f->symbolizer.code[i];
	code = code ? code : new_code(f, text);
	return (struct frame){ code->address + !innermost, code->module,
		               innermost ? FRAME_EXACT : FRAME_RETURN };
}

uint32_t frames_of(struct fixture *f, const char *stack, struct frame *frames)
{
	uint32_t count = 0;

	while (*stack) {
		const char *end = strstr(stack, " > ");
		size_t length = end ? (size_t)(end - stack) : strlen(stack);
		char text[128];
		cr_assert(length < sizeof(text) && count < 64);
		snprintf(text, sizeof(text), "%.*s", (int)length, stack);
		// Innermost first.
		memmove(frames + 1, frames, count * sizeof(frames[0]));
		frames[0] = frame_of(f, text, end == NULL);
		count++;
		stack = end ? end + 3 : stack + length;
	}
	return count;
}

void add(struct fixture *f, uint32_t thread, enum metric metric, uint64_t ms, const char *stack)
{
	struct frame frames[64];
	uint32_t count = frames_of(f, stack, frames);

	profile_add_stack(f->profile,
	                  &(struct stack){ .thread = thread,
	                                   .metric = metric,
	                                   .time_ns = f->now_ns,
	                                   .duration_ns = metric_is_off_cpu(metric) ? ms * MS : 0,
	                                   .weight_ns = ms * MS,
	                                   .samples = 1,
	                                   .count = count,
	                                   .frames = frames });
}

void name_all(struct fixture *f)
{
	cr_assert(profile_symbolize(f->profile, &f->symbolizer, NULL) == 0);
}

int symbolizer_resolve(struct symbolizer *s, const struct module *module, const uint64_t *addresses,
                       size_t count, struct symbol_chain *chains, struct error *err)
{
	s->resolved++;
	if (s->fails)
		return error_set(err, 12, "could not resolve");
	for (size_t i = 0; i < count; i++) {
		if (i > 0 && addresses[i] <= addresses[i - 1])
			return error_set(err, 0, "addresses are not ascending and distinct");
		for (size_t at = 0; at < s->count; at++)
			if (s->code[at].address == addresses[i] && s->code[at].module == module->id)
				chains[i] = (struct symbol_chain){ s->code[at].count,
					                           s->code[at].symbols };
	}
	return 0;
}

/* "data" is at 0x9000 to 0x90ff of each module. */
int symbolizer_variables(struct symbolizer *s, const struct module *module,
                         const uint64_t *addresses, size_t count, struct variable *variables,
                         struct error *err)
{
	(void)module;
	if (s->fails)
		return error_set(err, 12, "could not resolve");
	for (size_t i = 0; i < count; i++)
		if (addresses[i] >> 8 == 0x90)
			variables[i] = (struct variable){ "data", "app.c", addresses[i] & 0xff };
	return 0;
}

bool symbolizer_keeps_maps(const struct symbolizer *s)
{
	(void)s;
	return false;
}

const char *symbolizer_sections(const struct symbolizer *s)
{
	(void)s;
	return NULL;
}

const struct debug_status *symbolizer_debug_status(struct symbolizer *s,
                                                   const struct module *module)
{
	(void)module;
	return &s->status;
}

int symbolizer_set_jitdump(struct symbolizer *s, pid_t pid, const char *path, int fd)
{
	size_t used = strlen(s->jitdumps);

	(void)fd;
	snprintf(s->jitdumps + used, sizeof(s->jitdumps) - used, "%d %s;", (int)pid, path);
	return 0;
}

const char *rows_text(const struct rows *rows)
{
	static char text[STRINGS_MAX];
	size_t used = 0;

	text[0] = '\0';
	for (size_t i = 0; i < rows->count && used < sizeof(text); i++)
		used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%s %lu/%lu",
		                         i ? ", " : "", rows->rows[i].name,
		                         (unsigned long)(rows->rows[i].self / MS),
		                         (unsigned long)(rows->rows[i].total / MS));
	return text;
}

const char *ask(const struct fixture *f, const struct query *query)
{
	struct error err = { 0 };
	cleanup(rows) struct rows *rows = query_run(f->profile, query, &err);

	cr_assert(rows != NULL, "%s", err.text);
	return rows_text(rows);
}

static size_t put_node(char *text, size_t size, const struct call_node *node)
{
	size_t used = (size_t)snprintf(text, size, node->op ? "<%s> %lu/%lu" : "%s %lu/%lu",
	                               node->name, (unsigned long)(node->self / MS),
	                               (unsigned long)(node->total / MS));

	for (const struct call_node *child = node->child; child; child = child->next) {
		used += (size_t)snprintf(text + used, size - used, "%s",
		                         child == node->child ? " (" : ", ");
		used += put_node(text + used, size - used, child);
	}
	if (node->child)
		used += (size_t)snprintf(text + used, size - used, ")");
	return used;
}

const char *tree_text(const struct call_tree *tree)
{
	static char text[STRINGS_MAX];

	put_node(text, sizeof(text), call_tree_root(tree));
	return text;
}
