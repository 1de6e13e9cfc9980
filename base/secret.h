/* SPDX-License-Identifier: MIT */
/*
 * Secrets in command lines: what looks like a password, a token or a key is shown as "***".
 *
 * Known by the name before it, whatever is in front of that name: --password=X, --api-key X,
 * DB_PASSWORD=X, "Authorization: Bearer X", ?token=X; by the options of a few programs (mysql -pX,
 * sshpass -p X, docker login -p X, curl -u user:X); as the password in a URL (https://user:X@host);
 * and by how tokens of some services begin (ghp_, glpat-, AKIA). Also within words, as in the
 * script of sh -c, where a value that begins with $ is a variable's name, which stays.
 *
 * A function without state, for any thread.
 */
#pragma once

/*
 * COMMAND, words quoted as a shell takes them, with its secrets masked; what has none is as it was,
 * byte by byte. What is masked already stays so. For free(). NULL if there is no memory.
 */
char *secret_mask(const char *command);
