// SPDX-License-Identifier: MIT
// Managed memory: what moved between host and devices, and why; and which code had it come back.
#include "cli/report/sections.h"

#include "base/path.h"
#include "cli/report/row_words.h"
#include "cli/report/view.h"
#include "cli/short_name.h"
#include "merge/query/query_gpu.h"

#include <stdio.h>

REPORT_KEEPS(gpu_managed_rows, struct gpu_managed_rows *);
REPORT_KEEPS(gpu_fault_rows, struct gpu_fault_rows *);

static const char *kind_name(enum gpu_managed_kind kind)
{
	static const char *const names[GPU_MANAGED_KINDS] = {
		"something that CUPTI does not name",
		[GPU_MANAGED_TO_DEVICE] = "host to device",
		[GPU_MANAGED_TO_HOST] = "device to host",
		[GPU_MANAGED_HOST_FAULT] = "page faults of the host",
		[GPU_MANAGED_DEVICE_FAULT] = "page faults of the GPU",
		[GPU_MANAGED_THRASHING] = "thrashing: host and GPU want the same pages",
		[GPU_MANAGED_THROTTLING] = "kept waiting, as pages thrash: the GPU",
		[GPU_MANAGED_REMOTE_MAP] = "pages used from afar",
		[GPU_MANAGED_BETWEEN] = "device to device",
	};

	return names[kind];
}

static const char *move_cause(uint32_t cause)
{
	static const char *const names[GPU_MANAGED_CAUSES] = {
		[GPU_MANAGED_UNKNOWN] = "",
		[GPU_MANAGED_ASKED] = ", asked for by the program",
		[GPU_MANAGED_ACCESS] = ", for a page fault",
		[GPU_MANAGED_AHEAD] = ", by the driver's foresight",
		[GPU_MANAGED_EVICTED] = ", as GPU memory was full",
		[GPU_MANAGED_OFTEN] = ", as they were used often",
	};

	return names[cause];
}

static const char *access_name(uint32_t access)
{
	static const char *const names[GPU_MANAGED_CAUSES] = {
		"",
		[GPU_MANAGED_READ] = ", reading",
		[GPU_MANAGED_WRITE] = ", writing",
		[GPU_MANAGED_ATOMIC] = ", by atomic instructions",
		[GPU_MANAGED_PREFETCH] = ", by instructions that prefetch",
		"",
	};

	return names[access];
}

static const char *map_cause(uint32_t cause)
{
	static const char *const names[GPU_MANAGED_CAUSES] = {
		"",
		[GPU_MANAGED_MAP_COHERENT] = ", to keep them alike",
		[GPU_MANAGED_MAP_THRASHING] = ", as they thrashed",
		[GPU_MANAGED_MAP_ADVISED] = ", as the program or the driver's rules want it",
		[GPU_MANAGED_MAP_NO_ROOM] = ", as GPU memory was full",
		[GPU_MANAGED_MAP_EVICTED] = ", as they had to leave",
	};

	return names[cause];
}

static const char *cause_name(const struct gpu_managed_row *row)
{
	switch (row->kind) {
	case GPU_MANAGED_HOST_FAULT:
	case GPU_MANAGED_DEVICE_FAULT:
		return access_name(row->cause);
	case GPU_MANAGED_REMOTE_MAP:
		return map_cause(row->cause);
	default:
		return move_cause(row->cause);
	}
}

// "host to device, for a page fault, GPU 1"; DEVICES: there are several to tell apart.
static void managed_words(const struct gpu_managed_row *row, bool devices, char *buffer,
                          size_t size)
{
	bool host_waits = row->kind == GPU_MANAGED_THROTTLING && !row->has_device;
	const char *kind =
		host_waits ? "kept waiting, as pages thrash: the host" : kind_name(row->kind);
	char device[24] = "", process[112] = "";

	if (devices && row->has_device)
		snprintf(device, sizeof(device), ", GPU %u", row->device);
	if (*row->process)
		snprintf(process, sizeof(process), ", %.100s", row->process);
	snprintf(buffer, size, "%s%s%s%s", kind, cause_name(row), device, process);
}

