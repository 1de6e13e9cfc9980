// SPDX-License-Identifier: MIT
#include "sampler/python/python_command.h"

#include <criterion/criterion.h>

#include <string.h>
#include <unistd.h>

#define WORDS(...) (const char[]){ __VA_ARGS__ }, sizeof(__VA_ARGS__)

Test(python_command, a_script_or_a_module_is_in_a_file)
{
	cr_expect(python_command_has_file(WORDS("python3\0train.py\0-c\0x")));
	cr_expect(python_command_has_file(WORDS("/usr/bin/python3.11\0-u\0train.py")));
	cr_expect(python_command_has_file(WORDS("python\0-m\0pytest\0-c\0x")));
	cr_expect(python_command_has_file(WORDS("python\0-Im\0pytest")));
	cr_expect(python_command_has_file(WORDS("python3\0-W\0-c\0train.py")));
	cr_expect(python_command_has_file(WORDS("python3\0-Wc\0train.py")));
	cr_expect(python_command_has_file(WORDS("python3\0-X\0dev\0train.py")));
	cr_expect(python_command_has_file(
		WORDS("python3\0--check-hash-based-pycs\0always\0train.py")));
	cr_expect(python_command_has_file(WORDS("python3")), "its standard input");
	cr_expect(python_command_has_file(WORDS("python3\0-\0-c")), "its standard input");
}

Test(python_command, a_text_is_in_none)
{
	cr_expect(!python_command_has_file(WORDS("python3\0-c\0import train")));
	cr_expect(!python_command_has_file(WORDS("python3\0-cimport train")));
	cr_expect(!python_command_has_file(WORDS("python3\0-Ic\0import train")));
	cr_expect(!python_command_has_file(WORDS("python3\0-X\0dev\0-c\0import train")));
	cr_expect(!python_command_has_file(WORDS("python3\0-c")), "cut off");
	cr_expect(python_command_has_file(
		WORDS("python3\0-c\0from multiprocessing.spawn import spawn_main; spawn_main()")));
}

Test(python_command, of_other_programs_nothing_is_known)
{
	cr_expect(!python_command_has_file(WORDS("/usr/bin/gdb\0app")), "it embeds Python");
	cr_expect(!python_command_has_file("", 0));
	cr_expect(!python_has_file(0x7ffffff0));
	cr_expect(!python_has_file((uint32_t)getpid()));
}
