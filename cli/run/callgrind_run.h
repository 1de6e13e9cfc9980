/* SPDX-License-Identifier: MIT */
/*
 * Runs a program under Valgrind's callgrind and reads what it has counted.
 *
 * The program keeps its standard streams and its status. Two runs of it are made alike as far as
 * that can be done from outside: addresses are not randomized, and the hashes of Python's texts are
 * not either, unless PYTHONHASHSEED says so. What Valgrind says goes into files, in a directory
 * that is gone when this returns.
 */
#pragma once

struct error;
struct job;
struct profile;

/*
 * Adds to PROFILE what the program and its children have executed; *STATUS is its wait(2) status.
 * -1 if nothing could be counted: ERR says why, and *STATUS is -1 if the program did not even run.
 */
int callgrind_run(char *const *argv, struct job *job, struct profile *profile, int *status,
                  struct error *err);