static bool has_devices(const struct gpu_managed_rows *rows)
{
	const struct gpu_managed_row *first = NULL;

	for (size_t i = 0; i < rows->count; i++) {
		const struct gpu_managed_row *row = &rows->rows[i];
		if (!row->has_device)
			continue;
		if (first && first->device != row->device)
			return true;
		first = first ? first : row;
	}
	return false;
}

static const char *cause_of(const struct gpu_managed_row *row)
{
	static const char *const moves[GPU_MANAGED_CAUSES] = {
		[GPU_MANAGED_ASKED] = "program",    [GPU_MANAGED_ACCESS] = "fault",
		[GPU_MANAGED_AHEAD] = "foresight",  [GPU_MANAGED_EVICTED] = "eviction",
		[GPU_MANAGED_OFTEN] = "used-often",
	};
	static const char *const accesses[GPU_MANAGED_CAUSES] = {
		[GPU_MANAGED_READ] = "read",
		[GPU_MANAGED_WRITE] = "write",
		[GPU_MANAGED_ATOMIC] = "atomic",
		[GPU_MANAGED_PREFETCH] = "prefetch",
	};
	static const char *const maps[GPU_MANAGED_CAUSES] = {
		[GPU_MANAGED_MAP_COHERENT] = "coherence", [GPU_MANAGED_MAP_THRASHING] = "thrashing",
		[GPU_MANAGED_MAP_ADVISED] = "policy",     [GPU_MANAGED_MAP_NO_ROOM] = "no-room",
		[GPU_MANAGED_MAP_EVICTED] = "eviction",
	};

	switch (row->kind) {
	case GPU_MANAGED_HOST_FAULT:
	case GPU_MANAGED_DEVICE_FAULT:
		return accesses[row->cause];
	case GPU_MANAGED_REMOTE_MAP:
		return maps[row->cause];
	default:
		return moves[row->cause];
	}
}

static void make_kind(const struct section *s, const void *data, struct section_cell *cell)
{
	static const char *const kinds[GPU_MANAGED_KINDS] = {
		[GPU_MANAGED_TO_DEVICE] = "host-to-device",
		[GPU_MANAGED_TO_HOST] = "device-to-host",
		[GPU_MANAGED_HOST_FAULT] = "host-fault",
		[GPU_MANAGED_DEVICE_FAULT] = "device-fault",
		[GPU_MANAGED_THRASHING] = "thrashing",
		[GPU_MANAGED_THROTTLING] = "throttling",
		[GPU_MANAGED_REMOTE_MAP] = "remote-map",
		[GPU_MANAGED_BETWEEN] = "device-to-device",
	};
	const struct gpu_managed_row *row = data;

	(void)s;
	cell->text = kinds[row->kind];
}

static void make_cause(const struct section *s, const void *data, struct section_cell *cell)
{
	(void)s;
	cell->text = cause_of(data);
}

static void make_times(const struct section *s, const void *data, struct section_cell *cell)
{
	const struct gpu_managed_row *row = data;

	(void)s;
	cell->count = row->groups ? row->groups : row->count;
}

static void make_rate(const struct section *s, const void *data, struct section_cell *cell)
{
	const struct gpu_managed_row *row = data;

	(void)s;
	cell->number = row->bytes_per_s / 1e9;
}

static void make_device(const struct section *s, const void *data, struct section_cell *cell)
{
	const struct gpu_managed_row *row = data;

	(void)s;
	cell->count = row->device;
	cell->flags = row->has_device ? 0 : CELL_UNKNOWN;
}

static void make_what(const struct section *s, const void *data, struct section_cell *cell)
{
	char words[256];

	managed_words(data, has_devices(s->context), words, sizeof(words));
	cell->text = report_say(s->report, "%s", words);
}

