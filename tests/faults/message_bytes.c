// SPDX-License-Identifier: MIT
// A server that reads its requests from a socket, a byte at a time to find the ends of lines.
#include "fault.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define REQUESTS 20000
#define PAGE     8192

static const char request[] = "GET /index.html HTTP/1.1\r\nHost: example.org\r\n"
			      "User-Agent: client/1.0\r\nAccept: text/html\r\n\r\n";

struct connection {
	int socket;
	char bytes[16384];
	size_t at, end;
};

// Asks for everything, and does not wait for answers.
static void *ask(void *socket)
{
	char batch[50 * sizeof(request)] = "";
	size_t size = strlen(request);

	for (int i = 0; i < 50; i++)
		memcpy(batch + (size_t)i * size, request, size);
	for (int i = 0; i < REQUESTS / 50; i++)
		if (write(*(int *)socket, batch, 50 * size) < 0)
			break;
	shutdown(*(int *)socket, SHUT_WR);
	return NULL;
}

static int read_byte(struct connection *c)
{
	unsigned char byte;

	return read(c->socket, &byte, 1) == 1 ? byte : EOF; // fault: IO-TINY
}

static int read_buffered(struct connection *c)
{
	if (c->at == c->end) {
		ssize_t got = read(c->socket, c->bytes, sizeof(c->bytes));
		c->at = 0;
		c->end = got > 0 ? (size_t)got : 0;
	}
	return c->end ? (unsigned char)c->bytes[c->at++] : EOF;
}

// What a page for such a request adds up to; 0 at the end.
static unsigned answer(struct connection *c, int (*next)(struct connection *))
{
	unsigned sum = 1;
	int lines = 0, byte;

	while (lines < 5 && (byte = next(c)) != EOF) {
		lines += byte == '\n';
		sum = sum * 31 + (unsigned)byte;
	}
	for (int i = 0; i < PAGE && lines == 5; i++)
		sum = sum * 33 + (unsigned)i;
	return lines == 5 ? sum | 1 : 0;
}

static void run(int (*next)(struct connection *))
{
	struct connection c = { 0 };
	unsigned sum = 0, one;
	pthread_t client;
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) < 0)
		return;
	c.socket = pair[0];
	pthread_create(&client, NULL, ask, &pair[1]);
	while ((one = answer(&c, next)))
		sum += one;
	pthread_join(client, NULL);
	close(pair[0]);
	close(pair[1]);
	printf("%u\n", sum);
}

void faulty(void)
{
	run(read_byte);
}

void healthy(void)
{
	run(read_buffered);
}
