// SPDX-License-Identifier: MIT
#include "merge/record/surroundings.h"

#include "base/cleanup.h"
#include "base/module.h"
#include "base/origin.h"
#include "merge/profile/profile.h"
#include "merge/record/versions.h"
#include "merge/table/environment.h"

#include <ctype.h>
#include <dirent.h>
#include <inttypes.h>
#include <limits.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>

// Variables of the environment that change how fast programs are, or what of the machine they use.
// One that ends in '*' stands for all that begin so; none of these hold passwords and their like.
static const char *const variables[] = {
	"OMP_*",
	"GOMP_*",
	"KMP_*",
	"MKL_*",
	"OPENBLAS_*",
	"GOTO_NUM_THREADS",
	"BLIS_*",
	"NUMEXPR_*",
	"NUMBA_*",
	"VECLIB_MAXIMUM_THREADS",
	"RAYON_NUM_THREADS",
	"TBB_*",
	"ONEDNN_*",
	"DNNL_*",
	"CUDA_VISIBLE_DEVICES",
	"CUDA_DEVICE_ORDER",
	"CUDA_LAUNCH_BLOCKING",
	"CUDA_MODULE_LOADING",
	"CUDA_DEVICE_MAX_CONNECTIONS",
	"CUDA_CACHE_*",
	"CUBLAS_WORKSPACE_CONFIG",
	"CUDNN_*",
	"NVIDIA_TF32_OVERRIDE",
	"NCCL_*",
	"HIP_VISIBLE_DEVICES",
	"ROCR_VISIBLE_DEVICES",
	"PYTORCH_ALLOC_CONF",
	"PYTORCH_CUDA_ALLOC_CONF",
	"PYTORCH_HIP_ALLOC_CONF",
	"PYTORCH_NO_CUDA_MEMORY_CACHING",
	"PYTORCH_JIT",
	"PYTORCH_TUNABLEOP_*",
	"TORCH_ALLOW_TF32_CUBLAS_OVERRIDE",
	"TORCH_COMPILE_*",
	"TORCH_CUDNN_*",
	"TORCH_LOGS",
	"TORCH_NCCL_*",
	"TORCHINDUCTOR_*",
	"TORCHDYNAMO_*",
	"TRITON_*",
	"TF_CUDNN_*",
	"TF_ENABLE_ONEDNN_OPTS",
	"TF_FORCE_GPU_ALLOW_GROWTH",
	"TF_NUM_INTEROP_THREADS",
	"TF_NUM_INTRAOP_THREADS",
	"TF_XLA_FLAGS",
	"XLA_*",
	"JAX_DISABLE_JIT",
	"JAX_ENABLE_X64",
	"JAX_PLATFORMS",
	"PYTHONMALLOC",
	"PYTHONOPTIMIZE",
	"PYTHONDEVMODE",
	"PYTHONDONTWRITEBYTECODE",
	"PYTHONTRACEMALLOC",
	"PYTHONPROFILEIMPORTTIME",
	"PYTHONUNBUFFERED",
	"PYTHON_GIL",
	"PYTHON_JIT",
	"GLIBC_TUNABLES",
	"MALLOC_*",
	"LD_BIND_NOW",
	"GOMAXPROCS",
	"GOGC",
	"UCX_*",
	"OMPI_MCA_btl",
	"OMPI_MCA_pml",
	"GLOO_*",
};

static void put(FILE *out, const char *kind, const char *name, const char *value, const char *path)
{
	environment_print(out, &(struct environment_row){ kind, name, value, path });
}

__attribute__((format(printf, 4, 5))) static void say(FILE *out, const char *kind, const char *name,
                                                      const char *format, ...)
{
	char value[512];
	va_list args;

	va_start(args, format);
	vsnprintf(value, sizeof(value), format, args);
	va_end(args);
	put(out, kind, name, value, NULL);
}

// The first line of PATH, less its end and blanks around it. False if there is none.
static bool read_line(const char *path, char *line, size_t size)
{
	FILE *file = fopen(path, "re");
	bool ok = file && fgets(line, (int)size, file);

	if (file)
		fclose(file);
	if (!ok)
		return false;
	for (size_t length = strlen(line); length && isspace((unsigned char)line[length - 1]);)
		line[--length] = '\0';
	return *line != '\0';
}