static const struct section_column columns[] = {
	{ "kind", .type = CELL_TEXT, .at = { 0, 0, 1 }, .make = make_kind },
	{ "cause", .type = CELL_TEXT, .at = { 0, 0, 2 }, .make = make_cause },
	{ "count", .type = CELL_COUNT, .at = { 0, 0, 3 }, FIELD(struct gpu_managed_row, count) },
	{ "times", .heading = "times", .type = CELL_COUNT, .at = { 2, 2, 0 }, .make = make_times },
	{ "bytes", .heading = "bytes", .type = CELL_BYTES, .at = { 3, 3, 4 }, .none = { 1, 1, 1 },
	  FIELD(struct gpu_managed_row, bytes) },
	{ "fault_groups", .type = CELL_COUNT, .at = { 0, 0, 5 }, .none = { 0, 0, 1 },
	  FIELD(struct gpu_managed_row, groups) },
	{ "total_ns", .page_id = "time", .heading = "time", .type = CELL_NS, .at = { 1, 1, 6 },
	  .none = { 1, 1, 1 }, .form = FORM_OWN, FIELD(struct gpu_managed_row, ns) },
	{ "device", .type = CELL_LABEL, .at = { 0, 0, 7 }, .make = make_device },
	{ "pid", .type = CELL_LABEL, .at = { 0, 0, 8 }, .none = { 0, 0, 1 },
	  FIELD(struct gpu_managed_row, pid) },
	{ "process", .type = CELL_TEXT, .at = { 0, 0, 9 }, FIELD(struct gpu_managed_row, process) },
	{ "rate", .heading = "GB/s", .type = CELL_NUMBER, .at = { 4, 4, 0 }, .none = { 1, 1, 0 },
	  .make = make_rate },
	{ "what", .heading = "what", .type = CELL_TEXT, .at = { 5, 5, 0 }, .clip = CLIP_END,
	  .room = 1, .make = make_what },
};

struct section *section_gpu_managed(struct report *r, struct error *err)
{
	struct gpu_managed_rows *rows =
		keep_gpu_managed_rows(r, query_gpu_managed(r->profile, err), err);
	bool people = r->reader == READER_TEXT;

	if (!rows)
		return NULL;
	struct section *s =
		section_new(r, people ? "gpu_managed" : "managed", "GPU managed memory");
	s->subtitle = people ? "pages that moved by themselves, and faults; of the whole run"
	                     : "pages that moved by themselves, and faults";
	s->shown = rows->count != 0;
	s->context = rows;
	SECTION_COLUMNS(s, columns);
	section_all_rows(s, rows->rows, rows->count, sizeof(*rows->rows));
	return section_end(s, err);
}

// "sum", or "memset < clear" where code of others was called: the user's own function last.
static void put_code(const struct gpu_fault_row *row, char *buffer, size_t size)
{
	char module[128] = "[unknown]";
	const char *function = row->function ? row->function : module;

	if (*row->module)
		snprintf(module, sizeof(module), "[%.120s]", path_base(row->module));
	if (row->caller)
		snprintf(buffer, size, "%s < %s", function, row->caller);
	else
		snprintf(buffer, size, "%s", function);
}

// "" if it is unknown.
static const char *access_of(const struct gpu_fault_row *row)
{
	if (row->reads && row->writes)
		return "both";
	return row->reads ? "reading" : row->writes ? "writing" : "";
}

static void make_line(const struct section *s, const void *data, struct section_cell *cell)
{
	const struct gpu_fault_row *row = data;

	(void)s;
	cell->count = row->line > 0 ? (uint64_t)row->line : 0;
}

static void make_caller_line(const struct section *s, const void *data, struct section_cell *cell)
{
	const struct gpu_fault_row *row = data;

	(void)s;
	cell->count = row->caller_line > 0 ? (uint64_t)row->caller_line : 0;
}

static void make_access(const struct section *s, const void *data, struct section_cell *cell)
{
	(void)s;
	cell->text = access_of(data);
}

// For people on a terminal without what tells overloads apart.
static void make_code(const struct section *s, const void *data, struct section_cell *cell)
{
	const struct gpu_fault_row *row = data;
	char function[1024], caller[1024], code[2100];
	struct gpu_fault_row shown = *row;
	bool brief = s->report->reader == READER_TEXT && !s->report->view->verbose;

	if (row->function && brief) {
		short_name(row->function, function, sizeof(function));
		shown.function = function;
	}
	if (row->caller && brief) {
		short_name(row->caller, caller, sizeof(caller));
		shown.caller = caller;
	}
	put_code(&shown, code, sizeof(code));
	cell->text = report_say(s->report, "%s%s%s", code, *row->process ? ", " : "", row->process);
}

