/* SPDX-License-Identifier: MIT */
/*
 * Files and directories that are to be gone when this process is, even if a signal ends it.
 *
 * A forked child has none of its parent's. One thread at a time, but for temporary_remove_all(),
 * which any handler may call.
 */
#pragma once

#include <stdbool.h>

/*
 * PATH, a file or a directory that holds nothing but files, is removed by temporary_remove_all()
 * until it is forgotten. A relative path is that of the working directory at the time of removal.
 * False where there are too many: then it is not.
 */
bool temporary_add(const char *path);
void temporary_forget(const char *path);

void temporary_remove_all(void);

/*
 * From now on SIGINT, SIGTERM, SIGHUP and SIGQUIT remove them all before they end the process,
 * where their action is the default one. A program that is executed gets that default.
 */
void temporary_catch_signals(void);
