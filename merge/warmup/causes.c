// SPDX-License-Identifier: MIT
#include "merge/warmup/causes.h"

#include "base/path.h"
#include "merge/profile/profile_parts.h"

#include <stdlib.h>
#include <string.h>

// What a frame has to be for its time to have a cause; NULL: anything.
struct sign {
	enum cause cause;
	const char *function; // begins so, or, with a $ at its end, is so
	const char *file;     // has this in it
	const char *module;   // its name begins so
};

static const struct sign signs[] = {
	{ CAUSE_IMPORTS, NULL, "<frozen importlib", NULL },
	{ CAUSE_IMPORTS, NULL, "<frozen zipimport", NULL },
	{ CAUSE_LINKING, NULL, NULL, "ld-linux" },
	{ CAUSE_LINKING, NULL, NULL, "ld-musl" },
	{ CAUSE_LINKING, "_dl_", NULL, NULL },
	{ CAUSE_LINKING, "load_elf_binary$", NULL, NULL },
	{ CAUSE_LINKING, "bprm_execve", NULL, NULL },
	{ CAUSE_LINKING, "do_execveat_common", NULL, NULL },
	{ CAUSE_RUNTIME, "Py_InitializeFromConfig$", NULL, NULL },
	{ CAUSE_RUNTIME, "Py_InitializeEx$", NULL, NULL },
	{ CAUSE_RUNTIME, "pyinit_", NULL, NULL },
	{ CAUSE_RUNTIME, "pymain_init$", NULL, NULL },
	{ CAUSE_RUNTIME, "JNI_CreateJavaVM", NULL, NULL },
	{ CAUSE_RUNTIME, "node::InitializeOncePerProcess", NULL, NULL },
	{ CAUSE_COMPILER, "_compile$", "/torch/_dynamo/convert_frame", NULL },
	{ CAUSE_COMPILER, "compile_fx", "/torch/_inductor/", NULL },
	{ CAUSE_COMPILER, "fx_codegen_and_compile", "/torch/_inductor/", NULL },
	{ CAUSE_COMPILER, "load_by_key_path$", "/torch/_inductor/", NULL },
	{ CAUSE_COMPILER, "compile$", "/triton/compiler/", NULL },
	{ CAUSE_COMPILER, NULL, "/numba/core/compiler", NULL },
	{ CAUSE_COMPILER, NULL, NULL, "libnvrtc" },
	{ CAUSE_COMPILER, NULL, NULL, "libnvJitLink" },
	{ CAUSE_COMPILER, NULL, NULL, "libnvidia-ptxjitcompiler" },
	{ CAUSE_JIT, "CompileBroker::", NULL, NULL },
	{ CAUSE_JIT, "v8::internal::Compiler::", NULL, NULL },
	{ CAUSE_JIT, "v8::internal::OptimizedCompilationJob::", NULL, NULL },
	{ CAUSE_JIT, "v8::internal::compiler::", NULL, NULL },
	{ CAUSE_JIT, "v8::internal::baseline::", NULL, NULL },
	{ CAUSE_GPU, "cuInit$", NULL, NULL },
	{ CAUSE_GPU, "cuCtxCreate", NULL, NULL },
	{ CAUSE_GPU, "cuDevicePrimaryCtxRetain", NULL, NULL },
	{ CAUSE_GPU, "cuModuleLoad", NULL, NULL },
	{ CAUSE_GPU, "cuLibraryLoad", NULL, NULL },
	{ CAUSE_GPU, "cublasCreate", NULL, NULL },
	{ CAUSE_GPU, "cublasLtCreate", NULL, NULL },
	{ CAUSE_GPU, "cudnnCreate", NULL, NULL },
	{ CAUSE_GPU, "cusolverDnCreate", NULL, NULL },
	{ CAUSE_GPU, "cufftPlan", NULL, NULL },
	{ CAUSE_FAULTS, "asm_exc_page_fault$", NULL, NULL },
	{ CAUSE_FAULTS, "exc_page_fault$", NULL, NULL },
	{ CAUSE_FAULTS, "handle_mm_fault$", NULL, NULL },
	{ CAUSE_FAULTS, "do_user_addr_fault$", NULL, NULL },
};