// The user's own line.
static void make_place(const struct section *s, const void *data, struct section_cell *cell)
{
	const struct gpu_fault_row *row = data;

	(void)s;
	cell->place.file = row->caller ? row->caller_file : row->file;
	cell->place.line = row->caller ? row->caller_line : row->line;
	cell->place.module = row->module;
}

static void make_where(const struct section *s, const void *data, struct section_cell *cell)
{
	struct section_cell place = { 0 };
	char words[512];

	make_place(s, data, &place);
	place_words(place.place.file, place.place.line, place.place.module, words, sizeof(words));
	cell->text = report_say(s->report, "%s", words);
}

static const struct section_column fault_columns[] = {
	{ "function", .type = CELL_TEXT, .at = { 0, 0, 1 }, FIELD(struct gpu_fault_row, function) },
	{ "file", .type = CELL_TEXT, .at = { 0, 0, 2 }, FIELD(struct gpu_fault_row, file) },
	{ "line", .type = CELL_COUNT, .at = { 0, 0, 3 }, .none = { 0, 0, 1 }, .make = make_line },
	{ "module", .type = CELL_TEXT, .at = { 0, 0, 4 }, FIELD(struct gpu_fault_row, module) },
	{ "caller", .type = CELL_TEXT, .at = { 0, 0, 5 }, FIELD(struct gpu_fault_row, caller) },
	{ "caller_file", .type = CELL_TEXT, .at = { 0, 0, 6 },
	  FIELD(struct gpu_fault_row, caller_file) },
	{ "caller_line", .type = CELL_COUNT, .at = { 0, 0, 7 }, .none = { 0, 0, 1 },
	  .make = make_caller_line },
	{ "faults", .heading = "faults", .type = CELL_COUNT, .at = { 2, 2, 8 },
	  FIELD(struct gpu_fault_row, faults) },
	{ "reads", .type = CELL_COUNT, .at = { 0, 0, 9 }, FIELD(struct gpu_fault_row, reads) },
	{ "writes", .type = CELL_COUNT, .at = { 0, 0, 10 }, FIELD(struct gpu_fault_row, writes) },
	{ "moves", .type = CELL_COUNT, .at = { 0, 0, 11 }, FIELD(struct gpu_fault_row, moves) },
	{ "bytes", .heading = "came", .type = CELL_BYTES, .at = { 3, 3, 12 }, .none = { 1, 1, 0 },
	  FIELD(struct gpu_fault_row, bytes) },
	{ "total_ns", .page_id = "time", .heading = "time", .type = CELL_NS, .at = { 1, 1, 13 },
	  .none = { 1, 1, 0 }, .form = FORM_OWN, FIELD(struct gpu_fault_row, ns) },
	{ "process", .type = CELL_TEXT, .at = { 0, 0, 14 }, FIELD(struct gpu_fault_row, process) },
	{ "access", .heading = "", .page_heading = "access", .type = CELL_TEXT, .at = { 4, 4, 0 },
	  .none = { 0, 1, 0 }, .make = make_access },
	{ "name", .heading = "function", .type = CELL_TEXT, .at = { 5, 5, 0 }, .clip = CLIP_SYMBOL,
	  .room = 4, .make = make_code },
	{ "where", .heading = "line", .type = CELL_TEXT, .at = { 6, 0, 0 }, .clip = CLIP_START,
	  .room = 3, .make = make_where },
	{ "place", .heading = "line", .type = CELL_PLACE, .at = { 0, 6, 0 }, .make = make_place },
};

struct section *section_gpu_faults(struct report *r, struct error *err)
{
	const struct gpu_fault_rows *rows =
		keep_gpu_fault_rows(r, query_gpu_faults(r->profile, err), err);
	bool people = r->reader == READER_TEXT;

	if (!rows)
		return NULL;
	struct section *s = section_new(r, "faults",
	                                people ? "host page faults on managed memory"
	                                       : "Host page faults on managed memory");
	s->subtitle =
		people ? "pages that were on a GPU; of the whole run" : "pages that were on a GPU";
	s->shown = rows->count != 0;
	SECTION_COLUMNS(s, fault_columns);
	section_all_rows(s, rows->rows, rows->count, sizeof(*rows->rows));
	return section_end(s, err);
}
