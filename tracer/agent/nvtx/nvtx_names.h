/* SPDX-License-Identifier: MIT */
/*
 * What NVTX programs give names to: categories, threads, domains and strings. The hooks for them,
 * as those of nvtx_hooks.h.
 */
#pragma once

#include <stdint.h>
#include <wchar.h>

/* The program calls thread TID so; NULL: nothing. */
void nvtx_names_thread(uint32_t tid, const char *text);

void nvtx_names_category_narrow(uint32_t category, const char *text);
void nvtx_names_category_wide(uint32_t category, const wchar_t *text);
void nvtx_names_domain_category_narrow(const void *domain, uint32_t category, const char *text);
void nvtx_names_domain_category_wide(const void *domain, uint32_t category, const wchar_t *text);
void nvtx_names_thread_narrow(uint32_t tid, const char *text);
void nvtx_names_thread_wide(uint32_t tid, const wchar_t *text);
const void *nvtx_names_domain_create_narrow(const char *text);
const void *nvtx_names_domain_create_wide(const wchar_t *text);
const void *nvtx_names_string_create_narrow(const void *domain, const char *text);
const void *nvtx_names_string_create_wide(const void *domain, const wchar_t *text);
