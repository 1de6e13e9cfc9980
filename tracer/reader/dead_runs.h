/* SPDX-License-Identifier: MIT */
/*
 * Which private directories belong to a collector that is alive, and what dead ones left.
 *
 * The collector locks a file in its directory (PROTOCOL_ALIVE_FILE, see tracer/protocol.h). The
 * kernel lets go of the lock when the collector ends, however that happens, and the lock holds
 * across PID namespaces and containers that share the directory.
 */
#pragma once

/*
 * Marks DIRECTORY as a live run's until the descriptor that is returned is closed. -1: there are
 * no locks here; then nobody takes it for a dead run's either.
 */
int dead_runs_hold(const char *directory);

/*
 * Removes the directories that dead runs of the caller's user have left in PARENT. Follows no
 * links, and leaves alone what is not certain to be one.
 */
void dead_runs_remove(const char *parent);
