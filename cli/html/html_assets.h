/* SPDX-License-Identifier: MIT */
/*
 * The page, without its data: cli/html/, put together by cmake/html.cmake when the program is
 * built. Head, then JSON, then tail.
 */
#pragma once

#include <stddef.h>

extern const unsigned char html_page_head[], html_page_tail[];
extern const size_t html_page_head_bytes, html_page_tail_bytes;
