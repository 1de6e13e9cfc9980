// SPDX-License-Identifier: MIT
#include "sampler/agent/agent_records.h"

#include <string.h>

// A tick that comes in a system call is taken on the way out of it, where the kernel leaves its
// return address in rcx (or rcx is two bytes on, if the call is to be made again).
static bool is_in_call(const struct record_sample *sample)
{
	uint64_t rip = sample->regs[DWARF_RIP];

	return sample->regs[DWARF_RCX] == rip || sample->regs[DWARF_RCX] == rip + 2;
}

static const struct python_chain *chain_of(const struct record_sample *sample, const uint8_t *stack)
{
	if (!(sample->head.flags & SAMPLE_PYTHON))
		return NULL;
	return (const struct python_chain *)(stack + record_align(sample->stack_bytes));
}

struct event_sample agent_sample(const struct record_sample *sample)
{
	const uint8_t *stack = (const uint8_t *)(sample + 1) + (size_t)sample->kernel_count * 8;
	struct event_sample event = {
		.kind = SAMPLE_ON_CPU,
		.weight_ns = sample->weight_ns,
		.cpu_time_ns = sample->cpu_time_ns,
		.in_kernel = sample->head.flags & SAMPLE_KERNEL || is_in_call(sample),
		.by_fault = !is_in_call(sample),
		.has_user = true,
		.has_rbp = true,
		.has_vectors = sample->head.flags & SAMPLE_VECTORS,
		.subnormal = sample->subnormal,
		.stack = stack,
		.stack_bytes = sample->stack_bytes,
		.syscall = -1,
		.by_agent = true,
		.python = chain_of(sample, stack),
	};

	memcpy(event.regs, sample->regs, sizeof(event.regs));
	return event;
}

static struct event_python python_of(const struct record_python *python)
{
	return (struct event_python){
		.samples = python->head.flags & PYTHON_SAMPLES,
		.counts = python->head.flags & PYTHON_COUNTS,
		.eval_start = python->eval_start,
		.eval_end = python->eval_end,
		.version = python->version,
		.runtime = python->runtime,
		.code_type = python->code_type,
	};
}

static struct event_python_code code_of(const struct record_python_code *code)
{
	const char *texts = (const char *)(code + 1);

	return (struct event_python_code){
		.code = code->code,
		.version = code->version,
		.first_line = code->first_line,
		.file_bytes = code->file_bytes,
		.name_bytes = code->name_bytes,
		.table_bytes = code->table_bytes,
		.file = texts,
		.name = texts + code->file_bytes,
		.table = (const uint8_t *)texts + code->file_bytes + code->name_bytes,
	};
}

static struct event_python_name name_of(const struct record_python_name *name)
{
	return (struct event_python_name){ name->address, (const char *)(name + 1) };
}

static struct event_python_calls calls_of(const struct record_python_calls *calls)
{
	const char *names = (const char *)(calls + 1);

	return (struct event_python_calls){
		.code = calls->code,
		.caller = calls->caller,
		.name = calls->name_bytes ? names : NULL,
		.caller_name = calls->caller_bytes ? names + calls->name_bytes : NULL,
		.has_caller = calls->has_caller != 0,
		.all = !calls->code && !calls->name_bytes,
		.calls = calls->calls,
		.recursive = calls->recursive,
	};
}

static struct event_python_await await_of(const struct record_python_await *await)
{
	return (struct event_python_await){
		.kind = await->kind,
		.place_count = await->place_count,
		.count = await->count,
		.ns = await->ns,
		.longest_ns = await->longest_ns,
		.places = await + 1,
		.place_bytes = await->head.size - sizeof(*await),
	};
}

static struct event_python_chain callers_of(const struct record_python_chain *record)
{
	const struct python_chain *chain = (const struct python_chain *)(record + 1);

	return (struct event_python_chain){
		.number = record->number,
		.module_count = record->module_count,
		.chain = chain,
		.modules = (const struct torch_call *)((const char *)chain + python_bytes(chain)),
	};
}

static struct event_torch_module module_of(const struct record_torch_module *module)
{
	return (struct event_torch_module){ module->number, (const char *)(module + 1) };
}

bool agent_python_take(const struct record *record, struct event *event)
{
	if (record->type == RECORD_PYTHON)
		event->python = python_of((const struct record_python *)record);
	else if (record->type == RECORD_PYTHON_CODE)
		event->python_code = code_of((const struct record_python_code *)record);
	else if (record->type == RECORD_PYTHON_NAME)
		event->python_name = name_of((const struct record_python_name *)record);
	else if (record->type == RECORD_PYTHON_CALLS)
		event->python_calls = calls_of((const struct record_python_calls *)record);
	else if (record->type == RECORD_PYTHON_AWAIT)
		event->python_await = await_of((const struct record_python_await *)record);
	else if (record->type == RECORD_PYTHON_CHAIN)
		event->python_chain = callers_of((const struct record_python_chain *)record);
	else if (record->type == RECORD_TORCH_MODULE)
		event->torch_module = module_of((const struct record_torch_module *)record);
	else
		return false;
	return true;
}
