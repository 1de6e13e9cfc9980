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
 * the brackets, too. Standard strings have their short name, versions of symbols go, and Rust's
 * "<a::List<T> as b::Clone>::clone" is "a::List<T>::clone" first.
 */
char *function_name_fold(const char *name, char opening, const char *mark);

/*
 * Without types and version: "bool a::less<int>(int, int) const" becomes "a::less". The qualifiers
 * stay. Of Python's names of C functions what function_name_called() has.
 */
char *function_name_bare(const char *text);

/*
 * "ndarray.sum" of "{method 'sum' of 'numpy.ndarray' objects}", "builtins.len" of "{built-in method
 * builtins.len}", as Python's profilers name functions in C. NULL: it is no such name.
 */
char *function_name_called(const char *text);

/* The end of the part of a qualified name that TEXT begins with: at "::", or at its end. */
const char *function_name_part(const char *text);
