// SPDX-License-Identifier: MIT
#include "tests/gpu/fake_pc.h"

#include "base/hash.h"
#include "tests/gpu/fake_cupti.h"
#include "tests/gpu/fake_facts.h"
#include "tests/gpu/fake_settings.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CONTEXTS  16
#define PCS_MAX   256
#define PREFIX    "smsp__pcsamp_warps_issue_stalled_"
#define UNIVERSAL 2 // reasons before those that come in pairs

static const char *const reasons[] = {
	"barrier",
	"branch_resolving",
	"dispatch_stall",
	"drain",
	"gmma",
	"imc_miss",
	"lg_throttle",
	"long_scoreboard",
	"membar",
	"mio_throttle",
	"math_pipe_throttle",
	"misc",
	"not_selected",
	"no_instructions",
	"selected",
	"short_scoreboard",
	"sleeping",
	"tex_throttle",
	"wait",
};
#define PAIRS        (sizeof(reasons) / sizeof(reasons[0]))
#define REASON_COUNT (UNIVERSAL + 2 * PAIRS)

// What a launch adds, and what has been added.
static struct script {
	char *function;
	uint64_t offset, crc;
	uint32_t samples[PAIRS];
} scripts[PCS_MAX];
static size_t script_count;

static struct context {
	void *handle; // NULL: not sampled
	struct cupti_pc_data *held;
	bool wanted[REASON_COUNT];
	bool full;
	uint32_t gets;
	uint32_t pending[PCS_MAX][PAIRS]; // by script
	uint64_t samples;                 // not told in a sum yet
} contexts[CONTEXTS];

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static size_t reason_named(const char *name)
{
	for (size_t i = 0; i < PAIRS; i++)
		if (!strcmp(reasons[i], name))
			return i;
	fake_violation("FAKE_PC: there is no reason \"%s\"", name);
	return 0;
}

static void read_script(char *text)
{
	char *plus = strchr(text, '+'), *colon = plus ? strchr(plus, ':') : NULL;
	struct script *s = &scripts[script_count];

	if (!colon || script_count == PCS_MAX) {
		fake_violation("FAKE_PC: \"%s\"", text);
		return;
	}
	*plus = *colon = '\0';
	s->function = strdup(text);
	s->offset = strtoull(plus + 1, NULL, 0);
	char *rest = colon + 1;
	for (char *name; (name = strsep(&rest, ","));) {
		char *value = name;
		strsep(&value, "=");
		s->samples[reason_named(name)] = value ? (uint32_t)atoi(value) : 1;
	}
	script_count++;
}

static void read_scripts(void)
{
	char *copy = strdup(getenv("FAKE_PC") ? getenv("FAKE_PC") : ""), *rest = copy;

	for (char *text; (text = strsep(&rest, ";"));)
		if (*text)
			read_script(text);
	free(copy);
}

// Locked from here on; NULL if it is not sampled, which FUNCTION may mind.
static struct context *find(const char *function, const void *handle)
{
	for (int i = 0; i < CONTEXTS; i++)
		if (contexts[i].handle == handle)
			return &contexts[i];
	if (function)
		fake_violation("%s: PC sampling is not enabled in %p", function, handle);
	return NULL;
}

static int check(const char *function, size_t size, size_t wanted)
{
	pthread_once(&once, read_scripts);
	if (size != wanted) {
		fake_violation("%s: size %zu, not %zu", function, size, wanted);
		return CUPTI_INVALID_PARAMETER;
	}
	return (int)fake_faults()->result;
}

static uint64_t crc_of(const void *cubin, size_t bytes)
{
	return hash_bytes(cubin, bytes) | 1;
}

void fake_pc_launch(void *handle, const char *name)
{
	pthread_once(&once, read_scripts);
	pthread_mutex_lock(&lock);
	struct context *c = find(NULL, handle);
	for (size_t i = 0; c && c->held && !c->full && i < script_count; i++) {
		if (strcmp(scripts[i].function, name) != 0)
			continue;
		for (size_t k = 0; k < PAIRS; k++) {
			c->pending[i][k] += scripts[i].samples[k];
			c->samples += scripts[i].samples[k];
		}
	}
	pthread_mutex_unlock(&lock);
}