// What follows KEY and a colon, or an equals sign, in the first such line of FILE, from its start.
static bool find_value(FILE *file, const char *key, char *value, size_t size)
{
	char line[1024];
	size_t length = strlen(key);

	rewind(file);
	while (fgets(line, sizeof(line), file)) {
		const char *at = line + length;
		if (strncmp(line, key, length) != 0)
			continue;
		at += strspn(at, " \t");
		if (*at != ':' && *at != '=')
			continue;
		at += 1 + strspn(at + 1, " \t\"");
		snprintf(value, size, "%.*s", (int)strcspn(at, "\"\n"), at);
		return true;
	}
	return false;
}

// "0-3,8": the CPUs that this process, and so the command, may use.
static void print_affinity(char *text, size_t size)
{
	cpu_set_t set;
	size_t used = 0;

	text[0] = '\0';
	if (sched_getaffinity(0, sizeof(set), &set) < 0)
		return;
	for (int cpu = 0; cpu < CPU_SETSIZE && used < size; cpu++) {
		int last = cpu;
		if (!CPU_ISSET(cpu, &set))
			continue;
		while (last + 1 < CPU_SETSIZE && CPU_ISSET(last + 1, &set))
			last++;
		used += (size_t)snprintf(text + used, size - used, "%s%d", used ? "," : "", cpu);
		if (last > cpu && used < size)
			used += (size_t)snprintf(text + used, size - used, "-%d", last);
		cpu = last;
	}
}

// How many different values the lines of KEY have.
static unsigned int count_values(FILE *file, const char *key)
{
	char line[256];
	uint64_t seen[4] = { 0 };
	unsigned int count = 0, value;

	rewind(file);
	while (fgets(line, sizeof(line), file)) {
		const char *colon = strncmp(line, key, strlen(key)) == 0 ? strchr(line, ':') : NULL;
		if (!colon || sscanf(colon + 1, "%u", &value) != 1 || value >= 256)
			continue;
		count += !(seen[value / 64] >> value % 64 & 1);
		seen[value / 64] |= UINT64_C(1) << value % 64;
	}
	return count;
}

// The widest vectors that FLAGS, of /proc/cpuinfo, tell of.
static const char *widest(const char *flags)
{
	static const char *const names[][2] = { { " amx_tile ", "AMX" }, { " avx512f ", "AVX-512" },
		                                { " avx2 ", "AVX2" },    { " avx ", "AVX" },
		                                { " sve2 ", "SVE2" },    { " sve ", "SVE" },
		                                { " asimd ", "NEON" },   { " sse4_2 ", "SSE4.2" } };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strstr(flags, names[i][0]))
			return names[i][1];
	return NULL;
}

static void put_flags(FILE *out, FILE *info)
{
	static const char *const keys[] = { "flags", "Features" };
	char *line = NULL;
	size_t size = 0;
	const char *name = NULL;

	rewind(info);
	while (!name && getline(&line, &size, info) > 0)
		for (size_t i = 0; i < 2 && !name; i++)
			if (strncmp(line, keys[i], strlen(keys[i])) == 0) {
				line[strcspn(line, "\n")] = ' ';
				name = widest(line);
			}
	if (name)
		put(out, "cpu", "vectors", name, NULL);
	free(line);
}

// What does not depend on the run, read ahead. NULL: not yet. For one thread.
static struct {
	char *gpus, *cpuinfo, *system;
} prepared;

// Whoever reads it has the kernel write a kilobyte for each CPU, and ask each how fast it is: once
// is enough for all that is looked for. NULL if it cannot be read.
static char *read_cpuinfo(void)
{
	cleanup_fclose FILE *file = fopen("/proc/cpuinfo", "re");
	cleanup_free char *text = NULL;
	size_t size = 0;

	return file && getdelim(&text, &size, '\0', file) > 0 ? steal(text) : NULL;
}

