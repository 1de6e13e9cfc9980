/* SPDX-License-Identifier: MIT */
/*
 * Readable names of functions, as demangled C++ and Rust write them, in shorter forms. Names of
 * other languages stay as they are. All results are the caller's to free(); NULL if there is no
 * memory.
 */
#pragma once

/*
 * With MARK in place of what is in brackets of one kind, '<' or '(', at every place:
 * "std::vector<int>::at(unsigned long)" becomes "std::vector<…>::at(unsigned long)". NULL: without
 * the brackets, too. Standard strings have their short name, and versions of symbols go.
 */
char *function_name_fold(const char *name, char opening, const char *mark);

/*
 * Without types and version: "bool a::less<int>(int, int) const" becomes "a::less". The qualifiers
 * stay.
 */
char *function_name_bare(const char *text);

/* The end of the part of a qualified name that TEXT begins with: at "::", or at its end. */
const char *function_name_part(const char *text);