void fake_pc_function(const char *name, const void *cubin, size_t bytes)
{
	pthread_once(&once, read_scripts);
	pthread_mutex_lock(&lock);
	for (size_t i = 0; i < script_count; i++)
		if (!strcmp(scripts[i].function, name))
			scripts[i].crc = crc_of(cubin, bytes);
	pthread_mutex_unlock(&lock);
}

static size_t pc_bytes(void)
{
	return fake_settings()->cuda >= 1204 ? sizeof(struct cupti_pc) : CUPTI_PC_OLDER_BYTES;
}

static bool is_pending(const struct context *c, size_t script)
{
	for (size_t k = 0; k < PAIRS; k++)
		if (c->pending[script][k])
			return true;
	return false;
}

// The whole count and, as GPUs do, a part of it again as "not issued".
static void put_stalls(struct context *c, size_t script, struct cupti_pc *pc)
{
	size_t room = pc->stall_count, used = 0;

	for (size_t k = 0; k < REASON_COUNT - UNIVERSAL; k++) {
		uint32_t samples = c->pending[script][k / 2];
		uint32_t index = (uint32_t)(k + UNIVERSAL);
		samples = k % 2 ? samples / 2 : samples;
		if (!samples || !c->wanted[index])
			continue;
		if (used == room) {
			fake_violation("%s: room for %zu reasons only", __func__, room);
			break;
		}
		pc->stalls[used++] = (struct cupti_stall){ index, samples };
	}
	pc->stall_count = used;
	memset(c->pending[script], 0, sizeof(c->pending[script]));
}

static void fill(struct context *c, struct cupti_pc_data *data)
{
	size_t left = 0;

	data->samples = c->samples;
	data->dropped = data->other_samples = 0;
	c->samples = 0;
	data->count = 0;
	for (size_t i = 0; i < script_count; i++) {
		if (!is_pending(c, i))
			continue;
		if (data->count == data->room) {
			left++;
			continue;
		}
		struct cupti_pc *pc =
			(struct cupti_pc *)((char *)data->pcs + data->count * pc_bytes());
		if (pc->size != pc_bytes())
			fake_violation("%s: a PC of %zu bytes, not %zu", __func__, pc->size,
			               pc_bytes());
		pc->cubin_crc = scripts[i].crc;
		pc->offset = scripts[i].offset;
		pc->function = scripts[i].function;
		put_stalls(c, i, pc);
		data->count++;
	}
	data->left = left;
}

void fake_pc_module(void *handle, const void *cubin, size_t bytes)
{
	(void)cubin, (void)bytes;
	pthread_mutex_lock(&lock);
	struct context *c = find(NULL, handle);
	if (c && c->held && c->samples)
		fill(c, c->held);
	pthread_mutex_unlock(&lock);
}

void fake_pc_context_ends(void *handle)
{
	pthread_mutex_lock(&lock);
	struct context *c = find(NULL, handle);
	if (c) {
		fake_violation("a context is destroyed while it is sampled");
		*c = (struct context){ 0 };
	}
	pthread_mutex_unlock(&lock);
}

void fake_pc_forget(void)
{
	pthread_mutex_lock(&lock);
	memset(contexts, 0, sizeof(contexts));
	pthread_mutex_unlock(&lock);
}

int cuptiPCSamplingEnable(struct cupti_pc_context *which)
{
	int result = check(__func__, which->size, sizeof(*which));

	if (result)
		return result;
	if (fake_faults()->pc_refused)
		return (int)fake_faults()->pc_refused;
	pthread_mutex_lock(&lock);
	struct context *c = find(NULL, which->context);
	if (c)
		fake_violation("%s: twice", __func__);
	for (int i = 0; !c && i < CONTEXTS; i++)
		if (!contexts[i].handle)
			c = &contexts[i];
	*c = (struct context){ .handle = which->context, .gets = c->gets };
	pthread_mutex_unlock(&lock);
	return 0;
}

int cuptiPCSamplingDisable(struct cupti_pc_context *which)
{
	int result = check(__func__, which->size, sizeof(*which));

	if (result)
		return result;
	pthread_mutex_lock(&lock);
	struct context *c = find(__func__, which->context);
	if (c) {
		if (c->held && c->samples)
			fill(c, c->held);
		*c = (struct context){ .gets = c->gets };
	}
	pthread_mutex_unlock(&lock);
	return c ? 0 : CUPTI_INVALID_OPERATION;
}

