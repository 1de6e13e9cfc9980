// SPDX-License-Identifier: MIT
#include "tracer/agent/nvtx/nvtx_names.h"

#include "tracer/agent/nvtx/nvtx_event.h"
#include "tracer/agent/nvtx/nvtx_hooks.h"
#include "tracer/agent/nvtx/nvtx_object.h"
#include "tracer/agent/op/op.h"
#include "tracer/agent/utf8.h"

typedef void name_category_narrow(uint32_t category, const char *text);
void nvtx_names_category_narrow(uint32_t category, const char *text)
{
	name_category_narrow *forward =
		NVTX_THEIRS(name_category_narrow, core[NVTX_NAME_CATEGORY_A]);

	nvtx_category_create(&nvtx_nameless, category, text);
	if (forward)
		forward(category, text);
}

static void create_wide_category(const struct nvtx_domain *d, uint32_t category,
                                 const wchar_t *text)
{
	char buffer[NVTX_TEXT_BYTES];

	nvtx_category_create(d, category, utf8_from_wide(buffer, sizeof(buffer), text));
}

typedef void name_category_wide(uint32_t category, const wchar_t *text);
void nvtx_names_category_wide(uint32_t category, const wchar_t *text)
{
	name_category_wide *forward = NVTX_THEIRS(name_category_wide, core[NVTX_NAME_CATEGORY_W]);

	create_wide_category(&nvtx_nameless, category, text);
	if (forward)
		forward(category, text);
}

typedef void domain_name_category_narrow(const void *domain, uint32_t category, const char *text);
void nvtx_names_domain_category_narrow(const void *domain, uint32_t category, const char *text)
{
	domain_name_category_narrow *forward =
		NVTX_THEIRS(domain_name_category_narrow, core2[NVTX_DOMAIN_NAME_CATEGORY_A]);

	nvtx_category_create(nvtx_domain_of(domain), category, text);
	if (forward)
		forward(domain, category, text);
}

typedef void domain_name_category_wide(const void *domain, uint32_t category, const wchar_t *text);
void nvtx_names_domain_category_wide(const void *domain, uint32_t category, const wchar_t *text)
{
	domain_name_category_wide *forward =
		NVTX_THEIRS(domain_name_category_wide, core2[NVTX_DOMAIN_NAME_CATEGORY_W]);

	create_wide_category(nvtx_domain_of(domain), category, text);
	if (forward)
		forward(domain, category, text);
}

void nvtx_names_thread(uint32_t tid, const char *text)
{
	struct op_thread *t = text ? op_enter() : NULL;

	if (!t)
		return;
	op_thread_name(t, tid, text);
	op_leave(t);
}

typedef void name_thread_narrow(uint32_t tid, const char *text);
void nvtx_names_thread_narrow(uint32_t tid, const char *text)
{
	name_thread_narrow *forward = NVTX_THEIRS(name_thread_narrow, core[NVTX_NAME_OS_THREAD_A]);

	nvtx_names_thread(tid, text);
	if (forward)
		forward(tid, text);
}

typedef void name_thread_wide(uint32_t tid, const wchar_t *text);
void nvtx_names_thread_wide(uint32_t tid, const wchar_t *text)
{
	name_thread_wide *forward = NVTX_THEIRS(name_thread_wide, core[NVTX_NAME_OS_THREAD_W]);
	char buffer[NVTX_TEXT_BYTES];

	nvtx_names_thread(tid, utf8_from_wide(buffer, sizeof(buffer), text));
	if (forward)
		forward(tid, text);
}

typedef const void *domain_create_narrow(const char *text);
const void *nvtx_names_domain_create_narrow(const char *text)
{
	domain_create_narrow *forward =
		NVTX_THEIRS(domain_create_narrow, core2[NVTX_DOMAIN_CREATE_A]);
	const void *ours = nvtx_domain_create(text);
	const void *handle = forward ? forward(text) : ours;

	if (forward)
		nvtx_object_call(handle, ours);
	return handle;
}

typedef const void *domain_create_wide(const wchar_t *text);
const void *nvtx_names_domain_create_wide(const wchar_t *text)
{
	domain_create_wide *forward = NVTX_THEIRS(domain_create_wide, core2[NVTX_DOMAIN_CREATE_W]);
	char buffer[NVTX_TEXT_BYTES];
	const void *ours = nvtx_domain_create(utf8_from_wide(buffer, sizeof(buffer), text));
	const void *handle = forward ? forward(text) : ours;

	if (forward)
		nvtx_object_call(handle, ours);
	return handle;
}

typedef const void *string_create_narrow(const void *domain, const char *text);
const void *nvtx_names_string_create_narrow(const void *domain, const char *text)
{
	string_create_narrow *forward =
		NVTX_THEIRS(string_create_narrow, core2[NVTX_DOMAIN_REGISTER_STRING_A]);
	const void *ours = nvtx_string_create(nvtx_domain_of(domain), text);
	const void *handle = forward ? forward(domain, text) : ours;

	if (forward)
		nvtx_object_call(handle, ours);
	return handle;
}

typedef const void *string_create_wide(const void *domain, const wchar_t *text);
const void *nvtx_names_string_create_wide(const void *domain, const wchar_t *text)
{
	string_create_wide *forward =
		NVTX_THEIRS(string_create_wide, core2[NVTX_DOMAIN_REGISTER_STRING_W]);
	char buffer[NVTX_TEXT_BYTES];
	const void *ours = nvtx_string_create(nvtx_domain_of(domain),
	                                      utf8_from_wide(buffer, sizeof(buffer), text));
	const void *handle = forward ? forward(domain, text) : ours;

	if (forward)
		nvtx_object_call(handle, ours);
	return handle;
}
