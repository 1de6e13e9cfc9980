// SPDX-License-Identifier: MIT
// A request is written in two pieces: the second one waits until the first is acknowledged.
#include "fault.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define REQUESTS 40
#define SKIPPED  77

struct request {
	unsigned size, number;
	char body[120];
};

static bool receive(int fd, struct request *r)
{
	return recv(fd, r, sizeof(*r), MSG_WAITALL) == sizeof(*r); // fault: IO-NET
}

static void *serve(void *argument)
{
	int fd = accept(*(int *)argument, NULL, NULL);
	struct request r;

	while (receive(fd, &r) && send(fd, &r, sizeof(r), MSG_NOSIGNAL) > 0)
		;
	close(fd);
	return NULL;
}

static int listen_somewhere(struct sockaddr_in *address)
{
	socklen_t size = sizeof(*address);
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	*address = (struct sockaddr_in){ .sin_family = AF_INET,
		                         .sin_addr = { htonl(INADDR_LOOPBACK) } };
	if (fd < 0 || bind(fd, (struct sockaddr *)address, size) < 0 || listen(fd, 1) < 0 ||
	    getsockname(fd, (struct sockaddr *)address, &size) < 0)
		exit(SKIPPED);
	return fd;
}

static void write_pieces(int fd, const struct request *r)
{
	size_t head = offsetof(struct request, body);

	if (write(fd, r, head) < 0 || write(fd, r->body, sizeof(r->body)) < 0)
		exit(1);
}

static void write_whole(int fd, const struct request *r)
{
	if (write(fd, r, sizeof(*r)) < 0)
		exit(1);
}

static void run(void (*write_request)(int, const struct request *))
{
	struct sockaddr_in address;
	int server = listen_somewhere(&address), fd = socket(AF_INET, SOCK_STREAM, 0);
	unsigned long sum = 0;
	pthread_t thread;

	pthread_create(&thread, NULL, serve, &server);
	if (connect(fd, (struct sockaddr *)&address, sizeof(address)) < 0)
		exit(SKIPPED);
	for (unsigned i = 0; i < REQUESTS; i++) {
		struct request r = { sizeof(r), i, "" }, answer;
		write_request(fd, &r);
		if (receive(fd, &answer))
			sum += answer.number;
	}
	close(fd);
	pthread_join(thread, NULL);
	printf("%lu\n", sum);
}

void faulty(void)
{
	run(write_pieces);
}

void healthy(void)
{
	run(write_whole);
}