static int set(struct context *c, struct cupti_pc_setting *s)
{
	switch (s->attribute) {
	case CUPTI_PC_MODE:
		if (s->number != CUPTI_PC_CONTINUOUS)
			fake_violation("mode %u makes kernels run one after the other", s->number);
		return 0;
	case CUPTI_PC_STALL_REASONS:
		memset(c->wanted, 0, sizeof(c->wanted));
		for (size_t i = 0; i < s->stalls.count; i++)
			if (s->stalls.indices[i] < REASON_COUNT)
				c->wanted[s->stalls.indices[i]] = true;
		return 0;
	case CUPTI_PC_DATA_BUFFER:
		c->held = s->buffer;
		if (c->held->size != sizeof(*c->held) || !c->held->room || !c->held->pcs)
			fake_violation("a buffer of %zu bytes for data", c->held->size);
		return 0;
	default:
		fake_violation("attribute %u of PC sampling", s->attribute);
		return CUPTI_INVALID_PARAMETER;
	}
}

int cuptiPCSamplingSetConfigurationAttribute(struct cupti_pc_settings *wanted)
{
	int result = check(__func__, wanted->size, sizeof(*wanted));

	if (result)
		return result;
	pthread_mutex_lock(&lock);
	struct context *c = find(__func__, wanted->context);
	for (size_t i = 0; c && i < REASON_COUNT; i++)
		c->wanted[i] = true;
	for (size_t i = 0; c && i < wanted->count && !result; i++)
		result = set(c, &wanted->settings[i]);
	pthread_mutex_unlock(&lock);
	return c ? result : CUPTI_INVALID_OPERATION;
}

static bool is_full(struct context *c)
{
	if (fake_faults()->pc_full && ++c->gets == fake_faults()->pc_full)
		c->full = true;
	if (!c->full)
		return false;
	memset(c->pending, 0, sizeof(c->pending));
	c->samples = 0;
	return true;
}

int cuptiPCSamplingGetData(struct cupti_pc_get *get)
{
	struct cupti_pc_data *data = get->data;
	int result = check(__func__, get->size, sizeof(*get));

	if (!result)
		result = check(__func__, data->size, sizeof(*data));
	if (result)
		return result;
	pthread_mutex_lock(&lock);
	struct context *c = find(__func__, get->context);
	if (c && !c->held)
		fake_violation("%s: PC sampling is not configured", __func__);
	if (!c || !c->held) {
		result = CUPTI_INVALID_OPERATION;
	} else if (is_full(c)) {
		data->hardware_full = 1;
		result = CUPTI_OUT_OF_MEMORY;
	} else {
		data->hardware_full = 0;
		fill(c, data);
	}
	pthread_mutex_unlock(&lock);
	return result;
}

int cuptiPCSamplingGetNumStallReasons(struct cupti_pc_stall_count *ask)
{
	int result = check(__func__, ask->size, sizeof(*ask));

	if (result)
		return result;
	pthread_mutex_lock(&lock);
	bool found = find(__func__, ask->context);
	pthread_mutex_unlock(&lock);
	*ask->count = found ? REASON_COUNT : 0;
	return 0;
}

int cuptiPCSamplingGetStallReasons(struct cupti_pc_stall_names *get)
{
	static const char *const first[UNIVERSAL] = { "smsp__pcsamp_sample_buffer_full",
		                                      "smsp__pcsamp_samples_data_dropped" };
	int result = check(__func__, get->size, sizeof(*get));

	if (result)
		return result;
	for (size_t i = 0; i < get->count && i < REASON_COUNT; i++) {
		get->indices[i] = (uint32_t)i;
		if (i < UNIVERSAL)
			snprintf(get->names[i], CUPTI_STALL_NAME, "%s", first[i]);
		else
			snprintf(get->names[i], CUPTI_STALL_NAME, PREFIX "%s%s",
			         reasons[(i - UNIVERSAL) / 2], i % 2 ? "_not_issued" : "");
	}
	return 0;
}

int cuptiGetCubinCrc(struct cupti_cubin_crc *crc)
{
	if (crc->size != sizeof(*crc) || !crc->cubin || !crc->cubin_size)
		return CUPTI_INVALID_PARAMETER;
	crc->crc = crc_of(crc->cubin, crc->cubin_size);
	return 0;
}