static void put_cpu(FILE *out, const struct run *run)
{
	cleanup_free char *copy = prepared.cpuinfo ? steal(prepared.cpuinfo) : read_cpuinfo();
	FILE *info = copy && *copy ? fmemopen(copy, strlen(copy), "r") : NULL;
	char text[256];

	if (info && (find_value(info, "model name", text, sizeof(text)) ||
	             find_value(info, "Model", text, sizeof(text)) ||
	             find_value(info, "CPU part", text, sizeof(text))))
		put(out, "cpu", "model", text, NULL);
	if (run->machine_cpus)
		say(out, "cpu", "CPUs", "%u", run->machine_cpus);
	if (info && find_value(info, "cpu cores", text, sizeof(text)))
		say(out, "cpu", "cores", "%s on each of %u socket%s", text,
		    count_values(info, "physical id"),
		    count_values(info, "physical id") == 1 ? "" : "s");
	if (info)
		put_flags(out, info);
	print_affinity(text, sizeof(text));
	if (*text)
		put(out, "cpu", "affinity", text, NULL);
	if (run->quota_millicpus)
		say(out, "cpu", "quota", "%.3g CPUs", run->quota_millicpus / 1e3);
	if (read_line("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", text, sizeof(text)))
		put(out, "cpu", "governor", text, NULL);
	if (read_line("/sys/devices/system/node/online", text, sizeof(text)))
		put(out, "cpu", "NUMA nodes", text, NULL);
	if (info)
		fclose(info);
}

static void put_memory(FILE *out)
{
	FILE *info = fopen("/proc/meminfo", "re");
	char text[256];

	if (info && find_value(info, "MemTotal", text, sizeof(text)))
		say(out, "system", "memory", "%.1f GB", strtod(text, NULL) * 1024 / 1e9);
	if (info && find_value(info, "SwapTotal", text, sizeof(text)))
		say(out, "system", "swap", "%.1f GB", strtod(text, NULL) * 1024 / 1e9);
	if (info)
		fclose(info);
	// "always [madvise] never"
	if (read_line("/sys/kernel/mm/transparent_hugepage/enabled", text, sizeof(text))) {
		const char *from = strchr(text, '['), *to = from ? strchr(from, ']') : NULL;
		if (to)
			say(out, "system", "transparent huge pages", "%.*s", (int)(to - from - 1),
			    from + 1);
	}
}

static void put_system(FILE *out)
{
	FILE *release = fopen("/etc/os-release", "re");
	struct utsname name;
	char text[256];

	if (release && find_value(release, "PRETTY_NAME", text, sizeof(text)))
		put(out, "system", "distribution", text, NULL);
	if (release)
		fclose(release);
	if (uname(&name) == 0)
		say(out, "system", "kernel", "%s %s %s", name.sysname, name.release, name.machine);
	put_memory(out);
}

// "NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.104.05  Sat Aug 19 …": the first number with
// a point.
static void put_driver(FILE *out)
{
	char line[512], *rest = line;

	if (!read_line("/proc/driver/nvidia/version", line, sizeof(line)))
		return;
	for (char *word; (word = strsep(&rest, " \t")) != NULL;)
		if (isdigit((unsigned char)*word) && strchr(word, '.') &&
		    strspn(word, "0123456789.") == strlen(word)) {
			put(out, "gpu", "NVIDIA driver", word, NULL);
			return;
		}
}

static void put_gpus(FILE *out)
{
	static const char base[] = "/proc/driver/nvidia/gpus";
	DIR *folder = opendir(base);
	char path[PATH_MAX], model[128];

	put_driver(out);
	for (struct dirent *entry; folder && (entry = readdir(folder));) {
		if (entry->d_name[0] == '.')
			continue;
		snprintf(path, sizeof(path), "%s/%s/information", base, entry->d_name);
		FILE *info = fopen(path, "re");
		if (info && find_value(info, "Model", model, sizeof(model)))
			put(out, "gpu", entry->d_name, model, NULL);
		if (info)
			fclose(info);
	}
	if (folder)
		closedir(folder);
	if (read_line("/sys/module/amdgpu/version", model, sizeof(model)))
		put(out, "gpu", "AMD driver", model, NULL);
}

