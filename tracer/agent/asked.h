/* SPDX-License-Identifier: MIT */
/*
 * Who wants to know when somebody asks the loader for a symbol: that is when new libraries are
 * there, and their code is about to be called.
 */
#pragma once

/* NAME is asked for. Not for handlers. Keeps errno. */
void asked_for(const char *name);