const char *cause_name(enum cause cause)
{
	static const char *const names[CAUSE_COUNT] = {
		[CAUSE_NONE] = "",
		[CAUSE_RUNTIME] = "start of the interpreter",
		[CAUSE_LINKING] = "dynamic linking",
		[CAUSE_IMPORTS] = "imports",
		[CAUSE_COMPILER] = "compilation",
		[CAUSE_JIT] = "JIT compilation",
		[CAUSE_GPU] = "setting up CUDA",
		[CAUSE_FAULTS] = "page faults",
		[CAUSE_FILES] = "waiting for files",
	};

	return (unsigned)cause < CAUSE_COUNT ? names[cause] : "";
}

static bool fits(const char *pattern, const char *text)
{
	size_t length = pattern ? strlen(pattern) : 0;

	if (!pattern)
		return true;
	if (!text)
		return false;
	if (pattern[length - 1] == '$')
		return strlen(text) == length - 1 && strncmp(text, pattern, length - 1) == 0;
	return strncmp(text, pattern, length) == 0;
}

static enum cause cause_of(const char *function, const char *file, const char *module)
{
	for (size_t i = 0; i < sizeof(signs) / sizeof(signs[0]); i++) {
		const struct sign *sign = &signs[i];
		if (fits(sign->function, function) && fits(sign->module, module) &&
		    (!sign->file || (file && strstr(file, sign->file))))
			return sign->cause;
	}
	return CAUSE_NONE;
}

static bool is_weak(enum cause cause)
{
	return cause == CAUSE_NONE || cause == CAUSE_FAULTS;
}

static enum cause cause_of_location(const struct profile *p, const struct location *location)
{
	const struct module *module = profile_module(p, location->module);
	const struct place *places = profile_places(p, location);
	const char *name = module ? path_base(module->path) : NULL;
	enum cause cause = CAUSE_NONE;

	if (location->kind == FRAME_OP) {
		const struct op *op = profile_op(p, location->address);
		return op && op->provider == OP_CUDA ? cause_of(op->name, NULL, NULL) : CAUSE_NONE;
	}
	if (location->kind == FRAME_MARK)
		return CAUSE_NONE;
	for (uint32_t i = location->place_count; i-- > 0 && is_weak(cause);) // outermost first
		cause = cause_of(profile_string(p, places[i].function),
		                 profile_string(p, places[i].file), name);
	return location->place_count ? cause : cause_of(NULL, NULL, name);
}

// Programs and threads that are there for nothing else.
static enum cause cause_of_thread(const struct profile *p, uint32_t slot)
{
	static const char *const compilers[] = { "cc1plus", "cc1",  "ptxas",
		                                 "cicc",    "nvcc", "collect2" };
	const struct thread_info *thread = profile_thread(p, slot);
	const struct process_info *process = profile_process(p, thread->process);
	const char *command = process ? profile_string(p, process->command) : NULL;
	const char *name = profile_string(p, thread->name);

	for (size_t i = 0; command && i < sizeof(compilers) / sizeof(compilers[0]); i++)
		if (strcmp(command, compilers[i]) == 0)
			return CAUSE_COMPILER;
	// As Java names them, cut to 15 characters.
	if (name && (strncmp(name, "C1 CompilerThre", 15) == 0 ||
	             strncmp(name, "C2 CompilerThre", 15) == 0))
		return CAUSE_JIT;
	return CAUSE_NONE;
}

uint8_t *causes_of_nodes(const struct profile *p)
{
	const struct locations *locations = profile_locations(p);
	uint8_t *of_locations = calloc((size_t)locations->count + 1, sizeof(*of_locations));
	uint8_t *causes = calloc((size_t)profile_paths(p)->count + 1, sizeof(*causes));

	for (uint32_t i = 0; of_locations && i < locations->count; i++)
		of_locations[i] = (uint8_t)cause_of_location(p, &locations->locations[i]);
	for (uint32_t id = 1; of_locations && causes && id <= profile_paths(p)->count; id++) {
		const struct path_node *node = profile_node(p, id);
		if (!node->parent) {
			causes[id - 1] = (uint8_t)cause_of_thread(p, node->location);
			continue;
		}
		causes[id - 1] = causes[node->parent - 1];
		if (is_weak(causes[id - 1]) && of_locations[node->location - 1])
			causes[id - 1] = of_locations[node->location - 1];
	}
	if (!of_locations) {
		free(causes);
		causes = NULL;
	}
	free(of_locations);
	return causes;
}

enum cause causes_of_time(enum cause cause, enum metric metric)
{
	if (!is_weak(cause))
		return cause;
	if (metric == METRIC_OFF_FAULT)
		return CAUSE_FAULTS;
	return metric == METRIC_OFF_FILE ? CAUSE_FILES : cause;
}