static bool is_listed(const char *variable, size_t length)
{
	for (size_t i = 0; i < sizeof(variables) / sizeof(variables[0]); i++) {
		size_t name = strlen(variables[i]);
		bool all = variables[i][name - 1] == '*';
		if (all ? length >= name && strncmp(variable, variables[i], name - 1) == 0
		        : length == name && strncmp(variable, variables[i], name) == 0)
			return true;
	}
	return false;
}

static void put_variables(FILE *out)
{
	for (char **at = environ; at && *at; at++) {
		const char *equals = strchr(*at, '=');
		char name[128];
		if (!equals || !is_listed(*at, (size_t)(equals - *at)))
			continue;
		snprintf(name, sizeof(name), "%.*s", (int)(equals - *at), *at);
		say(out, "variable", name, "%s", equals + 1);
	}
}

// The file that a shell would run as NAME. False if there is none.
static bool find_program(const char *name, char found[PATH_MAX])
{
	const char *path = getenv("PATH");

	if (strchr(name, '/')) {
		snprintf(found, PATH_MAX, "%s", name);
		return access(found, X_OK) == 0;
	}
	for (const char *at = path; at; at = strchr(at, ':') ? strchr(at, ':') + 1 : NULL) {
		snprintf(found, PATH_MAX, "%.*s/%s", (int)strcspn(at, ":"), at, name);
		if (access(found, X_OK) == 0)
			return true;
	}
	return false;
}

// What a script's first line says runs it: "#!/usr/bin/env python3". False if it has no such line.
static bool find_interpreter(const char *script, char found[PATH_MAX])
{
	char line[512];

	if (!read_line(script, line, sizeof(line)) || strncmp(line, "#!", 2) != 0)
		return false;
	char *rest = line + 2 + strspn(line + 2, " ");
	char *program = strsep(&rest, " \t");
	const char *name = strrchr(program, '/');
	if (name && strcmp(name, "/env") == 0 && rest)
		program = strsep(&rest, " \t");
	return find_program(program, found);
}

// sys.executable of the command: where Python looks for packages depends on it, as in a virtual
// environment, whose python is a link to another file.
static void put_executable(FILE *out, char *const *argv, const char *directory)
{
	char found[PATH_MAX], interpreter[PATH_MAX], real[PATH_MAX];
	const char *program = found;

	if (!argv[0] || !find_program(argv[0], found))
		return;
	if (find_interpreter(found, interpreter))
		program = interpreter;
	if (!realpath(program, real) || !origin_is_python(real))
		return;
	char whole[2 * PATH_MAX];
	bool relative = program[0] != '/' && directory;
	snprintf(whole, sizeof(whole), "%s%s%s", relative ? directory : "", relative ? "/" : "",
	         program);
	put(out, "python", "executable", whole, real);
}

static char *rows_of(void (*put_rows)(FILE *out))
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		return NULL;
	put_rows(out);
	if (fclose(out) == 0)
		return text;
	free(text);
	return NULL;
}

static void put_prepared(FILE *out, char **rows, void (*put_rows)(FILE *out))
{
	cleanup_free char *text = steal(*rows);

	if (text)
		fputs(text, out);
	else
		put_rows(out);
}

void surroundings_prepare(void)
{
	if (!prepared.gpus)
		prepared.gpus = rows_of(put_gpus);
	if (!prepared.cpuinfo)
		prepared.cpuinfo = read_cpuinfo();
	if (!prepared.system)
		prepared.system = rows_of(put_system);
}

char *surroundings_text(char *const *argv, const struct modules *modules, const struct run *run)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		return NULL;
	put_executable(out, argv, run->directory);
	if (modules)
		versions_print(out, modules);
	put_prepared(out, &prepared.gpus, put_gpus);
	put_cpu(out, run);
	put_prepared(out, &prepared.system, put_system);
	put_variables(out);
	if (fclose(out) == 0)
		return text;
	free(text);
	return NULL;
}
