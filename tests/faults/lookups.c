// SPDX-License-Identifier: MIT
// The address of a server is looked up again for every request.
#include "fault.h"

#include <netdb.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define REQUESTS 20000

static struct sockaddr_storage look_up(void)
{
	const struct addrinfo hints = { .ai_family = AF_INET, .ai_socktype = SOCK_STREAM };
	struct sockaddr_storage address = { 0 };
	struct addrinfo *found;

	if (getaddrinfo("localhost", "8080", &hints, &found)) // fault: IO-LOOKUP
		exit(77);
	memcpy(&address, found->ai_addr, found->ai_addrlen);
	freeaddrinfo(found);
	return address;
}

static unsigned sign(const struct sockaddr_storage *address, unsigned request)
{
	const unsigned char *bytes = (const unsigned char *)address;

	for (size_t i = 0; i < sizeof(*address); i++)
		request = (request ^ bytes[i]) * 16777619;
	return request;
}

static void send_all(bool again, unsigned rounds)
{
	struct sockaddr_storage address = look_up();
	unsigned sum = 0;

	for (unsigned round = 0; round < rounds; round++)
		for (unsigned i = 0; i < REQUESTS; i++) {
			if (again)
				address = look_up();
			sum ^= sign(&address, i);
		}
	printf("%u\n", sum);
}

void faulty(void)
{
	send_all(true, 5);
}

void healthy(void)
{
	send_all(false, 401);
}
