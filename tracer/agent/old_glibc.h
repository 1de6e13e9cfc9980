/* SPDX-License-Identifier: MIT */
/*
 * The C library of a program need not be the one that we are built with: a chroot, and a program
 * that brings its own, have older ones, whose loader ends a program that is to load what asks for
 * newer versions of symbols ("version `GLIBC_2.34' not found"). So the agent asks for no versions
 * (tracer/CMakeLists.txt), and gets the oldest that there is of each function: of glibc 2.17 at
 * most, as a test checks.
 *
 * Before glibc 2.34 those that are weak here were in libdl and libpthread, which a program may do
 * without: they are NULL then, and their callers look. Included before everything else in all that
 * the agent is built of.
 */
#pragma once

#pragma weak dladdr
#pragma weak dladdr1 /* nor has musl this one, and the next but one */
#pragma weak dlerror
#pragma weak dlvsym
#pragma weak dlopen
#pragma weak pthread_attr_getstacksize
#pragma weak pthread_key_create
#pragma weak pthread_mutex_trylock
#pragma weak pthread_setspecific
