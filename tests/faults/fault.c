// SPDX-License-Identifier: MIT
#include "fault.h"

#include <string.h>

int main(int argc, char **argv)
{
	if (argc > 1 && strcmp(argv[1], "healthy") == 0)
		healthy();
	else
		faulty();
	return 0;
}
